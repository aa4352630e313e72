//! The rows that a window function is computed over.

use std::ops::Range;

use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::take;
use arrow::record_batch::RecordBatch;
use types::{Error, Result};

/// The rows of one partition, in the order of their window.
#[derive(Debug, Clone, Copy)]
pub struct Partition<'a> {
    pub rows: &'a RecordBatch,
    /// The ranges of rows that are equal under ORDER BY, in order; all rows are peers if there is none.
    pub peers: &'a [Range<usize>],
    /// The frame of each row, from [`super::frames()`].
    pub frames: &'a [Range<usize>],
}

/// The values at some rows, or NULL.
pub(super) fn values_at(values: &ArrayRef, rows: impl Iterator<Item = Option<usize>>) -> Result<ArrayRef> {
    let rows: UInt64Array = rows.map(|row| row.map(|row| row as u64)).collect();
    take(values.as_ref(), &rows, None).map_err(Error::internal)
}
