//! A partition for which there is no memory: its rows are in a file, and are read a piece at a time.
//!
//! As the rows come, the groups of peers are found, and what calls give for them ([`PiecesBuilder`]). Then the rows
//! are read again, and the calls' values put beside them ([`Pieces`]). Which calls can be computed so,
//! [`functions::window::InPieces`] says.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt32Array};
use arrow::compute::{concat, concat_batches, interleave, take};
use arrow::datatypes::{Field, Int64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use functions::order::RowKeys;
use functions::window::{self, CallValues, FrameUnit, InPieces, Partition, Place, RunningCall, WindowCall};
use types::{Error, Result};

use super::parts::{WindowParts, runs_of_equal};
use crate::batch::{BATCH_BYTES, BATCH_ROWS, arrow_error, batch_bytes, batch_of};
use crate::env::Env;
use crate::memory::Held;
use crate::spill::{HeldRows, HeldRowsBuilder, HeldRowsReader};

/// The frames of rows, as positions among the rows in memory.
type Frames = Rc<[Range<usize>]>;

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
    held: Held,
}

enum Call<'p> {
    ByPosition(&'p WindowCall),
    ByRow(RunningCall<'p>),
    ByPeers(RunningCall<'p>),
    Once(RunningCall<'p>),
    Nearby(&'p WindowCall),
    Sliding(&'p WindowCall),
    Growing(RunningCall<'p>),
}

impl<'p> PiecesBuilder<'p> {
    /// `None`: a call of the window takes the whole partition.
    pub fn new(parts: WindowParts<'p>, env: &Env<'_, '_>) -> Result<Option<Self>> {
        let mut calls = Vec::with_capacity(parts.calls.len());
        for call in parts.calls {
            calls.push(match call.in_pieces(parts.frame, env.eval())? {
                None => return Ok(None),
                Some(InPieces::ByPosition) => Call::ByPosition(call),
                Some(InPieces::ByRow) => Call::ByRow(RunningCall::new(call, env.eval())?),
                Some(InPieces::ByPeers) => Call::ByPeers(RunningCall::new(call, env.eval())?),
                Some(InPieces::Once) => Call::Once(RunningCall::new(call, env.eval())?),
                Some(InPieces::Nearby { .. }) => Call::Nearby(call),
                Some(InPieces::Sliding) => Call::Sliding(call),
                Some(InPieces::Growing) => Call::Growing(RunningCall::new(call, env.eval())?),
            });
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
            held: Held::default(),
        }))
    }

    /// Adds rows in their order. `keys`: what makes the window's order.
    pub fn add(&mut self, rows: RecordBatch, keys: &RowKeys, env: &Env<'_, '_>) -> Result<()> {
        env.check_interrupted()?;
        for call in &mut self.calls {
            if let Call::ByPeers(call) | Call::Once(call) = call {
                call.begin(&rows, env.eval())?;
            }
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
            for call in &mut self.calls {
                if let Call::ByPeers(call) | Call::Once(call) = call {
                    call.add(run.clone(), env.eval())?;
                }
            }
            self.count += run.len();
        }
        let calls = self.calls.iter().map(|call| match call {
            Call::ByPeers(call) | Call::Once(call) => call.size_bytes(),
            _ => 0,
        });
        self.held.resize(calls.sum(), env.memory)?;
        self.rows.add(rows, env.memory, env.ctx)
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

    /// All rows have been added. `first_rows`: how many are computed first.
    pub fn finish(mut self, first_rows: usize, env: &Env<'_, '_>) -> Result<Pieces<'p>> {
        if self.count > 0 {
            self.end_group(env)?;
            self.write_groups(env)?;
        }
        let mut by_peers = 0;
        let mut values = Vec::with_capacity(self.calls.len());
        let (mut before, mut after) = (0, 0);
        for (call, planned) in self.calls.into_iter().zip(self.parts.calls) {
            values.push(match call {
                Call::ByPosition(call) => Values::ByPosition(call),
                Call::ByRow(call) => Values::ByRow(call),
                Call::ByPeers(_) => {
                    by_peers += 1;
                    Values::ByPeers(by_peers)
                }
                Call::Once(mut call) => Values::Once(call.value(env.eval())?),
                Call::Nearby(call) => Values::Nearby(call),
                Call::Sliding(call) => Values::Sliding(call),
                Call::Growing(call) => Values::Growing(call),
            });
            if let Some(InPieces::Nearby {
                before: rows_before,
                after: rows_after,
            }) = planned.in_pieces(self.parts.frame, env.eval())?
            {
                (before, after) = (before.max(rows_before), after.max(rows_after));
            }
        }
        let moves = |values: &Values<'_>| matches!(values, Values::Sliding(_) | Values::Growing(_));
        let mut held = self.held;
        held.resize(0, env.memory)?;
        let (rows, groups) = (Rc::new(self.rows.finish()?), Rc::new(self.groups.finish()?));
        Ok(Pieces {
            parts: self.parts,
            moving: values
                .iter()
                .any(moves)
                .then_some(MovingFrames { start: 0, added: 0 }),
            values,
            file_bytes: rows.held_bytes() + groups.held_bytes(),
            groups: Groups {
                file: groups.read()?,
                batch: None,
                at: 0,
                place: Place {
                    row: 0,
                    group: 0,
                    peers: 0..0,
                },
            },
            rows: rows.read()?,
            nearby: Vec::new(),
            first: 0,
            before,
            after,
            given: 0,
            count: self.count,
            step: first_rows.min(most_rows(self.bytes / self.count.max(1), env)),
            held,
        })
    }
}

/// The rows of a partition, with the values of the calls.
pub(super) struct Pieces<'p> {
    parts: WindowParts<'p>,
    values: Vec<Values<'p>>,
    rows: HeldRowsReader,
    groups: Groups,
    /// What `rows` and `groups` hold of the statement's memory.
    file_bytes: usize,
    /// The rows around those that are given next, and the place of the first of them in the partition.
    nearby: Vec<RecordBatch>,
    first: usize,
    /// How many rows before and after the current one are needed.
    before: usize,
    after: usize,
    /// Set if a call needs the frames of rows.
    moving: Option<MovingFrames>,
    given: usize,
    count: usize,
    /// How many rows to compute next.
    step: usize,
    held: Held,
}

/// Frames of which neither edge moves back, by places in the partition.
struct MovingFrames {
    /// Where the frame of the last given row starts.
    start: usize,
    /// How many rows the calls that grow have taken.
    added: usize,
}

enum Values<'p> {
    ByPosition(&'p WindowCall),
    ByRow(RunningCall<'p>),
    /// The column of the groups.
    ByPeers(usize),
    Once(ArrayRef),
    Nearby(&'p WindowCall),
    Sliding(&'p WindowCall),
    Growing(RunningCall<'p>),
}

/// The groups of peers, one after the other.
struct Groups {
    file: HeldRowsReader,
    /// The groups that have been read, and which of them is the current one.
    batch: Option<RecordBatch>,
    at: usize,
    /// The current row.
    place: Place,
}

impl Pieces<'_> {
    pub fn is_done(&self) -> bool {
        self.given == self.count
    }

    /// Returns the memory that it holds.
    pub fn close(mut self, env: &Env<'_, '_>) -> Result<()> {
        env.memory.shrink(self.file_bytes);
        self.held.resize(0, env.memory)
    }

    /// The next rows with the values of the calls.
    pub fn next(
        &mut self,
        wanted: usize,
        (schema, keys): (&SchemaRef, &RowKeys),
        env: &Env<'_, '_>,
    ) -> Result<RecordBatch> {
        env.check_interrupted()?;
        let rows = wanted.min(self.step).min(self.count - self.given);
        let mut nearby = self.read(rows.saturating_add(self.after), env)?;
        let (mut frames, mut settled): (Frames, usize) = (Rc::default(), usize::MAX);
        if self.moving.is_some() {
            (nearby, frames, settled) = self.read_frames(nearby, keys, env)?;
        }
        let now = self.given - self.first;
        let rows = rows.min(nearby.num_rows() - now).min(settled);
        let now = now..now + rows;
        let (places, picks, groups) = self.groups.next(rows)?;
        let piece = nearby.slice(now.start, rows);
        let mut columns = piece.columns().to_vec();
        let mut bytes = batch_bytes(&nearby);
        for values in &mut self.values {
            columns.push(match values {
                Values::ByPosition(call) => {
                    window::position_values(call, places.iter().cloned(), self.count, env.eval())?
                }
                Values::ByRow(call) => {
                    let values = by_row(call, &piece, env)?;
                    bytes += call.size_bytes();
                    values
                }
                Values::ByPeers(column) => {
                    let arrays: Vec<&dyn Array> = groups.iter().map(|g| g.column(*column).as_ref()).collect();
                    interleave(&arrays, &picks).map_err(arrow_error)?
                }
                Values::Once(value) => {
                    let first = UInt32Array::from(vec![0; rows]);
                    take(value, &first, None).map_err(arrow_error)?
                }
                Values::Nearby(call) => nearby_values(call, &self.parts, &nearby, now.clone(), env)?,
                Values::Sliding(call) => {
                    let partition = Partition {
                        rows: &nearby,
                        peers: &[],
                        frames: Rc::clone(&frames),
                    };
                    CallValues::new(call, &partition, env.eval())?.next(now.clone(), env.eval())?
                }
                Values::Growing(call) => {
                    let added = self.moving.as_ref().map_or(0, |moving| moving.added);
                    let ends = frames.get(now.clone()).unwrap_or_default();
                    let values = growing(call, &nearby, (added.saturating_sub(self.first), ends), env)?;
                    bytes += call.size_bytes();
                    values
                }
            });
        }
        self.held.resize(bytes, env.memory)?;
        self.given += rows;
        let last = now.end.checked_sub(1).and_then(|last| frames.get(last));
        if let (Some(moving), Some(last)) = (&mut self.moving, last) {
            moving.start = self.first + last.start;
            moving.added = moving.added.max(self.first + last.end);
        }
        let batch = batch_of(schema, columns, rows)?;
        let row_bytes = batch_bytes(&batch) / rows.max(1);
        let most = self.step.saturating_mul(4).min(BATCH_ROWS);
        self.step = most_rows(row_bytes, env).min(most);
        Ok(batch)
    }

    /// The rows around the next one: `ahead` of them from it on, if there are so many.
    fn read(&mut self, ahead: usize, env: &Env<'_, '_>) -> Result<RecordBatch> {
        let mut end = self.first + self.nearby.iter().map(RecordBatch::num_rows).sum::<usize>();
        while end < self.count.min(self.given.saturating_add(ahead)) {
            let Some(batch) = self.rows.next()? else {
                return Err(Error::internal("a partition has fewer rows than were counted"));
            };
            end += batch.num_rows();
            self.nearby.push(batch);
            env.check_interrupted()?;
        }
        let needless = self.needed_from().saturating_sub(self.first);
        let all = match self.nearby.as_slice() {
            [one] => one.clone(),
            several => match several.first() {
                Some(first) => concat_batches(first.schema_ref(), several).map_err(arrow_error)?,
                None => return Err(Error::internal("a partition without rows")),
            },
        };
        let all = all.slice(needless, all.num_rows() - needless);
        self.first += needless;
        self.nearby = vec![all.clone()];
        Ok(all)
    }
}

impl Pieces<'_> {
    /// The first row of the partition that a later call takes.
    fn needed_from(&self) -> usize {
        let of_counts = self.given.saturating_sub(self.before);
        let slides = |values: &Values<'_>| matches!(values, Values::Sliding(_));
        let grows = |values: &Values<'_>| matches!(values, Values::Growing(_));
        match &self.moving {
            None => of_counts,
            Some(moving) => {
                let slid = self.values.iter().any(slides).then_some(moving.start);
                let grown = self.values.iter().any(grows).then_some(moving.added);
                slid.into_iter().chain(grown).fold(of_counts, usize::min)
            }
        }
    }

    /// Reads on until the frame of the next row ends among the rows in memory. These, with their frames, and how many
    /// of the next rows have their frame among them.
    fn read_frames(
        &mut self,
        mut nearby: RecordBatch,
        keys: &RowKeys,
        env: &Env<'_, '_>,
    ) -> Result<(RecordBatch, Frames, usize)> {
        loop {
            self.held.resize(batch_bytes(&nearby), env.memory)?;
            let frames = self.parts.frames(&nearby, keys, env)?;
            let now = self.given - self.first;
            let next = frames.get(now..).unwrap_or_default();
            let is_end = self.first + nearby.num_rows() == self.count;
            let is_settled = |frame: &&Range<usize>| is_end || frame.end < nearby.num_rows();
            let settled = next.iter().take_while(is_settled).count();
            if settled > 0 {
                return Ok((nearby, frames.into(), settled));
            }
            // Twice as many each time, because all frames are computed again.
            nearby = self.read(nearby.num_rows().saturating_mul(2), env)?;
        }
    }
}

/// The values of a call that takes all rows up to the end of each row's frame. `added`: how many of the nearby rows it
/// has taken.
fn growing(
    call: &mut RunningCall<'_>,
    nearby: &RecordBatch,
    (mut added, frames): (usize, &[Range<usize>]),
    env: &Env<'_, '_>,
) -> Result<ArrayRef> {
    call.begin(nearby, env.eval())?;
    let mut values: Vec<ArrayRef> = Vec::new();
    let mut picks = Vec::with_capacity(frames.len());
    for frame in frames {
        if frame.end > added || values.is_empty() {
            call.add(added..frame.end.max(added), env.eval())?;
            added = added.max(frame.end);
            values.push(call.value(env.eval())?);
        }
        picks.push((values.len() - 1, 0));
    }
    let arrays: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    interleave(&arrays, &picks).map_err(arrow_error)
}

/// How many rows of a size are computed at a time.
fn most_rows(row_bytes: usize, env: &Env<'_, '_>) -> usize {
    let bytes = BATCH_BYTES.min(env.ctx.memory_limit_bytes / 32);
    (bytes / row_bytes.max(1)).clamp(1, BATCH_ROWS)
}

fn by_row(call: &mut RunningCall<'_>, rows: &RecordBatch, env: &Env<'_, '_>) -> Result<ArrayRef> {
    call.begin(rows, env.eval())?;
    let mut values = Vec::with_capacity(rows.num_rows());
    for row in 0..rows.num_rows() {
        call.add(row..row + 1, env.eval())?;
        values.push(call.value(env.eval())?);
    }
    let arrays: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    concat(&arrays).map_err(arrow_error)
}

/// The values of a call for the rows `now`, which takes no others than those in `nearby`.
fn nearby_values(
    call: &WindowCall,
    parts: &WindowParts<'_>,
    nearby: &RecordBatch,
    now: Range<usize>,
    env: &Env<'_, '_>,
) -> Result<ArrayRef> {
    let all = 0..nearby.num_rows();
    let all = std::slice::from_ref(&all);
    // LEAD and LAG have no frames, and those of the others are numbers of rows.
    let frames = match parts.frame.unit {
        FrameUnit::Rows => window::frames(parts.frame, nearby, all, None, env.eval())?,
        FrameUnit::Range => Vec::new(),
    };
    let partition = Partition {
        rows: nearby,
        peers: all,
        frames: frames.into(),
    };
    CallValues::new(call, &partition, env.eval())?.next(now, env.eval())
}

/// The places of rows, where their groups are, as (batch, row), and the batches of groups.
type RowGroups = (Vec<Place>, Vec<(usize, usize)>, Vec<RecordBatch>);

impl Groups {
    /// For the next `rows` rows.
    fn next(&mut self, rows: usize) -> Result<RowGroups> {
        let mut batches: Vec<RecordBatch> = self.batch.iter().cloned().collect();
        let (mut places, mut picks) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for _ in 0..rows {
            while self.place.row >= self.place.peers.end {
                self.next_group(&mut batches)?;
            }
            places.push(self.place.clone());
            picks.push((batches.len() - 1, self.at));
            self.place.row += 1;
        }
        Ok((places, picks, batches))
    }

    fn next_group(&mut self, batches: &mut Vec<RecordBatch>) -> Result<()> {
        self.place.group += usize::from(self.place.peers.end > 0);
        self.at += 1;
        if self
            .batch
            .as_ref()
            .is_none_or(|batch| self.at >= batch.num_rows())
        {
            let batch = self.file.next()?;
            let batch =
                batch.ok_or_else(|| Error::internal("a partition has fewer groups than were found"))?;
            self.at = 0;
            batches.push(batch.clone());
            self.batch = Some(batch);
        }
        let ends = self
            .batch
            .as_ref()
            .and_then(|batch| batch.column(0).as_primitive_opt::<Int64Type>());
        let end = ends.map_or(0, |ends| ends.value(self.at));
        self.place.peers = self.place.peers.end..usize::try_from(end).unwrap_or_default();
        Ok(())
    }
}
