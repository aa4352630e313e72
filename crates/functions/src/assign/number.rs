//! Values for integer, DECIMAL, FLOAT, DOUBLE and YEAR columns.

use types::json::{JsonRef, JsonView};
use types::temporal::DateTime;
use types::{Decimal, Result, SqlType, TypeKind, Value};

use super::Target;
use crate::cast::number::{full_year, temporal_number, whole_seconds};
use crate::cast::number_text::{begins_with_line_break, is_space, parse_double};
use crate::datum::Datum;

/// The smallest and the largest value of an integer type.
pub fn integer_range(ty: &SqlType) -> (i128, i128) {
    let bits = match ty.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        TypeKind::Year => return (0, 2155),
        TypeKind::Bit => ty.length.clamp(1, 64),
        _ => 64,
    };
    if ty.unsigned {
        (0, (1 << bits) - 1)
    } else {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }
}

pub(super) fn integer_value(value: i128, ty: &SqlType) -> Value {
    if ty.unsigned {
        Value::UInt(value as u64)
    } else {
        Value::Int(value as i64)
    }
}

pub(super) fn to_integer(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let (min, max) = integer_range(target.to);
    let mut truncated = false;
    let number = match value {
        Datum::Int(v) if target.from.kind != TypeKind::Time => i128::from(v),
        Datum::UInt(v) if !target.from.is_datetime() => i128::from(v),
        // A cast saturates at 128 bits, which is out of range of every type.
        Datum::Double(v) => {
            let number = whole_of_double(v, target.to);
            // MySQL warns twice of this type.
            if target.to.unsigned && target.to.kind == TypeKind::Int && number > max {
                target.out_of_range()?;
            }
            number
        }
        Datum::Decimal(d) => {
            if d.is_negative() && target.to.unsigned && !d.is_zero() {
                target.out_of_range()?;
                return Ok(integer_value(0, target.to));
            }
            in_64_bits(target, &d, target.to.unsigned)?
        }
        Datum::Json(json) => return from_json(target, json),
        // A literal with too many bytes is out of range of every type.
        Datum::Bytes(bytes) if is_number_literal(target.from) => {
            literal_number(bytes).map_or(i128::MAX, i128::from)
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let found = decimal_of_text(target, value, "integer")?;
            truncated = found.truncated && !is_bare_exponent(found.rest);
            whole(&found.number)
        }
        other => {
            let rounded = whole_seconds(other, target.from, target.ctx)?;
            temporal_number(rounded, target.from).map_or(0, |d| whole(&d))
        }
    };
    if (min..=max).contains(&number) {
        if truncated {
            target.truncated()?;
        }
        return Ok(integer_value(number, target.to));
    }
    target.out_of_range()?;
    Ok(integer_value(number.clamp(min, max), target.to))
}

/// Whether bytes come from a hexadecimal or bit literal, which is a number in a numeric context.
fn is_number_literal(from: &SqlType) -> bool {
    from.is_binary() && from.unsigned
}

/// A hexadecimal or bit literal of at most eight bytes.
fn literal_number(bytes: &[u8]) -> Option<u64> {
    let number = bytes
        .iter()
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    (bytes.len() <= 8).then_some(number)
}

/// What stands for a longer literal in a DECIMAL, FLOAT or DOUBLE column.
fn largest_literal(to: &SqlType) -> u64 {
    match to.unsigned {
        true => u64::MAX,
        false => i64::MAX.unsigned_abs(),
    }
}

/// A double rounded to an integer. A value that is not below MySQL's limit for a BIGINT is out of its range.
/// The limits are the largest doubles below 2^63 and 2^64.
fn whole_of_double(value: f64, to: &SqlType) -> i128 {
    const UNSIGNED_LIMIT: f64 = 18_446_744_073_709_549_568.0;
    const SIGNED_LIMIT: f64 = 9_223_372_036_854_774_784.0;
    let rounded = value.round_ties_even();
    match to.unsigned {
        true if rounded >= UNSIGNED_LIMIT => i128::MAX,
        false if rounded == SIGNED_LIMIT => i128::from(i64::MAX),
        _ => rounded as i128,
    }
}

/// Rounded half away from zero. A value that does not fit into 128 bits becomes one far out of range.
fn whole(d: &Decimal) -> i128 {
    let beyond = if d.is_negative() { i128::MIN } else { i128::MAX };
    d.to_i128().unwrap_or(beyond)
}

/// A DECIMAL becomes an integer of 64 bits first, and one that does not fit is out of range already there. So MySQL
/// warns twice if the column is smaller.
pub(super) fn in_64_bits(target: &Target<'_>, d: &Decimal, unsigned: bool) -> Result<i128> {
    let (min, max) = match unsigned {
        true => (0, i128::from(u64::MAX)),
        false => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    let number = whole(d);
    if (min..=max).contains(&number) {
        return Ok(number);
    }
    target.out_of_range()?;
    // The last 64-bit number is in the range of a BIGINT, which has been reported.
    Ok(number.clamp(min, max))
}

/// The number in JSON, or 3156.
fn from_json(target: &Target<'_>, json: JsonRef<'_>) -> Result<Value> {
    let kind = match target.to.kind {
        TypeKind::Decimal => "DECIMAL",
        TypeKind::Float | TypeKind::Double => "DOUBLE",
        _ => "INTEGER",
    };
    if let JsonView::String(text) = json.view()
        && kind == "INTEGER"
    {
        let (bits, loss) = crate::json::convert::integer_of_text(text);
        if let Some(loss) = loss {
            target.json_lost(loss, kind)?;
        }
        let inner = Target {
            from: &SqlType::BIGINT,
            ..*target
        };
        return inner.convert(Datum::Int(bits.cast_signed()));
    }
    let (value, from) = match crate::json::convert::scalar(json) {
        Some(found) => found,
        None => {
            target.invalid_json(kind)?;
            number_before_other_text(json)
        }
    };
    let inner = Target {
        from: &from,
        ..*target
    };
    inner.convert(Datum::of(&value))
}

/// The number at the beginning of a JSON string that has more than a number; 0 for anything else.
fn number_before_other_text(json: JsonRef<'_>) -> (Value, SqlType) {
    let JsonView::String(text) = json.view() else {
        return (Value::Int(0), SqlType::BIGINT);
    };
    let number = Decimal::parse_prefix(text.as_bytes()).value;
    (Value::Decimal(number), SqlType::decimal(65, number.scale))
}

/// The number at the beginning of a text.
struct NumberOfText<'t> {
    number: Decimal,
    rest: &'t [u8],
    /// Whether there is a number.
    read: bool,
    /// Other characters than spaces follow: warning 1265, unless the number itself has a worse problem.
    truncated: bool,
}

/// Reads the number at the beginning of a text. 1366 if there is none.
fn decimal_of_text<'t>(target: &Target<'_>, value: Datum<'t>, kind: &str) -> Result<NumberOfText<'t>> {
    let text = value.bytes();
    let parsed = Decimal::parse_prefix(text);
    if parsed.consumed == 0 || begins_with_line_break(text) {
        target.incorrect(kind, &value)?;
        return Ok(NumberOfText {
            number: Decimal::ZERO,
            rest: b"",
            read: false,
            truncated: false,
        });
    }
    let rest = text.get(parsed.consumed..).unwrap_or_default();
    Ok(NumberOfText {
        number: parsed.value,
        rest,
        read: true,
        truncated: !rest.iter().all(|b| is_space(*b)),
    })
}

/// Whether an exponent without digits follows a number. MySQL accepts it for an integer.
fn is_bare_exponent(rest: &[u8]) -> bool {
    let spaces = rest.iter().rev().take_while(|byte| is_space(**byte)).count();
    let rest = rest.get(..rest.len() - spaces).unwrap_or_default();
    matches!(rest, [b'e' | b'E'] | [b'e' | b'E', b'+' | b'-'])
}

pub(super) fn to_decimal(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let to = target.to;
    let mut has_more_digits = false;
    let exact = match value {
        Datum::Int(v) if target.from.kind != TypeKind::Time => Decimal::from_i64(v),
        Datum::UInt(v) if !target.from.is_datetime() => Decimal::from_u64(v),
        Datum::Decimal(d) => d,
        Datum::Double(v) => match Decimal::from_f64(v) {
            Some(d) => d,
            None => return largest_decimal(target, v < 0.0),
        },
        Datum::Json(json) => return from_json(target, json),
        Datum::Bytes(bytes) if is_number_literal(target.from) => match literal_number(bytes) {
            Some(number) => Decimal::from_u64(number),
            None => {
                let largest = Decimal::from_u64(largest_literal(to));
                if largest.fits(u8::try_from(to.length).unwrap_or(65), to.decimals) {
                    target.out_of_range()?;
                }
                largest
            }
        },
        Datum::String(_) | Datum::Bytes(_) => match text_as_decimal(target, value)? {
            Ok((number, is_rounded)) => {
                has_more_digits = is_rounded;
                number
            }
            Err(negative) => return largest_decimal(target, negative),
        },
        other => temporal_number(other, target.from).unwrap_or(Decimal::ZERO),
    };
    // A DOUBLE may have digits that no DECIMAL has.
    let has_vanished = exact.is_zero() && matches!(value, Datum::Double(number) if number != 0.0);
    if to.unsigned && exact.is_negative() && !exact.is_zero() {
        target.out_of_range()?;
        return Ok(Value::Decimal(Decimal::new(Decimal::ZERO.unscaled, to.decimals)));
    }
    match exact.rescale(to.decimals) {
        Some(d) if u32::from(d.digits()) <= to.length || d.is_zero() => {
            if d != exact || has_vanished || has_more_digits {
                target.note_truncated()?;
            }
            Ok(Value::Decimal(d))
        }
        _ => largest_decimal(target, exact.is_negative()),
    }
}

/// The number of a text, and whether it has more digits than a DECIMAL; or only its sign if there are too many before the
/// point. In strict mode any text after the number is a separate error.
fn text_as_decimal(target: &Target<'_>, value: Datum<'_>) -> Result<Result<(Decimal, bool), bool>> {
    let text = value.bytes();
    let parsed = Decimal::parse_prefix(text);
    let rest = text.get(parsed.consumed..).unwrap_or_default();
    let whole = parsed.consumed > 0 && rest.iter().all(|b| is_space(*b));
    if !whole && (parsed.consumed == 0 || target.is_strict()) {
        target.incorrect("decimal", &value)?;
    } else if !whole {
        target.note_truncated()?;
    }
    Ok(if parsed.overflow {
        Err(parsed.value.is_negative())
    } else {
        Ok((parsed.value, whole && parsed.rounded))
    })
}

fn largest_decimal(target: &Target<'_>, negative: bool) -> Result<Value> {
    target.out_of_range()?;
    if negative && target.to.unsigned {
        return Ok(Value::Decimal(Decimal::new(
            Decimal::ZERO.unscaled,
            target.to.decimals,
        )));
    }
    let max = Decimal::max_value(u8::try_from(target.to.length).unwrap_or(65), target.to.decimals);
    Ok(Value::Decimal(if negative { max.neg() } else { max }))
}

pub(super) fn to_double(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let to = target.to;
    let double = match value {
        Datum::Double(v) => v,
        Datum::Int(v) if target.from.kind != TypeKind::Time => v as f64,
        Datum::UInt(v) if !target.from.is_datetime() => v as f64,
        Datum::Decimal(d) => d.to_f64(),
        Datum::Json(json) => return from_json(target, json),
        Datum::Bytes(bytes) if is_number_literal(target.from) => match literal_number(bytes) {
            Some(number) => number as f64,
            None => {
                target.out_of_range()?;
                largest_literal(to) as f64
            }
        },
        Datum::String(_) | Datum::Bytes(_) => {
            let text = value.bytes();
            let parsed = parse_double(text);
            let empty = text.iter().all(|b| is_space(*b));
            if parsed.value.abs() == f64::MAX && !parsed.complete {
                target.out_of_range()?;
            } else if !parsed.complete || empty {
                target.truncated()?;
            }
            parsed.value
        }
        other => temporal_number(other, target.from).map_or(0.0, |d| d.to_f64()),
    };
    if to.unsigned && double < 0.0 {
        target.out_of_range()?;
        return Ok(Value::Double(0.0));
    }
    let limit = if to.kind == TypeKind::Float {
        f64::from(f32::MAX)
    } else {
        f64::MAX
    };
    let (mut rounded, mut limit) = (double, limit);
    if to.decimals != SqlType::NOT_FIXED {
        let unit = 10f64.powi(i32::from(to.decimals));
        limit = limit.min(10f64.powi(to.length as i32 - i32::from(to.decimals)) - 1.0 / unit);
        // MySQL rounds the digits after the point separately from those before it. So 2.675 becomes 2.67,
        // though 267.5 would become 268.
        let whole = double.floor();
        if whole.is_finite() {
            rounded = whole + ((double - whole) * unit).round_ties_even() / unit;
        }
    }
    if rounded.abs() > limit {
        target.out_of_range()?;
        rounded = limit.copysign(rounded);
    }
    Ok(Value::Double(if to.kind == TypeKind::Float {
        f64::from(rounded as f32)
    } else {
        rounded
    }))
}

pub(super) fn to_year(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let number = match value {
        Datum::UInt(packed) if target.from.is_datetime() => i128::from(DateTime::unpack(packed).year),
        Datum::Int(_) if target.from.kind == TypeKind::Time => {
            i128::from(crate::temporal::today(target.ctx).year)
        }
        Datum::Int(v) => i128::from(v),
        Datum::UInt(v) => i128::from(v),
        // Numbers out of range are not rounded to a year.
        Datum::Double(v) if !(0.0..=2155.0).contains(&v) => -1,
        Datum::Double(v) => v as i128,
        Datum::Decimal(d) if d.is_negative() => -1,
        Datum::Decimal(d) => in_64_bits(target, &d, true)?,
        // JSON is read as its text, too.
        Datum::String(_) | Datum::Bytes(_) => {
            let text = value.bytes();
            let found = decimal_of_text(target, value, "integer")?;
            let number = whole(&found.number);
            if found.truncated && i64::try_from(number).ok().and_then(full_year).is_some() {
                target.truncated()?;
            }
            // Zero is the year 0 if it has four characters, else 2000.
            match number {
                0 if found.read && text.len() != 4 => 2000,
                number => number,
            }
        }
        Datum::Null | Datum::Json(_) => return Ok(Value::Null),
    };
    match i64::try_from(number).ok().and_then(full_year) {
        Some(year) => Ok(Value::UInt(year)),
        None => {
            target.out_of_range()?;
            Ok(Value::UInt(0))
        }
    }
}
