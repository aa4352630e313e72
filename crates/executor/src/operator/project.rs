//! Columns computed from the input's columns.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::{Expr, eval_array};
use types::Result;

use super::{BoxOperator, Operator};
use crate::batch::{batch_of, schema_of};
use crate::env::Env;

pub(super) struct Project<'p> {
    input: BoxOperator<'p>,
    exprs: &'p [Expr],
    schema: SchemaRef,
    /// Set if the expressions assign variables, which the next row reads.
    one_by_one: bool,
}

impl<'p> Project<'p> {
    pub fn new(input: BoxOperator<'p>, exprs: &'p [Expr]) -> Self {
        let types: Vec<_> = exprs.iter().map(Expr::ty).collect();
        Self {
            input,
            exprs,
            schema: schema_of(&types),
            one_by_one: exprs.iter().any(functions::assigns),
        }
    }
}

impl Operator for Project<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let wanted = if self.one_by_one { 1 } else { wanted };
        let Some(batch) = self.input.next(env, wanted)? else {
            return Ok(None);
        };
        let columns = evaluate(self.exprs.iter(), &batch, env)?;
        batch_of(&self.schema, columns, batch.num_rows()).map(Some)
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
