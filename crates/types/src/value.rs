//! One value in memory, and its text.

use crate::json::JsonBinary;
use crate::temporal::{DateTime, Time};
use crate::{Decimal, Members, SqlType, TypeKind, number_text};

/// One value. The table of [`crate::SqlType`] says which variant holds values of which type: integers are
/// `Int` or `UInt`, DATE, DATETIME, TIMESTAMP, YEAR, ENUM, SET and BIT are `UInt`, TIME is `Int`, text is
/// `String`, binary data is `Bytes`.
///
/// Equality is that of the variants: strings are equal byte for byte, and numbers of different variants are
/// never equal. SQL's comparison is in `functions`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    /// Text: valid UTF-8.
    String(String),
    Bytes(Vec<u8>),
    Json(JsonBinary),
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The integer, if the value is one and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(*v),
            Self::UInt(v) => i64::try_from(*v).ok(),
            _ => None,
        }
    }

    /// The integer, if the value is one and not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(v) => u64::try_from(*v).ok(),
            Self::UInt(v) => Some(*v),
            _ => None,
        }
    }

    /// The bytes of a string or of binary data.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::String(v) => Some(v.as_bytes()),
            Self::Bytes(v) => Some(v),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(v) => Some(v),
            _ => None,
        }
    }

    /// The approximate memory that the value takes, in bytes.
    pub fn size_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::String(v) => v.len(),
                Self::Bytes(v) => v.len(),
                Self::Json(v) => v.as_bytes().len(),
                _ => 0,
            }
    }

    /// Appends the value as MySQL's text protocol prints a value of type `ty`, in UTF-8 whatever the type's
    /// character set. Appends nothing for NULL: the caller marks it.
    pub fn write_text(&self, ty: &SqlType, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(v) if ty.kind == TypeKind::Time => Time(*v).write_text(ty.decimals, out),
            Self::Int(v) => number_text::write_i64(*v, out),
            Self::UInt(v) => write_uint(*v, ty, out),
            Self::Double(v) => write_double(*v, ty, out),
            Self::Decimal(v) => write_decimal(v, ty, out),
            Self::String(v) => out.extend_from_slice(v.as_bytes()),
            Self::Bytes(v) => out.extend_from_slice(v),
            Self::Json(v) => v.root().write_text(out),
        }
    }

    /// The text that [`Value::write_text`] appends; `None` for NULL.
    pub fn to_text(&self, ty: &SqlType) -> Option<Vec<u8>> {
        if self.is_null() {
            return None;
        }
        let mut out = Vec::new();
        self.write_text(ty, &mut out);
        Some(out)
    }

    /// The text of [`Value::write_text`] for messages: `NULL` for NULL, binary data as [`shown_bytes`].
    pub fn display_text(&self, ty: &SqlType) -> String {
        if let Self::Bytes(bytes) = self {
            return shown_bytes(bytes);
        }
        match self.to_text(ty) {
            None => "NULL".to_owned(),
            Some(text) => {
                String::from_utf8(text).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
            }
        }
    }
}

/// Bytes as MySQL's messages show them: bytes that are not printable ASCII become `\xFF`.
pub fn shown_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for &byte in bytes {
        if (0x20..0x7f).contains(&byte) {
            shown.push(char::from(byte));
        } else {
            shown.push_str(&format!("\\x{byte:02X}"));
        }
    }
    shown
}

/// Appends an unsigned integer, a YEAR, a packed point in time, the text of an ENUM or SET, or the bytes of a
/// BIT.
pub(crate) fn write_uint(value: u64, ty: &SqlType, out: &mut Vec<u8>) {
    match ty.kind {
        TypeKind::Date => DateTime::unpack(value).write_date(out),
        TypeKind::DateTime | TypeKind::Timestamp => DateTime::unpack(value).write_datetime(ty.decimals, out),
        TypeKind::Year => number_text::write_padded(value, 4, out),
        TypeKind::Enum(members) => out.extend_from_slice(members.enum_text(value).as_bytes()),
        TypeKind::Set(members) => write_set(members, value, out),
        TypeKind::Bit => {
            let bytes = value.to_be_bytes();
            out.extend_from_slice(bytes.get(8 - ty.bit_bytes()..).unwrap_or_default());
        }
        _ if ty.zerofill => number_text::write_padded(value, ty.length as usize, out),
        _ => number_text::write_u64(value, out),
    }
}

fn write_set(members: Members, bits: u64, out: &mut Vec<u8>) {
    let start = out.len();
    for text in members.set_texts(bits) {
        if out.len() > start {
            out.push(b',');
        }
        out.extend_from_slice(text.as_bytes());
    }
}

pub(crate) fn write_double(value: f64, ty: &SqlType, out: &mut Vec<u8>) {
    let start = out.len();
    if ty.is_float() && ty.decimals != SqlType::NOT_FIXED {
        number_text::write_fixed(value, ty.decimals, out);
    } else if ty.kind == TypeKind::Float {
        number_text::write_f32(value, out);
    } else {
        number_text::write_f64(value, out);
    }
    fill(start, ty.length, ty, out);
}

pub(crate) fn write_decimal(value: &Decimal, ty: &SqlType, out: &mut Vec<u8>) {
    let start = out.len();
    if ty.is_decimal() && ty.decimals != value.scale {
        // A value too wide for its type's scale is printed unchanged.
        value.rescale(ty.decimals).unwrap_or(*value).write_text(out);
    } else {
        value.write_text(out);
    }
    fill(start, ty.length + u32::from(ty.decimals > 0), ty, out);
}

/// Inserts leading zeros at `start`, if the type has ZEROFILL.
fn fill(start: usize, width: u32, ty: &SqlType, out: &mut Vec<u8>) {
    let missing = (width as usize).saturating_sub(out.len() - start);
    if ty.zerofill && missing > 0 {
        out.splice(start..start, std::iter::repeat_n(b'0', missing));
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::UInt(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<JsonBinary> for Value {
    fn from(value: JsonBinary) -> Self {
        Self::Json(value)
    }
}

impl From<Decimal> for Value {
    fn from(value: Decimal) -> Self {
        Self::Decimal(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    #[test]
    fn text_follows_the_type() {
        let packed = DateTime::new(2024, 1, 2, 3, 4, 5, 678_900).pack();
        let double2 = SqlType {
            decimals: 2,
            ..SqlType::DOUBLE
        };
        for (value, ty, expected) in [
            (Value::Int(-5), SqlType::BIGINT, "-5"),
            (
                Value::UInt(u64::MAX),
                SqlType::BIGINT_UNSIGNED,
                "18446744073709551615",
            ),
            (Value::UInt(packed), SqlType::DATE, "2024-01-02"),
            (Value::UInt(packed), SqlType::datetime(0), "2024-01-02 03:04:05"),
            (
                Value::UInt(packed),
                SqlType::timestamp(4),
                "2024-01-02 03:04:05.6789",
            ),
            (Value::UInt(0), SqlType::datetime(1), "0000-00-00 00:00:00.0"),
            (Value::UInt(0), SqlType::YEAR, "0000"),
            (Value::UInt(2024), SqlType::YEAR, "2024"),
            (Value::Int(-3_600_500_000), SqlType::time(1), "-01:00:00.5"),
            (Value::Double(0.1), SqlType::DOUBLE, "0.1"),
            (Value::Double(f64::from(0.1f32)), SqlType::FLOAT, "0.1"),
            (Value::Double(1.005), double2, "1.00"),
            (
                Value::Decimal(Decimal::from_i128(15, 1)),
                SqlType::decimal(5, 2),
                "1.50",
            ),
            (
                Value::String("ä".into()),
                SqlType::varchar(1, Collation::Latin1SwedishCi),
                "ä",
            ),
        ] {
            assert_eq!(value.display_text(&ty), expected);
        }
        assert_eq!(Value::Null.to_text(&SqlType::BIGINT), None);
        let bytes = Value::Bytes(b"\xffA\xc3\xa4\x7f ".to_vec());
        assert_eq!(
            bytes.display_text(&SqlType::varchar(6, Collation::Binary)),
            "\\xFFA\\xC3\\xA4\\x7F "
        );
    }
}
