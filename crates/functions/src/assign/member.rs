//! Conversions to ENUM, SET and BIT columns, and from them to other columns.

use types::{Charset, Error, Members, Result, SqlType, TypeKind, Value, errno};

use super::Target;
use super::number::in_64_bits;
use crate::bind::arguments::text_type;
use crate::cast::number_text::is_space;
use crate::charset;
use crate::datum::Datum;

/// Converts a value of an ENUM, SET or BIT: to its number for a numeric column, to its text for every other.
/// A BIT becomes its bytes in a TEXT or BLOB, and the digits of its number in other text columns, as when
/// MySQL copies columns. `None` for values of other types.
pub(super) fn from_stored(target: &Target<'_>, value: Datum<'_>) -> Option<Result<Value>> {
    let (from, to) = (target.from, target.to);
    if !(from.has_members() || from.kind == TypeKind::Bit)
        || matches!(value, Datum::String(_) | Datum::Bytes(_))
    {
        return None;
    }
    // The empty text, which stands for a value that was not a member, is stored as such again.
    let both_enums = matches!((from.kind, to.kind), (TypeKind::Enum(_), TypeKind::Enum(_)));
    if from == to || both_enums && value == Datum::UInt(0) {
        return Some(Ok(value.to_value()));
    }
    if to.is_numeric() || from.kind == TypeKind::Bit && !is_blob(to) {
        let number = Target {
            from: &SqlType::BIGINT_UNSIGNED,
            ..*target
        };
        return Some(number.convert(value));
    }
    let text = crate::cast::members::text(value, from);
    let target = Target {
        from: &text_type(from, from.collation),
        ..*target
    };
    Some(target.convert(Datum::of(&text)))
}

fn is_blob(ty: &SqlType) -> bool {
    use TypeKind::{LongText, MediumText, Text, TinyText};
    matches!(ty.kind, TinyText | Text | MediumText | LongText)
}

/// A text that is to be a number of a member is shorter than this, and one of a set of members is shorter than that.
const NUMBER_OF_MEMBER_BYTES: usize = 6;
const NUMBER_OF_SET_BYTES: usize = 22;

/// The member with a given text or number. If there is none, 0 with warning 1265, which is an error in strict
/// mode.
pub(super) fn to_enum(target: &Target<'_>, members: Members, value: Datum<'_>) -> Result<Value> {
    let number = match text_of(target, value) {
        Some(text) => {
            let text = text.trim_end_matches(' ');
            match members.find(text, target.to.collation) {
                Some(position) => Some(position as u64 + 1),
                // A text that reads zero stands for the value that is not a member, and is no fault.
                None => match number_in(text).filter(|_| text.len() < NUMBER_OF_MEMBER_BYTES) {
                    Some(0) => return Ok(Value::UInt(0)),
                    number => number,
                },
            }
        }
        None => whole_of(value).filter(|number| *number > 0),
    };
    match number.filter(|number| *number <= members.enum_max()) {
        Some(number) => Ok(Value::UInt(number)),
        None => {
            target.truncated()?;
            Ok(Value::UInt(0))
        }
    }
}

/// The members that a text lists, or the bits of a number. Texts that are not members are left out with
/// warning 1265, which is an error in strict mode.
pub(super) fn to_set(target: &Target<'_>, members: Members, value: Datum<'_>) -> Result<Value> {
    let all = members.set_max();
    let (bits, complete) = match text_of(target, value) {
        Some(text) => match members.find_set(text.trim_end_matches(' '), target.to.collation) {
            (0, _) if !text.is_empty() && text.len() < NUMBER_OF_SET_BYTES => {
                match number_in(&text).filter(|number| *number <= all) {
                    Some(number) => (number, true),
                    None => (0, false),
                }
            }
            found => found,
        },
        None => {
            let number = whole_of(value);
            let is_negative = matches!(value, Datum::Decimal(d) if d.is_negative());
            let bits = number.unwrap_or(if is_negative { 0 } else { u64::MAX });
            (bits & all, number.is_some() && bits <= all)
        }
    };
    if !complete {
        target.truncated()?;
    }
    Ok(Value::UInt(bits))
}

/// The bits of a number, or of bytes with the highest first. JSON is read as its text. A value that is too
/// long is error 1406 in strict mode; otherwise all bits are set.
pub(super) fn to_bit(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let bits = match value {
        Datum::String(text) => {
            let charset = match target.from.is_string() {
                true => target.from.collation.charset(),
                false => Charset::Utf8mb4,
            };
            bits_of(&charset::encode(text, charset))
        }
        Datum::Bytes(bytes) => bits_of(bytes),
        _ if target.from.is_temporal() => bits_of(target.shown(&value).as_bytes()),
        Datum::Decimal(d) if d.is_negative() && !d.is_zero() => {
            target.out_of_range()?;
            return Ok(Value::UInt(0));
        }
        Datum::Decimal(d) => u64::try_from(in_64_bits(target, &d, true)?).ok(),
        _ => whole_of(value),
    };
    let (_, max) = super::integer_range(target.to);
    match bits.filter(|bits| i128::from(*bits) <= max) {
        Some(bits) => Ok(Value::UInt(bits)),
        None if target.is_strict() => Err(Error::new(
            errno::ER_DATA_TOO_LONG,
            target.at_row("Data too long"),
        )),
        None if target.ctx.sql_mode.strict => {
            let message = target.at_row("Data too long");
            target.ctx.warn(errno::ER_DATA_TOO_LONG, message)?;
            Ok(Value::UInt(max as u64))
        }
        None => {
            target.out_of_range()?;
            Ok(Value::UInt(max as u64))
        }
    }
}

/// The text of a value; `None` for a number.
fn text_of(target: &Target<'_>, value: Datum<'_>) -> Option<String> {
    match value {
        Datum::String(text) => Some(text.to_owned()),
        Datum::Bytes(bytes) => {
            let charset = target.to.collation.charset();
            Some(
                charset::decode(bytes, charset)
                    .unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned()),
            )
        }
        other if target.from.is_temporal() => Some(target.shown(&other)),
        _ => None,
    }
}

/// The 64 bits of a number without its fraction; `None` for one that is out of their range.
fn whole_of(value: Datum<'_>) -> Option<u64> {
    match value {
        Datum::Int(v) => Some(v as u64),
        Datum::UInt(v) => Some(v),
        Datum::Double(v) => Some(v as i64 as u64),
        Datum::Decimal(d) => {
            let whole = if d.is_negative() { d.ceil() } else { d.floor() }?;
            whole.to_u64().or_else(|| whole.to_i64().map(|v| v as u64))
        }
        _ => None,
    }
}

/// The number that a text consists of; `None` if it contains anything else.
fn number_in(text: &str) -> Option<u64> {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
        .parse()
        .ok()
}

/// Bytes as a number, the highest byte first; `None` if it has more than 64 bits.
fn bits_of(bytes: &[u8]) -> Option<u64> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let bytes = bytes.get(zeros..).unwrap_or_default();
    (bytes.len() <= 8).then(|| bytes.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)))
}
