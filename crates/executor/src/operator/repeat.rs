//! Each row several times, with its copy's number before its columns: what WITH ROLLUP groups.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, UInt32Array};
use arrow::compute;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use types::{Result, SqlType};

use super::{BoxOperator, Operator};
use crate::batch::{arrow_error, batch_of, schema_of};
use crate::env::Env;

pub(super) struct Repeat<'p> {
    input: BoxOperator<'p>,
    times: u32,
    schema: SchemaRef,
}

impl<'p> Repeat<'p> {
    /// `types`: those of the input's columns.
    pub fn new(input: BoxOperator<'p>, times: u32, types: Vec<SqlType>) -> Self {
        let types: Vec<SqlType> = std::iter::once(SqlType::BIGINT).chain(types).collect();
        Self {
            input,
            times: times.max(1),
            schema: schema_of(&types),
        }
    }
}

impl Operator for Repeat<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let ask = (wanted / self.times as usize).max(1);
        let Some(batch) = self.input.next(env, ask)? else {
            return Ok(None);
        };
        let rows = batch.num_rows() as u32;
        let copies = || (0..rows).flat_map(|row| (0..self.times).map(move |copy| (row, copy)));
        let rows: UInt32Array = copies().map(|(row, _)| row).collect::<Vec<_>>().into();
        let numbers: Int64Array = copies()
            .map(|(_, copy)| i64::from(copy))
            .collect::<Vec<_>>()
            .into();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(numbers)];
        for column in batch.columns() {
            columns.push(compute::take(column, &rows, None).map_err(arrow_error)?);
        }
        batch_of(&self.schema, columns, rows.len()).map(Some)
    }
}
