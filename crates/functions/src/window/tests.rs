//! Windows as MySQL 8.0.33 computed them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use types::{Collation, SqlType, TypeKind, Value, errno};

use super::*;
use crate::EvalContext;
use crate::bind::env::TypeEnv;

/// Columns: id, i, x, s; ordered by i.
const I: [Option<i64>; 5] = [None, Some(1), Some(2), Some(2), Some(7)];
const PEERS: [Range<usize>; 4] = [0..1, 1..2, 2..4, 4..5];

fn rows() -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![4, 1, 2, 3, 5])),
        Arc::new(Int64Array::from(I.to_vec())),
        Arc::new(Float64Array::from(vec![1e16, 0.1, 0.2, 0.3, -1e16])),
        Arc::new(StringArray::from(vec![
            Some("A"),
            Some("a"),
            Some("B"),
            Some("b"),
            None,
        ])),
    ];
    let fields = columns.iter().enumerate();
    let fields: Vec<Field> = fields
        .map(|(at, column)| Field::new(format!("c{at}"), column.data_type().clone(), true))
        .collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

const INT: SqlType = SqlType {
    kind: TypeKind::Int,
    length: 11,
    ..SqlType::BIGINT
};

fn i() -> Expr {
    Expr::column(1, INT, true)
}

fn x() -> Expr {
    Expr::column(2, SqlType::DOUBLE, true)
}

fn s() -> Expr {
    Expr::column(3, SqlType::varchar(5, Collation::DEFAULT), true)
}

fn int(value: i64) -> Expr {
    Expr::literal(Value::Int(value), SqlType::BIGINT)
}

fn bound(name: &str, args: Vec<Expr>) -> WindowCall {
    super::bind(name, args, &TypeEnv::default()).unwrap()
}

fn aggregate(name: &str, arg: Expr) -> WindowCall {
    let call = crate::aggregate::bind(name, vec![arg], false, &TypeEnv::default()).unwrap();
    WindowCall::of_aggregate(call).unwrap()
}

fn run(call: &WindowCall, frame: &Frame) -> String {
    let ctx = EvalContext::default();
    let rows = rows();
    let frames = frames(frame, &rows, &PEERS, Some((&i(), false)), rows.num_rows(), &ctx).unwrap();
    let partition = Partition {
        rows: &rows,
        peers: &PEERS,
        frames: frames.into(),
    };
    let texts = |step: usize| {
        let mut values = CallValues::new(call, &partition, &ctx).unwrap();
        let mut texts: Vec<String> = Vec::new();
        for first in (0..rows.num_rows()).step_by(step) {
            let range = first..rows.num_rows().min(first + step);
            let values = values.next(range, &ctx).unwrap();
            assert_eq!(*values.data_type(), call.ty.arrow_type());
            let some = (0..values.len()).map(|row| types::array::value_at(&values, row, &call.ty));
            texts.extend(some.map(|value| value.display_text(&call.ty)));
        }
        texts.join(" ")
    };
    assert_eq!(texts(2), texts(5));
    texts(5)
}

fn to_current(name: &str, args: Vec<Expr>) -> String {
    run(&bound(name, args), &Frame::TO_CURRENT)
}

#[test]
fn ranks() {
    assert_eq!(to_current("row_number", vec![]), "1 2 3 4 5");
    assert_eq!(to_current("rank", vec![]), "1 2 3 3 5");
    assert_eq!(to_current("dense_rank", vec![]), "1 2 3 3 4");
    assert_eq!(to_current("percent_rank", vec![]), "0 0.25 0.5 0.5 1");
    assert_eq!(to_current("cume_dist", vec![]), "0.2 0.4 0.8 0.8 1");
    assert_eq!(to_current("ntile", vec![int(3)]), "1 1 2 2 3");
    assert_eq!(to_current("ntile", vec![int(7)]), "1 2 3 4 5");
}

#[test]
fn other_rows() {
    let text = |text: &str| {
        Expr::literal(
            Value::String(text.into()),
            SqlType::varchar(2, Collation::DEFAULT),
        )
    };
    assert_eq!(to_current("lead", vec![s()]), "a B b NULL NULL");
    assert_eq!(to_current("lag", vec![s(), int(2), text("zz")]), "zz zz A a B");
    assert_eq!(to_current("lag", vec![i(), int(0)]), "NULL 1 2 2 7");
    assert_eq!(to_current("first_value", vec![s()]), "A A A A A");
    assert_eq!(to_current("last_value", vec![s()]), "A a b b NULL");
    assert_eq!(to_current("nth_value", vec![s(), int(2)]), "NULL a a a a");
}

#[test]
fn arguments_out_of_range_are_refused() {
    for (name, args) in [
        ("ntile", vec![int(0)]),
        ("lead", vec![i(), int(-1)]),
        ("nth_value", vec![i(), int(0)]),
        ("nth_value", vec![i(), Expr::null()]),
    ] {
        let error = super::bind(name, args, &TypeEnv::default()).unwrap_err();
        assert_eq!(error.code, errno::ER_WRONG_ARGUMENTS, "{name}");
    }
}

fn rows_between(start: FrameBound, end: FrameBound) -> Frame {
    Frame {
        unit: FrameUnit::Rows,
        start,
        end,
    }
}

/// The key plus `offset`.
fn key_and(offset: i64) -> Expr {
    crate::bind::call("+", vec![i(), int(offset)], &TypeEnv::default()).unwrap()
}

#[test]
fn frames_by_value() {
    use FrameBound::{Following, Preceding, UnboundedFollowing, UnboundedPreceding};
    let between = |start, end| Frame {
        unit: FrameUnit::Range,
        start,
        end,
    };
    let (less, more) = (Preceding(key_and(-1)), Following(key_and(1)));
    let near = between(less, more.clone());
    assert_eq!(run(&aggregate("sum", i()), &near), "NULL 5 5 5 7");
    let count = aggregate("count", int(1));
    assert_eq!(run(&count, &near), "1 3 3 3 1");
    assert_eq!(
        run(&count, &between(UnboundedPreceding, more.clone())),
        "1 4 4 4 5"
    );
    assert_eq!(run(&count, &between(more, UnboundedFollowing)), "5 3 1 1 0");
}

#[test]
fn frames_by_rows() {
    use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing};
    let pair = rows_between(Preceding(int(1)), CurrentRow);
    assert_eq!(
        run(&aggregate("avg", i()), &pair),
        "NULL 1.0000 1.5000 2.0000 4.5000"
    );
    assert_eq!(
        run(&aggregate("sum", x()), &pair),
        "1e16 1e16 0.30000000000000004 0.5 -1e16"
    );
    assert_eq!(run(&aggregate("bit_xor", i()), &pair), "0 1 3 0 5");
    let around = rows_between(Preceding(int(1)), Following(int(1)));
    assert_eq!(run(&aggregate("min", s()), &around), "A A a B b");
    let rest = rows_between(CurrentRow, UnboundedFollowing);
    assert_eq!(run(&aggregate("max", s()), &rest), "B B B b NULL");
    let none = rows_between(Following(int(3)), Following(int(1)));
    assert_eq!(run(&aggregate("sum", i()), &none), "NULL NULL NULL NULL NULL");
    assert_eq!(run(&aggregate("count", i()), &none), "0 0 0 0 0");
    let beyond = rows_between(Following(int(3)), Following(int(4)));
    assert_eq!(
        run(&bound("first_value", vec![i()]), &beyond),
        "2 7 NULL NULL NULL"
    );
}

#[test]
fn running_and_whole() {
    assert_eq!(run(&aggregate("sum", i()), &Frame::TO_CURRENT), "NULL 1 5 5 12");
    assert_eq!(run(&aggregate("sum", i()), &Frame::WHOLE), "12 12 12 12 12");
    // The result of a window has only the digits that its type shows.
    let avg = aggregate("avg", i());
    assert_eq!(avg.ty, SqlType::decimal(14, 4));
    assert_eq!(run(&avg, &Frame::TO_CURRENT), "NULL 1.0000 1.6667 1.6667 3.0000");
    assert_eq!(
        run(&aggregate("std", i()), &Frame::TO_CURRENT),
        "NULL 0 0.4714045207910317 0.4714045207910317 2.345207879911715"
    );
    assert_eq!(
        run(&aggregate("json_arrayagg", i()), &Frame::TO_CURRENT).replace(", ", ","),
        "[null] [null,1] [null,1,2,2] [null,1,2,2] [null,1,2,2,7]"
    );
}

#[test]
fn types_are_those_of_temporary_tables() {
    let kinds = |ty| bound("first_value", vec![Expr::column(1, ty, false)]).ty;
    assert_eq!(kinds(INT).kind, TypeKind::BigInt);
    assert_eq!(kinds(SqlType { length: 6, ..INT }).kind, TypeKind::Int);
    assert_eq!(kinds(SqlType::YEAR).kind, TypeKind::Int);
    let text = |length| kinds(SqlType::varchar(length, Collation::DEFAULT)).kind;
    assert_eq!((text(500), text(600)), (TypeKind::VarChar, TypeKind::Text));
}

#[test]
fn aggregates_that_mysql_refuses() {
    let distinct = crate::aggregate::bind("sum", vec![i()], true, &TypeEnv::default()).unwrap();
    let error = WindowCall::of_aggregate(distinct).unwrap_err();
    assert_eq!(error.code, errno::ER_NOT_SUPPORTED_YET);
}
