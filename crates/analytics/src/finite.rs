//! Overflow of a sum of doubles: error 1690, where DataFusion would continue with infinity.

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use datafusion_common::Result;
use datafusion_physical_expr::PhysicalExprRef;
use types::{Error, errno};

use crate::call::{Operation, call};
use crate::error::carry;

/// The values of `sum`, doubles; an error if one is out of range. `name`: the aggregate's, for the message.
pub fn finite(sum: PhysicalExprRef, name: &'static str) -> PhysicalExprRef {
    call(Finite { name }, vec![sum])
}

#[derive(Debug)]
struct Finite {
    name: &'static str,
}

impl Operation for Finite {
    fn data_type(&self) -> DataType {
        DataType::Float64
    }

    fn apply(&self, mut arguments: Vec<ArrayRef>, _: usize) -> Result<ArrayRef> {
        let sums = arguments.swap_remove(0);
        if sums
            .as_primitive::<Float64Type>()
            .iter()
            .flatten()
            .all(f64::is_finite)
        {
            return Ok(sums);
        }
        let message = format!("DOUBLE value is out of range in '{}()'", self.name);
        Err(carry(Error::new(errno::ER_DATA_OUT_OF_RANGE, message)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::Float64Array;

    use super::*;

    fn check(sums: Vec<Option<f64>>) -> Result<ArrayRef> {
        let rows = sums.len();
        Finite { name: "sum" }.apply(vec![Arc::new(Float64Array::from(sums))], rows)
    }

    #[test]
    fn infinity_is_an_error_and_null_is_not() {
        assert_eq!(check(vec![Some(1.5), None]).unwrap().len(), 2);
        let error = crate::error::to_mysql(check(vec![Some(f64::INFINITY)]).unwrap_err());
        assert_eq!(error.code, errno::ER_DATA_OUT_OF_RANGE);
    }
}
