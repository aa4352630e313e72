//! One run of a query: its memory, and the streams of its plans.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::execute_stream;
use functions::EvalContext;
use planner::plan::Rel;

use crate::Source;
use crate::budget::Budget;
use crate::error::carry;
use crate::limits::{BatchSize, Spilling};
use crate::memory::QueryMemory;
use crate::operators::{self, Plan};
use crate::{metrics, runtime, width};

/// How long a query may run after KILL before it notices, in addition to the work that its tasks do at a
/// time.
const CHECK_EVERY: Duration = Duration::from_millis(10);

/// The state that all plans of one run share: the query's own plan and those of its subqueries.
pub struct Running<'a> {
    pub source: &'a Source,
    pub eval: &'a Arc<EvalContext>,
    pub batches: BatchSize,
    pub spilling: Spilling,
    memory: QueryMemory,
    context: Arc<TaskContext>,
    /// The plans that have been started.
    started: RefCell<Vec<Plan>>,
}

impl<'a> Running<'a> {
    pub fn new(
        root: &Rel,
        source: &'a Source,
        eval: &'a Arc<EvalContext>,
        budget: Budget,
        spilling: Spilling,
    ) -> Result<Self> {
        let row_bytes = width::row_bytes(root, source).map_err(carry)?;
        let batches = BatchSize::of(row_bytes, budget.batch_bytes(spilling.partitions()));
        let memory = QueryMemory::new(budget);
        Ok(Self {
            context: runtime::context(
                &source.limits,
                batches.rows,
                spilling.partitions(),
                memory.clone(),
            )?,
            source,
            eval,
            batches,
            spilling,
            memory,
            started: RefCell::default(),
        })
    }

    pub fn start(&self, plan: Plan) -> Result<SendableRecordBatchStream> {
        self.memory.expect_sorts(operators::spilling_sorts(&plan)?);
        self.started.borrow_mut().push(Arc::clone(&plan));
        execute_stream(plan, self.context.clone())
    }

    /// Counts what the plans have done for the statement.
    pub fn count(&self) {
        for plan in self.started.borrow_mut().drain(..) {
            metrics::count(&plan, &self.eval.reads);
        }
    }

    /// The next batch. Every hundredth of a second it checks whether the statement has been interrupted, so that
    /// KILL does not wait for a long aggregate's first row. The clock has a thread of its own: the others may be
    /// in the middle of this query's tasks.
    pub async fn next_batch(&self, stream: &mut SendableRecordBatchStream) -> Result<Option<RecordBatch>> {
        use futures::StreamExt;
        loop {
            let next = {
                let _on_the_clock = runtime::clock().map_err(carry)?.enter();
                tokio::time::timeout(CHECK_EVERY, stream.next())
            };
            match next.await {
                Ok(batch) => return batch.transpose(),
                Err(_) => self.eval.check_interrupted().map_err(carry)?,
            }
        }
    }
}
