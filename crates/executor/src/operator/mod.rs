//! The operators of a query, one per file. [`tree`] makes those of a plan. [`join`] has all that pairs rows of
//! two inputs, subqueries included ([`apply`]); [`common_table`] has the rows that several operators use,
//! [`scope`] what a part of a plan shares with the plan around it.
//!
//! Rows are pulled: an operator calls [`Operator::next`] of its input and says how many rows it can use, so
//! that `LIMIT 1` reads one row, and a whole table is read in batches of a thousand. Not here: how
//! expressions are computed (`functions`).

mod aggregate;
mod apply;
mod common_table;
mod computed;
mod distinct;
mod filter;
pub(crate) mod given;
pub(crate) mod join;
mod json_table;
pub(crate) mod limit;
mod measured;
mod merge;
mod one_row;
mod part;
mod project;
mod pushed;
mod recursive;
mod repeat;
mod rounds;
pub(crate) mod row_query;
pub(crate) mod scan;
mod scope;
mod set_operation;
pub(crate) mod sort;
pub(crate) mod tree;
mod values;
mod virtual_scan;
mod window;

use arrow::record_batch::RecordBatch;
use types::Result;

use crate::env::Env;

/// Returns the rows of a part of a query, batch by batch.
pub(crate) trait Operator {
    /// The next rows: at least one, at most `wanted` (which is at least one), and about a batch at most.
    /// `wanted` is how many rows the statement can still use in all, so that a locking scan knows how many to
    /// lock. `None` once there are no more; it is not called again after that.
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>>;
}

pub(crate) type BoxOperator<'p> = Box<dyn Operator + 'p>;
