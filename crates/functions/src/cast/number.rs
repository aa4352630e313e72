//! Conversions to numbers.

use std::sync::LazyLock;

use types::json::{JsonRef, JsonView};
use types::temporal::{DateTime, Time};
use types::{Decimal, Error, Result, SqlType, TypeKind, Value, errno};

use super::conversion::Conversion;
use super::number_text::{IntegerPrefix, is_space, parse_cast_integer, parse_double, parse_integer};
use crate::datum::Datum;
use crate::json::convert::{integer_of_text, scalar};
use crate::json::loss::JsonLoss;
use crate::{EvalContext, Expr};

/// `CAST(... AS SIGNED)`, and integer arguments of functions.
pub(super) fn to_signed(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    Ok(Value::Int(match value {
        Datum::Int(v) if conversion.from.kind != TypeKind::Time => v,
        Datum::UInt(v) if !conversion.from.is_datetime() => v as i64,
        Datum::Double(v) => of_double(v, conversion)?,
        Datum::Json(json) => {
            return json_number(json, conversion, "INTEGER", to_signed);
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let parsed = integer_of(value, conversion);
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

fn integer_of(text: Datum<'_>, conversion: &Conversion<'_>) -> IntegerPrefix {
    match conversion.implicit {
        true => parse_integer(text.bytes()),
        false => parse_cast_integer(text.bytes()),
    }
}

/// The digits of a date or time. Its fraction is rounded as a time: `23:59:59.9` becomes the beginning of the
/// next day.
fn temporal_integer(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<i64> {
    let rounded = whole_seconds(value, &conversion.from, conversion.ctx)?;
    let digits = temporal_number(rounded, &conversion.from);
    Ok(digits.and_then(|d| d.to_i64()).unwrap_or(0))
}

/// A date or time, rounded as a time: `23:59:59.9` becomes the beginning of the next day, not 235960. Warning
/// 1441 after the last day, an error in strict DML.
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

/// Where a text within JSON is read that was reported: no one reads its warnings.
static SILENT: LazyLock<EvalContext> = LazyLock::new(EvalContext::default);

/// `CAST(... AS UNSIGNED)`.
pub(super) fn to_unsigned(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Value> {
    Ok(Value::UInt(match value {
        Datum::Int(v) if conversion.from.kind != TypeKind::Time => v as u64,
        Datum::UInt(v) if !conversion.from.is_datetime() => v,
        Datum::Double(v) => of_double(v, conversion)? as u64,
        Datum::Json(json) => {
            return json_number(json, conversion, "INTEGER", to_unsigned);
        }
        // A hexadecimal literal with more bytes than a number has.
        Datum::Bytes(bytes) if conversion.from.unsigned => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            conversion.ctx.conversion_lost(
                errno::ER_TRUNCATED_WRONG_VALUE,
                format!("Truncated incorrect BINARY value: 'x'{digits}''"),
            )?;
            0
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let parsed = integer_of(value, conversion);
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

/// A double as an integer. If it does not fit, CAST gives the nearest integer and a warning. The result of a
/// function must fit.
fn of_double(value: f64, conversion: &Conversion<'_>) -> Result<i64> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    // The value of CAST(... AS DOUBLE) is cut where an integer is needed.
    let is_cast = matches!(conversion.input, Expr::Cast { implicit: false, ty, .. } if ty.is_float());
    let rounded = match is_cast {
        true => value.trunc(),
        false => value.round_ties_even(),
    };
    if !(-BEYOND..BEYOND).contains(&rounded) {
        let is_made = match conversion.input {
            Expr::Call { function, .. } => function.0.name != "aggregate result",
            _ => is_cast,
        };
        if is_made {
            return Err(conversion.out_of_range("BIGINT"));
        }
        if !conversion.implicit && !matches!(conversion.input, Expr::Literal { .. }) {
            conversion.truncated("INTEGER", Datum::Double(value))?;
        }
    }
    Ok(rounded as i64)
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
        Datum::Json(json) => {
            return json_number(json, conversion, "DOUBLE", to_double);
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
        Datum::Json(json) => {
            return json_number(json, conversion, "DECIMAL", to_decimal);
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
                // Compared with an integer column, the text was expected to be a DOUBLE; see `bind::compare`.
                let kind = if conversion.implicit && to.length == 64 {
                    "DOUBLE"
                } else {
                    "DECIMAL"
                };
                conversion.truncated(kind, value)?;
            }
            match conversion.implicit && to.decimals == Decimal::MAX_SCALE && parsed.value == Decimal::ZERO {
                true => nearest_to_zero(text),
                false => parsed.value,
            }
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

/// A text that is a number too small for a DECIMAL is still not 0 in a comparison.
fn nearest_to_zero(text: &[u8]) -> Decimal {
    let smallest = Decimal::from_i128(1, Decimal::MAX_SCALE);
    match parse_double(text).value {
        0.0 => Decimal::ZERO,
        ..0.0 => smallest.neg(),
        _ => smallest,
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

/// `CAST(... AS YEAR)`: 1901 to 2155 and 0. 1 to 69 are 2001 to 2069, 70 to 99 are 1970 to 1999.
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

/// The number in a JSON value, converted further by `then`; warning 3156 if it is not a number. Of a string it is the
/// number at its beginning.
fn json_number(
    json: JsonRef<'_>,
    conversion: &Conversion<'_>,
    kind: &str,
    then: fn(Datum<'_>, &Conversion<'_>) -> Result<Value>,
) -> Result<Value> {
    if let JsonView::String(text) = json.view() {
        let loss = match kind {
            "INTEGER" => integer_of_text(text).1,
            _ => (text.is_empty() || !parse_double(text.as_bytes()).complete).then_some(JsonLoss::Invalid),
        };
        let ctx = match loss {
            None => conversion.ctx,
            Some(loss) => {
                conversion.json_lost(loss, kind)?;
                &SILENT
            }
        };
        let from = SqlType::varchar(text.len() as u32, types::Collation::Utf8mb4Bin);
        return then(
            Datum::String(text),
            &Conversion {
                from,
                ctx,
                ..*conversion
            },
        );
    }
    let (value, from) = match scalar(json) {
        Some(found) => found,
        None => {
            conversion.invalid_json(kind)?;
            (Value::Int(0), SqlType::BIGINT)
        }
    };
    then(Datum::of(&value), &Conversion { from, ..*conversion })
}

/// A DATETIME's or DATE's value as a number with its fraction.
pub(crate) fn temporal_number(value: Datum<'_>, ty: &SqlType) -> Option<types::Decimal> {
    let (whole, microseconds) = match value {
        Datum::UInt(packed) if ty.kind == TypeKind::Date => {
            (DateTime::unpack(packed).date_number() as i64, 0)
        }
        Datum::UInt(packed) if ty.is_datetime() => {
            let at = DateTime::unpack(packed);
            (at.datetime_number() as i64, i64::from(at.microsecond))
        }
        Datum::Int(us) if ty.kind == TypeKind::Time => {
            let time = Time(us);
            let micros = i64::from(time.microseconds());
            (time.number(), if us < 0 { -micros } else { micros })
        }
        _ => return None,
    };
    let unscaled = i128::from(whole) * 1_000_000 + i128::from(microseconds);
    types::Decimal::from_i128(unscaled, 6).rescale(ty.decimals.min(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years() {
        assert_eq!(full_year(0), Some(0));
        assert_eq!(full_year(69), Some(2069));
        assert_eq!(full_year(70), Some(1970));
        assert_eq!(full_year(1900), None);
        assert_eq!(full_year(2156), None);
    }
}
