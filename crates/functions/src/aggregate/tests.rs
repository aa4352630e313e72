//! Aggregates as MySQL 8.0.33 computed them.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, Float64Array, Int64Array, StringArray};
use types::{Collation, SqlType, TypeKind, Value};

use super::*;

fn call(name: &str, ty: SqlType, distinct: bool) -> AggregateCall {
    let arg = Expr::column(0, ty, true);
    super::bind(name, vec![arg], distinct, &TypeEnv::default()).unwrap()
}

fn run(name: &str, ty: SqlType, distinct: bool, values: ArrayRef) -> String {
    let call = call(name, ty, distinct);
    let mut accumulator = Accumulator::new(&call).unwrap();
    let ctx = crate::EvalContext::default();
    let rows = values.len();
    // In two steps, so that the state is used.
    let first = values.slice(0, rows / 2);
    let rest = values.slice(rows / 2, rows - rows / 2);
    accumulator.update(&[first], rows / 2, &ctx).unwrap();
    accumulator.update(&[rest], rows - rows / 2, &ctx).unwrap();
    accumulator.evaluate(&ctx).unwrap().display_text(&call.shown)
}

fn ints(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

#[test]
fn integers() {
    let int = SqlType {
        kind: TypeKind::Int,
        length: 11,
        ..SqlType::BIGINT
    };
    let values = || ints(&[Some(1), Some(2), Some(2), None]);
    assert_eq!(run("sum", int, false, values()), "5");
    assert_eq!(run("avg", int, false, values()), "1.6667");
    assert_eq!(run("count", int, false, values()), "3");
    assert_eq!(run("min", int, false, values()), "1");
    assert_eq!(run("max", int, false, values()), "2");
    assert_eq!(run("sum", int, true, values()), "3");
    assert_eq!(run("avg", int, true, values()), "1.5000");
    assert_eq!(run("count", int, true, values()), "2");
    assert_eq!(call("sum", int, false).shown, SqlType::decimal(32, 0));
    assert_eq!(call("avg", int, false).shown, SqlType::decimal(14, 4));
}

#[test]
fn sums_outgrow_128_bits() {
    let max = types::Decimal::max_value(38, 0);
    let ty = SqlType::decimal(38, 0);
    let array = types::array::array_of(&Value::Decimal(max), &ty, 4).unwrap();
    assert_eq!(
        run("sum", ty, false, array),
        "399999999999999999999999999999999999996"
    );
}

#[test]
fn no_rows() {
    let empty = || ints(&[]);
    assert_eq!(run("count", SqlType::BIGINT, false, empty()), "0");
    for name in ["sum", "avg", "min", "max"] {
        assert_eq!(run(name, SqlType::BIGINT, false, empty()), "NULL", "{name}");
    }
}

#[test]
fn doubles_and_text() {
    let doubles: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(2.0)]));
    assert_eq!(run("sum", SqlType::DOUBLE, false, doubles.clone()), "2.5");
    assert_eq!(run("avg", SqlType::DOUBLE, false, doubles), "1.25");
    let text = SqlType::varchar(10, Collation::DEFAULT);
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("B"), Some("b"), None]));
    assert_eq!(run("max", text, false, strings.clone()), "B");
    assert_eq!(run("min", text, false, strings.clone()), "a");
    assert_eq!(run("count", text, true, strings), "2");
}

#[test]
fn groups_are_apart() {
    let call = call("sum", SqlType::BIGINT, false);
    let mut accumulator = GroupedAccumulator::new(&call).unwrap();
    let ctx = crate::EvalContext::default();
    let values = ints(&[Some(1), Some(10), None, Some(5)]);
    accumulator
        .update(&[values], RowGroups::Each(&[0, 1, 2, 0]), 3, &ctx)
        .unwrap();
    accumulator
        .update(&[ints(&[Some(7)])], RowGroups::Each(&[3]), 4, &ctx)
        .unwrap();
    let shown: Vec<String> = (0..4)
        .map(|g| accumulator.value(g, &ctx).unwrap().display_text(&call.ty))
        .collect();
    assert_eq!(shown, ["6", "10", "NULL", "7"]);
    assert_eq!(accumulator.evaluate(&ctx).unwrap().len(), 4);
}

#[test]
fn bits_of_binary_strings() {
    let ty = SqlType::varchar(4, Collation::Binary);
    let strings = |values: &[Option<&[u8]>]| -> ArrayRef { Arc::new(BinaryArray::from(values.to_vec())) };
    let value = |name: &str, values: ArrayRef| {
        let mut accumulator = Accumulator::new(&call(name, ty, false)).unwrap();
        let ctx = crate::EvalContext::default();
        accumulator.update(std::slice::from_ref(&values), values.len(), &ctx)?;
        accumulator.evaluate(&ctx)
    };
    let both = || strings(&[Some(&[0xff, 0x0f]), None, Some(&[0x0f, 0xf0])]);
    assert_eq!(value("bit_and", both()).unwrap(), Value::Bytes(vec![0x0f, 0]));
    assert_eq!(value("bit_xor", both()).unwrap(), Value::Bytes(vec![0xf0, 0xff]));
    assert_eq!(
        value("bit_and", strings(&[])).unwrap(),
        Value::Bytes(vec![0xff; 4])
    );
    assert_eq!(
        value("bit_or", strings(&[None])).unwrap(),
        Value::Bytes(vec![0; 4])
    );
    let error = value("bit_or", strings(&[Some(&[1]), Some(&[1, 2])])).unwrap_err();
    assert_eq!(error.code, types::errno::ER_INVALID_BITWISE_OPERANDS_SIZE);
}

#[test]
fn average_apart_is_the_average() {
    let avg = call("avg", SqlType::BIGINT, false);
    let sum = Expr::literal(
        Value::Decimal(types::Decimal::from_i64(5)),
        SqlType::decimal(41, 0),
    );
    let count = Expr::literal(Value::Int(3), SqlType::BIGINT);
    let expr = average_of(sum, count, &avg.ty).unwrap();
    let value = crate::eval_value(&expr, &crate::EvalContext::default()).unwrap();
    assert_eq!(value.display_text(&avg.shown), "1.6667");
    // Digits that are not shown are still used, as in MySQL: AVG(i) * 1000000 is 1666666.6660.
    assert_eq!(value.display_text(&avg.ty), "1.666666666");
}
