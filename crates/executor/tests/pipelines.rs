//! Pipelines over rows from outside, against the same operators in a plan of their own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use executor::{Pipeline, PipelineResources};
use planner::plan::{Access, Apply, ApplyKind, ExecutionCache, JoinKind, LookupJoin, OuterColumn, Rel};
use support::rel::*;
use support::{Conn, Db};
use types::array::ColumnView;
use types::{SqlType, errno};

/// Rows of the input: `k`, which rows of the table have, and its double.
const ROWS: i64 = 23;

fn db() -> Db {
    let db = Db::with("create table r (id bigint primary key, k bigint, v bigint, key k (k))");
    let rows: Vec<String> = (0..200)
        .map(|id| format!("({id}, {}, {})", id % 17, id % 5))
        .collect();
    db.conn()
        .exec(&format!("insert into r values {}", rows.join(", ")));
    db
}

fn input() -> Rel {
    let rows: Vec<[Option<i64>; 2]> = (0..ROWS).map(|k| [Some(k), Some(2 * k)]).collect();
    ints(&rows.iter().map(<[_; 2]>::as_slice).collect::<Vec<_>>())
}

fn lookup(c: &Conn<'_>, left: Rel, kind: JoinKind) -> Rel {
    let access = Access::IndexRanges {
        index: index(c, "r", "k"),
        ranges: vec![equal_range(column(0, INT))],
        reverse: false,
        covering: false,
    };
    Rel::LookupJoin(LookupJoin {
        kind,
        left: Box::new(left),
        right: scan(c, "r", access),
        // `2 * k` and `r.v`.
        residual: Some(call("<>", vec![column(1, INT), column(2 + 2, INT)])),
        rows: 1.0,
        execution_cache: ExecutionCache::default(),
    })
}

/// How many rows of the table have an id below a column of the input.
fn counted(c: &Conn<'_>, input: Rel, position: usize) -> Rel {
    let outer = functions::Expr::Outer {
        slot: 0,
        ty: INT,
        nullable: true,
    };
    let below = filter(full(c, "r"), call("<", vec![column(0, INT), outer]));
    Rel::Apply(Apply {
        kind: ApplyKind::Exists,
        input: Box::new(input),
        subquery: Box::new(limit(below, 1)),
        outer: vec![OuterColumn { slot: 0, position }],
    })
}

fn resources(c: &Conn<'_>) -> PipelineResources {
    PipelineResources {
        store: c.db.store.clone(),
        cluster: Arc::clone(&c.db.cluster),
        interrupt: Arc::clone(&c.interrupt),
        memory: memory::Broker::unlimited(),
        memory_limit_bytes: c.memory_limit_bytes,
        spill_directory: c.spill_directory.clone(),
        cte_max_recursion_depth: 10,
    }
}

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let field = |column: &ArrayRef| Field::new("", column.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

/// The input in slices of `slice` rows, with positions that count down from 1000 if they are wanted.
fn slices(slice: i64, positions: bool) -> Vec<RecordBatch> {
    let of = |first: i64| {
        let keys = first..(first + slice).min(ROWS);
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(keys.clone().collect::<Int64Array>()),
            Arc::new(keys.clone().map(|k| 2 * k).collect::<Int64Array>()),
        ];
        if positions {
            columns.push(Arc::new(keys.map(|k| 1000 - k as u64).collect::<UInt64Array>()));
        }
        assert_eq!(columns[0].data_type(), &DataType::Int64);
        batch(columns)
    };
    (0..ROWS).step_by(slice as usize).map(of).collect()
}

/// The rows of a pipeline over [`input`], as lines.
fn piped(c: &Conn<'_>, top: &Rel, input: &Rel, slice: i64, positions: bool) -> Vec<String> {
    let pipeline = Pipeline::new(top, input, positions).unwrap();
    let types = pipeline.output_types();
    let mut slices = slices(slice, positions).into_iter();
    let mut lines = Vec::new();
    pipeline
        .run(
            &resources(c),
            (&c.db.store.snapshot_now().unwrap(), &c.eval(&[], false)),
            &mut || Ok(slices.next()),
            &mut |batch| {
                for row in 0..batch.num_rows() {
                    let values = batch.columns().iter().zip(&types);
                    let text: Vec<String> = values
                        .map(|(array, ty)| ColumnView::new(array, ty).value(row).display_text(ty))
                        .collect();
                    lines.push(text.join(" "));
                }
                Ok(ControlFlow::Continue(()))
            },
        )
        .unwrap();
    lines
}

/// The operator right above `input`s of the plans below.
fn bottom(mut rel: &Rel) -> &Rel {
    loop {
        rel = match rel {
            Rel::LookupJoin(join) => &join.left,
            Rel::Apply(apply) => &apply.input,
            Rel::Filter { input, .. } | Rel::Project { input, .. } => input,
            _ => return rel,
        }
    }
}

fn plans(c: &Conn<'_>) -> Vec<Rel> {
    let mut plans: Vec<Rel> = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti]
        .into_iter()
        .map(|kind| lookup(c, input(), kind))
        .collect();
    // Columns behind the position: of the lookup, of the projection, and the mark.
    let joined = lookup(c, input(), JoinKind::Inner);
    let counted = counted(c, joined, 2);
    let odd = filter(counted, call("<>", vec![column(5, INT), column(4, INT)]));
    let shown = project(odd, vec![column(3, INT), column(1, INT), column(2, INT)]);
    plans.push(lookup(c, shown, JoinKind::Inner));
    plans
}

#[test]
fn a_pipeline_makes_what_the_plan_makes() {
    let db = db();
    let mut c = db.conn();
    for plan in plans(&c) {
        let expected = c.rel(plan.clone());
        assert!(expected.len() > 5, "{plan:?}");
        for slice in [1, 4, 100] {
            assert_eq!(
                piped(&c, &plan, bottom(&plan), slice, false),
                expected,
                "{plan:?}"
            );
        }
    }
}

#[test]
fn positions_of_the_input_pass_a_pipeline() {
    let db = db();
    let mut c = db.conn();
    for plan in plans(&c) {
        let expected = c.rel(plan.clone());
        let pipeline = Pipeline::new(&plan, bottom(&plan), true).unwrap();
        let at = pipeline.position().unwrap();
        assert_eq!(pipeline.output_types()[at], SqlType::BIGINT_UNSIGNED);
        let rows = piped(&c, &plan, bottom(&plan), 4, true);
        let taken = rows.iter().map(|row| {
            let mut values: Vec<&str> = row.split(' ').collect();
            let position: i64 = values.remove(at).parse().unwrap();
            assert!((1000 - ROWS..=1000).contains(&position), "{row}");
            values.join(" ")
        });
        assert_eq!(taken.collect::<Vec<_>>(), expected, "{plan:?}");
    }
}

#[test]
fn a_pipeline_ends_early_and_when_it_is_interrupted() {
    let db = db();
    let c = db.conn();
    let plan = lookup(&c, input(), JoinKind::Inner);
    let pipeline = Pipeline::new(&plan, bottom(&plan), false).unwrap();
    let run = |interrupted: bool| {
        let eval = c.eval(&[], false).for_thread(Arc::new(move || interrupted));
        let (mut given, mut batches) = (slices(1, false).into_iter(), 0);
        let result = pipeline.run(
            &resources(&c),
            (&db.store.snapshot_now().unwrap(), &eval),
            &mut || Ok(given.next()),
            &mut |_| {
                batches += 1;
                Ok(ControlFlow::Break(()))
            },
        );
        (result, batches, given.len())
    };
    let (result, batches, left) = run(false);
    assert!(result.is_ok() && batches == 1 && left > 0, "{batches} {left}");
    let (result, batches, _) = run(true);
    assert_eq!(
        (result.unwrap_err().code, batches),
        (errno::ER_QUERY_INTERRUPTED, 0)
    );
}

#[test]
fn an_operator_that_gathers_rows_is_no_part_of_a_pipeline() {
    let db = db();
    let c = db.conn();
    let gathered = limit(input(), 1);
    let plan = lookup(&c, gathered, JoinKind::Inner);
    let Rel::LookupJoin(join) = &plan else {
        panic!("a lookup")
    };
    let Rel::Limit { input, .. } = &*join.left else {
        panic!("a limit")
    };
    assert!(Pipeline::new(&plan, input, false).is_err());
    assert!(Pipeline::new(&plan, &join.left, false).is_ok());
}
