//! What operators use while they run: the statement's context, the store, and the memory account.

use functions::EvalContext;
use planner::plan::{Locking, TableScan};
use types::{Error, Result, errno};

use crate::context::ExecContext;
use crate::memory::Memory;
use crate::row_budget::RowBudget;
use crate::source::ReadSource;

/// Passed to every operator with each request for rows, so that operators borrow only the plan.
pub(crate) struct Env<'e, 's> {
    pub ctx: &'e ExecContext<'e>,
    pub source: &'e mut ReadSource<'s>,
    pub memory: &'e Memory<'e>,
    /// How scans lock that have no locking clause of their own: those of INSERT ... SELECT.
    pub implied_locking: Option<Locking>,
    /// A write of an optimistic transaction: only clauses lock.
    pub is_optimistic: bool,
    /// Whether a sort that has read its input may return the memory that the statement does not use.
    pub holds_least_after_sort: bool,
    /// What the rows that are read count against.
    pub budget: Option<&'e RowBudget>,
}

impl<'e, 's> Env<'e, 's> {
    /// Scans lock as their clauses say, and nothing ends or limits the rows.
    pub fn new(ctx: &'e ExecContext<'e>, source: &'e mut ReadSource<'s>, memory: &'e Memory<'e>) -> Self {
        Self {
            ctx,
            source,
            memory,
            implied_locking: None,
            is_optimistic: false,
            holds_least_after_sort: false,
            budget: None,
        }
    }

    pub fn eval(&self) -> &'e EvalContext {
        self.ctx.eval
    }

    /// The first row is about to be sent to the client. From now on the query cannot move to the other
    /// executor.
    pub fn row_is_sent(&mut self) {
        self.budget.take().iter().for_each(|budget| budget.row_is_sent());
    }

    /// How a scan locks the rows that it reads.
    pub fn locking_of(&self, scan: &TableScan) -> Option<Locking> {
        scan.locking
            .or(self.implied_locking)
            .filter(|locking| !(locking.of_write && self.is_optimistic))
    }

    /// Fails with 1317 if the statement has been killed, or with the error that ended it; and if it has
    /// looked at more rows than its budget allows.
    pub fn check_interrupted(&self) -> Result<()> {
        check_interrupted(self.ctx)?;
        self.budget.map_or(Ok(()), |budget| budget.check(self.ctx.eval))
    }
}

/// Called once per batch of rows, so that KILL takes effect soon and the check costs nothing. Where a batch takes long,
/// because its expressions do, their evaluation looks itself.
pub(crate) fn check_interrupted(ctx: &ExecContext<'_>) -> Result<()> {
    if ctx.interrupt.is_raised() {
        return Err(Error::new(
            errno::ER_QUERY_INTERRUPTED,
            "Query execution was interrupted",
        ));
    }
    ctx.eval.check_interrupted()
}
