//! Parts of a plan that run row by row: lookup joins, and subqueries that take values of each row. Each thread runs
//! `executor`'s operators over its part of the rows ([`executor::Pipeline`]).
//!
//! The rows of an input that reads a large table are spread over threads already. Others (the few rows of a small
//! table, which lookups make many) are dealt to the threads in slices as soon as there are some ([`deal`]).

mod deal;

use std::fmt;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion_physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion_physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion_physical_plan::stream::RecordBatchReceiverStream;
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions,
};
use executor::{Pipeline, PipelineResources};
use functions::EvalContext;
use futures::StreamExt;
use futures::future::{Either, select};
use planner::plan::Rel;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use types::{Error, errno};

use self::deal::Dealer;
use crate::Source;
use crate::columns::schema_of;
use crate::error::{carry, to_mysql};
use crate::operators::{Plan, Translated};

/// A table with more rows is read by all threads.
const SPREAD_ROWS: f64 = 10_000.0;
/// If an input has fewer rows, they stay on the thread that makes them.
const DEALT_ROWS: f64 = 8.0;
/// Batches that a pipeline has made and that are not yet consumed.
const BATCHES_AHEAD: usize = 2;

/// Where a pipeline begins.
pub struct Cut<'r> {
    pub input: &'r Rel,
    /// How many threads the input's rows are dealt to; `None`: they are where they are to be.
    dealt: Option<usize>,
}

/// The pipeline whose last operator is `rel`, if that is one with a lookup or a subquery in it.
pub fn cut(rel: &Rel, partitions: usize) -> Option<Cut<'_>> {
    match rel {
        Rel::Measured { .. } => None,
        _ => below(rel, partitions).map(|(cut, _)| cut),
    }
}

/// The same, and whether its rows are spread over threads.
fn below(rel: &Rel, partitions: usize) -> Option<(Cut<'_>, bool)> {
    if !rel.is_pipelined() {
        return None;
    }
    let input = match rel {
        Rel::LookupJoin(join) => &*join.left,
        Rel::Apply(apply) => &*apply.input,
        _ => return below(rel.input()?, partitions),
    };
    let (further, is_spread) = match below(input, partitions) {
        Some((cut, is_spread)) => (Some(cut), is_spread),
        None => (None, is_spread(input)),
    };
    let is_worth_it = partitions > 1 && !is_spread && rows(input) >= DEALT_ROWS;
    match further {
        Some(cut) if !is_worth_it => Some((cut, is_spread)),
        _ => {
            let dealt = is_worth_it.then_some(partitions);
            Some((Cut { input, dealt }, is_spread || is_worth_it))
        }
    }
}

/// Whether all threads get a share of the rows.
fn is_spread(rel: &Rel) -> bool {
    match rel {
        Rel::Scan(scan) => scan.expected.read >= SPREAD_ROWS,
        Rel::Aggregate { keys, .. } => !keys.is_empty(),
        Rel::Distinct { .. } => true,
        Rel::Filter { input, .. } | Rel::Project { input, .. } | Rel::Measured { input, .. } => {
            is_spread(input)
        }
        Rel::Join(join) => is_spread(&join.left),
        Rel::LookupJoin(join) => is_spread(&join.left),
        Rel::Apply(apply) => is_spread(&apply.input),
        Rel::SetOperation { left, right, .. } => is_spread(left) || is_spread(right),
        _ => false,
    }
}

/// About how many rows come.
fn rows(rel: &Rel) -> f64 {
    match rel {
        Rel::Scan(scan) => scan.expected.rows,
        Rel::Join(join) => join.rows,
        Rel::LookupJoin(join) => join.rows,
        Rel::Apply(apply) => rows(&apply.input),
        Rel::SetOperation { left, right, .. } => rows(left) + rows(right),
        Rel::Aggregate { keys, .. } if keys.is_empty() => 1.0,
        rel => rel.input().map_or(SPREAD_ROWS, rows),
    }
}

/// The pipeline from `top` down over its translated input.
pub fn over(
    top: &Rel,
    cut: Cut<'_>,
    input: Translated,
    source: &Source,
    eval: &Arc<EvalContext>,
) -> Result<Translated> {
    let positions = input.positions;
    let pipeline = Pipeline::new(top, cut.input, positions).map_err(carry)?;
    let mut types = pipeline.output_types();
    if let Some(position) = pipeline.position() {
        let ty = types.remove(position);
        types.push(ty);
    }
    let work = Work {
        pipeline,
        snapshot: source.snapshot.clone(),
        resources: source.pipelines.clone(),
        eval: Arc::clone(eval),
        schema: schema_of(types),
    };
    Ok(Translated {
        plan: Arc::new(PipelineExec::new(Arc::new(work), input.plan, cut.dealt)),
        positions,
        whole_groups: false,
    })
}

/// What the threads of a pipeline share.
struct Work {
    pipeline: Pipeline,
    snapshot: kv::Snapshot,
    resources: PipelineResources,
    eval: Arc<EvalContext>,
    schema: SchemaRef,
}

impl Work {
    /// Runs the pipeline on this thread, until the receiver of `made`, to which `sink` sends, is dropped.
    fn run(
        &self,
        made: &Sender<Result<RecordBatch>>,
        next: &mut dyn FnMut() -> Result<Option<RecordBatch>>,
        sink: &mut dyn FnMut(RecordBatch) -> ControlFlow<()>,
    ) -> types::Result<()> {
        let interrupted = Arc::clone(&self.eval.interrupted);
        let rows = made.clone();
        let eval = self
            .eval
            .for_thread(Arc::new(move || rows.is_closed() || interrupted()));
        let _works_for = functions::work_for(&eval.interrupted);
        let result = self.pipeline.run(
            &self.resources,
            (&self.snapshot, &eval),
            &mut || next().map_err(to_mysql),
            &mut |batch| {
                // Before the rows: a LIMIT may end the statement with them.
                self.eval.merge(&eval);
                Ok(sink(self.output(batch)?))
            },
        );
        // The warnings of rows that are not taken are not the statement's.
        if !made.is_closed() {
            self.eval.merge(&eval);
        }
        result
    }

    /// The pipeline's rows with the position as the last column.
    fn output(&self, batch: RecordBatch) -> types::Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns = batch.columns().to_vec();
        if let Some(position) = self.pipeline.position() {
            let column = columns.remove(position);
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(Error::internal)
    }
}

struct PipelineExec {
    work: Arc<Work>,
    input: Plan,
    dealt: Option<(usize, Arc<Dealer>)>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PipelineExec {
    fn new(work: Arc<Work>, input: Plan, dealt: Option<usize>) -> Self {
        let partitions = dealt.unwrap_or_else(|| input.output_partitioning().partition_count());
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&work.schema)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            dealt: dealt.map(|threads| (threads, Arc::new(Dealer::new(Arc::clone(&input), threads)))),
            work,
            input,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl fmt::Debug for PipelineExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PipelineExec({:?})", self.input)
    }
}

impl DisplayAs for PipelineExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dealt {
            Some((threads, _)) => write!(f, "PipelineExec: rows dealt to {threads}"),
            None => f.write_str("PipelineExec"),
        }
    }
}

impl ExecutionPlan for PipelineExec {
    fn name(&self) -> &'static str {
        "PipelineExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
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
        let threads = self.dealt.as_ref().map(|(threads, _)| *threads);
        Ok(Arc::new(Self::new(Arc::clone(&self.work), input, threads)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    /// Its operators call each other and wait for the store, so they have a thread of their own: not one of those
    /// that take turns.
    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut input = match &self.dealt {
            Some((_, dealer)) => Input::Dealt(Arc::clone(dealer), Arc::clone(&context)),
            None => Input::Own(self.input.execute(partition, context)?),
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut rows = RecordBatchReceiverStream::builder(Arc::clone(&self.work.schema), BATCHES_AHEAD);
        let (made, work) = (rows.tx(), Arc::clone(&self.work));
        rows.spawn_blocking(move || {
            let handle = Handle::current();
            // The wait for rows ends, too, once the receiver is dropped: the statement has ended by a LIMIT, by an error of
            // another thread or by KILL.
            let mut next = || {
                let ended = pin!(made.closed());
                let row = pin!(input.next());
                match handle.block_on(select(ended, row)) {
                    Either::Left(_) => Ok(None),
                    Either::Right((row, _)) => row,
                }
            };
            let ran = work.run(&made, &mut next, &mut |batch| {
                metrics.record_output(batch.num_rows());
                match made.blocking_send(Ok(batch)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            metrics.done();
            ran.map_err(failure)
        });
        Ok(rows.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// A pipeline that gets no memory fails as DataFusion's operators do: the query is tried again with one partition, where
/// one thread needs memory, and not each.
fn failure(error: Error) -> DataFusionError {
    match error.code {
        errno::ER_MEMORY_EXCEEDED => DataFusionError::ResourcesExhausted(error.message.to_string()),
        _ => carry(error),
    }
}

/// The rows of one thread.
enum Input {
    Own(SendableRecordBatchStream),
    Dealt(Arc<Dealer>, Arc<TaskContext>),
}

impl Input {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            Self::Own(rows) => rows.next().await.transpose(),
            Self::Dealt(dealer, context) => dealer.next(context).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use functions::Expr;
    use planner::plan::{self, Apply, ApplyKind, Join, JoinKind, Measure, OuterColumn};
    use types::SqlType;

    use super::*;

    fn column(index: usize) -> Expr {
        Expr::column(index, SqlType::BIGINT, true)
    }

    /// A subquery for each row of an input.
    fn for_rows(input: Rel) -> Rel {
        Rel::Apply(Apply {
            kind: ApplyKind::Exists,
            input: Box::new(input),
            subquery: Box::new(Rel::OneRow),
            outer: vec![OuterColumn { slot: 0, position: 0 }],
        })
    }

    fn joined(left: Rel, rows: f64) -> Rel {
        Rel::Join(Join {
            kind: JoinKind::Inner,
            left: Box::new(left),
            right: Box::new(Rel::OneRow),
            right_rows: 1,
            rows,
            keys: Vec::new(),
            residual: None,
        })
    }

    fn grouped(input: Rel) -> Rel {
        Rel::Aggregate {
            input: Box::new(input),
            keys: vec![column(0)],
            aggregates: Vec::new(),
        }
    }

    fn shown(input: Rel) -> Rel {
        Rel::Project {
            input: Box::new(input),
            exprs: vec![column(0)],
        }
    }

    fn is_join(rel: &Rel) -> bool {
        matches!(rel, Rel::Join(_))
    }

    #[test]
    fn rows_are_dealt_where_there_are_enough_and_not_spread() {
        for (input, partitions, dealt) in [
            (joined(Rel::OneRow, 3.0), 2, None),
            (joined(Rel::OneRow, 100.0), 2, Some(2)),
            (joined(Rel::OneRow, 100.0), 1, None),
            (joined(grouped(Rel::OneRow), 100.0), 2, None),
        ] {
            let top = for_rows(input);
            let cut = cut(&top, partitions).unwrap();
            assert!(is_join(cut.input));
            assert_eq!(cut.dealt, dealt, "{top:?}");
        }
    }

    #[test]
    fn a_pipeline_is_as_long_as_it_can_be() {
        let measured = |input| Rel::Measured {
            input: Box::new(input),
            measure: Measure::default(),
        };
        let lower = measured(shown(for_rows(joined(Rel::OneRow, 100.0))));
        let top = shown(for_rows(lower));
        let whole = cut(&top, 2).unwrap();
        assert!(is_join(whole.input) && whole.dealt == Some(2));
        // A projection alone is none, nor is what is above an operator that gathers rows.
        assert!(cut(&shown(joined(Rel::OneRow, 100.0)), 2).is_none());
        assert!(cut(&grouped(top), 2).is_none());
    }

    #[test]
    fn a_subquery_that_runs_once_is_no_part_of_a_pipeline() {
        let once = Rel::Apply(plan::Apply {
            kind: ApplyKind::Scalar,
            input: Box::new(joined(Rel::OneRow, 100.0)),
            subquery: Box::new(Rel::OneRow),
            outer: Vec::new(),
        });
        assert!(cut(&once, 2).is_none());
        let top = for_rows(once);
        assert!(matches!(cut(&top, 2).unwrap().input, Rel::Apply(_)));
    }
}
