//! Making and cutting [`RecordBatch`]es.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use types::{Error, Result, SqlType, TypeKind};

/// The number of rows to ask for when the caller can use all of them.
pub(crate) const ALL_ROWS: usize = usize::MAX;

/// The largest number of rows in a batch.
pub(crate) const BATCH_ROWS: usize = 1024;

/// A batch ends once its rows hold this many bytes, even if it has few rows.
pub(crate) const BATCH_BYTES: usize = 4 << 20;

/// Arrow fails only if arrays do not belong together, which is a defect in this crate.
pub(crate) fn arrow_error(error: ArrowError) -> Error {
    Error::internal(error)
}

pub(crate) fn schema_of(types: &[SqlType]) -> SchemaRef {
    arrow_schema(types.iter().map(SqlType::arrow_type))
}

pub(crate) fn arrow_schema(types: impl Iterator<Item = DataType>) -> SchemaRef {
    // Columns are identified by position, so they have no names.
    let fields: Vec<Field> = types.map(|ty| Field::new("", ty, true)).collect();
    Arc::new(Schema::new(fields))
}

/// A batch of `rows` rows. The number is needed if there are no columns.
pub(crate) fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(arrow_error)
}

/// Bytes of a batch's rows. Of a slice, only its own rows count.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch
        .columns()
        .iter()
        .map(|column| array_bytes(column.as_ref()))
        .sum()
}

/// Bytes of an array's values. Arrow's own count makes an `ArrayData` first, which costs more than a small array's
/// rows.
pub(crate) fn array_bytes(array: &dyn Array) -> usize {
    let len = array.len();
    let values = match array.data_type() {
        DataType::Null => 0,
        DataType::Boolean => len.div_ceil(8),
        DataType::Utf8 => text_bytes(array.as_string::<i32>().value_offsets()),
        DataType::Binary => text_bytes(array.as_binary::<i32>().value_offsets()),
        ty => match ty.primitive_width() {
            Some(width) => len * width,
            None => return array.to_data().get_slice_memory_size().unwrap_or_default(),
        },
    };
    let nulls = array.nulls().map_or(0, |_| len.div_ceil(8));
    values + nulls
}

fn text_bytes(offsets: &[i32]) -> usize {
    let values = match offsets {
        [first, .., last] => usize::try_from(last - first).unwrap_or_default(),
        _ => 0,
    };
    values + size_of_val(offsets)
}

/// The sizes of a batch's rows in bytes: their average, and the size of each row if one of them is wide.
#[derive(Default)]
pub(crate) struct RowWidths {
    /// On average.
    pub even: usize,
    /// Of each row, if one of them is wide.
    each: Option<Vec<usize>>,
}

impl RowWidths {
    pub fn of(batch: &RecordBatch) -> Self {
        const WIDE_BYTES: usize = BATCH_BYTES / BATCH_ROWS;
        let bytes = batch_bytes(batch);
        let mut each = Vec::new();
        if bytes > WIDE_BYTES {
            each.resize(batch.num_rows(), 0);
            for column in batch.columns() {
                add_lengths(column.as_ref(), &mut each);
            }
        }
        Self {
            even: bytes / batch.num_rows().max(1),
            each: each.iter().any(|bytes| *bytes > WIDE_BYTES).then_some(each),
        }
    }

    /// The size of a row; 0 if no row of the batch is wide.
    #[inline]
    pub fn wide(&self, row: usize) -> usize {
        match &self.each {
            None => 0,
            Some(each) => each.get(row).copied().unwrap_or(0),
        }
    }
}

/// Adds the bytes of each text.
fn add_lengths(column: &dyn Array, each: &mut [usize]) {
    let add = |(bytes, more): (&mut usize, usize)| *bytes += more;
    match column.data_type() {
        DataType::Utf8 => each
            .iter_mut()
            .zip(column.as_string::<i32>().offsets().lengths())
            .for_each(add),
        DataType::Binary => each
            .iter_mut()
            .zip(column.as_binary::<i32>().offsets().lengths())
            .for_each(add),
        DataType::LargeBinary => {
            each.iter_mut()
                .zip(column.as_binary::<i64>().offsets().lengths())
                .for_each(add);
        }
        _ => {}
    }
}

/// The most bytes that a value of a type may have, roughly.
pub(crate) fn widest(ty: &SqlType) -> usize {
    match ty.kind {
        TypeKind::Json => u32::MAX as usize,
        _ if ty.is_string() => (ty.length as usize).saturating_mul(4),
        _ => 16,
    }
}

/// The rows where `mask` is true (and not NULL).
pub(crate) fn keep(batch: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch> {
    if mask.null_count() == 0 && mask.true_count() == mask.len() {
        return Ok(batch.clone());
    }
    compute::filter_record_batch(batch, mask).map_err(arrow_error)
}

/// The rows that `places` lists as (batch, row), in that order.
pub(crate) fn gather(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    places: &[(usize, usize)],
) -> Result<RecordBatch> {
    let columns = (0..schema.fields().len())
        .map(|column| {
            let arrays: Vec<&dyn Array> = batches.iter().map(|b| b.column(column).as_ref()).collect();
            compute::interleave(&arrays, places).map_err(arrow_error)
        })
        .collect::<Result<Vec<_>>>()?;
    batch_of(schema, columns, places.len())
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    #[test]
    fn a_batch_without_columns_has_rows() {
        let schema = schema_of(&[]);
        let batch = batch_of(&schema, Vec::new(), 3).unwrap();
        assert_eq!(batch.num_rows(), 3);
        let mask = BooleanArray::from(vec![Some(true), None, Some(false)]);
        assert_eq!(keep(&batch, &mask).unwrap().num_rows(), 1);
        assert_eq!(
            gather(&schema, &[batch], &[(0, 1), (0, 0)]).unwrap().num_rows(),
            2
        );
    }

    #[test]
    fn bytes_are_those_that_arrow_counts() {
        let arrays: [ArrayRef; 6] = [
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])),
            Arc::new(Int64Array::from(vec![1, 2, 3]).slice(1, 2)),
            Arc::new(arrow::array::StringArray::from(vec![
                Some("abc"),
                None,
                Some("de"),
            ])),
            Arc::new(arrow::array::StringArray::from(vec!["abc", "x", "de"]).slice(1, 1)),
            Arc::new(arrow::array::BinaryArray::from(vec![&b"ab"[..], b""])),
            Arc::new(arrow::array::Decimal128Array::from(vec![1, 2])),
        ];
        for array in arrays {
            let expected = array.to_data().get_slice_memory_size().unwrap();
            assert_eq!(array_bytes(array.as_ref()), expected, "{array:?}");
        }
    }

    #[test]
    fn gathers_across_batches() {
        let schema = schema_of(&[SqlType::BIGINT]);
        let one = |values: Vec<i64>| {
            let rows = values.len();
            batch_of(
                &schema,
                vec![Arc::new(Int64Array::from(values)) as ArrayRef],
                rows,
            )
            .unwrap()
        };
        let batches = [one(vec![1, 2]), one(vec![3])];
        let out = gather(&schema, &batches, &[(1, 0), (0, 1)]).unwrap();
        assert_eq!(out, one(vec![3, 2]));
    }
}
