//! Several values as one: for `COUNT(DISTINCT a, b)`, and for keys where NULL equals NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryBuilder};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExprRef;

use crate::call::{Operation, call};

/// Bytes that are equal if all of `values` are; NULL if any of them is.
pub fn tuple(values: Vec<PhysicalExprRef>) -> PhysicalExprRef {
    call(Tuple { with_nulls: false }, values)
}

/// Bytes that are equal if all of `values` are. NULL equals NULL, so they are never NULL.
pub fn with_nulls(values: Vec<PhysicalExprRef>) -> PhysicalExprRef {
    call(Tuple { with_nulls: true }, values)
}

#[derive(Debug)]
struct Tuple {
    with_nulls: bool,
}

impl Operation for Tuple {
    fn data_type(&self) -> DataType {
        DataType::Binary
    }

    fn apply(&self, columns: Vec<ArrayRef>, _: usize) -> Result<ArrayRef> {
        let fields = columns
            .iter()
            .map(|c| SortField::new(c.data_type().clone()))
            .collect();
        let rows = RowConverter::new(fields)?.convert_columns(&columns)?;
        // `is_null` would find no NULLs in an array of the type of a bare NULL.
        let nulls: Vec<_> = columns.iter().filter_map(|c| c.logical_nulls()).collect();
        let mut tuples = BinaryBuilder::new();
        for (index, row) in rows.iter().enumerate() {
            if !self.with_nulls && nulls.iter().any(|n| n.is_null(index)) {
                tuples.append_null();
            } else {
                tuples.append_value(row.as_ref());
            }
        }
        Ok(Arc::new(tuples.finish()))
    }
}
