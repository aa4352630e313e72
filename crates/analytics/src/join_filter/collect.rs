//! An operator that passes rows on and collects their keys.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type, SchemaRef, UInt64Type};
use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::{Stream, StreamExt};

use super::keys::{KEYS_MAX, PendingKeys};
use crate::operators::Plan;

/// A column of keys, and the set that is made of them.
#[derive(Debug, Clone)]
pub struct KeyColumn {
    pub column: usize,
    pub keys: Arc<PendingKeys>,
}

/// Passes rows on. When all partitions have ended, the sets of keys are complete.
#[derive(Debug)]
pub struct CollectKeys {
    input: Plan,
    columns: Arc<[KeyColumn]>,
    collected: Arc<Mutex<Collected>>,
}

/// What the partitions have collected.
#[derive(Debug)]
struct Collected {
    /// Partitions that have not ended.
    open: usize,
    /// For each column. `None`: there are too many.
    keys: Option<Vec<Vec<i64>>>,
}

impl CollectKeys {
    /// `columns`: of 64-bit integers.
    pub fn new(input: Plan, columns: Arc<[KeyColumn]>) -> Self {
        let collected = Collected {
            open: input.output_partitioning().partition_count(),
            keys: Some(vec![Vec::new(); columns.len()]),
        };
        Self {
            input,
            columns,
            collected: Arc::new(Mutex::new(collected)),
        }
    }
}

impl DisplayAs for CollectKeys {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<usize> = self.columns.iter().map(|column| column.column).collect();
        write!(f, "CollectKeys: {columns:?}")
    }
}

impl ExecutionPlan for CollectKeys {
    fn name(&self) -> &'static str {
        "CollectKeys"
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
        Ok(Arc::new(Self::new(input, Arc::clone(&self.columns))))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Plan>) -> Result<Plan> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(Collecting {
            memory: MemoryConsumer::new("keys of a join").register(context.memory_pool()),
            input: self.input.execute(partition, context)?,
            columns: Arc::clone(&self.columns),
            keys: Some(vec![Vec::new(); self.columns.len()]),
            collected: Arc::clone(&self.collected),
        }))
    }
}

/// The rows of one partition.
struct Collecting {
    input: SendableRecordBatchStream,
    columns: Arc<[KeyColumn]>,
    /// The partition's keys. `None`: it has ended, or there are too many.
    keys: Option<Vec<Vec<i64>>>,
    memory: MemoryReservation,
    collected: Arc<Mutex<Collected>>,
}

impl Collecting {
    fn collect_keys(&mut self, batch: &RecordBatch) {
        let Some(keys) = &mut self.keys else { return };
        let rows = batch.num_rows();
        let is_enough = keys.iter().any(|keys| keys.len() + rows > KEYS_MAX);
        let bytes = rows * keys.len() * size_of::<i64>();
        if is_enough || self.memory.try_grow(bytes).is_err() {
            self.keys = None;
            return;
        }
        for (column, keys) in self.columns.iter().zip(keys) {
            if !take_keys(batch.column(column.column), keys) {
                self.keys = None;
                return;
            }
        }
    }

    /// The last partition that ends makes the sets.
    fn end(&mut self) {
        let mut all = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        all.open = all.open.saturating_sub(1);
        match (&mut all.keys, self.keys.take()) {
            (Some(all), Some(own)) => {
                for (all, mut own) in all.iter_mut().zip(own) {
                    all.append(&mut own);
                }
            }
            (keys, _) => *keys = None,
        }
        if all.open > 0 {
            return;
        }
        for (column, keys) in self.columns.iter().zip(all.keys.take().unwrap_or_default()) {
            if keys.len() <= KEYS_MAX {
                column.keys.set(&keys);
            }
        }
    }
}

/// Appends an array's values; NULL is equal to nothing. Returns whether all could be represented.
fn take_keys(array: &ArrayRef, keys: &mut Vec<i64>) -> bool {
    match array.data_type() {
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>();
            match values.null_count() {
                0 => keys.extend_from_slice(values.values()),
                _ => keys.extend(values.iter().flatten()),
            }
        }
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().iter().flatten();
            // A scan does not decide on larger values.
            keys.extend(values.filter_map(|value| i64::try_from(value).ok()));
        }
        _ => return false,
    }
    true
}

impl Stream for Collecting {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.input.poll_next_unpin(context));
        match &next {
            Some(Ok(batch)) => self.collect_keys(batch),
            // The rows are not complete, and never will be.
            Some(Err(_)) => self.keys = None,
            None => self.end(),
        }
        Poll::Ready(next)
    }
}

impl RecordBatchStream for Collecting {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
