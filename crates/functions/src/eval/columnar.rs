//! Evaluates a column at a time: with an Arrow kernel if the function has one, otherwise with its scalar form
//! in a loop. Branches (AND, OR, IF, CASE, COALESCE) must not fail for rows that do not take them.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::compute::kernels::boolean;
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use types::array::ColumnBuilder;
use types::stack::with_room;
use types::{Error, Result, SqlType, TypeKind, Value};

use super::scalar_calls::{by_values, decimals, for_all, scalar_call, without_json};
use super::truths::{choose, truths_of, types_error};
use super::{row, speculate};
use crate::datum::{Cell, Datum};
use crate::eval::output::append;
use crate::eval::properties::{is_deterministic, is_fallible};
use crate::expr::{Call, Eval};
use crate::input::{ColumnarValue, Row};
use crate::ops::by_search;
use crate::{EvalContext, Expr, cast};

/// Evaluates over a batch. Truth values may be Arrow booleans, and decimals may have another scale.
/// [`super::output::finish_array`] converts them to the type's array.
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
            with_room(|| evaluate_call(expr, &call, batch))
        }
        Expr::Cast { input, ty, implicit } => {
            let from = input.ty();
            match with_room(|| evaluate(input, batch, ctx))? {
                ColumnarValue::Scalar(value) => for_all(batch.num_rows(), ctx, || {
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
        } => with_room(|| case(expr, cases, otherwise.as_deref(), ty, batch, ctx)),
    }
}

fn evaluate_call(expr: &Expr, call: &Call<'_>, batch: &RecordBatch) -> Result<ColumnarValue> {
    let Eval::Scalar(eval) = call.def.eval else {
        return lazy_call(expr, call, batch);
    };
    // The kernels do not look. A batch of arguments that they take at once is soon done.
    call.ctx.check_interrupted()?;
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
        return for_all(rows, call.ctx, || scalar_call(call, eval, &args, 0));
    }
    by_values(call, eval, &args, rows)
}

/// A call of a function that decides which of its arguments are evaluated. Every branch is first evaluated
/// for all rows at once. If that fails or would warn, the branch is evaluated row by row, only for the rows
/// that take it.
fn lazy_call(expr: &Expr, call: &Call<'_>, batch: &RecordBatch) -> Result<ColumnarValue> {
    let fast = match call.def.name {
        "and" => logic(call, batch, true),
        "or" if by_search::is_searched(call.def) => Ok(None),
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
            ctx.count_row(i)?;
            values.push(row::evaluate(expr, &Row::Batch(batch, i), ctx)?.into_value());
        }
        return decimals(&values).map(ColumnarValue::Array);
    }
    let mut out = ColumnBuilder::new(&ty, batch.num_rows());
    for i in 0..batch.num_rows() {
        ctx.count_row(i)?;
        let cell = row::evaluate(expr, &Row::Batch(batch, i), ctx)?;
        append(&mut out, cell.datum(), &ty)?;
    }
    Ok(ColumnarValue::Array(out.finish()))
}

/// Evaluates a branch for all rows, even those that do not take it. `None` if the result could differ from
/// evaluating it only for the rows that take it.
fn attempt(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<Option<ColumnarValue>> {
    if !is_fallible(expr) {
        return evaluate(expr, batch, ctx).map(Some);
    }
    if !is_deterministic(expr) {
        return Ok(None);
    }
    Ok(speculate::attempt(|| evaluate(expr, batch, ctx)).ok())
}

/// `AND` (`conjunction`) and `OR`, of any number of conditions.
fn logic(call: &Call<'_>, batch: &RecordBatch, conjunction: bool) -> Result<Option<ColumnarValue>> {
    let Some((first, rest)) = call.args.split_first() else {
        return Ok(None);
    };
    let rows = batch.num_rows();
    // The first condition is evaluated for every row. If a later one must be evaluated row by row, the first
    // must not warn again.
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
fn case(
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
