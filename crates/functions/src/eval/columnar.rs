//! Evaluates a column at a time: with an Arrow kernel if the function has one, otherwise with its scalar form
//! in a loop.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType, TypeKind, Value};

use super::{branches, row, speculate};
use crate::call::{Call, ColumnarValue, Row};
use crate::datum::{Cell, Datum};
use crate::eval::output::append;
use crate::registry::{Eval, ScalarFn};
use crate::{EvalContext, Expr, cast};

/// Evaluates over a batch. Truth values may come as Arrow booleans, decimals at a scale of their own;
/// [`super::output::finish_array`] makes the type's array of them.
pub(crate) fn evaluate(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<ColumnarValue> {
    match expr {
        Expr::Column { index, .. } => match batch.columns().get(*index) {
            Some(array) => Ok(ColumnarValue::Array(array.clone())),
            None => Err(Error::internal(format!("there is no column {index} to evaluate"))),
        },
        Expr::Literal { .. } | Expr::Param { .. } | Expr::Outer { .. } => Ok(ColumnarValue::Scalar(
            row::evaluate(expr, &Row::None, ctx)?.into_value(),
        )),
        Expr::Call { function, args, ty } => {
            let call = Call {
                ctx,
                def: function.0,
                args,
                ty: *ty,
            };
            evaluate_call(expr, &call, batch)
        }
        Expr::Cast { input, ty, implicit } => {
            let from = input.ty();
            match evaluate(input, batch, ctx)? {
                ColumnarValue::Scalar(value) => for_all(batch.num_rows(), || {
                    let cell = Cell::Ref(Datum::of(&value));
                    Ok(cast::cell(cell, &from, ty, *implicit, ctx, input)?.into_value())
                }),
                ColumnarValue::Array(array) => {
                    cast::array(&array, &from, ty, *implicit, ctx, input).map(ColumnarValue::Array)
                }
            }
        }
        Expr::Case {
            branches: cases,
            otherwise,
            ty,
        } => branches::case(expr, cases, otherwise.as_deref(), ty, batch, ctx),
    }
}

fn evaluate_call(expr: &Expr, call: &Call<'_>, batch: &RecordBatch) -> Result<ColumnarValue> {
    let Eval::Scalar(eval) = call.def.eval else {
        return branches::evaluate(expr, call, batch);
    };
    let rows = batch.num_rows();
    let mut args = Vec::with_capacity(call.args.len());
    for arg in call.args {
        let value = evaluate(arg, batch, call.ctx)?;
        args.push(if call.def.takes_json {
            value
        } else {
            without_json(value)?
        });
    }
    if let Some(vector) = call.def.vector
        && let Some(result) = vector(call, &args, rows)?
    {
        return Ok(result);
    }
    let constant = !call.def.volatile && args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
    if constant && rows > 0 {
        return for_all(rows, || scalar_call(call, eval, &args, 0));
    }
    let mut out = builder(&call.ty, rows);
    let mut values = Vec::with_capacity(rows);
    for i in 0..rows {
        if i % 1024 == 1023 {
            call.ctx.check_interrupted()?;
        }
        let value = scalar_call(call, eval, &args, i)?;
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

/// The texts of JSON values.
fn without_json(value: ColumnarValue) -> Result<ColumnarValue> {
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
fn for_all(rows: usize, mut evaluate: impl FnMut() -> Result<Value>) -> Result<ColumnarValue> {
    if let Ok(value) = speculate::attempt(&mut evaluate) {
        return Ok(ColumnarValue::Scalar(value));
    }
    let mut value = Value::Null;
    for _ in 0..rows {
        value = evaluate()?;
    }
    Ok(ColumnarValue::Scalar(value))
}

/// The builder for a result; `None` for decimals, which have scales of their own inside an expression.
fn builder(ty: &SqlType, rows: usize) -> Option<ColumnBuilder> {
    (ty.kind != TypeKind::Decimal).then(|| ColumnBuilder::new(ty, rows))
}

/// An array of decimals at the largest of their scales.
pub(crate) fn decimals(values: &[Value]) -> Result<ArrayRef> {
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

fn scalar_call(call: &Call<'_>, eval: ScalarFn, args: &[ColumnarValue], index: usize) -> Result<Value> {
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
pub(crate) fn at(value: &ColumnarValue, index: usize) -> Result<Datum<'_>> {
    match value {
        ColumnarValue::Scalar(value) => Ok(Datum::of(value)),
        ColumnarValue::Array(array) if index < array.len() => Datum::at(array.as_ref(), index),
        ColumnarValue::Array(_) => Err(Error::internal("an argument's array is too short")),
    }
}
