//! SUM of all rows.

use std::fmt::Debug;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{ArrowNativeTypeOp, ArrowNumericType, DataType};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Accumulator;

#[derive(Debug)]
pub struct Sum<T: ArrowNumericType> {
    /// None until there is a value.
    sum: Option<T::Native>,
    ty: DataType,
}

impl<T: ArrowNumericType> Sum<T> {
    pub fn new(ty: &DataType) -> Self {
        Self {
            sum: None,
            ty: ty.clone(),
        }
    }
}

impl<T: ArrowNumericType + Debug> Accumulator for Sum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let Some(part) = arrow::compute::sum(values[0].as_primitive::<T>()) {
            self.sum = Some(self.sum.map_or(part, |sum| sum.add_wrapping(part)));
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::new_primitive::<T>(self.sum, &self.ty)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
