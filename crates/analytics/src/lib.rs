//! Plans that touch many rows: parallel, spilling and memory-limited, on DataFusion's physical operators.
//!
//! DataFusion is the engine, not the front end. `planner` has bound every name and type. [`translate`] turns
//! its operators into DataFusion's ([`operators`]), with our expressions in them ([`expression`]), so that
//! `functions` decides every value, every aggregate and every order in both executors. [`scan`] reads key
//! ranges in parallel, straight into Arrow.
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
mod limits;
mod memory;
mod operators;
mod runtime;
mod scan;
#[cfg(test)]
mod shapes;
mod translate;
mod tuple;
mod width;

use std::sync::Arc;
use std::time::Duration;

use ::memory::Refused;
use arrow::record_batch::RecordBatch;
use datafusion_execution::SendableRecordBatchStream;
use datafusion_physical_plan::execute_stream;
use executor::RowSink;
use functions::EvalContext;
use planner::plan::{Access, QueryPlan, Rel};
use types::Result;

pub use limits::Limits;

use crate::budget::Budget;
use crate::limits::BatchSize;
use crate::memory::QueryMemory;

/// What a query reads, and its limits.
pub struct Source {
    pub snapshot: kv::Snapshot,
    pub limits: Limits,
    /// Ends the wait for memory.
    pub interrupt: Arc<kv::Interrupt>,
}

/// Whether every operator of the plan can run here.
pub fn supports(plan: &QueryPlan) -> bool {
    plan.locking.is_none()
        && plan.root.operators().all(|rel| match rel {
            Rel::OneRow
            | Rel::Virtual(_)
            | Rel::Repeat { .. }
            | Rel::Values { .. }
            | Rel::Join(_)
            | Rel::LookupJoin(_)
            | Rel::Apply(_)
            | Rel::Window { .. }
            | Rel::SetOperation { .. }
            | Rel::With { .. }
            | Rel::Recursive { .. }
            | Rel::CommonTable { .. } => false,
            Rel::Scan(scan) => scan.as_of.is_none() && matches!(scan.access, Access::Full { .. }),
            // Other functions cannot be merged and run in `executor`.
            Rel::Aggregate { aggregates, .. } => {
                aggregates.iter().all(|call| aggregate::supports(call.function))
            }
            Rel::Filter { .. }
            | Rel::Project { .. }
            | Rel::Sort { .. }
            | Rel::Limit { .. }
            | Rel::Distinct { .. } => true,
        })
}

/// Runs a query and passes its rows to `sink` as they come.
pub fn query(
    plan: &QueryPlan,
    source: &Source,
    eval: &Arc<EvalContext>,
    sink: &mut dyn RowSink,
) -> Result<()> {
    let runtime = runtime::runtime()?;
    // It waits on this thread: the runtime's threads are for queries that have their memory.
    let memory = source.limits.memory;
    let budget = Budget::admit(&source.limits, &source.interrupt).map_err(|refused| {
        if refused == Refused::InUse {
            memory.count_refusal();
        }
        executor::refused(refused)
    })?;
    let batch_bytes = budget.batch_bytes();
    let result = runtime.block_on(async {
        let row_bytes = width::row_bytes(&plan.root, source).map_err(error::carry)?;
        let batches = BatchSize::of(row_bytes, batch_bytes);
        let translated = translate::translate(&plan.root, source, eval, batches)?;
        let sorts = operators::spilling_sorts(&translated)?;
        let memory = QueryMemory::new(budget, sorts);
        let context = runtime::context(&source.limits, batches.rows, memory)?;
        let mut stream = execute_stream(translated, context)?;
        while let Some(batch) = next_batch(&mut stream, eval).await? {
            sink.batch(&to_output(batch, plan)?).map_err(error::carry)?;
        }
        Ok(())
    });
    result.map_err(|error| {
        if error::is_short_of_memory(&error) {
            memory.count_refusal();
        }
        error::to_mysql(error)
    })
}

/// The next batch. Every tenth of a second it checks whether the statement has been interrupted, so that KILL
/// does not wait for a long aggregate's first row.
async fn next_batch(
    stream: &mut SendableRecordBatchStream,
    eval: &EvalContext,
) -> datafusion_common::Result<Option<RecordBatch>> {
    use futures::StreamExt;
    loop {
        match tokio::time::timeout(Duration::from_millis(100), stream.next()).await {
            Ok(batch) => return batch.transpose(),
            Err(_) => eval.check_interrupted().map_err(error::carry)?,
        }
    }
}

/// The columns of the result, without hidden ones. Their types are those of the plan's operators: a DECIMAL
/// of the result may be text here.
fn to_output(batch: RecordBatch, plan: &QueryPlan) -> datafusion_common::Result<RecordBatch> {
    let shown: Vec<usize> = (0..plan.columns.len()).collect();
    Ok(batch.project(&shown)?)
}
