//! An operator that collects the keys of a join's right side.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use datafusion_execution::TaskContext;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};

use super::keys::{KEYS_MAX, PendingKeys};
use super::observed::{Observe, Observer};

/// A column of keys, and the set to make of them.
#[derive(Debug, Clone)]
pub struct KeyColumn {
    pub column: usize,
    pub keys: Arc<PendingKeys>,
}

/// Collects keys. The sets are complete when all partitions have ended.
#[derive(Debug)]
pub struct CollectKeys {
    columns: Arc<[KeyColumn]>,
    collected: Arc<Mutex<Collected>>,
}

/// What the partitions have collected.
#[derive(Debug, Default)]
struct Collected {
    /// Partitions that have not ended.
    open: usize,
    /// For each column. `None`: there are too many.
    keys: Option<Vec<Vec<i64>>>,
}

impl CollectKeys {
    /// `columns`: of 64-bit integers.
    pub fn new(columns: Arc<[KeyColumn]>) -> Self {
        Self {
            columns,
            collected: Arc::default(),
        }
    }
}

impl Observe for CollectKeys {
    fn over(&self, partitions: usize) -> Arc<dyn Observe> {
        let collected = Collected {
            open: partitions,
            keys: Some(vec![Vec::new(); self.columns.len()]),
        };
        Arc::new(Self {
            columns: Arc::clone(&self.columns),
            collected: Arc::new(Mutex::new(collected)),
        })
    }

    fn partition(&self, context: &TaskContext) -> Box<dyn Observer> {
        Box::new(Collecting {
            memory: MemoryConsumer::new("keys of a join").register(context.memory_pool()),
            columns: Arc::clone(&self.columns),
            keys: Some(vec![Vec::new(); self.columns.len()]),
            collected: Arc::clone(&self.collected),
        })
    }
}

/// The keys of one partition.
struct Collecting {
    columns: Arc<[KeyColumn]>,
    /// `None`: there are too many.
    keys: Option<Vec<Vec<i64>>>,
    memory: MemoryReservation,
    collected: Arc<Mutex<Collected>>,
}

impl Observer for Collecting {
    fn see(&mut self, batch: &RecordBatch) {
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
    fn end(&mut self, complete: bool) {
        let mut all = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        all.open = all.open.saturating_sub(1);
        match (&mut all.keys, self.keys.take().filter(|_| complete)) {
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

/// Appends an array's values without NULL, which is equal to nothing. Returns whether all could be
/// represented.
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
            // Scans do not check larger values.
            keys.extend(values.filter_map(|value| i64::try_from(value).ok()));
        }
        _ => return false,
    }
    true
}
