//! Costs of operators, in microseconds of one core. Measured on RocksDB with its block cache warm
//! (docs/performance.md); only their ratios matter.

use planner::plan::Access;

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
