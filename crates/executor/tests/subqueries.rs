//! Subqueries that run for rows of an input.

mod support;

use functions::Expr;
use planner::plan::{Access, Apply, ApplyKind, OuterColumn, Rel};
use support::rel::*;
use support::{Conn, Db};
use types::{SqlType, Value};

/// What the subquery takes: the input's first column, in slot 3.
const SLOT: usize = 3;

fn outer() -> Expr {
    Expr::Outer {
        slot: SLOT,
        ty: INT,
        nullable: true,
    }
}

fn apply(kind: ApplyKind, input: Rel, subquery: Rel, correlated: bool) -> Rel {
    let column = OuterColumn {
        slot: SLOT,
        position: 0,
    };
    Rel::Apply(Apply {
        kind,
        input: Box::new(input),
        subquery: Box::new(subquery),
        outer: correlated.then_some(column).into_iter().collect(),
    })
}

fn db() -> Db {
    Db::with(
        "create table s (id bigint primary key, k bigint, v bigint, key k (k));
         insert into s values (1, 1, 10), (2, 1, null), (3, 2, 30), (4, null, 40), (5, 4, null)",
    )
}

/// The rows of `s` whose `k` is the input's value, `v` and `id` of them.
fn of_row(c: &Conn<'_>) -> Rel {
    let by_index = Access::IndexRanges {
        index: index(c, "s", "k"),
        ranges: vec![equal_range(outer())],
        reverse: false,
        covering: false,
    };
    let rows = Rel::Scan(scan(c, "s", by_index));
    project(rows, vec![column(2, INT), column(0, INT)])
}

fn four() -> Rel {
    ints(&[
        &[Some(1)],
        &[Some(2)],
        &[None],
        &[Some(4)],
        &[Some(7)],
        &[Some(2)],
    ])
}

#[test]
fn a_scalar_subquery_gives_one_row_or_nulls() {
    let db = db();
    let mut c = db.conn();
    let one = |c: &Conn<'_>| limit(of_row(c), 1);
    let plan = apply(ApplyKind::Scalar, four(), one(&c), true);
    assert_eq!(
        c.line(plan),
        "1 10 1, 2 30 3, NULL NULL NULL, 4 NULL 5, 7 NULL NULL, 2 30 3"
    );
    for correlated in [true, false] {
        let subquery = match correlated {
            true => of_row(&c),
            false => full(&c, "s"),
        };
        let plan = apply(ApplyKind::Scalar, four(), subquery, correlated);
        let error = c.try_rel(plan).unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (1242, "Subquery returns more than 1 row")
        );
    }
    let once = apply(
        ApplyKind::Scalar,
        ints(&[&[Some(1)], &[None]]),
        ints(&[&[Some(9)]]),
        false,
    );
    assert_eq!(c.line(once), "1 9, NULL 9");
    let none = apply(
        ApplyKind::Scalar,
        ints(&[&[Some(1)], &[None]]),
        values(&[INT, text()], &[]),
        false,
    );
    assert_eq!(c.line(none), "1 NULL NULL, NULL NULL NULL");
}

#[test]
fn two_rows_are_too_many_even_where_they_come_apart() {
    let db = db();
    let mut c = db.conn();
    let union = Rel::SetOperation {
        operator: planner::logical::SetOperator::Union,
        all: true,
        left: Box::new(ints(&[&[Some(1)]])),
        right: Box::new(project(ints(&[&[Some(1)]]), vec![outer()])),
    };
    for correlated in [true, false] {
        let plan = apply(ApplyKind::Scalar, ints(&[&[Some(1)]]), union.clone(), correlated);
        assert_eq!(c.try_rel(plan).unwrap_err().code, 1242);
    }
}

#[test]
fn exists_and_lateral() {
    let db = db();
    let mut c = db.conn();
    let exists = apply(ApplyKind::Exists, four(), of_row(&c), true);
    assert_eq!(c.line(exists), "1 1, 2 1, NULL 0, 4 1, 7 0, 2 1");
    let exists = apply(ApplyKind::Exists, four(), full(&c, "s"), false);
    assert_eq!(c.line(limit(exists, 2)), "1 1, 2 1");
    let exists = apply(ApplyKind::Exists, ints(&[&[Some(1)]]), values(&[INT], &[]), false);
    assert_eq!(c.line(exists), "1 0");

    let lateral = |left, condition| ApplyKind::Lateral { left, condition };
    let inner = apply(lateral(false, None), four(), of_row(&c), true);
    assert_eq!(
        c.line(inner.clone()),
        "1 10 1, 1 NULL 2, 2 30 3, 4 NULL 5, 2 30 3"
    );
    assert_eq!(c.line(limit(inner, 2)), "1 10 1, 1 NULL 2");
    let has_value = || Some(call("is not null", vec![column(1, INT)]));
    let left = apply(lateral(true, has_value()), four(), of_row(&c), true);
    assert_eq!(
        c.line(left),
        "1 10 1, 2 30 3, NULL NULL NULL, 4 NULL NULL, 7 NULL NULL, 2 30 3"
    );
    let pairs = apply(
        lateral(false, None),
        ints(&[&[Some(1)], &[Some(2)]]),
        ints(&[&[Some(8)], &[Some(9)]]),
        false,
    );
    assert_eq!(c.line(pairs), "1 8, 1 9, 2 8, 2 9");
}

#[test]
fn any_has_three_values() {
    let db = db();
    let mut c = db.conn();
    // The input's second column against what the subquery has for the first.
    let input = || {
        ints(&[
            &[Some(1), Some(10)],
            &[Some(1), Some(11)],
            &[Some(2), Some(30)],
            &[Some(2), None],
            &[Some(2), Some(31)],
            &[Some(7), None],
            &[None, Some(1)],
            &[Some(4), Some(1)],
        ])
    };
    let condition = || equal(column(1, INT), column(2, INT));
    let any = apply(
        ApplyKind::Any {
            condition: condition(),
        },
        input(),
        of_row(&c),
        true,
    );
    assert_eq!(
        c.line(any),
        "1 10 1, 1 11 NULL, 2 30 1, 2 NULL NULL, 2 31 0, 7 NULL 0, NULL 1 0, 4 1 NULL"
    );
    let among = || ints(&[&[Some(10)], &[None]]);
    let any = apply(
        ApplyKind::Any {
            condition: condition(),
        },
        input(),
        among(),
        false,
    );
    assert_eq!(
        c.line(any),
        "1 10 1, 1 11 NULL, 2 30 NULL, 2 NULL NULL, 2 31 NULL, 7 NULL NULL, NULL 1 NULL, 4 1 NULL"
    );
    let none = apply(
        ApplyKind::Any {
            condition: condition(),
        },
        input(),
        values(&[INT], &[]),
        false,
    );
    assert_eq!(
        c.line(none),
        "1 10 0, 1 11 0, 2 30 0, 2 NULL 0, 2 31 0, 7 NULL 0, NULL 1 0, 4 1 0"
    );
}

/// How often a subquery runs shows in what it does: it counts in a variable.
#[test]
fn results_are_remembered_by_the_values_taken() {
    let db = db();
    let mut c = db.conn();
    let many: Vec<Vec<Value>> = (0..5000).map(|n| vec![Value::Int(n % 3)]).collect();
    // Each run makes all pairs of 400 rows, which 5000 runs of it could not do in the time.
    let numbers: Vec<Vec<Value>> = (0..400).map(|n| vec![Value::Int(n)]).collect();
    let pairs = Rel::Join(planner::plan::Join {
        kind: planner::plan::JoinKind::Inner,
        left: Box::new(values(&[INT], &numbers)),
        right: Box::new(values(&[INT], &numbers)),
        right_rows: 0,
        rows: 1.0,
        keys: Vec::new(),
        residual: Some(call(
            "and",
            vec![
                equal(column(0, INT), outer()),
                equal(call("+", vec![column(0, INT), column(1, INT)]), int(7)),
            ],
        )),
    });
    let started = std::time::Instant::now();
    let rows = c.rel(apply(ApplyKind::Scalar, values(&[INT], &many), pairs, true));
    assert_eq!(rows.len(), 5000);
    assert_eq!(rows[..4], ["0 0 7", "1 1 6", "2 2 5", "0 0 7"]);
    assert!(started.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn values_that_are_equal_but_not_the_same_run_apart() {
    let db = db();
    let mut c = db.conn();
    let taken = Expr::Outer {
        slot: SLOT,
        ty: text(),
        nullable: true,
    };
    let subquery = project(Rel::OneRow, vec![taken]);
    let input = texts(&[Some("a"), Some("A"), None, Some("a")]);
    let plan = apply(ApplyKind::Scalar, input, subquery, true);
    assert_eq!(c.line(plan), "a a, A A, NULL NULL, a a");
}

#[test]
fn a_subquery_within_a_subquery_takes_columns_of_both() {
    let db = db();
    let mut c = db.conn();
    let inner_outer = |slot: usize| Expr::Outer {
        slot,
        ty: INT,
        nullable: true,
    };
    // For each row of the input: the rows of s, and for each of them the sum of its id and the input's value.
    let innermost = project(
        Rel::OneRow,
        vec![call("+", vec![inner_outer(SLOT), inner_outer(4)])],
    );
    let inner = Rel::Apply(Apply {
        kind: ApplyKind::Scalar,
        input: Box::new(project(full(&c, "s"), vec![column(0, INT)])),
        subquery: Box::new(innermost),
        outer: vec![OuterColumn { slot: 4, position: 0 }],
    });
    let lateral = ApplyKind::Lateral {
        left: false,
        condition: None,
    };
    let plan = apply(
        lateral,
        ints(&[&[Some(100)], &[Some(200)]]),
        limit(inner, 2),
        true,
    );
    assert_eq!(c.line(plan), "100 1 101, 100 2 102, 200 1 201, 200 2 202");
}

#[test]
fn a_subquery_that_is_not_repeatable_runs_for_each_row() {
    let db = db();
    let mut c = db.conn();
    let many: Vec<Vec<Value>> = (0..20).map(|_| vec![Value::Int(1)]).collect();
    for correlated in [true, false] {
        let random = project(Rel::OneRow, vec![call("rand", vec![])]);
        let plan = apply(ApplyKind::Scalar, values(&[INT], &many), random, correlated);
        let mut rows = c.rel(plan);
        rows.sort();
        rows.dedup();
        assert!(rows.len() > 15, "{}", rows.len());
    }
}

#[test]
fn what_runs_for_each_row_holds_memory_once() {
    let db = db();
    let mut c = db.conn();
    c.memory_limit_bytes = 4 << 20;
    // Each run sorts rows of about 100 kB; 500 runs together are beyond the limit.
    let long = SqlType::varchar(200, types::Collation::Utf8mb4Bin);
    let rows: Vec<Vec<Value>> = (0..500)
        .map(|n| vec![Value::from(format!("{n:0>200}").as_str())])
        .collect();
    let sorted = Rel::Sort {
        input: Box::new(filter(values(&[long], &rows), call("is not null", vec![outer()]))),
        keys: vec![planner::plan::SortKey {
            expr: column(0, long),
            descending: true,
        }],
        limit: None,
    };
    let many: Vec<Vec<Value>> = (0..500).map(|n| vec![Value::Int(n)]).collect();
    let plan = apply(ApplyKind::Scalar, values(&[INT], &many), limit(sorted, 1), true);
    assert_eq!(c.rel(plan).len(), 500);
}

#[test]
fn what_takes_nothing_from_outside_is_made_once_for_all_runs() {
    let db = db();
    let mut c = db.conn();
    // Of so many pairs, one run takes long enough.
    let numbers: Vec<Vec<Value>> = (0..500).map(|n| vec![Value::Int(n)]).collect();
    let pairs = Rel::Join(planner::plan::Join {
        kind: planner::plan::JoinKind::Inner,
        left: Box::new(values(&[INT], &numbers)),
        right: Box::new(values(&[INT], &numbers)),
        right_rows: 0,
        rows: 1.0,
        keys: Vec::new(),
        residual: Some(equal(call("*", vec![column(0, INT), column(1, INT)]), int(499))),
    });
    let inner = apply(
        ApplyKind::Exists,
        project(Rel::OneRow, vec![outer()]),
        pairs,
        false,
    );
    let many: Vec<Vec<Value>> = (0..1000).map(|n| vec![Value::Int(n)]).collect();
    let started = std::time::Instant::now();
    let rows = c.rel(apply(ApplyKind::Scalar, values(&[INT], &many), inner, true));
    assert_eq!((rows.len(), rows[999].as_str()), (1000, "999 999 1"));
    assert!(started.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn a_common_table_of_a_subquery_is_made_for_each_row() {
    let db = db();
    let mut c = db.conn();
    let id = planner::logical::CommonTableId(1);
    let columns = vec![planner::plan::OutputColumn {
        ty: INT,
        nullable: true,
    }];
    let with = Rel::With {
        id,
        definition: Box::new(project(Rel::OneRow, vec![outer()])),
        body: Box::new(Rel::Join(planner::plan::Join {
            kind: planner::plan::JoinKind::Inner,
            left: Box::new(project(Rel::OneRow, vec![int(7)])),
            right: Box::new(Rel::CommonTable {
                id,
                columns,
                recursive: false,
            }),
            right_rows: 0,
            rows: 1.0,
            keys: Vec::new(),
            residual: None,
        })),
    };
    let plan = apply(ApplyKind::Scalar, ints(&[&[Some(1)], &[Some(2)]]), with, true);
    assert_eq!(c.line(plan), "1 7 1, 2 7 2");
}

#[test]
fn the_rows_before_one_that_fails_come_first() {
    let db = db();
    let mut c = db.conn();
    // 2 has one row, 1 has two.
    let input = || ints(&[&[Some(2)], &[Some(7)], &[Some(1)], &[Some(2)]]);
    let plan = apply(ApplyKind::Scalar, input(), of_row(&c), true);
    assert_eq!(c.line(limit(plan.clone(), 2)), "2 30 3, 7 NULL NULL");
    assert_eq!(c.try_rel(limit(plan, 3)).unwrap_err().code, 1242);
}
