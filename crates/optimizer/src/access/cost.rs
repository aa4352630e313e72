//! The cost of an access path, in rows of a full scan. Without statistics of a table's values, selectivities
//! are rules of thumb. They lead to this order of preference: point, unique, equality, range, full scan.

use super::RowLimit;
use super::paths::{Bounded, Path};
use crate::estimates::TableEstimate;

/// Fetching the row of an index entry, relative to reading the next row.
const LOOKUP: f64 = 4.0;
/// Finding the start of a range.
const SEEK: f64 = 2.0;
/// Index entries are smaller than rows.
const ENTRY: f64 = 0.5;
/// Sorting, per row and doubling of their number.
const SORT: f64 = 0.1;
/// The least number of rows assumed: statistics lag behind, and a table that seems empty may be growing.
const ROWS_MIN: f64 = 1_000.0;
/// The assumed number of wanted rows, if only the execution knows it.
const LIMIT_GUESS: f64 = 100.0;
/// One row in so many satisfies the conditions that the index does not serve.
const FILTER_ROWS: f64 = 10.0;
/// The same for an index that serves no condition at all.
const WHOLE_FILTER_ROWS: f64 = 100.0;

/// Rows that a path reads: for comparisons, and of the table as it is now. `dives`: the engine may be asked.
pub fn rows_read(path: &Path, estimate: &TableEstimate<'_>, dives: bool) -> (f64, f64) {
    let now = estimate.rows as f64;
    let assumed = if estimate.is_analyzed() {
        now
    } else {
        now.max(ROWS_MIN)
    };
    if !path.is_useful() {
        return (assumed, now);
    }
    if path.points {
        let keys = path.ranges.len() as f64;
        return (keys, keys);
    }
    if let Some(rows) = estimate.rows_in(path.index, &path.ranges, dives && now >= ROWS_MIN) {
        return (rows, rows);
    }
    let of = |rows: f64| share(path.fixed_parts, path.bounded, path.combinations, rows);
    (of(assumed), of(now.max(1.0)))
}

/// The first part that is fixed leaves one row in a hundred, each further one in ten of those.
fn share(fixed_parts: usize, bounded: Bounded, combinations: usize, rows: f64) -> f64 {
    let fixed = match fixed_parts {
        0 => 1.0,
        n => 0.01 * 0.1_f64.powi(n as i32 - 1),
    };
    let bounded = match bounded {
        Bounded::No => 1.0,
        Bounded::NotNull => 0.9,
        // Ranges that are open at one end mostly select recent rows. An index that turns out to be the wrong
        // choice costs a few times a full scan; a full scan of a large table may cost a thousand times the
        // range.
        Bounded::OneEnd => 0.1,
        Bounded::BothEnds => 0.05,
    };
    let combinations = combinations as f64;
    (rows * fixed * bounded * combinations).clamp(combinations.min(rows), rows)
}

/// What the cost of reading depends on.
pub struct Reading {
    pub rows: f64,
    /// The rows themselves, not an index, are read.
    pub of_rows: bool,
    /// The index is covering.
    pub covering: bool,
    pub ranges: usize,
    pub filtered: bool,
    /// The index serves some condition.
    pub useful: bool,
    /// An order is wanted, and this path gives it.
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
        let share = match (reading.filtered, reading.useful) {
            (false, _) => 1.0,
            (true, true) => FILTER_ROWS,
            (true, false) => WHOLE_FILTER_ROWS,
        };
        reading.rows.min(wanted * share)
    };
    let per_row = match (reading.of_rows, reading.covering) {
        (true, _) => 1.0,
        (false, true) => ENTRY,
        (false, false) => LOOKUP,
    };
    let seeks = (reading.ranges as f64).min(scanned.max(1.0)) * SEEK;
    let sorting = if must_sort {
        SORT * scanned * scanned.max(2.0).log2()
    } else {
        0.0
    };
    scanned * per_row + seeks + sorting
}
