//! The values of a window function's call over one partition, computed some rows at a time, because each
//! value may be as large as the partition.

use std::ops::Range;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{interleave, take};
use types::{Error, Result};

use super::partition::Partition;
use super::pieces::{Place, position_values};
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
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist
            | WindowFunction::Ntile => {
                let groups = partition.peers.iter().enumerate();
                let places = groups.flat_map(|(group, peers)| {
                    peers.clone().map(move |row| Place {
                        row,
                        group,
                        peers: peers.clone(),
                    })
                });
                Source::Made(position_values(call, places, rows, ctx)?)
            }
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

/// The number of rows or buckets that the call names, if any.
fn count(call: &WindowCall, ctx: &EvalContext) -> Result<Option<usize>> {
    let arg = call.function.row_count(&call.args);
    arg.map(|arg| call.function.count(arg, ctx)).transpose()
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
