//! Keys that an operator computes once for each row: to compute them again would give other values (`RAND()`), have
//! an effect again (`@a := 1`), or warn again. They become columns of the rows, after the input's, so that rows in
//! files have them, too.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema};
use arrow::record_batch::RecordBatch;
use functions::{Expr, append_row};
use types::Result;
use types::array::ColumnBuilder;

use super::project::evaluate;
use crate::batch::{arrow_error, batch_of};
use crate::env::Env;

/// The keys that have become columns.
#[derive(Default)]
pub(super) struct Computed(Vec<Expr>);

impl Computed {
    /// Takes such keys, and puts columns in their places, from position `width` on.
    pub fn take<'k>(keys: impl Iterator<Item = &'k mut Expr>, width: usize) -> Self {
        let mut computed = Vec::new();
        for key in keys.filter(|key| is_computed_once(key)) {
            let column = Expr::column(width + computed.len(), key.ty(), true);
            computed.push(std::mem::replace(key, column));
        }
        Self(computed)
    }

    /// Rows of the input with the columns.
    pub fn add(&self, batch: RecordBatch, env: &Env<'_, '_>) -> Result<RecordBatch> {
        if self.0.is_empty() {
            return Ok(batch);
        }
        let mut fields = batch.schema().fields().to_vec();
        let mut columns = batch.columns().to_vec();
        for column in self.columns(&batch, env)? {
            fields.push(Arc::new(Field::new("", column.data_type().clone(), true)));
            columns.push(column);
        }
        batch_of(&Arc::new(Schema::new(fields)), columns, batch.num_rows())
    }

    fn columns(&self, batch: &RecordBatch, env: &Env<'_, '_>) -> Result<Vec<ArrayRef>> {
        if !self.0.iter().any(functions::assigns) {
            return evaluate(self.0.iter(), batch, env);
        }
        // What a row assigns, the next row reads.
        let rows = batch.num_rows();
        let builder = |expr: &Expr| ColumnBuilder::new(&expr.ty(), rows);
        let mut builders: Vec<ColumnBuilder> = self.0.iter().map(builder).collect();
        for row in 0..rows {
            for (expr, builder) in self.0.iter().zip(&mut builders) {
                append_row(expr, (batch, row), builder, env.eval())?;
            }
        }
        Ok(builders.iter_mut().map(ColumnBuilder::finish).collect())
    }

    /// Rows without the columns.
    pub fn remove(&self, batch: RecordBatch) -> Result<RecordBatch> {
        if self.0.is_empty() {
            return Ok(batch);
        }
        let columns: Vec<usize> = (0..batch.num_columns() - self.0.len()).collect();
        batch.project(&columns).map_err(arrow_error)
    }
}

/// Whether a key has to be computed once only.
pub(super) fn is_computed_once(key: &Expr) -> bool {
    functions::is_fallible(key)
}
