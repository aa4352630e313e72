//! [`MergeableAggregate`] behind DataFusion's two traits: of many groups, and of all rows.

use arrow::array::{ArrayRef, BooleanArray};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};
use functions::aggregate::{MergeableAggregate, MergeableFunction, RowGroups};
use types::Error;

use crate::error::carry;

#[derive(Debug)]
pub struct Groups {
    function: MergeableFunction,
    groups: MergeableAggregate,
}

impl Groups {
    pub fn new(function: MergeableFunction) -> Self {
        Self {
            function,
            groups: MergeableAggregate::new(function),
        }
    }

    fn count(&self, emit: EmitTo) -> usize {
        match emit {
            EmitTo::All => self.groups.group_count(),
            EmitTo::First(count) => count,
        }
    }
}

/// Refuses SQL's FILTER clause, which MySQL does not have.
fn no_filter(filter: Option<&BooleanArray>) -> Result<()> {
    match filter {
        None => Ok(()),
        Some(_) => Err(carry(Error::internal("an aggregate was given a filter"))),
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        group_count: usize,
    ) -> Result<()> {
        no_filter(filter)?;
        let groups = RowGroups::Each(groups);
        self.groups.update(args, groups, group_count).map_err(carry)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], group_count: usize) -> Result<()> {
        let groups = RowGroups::Each(groups);
        self.groups.merge(states, groups, group_count).map_err(carry)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.groups.take_result(self.count(emit)).map_err(carry)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.groups.take_state(self.count(emit)).map_err(carry)
    }

    fn convert_to_state(&self, args: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        no_filter(filter)?;
        MergeableAggregate::rows_as_states(self.function, args).map_err(carry)
    }

    fn size(&self) -> usize {
        self.groups.size_bytes()
    }
}

/// All rows are one group, which exists before any row does.
#[derive(Debug)]
pub struct AllRows(MergeableAggregate);

impl AllRows {
    pub fn new(function: MergeableFunction) -> Self {
        let mut group = MergeableAggregate::new(function);
        group.resize(1);
        Self(group)
    }
}

impl Accumulator for AllRows {
    fn update_batch(&mut self, args: &[ArrayRef]) -> Result<()> {
        let rows = RowGroups::One(args.first().map_or(0, |arg| arg.len()));
        self.0.update(args, rows, 1).map_err(carry)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = RowGroups::One(states.first().map_or(0, |state| state.len()));
        self.0.merge(states, rows, 1).map_err(carry)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let columns = self.0.take_state(1).map_err(carry)?;
        columns
            .iter()
            .map(|column| ScalarValue::try_from_array(column, 0))
            .collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.take_result(1).map_err(carry)?, 0)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size_bytes()
    }
}
