//! UNION, INTERSECT and EXCEPT, rows that are written out, and common table expressions.

mod support;

use planner::logical::{CommonTableId, SetOperator};
use planner::plan::{Join, JoinKind, OutputColumn, Rel};
use support::Db;
use support::rel::*;
use types::{SqlType, Value};

fn set(operator: SetOperator, all: bool, left: Rel, right: Rel) -> Rel {
    Rel::SetOperation {
        operator,
        all,
        left: Box::new(left),
        right: Box::new(right),
    }
}

#[test]
fn values_are_rows() {
    let db = Db::new();
    let mut c = db.conn();
    let decimal = SqlType::decimal(10, 2);
    let rows = vec![
        vec![
            Value::Int(1),
            Value::Decimal(types::Decimal::parse("1.50").unwrap()),
            Value::Null,
        ],
        vec![Value::Null, Value::Null, Value::from("x")],
    ];
    assert_eq!(
        c.line(values(&[INT, decimal, text()], &rows)),
        "1 1.50 NULL, NULL NULL x"
    );
    assert_eq!(c.line(values(&[INT], &[])), "");
    let many: Vec<Vec<Value>> = (0..3000).map(|n| vec![Value::Int(n)]).collect();
    let rows = c.rel(values(&[INT], &many));
    assert_eq!((rows.len(), rows[2999].as_str()), (3000, "2999"));
    assert_eq!(c.line(limit(values(&[INT], &many), 2)), "0, 1");
}

#[test]
fn unions() {
    let db = Db::new();
    let mut c = db.conn();
    let union = |all, left, right| set(SetOperator::Union, all, left, right);
    let left = || texts(&[Some("b"), None, Some("a"), Some("B")]);
    let right = || texts(&[Some("A"), None, Some("c")]);
    assert_eq!(c.line(union(true, left(), right())), "b, NULL, a, B, A, NULL, c");
    assert_eq!(c.line(union(false, left(), right())), "b, NULL, a, c");
    assert_eq!(c.line(limit(union(true, left(), right()), 5)), "b, NULL, a, B, A");
    let chain = union(true, union(true, union(false, left(), left()), right()), left());
    assert_eq!(c.line(chain), "b, NULL, a, A, NULL, c, b, NULL, a, B");
    let deep = (0..2000).fold(ints(&[&[Some(1)]]), |chain, _| {
        union(true, chain, ints(&[&[Some(1)]]))
    });
    assert_eq!(c.rel(deep).len(), 2001);
}

#[test]
fn intersections_and_differences_count_rows_only_with_all() {
    let db = Db::new();
    let mut c = db.conn();
    let left = || {
        texts(&[
            Some("a"),
            Some("b"),
            Some("A"),
            None,
            Some("a"),
            Some("c"),
            Some("c"),
            None,
        ])
    };
    let right = || texts(&[Some("A"), Some("ä"), None, Some("d"), None, None]);
    for (operator, all, expected) in [
        (SetOperator::Intersect, false, "a, NULL"),
        (SetOperator::Intersect, true, "a, A, NULL, NULL"),
        (SetOperator::Except, false, "b, c"),
        (SetOperator::Except, true, "b, a, c, c"),
    ] {
        let rel = set(operator, all, left(), right());
        assert_eq!(c.line(rel.clone()), expected, "{operator:?} {all}");
        assert_eq!(c.line(limit(rel, 1)), expected.split(',').next().unwrap());
    }
    let none = || texts(&[]);
    let empty = |rel| Rel::Filter {
        input: Box::new(rel),
        predicate: equal(int(1), int(0)),
    };
    assert_eq!(
        c.line(set(SetOperator::Except, false, left(), empty(none()))),
        "a, b, NULL, c"
    );
    assert_eq!(
        c.line(set(SetOperator::Intersect, true, left(), empty(none()))),
        ""
    );
    let pairs = |rows: &[(i64, Option<i64>)]| {
        let rows: Vec<Vec<Option<i64>>> = rows.iter().map(|(a, b)| vec![Some(*a), *b]).collect();
        let rows: Vec<&[Option<i64>]> = rows.iter().map(Vec::as_slice).collect();
        ints(&rows)
    };
    let rel = set(
        SetOperator::Intersect,
        false,
        pairs(&[(1, None), (1, Some(2)), (2, None)]),
        pairs(&[(2, None), (1, None), (1, Some(3))]),
    );
    assert_eq!(c.line(rel), "1 NULL, 2 NULL");
}

#[test]
fn the_keys_of_a_set_need_not_be_in_memory() {
    let db = Db::new();
    let mut c = db.conn();
    c.memory_limit_bytes = 64 << 10;
    let many: Vec<Vec<Value>> = (0..5000).map(|n| vec![Value::Int(n)]).collect();
    for (operator, rows) in [
        (SetOperator::Union, 5000),
        (SetOperator::Intersect, 1),
        (SetOperator::Except, 1),
    ] {
        let rel = set(
            operator,
            false,
            ints(&[&[Some(1)], &[Some(-1)]]),
            values(&[INT], &many),
        );
        let found = c.try_rel(rel).unwrap().len();
        assert_eq!(
            found,
            rows + usize::from(operator == SetOperator::Union),
            "{operator:?}"
        );
    }
}

const ID: CommonTableId = CommonTableId(5);

fn columns() -> Vec<OutputColumn> {
    vec![OutputColumn {
        ty: INT,
        nullable: true,
    }]
}

fn table(recursive: bool) -> Rel {
    Rel::CommonTable {
        id: ID,
        columns: columns(),
        recursive,
    }
}

fn with(definition: Rel, body: Rel) -> Rel {
    Rel::With {
        id: ID,
        definition: Box::new(definition),
        body: Box::new(body),
    }
}

fn pairs(left: Rel, right: Rel) -> Rel {
    Rel::Join(Join {
        kind: JoinKind::Inner,
        left: Box::new(left),
        right: Box::new(right),
        right_rows: 0,
        rows: 1.0,
        keys: Vec::new(),
        residual: None,
    })
}

#[test]
fn a_common_table_is_made_once_for_all_its_uses() {
    let db = Db::new();
    let mut c = db.conn();
    let random = project(ints(&[&[Some(1)], &[Some(2)]]), vec![call("rand", vec![])]);
    let double = |recursive| Rel::CommonTable {
        id: ID,
        columns: vec![OutputColumn {
            ty: SqlType::DOUBLE,
            nullable: true,
        }],
        recursive,
    };
    let body = set(SetOperator::Union, false, double(false), double(false));
    assert_eq!(c.rel(with(random, body)).len(), 2);
    let numbers = || ints(&[&[Some(1)], &[Some(2)], &[Some(3)]]);
    assert_eq!(
        c.line(with(numbers(), limit(pairs(table(false), table(false)), 4))),
        "1 1, 1 2, 1 3, 2 1"
    );
    // An inner WITH of the same name hides the outer one; in its definition the outer one is meant.
    let next = project(table(false), vec![call("+", vec![column(0, INT), int(10)])]);
    let inner = with(next, table(false));
    assert_eq!(c.line(with(numbers(), inner)), "11, 12, 13");
}

/// Numbers from 1 up to `last`; forever without.
fn counting(last: Option<i64>, distinct: bool) -> Rel {
    let round = match last {
        Some(last) => filter(table(true), call("<", vec![column(0, INT), int(last)])),
        None => table(true),
    };
    Rel::Recursive {
        seed: Box::new(ints(&[&[Some(1)]])),
        step: Box::new(project(round, vec![call("+", vec![column(0, INT), int(1)])])),
        distinct,
        columns: columns(),
    }
}

#[test]
fn a_recursion_runs_until_a_round_makes_no_rows() {
    let db = Db::new();
    let mut c = db.conn();
    assert_eq!(
        c.line(with(counting(Some(5), false), table(false))),
        "1, 2, 3, 4, 5"
    );
    assert_eq!(c.rel(with(counting(Some(1000), false), table(false))).len(), 1000);
    let error = c
        .try_rel(with(counting(Some(1001), false), table(false)))
        .unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            3636,
            "Recursive query aborted after 1001 iterations. Try increasing @@cte_max_recursion_depth to a larger value."
        )
    );
    c.cte_max_recursion_depth = 3;
    assert_eq!(c.rel(with(counting(Some(3), false), table(false))).len(), 3);
    assert_eq!(
        c.try_rel(with(counting(None, false), table(false)))
            .unwrap_err()
            .code,
        3636
    );
    // A LIMIT in the definition ends it.
    c.cte_max_recursion_depth = 1000;
    assert_eq!(
        c.line(with(limit(counting(None, false), 4), table(false))),
        "1, 2, 3, 4"
    );
}

#[test]
fn union_distinct_ends_a_recursion_that_meets_rows_again() {
    let db = Db::new();
    let mut c = db.conn();
    // Steps along the edges of a graph with a cycle.
    let edges = || {
        ints(&[
            &[Some(1), Some(2)],
            &[Some(2), Some(3)],
            &[Some(3), Some(1)],
            &[Some(3), Some(4)],
        ])
    };
    let step = Rel::Join(Join {
        kind: JoinKind::Inner,
        left: Box::new(table(true)),
        right: Box::new(edges()),
        right_rows: 0,
        rows: 1.0,
        keys: vec![planner::plan::JoinKey {
            left: column(0, INT),
            right: column(0, INT),
            null_safe: false,
        }],
        residual: None,
    });
    let reachable = |distinct| Rel::Recursive {
        seed: Box::new(ints(&[&[Some(1)], &[Some(1)]])),
        step: Box::new(project(step.clone(), vec![column(2, INT)])),
        distinct,
        columns: columns(),
    };
    assert_eq!(c.line(with(reachable(true), table(false))), "1, 2, 3, 4");
    c.cte_max_recursion_depth = 20;
    assert_eq!(
        c.try_rel(with(reachable(false), table(false))).unwrap_err().code,
        3636
    );
}

#[test]
fn a_recursion_ends_when_it_is_interrupted() {
    let db = Db::new();
    let mut c = db.conn();
    c.cte_max_recursion_depth = u64::MAX;
    // In memory, or in a file.
    c.memory_limit_bytes = 256 << 10;
    let interrupt = c.interrupt.clone();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        interrupt.raise();
    });
    let error = c.try_rel(with(counting(None, false), table(false))).unwrap_err();
    assert_eq!(error.code, 1317);
    killer.join().unwrap();
}
