//! The source of a call's values, row by row.

use arrow::array::{ArrayRef, UInt64Array};

use super::accumulated::Accumulated;

pub(super) enum Source<'c> {
    /// Values of a fixed size, one for each row.
    Made(ArrayRef),
    /// For each row, the value of a row of the array, or NULL.
    Picked(ArrayRef, UInt64Array),
    /// For each row, a row of one of two arrays.
    Chosen([ArrayRef; 2], Vec<(usize, usize)>),
    /// Aggregates of frames, in the order of the rows.
    Accumulated(Box<Accumulated<'c>>),
}

/// The values at some rows, or NULL.
pub(super) fn pick<'c>(values: ArrayRef, rows: impl Iterator<Item = Option<usize>>) -> Source<'c> {
    let rows = rows.map(|row| row.map(|row| row as u64));
    Source::Picked(values, rows.collect())
}
