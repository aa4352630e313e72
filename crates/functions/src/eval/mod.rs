//! Evaluation of bound expressions, row by row or a column at a time.
//!
//! - [`eval_value`], [`eval_row`]: one row, without Arrow; what the transactional executor's writes use.
//! - [`eval`], [`eval_array`], [`eval_predicate`]: a batch. Small batches go row by row inside, large ones through the
//!   kernels of [`columnar`] where the functions have them.
//! - [`branches`]: AND, OR, IF, CASE, COALESCE over columns, where a branch that is not taken must not fail.
//! - [`fold`]: constants computed while planning.
//!
//! DECIMAL quotients carry more digits inside an expression than their type says, as in MySQL; the functions here round
//! them to the type when they leave, but for [`eval_assigned`].

pub(crate) mod branches;
pub(crate) mod columnar;
mod hoist;
pub(crate) mod row;
pub(crate) mod speculate;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Int64Array};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use types::array::ColumnBuilder;
use types::{Result, SqlType, TypeKind, Value};

use crate::datum::Datum;
use crate::ops::logic::truth;
use crate::registry::FunctionDef;
use crate::{EvalContext, Expr};

pub use hoist::hoist;
pub use row::Row;

/// What an expression over a batch comes to.
#[derive(Debug, Clone)]
pub enum ColumnarValue {
    /// One value per row.
    Array(ArrayRef),
    /// The same value for every row.
    Scalar(Value),
}

/// What a function knows of the call it computes.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub ctx: &'a EvalContext,
    pub def: &'static FunctionDef,
    pub args: &'a [Expr],
    pub ty: SqlType,
}

impl Call<'_> {
    /// The type of argument `index`.
    pub fn arg_type(&self, index: usize) -> SqlType {
        self.args.get(index).map_or(SqlType::NULL, Expr::ty)
    }

    /// The call as error messages print it.
    pub fn text(&self) -> String {
        crate::print::call(self.def.name, self.args, Some(self.ctx))
    }

    /// 1690: the result does not fit `kind` ("BIGINT", "BIGINT UNSIGNED", "DOUBLE", "DECIMAL").
    pub fn out_of_range(&self, kind: &str) -> types::Error {
        types::Error::new(
            types::errno::ER_DATA_OUT_OF_RANGE,
            format!("{kind} value is out of range in '{}'", self.text()),
        )
    }
}

/// Batches of up to this many rows are evaluated row by row: arrays would cost more than they save.
const FEW_ROWS: usize = 8;

/// Evaluates over a batch. The array, if it is one, has the expression's type.
pub fn eval(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<ColumnarValue> {
    match expr {
        Expr::Column { .. } => match columnar::evaluate(expr, batch, ctx)? {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(finish_array(array, &expr.ty())?)),
            scalar => Ok(scalar),
        },
        Expr::Literal { .. } | Expr::Param { .. } => {
            Ok(ColumnarValue::Scalar(eval_row_of(expr, Row::None, ctx)?))
        }
        _ if batch.num_rows() <= FEW_ROWS => Ok(ColumnarValue::Array(by_rows(expr, batch, ctx)?)),
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

/// Evaluates over one row for a column or a variable, which takes a DECIMAL with the digits that it has, be they more or
/// fewer than its type says: `4 / 3`, shown as 1.3333, is 1.333333333 there. With the type that the value has so.
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

fn is_leaf(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Column { .. } | Expr::Param { .. } | Expr::Literal { .. }
    )
}

fn eval_row_of(expr: &Expr, row: Row<'_>, ctx: &EvalContext) -> Result<Value> {
    // Most of what writes evaluate: parameters that are what they were planned as.
    if let Expr::Param { index, ty, .. } = expr {
        match ctx.params.get(*index) {
            Some(value @ Value::Int(_)) if !ty.unsigned => return Ok(value.clone()),
            Some(value @ Value::String(_)) => return Ok(value.clone()),
            _ => {}
        }
    }
    let cell = row::evaluate(expr, &row, ctx)?;
    Ok(finish_value(cell.into_value(), &expr.ty()))
}

/// Which rows of a batch satisfy a condition; NULL counts as no. The array has no nulls.
pub fn eval_predicate(expr: &Expr, batch: &RecordBatch, ctx: &EvalContext) -> Result<BooleanArray> {
    let rows = batch.num_rows();
    if rows <= FEW_ROWS {
        let mut out = BooleanBuilder::with_capacity(rows);
        for i in 0..rows {
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
        ColumnarValue::Array(array) => Ok(without_nulls(&branches::truths(&array)?)),
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
        let cell = row::evaluate(expr, &Row::Batch(batch, i), ctx)?;
        append(&mut out, cell.datum(), &ty)?;
    }
    Ok(out.finish())
}

/// Appends a value of a type to a builder for that type.
pub(crate) fn append(out: &mut ColumnBuilder, datum: Datum<'_>, ty: &SqlType) -> Result<()> {
    match datum {
        Datum::Null => {
            out.append_null();
            Ok(())
        }
        Datum::Int(v) => out.append_i64(v),
        Datum::UInt(v) => out.append_u64(v),
        Datum::Double(v) => out.append_f64(v),
        Datum::Decimal(v) => out.append_decimal(&fit_decimal(v, ty)),
        Datum::String(v) => out.append_str(v),
        Datum::Bytes(v) => out.append_bytes(v),
        Datum::Json(v) => out.append_str(&v.to_text()),
    }
}

/// A decimal at its type's scale, within what the type's Arrow type holds. Sums, products and what is made of them may have
/// a few more digits than their type says, as in MySQL; casts and assignments are what cuts them.
pub(crate) fn fit_decimal(value: types::Decimal, ty: &SqlType) -> types::Decimal {
    if ty.kind != TypeKind::Decimal {
        return value;
    }
    let wide = matches!(ty.arrow_type(), DataType::Decimal256(..));
    match value.rescale(ty.decimals) {
        Some(fitted) if wide || fitted.unscaled.to_i128().is_some() => fitted,
        _ => {
            let precision = u8::try_from(ty.length).unwrap_or(u8::MAX);
            let max = types::Decimal::max_value(precision, ty.decimals);
            if value.is_negative() { max.neg() } else { max }
        }
    }
}

/// A value as it leaves an expression.
pub(crate) fn finish_value(value: Value, ty: &SqlType) -> Value {
    match value {
        Value::Decimal(d) if ty.kind == TypeKind::Decimal => Value::Decimal(fit_decimal(d, ty)),
        other => other,
    }
}

/// An array as it leaves an expression: in its type's Arrow type.
pub(crate) fn finish_array(array: ArrayRef, ty: &SqlType) -> Result<ArrayRef> {
    let wanted = ty.arrow_type();
    if *array.data_type() == wanted {
        return Ok(array);
    }
    if let (DataType::Boolean, DataType::Int64) = (array.data_type(), &wanted) {
        let source = array.as_boolean();
        let values = source.values().iter().map(i64::from).collect();
        return Ok(std::sync::Arc::new(Int64Array::new(
            values,
            source.nulls().cloned(),
        )));
    }
    let mut out = ColumnBuilder::new(ty, array.len());
    for i in 0..array.len() {
        append(&mut out, Datum::at(array.as_ref(), i)?, ty)?;
    }
    Ok(out.finish())
}

/// Whether the expression has the same value whenever it is computed over the same columns in one statement.
/// `NOW()` has; `RAND()`, `UUID()` and `SLEEP()` have not.
pub fn is_deterministic(expr: &Expr) -> bool {
    let mut deterministic = true;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            deterministic &= !function.0.volatile;
        }
    });
    deterministic
}

/// Whether `@a := x` is in it: rows have to be evaluated one after the other then, all of one before the next.
pub fn assigns(expr: &Expr) -> bool {
    let mut assigns = false;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            assigns |= function.0.name == "@:=";
        }
    });
    assigns
}

/// Whether a variable is read that the statement assigns: the value for a row depends on what was computed of the
/// rows before it.
pub fn reads_assigned(expr: &Expr) -> bool {
    let mut reads = false;
    expr.walk(&mut |e| {
        if let Expr::Call { function, .. } = e {
            reads |= function.0.name == "@ now";
        }
    });
    reads
}

/// Computes the parts of an expression that are made of literals only. A part that fails or warns is left as it is, so that it
/// does so when the statement runs, if at all.
pub fn fold(expr: Expr, ctx: &EvalContext) -> Expr {
    let expr = match expr {
        Expr::Call { function, args, ty } => Expr::Call {
            function,
            args: args.into_iter().map(|a| fold(a, ctx)).collect(),
            ty,
        },
        Expr::Cast { input, ty, implicit } => Expr::Cast {
            input: Box::new(fold(*input, ctx)),
            ty,
            implicit,
        },
        Expr::Case {
            branches,
            otherwise,
            ty,
        } => Expr::Case {
            branches: branches
                .into_iter()
                .map(|(condition, value)| (fold(condition, ctx), fold(value, ctx)))
                .collect(),
            otherwise: otherwise.map(|o| Box::new(fold(*o, ctx))),
            ty,
        },
        leaf => return leaf,
    };
    let literal = |e: &Expr| matches!(e, Expr::Literal { .. });
    let foldable = match &expr {
        Expr::Call { function, args, ty } => {
            // A quotient's hidden digits would be lost; a division is rarely made of literals anyway.
            let keeps_value = ty.kind != TypeKind::Decimal;
            let pure = !function.0.volatile && !function.0.reads_session;
            pure && keeps_value && !function.0.name.ends_with(" constant") && args.iter().all(literal)
        }
        Expr::Cast { input, .. } => literal(input),
        Expr::Case {
            branches, otherwise, ..
        } => {
            branches.iter().all(|(c, v)| literal(c) && literal(v)) && otherwise.as_deref().is_none_or(literal)
        }
        _ => false,
    };
    // The text of a JSON value does not say which of its numbers are DECIMAL or unsigned.
    let foldable = foldable && expr.ty().kind != TypeKind::Json;
    // COLLATE and CONVERT are kept for their strength in a mix of collations.
    let named = matches!(&expr, Expr::Call { function, .. }
        if matches!(function.0.name, "collate" | "convert using" | "binary"));
    if !foldable || named {
        return expr;
    }
    match speculate::attempt(|| eval_value(&expr, ctx)) {
        Ok(value) => Expr::Literal { value, ty: expr.ty() },
        Err(_) => expr,
    }
}

/// Whether a constant can be computed without an error or a warning: if not, that is done for each row.
pub fn is_silent(constant: &Expr, ctx: &EvalContext) -> bool {
    !is_fallible(constant) || speculate::attempt(|| eval_value(constant, ctx)).is_ok()
}

/// Whether evaluating it can fail, warn or have effects: then it must not be done for rows that do not need it.
pub fn is_fallible(expr: &Expr) -> bool {
    let mut fallible = false;
    expr.walk(&mut |e| {
        fallible |= match e {
            Expr::Call { function, .. } => function.0.fallible || function.0.volatile,
            Expr::Cast { input, ty, .. } => crate::cast::may_fail(&input.ty(), ty),
            _ => false,
        }
    });
    fallible
}
