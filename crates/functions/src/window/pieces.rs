//! Calls over a partition that is too large to be in memory: its rows come in pieces, twice. The first time, what
//! calls give is computed that takes rows after the current one ([`RunningCall`]); the second time the rest.
//!
//! Not all calls can be computed so: [`WindowCall::in_pieces`].

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, UInt64Array};
use arrow::record_batch::RecordBatch;
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType};

use super::{Frame, FrameBound, FrameUnit, WindowCall, WindowFunction};
use crate::EvalContext;
use crate::aggregate::{Accumulator, AggregateCall};
use crate::datum::Datum;
use crate::eval::output::{append, finish_array};
use crate::eval::{eval_array, eval_value};

/// How the values of a call are computed if the rows come in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPieces {
    /// From the row's place: [`position_values`].
    ByPosition,
    /// From the rows up to the current one.
    ByRow,
    /// From the rows up to the last peer of the current one.
    ByPeers,
    /// From all rows: one value.
    Once,
    /// From so many rows before the current one and after it.
    Nearby { before: usize, after: usize },
    /// From the rows of the frame, which are in memory. With `ahead`, frames may end with the partition: then from the
    /// first rows, so many, and from what [`super::TailCall`] gives for all of them.
    Sliding { ahead: Option<usize> },
    /// From the rows up to the last one of the frame, which is near the current one, or the partition's last one.
    Growing { reaches_end: bool },
}

/// The most rows around the current one that are held for calls that take a number of rows.
const NEARBY_ROWS: usize = 8192;

impl WindowCall {
    /// How the call's values are computed in pieces; `None` if that takes the whole partition.
    ///
    /// # Errors
    /// Those of the expressions that say how many rows the call or its frame takes.
    pub fn in_pieces(&self, frame: &Frame, ctx: &EvalContext) -> Result<Option<InPieces>> {
        let frame_extent = of_frame(frame, ctx)?;
        let reaches_end = matches!(frame_extent, Some(InPieces::Sliding { ahead: Some(_) }));
        let here = InPieces::Nearby { before: 0, after: 0 };
        let offset = || {
            let count = self.function.row_count(&self.args);
            count.map_or(Ok(1), |count| self.function.count(count, ctx))
        };
        Ok(match &self.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist
            | WindowFunction::Ntile => Some(InPieces::ByPosition),
            WindowFunction::Lead => nearby(0, offset()?),
            WindowFunction::Lag => nearby(offset()?, 0),
            WindowFunction::FirstValue => match frame_extent {
                // The first row of the partition is in all frames.
                Some(InPieces::ByRow | InPieces::ByPeers) => Some(InPieces::Once),
                extent => extent,
            },
            WindowFunction::LastValue => match frame_extent {
                Some(InPieces::ByRow) => Some(here),
                extent => extent,
            },
            WindowFunction::NthValue if reaches_end => {
                let ahead = offset()?;
                (ahead <= NEARBY_ROWS).then_some(InPieces::Sliding { ahead: Some(ahead) })
            }
            // Their values are as large as the frame.
            WindowFunction::Aggregate(call) if reaches_end && !call.function.has_small_state() => None,
            WindowFunction::NthValue | WindowFunction::Aggregate(_) => frame_extent,
        })
    }
}

fn nearby(before: usize, after: usize) -> Option<InPieces> {
    (before.saturating_add(after) <= NEARBY_ROWS).then_some(InPieces::Nearby { before, after })
}

fn of_frame(frame: &Frame, ctx: &EvalContext) -> Result<Option<InPieces>> {
    use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
    let rows = |bound: &FrameBound| match bound {
        Preceding(count) | Following(count) => {
            Ok(usize::try_from(eval_value(count, ctx)?.as_u64().unwrap_or(u64::MAX)).unwrap_or(usize::MAX))
        }
        _ => Ok::<usize, Error>(0),
    };
    // A date that cannot be moved may have its edge after all rows.
    let is_moved_date = |bound: &FrameBound| match bound {
        Preceding(edge) | Following(edge) => frame.unit == FrameUnit::Range && edge.ty().is_temporal(),
        _ => false,
    };
    Ok(match (frame.unit, &frame.start, &frame.end) {
        (_, UnboundedPreceding, UnboundedFollowing) => Some(InPieces::Once),
        (FrameUnit::Rows, UnboundedPreceding, CurrentRow) => Some(InPieces::ByRow),
        (FrameUnit::Range, UnboundedPreceding, CurrentRow) => Some(InPieces::ByPeers),
        (
            FrameUnit::Rows,
            CurrentRow | Preceding(_) | Following(_),
            CurrentRow | Preceding(_) | Following(_),
        ) => {
            let (start, end) = (rows(&frame.start)?, rows(&frame.end)?);
            let most = start.max(end);
            nearby(most, most).or(Some(InPieces::Sliding { ahead: None }))
        }
        (_, UnboundedPreceding, end @ (Preceding(_) | Following(_))) => Some(InPieces::Growing {
            reaches_end: is_moved_date(end),
        }),
        (
            FrameUnit::Range,
            start @ (CurrentRow | Preceding(_) | Following(_)),
            end @ (CurrentRow | Preceding(_) | Following(_)),
        ) => {
            let reaches_end = is_moved_date(start) || is_moved_date(end);
            let ahead = reaches_end.then_some(1);
            Some(InPieces::Sliding { ahead })
        }
        (_, CurrentRow | Preceding(_) | Following(_), UnboundedFollowing) => {
            Some(InPieces::Sliding { ahead: Some(1) })
        }
        (_, UnboundedFollowing, _) | (_, _, UnboundedPreceding) => None,
    })
}

/// What the calls of [`InPieces::ByRow`], [`InPieces::ByPeers`], [`InPieces::Once`] and [`InPieces::Growing`] give for the rows that have
/// been added so far.
pub struct RunningCall<'c> {
    call: &'c WindowCall,
    /// Of the rows that are being added.
    args: Vec<ArrayRef>,
    state: State<'c>,
}

enum State<'c> {
    Aggregate(&'c AggregateCall, Box<Accumulator>),
    First(Option<ArrayRef>),
    Last(Option<ArrayRef>),
    /// How many rows come up to the wanted one.
    Nth(usize, Option<ArrayRef>),
}

impl<'c> RunningCall<'c> {
    /// # Errors
    /// 1105 for another call; those of the expression that says which row NTH_VALUE takes.
    pub fn new(call: &'c WindowCall, ctx: &EvalContext) -> Result<Self> {
        let state = match &call.function {
            WindowFunction::Aggregate(aggregate) => {
                State::Aggregate(aggregate, Box::new(Accumulator::new(aggregate)?))
            }
            WindowFunction::FirstValue => State::First(None),
            WindowFunction::LastValue => State::Last(None),
            WindowFunction::NthValue => {
                let nth = call.function.row_count(&call.args);
                State::Nth(nth.map_or(Ok(1), |nth| call.function.count(nth, ctx))?, None)
            }
            _ => {
                return Err(Error::internal(
                    "a window function that does not grow with its rows",
                ));
            }
        };
        Ok(Self {
            call,
            args: Vec::new(),
            state,
        })
    }

    /// Takes the rows of which [`Self::add`] adds ranges.
    ///
    /// # Errors
    /// Those of the arguments.
    pub fn begin(&mut self, rows: &RecordBatch, ctx: &EvalContext) -> Result<()> {
        let args = match &self.state {
            State::Aggregate(aggregate, _) => &aggregate.args,
            State::First(_) | State::Last(_) | State::Nth(..) => &self.call.args,
        };
        let args = args.iter().map(|arg| eval_array(arg, rows, ctx));
        self.args = args.collect::<Result<_>>()?;
        Ok(())
    }

    /// # Errors
    /// Those of the aggregate.
    pub fn add(&mut self, rows: Range<usize>, ctx: &EvalContext) -> Result<()> {
        let Some(last) = rows.len().checked_sub(1) else {
            return Ok(());
        };
        let one = |at: usize| self.args.first().map(|arg| arg.slice(at, 1));
        match &mut self.state {
            State::Aggregate(_, accumulator) => {
                let args = self.args.iter().map(|arg| arg.slice(rows.start, rows.len()));
                accumulator.update(&args.collect::<Vec<_>>(), rows.len(), ctx)?;
            }
            State::First(Some(_)) => {}
            State::First(value) => *value = one(rows.start),
            State::Last(value) => *value = one(rows.start + last),
            State::Nth(_, Some(_)) => {}
            State::Nth(left, value) => match left.checked_sub(rows.len()) {
                None | Some(0) => *value = one(rows.start + left.saturating_sub(1)),
                Some(more) => *left = more,
            },
        }
        Ok(())
    }

    /// The value for the rows so far: an array of one row.
    ///
    /// # Errors
    /// Those of the aggregate.
    pub fn value(&mut self, ctx: &EvalContext) -> Result<ArrayRef> {
        let ty = &self.call.ty;
        let value = match &mut self.state {
            State::Aggregate(_, accumulator) => return aggregate_value(accumulator, ty, ctx),
            State::First(Some(value)) | State::Last(Some(value)) | State::Nth(_, Some(value)) => {
                Arc::clone(value)
            }
            State::First(None) | State::Last(None) | State::Nth(_, None) => {
                arrow::array::new_null_array(&ty.arrow_type(), 1)
            }
        };
        finish_array(value, ty)
    }

    /// The memory of what it remembers.
    pub fn size_bytes(&self) -> usize {
        match &self.state {
            State::Aggregate(_, accumulator) => accumulator.size_bytes(),
            State::First(value) | State::Last(value) | State::Nth(_, value) => {
                value.as_ref().map_or(0, |value| value.get_buffer_memory_size())
            }
        }
    }
}

/// An aggregate's value in a call's type: an array of one row.
pub(super) fn aggregate_value(
    accumulator: &Accumulator,
    ty: &SqlType,
    ctx: &EvalContext,
) -> Result<ArrayRef> {
    let value = accumulator.evaluate(ctx)?;
    let mut out = ColumnBuilder::new(ty, 1);
    append(&mut out, Datum::of(&value), ty)?;
    finish_array(out.finish(), ty)
}

/// The place of a row in its partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub row: usize,
    /// How many groups of peers come before the row's.
    pub group: usize,
    /// The rows of its group.
    pub peers: Range<usize>,
}

/// The values of a function that depends on places only. `rows`: how many the partition has.
///
/// # Errors
/// 1210 for a wrong number of buckets; 1105 for another function.
pub fn position_values(
    call: &WindowCall,
    places: impl Iterator<Item = Place>,
    rows: usize,
    ctx: &EvalContext,
) -> Result<ArrayRef> {
    let fraction = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    let values: ArrayRef = match call.function {
        WindowFunction::RowNumber => numbers(places, |place| place.row + 1),
        WindowFunction::Rank => numbers(places, |place| place.peers.start + 1),
        WindowFunction::DenseRank => numbers(places, |place| place.group + 1),
        WindowFunction::PercentRank => {
            let others = rows.saturating_sub(1);
            Arc::new(Float64Array::from_iter_values(
                places.map(|place| fraction(place.peers.start, others)),
            ))
        }
        WindowFunction::CumeDist => Arc::new(Float64Array::from_iter_values(
            places.map(|place| fraction(place.peers.end, rows)),
        )),
        WindowFunction::Ntile => {
            let count = call.function.row_count(&call.args);
            let count = count.map_or(Ok(1), |count| call.function.count(count, ctx))?;
            numbers(places, |place| bucket(place.row, rows, count))
        }
        _ => return Err(Error::internal("a window function of more than the row's place")),
    };
    finish_array(values, &call.ty)
}

fn numbers(places: impl Iterator<Item = Place>, of: impl Fn(&Place) -> usize) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(
        places.map(|place| of(&place) as u64),
    ))
}

/// NTILE: buckets of equal size. If there is a remainder, the first ones have one row more.
fn bucket(row: usize, rows: usize, count: usize) -> usize {
    let (size, larger) = (rows / count, rows % count);
    let in_larger = larger * (size + 1);
    1 + match row.checked_sub(in_larger) {
        None => row / (size + 1),
        Some(rest) => larger + rest / size.max(1),
    }
}
