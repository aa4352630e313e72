//! Rows that are written out.

use arrow::record_batch::RecordBatch;
use functions::{Expr, eval_value};
use planner::plan::OutputColumn;
use types::array::ColumnBuilder;
use types::{Result, SqlType};

use super::Operator;
use crate::batch::{BATCH_BYTES, BATCH_ROWS, batch_of, schema_of};
use crate::env::Env;

pub(super) struct Values<'p> {
    types: Vec<SqlType>,
    rows: &'p [Vec<Expr>],
}

impl<'p> Values<'p> {
    pub fn new(columns: &[OutputColumn], rows: &'p [Vec<Expr>]) -> Self {
        Self {
            types: columns.iter().map(|column| column.ty).collect(),
            rows,
        }
    }
}

impl Operator for Values<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let most = self.rows.len().min(wanted).min(BATCH_ROWS);
        let mut columns: Vec<_> = self.types.iter().map(|ty| ColumnBuilder::new(ty, most)).collect();
        let (mut count, mut bytes) = (0, 0);
        for row in self.rows.iter().take(most) {
            if bytes > BATCH_BYTES {
                break;
            }
            for (column, value) in columns.iter_mut().zip(row) {
                column.append(&eval_value(value, env.eval())?)?;
            }
            bytes = columns.iter().map(ColumnBuilder::data_bytes).sum();
            count += 1;
        }
        if count == 0 {
            return Ok(None);
        }
        self.rows = self.rows.get(count..).unwrap_or_default();
        let columns = columns.iter_mut().map(ColumnBuilder::finish).collect();
        batch_of(&schema_of(&self.types), columns, count).map(Some)
    }
}
