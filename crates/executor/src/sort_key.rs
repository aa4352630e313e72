//! Keys of rows in memory whose bytes compare as MySQL compares the rows: what sorting, grouping and DISTINCT work on.
//!
//! Not here: keys in the store (`catalog::layout`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Float64Type};
use arrow::row::{RowConverter, Rows, SortField};
use types::{Collation, Result, SqlType};

use crate::batch::arrow_error;

/// Turns columns of fixed types into one key per row. Text goes in as its collation's sort key, so that equality and
/// order are the collation's; -0.0 as 0.0.
pub(crate) struct KeyEncoder {
    types: Vec<SqlType>,
    converter: RowConverter,
}

impl KeyEncoder {
    /// Keys for equality and ascending order.
    pub fn new(types: Vec<SqlType>) -> Result<Self> {
        let columns = types.into_iter().map(|ty| (ty, false)).collect();
        Self::with_order(columns)
    }

    /// Keys for an ORDER BY; `true` stands for descending. NULL is the smallest value.
    pub fn with_order(columns: Vec<(SqlType, bool)>) -> Result<Self> {
        let fields = columns
            .iter()
            .map(|(ty, descending)| {
                let options = SortOptions {
                    descending: *descending,
                    nulls_first: !*descending,
                };
                SortField::new_with_options(key_type(ty), options)
            })
            .collect();
        Ok(Self {
            types: columns.into_iter().map(|(ty, _)| ty).collect(),
            converter: RowConverter::new(fields).map_err(arrow_error)?,
        })
    }

    /// One key per row of `columns`, which have the encoder's types.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<Rows> {
        let columns: Vec<ArrayRef> = self
            .types
            .iter()
            .zip(columns)
            .map(|(ty, array)| comparable(ty, array))
            .collect();
        self.converter.convert_columns(&columns).map_err(arrow_error)
    }

    /// Room for keys that are pushed one by one.
    pub fn empty(&self, rows: usize) -> Rows {
        self.converter.empty_rows(rows, rows * 16)
    }
}

fn is_collated(ty: &SqlType) -> bool {
    ty.arrow_type() == DataType::Utf8 && ty.collation != Collation::Binary
}

fn key_type(ty: &SqlType) -> DataType {
    if is_collated(ty) {
        DataType::Binary
    } else {
        ty.arrow_type()
    }
}

fn comparable(ty: &SqlType, array: &ArrayRef) -> ArrayRef {
    if is_collated(ty) {
        return sort_keys(ty.collation, array);
    }
    if *array.data_type() == DataType::Float64 {
        let floats = array.as_primitive::<Float64Type>();
        return Arc::new(floats.unary::<_, Float64Type>(|v| v + 0.0));
    }
    Arc::clone(array)
}

fn sort_keys(collation: Collation, array: &ArrayRef) -> ArrayRef {
    let Some(text) = array.as_string_opt::<i32>() else {
        return Arc::clone(array);
    };
    let mut keys = BinaryBuilder::with_capacity(text.len(), text.value_data().len());
    let mut key = Vec::new();
    for value in text {
        match value {
            None => keys.append_null(),
            Some(value) => {
                key.clear();
                collation.sort_key(value.as_bytes(), &mut key);
                keys.append_value(&key);
            }
        }
    }
    Arc::new(keys.finish())
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn null_is_smallest_and_order_may_be_reversed() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(-1)]));
        for descending in [false, true] {
            let encoder = KeyEncoder::with_order(vec![(SqlType::BIGINT, descending)]).unwrap();
            let keys = encoder.encode(std::slice::from_ref(&values)).unwrap();
            let mut order = vec![0, 1, 2];
            order.sort_by(|a, b| keys.row(*a).cmp(&keys.row(*b)));
            let expected = if descending { [0, 2, 1] } else { [1, 2, 0] };
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn zeros_are_equal() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0]));
        let keys = KeyEncoder::new(vec![SqlType::DOUBLE])
            .unwrap()
            .encode(&[values])
            .unwrap();
        assert_eq!(keys.row(0), keys.row(1));
    }

    #[test]
    fn text_compares_by_its_sort_key() {
        let ty = SqlType::varchar(10, Collation::Utf8mb4Bin);
        let values: ArrayRef = Arc::new(StringArray::from(vec!["b", "a", "ab"]));
        let keys = KeyEncoder::new(vec![ty]).unwrap().encode(&[values]).unwrap();
        assert!(keys.row(1) < keys.row(2) && keys.row(2) < keys.row(0));
    }
}
