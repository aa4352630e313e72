//! Values of rows.

use types::Value;

/// The value of every `..._CATALOG` column.
pub(crate) const CATALOG: &str = "def";

pub(crate) fn text(value: impl Into<String>) -> Value {
    Value::String(value.into())
}

pub(crate) fn optional(value: Option<impl Into<String>>) -> Value {
    value.map_or(Value::Null, text)
}

pub(crate) fn number(value: u64) -> Value {
    Value::UInt(value)
}

pub(crate) fn signed(value: i64) -> Value {
    Value::Int(value)
}

/// `YES` or `NO`.
pub(crate) fn yes(flag: bool) -> Value {
    text(if flag { "YES" } else { "NO" })
}

/// `Y` or `N`.
pub(crate) fn flag(flag: bool) -> Value {
    text(if flag { "Y" } else { "N" })
}
