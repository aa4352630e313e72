//! Ends the tasks of a query once its statement is killed or its run has ended. They check it where rows are read, and
//! here: a join makes many rows of few, and its tasks do not yield meanwhile, so that aborting them has no effect.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Weak};
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
use types::{Error, errno};

use crate::call::{Operation, call};
use crate::error::carry;
use crate::operators::Plan;

/// Sees when the tasks of a run have to end.
#[derive(Clone)]
pub struct Watch {
    pub eval: Arc<EvalContext>,
    /// The run. A task may look only after the session has begun its next statement, when KILL is forgotten.
    run: Weak<()>,
}

impl Watch {
    pub fn new(eval: &Arc<EvalContext>, run: &Arc<()>) -> Self {
        Self {
            eval: Arc::clone(eval),
            run: Arc::downgrade(run),
        }
    }

    /// Fails with 1317 once the statement is killed or the run has ended.
    fn check(&self) -> Result<()> {
        if self.run.strong_count() == 0 {
            let message = "Query execution was interrupted";
            return Err(carry(Error::new(errno::ER_QUERY_INTERRUPTED, message)));
        }
        self.eval.check_interrupted().map_err(carry)
    }
}

/// A plan whose rows end with 1317 once [`Watch`] says so.
pub fn watched(input: Plan, watch: &Watch) -> Plan {
    Arc::new(Watched {
        input,
        watch: watch.clone(),
    })
}

/// A condition that fails with 1317 once [`Watch`] says so: of the pairs that a join compares, none may satisfy it.
pub fn watched_condition(condition: PhysicalExprRef, watch: &Watch) -> PhysicalExprRef {
    call(watch.clone(), vec![condition])
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
        Ok(watched(input, &self.watch))
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
        Ok(below.map(|below| watched(below, &self.watch)))
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
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::array::Int64Array;
    use datafusion_physical_plan::execute_stream;
    use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
    use datafusion_physical_plan::streaming::{PartitionStream, StreamingTableExec};
    use functions::Expr;
    use functions::bind::{TypeEnv, call as bind};
    use planner::plan::{self, JoinKey, JoinKind, Rel};
    use types::SqlType;

    use super::*;
    use crate::columns::schema_of;
    use crate::error::to_mysql;
    use crate::join;
    use crate::operators::Translated;

    const ROWS: usize = 5_000;
    /// The query ends when it is asked for the so manieth time.
    const ENDED_AT: usize = 20;

    /// What ends a query.
    #[derive(Clone, Copy)]
    enum End {
        Kill,
        /// A LIMIT, an error of another task, or KILL that this one has not seen.
        Run,
    }

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
    fn run(keys: Vec<JoinKey>, residual: Option<Expr>, end: End) -> (Error, usize) {
        let run = Arc::new(());
        let held = Mutex::new(Some(Arc::clone(&run)));
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let eval = Arc::new(EvalContext {
            interrupted: Arc::new(move || {
                let is_time = counter.fetch_add(1, Ordering::Relaxed) + 1 >= ENDED_AT;
                if is_time && matches!(end, End::Run) {
                    held.lock().unwrap().take();
                }
                is_time && matches!(end, End::Kill)
            }),
            ..EvalContext::default()
        });
        let watch = Watch::new(&eval, &run);
        drop(run);
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
        let joined = join::joined(left, ones(), &join, Vec::new(), None, &watch).unwrap();
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
    fn a_join_of_many_pairs_ends_with_its_statement_or_run() {
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
            for end in [End::Kill, End::Run] {
                let (error, asked) = run(keys.clone(), residual.clone(), end);
                assert_eq!(error.code, errno::ER_QUERY_INTERRUPTED, "{error:?}");
                assert_eq!(asked, ENDED_AT);
            }
        }
    }
}
