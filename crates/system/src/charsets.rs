//! Character sets and collations, for information_schema and SHOW CHARACTER SET.

use types::Collation;

/// All collations in the order of their names.
pub(crate) fn sorted_collations() -> [Collation; Collation::ALL.len()] {
    let mut collations = Collation::ALL;
    collations.sort_by_key(|c| c.name());
    collations
}
