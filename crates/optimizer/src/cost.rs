//! Costs of operators, in microseconds of one core. Measured on RocksDB with its block cache warm
//! (docs/performance.md); only their ratios matter.

use planner::plan::{Access, Range};
use schema::model::Table;

use crate::estimates::TableEstimate;

/// Reading a row by its key.
pub const POINT_READ: f64 = 4.5;
/// The next row of a scan, decoded.
pub const NEXT_ROW: f64 = 0.4;
/// The next entry of an index.
pub const NEXT_ENTRY: f64 = 0.3;
/// Putting a row into a hash table, and finding one there.
pub const HASH_BUILD: f64 = 0.25;
pub const HASH_PROBE: f64 = 0.12;
/// Comparing a pair of rows.
pub const PAIR: f64 = 0.05;
/// A row that an operator makes.
pub const OUTPUT: f64 = 0.05;
/// Opening a subquery for one row of its input.
pub const OPEN: f64 = 3.0;
/// A group of rows with equal keys, where nothing is known of an index that is not unique.
const ROWS_PER_KEY: f64 = 10.0;
/// Each further part of a key leaves one row in so many.
const FURTHER_PART: f64 = 3.0;
/// The share of a table in a range that is open at one end.
const OPEN_RANGE: f64 = 0.3;
/// How many rows a document of JSON_TABLE is taken to have.
pub const TABLE_FUNCTION_ROWS: f64 = 10.0;

/// Reading `rows` rows of a table.
pub fn of_access(access: &Access, rows: f64) -> f64 {
    match access {
        Access::Full { .. } => rows * NEXT_ROW,
        Access::PrimaryPoints { keys } => keys.len() as f64 * POINT_READ,
        Access::UniquePoints { keys, .. } => keys.len() as f64 * 2.0 * POINT_READ,
        Access::PrimaryRanges { ranges, .. } => ranges.len() as f64 * POINT_READ + rows * NEXT_ROW,
        Access::IndexRanges { ranges, covering, .. } => {
            let fetch = if *covering { 0.0 } else { POINT_READ };
            ranges.len() as f64 * POINT_READ + rows * (NEXT_ENTRY + fetch)
        }
        Access::GroupEnds { .. } => rows * (POINT_READ + NEXT_ENTRY),
        Access::Union { parts } => {
            let each = rows / parts.len().max(1) as f64;
            parts.iter().map(|part| of_access(part, each)).sum()
        }
    }
}

/// Rows of a table of `rows` that a lookup finds for one row.
pub fn rows_of_lookup(access: &Access, table: &Table, estimate: &TableEstimate<'_>) -> f64 {
    let rows = estimate.rows as f64;
    let of_range = |range: &Range, index: Option<usize>, unique: bool, parts: usize| {
        let fixed = range.prefix.len();
        if unique && fixed == parts {
            return 1.0;
        }
        if fixed == 0 {
            return (rows * OPEN_RANGE).max(1.0);
        }
        if let Some(found) = estimate.rows_per_key(index, fixed) {
            let is_bounded = range.lower.is_some() || range.upper.is_some();
            return (found * if is_bounded { OPEN_RANGE } else { 1.0 }).max(1.0);
        }
        (ROWS_PER_KEY / FURTHER_PART.powi(fixed as i32 - 1))
            .max(1.0)
            .min(rows.max(1.0))
    };
    match access {
        Access::Full { .. } => rows,
        Access::PrimaryPoints { keys } | Access::UniquePoints { keys, .. } => keys.len() as f64,
        Access::PrimaryRanges { ranges, .. } => {
            let parts = table.primary_parts().len();
            ranges
                .iter()
                .map(|range| of_range(range, None, true, parts))
                .sum()
        }
        Access::IndexRanges {
            index: at, ranges, ..
        } => {
            let index = &table.indexes[*at];
            ranges
                .iter()
                .map(|range| of_range(range, Some(*at), index.unique, index.parts.len()))
                .sum()
        }
        // No lookup takes it.
        Access::GroupEnds { .. } => rows,
        Access::Union { parts } => parts
            .iter()
            .map(|part| rows_of_lookup(part, table, estimate))
            .sum(),
    }
}
