//! Each row several times, with the number of the copy as its first column: the input of WITH ROLLUP's
//! grouping, and the rows of VALUES.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, UInt32Array};
use arrow::compute;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use types::{Result, SqlType};

use super::{BoxOperator, Operator};
use crate::batch::{BATCH_ROWS, arrow_error, batch_of, schema_of};
use crate::env::Env;

pub(super) struct Repeat<'p> {
    input: BoxOperator<'p>,
    times: usize,
    schema: SchemaRef,
    /// The rows whose copies are being returned, and the number of complete copies that have been.
    current: Option<(RecordBatch, usize)>,
}

impl<'p> Repeat<'p> {
    /// `types`: those of the input's columns.
    pub fn new(input: BoxOperator<'p>, times: u32, types: Vec<SqlType>) -> Self {
        let types: Vec<SqlType> = std::iter::once(SqlType::BIGINT).chain(types).collect();
        Self {
            input,
            times: times.max(1) as usize,
            schema: schema_of(&types),
            current: None,
        }
    }
}

impl Operator for Repeat<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let (batch, given) = match self.current.take() {
            Some(current) => current,
            None => match self.input.next(env, (wanted / self.times).max(1))? {
                Some(batch) => (batch, 0),
                None => return Ok(None),
            },
        };
        let all = batch.num_rows() * self.times;
        let until = all.min(given.saturating_add(wanted.min(BATCH_ROWS)));
        let rows = (given..until).map(|copy| (copy / self.times) as u32);
        let rows: UInt32Array = rows.collect::<Vec<_>>().into();
        let numbers = (given..until).map(|copy| (copy % self.times) as i64);
        let numbers: Int64Array = numbers.collect::<Vec<_>>().into();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(numbers)];
        for column in batch.columns() {
            columns.push(compute::take(column, &rows, None).map_err(arrow_error)?);
        }
        if until < all {
            self.current = Some((batch, until));
        }
        batch_of(&self.schema, columns, rows.len()).map(Some)
    }
}
