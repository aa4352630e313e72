//! Evaluation of bound expressions, row by row or a column at a time.
//!
//! - [`eval_value`], [`eval_row`]: one row, without Arrow, for the writes of the transactional executor.
//! - [`eval`], [`eval_array`], [`eval_predicate`]: a batch. Small batches are evaluated row by row, large
//!   ones by `columnar.rs`, with the functions' kernels.
//! - [`mod@fold`]: computes constants at planning time; [`mod@hoist`]: once per statement.
//!
//! Inside an expression DECIMAL quotients have more digits than their type says, as in MySQL. The functions
//! here round results to the type, except for [`eval_assigned`].

mod columnar;
mod fold;
mod hoist;
pub(crate) mod output;
mod properties;
pub(crate) mod row;
mod scalar_calls;
pub(crate) mod speculate;
pub(crate) mod truths;

use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBuilder};
use arrow::record_batch::RecordBatch;
use types::array::ColumnBuilder;
use types::{Result, SqlType, Value};

use self::output::{append, finish_array, finish_value};
use self::properties::{is_leaf, makes_long_texts};
use crate::datum::Datum;
use crate::input::{ColumnarValue, Row};
use crate::truth::truth;
use crate::{EvalContext, Expr};

pub use fold::{fold, is_silent};
pub use hoist::hoist;
pub use properties::{
    assigns, has_effects, is_deterministic, is_fallible, is_known_when_planned, makes_longer_texts,
    reads_assigned,
};

/// Batches of up to this many rows are evaluated row by row, because arrays would cost more than they save.
/// So are expressions with parts that may be long texts, because arrays of these could take any amount of
/// memory.
const FEW_ROWS: usize = 8;

/// Evaluates over a batch. The array, if it is one, has the expression's type.
pub fn eval(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<ColumnarValue> {
    match expr {
        Expr::Column { .. } => match columnar::evaluate(expr, batch, ctx)? {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(finish_array(array, &expr.ty())?)),
            scalar => Ok(scalar),
        },
        Expr::Literal { .. } | Expr::Param { .. } | Expr::Outer { .. } => {
            Ok(ColumnarValue::Scalar(eval_row_of(expr, Row::None, ctx)?))
        }
        _ if batch.num_rows() <= FEW_ROWS || makes_long_texts(expr) => {
            Ok(ColumnarValue::Array(by_rows(expr, batch, ctx)?))
        }
        _ => match columnar::evaluate(expr, batch, ctx)? {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(finish_array(array, &expr.ty())?)),
            ColumnarValue::Scalar(value) => Ok(ColumnarValue::Scalar(finish_value(value, &expr.ty()))),
        },
    }
}

/// Evaluates over a batch into an array of the expression's type with one value per row.
pub fn eval_array(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<ArrayRef> {
    match eval(expr, batch, ctx)? {
        ColumnarValue::Array(array) => Ok(array),
        ColumnarValue::Scalar(value) => types::array::array_of(&value, &expr.ty(), batch.num_rows()),
    }
}

/// Evaluates an expression without columns.
pub fn eval_value(expr: &Expr, ctx: &EvalContext) -> Result<Value> {
    eval_row_of(expr, Row::None, ctx)
}

/// Evaluates over one row, given as the values of its columns.
pub fn eval_row(expr: &Expr, columns: &[Value], ctx: &EvalContext) -> Result<Value> {
    eval_row_of(expr, Row::Values(columns), ctx)
}

/// Evaluates over one row for an assignment to a column or a variable. It keeps all digits of a DECIMAL, more
/// or fewer than its type has: `4 / 3`, shown as 1.3333, is assigned as 1.333333333. Also returns the type of
/// the value.
pub fn eval_assigned(expr: &Expr, row: Row<'_>, ctx: &EvalContext) -> Result<(Value, SqlType)> {
    let ty = expr.ty();
    if !ty.is_decimal() || is_leaf(expr) {
        return Ok((eval_row_of(expr, row, ctx)?, ty));
    }
    let value = row::evaluate(expr, &row, ctx)?.into_value();
    let ty = match &value {
        Value::Decimal(decimal) => {
            let whole = ty.length.saturating_sub(u32::from(ty.decimals));
            SqlType::decimal((whole + u32::from(decimal.scale)).min(65), decimal.scale)
        }
        _ => ty,
    };
    Ok((value, ty))
}

fn eval_row_of(expr: &Expr, row: Row<'_>, ctx: &EvalContext) -> Result<Value> {
    // The most frequent case of writes: parameters whose values have the planned type.
    if let Expr::Param { index, ty, .. } = expr {
        match ctx.params.get(*index) {
            Some(value @ Value::Int(_)) if !ty.unsigned => return Ok(value.clone()),
            Some(value @ Value::String(_)) => return Ok(value.clone()),
            _ => {}
        }
    }
    // Texts of an INSERT that is planned with its literals are frequent, too.
    if let Expr::Literal { value, .. } = expr
        && let Value::String(text) = value
    {
        return Ok(Value::String(text.clone()));
    }
    let cell = row::evaluate(expr, &row, ctx)?;
    Ok(finish_value(cell.into_value(), &expr.ty()))
}

/// Which rows of a batch satisfy a condition; NULL counts as no. The array has no nulls.
pub fn eval_predicate(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<BooleanArray> {
    let rows = batch.num_rows();
    if rows <= FEW_ROWS || makes_long_texts(expr) {
        let mut out = BooleanBuilder::with_capacity(rows);
        for i in 0..rows {
            ctx.count_row(i)?;
            let cell = row::evaluate(expr, &Row::Batch(batch, i), ctx)?;
            out.append_value(truth(&cell.datum()) == Some(true));
        }
        return Ok(out.finish());
    }
    match columnar::evaluate(expr, batch, ctx)? {
        ColumnarValue::Scalar(value) => {
            let holds = truth(&Datum::of(&value)) == Some(true);
            Ok(BooleanArray::from(vec![holds; rows]))
        }
        ColumnarValue::Array(array) => Ok(without_nulls(&truths::truths(&array)?)),
    }
}

/// The truth of a condition for each row of a batch.
pub fn eval_truths(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<BooleanArray> {
    let rows = batch.num_rows();
    if rows <= FEW_ROWS || makes_long_texts(expr) {
        let truths = (0..rows).map(|i| {
            ctx.count_row(i)?;
            Ok(truth(&row::evaluate(expr, &Row::Batch(batch, i), ctx)?.datum()))
        });
        return truths.collect();
    }
    match columnar::evaluate(expr, batch, ctx)? {
        ColumnarValue::Scalar(value) => {
            let truth = truth(&Datum::of(&value));
            Ok(std::iter::repeat_n(truth, rows).collect())
        }
        ColumnarValue::Array(array) => truths::truths(&array),
    }
}

/// Whether one row, given as the values of its columns, satisfies a condition.
pub fn eval_row_predicate(expr: &Expr, columns: &[Value], ctx: &EvalContext) -> Result<bool> {
    let cell = row::evaluate(expr, &Row::Values(columns), ctx)?;
    Ok(truth(&cell.datum()) == Some(true))
}

fn without_nulls(array: &BooleanArray) -> BooleanArray {
    match array.nulls() {
        None => array.clone(),
        Some(nulls) => BooleanArray::new(array.values() & nulls.inner(), None),
    }
}

fn by_rows(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<ArrayRef> {
    let ty = expr.ty();
    let mut out = ColumnBuilder::new(&ty, batch.num_rows());
    for i in 0..batch.num_rows() {
        ctx.count_row(i)?;
        append_row(expr, (batch, i), &mut out, ctx)?;
    }
    Ok(out.finish())
}

/// Evaluates over one row of a batch, and appends the value to a column of the expression's type.
pub fn append_row(
    expr: &Expr,
    (batch, row): (&RecordBatch, usize),
    out: &mut ColumnBuilder,
    ctx: &EvalContext,
) -> Result<()> {
    let cell = row::evaluate(expr, &Row::Batch(batch, row), ctx)?;
    append(out, cell.datum(), &expr.ty())
}
