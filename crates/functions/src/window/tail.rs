//! Calls over frames that end with a partition which is too large to be in memory.
//!
//! The rows come in blocks. What a call gives for all rows from the start of each block to the end of the partition is
//! computed from the last block to the first one, and has the size of one value. To have it from a row on, the rows up to
//! the end of the row's block are put before it: so all values together take one more pass over the rows.
//!
//! Sums of doubles have other last digits than if the rows were added in their order.

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::interleave;
use arrow::record_batch::RecordBatch;
use types::{Error, Result};

use super::pieces::{RunningCall, aggregate_value};
use super::{CallValues, Partition, WindowCall, WindowFunction};
use crate::EvalContext;
use crate::aggregate::{Accumulator, AggregateCall};
use crate::eval::eval_array;

/// What a call gives for the last rows of a partition.
pub struct TailCall<'c> {
    call: &'c WindowCall,
    tails: Tails<'c>,
    /// The memory of the blocks that have ended.
    ended_bytes: usize,
}

enum Tails<'c> {
    /// Of each block and, once all rows have been added, of the blocks after it. After the last one: of no rows.
    Aggregate(&'c AggregateCall, Vec<Accumulator>),
    /// LAST_VALUE: the same for all rows.
    Last(RunningCall<'c>),
    /// FIRST_VALUE and NTH_VALUE: a row near the start of the frame.
    NearStart,
}

/// Where a frame starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TailStart {
    /// Its place among the rows in memory.
    pub row: usize,
    /// The row's block, and where that ends among the rows in memory.
    pub block: usize,
    pub block_end: usize,
}

impl<'c> TailCall<'c> {
    /// # Errors
    /// 1105 for a call that is not over frames.
    pub fn new(call: &'c WindowCall, ctx: &EvalContext) -> Result<Self> {
        let tails = match &call.function {
            WindowFunction::Aggregate(aggregate) => {
                Tails::Aggregate(aggregate, vec![Accumulator::new(aggregate)?])
            }
            WindowFunction::LastValue => Tails::Last(RunningCall::new(call, ctx)?),
            WindowFunction::FirstValue | WindowFunction::NthValue => Tails::NearStart,
            _ => return Err(Error::internal("a window function without a frame")),
        };
        Ok(Self {
            call,
            tails,
            ended_bytes: 0,
        })
    }

    /// Adds rows to the current block.
    ///
    /// # Errors
    /// Those of the arguments and of the aggregate.
    pub fn add(&mut self, rows: &RecordBatch, ctx: &EvalContext) -> Result<()> {
        match &mut self.tails {
            Tails::Aggregate(aggregate, blocks) => {
                let args = arguments(aggregate, rows, ctx)?;
                match blocks.last_mut() {
                    Some(block) => block.update(&args, rows.num_rows(), ctx),
                    None => Ok(()),
                }
            }
            Tails::Last(last) => {
                last.begin(rows, ctx)?;
                last.add(0..rows.num_rows(), ctx)
            }
            Tails::NearStart => Ok(()),
        }
    }

    /// The current block has all its rows. The rows that are added next are those of the next one.
    ///
    /// # Errors
    /// 1105.
    pub fn end_block(&mut self) -> Result<()> {
        if let Tails::Aggregate(aggregate, blocks) = &mut self.tails {
            self.ended_bytes += blocks.last().map_or(0, Accumulator::size_bytes);
            blocks.push(Accumulator::new(aggregate)?);
        }
        Ok(())
    }

    /// All blocks have been added.
    ///
    /// # Errors
    /// Those of the aggregate.
    pub fn finish(&mut self) -> Result<()> {
        let Tails::Aggregate(_, blocks) = &mut self.tails else {
            return Ok(());
        };
        for at in (1..blocks.len()).rev() {
            let (before, after) = blocks.split_at_mut(at);
            if let (Some(block), Some(next)) = (before.last_mut(), after.first()) {
                block.append(next)?;
            }
        }
        let ended = blocks.iter().rev().skip(1).map(Accumulator::size_bytes);
        self.ended_bytes = ended.sum();
        Ok(())
    }

    /// The values of rows whose frames end with the partition. `starts`: where those start, in order; `None` for one
    /// without rows. `rows`: those in memory, among which are the starts and the ends of their blocks.
    ///
    /// # Errors
    /// Those of the arguments and of the aggregate; 1317.
    pub fn values(
        &mut self,
        rows: &RecordBatch,
        starts: &[Option<TailStart>],
        ctx: &EvalContext,
    ) -> Result<ArrayRef> {
        match &mut self.tails {
            Tails::Aggregate(aggregate, blocks) => {
                aggregates(self.call, (*aggregate, blocks.as_slice()), rows, starts, ctx)
            }
            Tails::Last(last) => {
                let value = last.value(ctx)?;
                let none = new_null_array(value.data_type(), 1);
                let picks: Vec<(usize, usize)> = starts
                    .iter()
                    .map(|start| (usize::from(start.is_none()), 0))
                    .collect();
                interleave(&[value.as_ref(), none.as_ref()], &picks).map_err(Error::internal)
            }
            Tails::NearStart => {
                let end = rows.num_rows();
                let frames = starts
                    .iter()
                    .map(|start| start.as_ref().map_or(end..end, |start| start.row..end));
                let partition = Partition {
                    rows,
                    peers: &[],
                    frames: frames.collect(),
                };
                CallValues::new(self.call, &partition, ctx)?.next(0..starts.len(), ctx)
            }
        }
    }

    /// The memory of what it remembers.
    pub fn size_bytes(&self) -> usize {
        match &self.tails {
            Tails::Aggregate(_, blocks) => {
                let last = blocks.last().map_or(0, Accumulator::size_bytes);
                self.ended_bytes + last + blocks.len() * size_of::<Accumulator>()
            }
            Tails::Last(last) => last.size_bytes(),
            Tails::NearStart => 0,
        }
    }
}

/// From the last start to the first one: each value has the rows that the one after it has, and those before them.
fn aggregates(
    call: &WindowCall,
    (aggregate, blocks): (&AggregateCall, &[Accumulator]),
    rows: &RecordBatch,
    starts: &[Option<TailStart>],
    ctx: &EvalContext,
) -> Result<ArrayRef> {
    let mut known = starts.iter().flatten();
    // The rows before the first start are not read.
    let first = known.next().map_or(rows.num_rows(), |start| start.row);
    let args = arguments(aggregate, &rows.slice(first, rows.num_rows() - first), ctx)?;
    let of_no_rows = aggregate_value(&Accumulator::new(aggregate)?, &call.ty, ctx)?;
    let mut values = vec![of_no_rows];
    let mut picks = vec![(0, 0); starts.len()];
    let mut tail: Option<(TailStart, Accumulator)> = None;
    for (start, pick) in starts.iter().zip(&mut picks).rev() {
        let Some(start) = start else { continue };
        let later = tail.as_ref().filter(|(later, _)| later.block == start.block);
        if later.is_none_or(|(later, _)| later.row != start.row) {
            ctx.check_interrupted()?;
            let (end, after) = match later {
                Some((later, tail)) => (later.row, Some(tail)),
                None => (start.block_end, blocks.get(start.block + 1)),
            };
            let mut from_here = Accumulator::new(aggregate)?;
            let count = end.saturating_sub(start.row);
            let more: Vec<ArrayRef> = args
                .iter()
                .map(|arg| arg.slice(start.row - first, count))
                .collect();
            from_here.update(&more, count, ctx)?;
            after.map_or(Ok(()), |after| from_here.append(after))?;
            values.push(aggregate_value(&from_here, &call.ty, ctx)?);
            tail = Some((start.clone(), from_here));
        }
        *pick = (values.len() - 1, 0);
    }
    let arrays: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
    interleave(&arrays, &picks).map_err(Error::internal)
}

fn arguments(aggregate: &AggregateCall, rows: &RecordBatch, ctx: &EvalContext) -> Result<Vec<ArrayRef>> {
    aggregate
        .args
        .iter()
        .map(|arg| eval_array(arg, rows, ctx))
        .collect()
}
