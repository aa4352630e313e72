//! Columns computed from the input's columns.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::{Expr, eval_array};
use planner::plan::Rel;
use types::Result;

use super::filter::split;
use super::{BoxOperator, Operator};
use crate::batch::{batch_of, schema_of};
use crate::env::Env;

pub(super) struct Project<'p> {
    input: BoxOperator<'p>,
    exprs: &'p [Expr],
    schema: SchemaRef,
    /// Set if the expressions assign variables, which the next row reads.
    one_by_one: bool,
    /// The input may be asked for several rows all the same, because it reads no variables.
    asks_ahead: bool,
    /// Rows of the input that are not computed yet.
    rest: Option<RecordBatch>,
}

impl<'p> Project<'p> {
    pub fn new(input: BoxOperator<'p>, exprs: &'p [Expr]) -> Self {
        let types: Vec<_> = exprs.iter().map(Expr::ty).collect();
        Self {
            input,
            exprs,
            schema: schema_of(&types),
            one_by_one: exprs.iter().any(functions::assigns),
            asks_ahead: false,
            rest: None,
        }
    }

    /// The projection of a locking read. One request locks its rows at one moment and returns them in order.
    /// If others write between two requests, rows of the second may precede rows of the first: so there
    /// should be one request only. `source`: what makes the input.
    pub fn locking(self, source: &Rel) -> Self {
        Self {
            asks_ahead: reads_no_variables(source),
            ..self
        }
    }

    /// The next row, for what it assigns.
    fn one(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let batch = match self.rest.take() {
            Some(batch) => Some(batch),
            None => self.input.next(env, if self.asks_ahead { wanted } else { 1 })?,
        };
        Ok(batch.map(|batch| {
            let (one, rest) = split(batch, 1);
            self.rest = rest;
            one
        }))
    }
}

impl Operator for Project<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let batch = match self.one_by_one {
            true => self.one(env, wanted)?,
            false => self.input.next(env, wanted)?,
        };
        let Some(batch) = batch else {
            return Ok(None);
        };
        let columns = evaluate(self.exprs.iter(), &batch, env)?;
        batch_of(&self.schema, columns, batch.num_rows()).map(Some)
    }
}

/// Whether the rows of an input are the same whatever variables hold.
fn reads_no_variables(rel: &Rel) -> bool {
    match rel {
        Rel::Scan(scan) => scan.filter.as_ref().is_none_or(functions::is_deterministic),
        Rel::Filter { input, predicate } => {
            functions::is_deterministic(predicate) && reads_no_variables(input)
        }
        Rel::Project { input, exprs } => {
            exprs.iter().all(functions::is_deterministic) && reads_no_variables(input)
        }
        Rel::Sort { input, .. } | Rel::Limit { input, .. } => reads_no_variables(input),
        _ => false,
    }
}

/// One array per expression.
pub(super) fn evaluate<'x>(
    exprs: impl Iterator<Item = &'x Expr>,
    batch: &RecordBatch,
    env: &Env<'_, '_>,
) -> Result<Vec<ArrayRef>> {
    exprs
        .map(|expr| match expr {
            Expr::Column { index, .. } => match batch.columns().get(*index) {
                Some(column) => Ok(Arc::clone(column)),
                None => Err(types::Error::internal(format!("no column {index} in a batch"))),
            },
            expr => eval_array(expr, batch, env.eval()),
        })
        .collect()
}
