//! The rows that a window function is computed over.

use std::ops::Range;
use std::rc::Rc;

use arrow::record_batch::RecordBatch;

/// The rows of one partition, in the order of their window.
#[derive(Debug, Clone)]
pub struct Partition<'a> {
    pub rows: &'a RecordBatch,
    /// The ranges of rows that are equal under ORDER BY, in order. Without ORDER BY all rows are peers.
    pub peers: &'a [Range<usize>],
    /// The frame of each row, from [`super::frames()`].
    pub frames: Rc<[Range<usize>]>,
}
