//! Dates and times made of their parts or of other values: DATE, TIME, TIMESTAMP, MAKEDATE, MAKETIME,
//! SEC_TO_TIME, TIME_TO_SEC, LAST_DAY.

use types::temporal::{DateTime, Time};
use types::{Decimal, Result, SqlType, Value, errno};

use super::difference::time_added;
use super::{datetime_at, exact_seconds, fraction_digits, integer, time_at, time_value};
use crate::datum::Datum;
use crate::datum::to_decimal;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};
use crate::temporal::{self, DateRules};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("date", 1, 1, |_| Ok(SqlType::DATE), date)
        .takes_json()
        .nullability(Nullability::Always),
    function("time", 1, 1, |b| Ok(SqlType::time(fraction_digits(b, 0))), time)
        .takes_json()
        .nullability(Nullability::Always),
    function("timestamp", 1, 2, resolve_timestamp, timestamp)
        .takes_json()
        .nullability(Nullability::Always),
    function("last_day", 1, 1, |_| Ok(SqlType::DATE), last_day)
        .takes_json()
        .nullability(Nullability::Always),
    function("makedate", 2, 2, resolve_makedate, makedate).nullability(Nullability::Always),
    function("maketime", 3, 3, resolve_maketime, maketime).nullability(Nullability::Always),
    function("sec_to_time", 1, 1, resolve_sec_to_time, sec_to_time).nullability(Nullability::Always),
    function("time_to_sec", 1, 1, |_| Ok(integer(10)), time_to_sec)
        .takes_json()
        .nullability(Nullability::Always),
];

fn date(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let rules = rules_of(call, 0);
    let found = datetime_at(call, args, 0, rules)?;
    Ok(found.map_or(Value::Null, |d| Value::UInt(d.date().pack())))
}

/// A stored date is always accepted. A new one must be allowed by the mode.
fn rules_of(call: &Call<'_>, index: usize) -> DateRules {
    if call.arg_type(index).is_datetime() {
        DateRules::ANY
    } else {
        DateRules::of_mode(&call.ctx.sql_mode)
    }
}

fn time(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let found = time_at(call, args, 0)?;
    Ok(found.map_or(Value::Null, |us| {
        Value::Int(temporal::fit_time(us, call.ty.decimals, call.ctx))
    }))
}

fn resolve_timestamp(binding: &mut Binding<'_>) -> Result<SqlType> {
    let mut fsp = fraction_digits(binding, 0);
    if binding.args.len() > 1 {
        fsp = fsp.max(fraction_digits(binding, 1));
    }
    Ok(SqlType::datetime(fsp))
}

fn timestamp(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(at) = datetime_at(call, args, 0, rules_of(call, 0))? else {
        return Ok(Value::Null);
    };
    let mut sum = at;
    if args.len() > 1 {
        let Some(us) = time_at(call, args, 1)? else {
            return Ok(Value::Null);
        };
        let Some(moment) = time_added(call, &at, us)? else {
            return Ok(Value::Null);
        };
        sum = moment;
    }
    match temporal::fit(&sum, call.ty.decimals, call.ctx) {
        Some(value) => Ok(Value::UInt(value.pack())),
        None => {
            temporal::overflow_of("add_time", call.ctx)?;
            Ok(Value::Null)
        }
    }
}

fn last_day(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let rules = DateRules::of_fields(&call.ctx.sql_mode);
    let Some(date) = datetime_at(call, args, 0, rules)? else {
        return Ok(Value::Null);
    };
    match date.last_day() {
        Some(last) => Ok(Value::UInt(last.pack())),
        None => {
            call.ctx.conversion_lost(
                errno::ER_TRUNCATED_WRONG_VALUE,
                format!("Incorrect datetime value: '{}'", date.date_text()),
            )?;
            Ok(Value::Null)
        }
    }
}

fn resolve_makedate(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    binding.integer(1);
    Ok(SqlType::DATE)
}

/// `MAKEDATE(year, day of the year)`.
fn makedate(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [year, day] = args else { return Ok(Value::Null) };
    let year = match year.int() {
        y @ 0..=69 => y + 2000,
        y @ 70..=99 => y + 1900,
        y => y,
    };
    let (Ok(year @ 0..=9999), day @ 1..) = (u16::try_from(year), day.int()) else {
        return Ok(Value::Null);
    };
    let date = DateTime::from_date(year, 1, 1).add_days(day - 1);
    Ok(date.map_or(Value::Null, |d| Value::UInt(d.pack())))
}

fn resolve_maketime(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    binding.integer(1);
    let fsp = exact_seconds(binding, 2);
    Ok(SqlType::time(fsp))
}

fn maketime(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [hours, minutes, seconds] = args else {
        return Ok(Value::Null);
    };
    let seconds = to_decimal(seconds);
    let in_minute = !seconds.is_negative() && seconds < Decimal::from_i64(60);
    let micros = temporal::micros_of_seconds(&seconds, call.ctx);
    let (true, Some(micros), minutes @ 0..=59) = (in_minute, micros, minutes.int()) else {
        return Ok(Value::Null);
    };
    let hours = match hours {
        Datum::UInt(hours) => i128::from(*hours),
        hours => i128::from(hours.int()),
    };
    let us = hours.abs() * 3_600_000_000 + i128::from(minutes) * 60_000_000 + micros;
    if us <= i128::from(Time::MAX.0) {
        return time_value(call, if hours < 0 { -us } else { us });
    }
    // The warning shows the parts as they were given.
    let shown = seconds.truncate(9).to_text();
    let zero = if shown.find('.').unwrap_or(shown.len()) < 2 {
        "0"
    } else {
        ""
    };
    call.ctx.conversion_lost(
        errno::ER_TRUNCATED_WRONG_VALUE,
        format!("Truncated incorrect time value: '{hours}:{minutes:02}:{zero}{shown}'"),
    )?;
    Ok(Value::Int(if hours < 0 { Time::MIN.0 } else { Time::MAX.0 }))
}

fn resolve_sec_to_time(binding: &mut Binding<'_>) -> Result<SqlType> {
    let fsp = exact_seconds(binding, 0);
    Ok(SqlType::time(fsp))
}

fn sec_to_time(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(seconds) = args.first() else {
        return Ok(Value::Null);
    };
    let exact = to_decimal(seconds);
    let micros = temporal::micros_of_seconds(&exact, call.ctx);
    if micros.is_none_or(|us| us.unsigned_abs() > Time::MAX.0 as u128) {
        // The warning shows the seconds as they were given.
        let shown = seconds.to_value().display_text(&call.arg_type(0));
        call.ctx.conversion_lost(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect time value: '{shown}'"),
        )?;
        return Ok(Value::Int(if exact.is_negative() {
            Time::MIN.0
        } else {
            Time::MAX.0
        }));
    }
    let time = Time(micros.and_then(|us| i64::try_from(us).ok()).unwrap_or(0));
    Ok(Value::Int(temporal::fit_time(time.0, call.ty.decimals, call.ctx)))
}

fn time_to_sec(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let time = time_at(call, args, 0)?;
    Ok(time.map_or(Value::Null, |us| Value::Int(us / 1_000_000)))
}
