//! How many rows of a table a lookup finds for a row of the left side.

use functions::Expr;
use planner::plan::{Access, Range, RangeBound, RangeBoundValue};
use schema::model::Table;

use super::left_columns::{left_column, names_left};
use crate::distinct_values::{DistinctValues, SAMPLES};
use crate::estimates::TableEstimate;
use crate::expr::replace_leaves;

/// A group of rows with equal keys, where nothing is known of an index that is not unique.
const ROWS_PER_KEY: f64 = 10.0;
/// Each further part of a key leaves one row in so many.
const FURTHER_PART: f64 = 3.0;
/// The share of a table in a range that is open at one end, or has two, as MySQL guesses.
const OPEN_RANGE: f64 = 0.3;
const CLOSED_RANGE: f64 = 0.1;

/// The number of keys that an index has when all of its parts are given.
struct Key {
    /// `None`: the primary key.
    index: Option<usize>,
    unique: bool,
    parts: usize,
}

/// In a path whose expressions name the left side's columns, of which `distinct` knows the values.
pub(super) fn rows_of_lookup(
    distinct: &DistinctValues,
    access: &Access,
    table: &Table,
    estimate: &TableEstimate<'_>,
) -> f64 {
    let sum = |ranges: &[Range], index: Option<usize>, unique: bool, parts: usize| -> f64 {
        let key = Key { index, unique, parts };
        let of_range = |range| rows_of_range(distinct, range, &key, estimate);
        ranges.iter().map(of_range).sum()
    };
    match access {
        // No lookup takes it.
        Access::GroupEnds { .. } | Access::Full { .. } => estimate.rows as f64,
        Access::PrimaryPoints { keys } | Access::UniquePoints { keys, .. } => keys.len() as f64,
        Access::PrimaryRanges { ranges, .. } => sum(ranges, None, true, table.primary_parts().len()),
        Access::IndexRanges { index, ranges, .. } => {
            let of = &table.indexes[*index];
            sum(ranges, Some(*index), of.unique, of.parts.len())
        }
        Access::Union { parts } => {
            let of_part = |part| rows_of_lookup(distinct, part, table, estimate);
            parts.iter().map(of_part).sum()
        }
    }
}

fn rows_of_range(distinct: &DistinctValues, range: &Range, key: &Key, estimate: &TableEstimate<'_>) -> f64 {
    let rows = estimate.rows as f64;
    let fixed = range.prefix.len();
    if key.unique && fixed == key.parts {
        return 1.0;
    }
    if let Some(found) = rows_of_samples(distinct, range, key, estimate) {
        return found.max(1.0);
    }
    let bounded = match (&range.lower, &range.upper) {
        (None, None) => 1.0,
        (Some(_), Some(_)) => CLOSED_RANGE,
        _ => OPEN_RANGE,
    };
    if fixed == 0 {
        return (rows * bounded).max(1.0);
    }
    if let Some(found) = estimate.rows_per_key(key.index, fixed) {
        return (found * bounded).max(1.0);
    }
    (ROWS_PER_KEY / FURTHER_PART.powi(fixed as i32 - 1))
        .max(1.0)
        .min(rows.max(1.0))
}

/// The mean for some rows of the left side, where the values of its columns are known. One of few values in one
/// column has few in the others, too: the two ends of a range mostly lie close to each other.
fn rows_of_samples(
    distinct: &DistinctValues,
    range: &Range,
    key: &Key,
    estimate: &TableEstimate<'_>,
) -> Option<f64> {
    let is_bounded = |bound: &Option<RangeBound>| {
        let value = bound.as_ref().map(|bound| &bound.value);
        matches!(value, Some(RangeBoundValue::Value(expr)) if names_left(expr))
    };
    if !is_bounded(&range.lower) && !is_bounded(&range.upper) {
        return None;
    }
    let mut sum = 0.0;
    for sample in 0..SAMPLES {
        let share = (f64::from(sample) + 0.5) / f64::from(SAMPLES);
        let mut range = range.clone();
        for bound in [&mut range.lower, &mut range.upper] {
            if let Some(RangeBound {
                value: RangeBoundValue::Value(expr),
                ..
            }) = bound
            {
                *expr = with_values_at(distinct, expr, share)?;
            }
        }
        sum += estimate.rows_in(key.index, &[range], !estimate.is_analyzed())?;
    }
    Some(sum / f64::from(SAMPLES))
}

/// An expression whose columns of the left side have the value that a share of their values is below.
fn with_values_at(distinct: &DistinctValues, expr: &Expr, share: f64) -> Option<Expr> {
    let mut all_known = true;
    let mut expr = expr.clone();
    replace_leaves(&mut expr, &mut |expr| {
        let value = distinct.value_at(left_column(expr)?, share);
        all_known &= value.is_some();
        Some(Expr::literal(value?, expr.ty()))
    });
    all_known.then_some(expr)
}
