//! COUNT.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::datatypes::Int64Type;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::accumulate::accumulate_indices;

#[derive(Debug, Default)]
pub struct Count(i64);

impl Accumulator for Count {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0 += (values[0].len() - values[0].logical_null_count()) as i64;
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0 += arrow::compute::sum(states[0].as_primitive::<Int64Type>()).unwrap_or(0);
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(Some(self.0)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// One for each group.
#[derive(Debug, Default)]
pub struct Counts(Vec<i64>);

impl GroupsAccumulator for Counts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        self.0.resize(total_groups, 0);
        let counts = self.0.as_mut_slice();
        accumulate_indices(groups, values[0].logical_nulls().as_ref(), filter, |group| {
            counts[group] += 1;
        });
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        self.0.resize(total_groups, 0);
        for (&group, count) in groups.iter().zip(states[0].as_primitive::<Int64Type>().values()) {
            self.0[group] += count;
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(emit.take_needed(&mut self.0))))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let nulls = values[0].logical_nulls();
        let counts = |row: usize| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
                && filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
        };
        let rows = 0..values[0].len();
        let ones: Int64Array = rows.map(|row| i64::from(counts(row))).collect::<Vec<_>>().into();
        Ok(vec![Arc::new(ones)])
    }

    fn size(&self) -> usize {
        self.0.capacity() * size_of::<i64>()
    }
}
