//! Documents in the binary form, made from trees and from text.

use super::view::JsonRef;
use super::{
    HEADER_BYTES, Json, KEY_ENTRY_BYTES, LITERAL_FALSE, LITERAL_NULL, LITERAL_TRUE, MAX_DEPTH, ParseError,
    VALUE_ENTRY_BYTES, code, field_type, parse, too_deep,
};
use crate::decimal::binary as decimal;
use crate::temporal::DateTime;
use crate::{Decimal, Error, Result, errno};

/// A document in the binary form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonBinary(Vec<u8>);

/// Older versions of StemDB stored the text, which begins with a printable character.
const FIRST_PRINTABLE: u8 = 0x20;

const NANOS_PER_MICRO: i64 = 1000;
/// MySQL shows all six digits of the times in documents.
const FRACTION_DIGITS: u64 = 6;

impl JsonBinary {
    /// The document of a tree.
    ///
    /// # Errors
    /// 3157 for more than 100 levels, 3151 for a key of more than 65,535 bytes.
    pub fn new(json: &Json) -> Result<Self> {
        let mut out = Vec::with_capacity(32);
        out.push(type_code(json));
        write_value(json, 0, &mut out)?;
        Ok(Self(out))
    }

    /// The document of a text.
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        let json = parse(text)?;
        Ok(Self::new(&json)?)
    }

    /// Whether these bytes were stored by an older version, as text.
    pub fn is_stored_text(bytes: &[u8]) -> bool {
        bytes.first().is_none_or(|first| *first >= FIRST_PRINTABLE)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn root(&self) -> JsonRef<'_> {
        JsonRef::of_document(&self.0)
    }

    /// Wraps bytes that [`JsonBinary::as_bytes`] returned. Other bytes read as null.
    pub fn from_stored(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// JSON null, which is not SQL's NULL.
    pub fn null() -> Self {
        Self(vec![code::LITERAL, LITERAL_NULL])
    }
}

fn type_code(json: &Json) -> u8 {
    match json {
        Json::Null | Json::Bool(_) => code::LITERAL,
        Json::Int(_) => code::INT,
        Json::UInt(_) => code::UINT,
        Json::Double(_) => code::DOUBLE,
        Json::String(_) => code::STRING,
        Json::Decimal(_) | Json::Opaque(..) => code::OPAQUE,
        Json::Date(_) => code::DATE,
        Json::DateTime(_) => code::DATETIME,
        Json::Timestamp(_) => code::TIMESTAMP,
        Json::Time(_) => code::TIME,
        Json::Array(_) => code::ARRAY,
        Json::Object(_) => code::OBJECT,
    }
}

/// Appends a value without its type.
fn write_value(json: &Json, depth: u8, out: &mut Vec<u8>) -> Result<()> {
    match json {
        Json::Null => out.push(LITERAL_NULL),
        Json::Bool(true) => out.push(LITERAL_TRUE),
        Json::Bool(false) => out.push(LITERAL_FALSE),
        Json::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
        Json::UInt(v) => out.extend_from_slice(&v.to_le_bytes()),
        Json::Double(v) => out.extend_from_slice(&v.to_bits().to_le_bytes()),
        Json::Decimal(v) => write_decimal(v, out)?,
        Json::String(text) => {
            write_length(text.len(), out);
            out.extend_from_slice(text.as_bytes());
        }
        Json::Date(v) => out.extend_from_slice(&core_time(v, 0b1110).to_le_bytes()),
        Json::DateTime(v) => out.extend_from_slice(&core_time(v, FRACTION_DIGITS << 1).to_le_bytes()),
        Json::Timestamp(v) => out.extend_from_slice(&core_time(v, FRACTION_DIGITS << 1 | 1).to_le_bytes()),
        Json::Time(v) => {
            out.extend_from_slice(&v.0.saturating_mul(NANOS_PER_MICRO).to_le_bytes());
            out.extend_from_slice(&(FRACTION_DIGITS as u32).to_le_bytes());
        }
        Json::Opaque(ty, bytes) => {
            out.push(*ty);
            write_length(bytes.len(), out);
            out.extend_from_slice(bytes);
        }
        Json::Array(items) => {
            let start = start_container(items.len(), 0, depth, out)?;
            write_members(items.iter(), start, start + HEADER_BYTES, depth, out)?;
        }
        Json::Object(members) => {
            let start = start_container(members.len(), KEY_ENTRY_BYTES, depth, out)?;
            for (i, (key, _)) in members.iter().enumerate() {
                let length = u16::try_from(key.len()).map_err(|_| key_too_long())?;
                let entry = start + HEADER_BYTES + i * KEY_ENTRY_BYTES;
                let offset = offset(out.len() - start)?;
                put(out, entry, &offset.to_le_bytes());
                put(out, entry + 4, &length.to_le_bytes());
                out.extend_from_slice(key.as_bytes());
            }
            let entries = start + HEADER_BYTES + members.len() * KEY_ENTRY_BYTES;
            write_members(members.iter().map(|(_, v)| v), start, entries, depth, out)?;
        }
    }
    Ok(())
}

/// Appends the count, and reserves room for the size and the entries. Returns where the container begins.
fn start_container(count: usize, key_entry: usize, depth: u8, out: &mut Vec<u8>) -> Result<usize> {
    if depth >= MAX_DEPTH {
        return Err(too_deep());
    }
    let start = out.len();
    out.extend_from_slice(&offset(count)?.to_le_bytes());
    out.resize(start + HEADER_BYTES + count * (key_entry + VALUE_ENTRY_BYTES), 0);
    Ok(start)
}

/// Appends a container's values, and fills in their entries, which begin at `entries`, and the size.
fn write_members<'j>(
    values: impl Iterator<Item = &'j Json>,
    start: usize,
    entries: usize,
    depth: u8,
    out: &mut Vec<u8>,
) -> Result<()> {
    for (i, value) in values.enumerate() {
        let entry = entries + i * VALUE_ENTRY_BYTES;
        put(out, entry, &[type_code(value)]);
        let literal = match value {
            Json::Null => Some(LITERAL_NULL),
            Json::Bool(true) => Some(LITERAL_TRUE),
            Json::Bool(false) => Some(LITERAL_FALSE),
            _ => None,
        };
        match literal {
            Some(literal) => put(out, entry + 1, &[literal]),
            None => {
                let offset = offset(out.len() - start)?;
                put(out, entry + 1, &offset.to_le_bytes());
                write_value(value, depth + 1, out)?;
            }
        }
    }
    let size = offset(out.len() - start)?;
    put(out, start + 4, &size.to_le_bytes());
    Ok(())
}

/// Overwrites reserved bytes.
fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = out.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn offset(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| {
        Error::new(
            errno::ER_JSON_VALUE_TOO_BIG,
            "The JSON value is too big to be stored in a JSON column.",
        )
    })
}

#[cold]
fn key_too_long() -> Error {
    Error::new(
        errno::ER_JSON_KEY_TOO_BIG,
        "The JSON object contains a key name that is too long.",
    )
}

fn write_decimal(value: &Decimal, out: &mut Vec<u8>) -> Result<()> {
    let scale = value.scale;
    let precision = value.digits().max(scale).max(1);
    let mut digits = Vec::with_capacity(40);
    decimal::encode(value, precision, scale, &mut digits)
        .ok_or_else(|| Error::internal("a decimal of too many digits"))?;
    out.push(field_type::DECIMAL);
    write_length(digits.len(), out);
    out.extend_from_slice(&digits);
    Ok(())
}

/// Seven bits in each byte; all but the last have the highest bit set.
fn write_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

/// TiDB's encoding of a point in time.
fn core_time(value: &DateTime, digits_and_type: u64) -> u64 {
    u64::from(value.year) << 50
        | u64::from(value.month) << 46
        | u64::from(value.day) << 41
        | u64::from(value.hour) << 36
        | u64::from(value.minute) << 30
        | u64::from(value.second) << 24
        | u64::from(value.microsecond) << 4
        | digits_and_type
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        JsonBinary::parse(text.as_bytes()).unwrap().as_bytes().to_vec()
    }

    /// Derived from TiDB's description of the format.
    #[test]
    fn bytes_as_tidb_has_them() {
        assert_eq!(bytes("null"), [4, 0]);
        assert_eq!(bytes("true"), [4, 1]);
        assert_eq!(bytes("false"), [4, 2]);
        assert_eq!(bytes("-2"), [9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(bytes("\"ab\""), [12, 2, b'a', b'b']);
        assert_eq!(
            bytes("[true, \"x\"]"),
            [
                3, 2, 0, 0, 0, 20, 0, 0, 0, 4, 1, 0, 0, 0, 12, 18, 0, 0, 0, 1, b'x'
            ]
        );
        assert_eq!(
            bytes(r#"{"b": null, "a": []}"#),
            [
                1, 2, 0, 0, 0, 40, 0, 0, 0, // two members
                30, 0, 0, 0, 1, 0, 31, 0, 0, 0, 1, 0, // where the keys are
                3, 32, 0, 0, 0, 4, 0, 0, 0, 0, // where the values are
                b'a', b'b', 0, 0, 0, 0, 8, 0, 0, 0
            ]
        );
        let long = format!("\"{}\"", "x".repeat(300));
        assert_eq!(bytes(&long)[..4], [12, 0xac, 2, b'x']);
    }

    #[test]
    fn values_of_sql_types() {
        let of = |json: Json| JsonBinary::new(&json).unwrap().as_bytes().to_vec();
        assert_eq!(
            of(Json::Decimal(Decimal::parse("1.50").unwrap())),
            [13, 246, 4, 3, 2, 0x81, 50]
        );
        assert_eq!(of(Json::Opaque(field_type::BIT, vec![5])), [13, 16, 1, 5]);
        let day = DateTime::from_date(2024, 2, 29);
        let core = 2024_u64 << 50 | 2 << 46 | 29 << 41 | 14;
        assert_eq!(of(Json::Date(day)), [&[14][..], &core.to_le_bytes()].concat());
        let time = [17, 0x40, 0x42, 0x0f, 0, 0, 0, 0, 0, 6, 0, 0, 0];
        assert_eq!(of(Json::Time(crate::temporal::Time(1000))), time);
    }

    #[test]
    fn limits() {
        let nested = |levels: usize| (0..levels).fold(Json::Null, |json, _| Json::Array(vec![json]));
        assert!(JsonBinary::new(&nested(100)).is_ok());
        assert_eq!(JsonBinary::new(&nested(101)).unwrap_err().code, 3157);
        let key = Json::Object(vec![("k".repeat(65_536), Json::Null)]);
        assert_eq!(JsonBinary::new(&key).unwrap_err().code, 3151);
    }
}
