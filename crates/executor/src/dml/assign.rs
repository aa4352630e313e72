//! Values into columns: conversion to the column's type, NOT NULL, and expressions that see single rows.
//!
//! Not here: the conversion's own rules ([`functions::assign`]).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::datatypes::SchemaRef;
use catalog::model::Column;
use functions::{EvalContext, Expr, Strictness, assign, eval_array, eval_value};
use types::array::{ColumnBuilder, ColumnView, array_of, value_at};
use types::{Error, Result, SqlType, Value, errno};

use super::defaults::implicit;
use crate::batch::{batch_of, schema_of};
use crate::dml::warn;

/// What a NULL for a NOT NULL column does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NullRule {
    /// Error 1048.
    Error,
    /// The warning of the same number, and the type's own default.
    Warn,
}

impl NullRule {
    pub fn of(eval: &EvalContext) -> Self {
        match eval.strictness {
            Strictness::Error => Self::Error,
            Strictness::Warn => Self::Warn,
        }
    }
}

/// A value as `column` takes it.
pub(super) fn value(
    value: Value,
    from: &SqlType,
    column: &Column,
    row_number: u64,
    nulls: NullRule,
    eval: &EvalContext,
) -> Result<Value> {
    let value = assign::value(value, from, &column.ty, &column.name, row_number, eval)?;
    not_null(value, column, nulls, eval)
}

pub(super) fn not_null(value: Value, column: &Column, nulls: NullRule, eval: &EvalContext) -> Result<Value> {
    if !value.is_null() || column.nullable {
        return Ok(value);
    }
    let message = format!("Column '{}' cannot be null", column.name);
    if nulls == NullRule::Error {
        return Err(Error::new(errno::ER_BAD_NULL_ERROR, message));
    }
    warn(eval, errno::ER_BAD_NULL_ERROR, message);
    Ok(implicit(&column.ty))
}

/// An array of values as `column` takes them.
pub(super) fn array(
    values: &ArrayRef,
    from: &SqlType,
    column: &Column,
    first_row_number: u64,
    nulls: NullRule,
    eval: &EvalContext,
) -> Result<ArrayRef> {
    let values = assign::array(values, from, &column.ty, &column.name, first_row_number, eval)?;
    if column.nullable || values.logical_null_count() == 0 {
        return Ok(values);
    }
    let view = ColumnView::new(&values, &column.ty);
    let mut out = ColumnBuilder::new(&column.ty, values.len());
    for row in 0..values.len() {
        out.append(&not_null(view.value(row), column, nulls, eval)?)?;
    }
    Ok(out.finish())
}

/// Evaluates expressions over one row whose columns change between them.
pub(super) struct RowEvaluator {
    types: Vec<SqlType>,
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
}

impl RowEvaluator {
    /// For rows of these types; all columns are NULL at first.
    pub fn new(types: Vec<SqlType>) -> Self {
        Self {
            schema: schema_of(&types),
            columns: types
                .iter()
                .map(|ty| new_null_array(&ty.arrow_type(), 1))
                .collect(),
            types,
        }
    }

    pub fn set(&mut self, column: usize, value: &Value) -> Result<()> {
        if let (Some(slot), Some(ty)) = (self.columns.get_mut(column), self.types.get(column)) {
            *slot = array_of(value, ty, 1)?;
        }
        Ok(())
    }

    pub fn eval(&self, expr: &Expr, eval: &EvalContext) -> Result<Value> {
        if !refers_to_columns(expr) {
            return eval_value(expr, eval);
        }
        let batch = batch_of(&self.schema, self.columns.iter().map(Arc::clone).collect(), 1)?;
        let values = eval_array(expr, &batch, eval)?;
        Ok(value_at(&values, 0, &expr.ty()))
    }
}

pub(super) fn refers_to_columns(expr: &Expr) -> bool {
    match expr {
        Expr::Literal { .. } | Expr::Param { .. } => false,
        Expr::Column { .. } => true,
        expr => {
            let mut any = false;
            expr.walk(&mut |e| any |= matches!(e, Expr::Column { .. }));
            any
        }
    }
}

/// The columns that expressions refer to, each once.
pub(super) fn columns_of<'x>(exprs: impl Iterator<Item = &'x Expr>) -> Vec<usize> {
    let mut columns = Vec::new();
    for expr in exprs {
        expr.walk(&mut |e| {
            if let Expr::Column { index, .. } = e {
                columns.push(*index);
            }
        });
    }
    columns.sort_unstable();
    columns.dedup();
    columns
}
