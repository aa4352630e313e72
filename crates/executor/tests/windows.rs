//! Windows: partitions, their order, and the frames of their rows.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use functions::aggregate;
use functions::window::{Frame, FrameBound, FrameUnit, WindowCall, WindowFunction};
use planner::plan::{Rel, SortKey};
use support::Db;
use support::rel::*;
use types::{SqlType, Value};

fn key(index: usize, ty: SqlType, descending: bool) -> SortKey {
    SortKey {
        expr: column(index, ty),
        descending,
    }
}

fn rank(function: WindowFunction) -> WindowCall {
    WindowCall {
        function,
        args: Vec::new(),
        ty: SqlType::BIGINT_UNSIGNED,
        nullable: false,
    }
}

fn sum(index: usize) -> WindowCall {
    let types = functions::bind::TypeEnv::default();
    let call = aggregate::bind("sum", vec![column(index, INT)], false, &types).unwrap();
    WindowCall::of_aggregate(call).unwrap()
}

fn window(
    input: Rel,
    partition: &[(usize, SqlType)],
    order: Vec<SortKey>,
    frame: Frame,
    calls: Vec<WindowCall>,
) -> Rel {
    Rel::Window {
        input: Box::new(input),
        partition_by: partition.iter().map(|(index, ty)| column(*index, *ty)).collect(),
        order_by: order,
        frame,
        calls,
    }
}

#[test]
fn partitions_are_equal_under_their_collation() {
    let db = Db::new();
    let mut c = db.conn();
    let rows: Vec<Vec<Value>> = [
        (Some("b"), Some(2)),
        (Some("a"), Some(5)),
        (None, Some(9)),
        (Some("A"), None),
        (Some("B"), Some(1)),
        (Some("ä"), Some(5)),
    ]
    .iter()
    .map(|(name, n)| {
        vec![
            name.map_or(Value::Null, Value::from),
            n.map_or(Value::Null, Value::Int),
        ]
    })
    .collect();
    let input = || values(&[text(), INT], &rows);
    let calls = || {
        vec![
            rank(WindowFunction::RowNumber),
            rank(WindowFunction::Rank),
            rank(WindowFunction::DenseRank),
            sum(1),
        ]
    };
    let plan = window(
        input(),
        &[(0, text())],
        vec![key(1, INT, false)],
        Frame::TO_CURRENT,
        calls(),
    );
    assert_eq!(
        c.rel(plan.clone()),
        [
            "NULL 9 1 1 1 9",
            "A NULL 1 1 1 NULL",
            "a 5 2 2 2 10",
            "ä 5 3 2 2 10",
            "B 1 1 1 1 1",
            "b 2 2 2 2 3"
        ]
    );
    assert_eq!(c.rel(limit(plan, 2)).len(), 2);
    let whole = window(input(), &[], Vec::new(), Frame::WHOLE, vec![sum(1)]);
    assert_eq!(
        c.line(whole),
        "b 2 22, a 5 22, NULL 9 22, A NULL 22, B 1 22, ä 5 22"
    );
    let descending = window(
        input(),
        &[],
        vec![key(1, INT, true)],
        Frame::TO_CURRENT,
        vec![rank(WindowFunction::Rank)],
    );
    assert_eq!(
        c.line(descending),
        "NULL 9 1, a 5 2, ä 5 2, b 2 4, B 1 5, A NULL 6"
    );
    let none = window(values(&[INT], &[]), &[], Vec::new(), Frame::WHOLE, vec![sum(0)]);
    assert_eq!(c.line(none), "");
}

#[test]
fn partitions_of_more_rows_than_a_batch_and_of_one() {
    let db = Db::new();
    let mut c = db.conn();
    let rows: Vec<Vec<Value>> = (0..5000)
        .map(|n| vec![Value::Int(if n < 3000 { 0 } else { n }), Value::Int(n)])
        .collect();
    let plan = window(
        values(&[INT, INT], &rows),
        &[(0, INT)],
        vec![key(1, INT, true)],
        Frame::TO_CURRENT,
        vec![rank(WindowFunction::RowNumber)],
    );
    let out = c.rel(plan);
    assert_eq!(out.len(), 5000);
    assert_eq!(
        (
            out[0].as_str(),
            out[2999].as_str(),
            out[3000].as_str(),
            out[4999].as_str()
        ),
        ("0 2999 1", "0 0 3000", "3000 3000 1", "4999 4999 1")
    );
}

#[test]
fn a_partition_need_not_be_in_memory() {
    let db = Db::new();
    let mut c = db.conn();
    c.memory_limit_bytes = 64 << 10;
    let rows: Vec<Vec<Value>> = (0..5000).map(|n| vec![Value::Int(n)]).collect();
    for partition in [&[(0, INT)][..], &[]] {
        let plan = window(
            values(&[INT], &rows),
            partition,
            Vec::new(),
            Frame::WHOLE,
            vec![sum(0)],
        );
        let many: Vec<_> = (0..4).map(|_| plan.clone()).collect();
        let deep = many.into_iter().reduce(|below, above| match above {
            Rel::Window {
                partition_by,
                order_by,
                frame,
                calls,
                ..
            } => Rel::Window {
                input: Box::new(below),
                partition_by,
                order_by,
                frame,
                calls,
            },
            _ => below,
        });
        assert_eq!(c.try_rel(deep.unwrap()).unwrap().len(), 5000);
    }
    let to_last = Frame {
        unit: FrameUnit::Rows,
        start: FrameBound::CurrentRow,
        end: FrameBound::UnboundedFollowing,
    };
    let plan = window(values(&[INT], &rows), &[], Vec::new(), to_last, vec![sum(0)]);
    let out = c.try_rel(plan).unwrap();
    assert_eq!((out.len(), out[4990].as_str()), (5000, "4990 49945"));
}
