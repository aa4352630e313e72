//! Every aggregate function over one set of rows.

use arrow::array::ArrayRef;
use types::{Result, Value};

use super::{AggregateCall, GroupedAccumulator, RowGroups};
use crate::context::EvalContext;
use crate::datum::Datum;

/// The value of an aggregate over one set of rows.
#[derive(Debug)]
pub struct Accumulator(GroupedAccumulator);

impl Accumulator {
    pub fn new(call: &AggregateCall) -> Result<Self> {
        let mut only_group = GroupedAccumulator::new(call)?;
        only_group.resize(1);
        Ok(Self(only_group))
    }

    /// Adds `rows` rows. The number matters to `COUNT(*)`, which has no arguments.
    pub fn update(&mut self, args: &[ArrayRef], rows: usize, ctx: &EvalContext) -> Result<()> {
        self.0.update(args, RowGroups::One(rows), 1, ctx)
    }

    /// Adds one row, by the value of the call's argument; for `COUNT(*)`, by any value that is not NULL. Only
    /// for calls for which [`AggregateCall::takes_values`] is true.
    #[inline(always)]
    pub fn add(&mut self, value: Datum<'_>) -> Result<()> {
        self.0.add(0, value)
    }

    /// Adds the rows of `later`, which come after those here. Only for calls whose state is small
    /// ([`super::AggregateFunction::has_small_state`]), and without DISTINCT.
    pub fn append(&mut self, later: &Self) -> Result<()> {
        self.0.append(&later.0)
    }

    /// The value so far; see [`GroupedAccumulator::value`].
    pub fn evaluate(&self, ctx: &EvalContext) -> Result<Value> {
        self.0.value(0, ctx)
    }

    /// The value so far, as an array of one row in the call's type.
    pub fn evaluate_array(&self, ctx: &EvalContext) -> Result<ArrayRef> {
        self.0.evaluate(ctx)
    }

    /// Memory held, in bytes, roughly.
    pub fn size_bytes(&self) -> usize {
        self.0.size_bytes()
    }
}
