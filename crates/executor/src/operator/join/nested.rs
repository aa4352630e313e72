//! All rows of the right side are partners of each left row. They are held in memory and counted.

use arrow::compute;
use arrow::record_batch::RecordBatch;
use types::{Result, SqlType};

use super::{Found, Page, Partners};
use crate::batch::{ALL_ROWS, arrow_error, batch_bytes, schema_of};
use crate::env::Env;
use crate::operator::BoxOperator;

pub(in crate::operator) struct AllPartners<'p> {
    /// `None` once it has been read.
    right: Option<BoxOperator<'p>>,
    right_types: Vec<SqlType>,
    rows: RecordBatch,
    row_bytes: usize,
    left_rows: usize,
    /// The next pair.
    row: usize,
    right_row: usize,
}

impl<'p> AllPartners<'p> {
    pub fn new(right: BoxOperator<'p>, right_types: Vec<SqlType>) -> Self {
        Self {
            right: Some(right),
            rows: RecordBatch::new_empty(schema_of(&right_types)),
            right_types,
            row_bytes: 0,
            left_rows: 0,
            row: 0,
            right_row: 0,
        }
    }
}

impl Partners for AllPartners<'_> {
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool> {
        if let Some(right) = self.right.take() {
            self.rows = read_all(right, &self.right_types, env)?;
            self.row_bytes = batch_bytes(&self.rows) / self.rows.num_rows().max(1);
        }
        self.left_rows = left.num_rows();
        (self.row, self.right_row) = (0, 0);
        Ok(self.rows.num_rows() > 0)
    }

    fn find(&mut self, page: &mut Page, found: &[Found], _: &mut Env<'_, '_>) -> Result<()> {
        page.add_right(self.rows.clone());
        while self.row < self.left_rows && !page.is_full() {
            let found = found.get(self.row).copied().unwrap_or(Found::Nothing);
            let is_settled = page.is_settled(found) || page.settles_at_once() && self.right_row > 0;
            if is_settled || self.right_row == self.rows.num_rows() {
                (self.row, self.right_row) = (self.row + 1, 0);
                continue;
            }
            page.push(self.row, self.right_row as u32);
            self.right_row += 1;
        }
        page.set_done(self.row);
        Ok(())
    }

    fn row_bytes(&self) -> usize {
        self.row_bytes
    }
}

/// All rows of an input as one batch, which the statement's memory counts.
pub(super) fn read_all(
    mut input: BoxOperator<'_>,
    types: &[SqlType],
    env: &mut Env<'_, '_>,
) -> Result<RecordBatch> {
    let mut batches = Vec::new();
    let mut bytes = 0;
    while let Some(batch) = input.next(env, ALL_ROWS)? {
        let more = batch_bytes(&batch);
        env.memory.grow(more)?;
        bytes += more;
        batches.push(batch);
    }
    drop(input);
    match batches.as_slice() {
        [] => Ok(RecordBatch::new_empty(schema_of(types))),
        [one] => Ok(one.clone()),
        several => {
            // For a moment there are two copies.
            env.memory.grow(bytes)?;
            let all = compute::concat_batches(several[0].schema_ref(), several).map_err(arrow_error)?;
            drop(batches);
            env.memory.shrink(bytes);
            Ok(all)
        }
    }
}
