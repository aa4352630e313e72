//! The values of a window function's call over the rows of one partition.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, UInt64Array};
use arrow::compute::interleave;
use types::{Error, Result};

use super::partition::{Partition, values_at};
use super::{WindowCall, WindowFunction, aggregate};
use crate::eval::eval_array;
use crate::eval::output::finish_array;
use crate::{EvalContext, Expr};

/// The values of a call, one for each row, in the call's type.
pub fn evaluate(call: &WindowCall, partition: &Partition<'_>, ctx: &EvalContext) -> Result<ArrayRef> {
    let rows = partition.rows.num_rows();
    let values: ArrayRef = match &call.function {
        WindowFunction::RowNumber => Arc::new(UInt64Array::from_iter_values(1..=rows as u64)),
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
        WindowFunction::Aggregate(aggregate) => aggregate::evaluate(aggregate, &call.ty, partition, ctx)?,
    };
    finish_array(values, &call.ty)
}

/// The call's number of rows or of buckets, if it has one.
fn count(call: &WindowCall, ctx: &EvalContext) -> Result<Option<usize>> {
    let arg = call.function.row_count(&call.args);
    arg.map(|arg| call.function.count(arg, ctx)).transpose()
}

/// A number for each row, of the place of its peers among all groups of peers, and of the range of them.
fn numbers(partition: &Partition<'_>, of: impl Fn(usize, &Range<usize>) -> u64) -> ArrayRef {
    let groups = partition.peers.iter().enumerate();
    let numbers = groups.flat_map(|(group, peers)| peers.clone().map(move |_| (group, peers)));
    Arc::new(UInt64Array::from_iter_values(
        numbers.map(|(group, peers)| of(group, peers)),
    ))
}

fn fractions(partition: &Partition<'_>, rows: usize, of: impl Fn(&Range<usize>) -> usize) -> ArrayRef {
    let peers = partition.peers.iter();
    let fractions = peers.flat_map(|peers| {
        let fraction = of(peers) as f64 / rows.max(1) as f64;
        peers.clone().map(move |_| fraction)
    });
    Arc::new(Float64Array::from_iter_values(fractions))
}

/// NTILE: buckets of as many rows, the first ones with one more if there is a remainder.
fn buckets(rows: usize, count: usize) -> ArrayRef {
    let (size, larger) = (rows / count, rows % count);
    let in_larger = larger * (size + 1);
    let bucket = |row: usize| match row.checked_sub(in_larger) {
        None => row / (size + 1),
        Some(rest) => larger + rest / size.max(1),
    };
    Arc::new(UInt64Array::from_iter_values(
        (0..rows).map(|row| bucket(row) as u64 + 1),
    ))
}

/// LEAD and LAG: the value of another row, or the default for the row itself.
fn other_rows(
    call: &WindowCall,
    partition: &Partition<'_>,
    ctx: &EvalContext,
    other: impl Fn(usize) -> Option<usize>,
) -> Result<ArrayRef> {
    let values = value_of_rows(call.args.first(), partition, ctx)?;
    let rows = 0..partition.rows.num_rows();
    let Some(default) = call.args.get(2) else {
        return values_at(&values, rows.map(other));
    };
    let defaults = eval_array(default, partition.rows, ctx)?;
    let sources: Vec<(usize, usize)> = rows
        .map(|row| other(row).map_or((1, row), |other| (0, other)))
        .collect();
    interleave(&[values.as_ref(), defaults.as_ref()], &sources).map_err(Error::internal)
}

/// FIRST_VALUE and others: the value of a row of the frame, NULL if the frame does not have that row.
fn of_frames(
    call: &WindowCall,
    partition: &Partition<'_>,
    ctx: &EvalContext,
    row: impl Fn(&Range<usize>) -> Option<usize>,
) -> Result<ArrayRef> {
    let values = value_of_rows(call.args.first(), partition, ctx)?;
    let rows = partition.frames.iter();
    values_at(
        &values,
        rows.map(|frame| row(frame).filter(|row| frame.contains(row))),
    )
}

fn value_of_rows(arg: Option<&Expr>, partition: &Partition<'_>, ctx: &EvalContext) -> Result<ArrayRef> {
    let arg = arg.ok_or_else(|| Error::internal("a window function without its argument"))?;
    eval_array(arg, partition.rows, ctx)
}
