//! The values of a window function's call over one partition, computed some rows at a time, because each
//! value may be as large as the partition.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, UInt64Array};
use arrow::compute::{interleave, take};
use types::{Error, Result};

use super::partition::Partition;
use super::source::{Source, pick};
use super::{WindowCall, WindowFunction, aggregate};
use crate::eval::eval_array;
use crate::eval::output::finish_array;
use crate::{EvalContext, Expr};

/// The values of one call, computed on request.
pub struct CallValues<'c> {
    call: &'c WindowCall,
    source: Source<'c>,
    /// The arguments are columns of the partition and not separate arrays.
    shares_columns: bool,
}

impl<'c> CallValues<'c> {
    /// Of a call over a partition.
    ///
    /// # Errors
    /// Those of the arguments.
    pub fn new(call: &'c WindowCall, partition: &Partition<'_>, ctx: &EvalContext) -> Result<Self> {
        let rows = partition.rows.num_rows();
        let source = match &call.function {
            WindowFunction::RowNumber => made(UInt64Array::from_iter_values(1..=rows as u64)),
            WindowFunction::Rank => numbers(partition, |_, peers| peers.start as u64 + 1),
            WindowFunction::DenseRank => numbers(partition, |group, _| group as u64 + 1),
            WindowFunction::PercentRank => fractions(partition, rows.saturating_sub(1), |peers| peers.start),
            WindowFunction::CumeDist => fractions(partition, rows, |peers| peers.end),
            WindowFunction::Ntile => buckets(rows, count(call, ctx)?.unwrap_or(1)),
            WindowFunction::Lead => {
                let offset = count(call, ctx)?.unwrap_or(1);
                other_rows(call, partition, ctx, |row| {
                    row.checked_add(offset).filter(|other| *other < rows)
                })?
            }
            WindowFunction::Lag => {
                let offset = count(call, ctx)?.unwrap_or(1);
                other_rows(call, partition, ctx, |row| row.checked_sub(offset))?
            }
            WindowFunction::FirstValue => of_frames(call, partition, ctx, |frame| Some(frame.start))?,
            WindowFunction::LastValue => of_frames(call, partition, ctx, |frame| frame.end.checked_sub(1))?,
            WindowFunction::NthValue => {
                let nth = count(call, ctx)?.unwrap_or(1);
                of_frames(call, partition, ctx, |frame| frame.start.checked_add(nth - 1))?
            }
            WindowFunction::Aggregate(aggregate) => aggregate::source(aggregate, &call.ty, partition, ctx)?,
        };
        let mut shares_columns = true;
        call.expressions(&mut |arg| shares_columns &= matches!(arg, Expr::Column { .. }));
        Ok(Self {
            call,
            source,
            shares_columns,
        })
    }

    /// The values of the next rows, in the call's type. `rows` follow those of the last request.
    ///
    /// # Errors
    /// Those of aggregates; 1317.
    pub fn next(&mut self, rows: Range<usize>, ctx: &EvalContext) -> Result<ArrayRef> {
        let values = match &mut self.source {
            Source::Made(values) => values.slice(rows.start, rows.len()),
            Source::Picked(values, of_rows) => {
                take(values.as_ref(), &of_rows.slice(rows.start, rows.len()), None)
                    .map_err(Error::internal)?
            }
            Source::Chosen([first, second], sources) => {
                let sources = sources.get(rows).unwrap_or_default();
                interleave(&[first.as_ref(), second.as_ref()], sources).map_err(Error::internal)?
            }
            Source::Accumulated(accumulated) => accumulated.next(rows, ctx)?,
        };
        finish_array(values, &self.call.ty)
    }

    /// The memory that is held for the remaining rows, besides the partition.
    pub fn size_bytes(&self) -> usize {
        let arrays = |arrays: &[ArrayRef]| match self.shares_columns {
            true => 0,
            false => arrays.iter().map(|array| array.get_buffer_memory_size()).sum(),
        };
        match &self.source {
            Source::Made(values) => values.get_buffer_memory_size(),
            Source::Picked(values, rows) => {
                arrays(std::slice::from_ref(values)) + rows.get_buffer_memory_size()
            }
            Source::Chosen(values, sources) => {
                arrays(values) + sources.capacity() * size_of::<(usize, usize)>()
            }
            Source::Accumulated(accumulated) => arrays(&accumulated.args) + accumulated.size_bytes(),
        }
    }
}

fn made<'c>(values: impl Array + 'static) -> Source<'c> {
    Source::Made(Arc::new(values))
}

/// The number of rows or buckets that the call names, if any.
fn count(call: &WindowCall, ctx: &EvalContext) -> Result<Option<usize>> {
    let arg = call.function.row_count(&call.args);
    arg.map(|arg| call.function.count(arg, ctx)).transpose()
}

/// A number for each row, computed by `of` from the position of its group of peers and the range of these
/// rows.
fn numbers<'c>(partition: &Partition<'_>, of: impl Fn(usize, &Range<usize>) -> u64) -> Source<'c> {
    let groups = partition.peers.iter().enumerate();
    let numbers = groups.flat_map(|(group, peers)| peers.clone().map(move |_| (group, peers)));
    made(UInt64Array::from_iter_values(
        numbers.map(|(group, peers)| of(group, peers)),
    ))
}

fn fractions<'c>(partition: &Partition<'_>, rows: usize, of: impl Fn(&Range<usize>) -> usize) -> Source<'c> {
    let peers = partition.peers.iter();
    let fractions = peers.flat_map(|peers| {
        let fraction = of(peers) as f64 / rows.max(1) as f64;
        peers.clone().map(move |_| fraction)
    });
    made(Float64Array::from_iter_values(fractions))
}

/// NTILE: buckets of equal size. If there is a remainder, the first ones have one row more.
fn buckets<'c>(rows: usize, count: usize) -> Source<'c> {
    let (size, larger) = (rows / count, rows % count);
    let in_larger = larger * (size + 1);
    let bucket = |row: usize| match row.checked_sub(in_larger) {
        None => row / (size + 1),
        Some(rest) => larger + rest / size.max(1),
    };
    made(UInt64Array::from_iter_values(
        (0..rows).map(|row| bucket(row) as u64 + 1),
    ))
}

/// LEAD and LAG: the value of another row, or the default for the row itself.
fn other_rows<'c>(
    call: &WindowCall,
    partition: &Partition<'_>,
    ctx: &EvalContext,
    other: impl Fn(usize) -> Option<usize>,
) -> Result<Source<'c>> {
    let values = value_of_rows(call.args.first(), partition, ctx)?;
    let rows = 0..partition.rows.num_rows();
    let Some(default) = call.args.get(2) else {
        return Ok(pick(values, rows.map(other)));
    };
    let defaults = eval_array(default, partition.rows, ctx)?;
    let sources: Vec<(usize, usize)> = rows
        .map(|row| other(row).map_or((1, row), |other| (0, other)))
        .collect();
    Ok(Source::Chosen([values, defaults], sources))
}

/// FIRST_VALUE and others: the value of a row of the frame, NULL if the frame does not have that row.
fn of_frames<'c>(
    call: &WindowCall,
    partition: &Partition<'_>,
    ctx: &EvalContext,
    row: impl Fn(&Range<usize>) -> Option<usize>,
) -> Result<Source<'c>> {
    let values = value_of_rows(call.args.first(), partition, ctx)?;
    let rows = partition.frames.iter();
    let rows = rows.map(|frame| row(frame).filter(|row| frame.contains(row)));
    Ok(pick(values, rows))
}

fn value_of_rows(arg: Option<&Expr>, partition: &Partition<'_>, ctx: &EvalContext) -> Result<ArrayRef> {
    let arg = arg.ok_or_else(|| Error::internal("a window function without its argument"))?;
    eval_array(arg, partition.rows, ctx)
}
