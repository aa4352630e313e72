//! COUNT and SUM of distinct values, where a query has several such that are not of one argument.

use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type};
use datafusion_common::Result;
use datafusion_expr::{Accumulator, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::count_distinct::{
    BytesDistinctCountAccumulator, FloatDistinctCountAccumulator, PrimitiveDistinctCountAccumulator,
    PrimitiveDistinctCountGroupsAccumulator,
};
use datafusion_functions_aggregate_common::aggregate::sum_distinct::DistinctSumAccumulator;
use datafusion_physical_expr::binary_map::OutputType;

use super::unknown;

/// How many distinct values of a type.
pub fn count(ty: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match ty {
        DataType::Int64 => Box::new(PrimitiveDistinctCountAccumulator::<Int64Type>::new(ty)),
        DataType::UInt64 => Box::new(PrimitiveDistinctCountAccumulator::<UInt64Type>::new(ty)),
        DataType::Decimal128(..) => Box::new(PrimitiveDistinctCountAccumulator::<Decimal128Type>::new(ty)),
        DataType::Decimal256(..) => Box::new(PrimitiveDistinctCountAccumulator::<Decimal256Type>::new(ty)),
        DataType::Float64 => Box::new(FloatDistinctCountAccumulator::<Float64Type>::new()),
        DataType::Utf8 => Box::new(BytesDistinctCountAccumulator::<i32>::new(OutputType::Utf8)),
        DataType::Binary => Box::new(BytesDistinctCountAccumulator::<i32>::new(OutputType::Binary)),
        other => return Err(unknown("count of distinct values", other)),
    })
}

/// Whether [`grouped_count`] knows the type. Others have one accumulator for each group.
pub fn has_grouped_count(ty: &DataType) -> bool {
    matches!(ty, DataType::Int64 | DataType::UInt64)
}

/// How many distinct values in each group.
pub fn grouped_count(ty: &DataType) -> Result<Box<dyn GroupsAccumulator>> {
    Ok(match ty {
        DataType::Int64 => Box::new(PrimitiveDistinctCountGroupsAccumulator::<Int64Type>::new()),
        DataType::UInt64 => Box::new(PrimitiveDistinctCountGroupsAccumulator::<UInt64Type>::new()),
        other => return Err(unknown("count of distinct values", other)),
    })
}

/// The sum of distinct values, in a type with their representation.
pub fn sum(ty: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match ty {
        DataType::Float64 => Box::new(DistinctSumAccumulator::<Float64Type>::new(ty)),
        DataType::Decimal128(..) => Box::new(DistinctSumAccumulator::<Decimal128Type>::new(ty)),
        DataType::Decimal256(..) => Box::new(DistinctSumAccumulator::<Decimal256Type>::new(ty)),
        other => return Err(unknown("sum of distinct values", other)),
    })
}
