//! An operator that passes rows on unchanged and shows them to an observer.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::{Stream, StreamExt};

use crate::operators::Plan;

/// Makes the observers of an operator's partitions.
pub trait Observe: fmt::Debug + Send + Sync {
    /// The same for another input with this many partitions.
    fn over(&self, partitions: usize) -> Arc<dyn Observe>;

    /// The observer of one partition.
    fn partition(&self, context: &TaskContext) -> Box<dyn Observer>;
}

/// Observes the rows of one partition.
pub trait Observer: Send {
    fn see(&mut self, batch: &RecordBatch);

    /// Called after the last row. `complete`: no rows are missing because of an error.
    fn end(&mut self, complete: bool);
}

/// Passes rows on.
#[derive(Debug)]
pub struct Observed {
    input: Plan,
    by: Arc<dyn Observe>,
}

impl Observed {
    pub fn new(input: Plan, by: &dyn Observe) -> Self {
        let by = by.over(input.output_partitioning().partition_count());
        Self { input, by }
    }
}

impl DisplayAs for Observed {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Observed: {:?}", self.by)
    }
}

impl ExecutionPlan for Observed {
    fn name(&self) -> &'static str {
        "Observed"
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
        Ok(Arc::new(Self::new(input, &*self.by)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(Rows {
            observer: Some(self.by.partition(&context)),
            input: self.input.execute(partition, context)?,
        }))
    }
}

/// The rows of one partition.
struct Rows {
    input: SendableRecordBatchStream,
    /// `None` after the end.
    observer: Option<Box<dyn Observer>>,
}

impl Stream for Rows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.input.poll_next_unpin(context));
        match (&next, &mut self.observer) {
            (Some(Ok(batch)), Some(observer)) => observer.see(batch),
            (Some(Ok(_)), None) => {}
            (ended, _) => {
                let complete = ended.is_none();
                if let Some(mut observer) = self.observer.take() {
                    observer.end(complete);
                }
            }
        }
        Poll::Ready(next)
    }
}

impl RecordBatchStream for Rows {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
