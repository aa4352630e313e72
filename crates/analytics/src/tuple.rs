//! Several values as one, for `COUNT(DISTINCT a, b)`: NULL if any of them is.

use std::sync::Arc;

use arrow::array::BinaryBuilder;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr as DfExpr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Bytes that are equal where all of `values` are.
pub fn tuple(values: Vec<DfExpr>) -> DfExpr {
    ScalarUDF::from(Tuple {
        signature: Signature::variadic_any(Volatility::Immutable),
    })
    .call(values)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Tuple {
    signature: Signature,
}

impl ScalarUDFImpl for Tuple {
    fn name(&self) -> &str {
        "tuple"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns = args
            .args
            .iter()
            .map(|a| a.to_array(args.number_rows))
            .collect::<Result<Vec<_>>>()?;
        let fields = columns
            .iter()
            .map(|c| SortField::new(c.data_type().clone()))
            .collect();
        let rows = RowConverter::new(fields)?.convert_columns(&columns)?;
        // Not `is_null`, to which a bare NULL's array is full of values.
        let nulls: Vec<_> = columns.iter().filter_map(|c| c.logical_nulls()).collect();
        let mut tuples = BinaryBuilder::new();
        for (index, row) in rows.iter().enumerate() {
            if nulls.iter().any(|n| n.is_null(index)) {
                tuples.append_null();
            } else {
                tuples.append_value(row.as_ref());
            }
        }
        Ok(ColumnarValue::Array(Arc::new(tuples.finish())))
    }
}
