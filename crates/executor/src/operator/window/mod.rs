//! Window functions: the rows of each partition in the window's order, with what the calls give for them.
//!
//! The input is sorted by the partitions' keys and then by the window's order. One partition at a time is
//! held as one batch beside the sorted rows, and counted. The calls' values are made some rows at a time, as
//! many as make a batch: each of them may be as large as a partition. A partition for which there is no memory is
//! read in [`pieces`]. Not here: what each call gives ([`functions::window`]).

mod blocks;
mod collect;
mod moving;
mod parts;
mod pieces;

use std::collections::VecDeque;

use arrow::array::ArrayRef;
use arrow::compute;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use functions::order::RowKeys;
use functions::window::{CallValues, Partition};
use planner::plan::SortKey;
use types::{Result, SqlType};

use self::collect::PiecesBuilder;
use self::parts::runs_of_equal;
use self::pieces::Pieces;
use super::filter::split;
use super::project::evaluate;
use super::sort::Sort;
use super::{BoxOperator, Operator};
use crate::batch::{
    ALL_ROWS, BATCH_BYTES, BATCH_ROWS, arrow_error, batch_bytes, batch_of, schema_of, widest,
};
use crate::env::Env;
use crate::memory::Held;

pub(super) use self::parts::WindowParts;

pub(super) struct Window<'p> {
    /// In order.
    input: BoxOperator<'p>,
    parts: WindowParts<'p>,
    partition_keys: RowKeys,
    order_keys: RowKeys,
    schema: SchemaRef,
    input_schema: SchemaRef,
    /// Input rows, cut where a partition ends.
    runs: VecDeque<Run>,
    /// The partition of the last row that has been read.
    last_key: Option<Vec<u8>>,
    has_ended: bool,
    current: Option<Current<'p>>,
    /// What a row of a partition takes at most beside its columns.
    added_bytes: usize,
    /// How many rows of a partition are computed first: one if their values may be large.
    first_rows: usize,
    rest: Option<RecordBatch>,
}

/// A partition whose rows are being returned.
enum Current<'p> {
    Whole(Box<Whole<'p>>),
    Pieces(Box<Pieces<'p>>),
}

/// One that is in memory.
struct Whole<'p> {
    rows: RecordBatch,
    calls: Vec<CallValues<'p>>,
    given: usize,
    /// How many rows to compute next.
    step: usize,
    held: Held,
}

/// Rows of one partition.
struct Run {
    rows: RecordBatch,
    /// They belong to the partition of the rows before them.
    continues: bool,
}

impl<'p> Window<'p> {
    /// `types`: those of the input's columns.
    pub fn new(input: BoxOperator<'p>, types: Vec<SqlType>, parts: WindowParts<'p>) -> Result<Self> {
        let partition = parts.partition_by.iter().map(|expr| SortKey {
            expr: expr.clone(),
            descending: false,
        });
        let keys: Vec<SortKey> = partition.chain(parts.order_by.iter().cloned()).collect();
        let input: BoxOperator<'p> = match keys.is_empty() {
            true => input,
            false => Box::new(Sort::new(input, &keys, None)?.sharing()),
        };
        let input_schema = schema_of(&types);
        let mut types = types;
        types.extend(parts.calls.iter().map(|call| call.ty));
        let order = parts.order_by.iter().map(|key| (key.expr.ty(), key.descending));
        let widths = parts.calls.iter().map(|call| widest(&call.ty));
        let width = widths.fold(1, usize::saturating_add);
        Ok(Self {
            input,
            partition_keys: RowKeys::new(parts.partition_by.iter().map(Expr::ty).collect())?,
            order_keys: RowKeys::with_order(order.collect())?,
            parts,
            schema: schema_of(&types),
            input_schema,
            runs: VecDeque::new(),
            last_key: None,
            has_ended: false,
            current: None,
            added_bytes: 32 + 48 * parts.calls.len(),
            first_rows: (BATCH_BYTES / width).clamp(1, BATCH_ROWS),
            rest: None,
        })
    }

    /// The next partition.
    fn partition(&mut self, env: &mut Env<'_, '_>) -> Result<Option<Current<'p>>> {
        let mut rows: Vec<RecordBatch> = Vec::new();
        let (mut bytes, mut added_bytes, mut held) = (0, 0, Held::default());
        let mut is_whole = false;
        while let Some(run) = self.run(!rows.is_empty(), env)? {
            bytes += batch_bytes(&run);
            added_bytes += run.num_rows() * self.added_bytes;
            rows.push(run);
            if is_whole {
                held.resize(bytes, env.memory)?;
            } else if !held.try_resize(bytes + added_bytes, env.memory)? {
                if let Some(pieces) = PiecesBuilder::new(self.parts, env)? {
                    held.resize(0, env.memory)?;
                    return self.in_pieces(pieces, rows, env).map(Some);
                }
                is_whole = true;
                held.resize(bytes, env.memory)?;
            }
        }
        let partition = match rows.as_slice() {
            [] => return Ok(None),
            [one] => one.clone(),
            several => compute::concat_batches(&self.input_schema, several).map_err(arrow_error)?,
        };
        self.begin(partition, held, env).map(Some)
    }

    /// The next rows of the partition that has begun, or of the next one.
    fn run(&mut self, has_begun: bool, env: &mut Env<'_, '_>) -> Result<Option<RecordBatch>> {
        loop {
            match self.runs.pop_front() {
                Some(run) if run.continues || !has_begun => return Ok(Some(run.rows)),
                Some(run) => {
                    self.runs.push_front(run);
                    return Ok(None);
                }
                None if self.has_ended => return Ok(None),
                None => self.read(env)?,
            }
        }
    }

    /// A partition of which `rows` have been read.
    fn in_pieces(
        &mut self,
        mut pieces: PiecesBuilder<'p>,
        rows: Vec<RecordBatch>,
        env: &mut Env<'_, '_>,
    ) -> Result<Current<'p>> {
        for rows in rows {
            pieces.add(rows, &self.order_keys, env)?;
        }
        while let Some(rows) = self.run(true, env)? {
            pieces.add(rows, &self.order_keys, env)?;
        }
        let pieces = Pieces::new(pieces.finish(env)?, self.first_rows, env)?;
        Ok(Current::Pieces(Box::new(pieces)))
    }

    /// Reads input rows and cuts them into runs.
    fn read(&mut self, env: &mut Env<'_, '_>) -> Result<()> {
        let Some(batch) = self.input.next(env, ALL_ROWS)? else {
            self.has_ended = true;
            return Ok(());
        };
        let continues = self.last_key.is_some();
        if self.parts.partition_by.is_empty() {
            self.last_key = Some(Vec::new());
            self.runs.push_back(Run {
                rows: batch,
                continues,
            });
            return Ok(());
        }
        let columns = evaluate(self.parts.partition_by.iter(), &batch, env)?;
        let keys = self.partition_keys.encode(&columns)?;
        let same_as_before = self.last_key.as_deref() == keys.iter().next().map(|key| key.data());
        for (number, rows) in runs_of_equal(&keys).into_iter().enumerate() {
            self.runs.push_back(Run {
                rows: batch.slice(rows.start, rows.len()),
                continues: number == 0 && same_as_before,
            });
        }
        let last = keys.num_rows().checked_sub(1);
        self.last_key = last.map(|last| keys.row(last).data().to_vec());
        Ok(())
    }

    /// A partition with the calls over it.
    fn begin(&self, rows: RecordBatch, held: Held, env: &Env<'_, '_>) -> Result<Current<'p>> {
        let WindowParts { calls, .. } = self.parts;
        let ctx = env.eval();
        let peers = self.parts.peers(&rows, &self.order_keys, env)?;
        let frames = self.parts.frames(&rows, &peers, rows.num_rows(), env)?;
        let partition = Partition {
            rows: &rows,
            peers: &peers,
            frames: frames.into(),
        };
        let calls = calls.iter().map(|call| CallValues::new(call, &partition, ctx));
        Ok(Current::Whole(Box::new(Whole {
            calls: calls.collect::<Result<_>>()?,
            given: 0,
            step: self.first_rows,
            held,
            rows,
        })))
    }

    /// The next rows of the current partition, or of the next one, with the values of the calls.
    fn piece(&mut self, wanted: usize, env: &mut Env<'_, '_>) -> Result<Option<RecordBatch>> {
        let mut current = match self.current.take() {
            Some(current) => current,
            None => match self.partition(env)? {
                Some(current) => current,
                None => return Ok(None),
            },
        };
        let batch = current.next(wanted, (&self.schema, &self.order_keys), env)?;
        if current.is_done() {
            current.close(env)?;
        } else {
            self.current = Some(current);
        }
        Ok(Some(batch))
    }
}

impl Current<'_> {
    fn next(
        &mut self,
        wanted: usize,
        (schema, keys): (&SchemaRef, &RowKeys),
        env: &Env<'_, '_>,
    ) -> Result<RecordBatch> {
        match self {
            Self::Whole(partition) => partition.next(wanted, schema, env),
            Self::Pieces(partition) => partition.next(wanted, (schema, keys), env),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Whole(partition) => partition.given == partition.rows.num_rows(),
            Self::Pieces(partition) => partition.is_done(),
        }
    }

    /// Returns the memory that it holds.
    fn close(self, env: &Env<'_, '_>) -> Result<()> {
        match self {
            Self::Whole(mut partition) => partition.held.resize(0, env.memory),
            Self::Pieces(partition) => partition.close(env),
        }
    }
}

impl Whole<'_> {
    fn next(&mut self, wanted: usize, schema: &SchemaRef, env: &Env<'_, '_>) -> Result<RecordBatch> {
        let left = self.rows.num_rows() - self.given;
        let rows = self.given..self.given + left.min(self.step).min(wanted);
        let mut columns: Vec<ArrayRef> = self.rows.slice(rows.start, rows.len()).columns().to_vec();
        let mut bytes = batch_bytes(&self.rows);
        for call in &mut self.calls {
            columns.push(call.next(rows.clone(), env.eval())?);
            bytes += call.size_bytes();
        }
        self.held.resize(bytes, env.memory)?;
        self.given = rows.end;
        let batch = batch_of(schema, columns, rows.len())?;
        let row_bytes = batch_bytes(&batch) / rows.len().max(1);
        let most = self.step.saturating_mul(4).min(BATCH_ROWS);
        self.step = (BATCH_BYTES / row_bytes.max(1)).clamp(1, most);
        Ok(batch)
    }
}

impl Operator for Window<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.rest.is_none() {
            env.check_interrupted()?;
            let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
            // Several small partitions make one batch.
            while rows < wanted.min(BATCH_ROWS) && bytes < BATCH_BYTES {
                let Some(batch) = self.piece(wanted.min(BATCH_ROWS) - rows, env)? else {
                    break;
                };
                bytes += batch_bytes(&batch);
                rows += batch.num_rows();
                batches.push(batch);
            }
            self.rest = match batches.as_slice() {
                [] => None,
                [one] => Some(one.clone()),
                several => Some(compute::concat_batches(&self.schema, several).map_err(arrow_error)?),
            };
        }
        Ok(self.rest.take().map(|batch| {
            let (now, later) = split(batch, wanted.min(BATCH_ROWS));
            self.rest = later;
            now
        }))
    }
}
