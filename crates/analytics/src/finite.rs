//! The overflow of a sum of doubles: error 1690, where DataFusion goes on with infinity.

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr as DfExpr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use types::{Error, errno};

use crate::error::carry;

/// `sum`, a double, unless it is out of range. `name`: of the aggregate, for the message.
pub fn finite(sum: DfExpr, name: &'static str) -> DfExpr {
    ScalarUDF::from(Finite {
        name,
        signature: Signature::any(1, Volatility::Immutable),
    })
    .call(vec![sum])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Finite {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Finite {
    fn name(&self) -> &str {
        "finite"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let sums = args.args[0].to_array(args.number_rows)?;
        if sums
            .as_primitive::<Float64Type>()
            .iter()
            .flatten()
            .all(f64::is_finite)
        {
            return Ok(ColumnarValue::Array(sums));
        }
        let message = format!("DOUBLE value is out of range in '{}()'", self.name);
        Err(carry(Error::new(errno::ER_DATA_OUT_OF_RANGE, message)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array};
    use arrow::datatypes::Field;
    use datafusion::common::config::ConfigOptions;

    use super::*;

    fn check(sums: Vec<Option<f64>>) -> Result<ArrayRef> {
        let function = Finite {
            name: "sum",
            signature: Signature::any(1, Volatility::Immutable),
        };
        let number_rows = sums.len();
        let field = Arc::new(Field::new("sum", DataType::Float64, true));
        let result = function.invoke_with_args(ScalarFunctionArgs {
            args: vec![ColumnarValue::Array(Arc::new(Float64Array::from(sums)))],
            arg_fields: vec![field.clone()],
            number_rows,
            return_field: field,
            config_options: Arc::new(ConfigOptions::default()),
        })?;
        result.to_array(number_rows)
    }

    #[test]
    fn infinity_is_an_error_and_null_is_not() {
        assert_eq!(check(vec![Some(1.5), None]).unwrap().len(), 2);
        let error = crate::error::to_mysql(check(vec![Some(f64::INFINITY)]).unwrap_err());
        assert_eq!(error.code, errno::ER_DATA_OUT_OF_RANGE);
    }
}
