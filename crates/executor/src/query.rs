//! Running a query: its operators, and the rows on their way to the sink.

use planner::plan::{Access, QueryPlan, Rel};
use types::Result;

use crate::batch::ALL_ROWS;
use crate::context::{ExecContext, RowSink};
use crate::direct::range::RangeSelect;
use crate::env::Env;
use crate::memory::Memory;
use crate::operator::{self, scan};
use crate::source::ReadSource;

/// Runs a query and hands its rows to `sink` as they are made. A query that locks rows needs
/// [`ReadSource::Transaction`].
///
/// # Errors
/// What expressions fail with; 8175 beyond the memory limit; 1317 once interrupted; failures of locks and of the store;
/// what the sink fails with.
pub fn query(
    plan: &QueryPlan,
    mut source: ReadSource<'_>,
    ctx: &ExecContext<'_>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    let memory = match &source {
        ReadSource::Transaction(txn) => Memory::in_transaction(ctx, txn),
        ReadSource::Snapshot(_) | ReadSource::View { .. } => Memory::new(ctx),
    };
    let mut env = Env {
        ctx,
        source: &mut source,
        memory: &memory,
    };
    if let Some(rows) = sink.packets()
        && let Some(range) = RangeSelect::of(plan)
    {
        return range.run(&mut env, rows);
    }
    let mut root = operator::build(&plan.root, plan.locking, &mut env)?;
    while let Some(batch) = root.next(&mut env, ALL_ROWS)? {
        sink.batch(&batch)?;
    }
    Ok(())
}

/// Whether a query reads the store in one call at most, so that [`kv::Store::latest`], which is one moment per call, will
/// do in place of a snapshot.
pub fn reads_one_moment(plan: &QueryPlan) -> bool {
    if plan.locking.is_some() {
        return false;
    }
    let Rel::Scan(scan) = plan.root.source() else {
        return true;
    };
    let Access::PrimaryPoints { keys } = &scan.access else {
        return false;
    };
    // A LIMIT reads as few keys at a time as it has use for.
    let is_limited = || plan.root.operators().any(|rel| matches!(rel, Rel::Limit { .. }));
    let one_call = keys.len() <= 1 || keys.len() <= scan::LOOKUP_ROWS && !is_limited();
    one_call && scan.as_of.is_none()
}
