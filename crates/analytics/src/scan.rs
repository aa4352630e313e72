//! Reading a table: its key range cut into pieces, which the partitions take one after the other.

use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use catalog::layout::RowDecoder;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::streaming::PartitionStream;
use functions::{EvalContext, Expr};
use futures::Stream;
use kv::{KeyRange, Reader};
use planner::plan::TableScan;
use types::SqlType;

use crate::Source;
use crate::error::carry;
use crate::runtime::{BATCH_ROWS, partitions};
use crate::translate::schema_of;

/// More pieces than partitions, so that one that is done early takes from the others.
const PIECES_PER_PARTITION: usize = 8;

/// Bits of a position that count rows within a piece.
const POSITION_ROW_BITS: u32 = 40;

/// A scan as a table of DataFusion's: columns `c0..`, and with `positions` one more, unsigned, that orders rows by key.
pub fn table(
    scan: &TableScan,
    positions: bool,
    source: &Source,
    eval: &Arc<EvalContext>,
) -> types::Result<StreamingTable> {
    let types: Vec<SqlType> = scan.columns.iter().map(|&c| scan.table.columns[c].ty).collect();
    let scanned = schema_of(types.iter().copied());
    let position = positions.then_some(SqlType::BIGINT_UNSIGNED);
    let schema = schema_of(types.into_iter().chain(position));
    let range = catalog::layout::table_range(&scan.table);
    let pieces = source
        .store
        .split_range(&range, partitions() * PIECES_PER_PARTITION)?;
    let shared = Arc::new(Shared {
        scan: TableScan {
            filter: scan
                .filter
                .as_ref()
                .map(|filter| functions::hoist(filter, eval).into_owned()),
            ..scan.clone()
        },
        snapshot: source.snapshot.clone(),
        eval: eval.clone(),
        pieces,
        next_piece: AtomicUsize::new(0),
        scanned,
        schema: schema.clone(),
        positions,
    });
    let partition = |_| Arc::new(Partition(shared.clone())) as Arc<dyn PartitionStream>;
    let partitions = (0..partitions()).map(partition).collect();
    StreamingTable::try_new(schema, partitions).map_err(crate::error::to_mysql)
}

/// What all partitions of one scan share.
struct Shared {
    scan: TableScan,
    snapshot: kv::Snapshot,
    eval: Arc<EvalContext>,
    pieces: Vec<KeyRange>,
    next_piece: AtomicUsize,
    /// The scan's own columns, which its filter sees.
    scanned: SchemaRef,
    /// Those, and the position where asked for.
    schema: SchemaRef,
    positions: bool,
}

struct Partition(Arc<Shared>);

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scan of {}", self.0.scan.table.name)
    }
}

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        Box::pin(Batches {
            decoder: RowDecoder::new(&self.0.scan.table, &self.0.scan.columns, self.0.eval.time_zone),
            shared: self.0.clone(),
            piece: None,
        })
    }
}

/// One partition's batches. Reading is done where the stream is polled: the threads that poll are there for nothing else.
struct Batches {
    shared: Arc<Shared>,
    /// A layout that cannot be is told with the first batch.
    decoder: types::Result<RowDecoder>,
    piece: Option<Piece>,
}

/// What is left of the piece being read.
struct Piece {
    index: usize,
    rest: KeyRange,
    rows_read: u64,
}

impl Batches {
    /// The next batch with any rows, or `None` when no piece is left.
    fn next(&mut self) -> types::Result<Option<RecordBatch>> {
        loop {
            self.shared.eval.check_interrupted()?;
            let Some(mut piece) = self.piece.take().or_else(|| self.take_piece()) else {
                return Ok(None);
            };
            let first_position = (piece.index as u64) << POSITION_ROW_BITS | piece.rows_read;
            let (columns, rows, ended) = self.read(&mut piece)?;
            if !ended {
                self.piece = Some(piece);
            }
            let batch = self.finish(columns, rows, first_position)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    fn take_piece(&self) -> Option<Piece> {
        let index = self.shared.next_piece.fetch_add(1, Ordering::Relaxed);
        let rest = self.shared.pieces.get(index)?.clone();
        Some(Piece {
            index,
            rest,
            rows_read: 0,
        })
    }

    /// Reads up to a batch of rows; says how many, and whether the piece has ended.
    fn read(&mut self, piece: &mut Piece) -> types::Result<(Vec<ArrayRef>, usize, bool)> {
        let mut rows = 0;
        let mut resume = None;
        let mut failure = None;
        let decoder = self.decoder.as_mut().map_err(|error| error.clone())?;
        let mut visit = |key: &[u8], value: &[u8]| {
            if rows == BATCH_ROWS {
                resume = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            if let Err(error) = decoder.push(key, value) {
                failure = Some(error);
                return ControlFlow::Break(());
            }
            rows += 1;
            ControlFlow::Continue(())
        };
        self.shared.snapshot.scan(&piece.rest, false, &mut visit)?;
        if let Some(error) = failure {
            return Err(error);
        }
        piece.rows_read += rows as u64;
        let ended = resume.is_none();
        if let Some(key) = resume {
            piece.rest.start = key;
        }
        Ok((decoder.finish()?, rows, ended))
    }

    fn finish(
        &self,
        mut columns: Vec<ArrayRef>,
        rows: usize,
        first_position: u64,
    ) -> types::Result<RecordBatch> {
        let keep = match &self.shared.scan.filter {
            Some(filter) => Some(self.keep(filter, &columns, rows)?),
            None => None,
        };
        if self.shared.positions {
            let positions = first_position..first_position + rows as u64;
            columns.push(Arc::new(UInt64Array::from_iter_values(positions)));
        }
        let batch = batch_of(self.shared.schema.clone(), columns, rows)?;
        match keep {
            Some(keep) => filter_record_batch(&batch, &keep).map_err(types::Error::internal),
            None => Ok(batch),
        }
    }

    fn keep(
        &self,
        filter: &Expr,
        columns: &[ArrayRef],
        rows: usize,
    ) -> types::Result<arrow::array::BooleanArray> {
        let batch = batch_of(self.shared.scanned.clone(), columns.to_vec(), rows)?;
        functions::eval_predicate(filter, &batch, &self.shared.eval)
    }
}

fn batch_of(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> types::Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(types::Error::internal)
}

impl Stream for Batches {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.next().map_err(carry).transpose())
    }
}

impl RecordBatchStream for Batches {
    fn schema(&self) -> SchemaRef {
        self.shared.schema.clone()
    }
}
