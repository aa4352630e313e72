//! The input and output of an expression: the columns of a row, and a value for each row of a batch.

use arrow::array::{Array, ArrayRef};
use arrow::record_batch::RecordBatch;
use types::{Error, Result, Value};

use crate::datum::Datum;

/// The value of an expression over a batch.
#[derive(Debug, Clone)]
pub enum ColumnarValue {
    /// One value per row.
    Array(ArrayRef),
    /// The same value for every row.
    Scalar(Value),
}

/// Where the values of columns come from.
#[derive(Clone, Copy)]
pub enum Row<'a> {
    /// There are no columns.
    None,
    /// A row of a batch.
    Batch(&'a RecordBatch, usize),
    Values(&'a [Value]),
}

impl<'a> Row<'a> {
    pub(crate) fn column(&self, index: usize) -> Result<Datum<'a>> {
        let found = match self {
            Self::None => None,
            Self::Batch(batch, row) => match batch.columns().get(index) {
                Some(array) if *row < array.len() => Some(Datum::at(array.as_ref(), *row)?),
                _ => None,
            },
            Self::Values(values) => values.get(index).map(Datum::of),
        };
        found.ok_or_else(|| Error::internal(format!("there is no column {index} to evaluate")))
    }
}
