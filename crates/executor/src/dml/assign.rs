//! Values into columns: conversion to the column's type, and NOT NULL.
//!
//! Not here: the conversion's own rules ([`functions::assign`]).

use std::borrow::Cow;
use std::cell::RefCell;

use functions::{EvalContext, Expr, Strictness, assign, eval_assigned, json_name};
use planner::plan::Assignment;
use schema::model::{Column, Table};
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::defaults::{self, ColumnDefault, implicit};
use super::image::Row;
use crate::dml::warn;

/// What happens if a NOT NULL column is assigned NULL.
#[derive(Clone, Copy)]
pub(super) enum NullRule<'a> {
    /// Error 1048.
    Error,
    /// A warning with the same code; the column takes its type's implicit default.
    Warn,
    /// The same, but the statement (INSERT or REPLACE) warns only once for a column.
    WarnOnce(&'a WarnedNulls),
}

/// The ids of the columns for whose NULLs a statement has warned.
#[derive(Default)]
pub(super) struct WarnedNulls(RefCell<Vec<i64>>);

impl<'a> NullRule<'a> {
    pub fn of(eval: &EvalContext) -> Self {
        match eval.strictness {
            Strictness::Error => Self::Error,
            Strictness::Warn | Strictness::Ignore => Self::Warn,
        }
    }

    pub fn once(self, warned: &'a WarnedNulls) -> Self {
        match self {
            Self::Error => Self::Error,
            Self::Warn | Self::WarnOnce(_) => Self::WarnOnce(warned),
        }
    }

    /// Whether a NULL in the column needs a warning.
    fn warns_of(self, column: &Column) -> bool {
        let Self::WarnOnce(WarnedNulls(warned)) = self else {
            return true;
        };
        let mut warned = warned.borrow_mut();
        let first = !warned.contains(&column.id);
        if first {
            warned.push(column.id);
        }
        first
    }
}

/// A column that values are assigned to.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub table: &'a Table,
    pub column: &'a Column,
    pub nulls: NullRule<'a>,
    pub eval: &'a EvalContext,
}

impl Target<'_> {
    /// The column's name in messages of conversions.
    pub fn label(&self) -> Cow<'_, str> {
        match self.column.ty.kind {
            TypeKind::Json => Cow::Owned(format!("{}.{}", self.table.name, self.column.name)),
            _ => Cow::Borrowed(&self.column.name),
        }
    }

    /// A value as the column takes it. `source` is what messages about JSON call what it comes from. `row_number` counts
    /// the statement's rows from 1.
    pub fn value(
        &self,
        value: Value,
        from: &SqlType,
        source: Option<&str>,
        row_number: u64,
    ) -> Result<Value> {
        let names = assign::Names {
            column: &self.label(),
            source,
        };
        let value = assign::value(value, from, &self.column.ty, names, row_number, self.eval)?;
        self.not_null(value)
    }

    /// A text as the column takes it.
    pub fn text(&self, text: &str, from: &SqlType, row_number: u64) -> Result<Value> {
        let to = &self.column.ty;
        let value = assign::text(text, from, to, &self.label(), row_number, self.eval)?;
        self.not_null(value)
    }

    /// The value of an expression over the row. `row_number` counts the statement's rows from 1.
    pub fn expression(&self, expr: &Expr, row: &Row, row_number: u64) -> Result<Value> {
        let (value, from) = eval_assigned(expr, functions::Row::Values(row), self.eval)?;
        self.value(value, &from, source_of(expr, &from), row_number)
    }

    /// The value of DEFAULT for the column, whose default is an expression.
    pub fn default_expression(&self, column: usize, row: &Row, row_number: u64) -> Result<Value> {
        let expressions = self.table.expressions()?;
        match expressions.and_then(|all| all.default_of(column)) {
            Some(expr) => self.expression(expr, row, row_number),
            None => Err(Error::internal("a computed default has no expression")),
        }
    }

    /// A NULL for a NOT NULL column fails, or becomes the type's implicit default.
    pub fn not_null(&self, value: Value) -> Result<Value> {
        let column = self.column;
        if !value.is_null() || column.nullable {
            return Ok(value);
        }
        let message = format!("Column '{}' cannot be null", column.name);
        if let NullRule::Error = self.nulls {
            return Err(Error::new(errno::ER_BAD_NULL_ERROR, message));
        }
        if self.nulls.warns_of(column) {
            warn(self.eval, errno::ER_BAD_NULL_ERROR, message);
        }
        Ok(defaults::for_null(&column.ty))
    }
}

/// What messages call an expression that gives JSON.
pub(super) fn source_of<'e>(expr: &'e Expr, ty: &SqlType) -> Option<&'e str> {
    (ty.kind == TypeKind::Json).then(|| json_name(expr))
}

/// Makes assignments to a row from left to right; each sees the ones before it. Values in `row` after the
/// table's columns can only be read. `row_number` counts the statement's rows from 1. `of_insert`: for ON DUPLICATE KEY
/// UPDATE, where NULL in an AUTO_INCREMENT column that may not be NULL is 0.
pub(super) fn assign_row(
    table: &Table,
    assignments: &[Assignment],
    row: &mut Row,
    row_number: u64,
    (nulls, of_insert): (NullRule<'_>, bool),
    eval: &EvalContext,
) -> Result<()> {
    for assignment in assignments {
        let Some(column) = table.columns.get(assignment.column) else {
            return Err(Error::internal("an assignment to a column that is not there"));
        };
        let value = match &assignment.value {
            // `c = c`: a date that is not allowed any more stays, too.
            Some(Expr::Column { index, .. }) if *index == assignment.column => continue,
            Some(expr) => {
                let target = Target {
                    table,
                    column,
                    nulls,
                    eval,
                };
                let (value, from) = eval_assigned(expr, functions::Row::Values(row), eval)?;
                match value.is_null() && of_insert && column.auto_increment && !column.nullable {
                    true => implicit(&column.ty),
                    false => target.value(value, &from, source_of(expr, &from), row_number)?,
                }
            }
            // The value of a generated column is computed after all assignments.
            None if column.generated.is_some() => continue,
            None => match defaults::given(column, eval)? {
                ColumnDefault::Value(value) => value,
                ColumnDefault::Expression => {
                    let target = Target {
                        table,
                        column,
                        nulls,
                        eval,
                    };
                    target.default_expression(assignment.column, row, row_number)?
                }
                ColumnDefault::Generated | ColumnDefault::Missing => implicit(&column.ty),
            },
        };
        if let Some(cell) = row.get_mut(assignment.column) {
            *cell = value;
        }
    }
    Ok(())
}

/// Whether two rows are the same to the byte: `'a'` and `'A'` differ under any collation. -0 and 0 do not,
/// since -0 is stored as 0.
pub(super) fn is_same_row(a: &[Value], b: &[Value]) -> bool {
    a == b
}
