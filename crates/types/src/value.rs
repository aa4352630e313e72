//! One value in memory.

use crate::Decimal;

/// One value. What each variant holds for which [`crate::SqlType`] is in that type's table: integers are `Int` or
/// `UInt`, DATE, DATETIME, TIMESTAMP and YEAR are `UInt`, TIME is `Int`, text is `String`, binary data is `Bytes`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    /// Text and JSON: valid UTF-8.
    String(String),
    Bytes(Vec<u8>),
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}
