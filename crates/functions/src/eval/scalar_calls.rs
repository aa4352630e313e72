//! Functions without a kernel of their own: their scalar form, in a loop over arrays.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType, TypeKind, Value};

use super::output::append;
use super::speculate;
use crate::EvalContext;
use crate::datum::Datum;
use crate::expr::{Call, ScalarFn};
use crate::input::ColumnarValue;
use crate::work::rows_between_looks;

/// Calls the function once for each row.
pub(super) fn by_values(
    call: &Call<'_>,
    eval: ScalarFn,
    args: &[ColumnarValue],
    rows: usize,
) -> Result<ColumnarValue> {
    let mut out = builder(&call.ty, rows);
    let mut values = Vec::with_capacity(rows);
    let between_looks = rows_between_looks(args, rows);
    let mut look_at = between_looks;
    for i in 0..rows {
        if i == look_at {
            call.ctx.check_interrupted()?;
            look_at += between_looks;
        }
        let value = scalar_call(call, eval, args, i)?;
        match &mut out {
            Some(out) => append(out, Datum::of(&value), &call.ty)?,
            None => values.push(value),
        }
    }
    match out {
        Some(mut out) => Ok(ColumnarValue::Array(out.finish())),
        None => decimals(&values).map(ColumnarValue::Array),
    }
}

/// The builder for a result; `None` for decimals, because their scales vary inside an expression.
fn builder(ty: &SqlType, rows: usize) -> Option<ColumnBuilder> {
    (ty.kind != TypeKind::Decimal).then(|| ColumnBuilder::new(ty, rows))
}

/// The texts of JSON values.
pub(super) fn without_json(value: ColumnarValue) -> Result<ColumnarValue> {
    Ok(match value {
        ColumnarValue::Scalar(Value::Json(json)) => {
            ColumnarValue::Scalar(Value::String(json.root().to_text()))
        }
        ColumnarValue::Array(array) if *array.data_type() == DataType::LargeBinary => {
            let ty = SqlType::varchar(u32::MAX, types::Collation::Utf8mb4Bin);
            let mut texts = ColumnBuilder::new(&ty, array.len());
            for row in 0..array.len() {
                append(&mut texts, Datum::at(array.as_ref(), row)?, &ty)?;
            }
            ColumnarValue::Array(texts.finish())
        }
        other => other,
    })
}

/// One value for all rows. It is computed once, unless it warns: then it warns for each row, as in MySQL.
pub(super) fn for_all(
    rows: usize,
    ctx: &EvalContext,
    mut evaluate: impl FnMut() -> Result<Value>,
) -> Result<ColumnarValue> {
    if let Ok(value) = speculate::attempt(&mut evaluate) {
        return Ok(ColumnarValue::Scalar(value));
    }
    let mut value = Value::Null;
    for _ in 0..rows {
        ctx.check_interrupted()?;
        value = evaluate()?;
    }
    Ok(ColumnarValue::Scalar(value))
}

/// An array of decimals at the largest of their scales.
pub(super) fn decimals(values: &[Value]) -> Result<ArrayRef> {
    let scale = values
        .iter()
        .map(|v| if let Value::Decimal(d) = v { d.scale } else { 0 })
        .max();
    let ty = SqlType::decimal(65, scale.unwrap_or(0).min(types::Decimal::MAX_SCALE));
    let mut out = ColumnBuilder::new(&ty, values.len());
    for value in values {
        append(&mut out, Datum::of(value), &ty)?;
    }
    Ok(out.finish())
}

/// Calls the function for one row.
pub(super) fn scalar_call(
    call: &Call<'_>,
    eval: ScalarFn,
    args: &[ColumnarValue],
    index: usize,
) -> Result<Value> {
    let strict = call.def.null_in_null_out;
    match args {
        [a] => {
            let a = at(a, index)?;
            if strict && a.is_null() {
                Ok(Value::Null)
            } else {
                eval(call, &[a])
            }
        }
        [a, b] => {
            let (a, b) = (at(a, index)?, at(b, index)?);
            if strict && (a.is_null() || b.is_null()) {
                return Ok(Value::Null);
            }
            eval(call, &[a, b])
        }
        [a, b, c] => {
            let (a, b, c) = (at(a, index)?, at(b, index)?, at(c, index)?);
            if strict && (a.is_null() || b.is_null() || c.is_null()) {
                return Ok(Value::Null);
            }
            eval(call, &[a, b, c])
        }
        args => {
            let mut datums = Vec::with_capacity(args.len());
            for arg in args {
                let datum = at(arg, index)?;
                if strict && datum.is_null() {
                    return Ok(Value::Null);
                }
                datums.push(datum);
            }
            eval(call, &datums)
        }
    }
}

/// The value of an argument in one row.
fn at(value: &ColumnarValue, index: usize) -> Result<Datum<'_>> {
    match value {
        ColumnarValue::Scalar(value) => Ok(Datum::of(value)),
        ColumnarValue::Array(array) if index < array.len() => Datum::at(array.as_ref(), index),
        ColumnarValue::Array(_) => Err(Error::internal("an argument's array is too short")),
    }
}
