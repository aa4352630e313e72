//! The comparable form of values ([`functions::comparable`]): what groups, DISTINCT and sorts compare.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExprRef;
use functions::comparable::{self, Purpose};
use types::SqlType;

use crate::call::{Operation, call};

/// The form of `value`, which has type `ty`, for equality, MIN and MAX.
pub fn key(value: PhysicalExprRef, ty: &SqlType) -> PhysicalExprRef {
    form(value, ty, Purpose::Value)
}

/// The form of `value`, which has type `ty`, for ORDER BY.
pub fn order(value: PhysicalExprRef, ty: &SqlType) -> PhysicalExprRef {
    form(value, ty, Purpose::Order)
}

fn form(value: PhysicalExprRef, ty: &SqlType, purpose: Purpose) -> PhysicalExprRef {
    if !comparable::differs(ty) {
        return value;
    }
    call(Comparable { ty: *ty, purpose }, vec![value])
}

#[derive(Debug)]
struct Comparable {
    ty: SqlType,
    purpose: Purpose,
}

impl Operation for Comparable {
    fn data_type(&self) -> DataType {
        comparable::data_type(&self.ty)
    }

    fn apply(&self, arguments: Vec<ArrayRef>, _: usize) -> Result<ArrayRef> {
        Ok(comparable::array(&arguments[0], &self.ty, self.purpose))
    }
}
