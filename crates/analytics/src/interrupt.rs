//! Ends the threads of a run of a query once its statement is killed, or the run has ended.
//!
//! A thread may look only after the session has begun its next statement, when the session has forgotten the KILL. So a
//! run has an interrupt of its own, which stays raised when the run has ended, whatever ended it: the last row, KILL, an
//! error of another thread, a LIMIT. Whatever the run's threads do asks that one ([`Run`]): evaluation, scans, waits.
//! DataFusion's operators ask nothing, and are aborted where their tasks yield. Joins make many rows of few without that,
//! so they are asked here ([`watched`], [`watched_condition`]).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{PhysicalExpr, PhysicalExprRef};
use datafusion_physical_plan::metrics::MetricsSet;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties,
    ReplaceChildrenOptions,
};
use functions::EvalContext;
use futures::{Stream, StreamExt};
use types::Error;

use crate::Source;
use crate::call::{Operation, call};
use crate::error::carry;
use crate::operators::Plan;

/// What the threads of a run work with. Once it is dropped they end, and what they have left so far is the statement's.
pub struct Run<'a> {
    statement: &'a EvalContext,
    pub eval: Arc<EvalContext>,
    pub source: Source,
}

impl<'a> Run<'a> {
    pub fn new(source: &Source, statement: &'a EvalContext) -> Self {
        let interrupt = kv::Interrupt::within(&source.interrupt);
        let raised = Arc::clone(&interrupt);
        let asked = Arc::clone(&statement.interrupted);
        Self {
            statement,
            eval: Arc::new(statement.for_thread(Arc::new(move || raised.is_raised() || asked()))),
            source: source.interruptible(interrupt),
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.source.interrupt.raise();
        self.statement.merge(&self.eval);
    }
}

/// Fails with 1317 once the run has to end.
#[derive(Clone)]
struct Watch(Arc<EvalContext>);

impl Watch {
    fn check(&self) -> Result<()> {
        self.0.check_interrupted().map_err(carry)
    }
}

/// A plan whose rows end with 1317 once the run has to end.
pub fn watched(input: Plan, eval: &Arc<EvalContext>) -> Plan {
    Arc::new(Watched {
        input,
        watch: Watch(Arc::clone(eval)),
    })
}

/// A condition that fails with 1317 once the run has to end: of the pairs that a join compares, none may satisfy it.
pub fn watched_condition(condition: PhysicalExprRef, eval: &Arc<EvalContext>) -> PhysicalExprRef {
    call(Watch(Arc::clone(eval)), vec![condition])
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("watched")
    }
}

impl Operation for Watch {
    fn data_type(&self) -> DataType {
        DataType::Boolean
    }

    fn apply(&self, mut arguments: Vec<ArrayRef>, _: usize) -> Result<ArrayRef> {
        self.check()?;
        let condition = arguments.pop();
        condition.ok_or_else(|| carry(Error::internal("no condition is watched")))
    }
}

struct Watched {
    input: Plan,
    watch: Watch,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Watched({:?})", self.input)
    }
}

impl DisplayAs for Watched {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

impl ExecutionPlan for Watched {
    fn name(&self) -> &'static str {
        "Watched"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Plan> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(self: Arc<Self>, mut children: Vec<Plan>, _: ReplaceChildrenOptions) -> Result<Plan> {
        let input = children.pop().unwrap_or_else(|| Arc::clone(&self.input));
        Ok(watched(input, &self.watch.0))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(Rows {
            input: self.input.execute(partition, context)?,
            watch: self.watch.clone(),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.input.metrics()
    }

    /// A join makes only the columns that are wanted of it.
    fn try_swapping_with_projection(&self, projection: &ProjectionExec) -> Result<Option<Plan>> {
        let below = self.input.try_swapping_with_projection(projection)?;
        Ok(below.map(|below| watched(below, &self.watch.0)))
    }
}

struct Rows {
    input: SendableRecordBatchStream,
    watch: Watch,
}

impl Stream for Rows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.watch.check() {
            Ok(()) => self.input.poll_next_unpin(context),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }
}

impl RecordBatchStream for Rows {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::Int64Array;
    use datafusion_physical_plan::execute_stream;
    use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
    use datafusion_physical_plan::streaming::{PartitionStream, StreamingTableExec};
    use functions::Expr;
    use functions::bind::{TypeEnv, call as bind};
    use planner::plan::{self, JoinKey, JoinKind, Rel};
    use types::{SqlType, errno};

    use super::*;
    use crate::columns::schema_of;
    use crate::error::to_mysql;
    use crate::join;
    use crate::operators::Translated;

    const ROWS: usize = 5_000;
    /// The query ends when it is asked for the so manieth time.
    const ENDED_AT: usize = 20;

    #[derive(Debug)]
    struct Ones(SchemaRef);

    impl PartitionStream for Ones {
        fn schema(&self) -> &SchemaRef {
            &self.0
        }

        fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
            let ones: ArrayRef = Arc::new(Int64Array::from(vec![1; ROWS]));
            let batch = RecordBatch::try_new(Arc::clone(&self.0), vec![ones]).unwrap();
            let rows = futures::stream::iter([Ok(batch)]);
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.0), rows))
        }
    }

    fn ones() -> Plan {
        let schema = schema_of([SqlType::BIGINT]);
        let partition = Arc::new(Ones(Arc::clone(&schema))) as Arc<dyn PartitionStream>;
        Arc::new(StreamingTableExec::try_new(schema, vec![partition], None, [], false, None).unwrap())
    }

    /// Runs a join of [`ROWS`] rows with as many. Returns its error, and how often it asked.
    fn run(keys: Vec<JoinKey>, residual: Option<Expr>) -> (Error, usize) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let eval = Arc::new(EvalContext {
            interrupted: Arc::new(move || counter.fetch_add(1, Ordering::Relaxed) + 1 >= ENDED_AT),
            ..EvalContext::default()
        });
        let join = plan::Join {
            kind: JoinKind::Inner,
            left: Box::new(Rel::OneRow),
            right: Box::new(Rel::OneRow),
            right_rows: 10,
            rows: 1.0,
            keys,
            residual,
        };
        let left = Translated {
            plan: ones(),
            positions: false,
            whole_groups: false,
        };
        let joined = join::joined(left, ones(), &join, Vec::new(), None, &eval).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ended = runtime.block_on(async {
            let mut rows = execute_stream(joined.plan, Arc::new(TaskContext::default())).unwrap();
            loop {
                match rows.next().await {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return to_mysql(error),
                    None => return Error::internal("all pairs were joined"),
                }
            }
        });
        (ended, asked.load(Ordering::Relaxed))
    }

    #[test]
    fn a_join_of_many_pairs_ends_with_its_run() {
        let column = |index| Expr::column(index, SqlType::BIGINT, false);
        let key = || JoinKey {
            left: column(0),
            right: column(0),
            null_safe: false,
        };
        let never = || bind("<", vec![column(0), column(1)], &TypeEnv::default()).unwrap();
        for (keys, residual) in [
            (vec![key()], None),
            (vec![key()], Some(never())),
            (Vec::new(), None),
            (Vec::new(), Some(never())),
        ] {
            let (error, asked) = run(keys, residual);
            assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED, "{error:?}");
            assert_eq!(asked, ENDED_AT);
        }
    }
}
