//! What is known of the values in a table's columns and indexes, and shares of rows that follow from it.
//!
//! A column has a *compressed histogram*: values that are frequent have buckets of their own, all others lie
//! in buckets of about equal size. Values are compared by their sort keys, so that every type and collation
//! has the same arithmetic.
//!
//! - [`ColumnValues`]: makes the histogram of a sample. [`distinct_of_runs`]: how many different values the
//!   whole table has. [`requested`]: histograms as `ANALYZE TABLE ... UPDATE HISTOGRAM` makes and shows them;
//!   [`given`]: those that it takes as JSON.
//!
//! Not here: reading rows, storing and caching (`system`).

mod build;
mod document;
mod estimate;
pub mod given;
mod hex;
pub mod requested;

use serde::{Deserialize, Serialize};
use types::{SqlType, Value};

pub use build::{ColumnValues, distinct_of_runs};
pub use document::data_type;

/// Sort keys are cut to this length. Values that differ only after it count as equal.
pub const KEY_BYTES_MAX: usize = 48;

/// What ANALYZE TABLE has found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableStatistics {
    /// Changes each time they are stored.
    pub version: u64,
    pub rows: u64,
    /// The store's estimate of the rows when these were counted. It can differ from `rows` permanently, so it
    /// is compared with later estimates only. 0: unknown.
    #[serde(default)]
    pub estimated_rows: u64,
    /// What the rows took in the store, about.
    pub bytes: u64,
    /// Microseconds since 1970.
    pub collected_us: i64,
    pub columns: Vec<ColumnStatistics>,
    pub indexes: Vec<IndexStatistics>,
    /// Those that a statement has asked for.
    pub histograms: Vec<requested::RequestedHistogram>,
}

/// A column's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// The column's id.
    pub id: i64,
    /// The type it had. Sort keys of another type say nothing.
    pub ty: SqlType,
    pub distinct: u64,
    /// The share of rows that are NULL.
    pub nulls: f64,
    /// In the order of their values, which are not NULL.
    pub buckets: Vec<Bucket>,
}

/// The values from `lower` to `upper`, both included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    #[serde(with = "hex")]
    pub lower: Vec<u8>,
    #[serde(with = "hex")]
    pub upper: Vec<u8>,
    /// The share of all the table's rows.
    pub share: f64,
    pub distinct: u64,
}

/// An index's entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexStatistics {
    /// The index's id; 0: the primary key, where rows are stored by it.
    pub id: i64,
    /// How many different values the first part has, the first two parts have, and so on.
    pub distinct: Vec<u64>,
}

/// One end of a range of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    pub key: Vec<u8>,
    pub inclusive: bool,
}

impl TableStatistics {
    /// About how many rows there are now, computed from the store's current estimate.
    pub fn rows_now(&self, estimate: u64) -> u64 {
        if self.estimated_rows == 0 {
            return estimate;
        }
        (self.rows as f64 * (estimate as f64 / self.estimated_rows as f64)).round() as u64
    }

    pub fn column(&self, id: i64, ty: &SqlType) -> Option<&ColumnStatistics> {
        self.columns
            .iter()
            .find(|column| column.id == id && column.ty == *ty)
    }

    pub fn index(&self, id: i64) -> Option<&IndexStatistics> {
        self.indexes.iter().find(|index| index.id == id)
    }

    pub fn histogram(&self, column: i64) -> Option<&requested::RequestedHistogram> {
        self.histograms
            .iter()
            .find(|histogram| histogram.column == column)
    }
}

/// The sort key of a value of a type; `None` for NULL and for types without an order.
pub fn sort_key(value: &Value, ty: &SqlType) -> Option<Vec<u8>> {
    if value.is_null() {
        return None;
    }
    let mut key = Vec::with_capacity(KEY_BYTES_MAX);
    codec::datum::encode(value, ty, &mut key).ok()?;
    key.truncate(KEY_BYTES_MAX);
    Some(key)
}
