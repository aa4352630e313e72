//! Values whose equality of bytes is MySQL's equality: what groups, DISTINCT and sorts compare.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr as DfExpr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use types::{Collation, SqlType};

/// Whether a type's values have to go through [`key`] before they are compared.
pub fn needs_key(ty: &SqlType) -> bool {
    (ty.is_string() && ty.collation != Collation::Binary) || ty.is_float()
}

/// The comparable form of `value`, which has type `ty`.
pub fn key(value: DfExpr, ty: &SqlType) -> DfExpr {
    if !needs_key(ty) {
        return value;
    }
    let function = GroupingKey {
        collation: ty.is_string().then_some(ty.collation),
        signature: Signature::any(1, Volatility::Immutable),
    };
    ScalarUDF::from(function).call(vec![value])
}

/// Strings to sort keys; floating point numbers to themselves, but for -0, which is 0.
#[derive(Debug, PartialEq, Eq, Hash)]
struct GroupingKey {
    collation: Option<Collation>,
    signature: Signature,
}

impl ScalarUDFImpl for GroupingKey {
    fn name(&self) -> &str {
        "grouping_key"
    }

    fn schema_name(&self, args: &[DfExpr]) -> Result<String> {
        let collation = self.collation.map_or("", Collation::name);
        Ok(format!("key({}, {collation})", args[0].schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.collation.is_some() {
            DataType::Binary
        } else {
            DataType::Float64
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let input = args.args[0].to_array(args.number_rows)?;
        let output: ArrayRef = match self.collation {
            Some(collation) => Arc::new(sort_keys(&input, collation)),
            None => {
                let values = input.as_primitive::<Float64Type>();
                let plain: Float64Array = values.unary(|v| v + 0.0);
                Arc::new(plain)
            }
        };
        Ok(ColumnarValue::Array(output))
    }
}

fn sort_keys(input: &ArrayRef, collation: Collation) -> arrow::array::BinaryArray {
    let texts = input.as_string::<i32>();
    let mut keys = BinaryBuilder::with_capacity(texts.len(), texts.values().len() * 2);
    let mut key = Vec::new();
    for text in texts {
        match text {
            None => keys.append_null(),
            Some(text) => {
                key.clear();
                collation.sort_key(text.as_bytes(), &mut key);
                keys.append_value(&key);
            }
        }
    }
    keys.finish()
}
