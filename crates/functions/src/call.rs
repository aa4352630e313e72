//! What functions receive: the arguments of a call while it is bound, and while it is computed.
//!
//! These types, [`crate::expr`] and [`crate::registry`] name each other: an expression names the functions
//! that it calls, and functions receive expressions.

use arrow::array::{Array, ArrayRef};
use arrow::record_batch::RecordBatch;
use types::{Error, Result, SqlType, Value};

use crate::bind::env::TypeEnv;
use crate::datum::Datum;
use crate::registry::FunctionDef;
use crate::{EvalContext, Expr};

/// The arguments of a call while it is being bound.
pub(crate) struct Binding<'a> {
    pub name: &'static str,
    pub args: Vec<Expr>,
    pub env: &'a TypeEnv,
}

impl Binding<'_> {
    pub fn ty(&self, index: usize) -> SqlType {
        self.args.get(index).map_or(SqlType::NULL, Expr::ty)
    }

    /// The text of an argument that the grammar only allows as a literal: a unit, a collation's name.
    pub fn keyword(&self, index: usize) -> Result<&str> {
        match self.args.get(index) {
            Some(Expr::Literal {
                value: Value::String(text),
                ..
            }) => Ok(text),
            _ => Err(Error::internal(format!(
                "{}: argument {index} is no keyword",
                self.name
            ))),
        }
    }
}

/// The call that a function computes.
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
}

/// The value of an expression over a batch.
#[derive(Debug, Clone)]
pub enum ColumnarValue {
    /// One value per row.
    Array(ArrayRef),
    /// The same value for every row.
    Scalar(Value),
}

/// Where columns' values come from.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// There are no columns.
    None,
    /// A row of a batch.
    Batch(&'a RecordBatch, usize),
    Values(&'a [Value]),
}

impl<'a> Row<'a> {
    pub(crate) fn column(&self, index: usize) -> Result<Datum<'a>> {
        let found = match self {
            Self::None => None,
            Self::Batch(batch, row) => match batch.columns().get(index) {
                Some(array) if *row < array.len() => Some(Datum::at(array.as_ref(), *row)?),
                _ => None,
            },
            Self::Values(values) => values.get(index).map(Datum::of),
        };
        found.ok_or_else(|| Error::internal(format!("there is no column {index} to evaluate")))
    }
}
