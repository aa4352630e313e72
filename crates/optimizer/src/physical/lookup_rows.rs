//! How many rows of a table a lookup finds for a row of the left side.

use functions::Expr;
use planner::plan::{Access, Range, RangeBound, RangeBoundValue};
use schema::model::Table;

use super::left_columns::LeftColumns;
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

/// Estimates lookups by a left side's columns, of which `distinct` knows the values.
#[derive(Clone, Copy)]
pub(super) struct RowsOfLookup<'a> {
    pub distinct: &'a DistinctValues,
    pub left: LeftColumns<'a>,
    pub estimate: &'a TableEstimate<'a>,
}

impl RowsOfLookup<'_> {
    /// In a path whose expressions name the left side's columns.
    pub fn of(self, access: &Access, table: &Table) -> f64 {
        let sum = |ranges: &[Range], index: Option<usize>, unique: bool, parts: usize| -> f64 {
            let key = Key { index, unique, parts };
            ranges.iter().map(|range| self.of_range(range, &key)).sum()
        };
        match access {
            // No lookup takes it.
            Access::GroupEnds { .. } | Access::Full { .. } => self.estimate.rows as f64,
            Access::PrimaryPoints { keys } | Access::UniquePoints { keys, .. } => keys.len() as f64,
            Access::PrimaryRanges { ranges, .. } => sum(ranges, None, true, table.primary_parts().len()),
            Access::IndexRanges { index, ranges, .. } => {
                let of = &table.indexes[*index];
                sum(ranges, Some(*index), of.unique, of.parts.len())
            }
            Access::Union { parts } => parts.iter().map(|part| self.of(part, table)).sum(),
        }
    }

    fn of_range(self, range: &Range, key: &Key) -> f64 {
        let rows = self.estimate.rows as f64;
        let fixed = range.prefix.len();
        if key.unique && fixed == key.parts {
            return 1.0;
        }
        if let Some(found) = self.of_samples(range, key) {
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
        if let Some(found) = self.estimate.rows_per_key(key.index, fixed) {
            return (found * bounded).max(1.0);
        }
        (ROWS_PER_KEY / FURTHER_PART.powi(fixed as i32 - 1))
            .max(1.0)
            .min(rows.max(1.0))
    }

    /// The mean for some rows of the left side, where the values of its columns are known. One of few values in one
    /// column has few in the others, too: the two ends of a range mostly lie close to each other.
    fn of_samples(self, range: &Range, key: &Key) -> Option<f64> {
        let is_bounded = |bound: &Option<RangeBound>| {
            let value = bound.as_ref().map(|bound| &bound.value);
            matches!(value, Some(RangeBoundValue::Value(expr)) if self.left.is_named_in(expr))
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
                    *expr = self.with_values_at(expr, share)?;
                }
            }
            sum += self
                .estimate
                .rows_in(key.index, &[range], !self.estimate.is_analyzed())?;
        }
        Some(sum / f64::from(SAMPLES))
    }

    /// An expression whose columns of the left side have the value that a share of their values is below.
    fn with_values_at(self, expr: &Expr, share: f64) -> Option<Expr> {
        let mut all_known = true;
        let mut expr = expr.clone();
        replace_leaves(&mut expr, &mut |expr| {
            let value = self.distinct.value_at(self.left.column(expr)?, share);
            all_known &= value.is_some();
            Some(Expr::literal(value?, expr.ty()))
        });
        all_known.then_some(expr)
    }
}
