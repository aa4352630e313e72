//! Values for DATE, DATETIME, TIMESTAMP and TIME columns.

use types::temporal::{DateTime, Time};
use types::{Result, TypeKind, Value, Warning, errno};

use super::Target;
use crate::datum::Datum;
use crate::json;
use crate::temporal::parse::{self, DateRules, NoDate, NoTime};
use crate::temporal::{
    self, is_date_number, number_to_datetime, number_to_time, split_moment, time_to_datetime,
    warn_delimiter_of_row,
};

const DAY_US: i64 = 86_400_000_000;

/// Why a value does not fit. The error has the same text for each reason, the warning does not.
#[derive(Clone, Copy)]
enum Reason {
    Unreadable,
    OutOfRange,
    /// Rounding moves it beyond year 9999.
    Overflow,
}

/// Why a point in time cannot be rounded up.
fn not_rounded(at: &DateTime) -> Reason {
    match at.has_zero_in_date() {
        true => Reason::OutOfRange,
        false => Reason::Overflow,
    }
}

impl Target<'_> {
    fn temporal_kind(&self) -> &'static str {
        match self.to.kind {
            TypeKind::Date => "date",
            TypeKind::Time => "time",
            _ => "datetime",
        }
    }

    /// Error 1292 in strict mode (1441 for an overflow), else warning 1264 or 1265.
    fn wrong_temporal(&self, value: &Datum<'_>, reason: Reason) -> Result<()> {
        if let Reason::Overflow = reason {
            temporal::overflow(self.ctx)?;
        }
        if self.is_strict() {
            let what = format!(
                "Incorrect {} value: '{}'",
                self.temporal_kind(),
                self.beginning(value)
            );
            return self.lost(errno::ER_TRUNCATED_WRONG_VALUE, self.at_row(&what));
        }
        match reason {
            Reason::Unreadable => self.truncated(),
            Reason::OutOfRange | Reason::Overflow => self.out_of_range(),
        }
    }

    /// A note that a part of the value (a DATE's time, a TIME's date) was left out.
    fn note_part_left_out(&self, value: &Datum<'_>) -> Result<()> {
        if self.is_strict() {
            let what = format!(
                "Incorrect {} value: '{}'",
                self.temporal_kind(),
                self.beginning(value)
            );
            let note = Warning::note(errno::ER_TRUNCATED_WRONG_VALUE, self.at_row(&what));
            return self.ctx.report(note);
        }
        self.note_truncated()
    }
}

pub(super) fn to_datetime(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let rules = DateRules::of_mode(&target.ctx.sql_mode);
    let found = match value {
        Datum::UInt(packed) if target.from.is_datetime() => {
            let at = DateTime::unpack(packed);
            // The mode refuses a zero date or an impossible day, even if it comes from another column; but MySQL copies
            // columns of one type as they are unless it is told to look for zeros.
            if target.from == target.to && rules.zero_date && rules.zero_in_date || rules.accept(&at) {
                Ok(at)
            } else {
                Err(Reason::OutOfRange)
            }
        }
        Datum::Int(us) if target.from.kind == TypeKind::Time => {
            time_to_datetime(us, target.ctx).ok_or(Reason::OutOfRange)
        }
        Datum::Json(json) => match json::convert::datetime(json, rules) {
            Some(parsed) => temporal::complete(&parsed, target.ctx).ok_or(not_rounded(&parsed.value)),
            None => return no_json(target),
        },
        Datum::String(_) | Datum::Bytes(_) => datetime_of_text(target, value, rules)?,
        number => datetime_of_number(target, number, rules)?,
    };
    let at = match found {
        Ok(at) => at,
        Err(reason) => {
            target.wrong_temporal(&value, reason)?;
            return Ok(Value::UInt(0));
        }
    };
    // For a DATE, the value is rounded to seconds before its time is removed: 23:59:59.5 becomes the next
    // day.
    let is_date = target.to.kind == TypeKind::Date;
    let fsp = if is_date { 0 } else { target.to.decimals };
    let Some(rounded) = temporal::fit(&at, fsp, target.ctx) else {
        target.wrong_temporal(&value, not_rounded(&at))?;
        return Ok(Value::UInt(0));
    };
    if is_date {
        if rounded.time_of_day_us() != 0 {
            note_time_left_out(target, value, &rounded)?;
        }
        return Ok(Value::UInt(rounded.date().pack()));
    }
    if target.to.kind == TypeKind::Timestamp && !is_timestamp(target, &rounded) {
        let is_number = matches!(value, Datum::Int(_) | Datum::Double(_) | Datum::Decimal(_))
            || matches!(value, Datum::UInt(_)) && !target.from.is_datetime();
        let reason = match is_number && target.from.kind != TypeKind::Time && rounded.has_zero_in_date() {
            true => Reason::Unreadable,
            false => Reason::OutOfRange,
        };
        target.wrong_temporal(&value, reason)?;
        return Ok(Value::UInt(0));
    }
    Ok(Value::UInt(rounded.pack()))
}

/// Shows a text or number as it was written, and a value of another type in whole seconds.
fn note_time_left_out(target: &Target<'_>, value: Datum<'_>, rounded: &DateTime) -> Result<()> {
    let shown = match value {
        Datum::Json(json) => Some(json.to_unquoted()),
        Datum::UInt(_) if target.from.is_datetime() => Some(rounded.datetime_text(0)),
        Datum::Int(us) if target.from.kind == TypeKind::Time => {
            Some(Time(temporal::fit_time(us, 0, target.ctx)).to_text(0))
        }
        _ => None,
    };
    target.note_part_left_out(&shown.as_deref().map_or(value, Datum::String))
}

/// JSON that is no point in time and no TIME becomes NULL.
fn no_json(target: &Target<'_>) -> Result<Value> {
    target.invalid_json(json::convert::MOMENT)?;
    Ok(Value::Null)
}

/// Whether a local time is one that a TIMESTAMP can hold, or the zero date; a strict one must exist in the zone.
fn is_timestamp(target: &Target<'_>, at: &DateTime) -> bool {
    let is_skipped = || target.is_strict() && target.ctx.time_zone.is_skipped(at);
    temporal::is_timestamp(at, target.ctx) && (*at == DateTime::ZERO || !is_skipped())
}

/// The largest number that could be a point in time: 9999-99-99 99:99:99.
const DATETIME_NUMBER_MAX: i64 = 99_999_999_999_999;

fn datetime_of_number(
    target: &Target<'_>,
    number: Datum<'_>,
    rules: DateRules,
) -> Result<Result<DateTime, Reason>> {
    let Some((whole, nano)) = split_moment(&number, target.ctx) else {
        return Ok(Err(Reason::OutOfRange));
    };
    let found = number_to_datetime(whole, nano, rules);
    if found.is_some() && nano > 0 && is_date_number(whole) {
        // A fraction of a day.
        target.wrong_temporal(&number, Reason::Unreadable)?;
    }
    Ok(found.ok_or(match whole {
        0 => Reason::OutOfRange,
        1..=DATETIME_NUMBER_MAX => Reason::Unreadable,
        _ => Reason::OutOfRange,
    }))
}

fn datetime_of_text(
    target: &Target<'_>,
    value: Datum<'_>,
    rules: DateRules,
) -> Result<Result<DateTime, Reason>> {
    let text = value.bytes();
    let parsed = match parse::datetime_or_why(text, rules) {
        Ok(parsed) => parsed,
        Err(NoDate::Zero | NoDate::Refused) => return Ok(Err(Reason::OutOfRange)),
        Err(NoDate::Other | NoDate::Fields) => return Ok(Err(Reason::Unreadable)),
    };
    warn_delimiter_of_row(parsed.delimiter, text, target.row_number, target.ctx)?;
    if parsed.truncated {
        target.wrong_temporal(&value, Reason::Unreadable)?;
    }
    Ok(temporal::complete(&parsed, target.ctx).ok_or(not_rounded(&parsed.value)))
}

pub(super) fn to_time(target: &Target<'_>, value: Datum<'_>) -> Result<Value> {
    let us = match value {
        Datum::Int(us) if target.from.kind == TypeKind::Time => Some(us),
        Datum::UInt(packed) if target.from.is_datetime() => Some(DateTime::unpack(packed).time_of_day_us()),
        Datum::Json(json) => match json::convert::time(json) {
            Some(parsed) => Some(parsed.rounded(target.ctx)),
            None => return no_json(target),
        },
        Datum::String(_) | Datum::Bytes(_) => time_of_text(target, value)?,
        number => Some(time_of_number(target, number)?),
    };
    let us = us.unwrap_or(0);
    Ok(Value::Int(temporal::fit_time(us, target.to.decimals, target.ctx)))
}

/// The TIME that the digits of a number stand for, or the nearest one, in microseconds.
fn time_of_number(target: &Target<'_>, number: Datum<'_>) -> Result<i64> {
    let (whole, nano) = split_moment(&number, target.ctx).unwrap_or_else(|| {
        let beyond = if is_negative(&number) { i64::MIN } else { i64::MAX };
        (beyond, 0)
    });
    let found = number_to_time(whole, nano);
    let nearest = found.map_or_else(|| nearest_time(whole), |us| Time(us).clamped().0);
    if found != Some(nearest) {
        target.wrong_temporal(&number, Reason::OutOfRange)?;
    } else if temporal::has_date(whole) {
        target.note_part_left_out(&number)?;
    }
    Ok(nearest)
}

fn is_negative(number: &Datum<'_>) -> bool {
    match number {
        Datum::Double(v) => *v < 0.0,
        Datum::Decimal(d) => d.is_negative(),
        _ => false,
    }
}

/// The value stored for a number that is not a TIME: the largest TIME if the number is too large.
fn nearest_time(number: i64) -> i64 {
    match number {
        8_385_960.. => Time::MAX.0,
        ..=-8_385_960 => Time::MIN.0,
        _ => 0,
    }
}

fn time_of_text(target: &Target<'_>, value: Datum<'_>) -> Result<Option<i64>> {
    let parsed = match parse::time(value.bytes()) {
        Ok(parsed) => parsed,
        Err(why) => {
            match why {
                NoTime::Unsaid => {}
                NoTime::OutOfRange => target.wrong_temporal(&value, Reason::OutOfRange)?,
                NoTime::Unreadable => target.wrong_temporal(&value, Reason::Unreadable)?,
            }
            return Ok(Some(0));
        }
    };
    let us = parsed.rounded(target.ctx);
    if parsed.clamped || Time(us).clamped().0 != us {
        target.wrong_temporal(&value, Reason::OutOfRange)?;
    } else if parsed.truncated {
        target.wrong_temporal(&value, Reason::Unreadable)?;
    } else if parsed
        .date
        .is_some_and(|date| (date.year, date.month, date.day) != (0, 0, 0))
    {
        target.note_part_left_out(&value)?;
    }
    warn_delimiter_of_row(parsed.delimiter, value.bytes(), target.row_number, target.ctx)?;
    // A date without year and month is a number of days.
    let days = match parsed.date {
        Some(date) if (date.year, date.month) == (0, 0) => i64::from(date.day),
        _ => 0,
    };
    Ok(Some(us + days * DAY_US))
}
