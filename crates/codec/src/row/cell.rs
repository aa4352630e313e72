//! The bytes of one value in a row.
//!
//! | types | bytes |
//! |---|---|
//! | integers, YEAR | 1, 2, 4 or 8 bytes little-endian: the fewest that hold it, signed or unsigned as the type is |
//! | DATE, DATETIME, TIMESTAMP (UTC) | the packed form, as an unsigned integer |
//! | TIME | nanoseconds, as a signed integer |
//! | ENUM, SET, BIT | the number, as an unsigned integer |
//! | FLOAT, DOUBLE | 8 bytes, memcomparable |
//! | DECIMAL | precision, scale, binary digits ([`crate::decimal`]) |
//! | CHAR, VARCHAR, TEXT | UTF-8 |
//! | BINARY, VARBINARY, BLOB | the bytes |
//! | JSON | the binary form ([`types::json`]). Of older versions the text, which begins with a printable character |

use std::borrow::Cow;

use types::json::JsonBinary;
use types::{Decimal, SqlType, TypeKind, Value};

use crate::datum::NANOS_PER_MICRO;
use crate::memcomparable::{decode_f64, encode_f64};
use crate::{Error, Result, decimal};

/// Appends a value that is not NULL.
pub fn encode(value: &Value, ty: &SqlType, out: &mut Vec<u8>) -> Result<()> {
    let wrong = || Error::wrong_type(value, ty);
    match ty.kind {
        TypeKind::Null => return Err(wrong()),
        TypeKind::Year
        | TypeKind::Date
        | TypeKind::DateTime
        | TypeKind::Timestamp
        | TypeKind::Enum(_)
        | TypeKind::Set(_)
        | TypeKind::Bit => {
            encode_unsigned(value.as_u64().ok_or_else(wrong)?, out);
        }
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            if ty.unsigned {
                encode_unsigned(value.as_u64().ok_or_else(wrong)?, out);
            } else {
                encode_signed(value.as_i64().ok_or_else(wrong)?, out);
            }
        }
        TypeKind::Time => {
            let nanos = value.as_i64().and_then(|us| us.checked_mul(NANOS_PER_MICRO));
            encode_signed(nanos.ok_or_else(wrong)?, out);
        }
        TypeKind::Float | TypeKind::Double => {
            let Value::Double(number) = value else {
                return Err(wrong());
            };
            encode_f64(*number, out);
        }
        TypeKind::Decimal => {
            let Value::Decimal(number) = value else {
                return Err(wrong());
            };
            decimal::encode(number, ty.length as u8, ty.decimals, out)?;
        }
        TypeKind::Char
        | TypeKind::VarChar
        | TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText => out.extend_from_slice(value.as_bytes().ok_or_else(wrong)?),
        TypeKind::Json => {
            let Value::Json(document) = value else {
                return Err(wrong());
            };
            out.extend_from_slice(document.as_bytes());
        }
    }
    Ok(())
}

pub(crate) fn encode_signed(value: i64, out: &mut Vec<u8>) {
    if let Ok(v) = i8::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else if let Ok(v) = i16::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else if let Ok(v) = i32::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

pub(crate) fn encode_unsigned(value: u64, out: &mut Vec<u8>) {
    if let Ok(v) = u8::try_from(value) {
        out.push(v);
    } else if let Ok(v) = u16::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else if let Ok(v) = u32::try_from(value) {
        out.extend_from_slice(&v.to_le_bytes());
    } else {
        out.extend_from_slice(&value.to_le_bytes());
    }
}

#[inline]
pub(super) fn decode_signed(bytes: &[u8]) -> Result<i64> {
    match bytes {
        [b] => Ok(i64::from(*b as i8)),
        [a, b] => Ok(i64::from(i16::from_le_bytes([*a, *b]))),
        [a, b, c, d] => Ok(i64::from(i32::from_le_bytes([*a, *b, *c, *d]))),
        _ => match <[u8; 8]>::try_from(bytes) {
            Ok(bytes) => Ok(i64::from_le_bytes(bytes)),
            Err(_) => Err(Error::Malformed {
                what: "an integer in a row",
            }),
        },
    }
}

#[inline]
pub(super) fn decode_unsigned(bytes: &[u8]) -> Result<u64> {
    match bytes {
        [b] => Ok(u64::from(*b)),
        [a, b] => Ok(u64::from(u16::from_le_bytes([*a, *b]))),
        [a, b, c, d] => Ok(u64::from(u32::from_le_bytes([*a, *b, *c, *d]))),
        _ => match <[u8; 8]>::try_from(bytes) {
            Ok(bytes) => Ok(u64::from_le_bytes(bytes)),
            Err(_) => Err(Error::Malformed {
                what: "an unsigned integer in a row",
            }),
        },
    }
}

/// Microseconds of a TIME.
#[inline]
pub(super) fn decode_time(bytes: &[u8]) -> Result<i64> {
    Ok(decode_signed(bytes)? / NANOS_PER_MICRO)
}

#[inline]
pub(super) fn decode_double(mut bytes: &[u8]) -> Result<f64> {
    let value = decode_f64(&mut bytes)?;
    match bytes.len() {
        0 => Ok(value),
        bytes => Err(Error::TrailingBytes {
            what: "a double",
            bytes,
        }),
    }
}

pub(super) fn decode_decimal(mut bytes: &[u8]) -> Result<types::Decimal> {
    let value = decimal::decode(&mut bytes)?;
    match bytes.len() {
        0 => Ok(value),
        bytes => Err(Error::TrailingBytes {
            what: "a decimal",
            bytes,
        }),
    }
}

pub(super) fn decode_text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| Error::Malformed {
        what: "text in a row",
    })
}

/// A document in the binary form, converted if an older version stored its text.
#[inline]
pub(super) fn decode_json(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !JsonBinary::is_stored_text(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    match JsonBinary::parse(bytes) {
        Ok(document) => Ok(Cow::Owned(document.into_bytes())),
        Err(_) => Err(Error::Malformed {
            what: "a JSON document in a row",
        }),
    }
}

/// The value of a cell. A TIMESTAMP stays in UTC.
pub fn decode(bytes: &[u8], ty: &SqlType) -> Result<Value> {
    Form::of(ty).give(bytes, |utc| utc, ToValue)
}

/// How the bytes of a type's cells are read. It is determined once for a column, not for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Signed,
    Unsigned,
    /// Stored in UTC, and converted to the session's zone.
    Timestamp,
    Time,
    Double,
    Decimal,
    Text,
    Bytes,
    Json,
}

impl Form {
    pub fn of(ty: &SqlType) -> Self {
        match ty.kind {
            TypeKind::Timestamp => Self::Timestamp,
            TypeKind::Date | TypeKind::DateTime | TypeKind::Year => Self::Unsigned,
            TypeKind::Enum(_) | TypeKind::Set(_) | TypeKind::Bit => Self::Unsigned,
            TypeKind::Time => Self::Time,
            TypeKind::Float | TypeKind::Double => Self::Double,
            TypeKind::Decimal => Self::Decimal,
            TypeKind::Json => Self::Json,
            _ if ty.is_integer() && ty.unsigned => Self::Unsigned,
            _ if ty.is_integer() => Self::Signed,
            _ if ty.is_binary() => Self::Bytes,
            _ => Self::Text,
        }
    }

    /// `utc_to_local` turns a packed TIMESTAMP of the row into one of the session's zone.
    #[inline(always)]
    pub fn give<'a, T: TakeCell<'a>>(
        self,
        bytes: &'a [u8],
        utc_to_local: impl Fn(u64) -> u64,
        taker: T,
    ) -> Result<T::Out, T::Error> {
        match self {
            Self::Text => taker.text(bytes),
            Self::Bytes => taker.bytes(bytes),
            Self::Signed => taker.int(decode_signed(bytes)?),
            Self::Unsigned => taker.uint(decode_unsigned(bytes)?),
            Self::Timestamp => taker.uint(utc_to_local(decode_unsigned(bytes)?)),
            Self::Time => taker.int(decode_time(bytes)?),
            Self::Double => taker.double(decode_double(bytes)?),
            Self::Decimal => taker.decimal(decode_decimal(bytes)?),
            Self::Json => taker.json(decode_json(bytes)?),
        }
    }
}

/// Takes one value as it is decoded. A [`CellValue`] instead would be as large as the largest kind of value,
/// and would be moved as a whole.
pub trait TakeCell<'a>: Sized {
    type Out;
    type Error: From<Error>;

    fn null(self) -> Result<Self::Out, Self::Error>;
    fn int(self, value: i64) -> Result<Self::Out, Self::Error>;
    fn uint(self, value: u64) -> Result<Self::Out, Self::Error>;
    fn double(self, value: f64) -> Result<Self::Out, Self::Error>;
    fn decimal(self, value: Decimal) -> Result<Self::Out, Self::Error>;
    /// Bytes that have not been checked to be UTF-8. A taker that only passes them on need not check them.
    fn text(self, bytes: &'a [u8]) -> Result<Self::Out, Self::Error>;
    fn bytes(self, bytes: &'a [u8]) -> Result<Self::Out, Self::Error>;
    /// A document in the binary form.
    fn json(self, document: Cow<'a, [u8]>) -> Result<Self::Out, Self::Error>;

    /// Takes a value that does not come from a row.
    fn value(self, value: &'a Value) -> Result<Self::Out, Self::Error> {
        match value {
            Value::Null => self.null(),
            Value::Int(v) => self.int(*v),
            Value::UInt(v) => self.uint(*v),
            Value::Double(v) => self.double(*v),
            Value::Decimal(v) => self.decimal(*v),
            Value::String(v) => self.text(v.as_bytes()),
            Value::Bytes(v) => self.bytes(v),
            Value::Json(v) => self.json(Cow::Borrowed(v.as_bytes())),
        }
    }
}

/// Makes a [`Value`] of it.
pub(super) struct ToValue;

impl TakeCell<'_> for ToValue {
    type Out = Value;
    type Error = Error;

    fn null(self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn int(self, value: i64) -> Result<Value> {
        Ok(Value::Int(value))
    }

    fn uint(self, value: u64) -> Result<Value> {
        Ok(Value::UInt(value))
    }

    fn double(self, value: f64) -> Result<Value> {
        Ok(Value::Double(value))
    }

    fn decimal(self, value: Decimal) -> Result<Value> {
        Ok(Value::Decimal(value))
    }

    fn text(self, bytes: &[u8]) -> Result<Value> {
        Ok(Value::from(decode_text(bytes)?))
    }

    fn bytes(self, bytes: &[u8]) -> Result<Value> {
        Ok(Value::Bytes(bytes.to_vec()))
    }

    fn json(self, document: Cow<'_, [u8]>) -> Result<Value> {
        Ok(Value::Json(JsonBinary::from_stored(document.into_owned())))
    }
}

/// A value, borrowed from the row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CellValue<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    /// Bytes that have not been checked to be UTF-8. A taker that only passes them on need not check them.
    Text(&'a [u8]),
    Bytes(&'a [u8]),
    Json(&'a [u8]),
}

impl<'a> From<&'a Value> for CellValue<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(v) => Self::Int(*v),
            Value::UInt(v) => Self::UInt(*v),
            Value::Double(v) => Self::Double(*v),
            Value::Decimal(v) => Self::Decimal(*v),
            Value::String(v) => Self::Text(v.as_bytes()),
            Value::Bytes(v) => Self::Bytes(v),
            Value::Json(v) => Self::Json(v.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::temporal::DateTime;
    use types::{Collation, Members};

    use super::*;

    fn encoded(value: &Value, ty: &SqlType) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, ty, &mut out).unwrap();
        out
    }

    #[test]
    fn integers_take_the_fewest_bytes() {
        for (value, bytes) in [
            (0, &[0][..]),
            (-128, &[0x80]),
            (128, &[0x80, 0]),
            (-129, &[0x7f, 0xff]),
            (32_768, &[0, 0x80, 0, 0]),
            (1 << 31, &[0, 0, 0, 0x80, 0, 0, 0, 0]),
        ] {
            assert_eq!(encoded(&Value::Int(value), &SqlType::BIGINT), bytes);
        }
        assert_eq!(encoded(&Value::UInt(200), &SqlType::BIGINT_UNSIGNED), [200]);
        assert!(decode_signed(&[1, 2, 3]).is_err());
        assert!(decode_unsigned(&[]).is_err());
    }

    fn ab() -> Members {
        Members::new(vec!["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn values_come_back() {
        let text = SqlType::varchar(9, Collation::DEFAULT);
        for (value, ty) in [
            (Value::Int(-300), SqlType::BIGINT),
            (Value::UInt(70_000), SqlType::BIGINT_UNSIGNED),
            (Value::UInt(1999), SqlType::YEAR),
            (Value::UInt(DateTime::MAX.pack()), SqlType::DATE),
            (Value::UInt(DateTime::MAX.pack()), SqlType::datetime(3)),
            (Value::UInt(0), SqlType::timestamp(0)),
            (Value::Int(-1_500_000), SqlType::time(1)),
            (Value::Double(2.5), SqlType::DOUBLE),
            (Value::Decimal(Decimal::from_i128(-15, 1)), SqlType::decimal(5, 1)),
            (Value::from("é"), text),
            (
                Value::Json(JsonBinary::parse(b"{\"a\": 1}").unwrap()),
                SqlType::JSON,
            ),
            (Value::UInt(2), SqlType::of_enum(ab(), Collation::DEFAULT)),
            (Value::UInt(3), SqlType::of_set(ab(), Collation::DEFAULT)),
            (Value::UInt(u64::MAX), SqlType::bit(64)),
            (
                Value::Bytes(vec![0, 0xff]),
                SqlType::varchar(9, Collation::Binary),
            ),
        ] {
            let bytes = encoded(&value, &ty);
            assert_eq!(decode(&bytes, &ty).as_ref(), Ok(&value));
        }
        assert!(decode(&[0xff], &text).is_err());
    }

    #[test]
    fn documents_of_older_versions_are_read() {
        for text in ["null", "-1.5", "[1, \"a\"]", "{\"a\": {}}", "\"\"", "true"] {
            let document = JsonBinary::parse(text.as_bytes()).unwrap();
            assert_eq!(decode(text.as_bytes(), &SqlType::JSON), Ok(Value::Json(document)));
        }
        for damaged in ["", "{", "x"] {
            assert!(decode(damaged.as_bytes(), &SqlType::JSON).is_err());
        }
    }

    proptest! {
        #[test]
        fn integers_round_trip(signed: i64, unsigned: u64, shift in 0u32..64) {
            let (signed, unsigned) = (signed >> shift, unsigned >> shift);
            prop_assert_eq!(decode_signed(&encoded(&Value::Int(signed), &SqlType::BIGINT)), Ok(signed));
            let bytes = encoded(&Value::UInt(unsigned), &SqlType::BIGINT_UNSIGNED);
            prop_assert_eq!(decode_unsigned(&bytes), Ok(unsigned));
        }

        #[test]
        fn any_bytes_decode_or_fail(input: Vec<u8>) {
            for ty in [SqlType::BIGINT, SqlType::YEAR, SqlType::DOUBLE, SqlType::decimal(10, 2), SqlType::time(0),
                SqlType::JSON, SqlType::datetime(6), SqlType::DATE] {
                let _ = decode(&input, &ty);
            }
        }
    }
}
