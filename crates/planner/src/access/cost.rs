//! What a way to read a table costs, in rows of a full scan. There are no histograms: shares of a table are rules of thumb, the
//! order of preference they give is point, unique, equality, range, full.

use super::RowLimit;
use super::paths::{Bounded, Path};

/// Fetching the row of an index entry, against reading the next row.
const LOOKUP: f64 = 4.0;
/// Finding the begin of a range.
const SEEK: f64 = 2.0;
/// Index entries are smaller than rows.
const ENTRY: f64 = 0.5;
/// Sorting, per row and doubling of their number.
const SORT: f64 = 0.1;
/// Statistics lag behind; a table that seems empty may be filling up just now.
const ROWS_MIN: f64 = 1_000.0;
/// Where the number of rows wanted is not known yet.
const LIMIT_GUESS: f64 = 100.0;
/// One row in so many satisfies a filter.
const FILTER_ROWS: f64 = 10.0;

/// Rows that a path reads, of `rows` in the table.
pub fn rows_read(path: &Path, parts: usize, rows: u64) -> f64 {
    let rows = (rows as f64).max(ROWS_MIN);
    if !path.useful {
        return rows;
    }
    let ranges = path.ranges.len() as f64;
    if path.points {
        return ranges;
    }
    // The first part that is fixed leaves one row in a hundred, each further one in ten of those.
    let fixed = match path.fixed_parts {
        0 => 1.0,
        n => 0.01 * 0.1_f64.powi(n as i32 - 1),
    };
    let bounded = match path.bounded {
        Bounded::No => 1.0,
        Bounded::OneEnd => 0.33,
        Bounded::BothEnds => 0.05,
    };
    let complete = path.fixed_parts >= parts && parts > 0;
    let least = if complete { ranges } else { ranges * 2.0 };
    (rows * fixed * bounded * ranges).clamp(least.min(rows), rows)
}

/// What reading costs.
pub struct Reading {
    pub rows: f64,
    /// The rows themselves, not an index, are read.
    pub of_rows: bool,
    /// The index holds all that is wanted.
    pub covering: bool,
    pub ranges: usize,
    pub filtered: bool,
    /// An order is wanted, and this way gives it.
    pub ordered: Option<bool>,
    pub limit: RowLimit,
}

pub fn cost(reading: &Reading) -> f64 {
    let wanted = match reading.limit {
        RowLimit::All => f64::INFINITY,
        RowLimit::Some => LIMIT_GUESS,
        RowLimit::AtMost(count) => count as f64,
    };
    let must_sort = reading.ordered == Some(false);
    let scanned = if must_sort {
        reading.rows
    } else {
        let share = if reading.filtered { FILTER_ROWS } else { 1.0 };
        reading.rows.min(wanted * share)
    };
    let per_row = match (reading.of_rows, reading.covering) {
        (true, _) => 1.0,
        (false, true) => ENTRY,
        (false, false) => LOOKUP,
    };
    let seeks = (reading.ranges as f64).min(scanned.max(1.0)) * SEEK;
    let sorting = if must_sort { SORT * scanned * scanned.max(2.0).log2() } else { 0.0 };
    scanned * per_row + seeks + sorting
}
