//! A borrowed value, for rows that are sent as they are stored.

use types::json::JsonRef;
use types::{Decimal, SqlType, Value};

/// As [`Value`], but borrowed. `Bytes` is both text and binary data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RawValue<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Bytes(&'a [u8]),
    Json(JsonRef<'a>),
}

impl RawValue<'_> {
    /// Appends the text of a value that is not NULL, as [`Value::write_text`] does.
    pub(super) fn write_text(self, ty: &SqlType, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(v) => Value::Int(v).write_text(ty, out),
            Self::UInt(v) => Value::UInt(v).write_text(ty, out),
            Self::Double(v) => Value::Double(v).write_text(ty, out),
            Self::Decimal(v) => Value::Decimal(v).write_text(ty, out),
            Self::Bytes(v) => out.extend_from_slice(v),
            Self::Json(v) => v.write_text(out),
        }
    }
}

impl<'a> From<&'a Value> for RawValue<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(v) => Self::Int(*v),
            Value::UInt(v) => Self::UInt(*v),
            Value::Double(v) => Self::Double(*v),
            Value::Decimal(v) => Self::Decimal(*v),
            Value::String(v) => Self::Bytes(v.as_bytes()),
            Value::Bytes(v) => Self::Bytes(v),
            Value::Json(v) => Self::Json(v.root()),
        }
    }
}
