//! The rows of a partition for which there is no memory, on their way to a file: the groups of peers are found, and what
//! calls give for them.

use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::compute::concat;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use functions::order::RowKeys;
use functions::window::{InPieces, RunningCall, TailCall, WindowCall};
use types::Result;

use super::blocks::Blocks;
use super::parts::{WindowParts, most_rows, runs_of_equal};
use crate::batch::{BATCH_BYTES, BATCH_ROWS, arrow_error, batch_bytes, batch_of};
use crate::env::Env;
use crate::memory::Held;
use crate::spill::{HeldRows, HeldRowsBuilder};

/// The rows of a partition on their way to a file.
pub(super) struct PiecesBuilder<'p> {
    parts: WindowParts<'p>,
    calls: Vec<Call<'p>>,
    rows: HeldRowsBuilder,
    count: usize,
    bytes: usize,
    /// The key of the last row under the window's order.
    last_key: Option<Vec<u8>>,
    groups: HeldRowsBuilder,
    /// Groups that are not in `groups` yet: where they end, and the values of each call by peers.
    ends: Vec<i64>,
    values: Vec<Vec<ArrayRef>>,
    value_bytes: usize,
    blocks: Blocks,
    held: Held,
}

/// A partition whose rows have all been read once.
pub(super) struct Collected<'p> {
    pub parts: WindowParts<'p>,
    pub calls: Vec<Call<'p>>,
    pub rows: Rc<HeldRows>,
    pub count: usize,
    pub bytes: usize,
    pub groups: Rc<HeldRows>,
    pub blocks: Blocks,
    /// The memory of what the calls remember.
    pub held: Held,
}

/// A call, with what it remembers of the rows so far.
pub(super) enum Call<'p> {
    ByPosition(&'p WindowCall),
    ByRow(RunningCall<'p>),
    ByPeers(RunningCall<'p>),
    Once(RunningCall<'p>),
    Nearby(&'p WindowCall),
    /// With what it gives for frames that end with the partition, if there can be such.
    Sliding(&'p WindowCall, Option<TailCall<'p>>),
    /// With what it gives for all rows, if frames can end with the partition.
    Growing(RunningCall<'p>, Option<RunningCall<'p>>),
}

impl<'p> Call<'p> {
    fn new(call: &'p WindowCall, kind: InPieces, env: &Env<'_, '_>) -> Result<Self> {
        let running = || RunningCall::new(call, env.eval());
        Ok(match kind {
            InPieces::ByPosition => Self::ByPosition(call),
            InPieces::ByRow => Self::ByRow(running()?),
            InPieces::ByPeers => Self::ByPeers(running()?),
            InPieces::Once => Self::Once(running()?),
            InPieces::Nearby { .. } => Self::Nearby(call),
            InPieces::Sliding { ahead: None } => Self::Sliding(call, None),
            InPieces::Sliding { ahead: Some(_) } => {
                Self::Sliding(call, Some(TailCall::new(call, env.eval())?))
            }
            InPieces::Growing { reaches_end } => {
                Self::Growing(running()?, reaches_end.then(running).transpose()?)
            }
        })
    }

    /// What takes the rows one after the other as they come.
    fn running(&mut self) -> Option<&mut RunningCall<'p>> {
        match self {
            Self::ByPeers(call) | Self::Once(call) => Some(call),
            Self::Growing(_, whole) => whole.as_mut(),
            _ => None,
        }
    }

    fn tail(&mut self) -> Option<&mut TailCall<'p>> {
        match self {
            Self::Sliding(_, tail) => tail.as_mut(),
            _ => None,
        }
    }

    /// The memory of what it remembers of the rows so far.
    fn size_bytes(&self) -> usize {
        match self {
            Self::ByPeers(call) | Self::Once(call) | Self::Growing(_, Some(call)) => call.size_bytes(),
            Self::Sliding(_, Some(tail)) => tail.size_bytes(),
            _ => 0,
        }
    }
}

impl<'p> PiecesBuilder<'p> {
    /// `None`: a call of the window takes the whole partition.
    pub fn new(parts: WindowParts<'p>, env: &Env<'_, '_>) -> Result<Option<Self>> {
        let mut calls = Vec::with_capacity(parts.calls.len());
        for call in parts.calls {
            let Some(kind) = call.in_pieces(parts.frame, env.eval())? else {
                return Ok(None);
            };
            calls.push(Call::new(call, kind, env)?);
        }
        Ok(Some(Self {
            parts,
            calls,
            rows: HeldRows::builder(),
            count: 0,
            bytes: 0,
            last_key: None,
            groups: HeldRows::builder(),
            ends: Vec::new(),
            values: Vec::new(),
            value_bytes: 0,
            blocks: Blocks::default(),
            held: Held::default(),
        }))
    }

    /// Adds rows in their order. `keys`: what makes the window's order.
    pub fn add(&mut self, rows: RecordBatch, keys: &RowKeys, env: &Env<'_, '_>) -> Result<()> {
        env.check_interrupted()?;
        for call in self.calls.iter_mut().filter_map(Call::running) {
            call.begin(&rows, env.eval())?;
        }
        self.bytes += batch_bytes(&rows);
        let keys = self.parts.order_keys(&rows, keys, env)?;
        let runs = match &keys {
            Some(keys) => runs_of_equal(keys),
            None => std::iter::once(0..rows.num_rows()).collect(),
        };
        for run in runs {
            let key = keys.as_ref().map(|keys| keys.row(run.start).data());
            if self.count > 0 && self.last_key.as_deref() != key {
                self.end_group(env)?;
            }
            if self.last_key.as_deref() != key {
                self.last_key = key.map(<[u8]>::to_vec);
            }
            for call in self.calls.iter_mut().filter_map(Call::running) {
                call.add(run.clone(), env.eval())?;
            }
            self.count += run.len();
        }
        // Before the rows, which go to a file where there is no more memory.
        let calls: usize = self.calls.iter().map(Call::size_bytes).sum();
        self.held.resize(calls + self.blocks.size_bytes(), env.memory)?;
        match self.calls.iter_mut().any(|call| call.tail().is_some()) {
            true => self.add_to_blocks(&rows, env),
            false => self.rows.add(rows, env.memory, env.ctx),
        }
    }

    /// Adds rows so that a batch of the file ends where a block does.
    fn add_to_blocks(&mut self, rows: &RecordBatch, env: &Env<'_, '_>) -> Result<()> {
        let most = most_rows(batch_bytes(rows) / rows.num_rows().max(1), env);
        let mut given = 0;
        while given < rows.num_rows() {
            let count = self.blocks.room(most).min(rows.num_rows() - given);
            let part = rows.slice(given, count);
            given += count;
            for call in self.calls.iter_mut().filter_map(Call::tail) {
                call.add(&part, env.eval())?;
            }
            self.rows.add(part, env.memory, env.ctx)?;
            if self.blocks.add(count, most) {
                let mut tails = self.calls.iter_mut().filter_map(Call::tail);
                tails.try_for_each(TailCall::end_block)?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self, env: &Env<'_, '_>) -> Result<()> {
        self.ends.push(self.count as i64);
        let by_peers = self.calls.iter_mut().filter_map(|call| match call {
            Call::ByPeers(call) => Some(call),
            _ => None,
        });
        for (at, call) in by_peers.enumerate() {
            let value = call.value(env.eval())?;
            self.value_bytes += value.get_buffer_memory_size();
            if at == self.values.len() {
                self.values.push(Vec::new());
            }
            self.values[at].push(value);
        }
        if self.ends.len() >= BATCH_ROWS || self.value_bytes >= BATCH_BYTES / 8 {
            self.write_groups(env)?;
        }
        Ok(())
    }

    fn write_groups(&mut self, env: &Env<'_, '_>) -> Result<()> {
        let ends = std::mem::take(&mut self.ends);
        if ends.is_empty() {
            return Ok(());
        }
        let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(ends))];
        for values in &mut self.values {
            let arrays: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
            columns.push(concat(&arrays).map_err(arrow_error)?);
            values.clear();
        }
        self.value_bytes = 0;
        let rows = columns.first().map_or(0, |ends| ends.len());
        let field = |column: &ArrayRef| Field::new("", column.data_type().clone(), true);
        let schema: SchemaRef = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        self.groups
            .add(batch_of(&schema, columns, rows)?, env.memory, env.ctx)
    }

    /// All rows have been added.
    pub fn finish(mut self, env: &Env<'_, '_>) -> Result<Collected<'p>> {
        if self.count > 0 {
            self.end_group(env)?;
            self.write_groups(env)?;
        }
        self.blocks.finish();
        Ok(Collected {
            parts: self.parts,
            calls: self.calls,
            rows: Rc::new(self.rows.finish()?),
            count: self.count,
            bytes: self.bytes,
            groups: Rc::new(self.groups.finish()?),
            blocks: self.blocks,
            held: self.held,
        })
    }
}
