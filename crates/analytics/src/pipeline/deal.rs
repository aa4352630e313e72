//! Rows that are divided among threads in slices: a thread takes the next slice when it is ready.

use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::execute_stream;
use futures::StreamExt;
use tokio::sync::Mutex;

use crate::operators::Plan;

/// The first slices are small, so that each thread gets one of few rows.
const SLICE_MIN: usize = 8;
const SLICE_MAX: usize = 1024;
/// A slice has this part of the rows that each thread has had.
const SHARE: usize = 4;

pub struct Dealer {
    input: Plan,
    threads: usize,
    rows: Mutex<Rows>,
}

struct Rows {
    input: Option<SendableRecordBatchStream>,
    rest: Option<RecordBatch>,
    /// How many have been taken.
    dealt: usize,
    has_ended: bool,
}

impl Dealer {
    pub fn new(input: Plan, threads: usize) -> Self {
        Self {
            input,
            threads,
            rows: Mutex::new(Rows {
                input: None,
                rest: None,
                dealt: 0,
                has_ended: false,
            }),
        }
    }

    /// The next slice; `None`: there are no more rows.
    pub async fn next(&self, context: &Arc<TaskContext>) -> Result<Option<RecordBatch>> {
        let mut rows = self.rows.lock().await;
        let batch = match rows.rest.take() {
            Some(rest) => rest,
            None => match self.read(&mut rows, context).await? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let most = (rows.dealt / (SHARE * self.threads)).clamp(SLICE_MIN, SLICE_MAX);
        let taken = most.min(batch.num_rows());
        if taken < batch.num_rows() {
            rows.rest = Some(batch.slice(taken, batch.num_rows() - taken));
        }
        rows.dealt += taken;
        Ok(Some(batch.slice(0, taken)))
    }

    async fn read(&self, rows: &mut Rows, context: &Arc<TaskContext>) -> Result<Option<RecordBatch>> {
        if rows.has_ended {
            return Ok(None);
        }
        let input = match &mut rows.input {
            Some(input) => input,
            None => {
                let input = execute_stream(Arc::clone(&self.input), Arc::clone(context))?;
                rows.input.insert(input)
            }
        };
        let next = input.next().await;
        if !matches!(next, Some(Ok(_))) {
            rows.has_ended = true;
            rows.input = None;
        }
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::datatypes::SchemaRef;
    use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
    use datafusion_physical_plan::streaming::{PartitionStream, StreamingTableExec};
    use types::SqlType;

    use super::*;
    use crate::columns::schema_of;

    #[derive(Debug)]
    struct Numbers(SchemaRef, i64);

    impl PartitionStream for Numbers {
        fn schema(&self) -> &SchemaRef {
            &self.0
        }

        fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
            let numbers: ArrayRef = Arc::new((0..self.1).collect::<Int64Array>());
            let batch = RecordBatch::try_new(Arc::clone(&self.0), vec![numbers]).unwrap();
            let rows = futures::stream::iter([Ok(batch)]);
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.0), rows))
        }
    }

    /// The sizes of the slices of two partitions of so many rows.
    fn slices(rows: i64, threads: usize) -> Vec<usize> {
        let schema = schema_of([SqlType::BIGINT]);
        let partition = || Arc::new(Numbers(Arc::clone(&schema), rows)) as Arc<dyn PartitionStream>;
        let input = StreamingTableExec::try_new(
            Arc::clone(&schema),
            vec![partition(), partition()],
            None,
            [],
            false,
            None,
        );
        let dealer = Dealer::new(Arc::new(input.unwrap()), threads);
        let context = Arc::new(TaskContext::default());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut slices = Vec::new();
            while let Some(slice) = dealer.next(&context).await.unwrap() {
                slices.push(slice.num_rows());
            }
            assert!(dealer.next(&context).await.unwrap().is_none());
            slices
        })
    }

    #[test]
    fn few_rows_are_dealt_to_all_threads() {
        assert_eq!(slices(10, 2), [8, 2, 8, 2]);
        let of_many = slices(200, 2);
        assert_eq!(of_many.iter().sum::<usize>(), 400);
        // No thread has much more to do than the other at the end.
        assert!(of_many.iter().all(|slice| *slice <= 50), "{of_many:?}");
    }

    #[test]
    fn slices_of_many_rows_are_large() {
        let slices = slices(100_000, 4);
        assert_eq!(slices.iter().sum::<usize>(), 200_000);
        assert_eq!(slices.iter().max(), Some(&SLICE_MAX));
        assert!(slices.len() < 400, "{}", slices.len());
    }
}
