//! Running a query: its operators, and the rows on their way to the sink.

use planner::plan::{Access, QueryPlan, Rel};
use types::Result;

use crate::batch::ALL_ROWS;
use crate::context::{ExecContext, RowSink};
use crate::direct::join::JoinSelect;
use crate::direct::range::RangeSelect;
use crate::env::Env;
use crate::memory::Memory;
use crate::operator::{scan, sort, tree};
use crate::row_budget::RowBudget;
use crate::source::ReadSource;

/// Runs a query and passes its rows to `sink` as they are made. A query that locks rows needs
/// [`ReadSource::Transaction`].
///
/// # Errors
/// Those of expressions and of the sink; 8175 beyond the memory limit; 1317 once interrupted; failures of
/// locks and of the store.
pub fn query(
    plan: &QueryPlan,
    source: ReadSource<'_>,
    ctx: &ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    run(plan, source, ctx, None, sink)
}

/// The same, given up where it exceeds the budget.
///
/// # Errors
/// As [`query`]; any where the budget is exceeded.
pub fn query_within(
    plan: &QueryPlan,
    source: ReadSource<'_>,
    ctx: &ExecContext<'_>,
    budget: &RowBudget,
    sink: &mut dyn RowSink,
) -> Result<()> {
    run(plan, source, ctx, Some(budget), sink)
}

fn run(
    plan: &QueryPlan,
    mut source: ReadSource<'_>,
    ctx: &ExecContext<'_>,
    budget: Option<&RowBudget>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    let memory = match &source {
        ReadSource::Transaction(txn) => Memory::in_transaction(ctx, txn),
        ReadSource::Snapshot(_) | ReadSource::View { .. } => Memory::new(ctx),
    };
    let mut env = Env {
        holds_least_after_sort: sort::holds_least_after_sort(&plan.root),
        budget,
        ..Env::new(ctx, &mut source, &memory)
    };
    if let Some(rows) = sink.packets() {
        if let Some(range) = RangeSelect::of(plan)
            && range.run(&mut env, rows)?
        {
            return Ok(());
        }
        if let Some(join) = JoinSelect::of(plan)? {
            return join.run(&env, rows);
        }
    }
    let mut root = tree::open(&plan.root, &mut env)?;
    while let Some(batch) = root.next(&mut env, ALL_ROWS)? {
        env.row_is_sent();
        sink.batch(&batch)?;
    }
    Ok(())
}

/// Whether a query reads the store in one call at most, so that [`kv::Store::latest`], which is consistent
/// within one call, serves as a snapshot.
pub fn reads_one_moment(plan: &QueryPlan) -> bool {
    if plan.locking.is_some() {
        return false;
    }
    let Rel::Scan(scan) = plan.root.source() else {
        return plan.root.scans().is_empty();
    };
    let Access::PrimaryPoints { keys } = &scan.access else {
        return false;
    };
    // Under a LIMIT, only as many keys are read at a time as rows are wanted.
    let is_limited = || plan.root.operators().any(|rel| matches!(rel, Rel::Limit { .. }));
    let one_call = keys.len() <= 1 || keys.len() <= scan::LOOKUP_ROWS && !is_limited();
    one_call && scan.as_of.is_none()
}
