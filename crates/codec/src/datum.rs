//! Values as parts of keys: a flag byte, then a [memcomparable](crate::memcomparable) encoding by type.
//!
//! | flag | value | of types |
//! |---|---|---|
//! | 0x00 | nothing | NULL |
//! | 0x01 | byte string | strings: the collation's sort key, for `binary` the bytes |
//! | 0x03 | signed integer | signed integers, YEAR |
//! | 0x04 | unsigned integer | unsigned integers; DATE, DATETIME, TIMESTAMP packed; ENUM, SET, BIT |
//! | 0x05 | double | FLOAT, DOUBLE |
//! | 0x06 | decimal | DECIMAL |
//! | 0x07 | signed integer, nanoseconds | TIME |
//!
//! So NULL sorts first. A TIMESTAMP is in UTC here; the caller converts it. A string cannot be decoded from
//! the sort key of its collation: [`decode`] refuses, and the index entry's value holds the original.

use types::{SqlType, TypeKind, Value};

use crate::memcomparable::{
    decode_bytes, decode_f64, decode_i64, decode_u64, encode_bytes, encode_f64, encode_i64, encode_u64,
    skip_bytes, take,
};
use crate::{Error, Result, decimal};

pub const NIL_FLAG: u8 = 0;
pub const BYTES_FLAG: u8 = 1;
/// Not in keys: the length as a variable-length integer, then the bytes.
pub const COMPACT_BYTES_FLAG: u8 = 2;
pub const INT_FLAG: u8 = 3;
pub const UINT_FLAG: u8 = 4;
pub const FLOAT_FLAG: u8 = 5;
pub const DECIMAL_FLAG: u8 = 6;
pub const DURATION_FLAG: u8 = 7;
/// Not in keys: variable-length integers of 7 bits a byte, lowest bits first. Signed ones are n << 1 ^ n >>
/// 63.
pub const VAR_INT_FLAG: u8 = 8;
pub const VAR_UINT_FLAG: u8 = 9;

const WHAT: &str = "a value in a key";
pub(crate) const NANOS_PER_MICRO: i64 = 1_000;

/// Whether [`decode`] returns the encoded value. It does not for text: the key holds only its sort key.
pub fn is_reversible(ty: &SqlType) -> bool {
    !ty.is_string() || ty.is_binary()
}

/// Appends one value. Strings are encoded whole; for a prefix index the caller cuts them first.
///
/// # Errors
/// [`Error::WrongType`] for a value that is not of the type.
pub fn encode(value: &Value, ty: &SqlType, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.push(NIL_FLAG);
        return Ok(());
    }
    let wrong = || Error::wrong_type(value, ty);
    match ty.kind {
        TypeKind::Null | TypeKind::Json => return Err(wrong()),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt
            if ty.unsigned =>
        {
            out.push(UINT_FLAG);
            encode_u64(value.as_u64().ok_or_else(wrong)?, out);
        }
        TypeKind::TinyInt
        | TypeKind::SmallInt
        | TypeKind::MediumInt
        | TypeKind::Int
        | TypeKind::BigInt
        | TypeKind::Year => {
            out.push(INT_FLAG);
            encode_i64(value.as_i64().ok_or_else(wrong)?, out);
        }
        TypeKind::Date
        | TypeKind::DateTime
        | TypeKind::Timestamp
        | TypeKind::Enum(_)
        | TypeKind::Set(_)
        | TypeKind::Bit => {
            out.push(UINT_FLAG);
            encode_u64(value.as_u64().ok_or_else(wrong)?, out);
        }
        TypeKind::Time => {
            let nanos = value.as_i64().and_then(|us| us.checked_mul(NANOS_PER_MICRO));
            out.push(DURATION_FLAG);
            encode_i64(nanos.ok_or_else(wrong)?, out);
        }
        TypeKind::Float | TypeKind::Double => {
            let Value::Double(number) = value else {
                return Err(wrong());
            };
            out.push(FLOAT_FLAG);
            encode_f64(*number, out);
        }
        TypeKind::Decimal => {
            let Value::Decimal(number) = value else {
                return Err(wrong());
            };
            out.push(DECIMAL_FLAG);
            decimal::encode(number, ty.length as u8, ty.decimals, out)?;
        }
        TypeKind::Char
        | TypeKind::VarChar
        | TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText => {
            let bytes = value.as_bytes().ok_or_else(wrong)?;
            out.push(BYTES_FLAG);
            encode_string(bytes, ty, out);
        }
    }
    Ok(())
}

fn encode_string(bytes: &[u8], ty: &SqlType, out: &mut Vec<u8>) {
    if ty.is_binary() {
        encode_bytes(bytes, out);
    } else {
        let mut key = Vec::with_capacity(bytes.len() * 2 + 2);
        ty.collation.sort_key(bytes, &mut key);
        encode_bytes(&key, out);
    }
}

/// Removes one value from the front.
///
/// # Errors
/// For damaged bytes, for a flag that the type does not use, and for text, of which a key holds only the sort
/// key.
pub fn decode(input: &mut &[u8], ty: &SqlType) -> Result<Value> {
    let [flag] = take(input, WHAT)?;
    let value = match flag {
        NIL_FLAG => return Ok(Value::Null),
        INT_FLAG => {
            let value = decode_i64(input)?;
            match ty.kind {
                TypeKind::Year => {
                    Value::UInt(u64::try_from(value).map_err(|_| Error::Malformed { what: WHAT })?)
                }
                _ if ty.is_integer() && !ty.unsigned => Value::Int(value),
                _ => return Err(Error::UnknownFlag { what: WHAT, flag }),
            }
        }
        UINT_FLAG if is_unsigned(ty) => Value::UInt(decode_u64(input)?),
        FLOAT_FLAG if ty.is_float() => Value::Double(decode_f64(input)?),
        DECIMAL_FLAG if ty.is_decimal() => Value::Decimal(decimal::decode(input)?),
        DURATION_FLAG if ty.kind == TypeKind::Time => Value::Int(decode_i64(input)? / NANOS_PER_MICRO),
        BYTES_FLAG if ty.is_binary() => {
            let mut bytes = Vec::new();
            decode_bytes(input, &mut bytes)?;
            Value::Bytes(bytes)
        }
        flag => return Err(Error::UnknownFlag { what: WHAT, flag }),
    };
    Ok(value)
}

fn is_unsigned(ty: &SqlType) -> bool {
    ty.is_datetime() || ty.has_members() || (ty.is_integer() && ty.unsigned)
}

/// Removes one value of any type from the front and returns its bytes, with the flag.
pub fn split<'a>(input: &mut &'a [u8]) -> Result<&'a [u8]> {
    let start = *input;
    let [flag] = take(input, WHAT)?;
    match flag {
        NIL_FLAG => {}
        BYTES_FLAG => skip_bytes(input)?,
        INT_FLAG | UINT_FLAG | FLOAT_FLAG | DURATION_FLAG => {
            take::<8>(input, WHAT)?;
        }
        DECIMAL_FLAG => decimal::skip(input)?,
        flag => return Err(Error::UnknownFlag { what: WHAT, flag }),
    }
    Ok(&start[..start.len() - input.len()])
}

/// The flag and the length of a string of `bytes` bytes, as they are outside keys.
pub fn compact_bytes_head(bytes: usize) -> Vec<u8> {
    let mut head = vec![COMPACT_BYTES_FLAG];
    let mut rest = (bytes as u64) << 1;
    while rest >= 0x80 {
        head.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    head.push(rest as u8);
    head
}

/// Removes one value of any type and form from the front, and returns it as a row's cell
/// ([`crate::row::cell`]); `None`: NULL. Text must not be a sort key. The cell may be built in `buffer`.
///
/// # Errors
/// For damaged bytes.
pub fn as_cell<'a, 'i: 'a>(input: &mut &'i [u8], buffer: &'a mut Vec<u8>) -> Result<Option<&'a [u8]>> {
    let [flag] = take(input, WHAT)?;
    let integer = match flag {
        NIL_FLAG => return Ok(None),
        INT_FLAG | DURATION_FLAG => decode_i64(input)? as u64,
        UINT_FLAG => decode_u64(input)?,
        VAR_INT_FLAG => unzigzag(variable(input)?) as u64,
        VAR_UINT_FLAG => variable(input)?,
        FLOAT_FLAG => return split_off(input, size_of::<f64>()).map(Some),
        DECIMAL_FLAG => {
            let start = *input;
            decimal::skip(input)?;
            return Ok(start.get(..start.len() - input.len()));
        }
        COMPACT_BYTES_FLAG => {
            let bytes = usize::try_from(unzigzag(variable(input)?)).map_err(|_| MALFORMED)?;
            return split_off(input, bytes).map(Some);
        }
        BYTES_FLAG => {
            buffer.clear();
            decode_bytes(input, buffer)?;
            return Ok(Some(buffer));
        }
        flag => return Err(Error::UnknownFlag { what: WHAT, flag }),
    };
    buffer.clear();
    buffer.extend_from_slice(&integer.to_le_bytes());
    Ok(Some(buffer))
}

const MALFORMED: Error = Error::Malformed { what: WHAT };

fn split_off<'a>(input: &mut &'a [u8], bytes: usize) -> Result<&'a [u8]> {
    let (front, rest) = input.split_at_checked(bytes).ok_or(MALFORMED)?;
    *input = rest;
    Ok(front)
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn variable(input: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let [byte] = take(input, WHAT)?;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(MALFORMED)
}

/// The same for a part that sorts in descending order: all bytes of its encoding are inverted, so NULL is
/// last.
pub mod descending {
    use super::{Result, SqlType, Value};

    /// Inverts the encoding of a value: the bytes of `key` from `start` on.
    pub fn invert(key: &mut [u8], start: usize) {
        if let Some(part) = key.get_mut(start..) {
            part.iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// [`super::decode`]
    pub fn decode(input: &mut &[u8], ty: &SqlType) -> Result<Value> {
        let (value, bytes) = with_plain(input, |plain| super::decode(plain, ty))?;
        *input = input.get(bytes..).unwrap_or_default();
        Ok(value)
    }

    /// [`super::split`]
    pub fn split<'a>(input: &mut &'a [u8]) -> Result<&'a [u8]> {
        let ((), bytes) = with_plain(input, |plain| super::split(plain).map(drop))?;
        let (part, rest) = input.split_at_checked(bytes).unwrap_or_default();
        *input = rest;
        Ok(part)
    }

    /// Runs `read` on the inverted rest of a key, and returns how many bytes it has read, too.
    fn with_plain<T>(input: &[u8], read: impl FnOnce(&mut &[u8]) -> Result<T>) -> Result<(T, usize)> {
        let plain: Vec<u8> = input.iter().map(|byte| !byte).collect();
        let mut rest = plain.as_slice();
        let found = read(&mut rest)?;
        Ok((found, plain.len() - rest.len()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::{Collation, Decimal, Members};

    use super::*;

    fn encoded(value: &Value, ty: &SqlType) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, ty, &mut out).unwrap();
        out
    }

    const BINARY: SqlType = SqlType::varchar(100, Collation::Binary);

    #[test]
    fn flags_and_round_trips() {
        for (value, ty, flag) in [
            (Value::Null, SqlType::BIGINT, 0),
            (Value::Int(-1), SqlType::BIGINT, 3),
            (Value::UInt(u64::MAX), SqlType::BIGINT_UNSIGNED, 4),
            (Value::UInt(2024), SqlType::YEAR, 3),
            (Value::UInt(1 << 50), SqlType::datetime(6), 4),
            (Value::UInt(3), SqlType::bit(2), 4),
            (
                Value::UInt(1),
                SqlType::of_enum(Members::new(vec!["a".to_owned()]), Collation::DEFAULT),
                4,
            ),
            (Value::Double(-1.5), SqlType::DOUBLE, 5),
            (
                Value::Decimal(Decimal::from_i128(-150, 2)),
                SqlType::decimal(5, 2),
                6,
            ),
            (Value::Int(-3_000_001), SqlType::time(6), 7),
            (Value::Bytes(vec![1, 2, 3]), BINARY, 1),
        ] {
            let bytes = encoded(&value, &ty);
            assert_eq!(bytes[0], flag);
            let mut rest = &bytes[..];
            assert_eq!(decode(&mut rest, &ty), Ok(value));
            assert!(rest.is_empty());
            assert_eq!(split(&mut &bytes[..]), Ok(&bytes[..]));
        }
    }

    #[test]
    fn text_holds_the_sort_key() {
        let ty = SqlType::varchar(10, Collation::Utf8mb4GeneralCi);
        assert_eq!(encoded(&Value::from("a"), &ty), encoded(&Value::from("A "), &ty));
        assert!(!is_reversible(&ty));
        assert!(decode(&mut &encoded(&Value::from("a"), &ty)[..], &ty).is_err());
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let mut out = Vec::new();
        assert!(encode(&Value::Int(-1), &SqlType::BIGINT_UNSIGNED, &mut out).is_err());
        assert!(encode(&Value::from("1"), &SqlType::BIGINT, &mut out).is_err());
        assert!(encode(&Value::from("1"), &SqlType::JSON, &mut out).is_err());
    }

    proptest! {
        #[test]
        fn keys_of_two_parts_sort_by_part(a: (i64, Vec<u8>), b: (i64, Vec<u8>)) {
            let key = |v: &(i64, Vec<u8>)| {
                let mut out = encoded(&Value::Int(v.0 % 4), &SqlType::BIGINT);
                encode(&Value::Bytes(v.1.clone()), &BINARY, &mut out).unwrap();
                out
            };
            let values = |v: &(i64, Vec<u8>)| (v.0 % 4, v.1.clone());
            prop_assert_eq!(values(&a).cmp(&values(&b)), key(&a).cmp(&key(&b)));
        }

        #[test]
        fn descending_parts_sort_the_other_way(a: (Option<i64>, Vec<u8>), b: (Option<i64>, Vec<u8>)) {
            let key = |v: &(Option<i64>, Vec<u8>)| {
                let mut out = encoded(&Value::Bytes(v.1.clone()), &BINARY);
                descending::invert(&mut out, 0);
                let start = out.len();
                encode(&v.0.map_or(Value::Null, |n| Value::Int(n % 4)), &SqlType::BIGINT, &mut out).unwrap();
                descending::invert(&mut out, start);
                out
            };
            let values = |v: &(Option<i64>, Vec<u8>)| (v.1.clone(), v.0.map(|n| n % 4));
            prop_assert_eq!(values(&b).cmp(&values(&a)), key(&a).cmp(&key(&b)));
            let bytes = key(&a);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(descending::decode(&mut rest, &BINARY).unwrap(), Value::Bytes(a.1.clone()));
            let number = descending::split(&mut rest).unwrap();
            prop_assert!(rest.is_empty() && bytes.ends_with(number));
        }

        #[test]
        fn any_value_is_read_as_a_cell(number: i64, text: Vec<u8>) {
            let mut values = vec![VAR_INT_FLAG];
            let mut rest = ((number << 1) ^ (number >> 63)) as u64;
            while rest >= 0x80 {
                values.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            values.push(rest as u8);
            values.extend(compact_bytes_head(text.len()));
            values.extend_from_slice(&text);
            encode(&Value::Bytes(text.clone()), &BINARY, &mut values).unwrap();
            encode(&Value::Int(number), &SqlType::BIGINT, &mut values).unwrap();
            values.push(NIL_FLAG);
            let mut input = values.as_slice();
            let cell = number.to_le_bytes();
            for expected in [Some(&cell[..]), Some(&text), Some(&text), Some(&cell), None] {
                let mut buffer = Vec::new();
                prop_assert_eq!(as_cell(&mut input, &mut buffer).unwrap(), expected);
            }
            prop_assert!(input.is_empty());
        }

        #[test]
        fn any_bytes_decode_or_fail(input: Vec<u8>) {
            let mut rest = input.as_slice();
            while as_cell(&mut rest, &mut Vec::new()).is_ok() && !rest.is_empty() {}
            let _ = descending::decode(&mut &input[..], &BINARY);
            let _ = descending::split(&mut &input[..]);
            for ty in [SqlType::BIGINT, SqlType::YEAR, SqlType::DOUBLE, SqlType::decimal(10, 2), SqlType::time(0), BINARY] {
                let _ = decode(&mut &input[..], &ty);
            }
            let _ = split(&mut &input[..]);
        }
    }
}
