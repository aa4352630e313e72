//! The order of rows: one definition for every operator that sorts, groups or removes duplicates.
//!
//! - NULL is less than every value: it comes first, and last under DESC ([`sort_options`]).
//! - Numbers compare by value; -0 equals 0. The DECIMALs of a column have one scale.
//! - Dates and times compare as the integers that hold them.
//! - Text compares by the weights of its collation; strings with the same weights are equal.
//! - JSON compares by its value, but ORDER BY looks only at the lengths of arrays and objects, as MySQL does.
//!
//! There are three sort operators, because their rows have different forms in memory. They take the order
//! from here, in one of two forms:
//!
//! | operator | its rows | form |
//! |---|---|---|
//! | `executor`'s sort | Arrow batches, in memory or in files that are merged | a [`prefix`] for each row, then [`RowKeys`] or the collation where two are the same |
//! | `executor`'s packets | bytes that were encoded for the client straight from the store; there is no Arrow array | the same, of one column |
//! | DataFusion's sort in `analytics` | Arrow batches that are sorted on all cores and spill to disk | columns in their [comparable form](crate::comparable) |
//!
//! Prefixes exist because a whole key for each row would cost more than all comparisons of a small sort.
//!
//! Not here: `<` and `=` in expressions, which convert between types first ([`crate::bind`]); keys in the
//! store, whose bytes are a stored format (`codec`).

mod keys;
pub mod prefix;

use arrow::compute::SortOptions;

pub use keys::RowKeys;

/// Arrow's name for the place of NULL, and the direction.
pub fn sort_options(descending: bool) -> SortOptions {
    SortOptions {
        descending,
        nulls_first: !descending,
    }
}
