//! COUNT and SUM of distinct values, for queries that have several of them with different arguments.
//!
//! DataFusion holds the sets of values. The values are converted to their comparable forms before, so MySQL's
//! rules decide which are equal.

use std::sync::Arc;

use arrow::array::{ArrayRef, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type,
};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Accumulator, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::count_distinct::{
    BytesDistinctCountAccumulator, FloatDistinctCountAccumulator, PrimitiveDistinctCountAccumulator,
    PrimitiveDistinctCountGroupsAccumulator,
};
use datafusion_functions_aggregate_common::utils::GenericDistinctBuffer;
use datafusion_physical_expr::binary_map::OutputType;
use functions::aggregate::{MergeableAggregate, MergeableFunction, RowGroups};
use types::Error;

use crate::error::carry;

/// Counts the distinct values of a type.
pub fn count(ty: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match ty {
        DataType::Int64 => Box::new(PrimitiveDistinctCountAccumulator::<Int64Type>::new(ty)),
        DataType::UInt64 => Box::new(PrimitiveDistinctCountAccumulator::<UInt64Type>::new(ty)),
        DataType::Decimal128(..) => Box::new(PrimitiveDistinctCountAccumulator::<Decimal128Type>::new(ty)),
        DataType::Decimal256(..) => Box::new(PrimitiveDistinctCountAccumulator::<Decimal256Type>::new(ty)),
        DataType::Float64 => Box::new(FloatDistinctCountAccumulator::<Float64Type>::new()),
        DataType::Utf8 => Box::new(BytesDistinctCountAccumulator::<i32>::new(OutputType::Utf8)),
        DataType::Binary => Box::new(BytesDistinctCountAccumulator::<i32>::new(OutputType::Binary)),
        other => return Err(unsupported("count", other)),
    })
}

/// Whether [`grouped_count`] supports the type. Others have one accumulator for each group.
pub fn has_grouped_count(ty: &DataType) -> bool {
    matches!(ty, DataType::Int64 | DataType::UInt64)
}

/// Counts the distinct values in each group.
pub fn grouped_count(ty: &DataType) -> Result<Box<dyn GroupsAccumulator>> {
    Ok(match ty {
        DataType::Int64 => Box::new(PrimitiveDistinctCountGroupsAccumulator::<Int64Type>::new()),
        DataType::UInt64 => Box::new(PrimitiveDistinctCountGroupsAccumulator::<UInt64Type>::new()),
        other => return Err(unsupported("count", other)),
    })
}

/// The sum of distinct values of a type.
pub fn sum(function: MergeableFunction, ty: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match ty {
        DataType::Int64 => Box::new(DistinctSum::<Int64Type>::new(function, ty)),
        DataType::UInt64 => Box::new(DistinctSum::<UInt64Type>::new(function, ty)),
        DataType::Float64 => Box::new(DistinctSum::<Float64Type>::new(function, ty)),
        DataType::Decimal128(..) => Box::new(DistinctSum::<Decimal128Type>::new(function, ty)),
        DataType::Decimal256(..) => Box::new(DistinctSum::<Decimal256Type>::new(function, ty)),
        other => return Err(unsupported("sum", other)),
    })
}

fn unsupported(function: &str, ty: &DataType) -> datafusion_common::DataFusionError {
    carry(Error::internal(format_args!(
        "{function} of distinct values of type {ty}"
    )))
}

/// A set of values, which are summed at the end.
#[derive(Debug)]
struct DistinctSum<T: ArrowPrimitiveType> {
    function: MergeableFunction,
    ty: DataType,
    values: GenericDistinctBuffer<T>,
}

impl<T: ArrowPrimitiveType> DistinctSum<T> {
    fn new(function: MergeableFunction, ty: &DataType) -> Self {
        Self {
            function,
            ty: ty.clone(),
            values: GenericDistinctBuffer::new(ty.clone()),
        }
    }
}

impl<T: ArrowPrimitiveType + std::fmt::Debug> Accumulator for DistinctSum<T> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.values.values.iter().map(|value| value.0);
        let values = PrimitiveArray::<T>::from_iter_values(values).with_data_type(self.ty.clone());
        let rows = RowGroups::One(values.len());
        let mut sum = MergeableAggregate::new(self.function);
        let result = sum
            .update(&[Arc::new(values)], rows, 1)
            .and_then(|()| sum.take_result(1))
            .map_err(carry)?;
        ScalarValue::try_from_array(&result, 0)
    }

    fn size(&self) -> usize {
        self.values.size()
    }
}
