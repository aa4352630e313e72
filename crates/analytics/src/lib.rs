//! Plans that touch many rows: parallel, spilling and memory-limited, on DataFusion's physical operators.
//!
//! DataFusion is the engine, not the front end. `planner` has bound every name and type. [`translate`] turns
//! its operators into DataFusion's ([`operators`]), with our expressions in them ([`expression`]), so that
//! `functions` decides every value, every aggregate and every order in both executors. [`scan`] reads key
//! ranges in parallel, straight into Arrow. [`pipeline`] runs `executor`'s operators on each thread, where rows are looked
//! up one by one.
//!
//! Not here: transactions. A query that must see its own uncommitted writes, or that locks, runs in
//! `executor`. To follow a query, start in [`query`].

mod accumulators;
mod aggregate;
mod budget;
mod call;
mod columns;
mod error;
mod expression;
mod finite;
mod grouping_key;
mod interrupt;
mod join;
#[cfg(test)]
mod join_shapes;
mod limits;
mod memory;
mod metrics;
mod operators;
mod pipeline;
mod pushed;
mod running;
mod runtime;
mod scan;
mod scan_filter;
#[cfg(test)]
mod shapes;
mod subqueries;
mod subquery_values;
mod translate;
mod tuple;
mod width;

use std::sync::Arc;

use ::memory::Refused;
use arrow::record_batch::RecordBatch;
use executor::{PipelineResources, RowSink};
use functions::EvalContext;
use planner::plan::{QueryPlan, Rel};
use types::Result;

pub use limits::Limits;
use limits::Spilling;

use crate::budget::Budget;
use crate::interrupt::Run;
use crate::running::Running;

/// What a query reads, and its limits.
pub struct Source {
    pub snapshot: kv::Snapshot,
    pub limits: Limits,
    /// For the parts of the plan that run row by row.
    pub pipelines: PipelineResources,
    /// The statement's. It ends the wait for memory, and the query.
    pub interrupt: Arc<kv::Interrupt>,
}

impl Source {
    /// The same with another interrupt, for all that threads read.
    fn interruptible(&self, interrupt: Arc<kv::Interrupt>) -> Self {
        Self {
            snapshot: self.snapshot.clone().interruptible(Arc::clone(&interrupt)),
            limits: self.limits.clone(),
            pipelines: PipelineResources {
                interrupt: Arc::clone(&interrupt),
                ..self.pipelines.clone()
            },
            interrupt,
        }
    }
}

/// Whether the plan can run here.
pub fn supports(plan: &QueryPlan) -> bool {
    plan.locking.is_none() && plan.root.runs_in_parallel()
}

/// Whether a query joins rows so wide that the smallest batches of pairs would be too large. DataFusion's joins
/// repeat a row as often as it has partners, within one batch.
///
/// # Errors
/// Those of the store.
pub fn joins_wide_rows(plan: &QueryPlan, source: &Source) -> Result<bool> {
    let mut joins = false;
    plan.root.walk(&mut |rel| joins |= matches!(rel, Rel::Join(_)));
    Ok(joins && width::row_bytes(&plan.root, source)? > limits::ROW_BYTES_MAX)
}

/// Runs a query and passes its rows to `sink` as they come. Joins hold one side in memory, and sorts with a limit as
/// many rows; if they are too large, and no row has been passed on yet, the query starts again with sorts of all rows
/// and joins that spill: those of large sides at first, and if need be all of them, at last in one partition.
///
/// `false`: it has passed no row on and has to run in `executor`, which can wait for memory, and spills what cannot
/// spill here. A pipeline cannot wait: other statements may be waiting for memory that this query holds.
pub fn query(
    plan: &QueryPlan,
    source: &Source,
    eval: &Arc<EvalContext>,
    sink: &mut dyn RowSink,
) -> Result<bool> {
    let mut sink = Passed { sink, any: false };
    let warned = eval.warnings.count();
    let mut result = run(plan, source, eval, Spilling::Nothing, &mut sink);
    let is_short =
        |result: &datafusion_common::Result<()>| result.as_ref().is_err_and(error::is_short_of_memory);
    let methods: &[Spilling] = match (joins_by_keys(&plan.root), sorts_with_limit(&plan.root)) {
        (true, _) => &[Spilling::Large, Spilling::All, Spilling::AllInOne],
        (false, true) => &[Spilling::Large, Spilling::AllInOne],
        (false, false) => &[Spilling::AllInOne],
    };
    for spilling in methods {
        if is_short(&result) && !sink.any {
            drop(eval.warnings.take_back(warned));
            result = run(plan, source, eval, *spilling, &mut sink);
        }
    }
    if is_short(&result) && !sink.any {
        drop(eval.warnings.take_back(warned));
        return Ok(false);
    }
    if is_short(&result) {
        source.limits.memory.count_refusal();
    }
    result.map(|()| true).map_err(error::to_mysql)
}

fn run(
    plan: &QueryPlan,
    source: &Source,
    eval: &Arc<EvalContext>,
    spilling: Spilling,
    sink: &mut dyn RowSink,
) -> datafusion_common::Result<()> {
    let runtime = runtime::runtime().map_err(error::carry)?;
    // It waits on this thread: the runtime's threads are for queries that have their memory.
    let budget = Budget::admit(&source.limits, &source.interrupt).map_err(|refused| {
        if refused == Refused::InUse {
            source.limits.memory.count_refusal();
        }
        error::carry(executor::refused(refused))
    })?;
    let run = Run::new(source, eval);
    runtime.block_on(async {
        let running = Running::new(&plan.root, &run.source, &run.eval, budget, spilling)?;
        let result = subqueries::run_query(plan, &running, sink).await;
        running.count();
        result
    })
}

fn joins_by_keys(root: &Rel) -> bool {
    let mut found = false;
    root.walk(&mut |rel| found |= matches!(rel, Rel::Join(join) if !join.keys.is_empty()));
    found
}

fn sorts_with_limit(root: &Rel) -> bool {
    let mut found = false;
    root.walk(&mut |rel| found |= matches!(rel, Rel::Sort { limit: Some(_), .. }));
    found
}

/// Remembers whether any rows have been passed on.
struct Passed<'a> {
    sink: &'a mut dyn RowSink,
    any: bool,
}

impl RowSink for Passed<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.any = true;
        self.sink.batch(batch)
    }
}
