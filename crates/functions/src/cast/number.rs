//! Conversions to numbers, and the numbers that text begins with.

use types::temporal::DateTime;
use types::{Decimal, Error, Result, SqlType, TypeKind, Value, errno};

use super::{Conversion, temporal_number};
use crate::EvalContext;
use crate::datum::Datum;

/// What a text began with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prefix<T> {
    pub value: T,
    /// Nothing but spaces followed, and there was a number.
    pub complete: bool,
}

/// The double that `text` begins with; one too large is the largest there is, and incomplete. Empty text is a complete 0.
pub(crate) fn parse_double(text: &[u8]) -> Prefix<f64> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let rest = text.get(start..).unwrap_or_default();
    let len = number_len(rest);
    let parsed = rest
        .get(..len)
        .and_then(|n| std::str::from_utf8(n).ok()?.parse::<f64>().ok());
    let tail = rest.get(len..).unwrap_or_default();
    let tail_is_space = tail.iter().all(|b| is_space(*b));
    match parsed {
        Some(value) if value.is_infinite() => Prefix {
            value: if value > 0.0 { f64::MAX } else { f64::MIN },
            complete: false,
        },
        Some(value) => Prefix {
            value,
            complete: tail_is_space,
        },
        None => Prefix {
            value: 0.0,
            complete: rest.is_empty(),
        },
    }
}

/// Bytes of `[sign]digits[.digits][e[sign]digits]` at the beginning; 0 if there are no digits.
fn number_len(text: &[u8]) -> usize {
    let digits = |from: usize| {
        text.get(from..)
            .map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count())
    };
    let mut at = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The integer that a text begins with, as 64 bits and a sign.
pub(crate) struct IntegerPrefix {
    pub negative: bool,
    /// The magnitude, at most what an unsigned (or, if negative, a signed) BIGINT holds.
    pub magnitude: u64,
    pub complete: bool,
}

impl IntegerPrefix {
    /// The 64 bits of the value.
    pub fn bits(&self) -> u64 {
        if self.negative {
            self.magnitude.wrapping_neg()
        } else {
            self.magnitude
        }
    }
}

pub(crate) fn parse_integer(text: &[u8]) -> IntegerPrefix {
    let mut at = text.iter().take_while(|b| is_space(**b)).count();
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let digits: &[u8] = text.get(at..).unwrap_or_default();
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let limit = if negative { 1u64 << 63 } else { u64::MAX };
    let parsed = digits.iter().take(len).try_fold(0u64, |v, d| {
        v.checked_mul(10)?
            .checked_add(u64::from(d - b'0'))
            .filter(|v| *v <= limit)
    });
    let rest = digits.get(len..).unwrap_or_default();
    IntegerPrefix {
        negative,
        magnitude: parsed.unwrap_or(limit),
        complete: len > 0 && parsed.is_some() && rest.iter().all(|b| is_space(*b)),
    }
}

/// `CAST(... AS SIGNED)`, and integers that functions ask for.
pub(super) fn to_signed(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    Ok(Value::Int(match value {
        Datum::Int(v) if conversion.from.kind != TypeKind::Time => v,
        Datum::UInt(v) if !conversion.from.is_datetime() => v as i64,
        Datum::Double(v) => round_even(v),
        Datum::String(text) if conversion.from.kind == TypeKind::Json => {
            return json_number(text, conversion, "INTEGER", to_signed);
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let parsed = parse_integer(value.bytes());
            if !parsed.complete {
                conversion.truncated("INTEGER", value)?;
            } else if !parsed.negative && parsed.magnitude > i64::MAX as u64 {
                conversion.ctx.warn(
                    errno::ER_UNKNOWN_ERROR,
                    "Cast to signed converted positive out-of-range integer to its negative complement",
                )?;
            }
            parsed.bits() as i64
        }
        Datum::Decimal(d) => match d.to_i64() {
            Some(v) => v,
            None => {
                conversion.truncated("DECIMAL", value)?;
                if d.is_negative() { i64::MIN } else { i64::MAX }
            }
        },
        other => temporal_integer(other, conversion)?,
    }))
}

/// The digits of a date or time, whose fraction is rounded as that of a time: `23:59:59.9` becomes the next day's beginning.
fn temporal_integer(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<i64> {
    let rounded = whole_seconds(value, &conversion.from, conversion.ctx)?;
    let digits = temporal_number(rounded, &conversion.from);
    Ok(digits.and_then(|d| d.to_i64()).unwrap_or(0))
}

/// A date or time rounded as one: `23:59:59.9` is the next day's beginning, where its digits would be 235960. 1441 behind the last
/// day, an error in strict DML.
pub(crate) fn whole_seconds<'a>(value: Datum<'a>, ty: &SqlType, ctx: &EvalContext) -> Result<Datum<'a>> {
    Ok(match value {
        Datum::UInt(packed) if ty.is_datetime() => {
            let at = DateTime::unpack(packed);
            let rounded = match crate::temporal::fit(&at, 0, ctx) {
                Some(rounded) => rounded,
                None => {
                    crate::temporal::overflow(ctx)?;
                    at.date()
                }
            };
            Datum::UInt(rounded.pack())
        }
        Datum::Int(us) if ty.kind == TypeKind::Time => Datum::Int(crate::temporal::fit_time(us, 0, ctx)),
        other => other,
    })
}

/// `CAST(... AS UNSIGNED)`.
pub(super) fn to_unsigned(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    Ok(Value::UInt(match value {
        Datum::Int(v) if conversion.from.kind != TypeKind::Time => v as u64,
        Datum::UInt(v) if !conversion.from.is_datetime() => v,
        Datum::Double(v) => round_even(v) as u64,
        Datum::String(text) if conversion.from.kind == TypeKind::Json => {
            return json_number(text, conversion, "INTEGER", to_unsigned);
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let parsed = parse_integer(value.bytes());
            if !parsed.complete {
                conversion.truncated("INTEGER", value)?;
            } else if parsed.negative && parsed.magnitude > 0 {
                conversion.ctx.warn(
                    errno::ER_UNKNOWN_ERROR,
                    "Cast to unsigned converted negative integer to its positive complement",
                )?;
            }
            parsed.bits()
        }
        Datum::Decimal(d) => match (d.to_u64(), d.to_i64()) {
            (Some(v), _) => v,
            (None, Some(negative)) => negative as u64,
            (None, None) => {
                conversion.truncated("DECIMAL", value)?;
                if d.is_negative() {
                    i64::MIN as u64
                } else {
                    u64::MAX
                }
            }
        },
        other => temporal_integer(other, conversion)? as u64,
    }))
}

/// A double as an integer, halves to the even one, clamped.
pub(crate) fn round_even(value: f64) -> i64 {
    value.round_ties_even() as i64
}

pub(super) fn to_double(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    let double = match value {
        Datum::Double(v) => v,
        Datum::Int(v) if conversion.from.kind != TypeKind::Time => v as f64,
        Datum::UInt(v) if !conversion.from.is_datetime() => v as f64,
        Datum::Decimal(d) => d.to_f64(),
        Datum::String(text) if conversion.from.kind == TypeKind::Json => {
            return json_number(text, conversion, "DOUBLE", to_double);
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let parsed = parse_double(value.bytes());
            if !parsed.complete {
                conversion.truncated("DOUBLE", value)?;
            }
            parsed.value
        }
        other => temporal_number(other, &conversion.from).map_or(0.0, |d| d.to_f64()),
    };
    if conversion.to.kind == TypeKind::Float {
        let single = double as f32;
        if single.is_infinite() {
            return Err(Error::new(
                errno::ER_DATA_OUT_OF_RANGE,
                format!("DOUBLE value is out of range in '{}'", conversion.text()),
            ));
        }
        return Ok(Value::Double(f64::from(single)));
    }
    Ok(Value::Double(double))
}

pub(super) fn to_decimal(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    let to = &conversion.to;
    let exact = match value {
        Datum::Int(v) if conversion.from.kind != TypeKind::Time => Decimal::from_i64(v),
        Datum::UInt(v) if !conversion.from.is_datetime() => Decimal::from_u64(v),
        Datum::Decimal(d) => d,
        Datum::Double(v) => match Decimal::from_f64(v) {
            Some(d) => d,
            None => return clamp(v < 0.0, conversion),
        },
        Datum::String(text) if conversion.from.kind == TypeKind::Json => {
            return json_number(text, conversion, "DECIMAL", to_decimal);
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let text = value.bytes();
            let parsed = Decimal::parse_prefix(text);
            let rest = text.get(parsed.consumed..).unwrap_or_default();
            if parsed.overflow {
                return clamp(parsed.value.is_negative(), conversion);
            }
            let empty = text.iter().all(|b| is_space(*b));
            let whole =
                (parsed.consumed > 0 || empty && conversion.implicit) && rest.iter().all(|b| is_space(*b));
            if !whole {
                // Beside an integer column the text was to be a DOUBLE; see `bind::compare`.
                let kind = if conversion.implicit && to.length == 64 {
                    "DOUBLE"
                } else {
                    "DECIMAL"
                };
                conversion.truncated(kind, value)?;
            }
            parsed.value
        }
        other => temporal_number(other, &conversion.from).unwrap_or(Decimal::ZERO),
    };
    if conversion.implicit && to.decimals == Decimal::MAX_SCALE {
        return Ok(Value::Decimal(exact));
    }
    match exact.rescale(to.decimals) {
        Some(d) if u32::from(d.digits()) <= to.length => Ok(Value::Decimal(d)),
        _ => clamp(exact.is_negative(), conversion),
    }
}

/// The largest DECIMAL of the type, with warning 1264.
fn clamp(negative: bool, conversion: &Conversion<'_>) -> Result<Value> {
    let to = &conversion.to;
    let message = format!("Out of range value for column '{}' at row 1", conversion.text());
    conversion
        .ctx
        .conversion_lost(errno::ER_WARN_DATA_OUT_OF_RANGE, message)?;
    let max = Decimal::max_value(u8::try_from(to.length).unwrap_or(65), to.decimals);
    Ok(Value::Decimal(if negative { max.neg() } else { max }))
}

/// `CAST(... AS YEAR)`: 1901 to 2155 and 0; 1 to 69 are of this century, 70 to 99 of the last.
pub(super) fn to_year(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    let from = &conversion.from;
    let number = match value {
        Datum::UInt(packed) if from.is_datetime() => {
            return Ok(Value::UInt(u64::from(
                types::temporal::DateTime::unpack(packed).year,
            )));
        }
        Datum::Int(_) if from.kind == TypeKind::Time => {
            return Ok(Value::UInt(u64::from(
                crate::temporal::today(conversion.ctx).year,
            )));
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let parsed = parse_integer(value.bytes());
            let digits = value.bytes().iter().any(u8::is_ascii_digit);
            if !parsed.complete && (!digits || parsed.magnitude == 0) {
                let text = value.to_value().display_text(from);
                conversion
                    .ctx
                    .conversion_lost(1525, format!("Incorrect YEAR value: '{text}'"))?;
                return Ok(Value::Null);
            }
            if !parsed.complete {
                conversion.truncated("YEAR", value)?;
            }
            if parsed.magnitude == 0 && value.bytes().len() < 3 {
                return Ok(Value::UInt(2000));
            }
            parsed.bits() as i64
        }
        Datum::Int(v) => v,
        Datum::UInt(v) => i64::try_from(v).unwrap_or(i64::MAX),
        Datum::Double(v) => round_even(v),
        Datum::Decimal(d) => d.to_i64().unwrap_or(i64::MAX),
        Datum::Null | Datum::Json(_) => return Ok(Value::Null),
    };
    match full_year(number) {
        Some(year) => Ok(Value::UInt(year)),
        None => {
            let shown = Datum::Int(number);
            let by_number = Conversion {
                from: SqlType::BIGINT,
                ..*conversion
            };
            by_number.truncated("YEAR", shown)?;
            Ok(Value::Null)
        }
    }
}

/// The year that a number stands for in a YEAR.
pub(crate) fn full_year(number: i64) -> Option<u64> {
    match number {
        1..=69 => Some(number as u64 + 2000),
        70..=99 => Some(number as u64 + 1900),
        0 | 1901..=2155 => Some(number as u64),
        _ => None,
    }
}

/// The number in a JSON text, converted further by `then`; 0 and warning 3156 if there is none.
fn json_number(
    text: &str,
    conversion: &Conversion<'_>,
    kind: &str,
    then: fn(Datum<'_>, &Conversion<'_>) -> Result<Value>,
) -> Result<Value> {
    let (value, from) = match crate::json::scalar(text) {
        Some(found) => found,
        None => {
            conversion.invalid_json(kind)?;
            (Value::Int(0), SqlType::BIGINT)
        }
    };
    then(Datum::of(&value), &Conversion { from, ..*conversion })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_at_the_beginning_of_text() {
        for (text, value, complete) in [
            ("12", 12.0, true),
            (" 12 ", 12.0, true),
            ("12 x", 12.0, false),
            (".5", 0.5, true),
            ("5.", 5.0, true),
            ("-", 0.0, false),
            ("0x10", 0.0, false),
            ("inf", 0.0, false),
            ("nan", 0.0, false),
            ("1e", 1.0, false),
            ("1e3", 1000.0, true),
            ("1e400", f64::MAX, false),
            ("", 0.0, true),
            ("abc", 0.0, false),
        ] {
            assert_eq!(
                parse_double(text.as_bytes()),
                Prefix { value, complete },
                "{text}"
            );
        }
    }

    #[test]
    fn integers_at_the_beginning_of_text() {
        for (text, value, complete) in [
            ("12", 12, true),
            (" +5 ", 5, true),
            ("- 5", 0, false),
            ("1.9", 1, false),
            ("", 0, false),
            ("18446744073709551615", -1, true),
            ("99999999999999999999", -1, false),
            ("-9223372036854775808", i64::MIN, true),
            ("-9223372036854775809", i64::MIN, false),
        ] {
            let parsed = parse_integer(text.as_bytes());
            assert_eq!(
                (parsed.bits() as i64, parsed.complete),
                (value, complete),
                "{text}"
            );
        }
    }

    #[test]
    fn years() {
        assert_eq!(full_year(0), Some(0));
        assert_eq!(full_year(69), Some(2069));
        assert_eq!(full_year(70), Some(1970));
        assert_eq!(full_year(1900), None);
        assert_eq!(full_year(2156), None);
    }
}
