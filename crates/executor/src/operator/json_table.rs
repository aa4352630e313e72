//! JSON_TABLE.

use arrow::record_batch::RecordBatch;
use functions::eval_value;
use planner::plan::JsonTableScan;
use types::array::ColumnBuilder;
use types::{Result, Value};

use super::Operator;
use crate::batch::{BATCH_ROWS, batch_of, schema_of};
use crate::env::Env;

pub(super) struct JsonTable<'p> {
    scan: &'p JsonTableScan,
    /// Those that have not been returned; `None` before the document is read.
    rows: Option<std::vec::IntoIter<Vec<Value>>>,
}

impl<'p> JsonTable<'p> {
    pub fn new(scan: &'p JsonTableScan) -> Self {
        Self { scan, rows: None }
    }
}

fn row_bytes(row: &[Value]) -> usize {
    size_of::<Vec<Value>>() + row.iter().map(Value::size_bytes).sum::<usize>()
}

impl Operator for JsonTable<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            None => {
                let document = eval_value(&self.scan.document, env.eval())?;
                let mut made: Vec<Vec<Value>> = Vec::new();
                self.scan.table.rows(&document, env.eval(), &mut |row| {
                    env.check_interrupted()?;
                    env.memory.grow(row_bytes(row))?;
                    made.push(row.to_vec());
                    Ok(())
                })?;
                self.rows.insert(made.into_iter())
            }
        };
        let count = rows.len().min(wanted).min(BATCH_ROWS);
        if count == 0 {
            return Ok(None);
        }
        let types = self.scan.table.types();
        let mut columns: Vec<_> = types.iter().map(|ty| ColumnBuilder::new(ty, count)).collect();
        for row in rows.take(count) {
            for (column, value) in columns.iter_mut().zip(&row) {
                column.append(value)?;
            }
        }
        let columns = columns.iter_mut().map(ColumnBuilder::finish).collect();
        batch_of(&schema_of(types), columns, count).map(Some)
    }
}
