//! Which partitions of a table a scan reads.

use functions::{EvalContext, Expr};
use schema::model::Table;
use types::{Error, Result, Value};

use super::Range;
use super::range::evaluate;

/// What is known of the partitions when the plan is made. Values decide at run time.
#[derive(Debug, Clone, Default)]
pub struct ScanPartitions {
    /// Positions of the leaves that the statement names; `None`: it names none.
    pub named: Option<Vec<usize>>,
    /// Ranges of the columns that the partitions depend on, in the order of
    /// [`schema::partition::function::Level::columns`]; `None`: any value.
    pub top: Option<Vec<Range>>,
    /// The same for subpartitions.
    pub sub: Option<Vec<Range>>,
    /// Rows of all partitions come in the order of the access path.
    pub ordered: bool,
}

impl ScanPartitions {
    /// The positions of the leaves that can have rows. `row`: as in [`evaluate`].
    ///
    /// # Errors
    /// Those of the expressions.
    pub fn leaves(&self, table: &Table, row: &[Value], eval: &EvalContext) -> Result<Vec<usize>> {
        let Some(function) = table.partition_function()? else {
            return Err(Error::internal("partitions of a table that has none"));
        };
        let ranges = |ranges: &Option<Vec<Range>>| {
            let ranges = ranges.as_ref().map(|ranges| evaluate(ranges, row, eval));
            ranges.transpose()
        };
        let (top, sub) = (ranges(&self.top)?, ranges(&self.sub)?);
        let leaves = function.prune(top.as_deref(), sub.as_deref(), eval)?;
        let is_named = |leaf: &usize| self.named.as_ref().is_none_or(|named| named.contains(leaf));
        Ok(leaves.into_iter().filter(is_named).collect())
    }

    /// The physical ids of these leaves.
    ///
    /// # Errors
    /// As [`ScanPartitions::leaves`].
    pub fn ids(&self, table: &Table, row: &[Value], eval: &EvalContext) -> Result<Vec<i64>> {
        let leaves = self.leaves(table, row, eval)?;
        let ids = table
            .partition_function()?
            .map_or(&[][..], |function| &function.ids);
        Ok(leaves.iter().filter_map(|&leaf| ids.get(leaf).copied()).collect())
    }

    /// Calls `visit` with each expression.
    pub fn expressions(&self, visit: &mut dyn FnMut(&Expr)) {
        for range in self.top.iter().chain(&self.sub).flatten() {
            range.expressions(visit);
        }
    }

    /// The same, to be changed.
    pub fn expressions_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        for range in self.top.iter_mut().chain(&mut self.sub).flatten() {
            range.expressions_mut(visit);
        }
    }
}
