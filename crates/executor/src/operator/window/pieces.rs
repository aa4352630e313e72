//! A partition for which there is no memory: its rows are in a file, and are read a piece at a time.
//!
//! As the rows come, the groups of peers are found, and what calls give for them ([`super::collect`]). Then the rows
//! are read again, and the calls' values put beside them ([`Pieces`]). Which calls can be computed so,
//! [`functions::window::InPieces`] says.

use std::ops::Range;
use std::rc::Rc;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::{concat, concat_batches, interleave, take};
use arrow::datatypes::{Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use functions::order::RowKeys;
use functions::window::{
    self, CallValues, FrameUnit, InPieces, Partition, Place, RunningCall, TailCall, WindowCall,
};
use types::{Error, Result};

use super::collect::{Call, Collected};
use super::moving::{MovingFrames, NextFrames};
use super::parts::{WindowParts, most_rows};
use crate::batch::{BATCH_ROWS, arrow_error, batch_bytes, batch_of};
use crate::env::Env;
use crate::memory::Held;
use crate::spill::HeldRowsReader;

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
    /// The memory of what is known of frames that end with the partition.
    tail_bytes: usize,
    given: usize,
    count: usize,
    /// How many rows to compute next.
    step: usize,
    held: Held,
}

enum Values<'p> {
    ByPosition(&'p WindowCall),
    ByRow(RunningCall<'p>),
    /// The column of the groups.
    ByPeers(usize),
    Once(ArrayRef),
    Nearby(&'p WindowCall),
    Sliding(&'p WindowCall, Option<TailCall<'p>>),
    /// With the value for all rows.
    Growing(RunningCall<'p>, Option<ArrayRef>),
}

impl<'p> Values<'p> {
    /// Of a call that has taken all rows. `by_peers`: the last column of the groups that calls have.
    fn new(call: Call<'p>, by_peers: &mut usize, env: &Env<'_, '_>) -> Result<Self> {
        Ok(match call {
            Call::ByPosition(call) => Self::ByPosition(call),
            Call::ByRow(call) => Self::ByRow(call),
            Call::ByPeers(_) => {
                *by_peers += 1;
                Self::ByPeers(*by_peers)
            }
            Call::Once(mut call) => Self::Once(call.value(env.eval())?),
            Call::Nearby(call) => Self::Nearby(call),
            Call::Sliding(call, mut tail) => {
                tail.as_mut().map_or(Ok(()), TailCall::finish)?;
                Self::Sliding(call, tail)
            }
            Call::Growing(call, whole) => {
                let whole = whole.map(|mut whole| whole.value(env.eval())).transpose()?;
                Self::Growing(call, whole)
            }
        })
    }

    /// The memory of what a call knows of frames that end with the partition.
    fn tail_bytes(&self) -> usize {
        match self {
            Self::Sliding(_, Some(tail)) => tail.size_bytes(),
            _ => 0,
        }
    }
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

impl<'p> Pieces<'p> {
    /// `first_rows`: how many are computed first.
    pub fn new(collected: Collected<'p>, first_rows: usize, env: &Env<'_, '_>) -> Result<Self> {
        let Collected {
            parts, rows, groups, ..
        } = collected;
        let mut by_peers = 0;
        let mut values = Vec::with_capacity(collected.calls.len());
        for call in collected.calls {
            values.push(Values::new(call, &mut by_peers, env)?);
        }
        let (mut before, mut after, mut ahead) = (0, 0, None);
        for call in parts.calls {
            match call.in_pieces(parts.frame, env.eval())? {
                Some(InPieces::Nearby {
                    before: rows_before,
                    after: rows_after,
                }) => (before, after) = (before.max(rows_before), after.max(rows_after)),
                Some(InPieces::Sliding { ahead: rows_ahead }) => ahead = ahead.max(rows_ahead),
                Some(InPieces::Growing { reaches_end: true }) => ahead = ahead.max(Some(0)),
                _ => {}
            }
        }
        let tail_bytes = collected.blocks.size_bytes() + values.iter().map(Values::tail_bytes).sum::<usize>();
        let mut held = collected.held;
        held.resize(tail_bytes, env.memory)?;
        let moves = |values: &Values<'_>| matches!(values, Values::Sliding(..) | Values::Growing(..));
        Ok(Self {
            parts,
            moving: values.iter().any(moves).then_some(MovingFrames {
                last: 0..0,
                ahead,
                blocks: collected.blocks,
            }),
            values,
            tail_bytes,
            file_bytes: rows.held_bytes() + groups.held_bytes(),
            groups: Groups::new(groups.read()?),
            rows: rows.read()?,
            nearby: Vec::new(),
            first: 0,
            before,
            after,
            given: 0,
            count: collected.count,
            step: first_rows.min(most_rows(collected.bytes / collected.count.max(1), env)),
            held,
        })
    }

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
        let mut moved = NextFrames::default();
        if self.moving.is_some() {
            (nearby, moved) = self.read_frames(nearby, keys, env)?;
        }
        let now = self.given - self.first;
        let mut rows = rows.min(nearby.num_rows() - now);
        if self.moving.is_some() {
            rows = rows.min(moved.frames.len());
        }
        let now = now..now + rows;
        let (places, picks, groups) = self.groups.next(rows)?;
        let piece = nearby.slice(now.start, rows);
        let mut columns = piece.columns().to_vec();
        let mut bytes = batch_bytes(&nearby) + self.tail_bytes;
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
                Values::Once(value) => repeated(value, rows)?,
                Values::Nearby(call) => nearby_values(call, &self.parts, &nearby, now.clone(), env)?,
                Values::Sliding(_, Some(tail)) if moved.at_end => {
                    tail.values(&nearby, moved.starts.get(..rows).unwrap_or_default(), env.eval())?
                }
                Values::Sliding(call, _) => {
                    let partition = Partition {
                        rows: &nearby,
                        peers: &[],
                        frames: Rc::clone(&moved.frames),
                    };
                    CallValues::new(call, &partition, env.eval())?.next(0..rows, env.eval())?
                }
                Values::Growing(_, Some(whole)) if moved.at_end => repeated(whole, rows)?,
                Values::Growing(call, _) => {
                    let added = self.moving.as_ref().map_or(0, |moving| moving.last.end);
                    let ends = moved.frames.get(..rows).unwrap_or_default();
                    let values = growing(call, &nearby, (added.saturating_sub(self.first), ends), env)?;
                    bytes += call.size_bytes();
                    values
                }
            });
        }
        self.held.resize(bytes, env.memory)?;
        self.given += rows;
        if let Some(moving) = &mut self.moving {
            moving.pass(&moved, rows, self.first);
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
        let slides = |values: &Values<'_>| matches!(values, Values::Sliding(..));
        let grows = |values: &Values<'_>| matches!(values, Values::Growing(..));
        match &self.moving {
            None => of_counts,
            Some(moving) => {
                let slid = self.values.iter().any(slides).then_some(moving.last.start);
                let grown = self.values.iter().any(grows).then_some(moving.last.end);
                slid.into_iter().chain(grown).fold(of_counts, usize::min)
            }
        }
    }

    /// Reads on until what the frame of the next row needs is among the rows in memory. These, and the frames of as many
    /// of the next rows as have them there.
    fn read_frames(
        &mut self,
        mut nearby: RecordBatch,
        keys: &RowKeys,
        env: &Env<'_, '_>,
    ) -> Result<(RecordBatch, NextFrames)> {
        loop {
            self.held
                .resize(batch_bytes(&nearby) + self.tail_bytes, env.memory)?;
            let end = self.count - self.first;
            let peers = self.parts.peers(&nearby, keys, env)?;
            let frames = self.parts.frames(&nearby, &peers, end, env)?;
            let next = frames.get(self.given - self.first..).unwrap_or_default();
            if let Some(moving) = &self.moving {
                let moved = moving.next_frames(next, nearby.num_rows(), (self.first, end));
                if !moved.frames.is_empty() {
                    return Ok((nearby, moved));
                }
            }
            // Twice as many each time, because all frames are computed again.
            nearby = self.read(nearby.num_rows().saturating_mul(2), env)?;
        }
    }
}

/// An array of one row, so many times.
fn repeated(value: &ArrayRef, rows: usize) -> Result<ArrayRef> {
    let first = UInt32Array::from(vec![0; rows]);
    take(value, &first, None).map_err(arrow_error)
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
        FrameUnit::Rows => window::frames(parts.frame, nearby, all, None, nearby.num_rows(), env.eval())?,
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
    fn new(file: HeldRowsReader) -> Self {
        Self {
            file,
            batch: None,
            at: 0,
            place: Place {
                row: 0,
                group: 0,
                peers: 0..0,
            },
        }
    }

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
