//! Aggregates that can be computed in parts: COUNT, SUM, MIN, MAX and ANY_VALUE.
//!
//! Each part adds rows. Its state, as Arrow arrays, is merged with the states of other parts. The executor
//! has one part; `analytics` has one for each thread.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use types::{Error, Result, SqlType, Value};

use super::count::Counts;
use super::extreme::{Choice, Extremes, ignores_positions};
use super::groups::RowGroups;
use super::sum::{Sums, type_of_sum};
use crate::datum::Datum;

/// A function, with the type of its result if that depends on the argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeableFunction {
    /// The number of rows whose argument is not NULL.
    Count,
    /// In one of the types of [`MergeableFunction::sum_of`]: the sum of sums has the same type.
    Sum(SqlType),
    Min(SqlType),
    Max(SqlType),
    /// The value of the group's first row.
    First(SqlType),
}

impl MergeableFunction {
    /// SUM of numbers of a type: in DOUBLE, or in a DECIMAL with digits for 10^10 rows, which
    /// [`super::AggregateCall::ty`] may have fewer of.
    pub fn sum_of(addend: &SqlType) -> Self {
        Self::Sum(type_of_sum(addend))
    }

    pub fn result_type(self) -> SqlType {
        match self {
            Self::Count => SqlType::BIGINT,
            Self::Sum(ty) | Self::Min(ty) | Self::Max(ty) | Self::First(ty) => ty,
        }
    }

    /// Whether the answer depends on the order of the rows, and a second argument (UINT64) gives their
    /// positions.
    pub fn takes_positions(self) -> bool {
        match self {
            Self::Count | Self::Sum(_) => false,
            Self::Min(ty) | Self::Max(ty) => !ignores_positions(&ty),
            Self::First(_) => true,
        }
    }

    /// The Arrow types of a state's columns, each with a name.
    pub fn state_types(self) -> Vec<(&'static str, DataType)> {
        let mut types = vec![("result", self.result_type().arrow_type())];
        if self.takes_positions() {
            types.push(("position", DataType::UInt64));
        }
        types
    }
}

/// The states of groups `0..n`. [`MergeableAggregate::update`] adds a group when it first sees its number.
#[derive(Debug)]
pub struct MergeableAggregate(MergeableState);

#[derive(Debug)]
enum MergeableState {
    Count(Counts),
    Sum(Sums),
    Extreme(Extremes),
}

impl MergeableAggregate {
    pub fn new(function: MergeableFunction) -> Self {
        Self(match function {
            MergeableFunction::Count => MergeableState::Count(Counts::default()),
            MergeableFunction::Sum(ty) => MergeableState::Sum(Sums::new(ty)),
            MergeableFunction::Min(ty) => MergeableState::Extreme(Extremes::new(ty, Choice::Least)),
            MergeableFunction::Max(ty) => MergeableState::Extreme(Extremes::new(ty, Choice::Greatest)),
            MergeableFunction::First(ty) => MergeableState::Extreme(Extremes::new(ty, Choice::First)),
        })
    }

    /// Sets the number of groups. New groups have no rows.
    pub fn resize(&mut self, groups: usize) {
        match &mut self.0 {
            MergeableState::Count(counts) => counts.resize(groups),
            MergeableState::Sum(sums) => sums.resize(groups),
            MergeableState::Extreme(extremes) => extremes.resize(groups),
        }
    }

    /// How many groups there are.
    pub fn group_count(&self) -> usize {
        match &self.0 {
            MergeableState::Count(counts) => counts.len(),
            MergeableState::Sum(sums) => sums.len(),
            MergeableState::Extreme(extremes) => extremes.len(),
        }
    }

    /// Adds rows, by the values of the arguments. Groups are below `group_count`, and each new group has a
    /// row.
    pub fn update(&mut self, args: &[ArrayRef], groups: RowGroups<'_>, group_count: usize) -> Result<()> {
        match (&mut self.0, args) {
            (MergeableState::Count(counts), args) => {
                counts.resize(group_count);
                counts.update(args, groups);
                Ok(())
            }
            (MergeableState::Sum(sums), [values, ..]) => sums.update(values, groups, group_count),
            (MergeableState::Extreme(extremes), args) => extremes.update(args, groups, group_count),
            (MergeableState::Sum(_), []) => Ok(()),
        }
    }

    /// Adds states: each row is one of [`MergeableAggregate::take_state`].
    pub fn merge(&mut self, states: &[ArrayRef], groups: RowGroups<'_>, group_count: usize) -> Result<()> {
        match (&mut self.0, states) {
            (MergeableState::Count(counts), [parts, ..]) => {
                counts.resize(group_count);
                counts.merge(parts, groups);
                Ok(())
            }
            _ => self.update(states, groups, group_count),
        }
    }

    /// Adds one row, by its value. NULL changes only ANY_VALUE.
    #[inline(always)]
    pub(super) fn add(&mut self, group: usize, value: Datum<'_>) -> Result<()> {
        match (&mut self.0, value) {
            (MergeableState::Sum(_) | MergeableState::Count(_), Datum::Null) => Ok(()),
            (MergeableState::Sum(sums), value) => sums.add(group, value),
            (MergeableState::Count(counts), _) => {
                counts.add(group);
                Ok(())
            }
            (MergeableState::Extreme(extremes), value) => extremes.add(group, value),
        }
    }

    /// Adds the rows of a group of `later`, which come after those here.
    pub(super) fn append(&mut self, later: &Self, group: usize) -> Result<()> {
        match (&mut self.0, &later.0) {
            (MergeableState::Count(counts), MergeableState::Count(later)) => {
                counts.add_many(group, later.get(group));
                Ok(())
            }
            (MergeableState::Sum(sums), MergeableState::Sum(later)) => sums.append(later, group),
            (MergeableState::Extreme(extremes), MergeableState::Extreme(later)) => {
                extremes.add(group, Datum::of(&later.get(group)?))
            }
            _ => Err(Error::internal("parts of different aggregates")),
        }
    }

    /// A group's result: 0 or NULL if it has no rows.
    pub(super) fn value(&self, group: usize) -> Result<Value> {
        match &self.0 {
            MergeableState::Count(counts) => Ok(Value::Int(counts.get(group))),
            MergeableState::Sum(sums) => Ok(sums.get(group)),
            MergeableState::Extreme(extremes) => extremes.get(group),
        }
    }

    /// Removes the first `groups` groups and gives their results, in the type of
    /// [`MergeableFunction::result_type`].
    pub fn take_result(&mut self, groups: usize) -> Result<ArrayRef> {
        match &mut self.0 {
            MergeableState::Count(counts) => Ok(counts.take(groups)),
            MergeableState::Sum(sums) => Ok(sums.take(groups)),
            MergeableState::Extreme(extremes) => extremes.take(groups),
        }
    }

    /// Removes the first `groups` groups and gives their states, in the types of
    /// [`MergeableFunction::state_types`].
    pub fn take_state(&mut self, groups: usize) -> Result<Vec<ArrayRef>> {
        match &mut self.0 {
            MergeableState::Extreme(extremes) => extremes.take_state(groups),
            _ => Ok(vec![self.take_result(groups)?]),
        }
    }

    /// The state of each row as a group of its own.
    pub fn rows_as_states(function: MergeableFunction, args: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        match (function, args) {
            (MergeableFunction::Count, [values, ..]) => Ok(vec![Counts::of_rows(values)]),
            (MergeableFunction::Sum(_), [values, ..]) => {
                let groups: Vec<usize> = (0..values.len()).collect();
                let mut each = Self::new(function);
                each.update(args, RowGroups::Each(&groups), groups.len())?;
                each.take_state(groups.len())
            }
            _ => Ok(args.to_vec()),
        }
    }

    /// Memory held, in bytes, roughly.
    pub fn size_bytes(&self) -> usize {
        match &self.0 {
            MergeableState::Count(counts) => counts.size_bytes(),
            MergeableState::Sum(sums) => sums.size_bytes(),
            MergeableState::Extreme(extremes) => extremes.size_bytes(),
        }
    }
}
