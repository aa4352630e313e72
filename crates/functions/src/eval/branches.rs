//! AND, OR, IF, CASE and COALESCE over columns. Every branch is first evaluated for all rows at once. If that
//! fails or would warn, the branch is evaluated row by row, only for the rows that take it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Scalar};
use arrow::compute::kernels::{boolean, zip::zip};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use types::array::ColumnBuilder;
use types::{Result, SqlType, TypeKind, Value};

use super::{columnar, row, speculate};
use crate::call::{Call, ColumnarValue, Row};
use crate::datum::Datum;
use crate::eval::output::{append, finish_array};
use crate::eval::properties::{is_deterministic, is_fallible};
use crate::truth::truth;
use crate::{EvalContext, Expr};

/// A call of a lazy function.
pub(crate) fn evaluate(expr: &Expr, call: &Call<'_>, batch: &RecordBatch) -> Result<ColumnarValue> {
    let fast = match call.def.name {
        "and" => logic(call, batch, true),
        "or" => logic(call, batch, false),
        "if" => if_function(call, batch),
        "coalesce" | "ifnull" => coalesce(call, batch),
        "in" => in_list(call, batch),
        _ => return by_rows(expr, batch, call.ctx),
    };
    match fast? {
        Some(value) => Ok(value),
        None => by_rows(expr, batch, call.ctx),
    }
}

fn by_rows(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<ColumnarValue> {
    let ty = expr.ty();
    if ty.kind == TypeKind::Decimal {
        let mut values = Vec::with_capacity(batch.num_rows());
        for i in 0..batch.num_rows() {
            values.push(row::evaluate(expr, &Row::Batch(batch, i), ctx)?.into_value());
        }
        return columnar::decimals(&values).map(ColumnarValue::Array);
    }
    let mut out = ColumnBuilder::new(&ty, batch.num_rows());
    for i in 0..batch.num_rows() {
        let cell = row::evaluate(expr, &Row::Batch(batch, i), ctx)?;
        append(&mut out, cell.datum(), &ty)?;
    }
    Ok(ColumnarValue::Array(out.finish()))
}

/// Evaluates a branch for all rows, even those that do not take it. `None` if the result could differ from
/// evaluating it only for the rows that take it.
fn attempt(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<Option<ColumnarValue>> {
    if !is_fallible(expr) {
        return columnar::evaluate(expr, batch, ctx).map(Some);
    }
    if !is_deterministic(expr) {
        return Ok(None);
    }
    Ok(speculate::attempt(|| columnar::evaluate(expr, batch, ctx)).ok())
}

/// `AND` (`conjunction`) and `OR`, of any number of conditions.
fn logic(call: &Call<'_>, batch: &RecordBatch, conjunction: bool) -> Result<Option<ColumnarValue>> {
    let Some((first, rest)) = call.args.split_first() else {
        return Ok(None);
    };
    let rows = batch.num_rows();
    // The first condition is evaluated for every row. If it warns, and a later one has to be evaluated by
    // rows, it must not warn twice.
    let Some(first) = attempt(first, batch, call.ctx)? else {
        return Ok(None);
    };
    let mut result = truths_of(&first, rows)?;
    for condition in rest {
        let decided = if conjunction {
            result.true_count() == 0 && result.null_count() == 0
        } else {
            result.true_count() == rows
        };
        if decided {
            break;
        }
        let Some(next) = attempt(condition, batch, call.ctx)? else {
            return Ok(None);
        };
        let next = truths_of(&next, rows)?;
        let combined = if conjunction {
            boolean::and_kleene(&result, &next)
        } else {
            boolean::or_kleene(&result, &next)
        };
        result = combined.map_err(types_error)?;
    }
    Ok(Some(ColumnarValue::Array(Arc::new(result))))
}

fn if_function(call: &Call<'_>, batch: &RecordBatch) -> Result<Option<ColumnarValue>> {
    let [condition, then, otherwise] = call.args else {
        return Ok(None);
    };
    let (ctx, rows) = (call.ctx, batch.num_rows());
    let Some(condition) = attempt(condition, batch, ctx)? else {
        return Ok(None);
    };
    let condition = truths_of(&condition, rows)?;
    let (Some(then), Some(otherwise)) = (attempt(then, batch, ctx)?, attempt(otherwise, batch, ctx)?) else {
        return Ok(None);
    };
    choose(&condition, &then, &otherwise, &call.ty, rows).map(|a| Some(ColumnarValue::Array(a)))
}

/// `IN`, by its kernel.
fn in_list(call: &Call<'_>, batch: &RecordBatch) -> Result<Option<ColumnarValue>> {
    let Some(kernel) = call.def.vector else {
        return Ok(None);
    };
    let mut args = Vec::with_capacity(call.args.len());
    for arg in call.args {
        match attempt(arg, batch, call.ctx)? {
            Some(value) => args.push(value),
            None => return Ok(None),
        }
    }
    kernel(call, &args, batch.num_rows())
}

fn coalesce(call: &Call<'_>, batch: &RecordBatch) -> Result<Option<ColumnarValue>> {
    let rows = batch.num_rows();
    let mut values = Vec::with_capacity(call.args.len());
    for arg in call.args {
        let Some(value) = attempt(arg, batch, call.ctx)? else {
            return Ok(None);
        };
        let complete = match &value {
            ColumnarValue::Scalar(v) => !v.is_null(),
            ColumnarValue::Array(a) => a.null_count() == 0 && *a.data_type() != DataType::Null,
        };
        values.push(value);
        if complete {
            break;
        }
    }
    let Some(last) = values.pop() else {
        return Ok(None);
    };
    let mut result = last;
    for value in values.into_iter().rev() {
        let present = match &value {
            ColumnarValue::Scalar(v) => BooleanArray::from(vec![!v.is_null(); rows]),
            ColumnarValue::Array(a) => arrow::compute::is_not_null(a.as_ref()).map_err(types_error)?,
        };
        result = ColumnarValue::Array(choose(&present, &value, &result, &call.ty, rows)?);
    }
    Ok(Some(result))
}

/// `CASE`.
pub(crate) fn case(
    expr: &Expr,
    cases: &[(Expr, Expr)],
    otherwise: Option<&Expr>,
    ty: &SqlType,
    batch: &RecordBatch,
    ctx: &EvalContext,
) -> Result<ColumnarValue> {
    let rows = batch.num_rows();
    let mut chosen = Vec::with_capacity(cases.len());
    for (condition, value) in cases {
        let (Some(condition), Some(value)) = (attempt(condition, batch, ctx)?, attempt(value, batch, ctx)?)
        else {
            return by_rows(expr, batch, ctx);
        };
        chosen.push((truths_of(&condition, rows)?, value));
    }
    let mut result = match otherwise {
        None => ColumnarValue::Scalar(Value::Null),
        Some(otherwise) => match attempt(otherwise, batch, ctx)? {
            Some(value) => value,
            None => return by_rows(expr, batch, ctx),
        },
    };
    for (condition, value) in chosen.iter().rev() {
        result = ColumnarValue::Array(choose(condition, value, &result, ty, rows)?);
    }
    Ok(result)
}

/// `then` where the condition is true, `otherwise` elsewhere, as an array of the type.
fn choose(
    condition: &BooleanArray,
    then: &ColumnarValue,
    otherwise: &ColumnarValue,
    ty: &SqlType,
    rows: usize,
) -> Result<ArrayRef> {
    let (then, otherwise) = (operand(then, ty)?, operand(otherwise, ty)?);
    let chosen = zip(condition, then.as_ref(), otherwise.as_ref()).map_err(types_error)?;
    debug_assert_eq!(chosen.len(), rows);
    Ok(chosen)
}

/// An array of the type, or one value of it for all rows.
fn operand(value: &ColumnarValue, ty: &SqlType) -> Result<Box<dyn arrow::array::Datum>> {
    Ok(match value {
        ColumnarValue::Array(array) => Box::new(finish_array(array.clone(), ty)?),
        ColumnarValue::Scalar(value) => {
            let value = crate::eval::output::finish_value(value.clone(), ty);
            Box::new(Scalar::new(types::array::array_of(&value, ty, 1)?))
        }
    })
}

fn truths_of(value: &ColumnarValue, rows: usize) -> Result<BooleanArray> {
    match value {
        ColumnarValue::Array(array) => truths(array),
        ColumnarValue::Scalar(value) => Ok(match truth(&Datum::of(value)) {
            Some(known) => BooleanArray::from(vec![known; rows]),
            None => BooleanArray::new_null(rows),
        }),
    }
}

/// The truth of each value of an array: NULL, or whether it is not zero.
pub(crate) fn truths(array: &ArrayRef) -> Result<BooleanArray> {
    match array.data_type() {
        DataType::Boolean => Ok(array.as_boolean().clone()),
        DataType::Int64 => {
            let ints = array.as_primitive::<arrow::datatypes::Int64Type>();
            Ok(BooleanArray::from_unary(ints, |v| v != 0))
        }
        _ => {
            let mut out = BooleanBuilder::with_capacity(array.len());
            for i in 0..array.len() {
                out.append_option(truth(&Datum::at(array.as_ref(), i)?));
            }
            Ok(out.finish())
        }
    }
}

/// A failure in Arrow. It is a defect of this crate, since types were checked.
pub(crate) fn types_error(error: arrow::error::ArrowError) -> types::Error {
    types::Error::internal(error)
}
