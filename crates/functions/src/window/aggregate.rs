//! Aggregates over the frames of a partition's rows.
//!
//! - COUNT, and SUM and AVG of exact numbers: prefix sums are computed once, and the sum of a frame is the
//!   difference of two of them.
//! - MIN and MAX, if neither edge of the frames moves back: from a queue of the rows that may still be the
//!   result.
//! - All others: rows are added to an accumulator while the frame only grows; otherwise the frame is computed
//!   again. This includes sums of doubles, because with `windowing_use_high_precision`, MySQL's default,
//!   nothing is subtracted from them.
//!
//! All of them are linear in the number of rows for frames that grow; the first two for all frames. But the
//! values of GROUP_CONCAT, JSON_ARRAYAGG and JSON_OBJECTAGG grow with their frames.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::datatypes::i256;
use types::array::ColumnBuilder;
use types::{Decimal, Result, SqlType, Value};

use super::accumulated::Accumulated;
use super::partition::Partition;
use super::source::{Source, pick};
use crate::EvalContext;
use crate::aggregate::{AggregateCall, AggregateFunction, average_value};
use crate::compare::compare;
use crate::datum::{Datum, to_decimal};
use crate::eval::eval_array;
use crate::eval::output::append;

/// The values of an aggregate over each row's frame, in type `ty`.
pub(super) fn source<'c>(
    call: &'c AggregateCall,
    ty: &'c SqlType,
    partition: &Partition<'_>,
    ctx: &EvalContext,
) -> Result<Source<'c>> {
    let mut args = Vec::with_capacity(call.args.len());
    for arg in &call.args {
        args.push(eval_array(arg, partition.rows, ctx)?);
    }
    let frames = &partition.frames;
    let first = call.args.first().map_or(SqlType::NULL, crate::Expr::ty);
    let is_exact = first.is_integer() || first.is_decimal();
    match (call.function, args.as_slice()) {
        (AggregateFunction::Count, _) => Ok(Source::Made(counts(&args, partition))),
        (AggregateFunction::Sum | AggregateFunction::Avg, [values]) if is_exact => {
            sums(call, ty, values, &first, frames).map(Source::Made)
        }
        (AggregateFunction::Min | AggregateFunction::Max, [values]) if move_forward(frames) => {
            extremes(call.function, values, &first, frames)
        }
        _ => Accumulated::new(call, ty, args, frames).map(|all| Source::Accumulated(Box::new(all))),
    }
}

/// COUNT, of all rows or of those whose argument is not NULL.
fn counts(args: &[ArrayRef], partition: &Partition<'_>) -> ArrayRef {
    let before = non_null_before(args.first(), partition.rows.num_rows());
    let frames = partition.frames.iter();
    Arc::new(Int64Array::from_iter_values(
        frames.map(|frame| difference(&before, frame)),
    ))
}

/// For each row, and after the last one: how many rows before it have a value.
fn non_null_before(values: Option<&ArrayRef>, rows: usize) -> Vec<i64> {
    let nulls = values.and_then(|values| values.logical_nulls());
    let mut before = Vec::with_capacity(rows + 1);
    let mut count = 0;
    before.push(0);
    for row in 0..rows {
        count += i64::from(nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)));
        before.push(count);
    }
    before
}

fn difference(before: &[i64], frame: &Range<usize>) -> i64 {
    match (before.get(frame.end), before.get(frame.start)) {
        (Some(end), Some(start)) => end - start,
        _ => 0,
    }
}

/// SUM and AVG of integers and DECIMALs. 65 digits take 216 bits, so no sum of a partition exceeds 256 bits.
fn sums(
    call: &AggregateCall,
    ty: &SqlType,
    values: &ArrayRef,
    value_type: &SqlType,
    frames: &[Range<usize>],
) -> Result<ArrayRef> {
    let counts = non_null_before(Some(values), values.len());
    let scale = if value_type.is_decimal() {
        value_type.decimals
    } else {
        0
    };
    let mut before = Vec::with_capacity(values.len() + 1);
    let mut sum = i256::ZERO;
    before.push(sum);
    for row in 0..values.len() {
        sum = sum.wrapping_add(to_decimal(&Datum::at(values.as_ref(), row)?).unscaled);
        before.push(sum);
    }
    let mut out = ColumnBuilder::new(ty, frames.len());
    for frame in frames {
        let count = difference(&counts, frame);
        let sum = match (before.get(frame.end), before.get(frame.start)) {
            (Some(end), Some(start)) if count > 0 => Decimal::new(end.wrapping_sub(*start), scale),
            _ => {
                out.append_null();
                continue;
            }
        };
        let value = match call.function {
            AggregateFunction::Avg => average_value(&Datum::Decimal(sum), count, &call.ty)
                .ok_or_else(|| call.out_of_range("DECIMAL"))?,
            _ => Value::Decimal(sum),
        };
        append(&mut out, Datum::of(&value), ty)?;
    }
    Ok(out.finish())
}

/// Whether neither edge of the frames moves back from one row to the next.
fn move_forward(frames: &[Range<usize>]) -> bool {
    frames.windows(2).all(|pair| match pair {
        [one, next] => one.start <= next.start && one.end <= next.end,
        _ => true,
    })
}

/// MIN and MAX. Of values that compare as equal, the one of the frame's first row is returned.
fn extremes<'c>(
    function: AggregateFunction,
    values: &ArrayRef,
    ty: &SqlType,
    frames: &[Range<usize>],
) -> Result<Source<'c>> {
    // Rows of the frame, each better than all after it: the first one is the result.
    let mut candidates: VecDeque<usize> = VecDeque::new();
    let mut added = 0;
    let mut results = Vec::with_capacity(frames.len());
    for frame in frames {
        for row in added.max(frame.start)..frame.end {
            let value = Datum::at(values.as_ref(), row)?;
            if value.is_null() {
                continue;
            }
            while let Some(last) = candidates.back() {
                let order = compare(&value, &Datum::at(values.as_ref(), *last)?, ty, ty);
                let is_better = match function {
                    AggregateFunction::Min => order.is_some_and(|order| order.is_lt()),
                    _ => order.is_some_and(|order| order.is_gt()),
                };
                if !is_better {
                    break;
                }
                candidates.pop_back();
            }
            candidates.push_back(row);
        }
        added = added.max(frame.end);
        while candidates.front().is_some_and(|row| *row < frame.start) {
            candidates.pop_front();
        }
        results.push(candidates.front().copied());
    }
    Ok(pick(Arc::clone(values), results.into_iter()))
}
