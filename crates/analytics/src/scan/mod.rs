//! Reads a table. Its key range is cut into pieces, which the partitions take one after the other.

mod learned;
mod rows;

use std::fmt;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion_physical_plan::streaming::{PartitionStream, StreamingTableExec};
use functions::order::sort_options;
use functions::{EvalContext, Expr};
use futures::Stream;
use kv::{KeyRange, Reader};
use learned::GoOn;
use planner::plan::TableScan;
use rows::Rows;
use schema::layout::leading_bytes;
use types::{SqlType, TypeKind};

use crate::Source;
use crate::columns::schema_of;
use crate::error::carry;
use crate::limits::partitions;
use crate::operators::Translated;
use crate::scan_filter::{ScanFilter, ScanWishes};

/// There are more pieces than partitions, so that a partition that finishes early takes further pieces.
const PIECES_PER_PARTITION: usize = 8;

/// After this many rows, other tasks of the thread get their turn, even if no batch is complete.
const ROWS_A_TURN: u64 = 65_536;

/// The largest number of bytes of rows in a batch, not counting its last row. It is less if a query may use
/// little memory.
const BATCH_BYTES: usize = 8 << 20;
/// Rows that are wider than the sampled ones may exceed the batch's part of the memory by this factor.
const WIDE_ROWS: usize = 2;

/// Bits of a position that count rows within a piece.
const POSITION_ROW_BITS: u32 = 40;

/// A scan with the columns `c0..`. With `positions`, an unsigned column follows that orders rows by key.
/// `batches`: the number of partitions, and how many bytes of rows a batch should have. `wishes`: what the
/// operators above want from it.
pub fn scan(
    scan: &TableScan,
    positions: bool,
    source: &Source,
    (partitions, batch_bytes): (usize, usize),
    eval: &Arc<EvalContext>,
    wishes: ScanWishes,
) -> Result<Translated> {
    let types: Vec<SqlType> = scan.columns.iter().map(|&c| scan.table.columns[c].ty).collect();
    let position = positions.then_some(SqlType::BIGINT_UNSIGNED);
    let schema = schema_of(types.into_iter().chain(position));
    let places = match &scan.partitions {
        None => vec![scan.table.physical_id()],
        Some(chosen) => chosen.ids(&scan.table, &[], eval).map_err(carry)?,
    };
    let mut pieces = Vec::new();
    for place in &places {
        let wanted = (partitions * PIECES_PER_PARTITION).div_ceil(places.len());
        let range = KeyRange::prefix(codec::key::row_prefix(*place));
        let split = source.snapshot.split_range(&range, wanted);
        pieces.append(&mut split.map_err(|error| carry(error.into()))?);
    }
    let whole_groups = places.len() == 1 && cut_between_groups(&mut pieces, scan, wishes.grouped_parts);
    let shared = Arc::new(Shared {
        scan: scan.clone(),
        filter: scan
            .filter
            .as_ref()
            .map(|filter| functions::arranged(functions::hoist(filter, eval), eval).into_owned()),
        learned: wishes.filters,
        snapshot: source.snapshot.clone(),
        eval: eval.clone(),
        pieces,
        next_piece: AtomicUsize::new(0),
        schema: schema.clone(),
        positions,
        batch_bytes: BATCH_BYTES.min(batch_bytes * WIDE_ROWS),
    });
    if let Some(measure) = &scan.read {
        measure.begin_loop();
    }
    let partition = |_| Arc::new(Partition(shared.clone())) as Arc<dyn PartitionStream>;
    let partitions = (0..partitions).map(partition).collect();
    let order = order_of(scan, &schema);
    let scan = StreamingTableExec::try_new(schema, partitions, None, order, false, None)?;
    Ok(Translated {
        plan: Arc::new(scan),
        positions,
        whole_groups,
    })
}

/// Moves the ends of pieces so that all rows which agree in some leading parts of the primary key are in one
/// piece. `false`: that is not possible, or would leave partitions without work.
fn cut_between_groups(pieces: &mut Vec<KeyRange>, scan: &TableScan, parts: usize) -> bool {
    let Some(bytes) = (parts > 0).then(|| leading_bytes(&scan.table, parts)).flatten() else {
        return false;
    };
    let mut cut = pieces.clone();
    let last = cut.len().saturating_sub(1);
    for (number, piece) in cut.iter_mut().enumerate() {
        piece.start.truncate(bytes);
        if number < last {
            piece.end.truncate(bytes);
        }
    }
    cut.retain(|piece| !piece.is_empty());
    let is_enough = cut.len() >= pieces.len().min(partitions() * 2);
    if is_enough {
        *pieces = cut;
    }
    is_enough
}

/// The order of each partition's rows, because a partition takes pieces in the order of their keys. It has
/// those leading parts of the primary key whose stored form sorts as the values do. Groups by them are
/// complete one after the other.
fn order_of(scan: &TableScan, schema: &SchemaRef) -> Option<LexOrdering> {
    if scan.table.row_ranges().len() > 1 {
        return None;
    }
    let names = crate::columns::columns(schema);
    let is_plain = |ty: &SqlType| ty.is_integer() || ty.kind == TypeKind::Date;
    let parts = scan.table.primary_parts();
    let keys = parts.iter().map_while(|part| {
        let column = scan.columns.iter().position(|&column| column == part.column)?;
        let definition = scan.table.columns.get(part.column)?;
        let is_ordered = is_plain(&definition.ty) && !definition.nullable;
        is_ordered.then(|| PhysicalSortExpr::new(names[column].clone(), sort_options(false)))
    });
    LexOrdering::new(keys)
}

/// The state that all partitions of one scan share.
struct Shared {
    scan: TableScan,
    /// The scan's filter with its constants computed.
    filter: Option<Expr>,
    learned: Vec<ScanFilter>,
    snapshot: kv::Snapshot,
    eval: Arc<EvalContext>,
    pieces: Vec<KeyRange>,
    next_piece: AtomicUsize,
    /// The scan's own columns, and the position if it is asked for.
    schema: SchemaRef,
    positions: bool,
    batch_bytes: usize,
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

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let shared = &self.0;
        Box::pin(Batches {
            rows: Rows::new(
                &shared.scan,
                shared.filter.as_ref(),
                &shared.learned,
                shared.positions,
                shared.batch_bytes,
                &shared.eval,
            ),
            memory: MemoryConsumer::new("scan").register(context.memory_pool()),
            shared: shared.clone(),
            piece: None,
        })
    }
}

/// One partition's batches. Rows are read in the call that polls the stream: the polling threads have no
/// other work.
struct Batches {
    shared: Arc<Shared>,
    /// The error of an invalid layout is returned with the first batch.
    rows: types::Result<Rows>,
    /// The memory of the last batch, until the next is asked for.
    memory: MemoryReservation,
    piece: Option<Piece>,
}

/// The result of one turn of reading.
enum Turn {
    Batch(RecordBatch),
    /// No row satisfied the filter so far.
    Nothing,
    End,
}

/// The rest of the piece that is being read.
struct Piece {
    index: usize,
    rest: KeyRange,
    rows_read: u64,
}

impl Batches {
    fn turn(&mut self) -> Result<Turn> {
        self.shared.eval.check_interrupted().map_err(carry)?;
        // Virtual columns are computed while rows are read.
        let _works_for = functions::work_for(&self.shared.eval.interrupted);
        let Some(mut piece) = self.piece.take().or_else(|| self.take_piece()) else {
            return Ok(Turn::End);
        };
        let ended = self.read(&mut piece).map_err(carry)?;
        if !ended {
            self.piece = Some(piece);
        }
        let rows = self.rows.as_mut().map_err(|error| carry(error.clone()))?;
        self.memory.try_resize(rows.bytes())?;
        let batch = rows.finish().map_err(carry)?;
        Ok(match batch.num_rows() {
            0 => Turn::Nothing,
            _ => Turn::Batch(batch),
        })
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

    /// Reads until a batch is complete. Returns whether the piece has ended.
    fn read(&mut self, piece: &mut Piece) -> types::Result<bool> {
        let rows = self.rows.as_mut().map_err(|error| error.clone())?;
        rows.begin();
        let first_position = (piece.index as u64) << POSITION_ROW_BITS;
        let enough = piece.rows_read + ROWS_A_TURN;
        let before = piece.rows_read;
        let start = self.shared.scan.read.as_ref().map(|_| Instant::now());
        let ended = loop {
            // Where to continue, and whether in this turn.
            let mut resume = None;
            let mut ended = false;
            let mut failure = None;
            let mut visit = |key: &[u8], value: &[u8]| {
                if rows.is_full() || piece.rows_read == enough {
                    resume = Some((key.to_vec(), false));
                    return ControlFlow::Break(());
                }
                piece.rows_read += 1;
                match rows.push(key, value, first_position | (piece.rows_read - 1)) {
                    Ok(GoOn::NextRow) => return ControlFlow::Continue(()),
                    Ok(GoOn::From(next)) => resume = Some((next, true)),
                    Ok(GoOn::Nowhere) => ended = true,
                    Err(error) => failure = Some(error),
                }
                ControlFlow::Break(())
            };
            self.shared.snapshot.scan(&piece.rest, false, &mut visit)?;
            if let Some(error) = failure {
                return Err(error);
            }
            let Some((next, goes_on)) = resume.filter(|_| !ended) else {
                break true;
            };
            piece.rest.start = next;
            if !goes_on {
                break false;
            }
            if piece.rest.is_empty() {
                break true;
            }
        };
        let read = (piece.rows_read - before) as usize;
        self.shared.eval.reads.scanned(read);
        self.shared.eval.reads.read_at(|| self.shared.scan.place(), read);
        if let (Some(measure), Some(start)) = (&self.shared.scan.read, start) {
            measure.called(start.elapsed(), read, false);
        }
        Ok(ended)
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.turn() {
            Ok(Turn::Batch(batch)) => Poll::Ready(Some(Ok(batch))),
            Ok(Turn::End) => Poll::Ready(None),
            // Yields: a cancelled task ends here.
            Ok(Turn::Nothing) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }
}

impl RecordBatchStream for Batches {
    fn schema(&self) -> SchemaRef {
        self.shared.schema.clone()
    }
}
