//! Which conversions may fail or lose information, by their types.

use types::{SqlType, TypeKind};

/// Whether a conversion can fail or warn.
pub(crate) fn may_fail(from: &SqlType, to: &SqlType) -> bool {
    let harmless = from == to
        || from.kind == TypeKind::Null
        || from.has_members() && (to.is_numeric() || to.is_string())
        || to.has_members()
        || from.is_numeric()
            && (to.kind == TypeKind::Double || to.is_string() && !to.is_binary() && to.length >= 30)
        || from.is_datetime() && to.is_datetime()
        || from.is_string() && to.is_string() && from.is_binary() == to.is_binary();
    !harmless
}

/// Whether a value that is not NULL may become NULL, according to result metadata.
pub(crate) fn may_be_null(from: &SqlType, to: &SqlType) -> bool {
    let temporal = to.is_temporal() && !from.is_temporal();
    temporal || to.kind == TypeKind::Year || from.is_binary() && to.is_string() && !to.is_binary()
}
