//! Compares values that [`crate::bind::compare`] has made comparable.

use std::cmp::Ordering;

use types::{SqlType, TypeKind};

use crate::datum::{Datum, compare_same};

/// Compares two values of comparable types; strings under the first one's collation. `None` if one of them is
/// NULL.
pub(crate) fn compare(a: &Datum<'_>, b: &Datum<'_>, ta: &SqlType, tb: &SqlType) -> Option<Ordering> {
    if ta.kind == TypeKind::Json || tb.kind == TypeKind::Json {
        return crate::json::convert::compare(a, ta, b, tb);
    }
    compare_same(a, b, ta.collation)
}
