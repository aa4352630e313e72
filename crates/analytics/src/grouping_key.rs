//! The comparable form of values ([`functions::comparable`]) as a function of DataFusion's: what groups, DISTINCT and
//! sorts compare.

use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr as DfExpr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use functions::comparable::{self, Purpose};
use types::SqlType;

/// The form of `value`, which has type `ty`, for equality, MIN and MAX.
pub fn key(value: DfExpr, ty: &SqlType) -> DfExpr {
    form(value, ty, Purpose::Value)
}

/// The form of `value`, which has type `ty`, for ORDER BY.
pub fn order(value: DfExpr, ty: &SqlType) -> DfExpr {
    form(value, ty, Purpose::Order)
}

fn form(value: DfExpr, ty: &SqlType, purpose: Purpose) -> DfExpr {
    if !comparable::differs(ty) {
        return value;
    }
    let function = Comparable {
        ty: *ty,
        purpose,
        signature: Signature::any(1, Volatility::Immutable),
    };
    ScalarUDF::from(function).call(vec![value])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Comparable {
    ty: SqlType,
    purpose: Purpose,
    signature: Signature,
}

impl ScalarUDFImpl for Comparable {
    fn name(&self) -> &str {
        "comparable"
    }

    fn schema_name(&self, args: &[DfExpr]) -> Result<String> {
        let Self { ty, purpose, .. } = self;
        Ok(format!(
            "comparable({}, {ty:?}, {purpose:?})",
            args[0].schema_name()
        ))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(comparable::data_type(&self.ty))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(comparable::array(
            &values,
            &self.ty,
            self.purpose,
        )))
    }
}
