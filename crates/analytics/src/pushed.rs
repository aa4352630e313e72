//! Rows that the stores have computed. They are few, so one thread reads them. Requests to many regions are
//! in flight at the same time.

use std::fmt;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, UInt64Array};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::streaming::{PartitionStream, StreamingTableExec};
use executor::PushedRows;
use functions::EvalContext;
use types::{Error, SqlType};

use crate::Source;
use crate::columns::schema_of;
use crate::error::carry;
use crate::operators::Translated;

/// With `positions`, rows are numbered in the order of arrival, which is that of their keys.
pub fn scan(
    rows: PushedRows<'static>,
    types: Vec<SqlType>,
    positions: bool,
    source: &Source,
    eval: &Arc<EvalContext>,
) -> Result<Translated> {
    let position = positions.then_some(SqlType::BIGINT_UNSIGNED);
    let schema = schema_of(types.into_iter().chain(position));
    let partition = Arc::new(Partition {
        rows: Mutex::new(Some(rows)),
        schema: schema.clone(),
        positions,
        snapshot: source.snapshot.clone(),
        eval: eval.clone(),
    });
    let plan = StreamingTableExec::try_new(schema, vec![partition], None, None, false, None)?;
    Ok(Translated {
        plan: Arc::new(plan),
        positions,
        whole_groups: false,
    })
}

struct Partition {
    /// `None` once they are being read.
    rows: Mutex<Option<PushedRows<'static>>>,
    schema: SchemaRef,
    positions: bool,
    snapshot: kv::Snapshot,
    eval: Arc<EvalContext>,
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows that the stores have computed")
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let batches = Batches {
            rows: self.rows.lock().ok().and_then(|mut rows| rows.take()),
            schema: self.schema.clone(),
            next_position: self.positions.then_some(0),
            snapshot: self.snapshot.clone(),
            memory: MemoryConsumer::new("computed rows").register(context.memory_pool()),
            eval: self.eval.clone(),
        };
        Box::pin(RecordBatchStreamAdapter::new(
            self.schema.clone(),
            futures::stream::iter(batches),
        ))
    }
}

struct Batches {
    rows: Option<PushedRows<'static>>,
    schema: SchemaRef,
    next_position: Option<u64>,
    snapshot: kv::Snapshot,
    /// Of the last batch and of what is under way.
    memory: MemoryReservation,
    eval: Arc<EvalContext>,
}

impl Batches {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        self.eval.check_interrupted().map_err(carry)?;
        // Virtual columns are computed while rows are read.
        let _works_for = functions::work_for(&self.eval.interrupted);
        let rows = self.rows.as_mut();
        let rows = rows.ok_or_else(|| carry(Error::internal("rows are read twice")))?;
        let next = rows.next_batch(&self.snapshot, &self.eval).map_err(carry)?;
        let Some((batch, bytes)) = next else {
            self.memory.free();
            return Ok(None);
        };
        self.memory.try_resize(bytes)?;
        let count = batch.num_rows();
        self.eval.reads.scanned(count);
        if let Some(place) = rows.place() {
            self.eval.reads.read_at(|| place, count);
        }
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        if let Some(first) = &mut self.next_position {
            let end = *first + count as u64;
            columns.push(Arc::new((*first..end).collect::<UInt64Array>()));
            *first = end;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map(Some)
            .map_err(|error| carry(Error::internal(error)))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}
