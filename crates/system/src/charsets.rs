//! Character sets and collations, for information_schema and SHOW CHARACTER SET.

use types::{Charset, Collation};

/// DESCRIPTION of a character set.
pub fn charset_description(charset: Charset) -> &'static str {
    match charset {
        Charset::Utf8mb4 | Charset::Utf8mb3 => "UTF-8 Unicode",
        Charset::Latin1 => "cp1252 West European",
        Charset::Ascii => "US ASCII",
        Charset::Binary => "Binary pseudo charset",
    }
}

/// All collations in the order of their names.
pub(crate) fn sorted_collations() -> [Collation; Collation::ALL.len()] {
    let mut collations = Collation::ALL;
    collations.sort_by_key(|c| c.name());
    collations
}
