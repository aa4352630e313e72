//! Values into columns: conversion to the column's type, and NOT NULL.
//!
//! Not here: the conversion's own rules ([`functions::assign`]).

use std::borrow::Cow;

use arrow::array::{Array, ArrayRef};
use catalog::model::{Column, Table};
use functions::{EvalContext, Strictness, assign};
use types::array::{ColumnBuilder, ColumnView};
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::defaults::implicit;
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

/// A column that values are assigned to.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub table: &'a Table,
    pub column: &'a Column,
    pub nulls: NullRule,
    pub eval: &'a EvalContext,
}

impl Target<'_> {
    /// What messages of conversions call the column.
    fn label(&self) -> Cow<'_, str> {
        match self.column.ty.kind {
            TypeKind::Json => Cow::Owned(format!("{}.{}", self.table.name, self.column.name)),
            _ => Cow::Borrowed(&self.column.name),
        }
    }

    /// A value as the column takes it. `row_number` counts the statement's rows from 1.
    pub fn value(&self, value: Value, from: &SqlType, row_number: u64) -> Result<Value> {
        let to = &self.column.ty;
        let value = assign::value(value, from, to, &self.label(), row_number, self.eval)?;
        self.not_null(value)
    }

    /// An array of values as the column takes them.
    pub fn array(&self, values: &ArrayRef, from: &SqlType, first_row_number: u64) -> Result<ArrayRef> {
        let ty = &self.column.ty;
        let values = assign::array(values, from, ty, &self.label(), first_row_number, self.eval)?;
        if self.column.nullable || values.logical_null_count() == 0 {
            return Ok(values);
        }
        let view = ColumnView::new(&values, ty);
        let mut out = ColumnBuilder::new(ty, values.len());
        for row in 0..values.len() {
            out.append(&self.not_null(view.value(row))?)?;
        }
        Ok(out.finish())
    }

    /// A NULL for a NOT NULL column fails, or becomes the type's own default.
    pub fn not_null(&self, value: Value) -> Result<Value> {
        let column = self.column;
        if !value.is_null() || column.nullable {
            return Ok(value);
        }
        let message = format!("Column '{}' cannot be null", column.name);
        if self.nulls == NullRule::Error {
            return Err(Error::new(errno::ER_BAD_NULL_ERROR, message));
        }
        warn(self.eval, errno::ER_BAD_NULL_ERROR, message);
        Ok(implicit(&column.ty))
    }
}
