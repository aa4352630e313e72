//! Converts values of every type to dates and times, with MySQL's warnings.
//!
//! [`parse`] reads text. This file converts numbers and other temporal types, and dispatches by type.
//!
//! Not here: fields, calendar and text output (`types::temporal`); functions over dates ([`crate::date`]).

pub(crate) mod date_place;
pub(crate) mod parse;

use types::temporal::{DateTime, MICROS_PER_DAY, Time};
use types::{Decimal, Result, SqlType, TypeKind, Value, errno};

use crate::EvalContext;
use crate::datum::Datum;
pub(crate) use parse::DateRules;
use parse::{OddDelimiter, ParsedDateTime, ParsedTime};

/// Today in the session's zone, at midnight.
pub(crate) fn today(ctx: &EvalContext) -> DateTime {
    ctx.time_zone.from_unix_us(ctx.now_us).date()
}

/// The value as a point in time, rounded to microseconds; `None` for NULL, and with a warning (an error in
/// strict DML) if it is not one that `rules` accept. A stored date that `rules` do not accept is skipped
/// without a warning.
pub(crate) fn to_datetime(
    datum: Datum<'_>,
    ty: &SqlType,
    ctx: &EvalContext,
    rules: DateRules,
) -> Result<Option<DateTime>> {
    let rules = rules.under(&ctx.sql_mode);
    let found = match datum {
        Datum::Null => return Ok(None),
        Datum::UInt(packed) if ty.is_datetime() => {
            let rules = rules.of_stored();
            return Ok(Some(DateTime::unpack(packed)).filter(|d| rules.accept(d)));
        }
        Datum::Int(us) if ty.kind == TypeKind::Time => Time(us).on_date(&today(ctx)),
        Datum::String(text) => return datetime_of_bytes(text.as_bytes(), ctx, rules),
        Datum::Bytes(text) => return datetime_of_bytes(text, ctx, rules),
        number => match split_moment(&number, ctx) {
            Some((whole, nanoseconds)) => number_to_datetime(whole, nanoseconds, rules.of_values()),
            None => None,
        },
    };
    if found.is_none() {
        let text = datum.to_value().display_text(ty);
        ctx.conversion_lost(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Incorrect datetime value: '{text}'"),
        )?;
    }
    Ok(found)
}

fn datetime_of_bytes(text: &[u8], ctx: &EvalContext, rules: DateRules) -> Result<Option<DateTime>> {
    let shown = || crate::charset::shown(text);
    let Some(parsed) = parse::datetime(text, rules) else {
        ctx.conversion_lost(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Incorrect datetime value: '{}'", shown()),
        )?;
        return Ok(None);
    };
    if parsed.truncated {
        let kind = if parsed.has_time { "datetime" } else { "date" };
        ctx.conversion_lost(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect {kind} value: '{}'", shown()),
        )?;
    }
    warn_delimiter(parsed.delimiter, text, ctx)?;
    match complete(&parsed, ctx) {
        Some(value) => Ok(Some(value)),
        None => {
            overflow(ctx)?;
            Ok(None)
        }
    }
}

/// Warning 1441 of a point in time.
pub(crate) fn overflow(ctx: &EvalContext) -> Result<()> {
    overflow_of("datetime", ctx)
}

/// Warning 1441; `what` is a kind of value, or a function.
pub(crate) fn overflow_of(what: &str, ctx: &EvalContext) -> Result<()> {
    ctx.conversion_lost(
        errno::ER_DATETIME_FUNCTION_OVERFLOW,
        format!("Datetime function: {what} field overflow"),
    )
}

/// Warnings 4095 and 4096.
pub(crate) fn warn_delimiter(odd: Option<OddDelimiter>, text: &[u8], ctx: &EvalContext) -> Result<()> {
    warn_delimiter_of_row(odd, text, 1, ctx)
}

/// The same for a value of a row that is written.
pub(crate) fn warn_delimiter_of_row(
    odd: Option<OddDelimiter>,
    text: &[u8],
    row: u64,
    ctx: &EvalContext,
) -> Result<()> {
    let Some(odd) = odd else {
        return Ok(());
    };
    let text = crate::charset::shown(text);
    let (found, position) = (odd.found, odd.position);
    match odd.expected {
        Some(expected) => ctx.warn(
            4095,
            format!(
                "Delimiter '{found}' in position {position} in datetime value '{text}' at row {row} is deprecated. Prefer the standard '{expected}'."
            ),
        ),
        None => ctx.warn(
            4096,
            format!(
                "Delimiter '{found}' in position {position} in datetime value '{text}' at row {row} is superfluous and is deprecated. Please remove."
            ),
        ),
    }
}

/// The point in time that was read, rounded to microseconds, in the session's zone. `None` beyond year 9999,
/// and where the rounding would change a date with a zero in it.
pub(crate) fn complete(parsed: &ParsedDateTime, ctx: &EvalContext) -> Option<DateTime> {
    let mut value = parsed.value;
    if parsed.round_up && !ctx.sql_mode.time_truncate_fractional {
        if value.microsecond < 999_999 {
            value.microsecond += 1;
        } else if value.has_zero_in_date() {
            return None;
        } else {
            value = value.add_us(1)?;
        }
    }
    Some(parse::in_session_zone(value, parsed.displacement, ctx))
}

/// Whole part and billionths of a number, if the whole part is an i64.
pub(crate) fn split_number(number: &Datum<'_>) -> Option<(i64, i32)> {
    match number {
        Datum::Int(v) => Some((*v, 0)),
        Datum::UInt(v) => i64::try_from(*v).ok().map(|v| (v, 0)),
        Datum::Decimal(d) => split_decimal(d),
        Datum::Double(v) if v.abs() < 9e18 => {
            let whole = v.trunc();
            let nano = ((v - whole) * 1e9).round_ties_even() as i32;
            Some((whole as i64, nano.clamp(-999_999_999, 999_999_999)))
        }
        _ => None,
    }
}

/// [`split_number`] for a point in time: it is rounded to microseconds, or truncated if the mode says so.
pub(crate) fn split_moment(number: &Datum<'_>, ctx: &EvalContext) -> Option<(i64, i32)> {
    let (whole, nano) = split_number(number)?;
    match ctx.sql_mode.time_truncate_fractional {
        true => Some((whole, nano - nano % 1000)),
        false => Some((whole, nano)),
    }
}

/// A point in time with `fsp` fractional digits, rounded, or truncated if the mode says so. `None` as for
/// [`DateTime::round`].
pub(crate) fn fit(at: &DateTime, fsp: u8, ctx: &EvalContext) -> Option<DateTime> {
    match ctx.sql_mode.time_truncate_fractional {
        true => Some(at.truncate(fsp)),
        false => at.round(fsp),
    }
}

/// A TIME in microseconds with `fsp` digits: cut or rounded, as the mode says.
pub(crate) fn fit_time(us: i64, fsp: u8, ctx: &EvalContext) -> i64 {
    fit_time_under(&ctx.sql_mode, us, fsp)
}

fn fit_time_under(mode: &types::SqlMode, us: i64, fsp: u8) -> i64 {
    match mode.time_truncate_fractional {
        true => Time(us).truncate(fsp).clamped().0,
        false => Time(us).round(fsp).0,
    }
}

/// Microseconds of a number of seconds.
pub(crate) fn micros_of_seconds(seconds: &Decimal, ctx: &EvalContext) -> Option<i128> {
    let micros = seconds.mul(&Decimal::from_i64(1_000_000))?;
    match ctx.sql_mode.time_truncate_fractional {
        true => micros.truncate(0).to_i128(),
        false => micros.to_i128(),
    }
}

fn split_decimal(d: &Decimal) -> Option<(i64, i32)> {
    let whole = d.truncate(0);
    let rest = d.sub(&whole)?.rescale(9)?;
    Some((whole.to_i64()?, i32::try_from(rest.unscaled.to_i128()?).ok()?))
}

/// `YYMMDD`, `YYYYMMDD`, `YYMMDDhhmmss` or `YYYYMMDDhhmmss` as a point in time.
pub(crate) fn number_to_datetime(number: i64, nanoseconds: i32, rules: DateRules) -> Option<DateTime> {
    const TIME: i64 = 1_000_000;
    let full = match number {
        0 => 0,
        ..101 => return None,
        101..=691_231 => (number + 20_000_000) * TIME,
        691_232..700_101 => return None,
        700_101..=991_231 => (number + 19_000_000) * TIME,
        991_232..=99_991_231 => number * TIME,
        99_991_232..101_000_000 => return None,
        101_000_000..=691_231_235_959 => number + 20_000_000_000_000,
        691_231_235_960..700_101_000_000 => return None,
        700_101_000_000..=991_231_235_959 => number + 19_000_000_000_000,
        _ => number,
    };
    let (date, time) = (full / TIME, full % TIME);
    let has_time = !is_date_number(number);
    let value = DateTime {
        year: u16::try_from(date / 10_000).ok()?,
        month: (date / 100 % 100) as u8,
        day: (date % 100) as u8,
        hour: (time / 10_000) as u8,
        minute: (time / 100 % 100) as u8,
        second: (time % 100) as u8,
        microsecond: 0,
    };
    let in_range = value.year <= 9999
        && value.month <= 12
        && value.day <= 31
        && value.hour <= 23
        && value.minute <= 59
        && value.second <= 59;
    if !in_range || !rules.accept(&value) {
        return None;
    }
    if !has_time || nanoseconds <= 0 {
        return (nanoseconds >= 0).then_some(value);
    }
    let microsecond = (i64::from(nanoseconds) + 500) / 1000;
    if microsecond == 1_000_000 {
        return value.add_us(1_000_000);
    }
    Some(DateTime {
        microsecond: microsecond as u32,
        ..value
    })
}

/// Whether a number can only be a date without time: `YYMMDD` or `YYYYMMDD`.
pub(crate) fn is_date_number(number: i64) -> bool {
    (101..=99_991_231).contains(&number)
}

/// The packed point in time (a day for DATE) that an integer literal stands for, for a comparison with a
/// column of `ty`.
pub(crate) fn datetime_of_number(value: &Value, ty: &SqlType) -> Option<u64> {
    let number = value.as_i64()?;
    let found = number_to_datetime(number, 0, DateRules::ANY)?;
    (ty.kind != TypeKind::Date || found.time_of_day_us() == 0).then(|| found.pack())
}

/// Whether a local time is one that a TIMESTAMP can hold, or the zero date.
pub(crate) fn is_timestamp(at: &DateTime, ctx: &EvalContext) -> bool {
    /// 2038-01-19 03:14:07 UTC.
    const MAX_SECONDS: i64 = i32::MAX as i64;
    if *at == DateTime::ZERO {
        return true;
    }
    let us = match DateRules::CALENDAR.accept(at) {
        true => ctx.time_zone.to_unix_us(at),
        false => None,
    };
    us.is_some_and(|us| (1..=MAX_SECONDS).contains(&us.div_euclid(1_000_000)))
}

/// The TIME with `fsp` digits that the digits of a number stand for, in microseconds.
pub(crate) fn time_of_number(number: &Value, fsp: u8, mode: &types::SqlMode) -> Option<i64> {
    let (whole, nano) = split_number(&Datum::of(number))?;
    let us = number_to_time(whole, nano).filter(|us| Time(*us).clamped().0 == *us)?;
    Some(fit_time_under(mode, us, fsp))
}

/// The TIME in a text that consists of one.
pub(crate) fn time_of_text(text: &[u8]) -> Option<ParsedTime> {
    parse::time(text).ok().filter(|p| !p.truncated)
}

/// Whether a constant text can be compared with dates.
pub fn is_date_constant(text: &str, mode: &types::SqlMode) -> bool {
    parse::datetime(text.as_bytes(), DateRules::of_mode(mode).under(mode)).is_some()
}

/// Whether a text that can be read as a date has a time of day, too.
pub fn spells_time_of_day(text: &str) -> bool {
    parse::datetime(text.as_bytes(), DateRules::IMPOSSIBLE).is_some_and(|parsed| parsed.has_time)
}

/// Whether a text that can be read as a TIME is a point in time, of which a TIME is only the time of day.
pub fn spells_point_in_time(text: &str) -> bool {
    parse::time(text.as_bytes()).is_ok_and(|parsed| parsed.date.is_some())
}

/// The value as a TIME in microseconds; `None` with a warning (an error in strict DML) if it is none, and for
/// NULL.
pub(crate) fn to_time(datum: Datum<'_>, ty: &SqlType, ctx: &EvalContext) -> Result<Option<i64>> {
    let lost = || {
        let text = datum.to_value().display_text(ty);
        ctx.conversion_lost(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect time value: '{text}'"),
        )
    };
    let found = match datum {
        Datum::Null => return Ok(None),
        Datum::Int(us) if ty.kind == TypeKind::Time => return Ok(Some(us)),
        Datum::UInt(packed) if ty.is_datetime() => {
            return Ok(Some(DateTime::unpack(packed).time_of_day_us()));
        }
        Datum::String(_) | Datum::Bytes(_) => match parse::time(datum.bytes()) {
            Ok(parsed) => {
                if parsed.truncated || parsed.clamped {
                    lost()?;
                }
                warn_delimiter(parsed.delimiter, datum.bytes(), ctx)?;
                return Ok(Some(Time(parsed.rounded(ctx)).clamped().0));
            }
            Err(_) => None,
        },
        // A number without a sign is read as if it had one.
        Datum::UInt(number) => number_to_time(number.cast_signed(), 0).map(|us| Time(us).clamped().0),
        number => split_moment(&number, ctx)
            .and_then(|(whole, nano)| number_to_time(whole, nano))
            .map(|us| Time(us).clamped().0),
    };
    if found.is_none() {
        lost()?;
    }
    Ok(found)
}

/// `hhmmss` as a TIME. A larger number is a point in time, of which the time of day is used. The largest TIME
/// with a fraction is beyond [`Time::MAX`].
pub(crate) fn number_to_time(number: i64, nanoseconds: i32) -> Option<i64> {
    const MAX: i64 = 8_385_959;
    if number > MAX {
        let at = has_date(number)
            .then(|| number_to_datetime(number, nanoseconds, DateRules::CALENDAR))
            .flatten()?;
        return Some(at.time_of_day_us());
    }
    if number < -MAX {
        return None;
    }
    let magnitude = number.unsigned_abs() as i64;
    let (minutes, seconds) = (magnitude / 100 % 100, magnitude % 100);
    if minutes > 59 || seconds > 59 {
        return None;
    }
    let micros = (i64::from(nanoseconds.unsigned_abs()) + 500) / 1000;
    let us = (magnitude / 10_000 * 3600 + minutes * 60 + seconds) * 1_000_000 + micros;
    let negative = number < 0 || nanoseconds < 0;
    Some(if negative { -us } else { us })
}

/// Whether a number that is read as a TIME is that of a point in time: [`number_to_time`] takes its time of
/// day.
pub(crate) fn has_date(number: i64) -> bool {
    number >= 10_000_000_000
}

/// The point in time of a TIME today. Hours beyond a day lead to other days.
pub(crate) fn time_to_datetime(us: i64, ctx: &EvalContext) -> Option<DateTime> {
    today(ctx)
        .add_days(us.div_euclid(MICROS_PER_DAY))?
        .add_us(us.rem_euclid(MICROS_PER_DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 answers `CAST(n AS DATETIME)`.
    #[test]
    fn numbers_as_datetimes() {
        let text = |n: i64| {
            number_to_datetime(n, 0, DateRules::CALENDAR).map_or("none".to_owned(), |d| d.datetime_text(0))
        };
        for (number, expected) in [
            (101, "2000-01-01 00:00:00"),
            (100, "none"),
            (0, "none"),
            (691_231, "2069-12-31 00:00:00"),
            (700_101, "1970-01-01 00:00:00"),
            (1_000_101, "0100-01-01 00:00:00"),
            (10_101, "2001-01-01 00:00:00"),
            (20_240_231, "none"),
            (-1, "none"),
            (20_240_101_101_112, "2024-01-01 10:11:12"),
            (240_101_101_112, "2024-01-01 10:11:12"),
            (99_999_999_999_999, "none"),
        ] {
            assert_eq!(text(number), expected, "{number}");
        }
    }

    #[test]
    fn numbers_as_times() {
        assert_eq!(number_to_time(101_112, 0), Some(36_672_000_000));
        assert_eq!(number_to_time(-1, -500_000_000), Some(-1_500_000));
        assert_eq!(number_to_time(1061, 0), None);
        assert_eq!(number_to_time(9_000_000, 0), None);
        assert_eq!(number_to_time(20_240_101_101_112, 0), Some(36_672_000_000));
        assert_eq!(number_to_time(10_000_000_000, 0), None);
        assert_eq!(
            number_to_time(8_385_959, 400_000_000),
            Some(Time::MAX.0 + 400_000)
        );
    }
}
