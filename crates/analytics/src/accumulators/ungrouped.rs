//! An accumulator of groups for a query that has none.

use std::fmt::Debug;

use arrow::array::{Array, ArrayRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};

/// All rows are of one group.
#[derive(Debug)]
pub struct Ungrouped<A>(pub A);

impl<A: GroupsAccumulator + Debug + Sync> Accumulator for Ungrouped<A> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values, &vec![0; values[0].len()], None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states, &vec![0; states[0].len()], 1)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state(EmitTo::All)?.iter().map(only).collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        only(&self.0.evaluate(EmitTo::All)?)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }
}

/// The one group's value; NULL where there was no batch, and so no group.
fn only(values: &ArrayRef) -> Result<ScalarValue> {
    if values.is_empty() {
        ScalarValue::try_from(values.data_type())
    } else {
        ScalarValue::try_from_array(values, 0)
    }
}
