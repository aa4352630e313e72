//! Keys of rows in memory: bytes that compare as MySQL compares the rows.

use arrow::array::ArrayRef;
use arrow::row::{RowConverter, Rows, SortField};
use types::{Error, Result, SqlType};

use super::sort_options;
use crate::comparable::{self, Purpose};

/// Turns columns of fixed types into one key per row, made of the comparable forms of its values
/// ([`comparable`]).
#[derive(Debug)]
pub struct RowKeys {
    types: Vec<SqlType>,
    purpose: Purpose,
    converter: RowConverter,
}

impl RowKeys {
    /// Keys for equality.
    pub fn new(types: Vec<SqlType>) -> Result<Self> {
        let columns = types.into_iter().map(|ty| (ty, false)).collect();
        Self::with(columns, Purpose::Value)
    }

    /// Keys for an ORDER BY; `true` stands for descending.
    pub fn with_order(columns: Vec<(SqlType, bool)>) -> Result<Self> {
        Self::with(columns, Purpose::Order)
    }

    fn with(columns: Vec<(SqlType, bool)>, purpose: Purpose) -> Result<Self> {
        let fields = columns
            .iter()
            .map(|(ty, descending)| {
                SortField::new_with_options(comparable::data_type(ty), sort_options(*descending))
            })
            .collect();
        Ok(Self {
            types: columns.into_iter().map(|(ty, _)| ty).collect(),
            purpose,
            converter: RowConverter::new(fields).map_err(Error::internal)?,
        })
    }

    /// One key per row of `columns`, which have the types that the keys were made for.
    pub fn encode(&self, columns: &[ArrayRef]) -> Result<Rows> {
        let columns: Vec<ArrayRef> = self
            .types
            .iter()
            .zip(columns)
            .map(|(ty, array)| comparable::array(array, ty, self.purpose))
            .collect();
        self.converter.convert_columns(&columns).map_err(Error::internal)
    }

    /// Room for keys that are pushed one by one.
    pub fn empty(&self, rows: usize) -> Rows {
        self.converter.empty_rows(rows, rows * 16)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array, StringArray};
    use types::Collation;

    use super::*;

    #[test]
    fn null_is_smallest_and_order_may_be_reversed() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), None, Some(-1)]));
        for descending in [false, true] {
            let by = RowKeys::with_order(vec![(SqlType::BIGINT, descending)]).unwrap();
            let keys = by.encode(std::slice::from_ref(&values)).unwrap();
            let mut order = vec![0, 1, 2];
            order.sort_by(|a, b| keys.row(*a).cmp(&keys.row(*b)));
            let expected = if descending { [0, 2, 1] } else { [1, 2, 0] };
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn zeros_are_equal() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0]));
        let keys = RowKeys::new(vec![SqlType::DOUBLE])
            .unwrap()
            .encode(&[values])
            .unwrap();
        assert_eq!(keys.row(0), keys.row(1));
    }

    #[test]
    fn text_compares_by_its_sort_key() {
        let ty = SqlType::varchar(10, Collation::Utf8mb4Bin);
        let values: ArrayRef = Arc::new(StringArray::from(vec!["b", "a", "ab"]));
        let keys = RowKeys::new(vec![ty]).unwrap().encode(&[values]).unwrap();
        assert!(keys.row(1) < keys.row(2) && keys.row(2) < keys.row(0));
    }
}
