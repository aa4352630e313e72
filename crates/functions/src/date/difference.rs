//! Differences and sums of times, and day numbers: DATEDIFF, TIMEDIFF, TIMESTAMPDIFF, ADDTIME, TO_DAYS,
//! PERIOD_ADD.

use types::temporal::{DateTime, MICROS_PER_DAY, Time};
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::interval::Unit;
use super::{
    Moment, dated_at, datetime_at, datetime_text, fraction_digits, integer, moment_at, stays_dated,
    time_value,
};
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};
use crate::temporal::{self, DateRules};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("datediff", 2, 2, |_| Ok(integer(9)), datediff)
        .sees_null()
        .takes_json()
        .nullability(Nullability::Always),
    function("timediff", 2, 2, resolve_timediff, timediff)
        .takes_json()
        .nullability(Nullability::Always),
    function("timestampdiff", 3, 3, |_| Ok(integer(21)), timestampdiff)
        .takes_json()
        .nullability(Nullability::Always),
    function("addtime", 2, 2, resolve_addtime, |c, a| addtime(c, a, 1))
        .takes_json()
        .nullability(Nullability::Always),
    function("subtime", 2, 2, resolve_addtime, |c, a| addtime(c, a, -1))
        .takes_json()
        .nullability(Nullability::Always),
    function("to_days", 1, 1, |_| Ok(integer(8)), to_days)
        .takes_json()
        .nullability(Nullability::Always),
    function("to_seconds", 1, 1, |_| Ok(integer(21)), to_seconds)
        .takes_json()
        .nullability(Nullability::Always),
    function("from_days", 1, 1, resolve_from_days, from_days).nullability(Nullability::Always),
    function("period_add", 2, 2, resolve_period, period_add),
    function("period_diff", 2, 2, resolve_period, period_diff),
];

fn datediff(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    // Both are read, and warned of, even if one is NULL.
    let a = datetime_at(call, args, 0, DateRules::CALENDAR)?;
    let b = datetime_at(call, args, 1, DateRules::CALENDAR)?;
    Ok(match (a, b) {
        (Some(a), Some(b)) => Value::Int(a.day_number() - b.day_number()),
        _ => Value::Null,
    })
}

fn resolve_timediff(binding: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType::time(
        fraction_digits(binding, 0).max(fraction_digits(binding, 1)),
    ))
}

/// The difference of two TIMEs, two dates or two points in time; NULL if they are of different kinds. If one
/// has the type DATE, both are read as dates.
fn timediff(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let types = [call.arg_type(0), call.arg_type(1)];
    if types.iter().any(SqlType::is_datetime) {
        if types.iter().any(|ty| ty.kind == TypeKind::Time) {
            return Ok(Value::Null);
        }
        let Some((a, a_is_date)) = dated_at(call, args, 0)? else {
            return Ok(Value::Null);
        };
        return match dated_at(call, args, 1)? {
            Some((b, b_is_date)) if a_is_date == b_is_date => {
                time_value(call, i128::from(a.to_epoch_us() - b.to_epoch_us()))
            }
            _ => Ok(Value::Null),
        };
    }
    let Some(a) = moment_at(call, args, 0)? else {
        return Ok(Value::Null);
    };
    let Some(b) = moment_at(call, args, 1)? else {
        return Ok(Value::Null);
    };
    match (a, b) {
        (Moment::Time(a), Moment::Time(b)) => time_value(call, i128::from(a) - i128::from(b)),
        (Moment::DateTime(a), Moment::DateTime(b)) => {
            time_value(call, i128::from(a.to_epoch_us() - b.to_epoch_us()))
        }
        _ => Ok(Value::Null),
    }
}

/// `timestampdiff('unit', a, b)`: whole units from `a` to `b`.
fn timestampdiff(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let unit = match args.first() {
        Some(Datum::String(name)) => Unit::parse(name)?,
        _ => return Ok(Value::Null),
    };
    let Some(a) = datetime_at(call, args, 1, DateRules::CALENDAR)? else {
        return Ok(Value::Null);
    };
    let Some(b) = datetime_at(call, args, 2, DateRules::CALENDAR)? else {
        return Ok(Value::Null);
    };
    let us = b.to_epoch_us() - a.to_epoch_us();
    Ok(Value::Int(match unit {
        Unit::Year => months_between(&a, &b) / 12,
        Unit::Quarter => months_between(&a, &b) / 3,
        Unit::Month => months_between(&a, &b),
        Unit::Week => us / (7 * MICROS_PER_DAY),
        Unit::Day => us / MICROS_PER_DAY,
        Unit::Hour => us / 3_600_000_000,
        Unit::Minute => us / 60_000_000,
        Unit::Second => us / 1_000_000,
        _ => us,
    }))
}

/// Whole months, negative if `b` is before `a`.
fn months_between(a: &DateTime, b: &DateTime) -> i64 {
    if a > b {
        return -months_between(b, a);
    }
    let index = |d: &DateTime| i64::from(d.year) * 12 + i64::from(d.month);
    let rest = |d: &DateTime| (d.day, d.time_of_day_us());
    index(b) - index(a) - i64::from(rest(b) < rest(a))
}

fn resolve_addtime(binding: &mut Binding<'_>) -> Result<SqlType> {
    let ty = binding.ty(0);
    let fsp = fraction_digits(binding, 0).max(fraction_digits(binding, 1));
    Ok(match ty.kind {
        _ if ty.is_datetime() => SqlType::datetime(fsp),
        TypeKind::Time => SqlType::time(fsp),
        _ => super::text_type(binding.env.collation),
    })
}

/// Adds a TIME to a TIME or to a point in time. If the second argument is a function that returns a point in
/// time, its time of day is added.
fn addtime(call: &Call<'_>, args: &[Datum<'_>], sign: i64) -> Result<Value> {
    let Some(first) = moment_at(call, args, 0)? else {
        return Ok(Value::Null);
    };
    let by = match moment_at(call, args, 1)? {
        Some(Moment::Time(by)) => by * sign,
        Some(Moment::DateTime(at)) if call.arg_type(1).is_datetime() && !stays_dated(call.args.get(1)) => {
            at.time_of_day_us() * sign
        }
        _ => return Ok(Value::Null),
    };
    match first {
        Moment::DateTime(at) => {
            let Some(sum) = time_added(call, &at, by)? else {
                return Ok(Value::Null);
            };
            Ok(if call.ty.is_string() {
                datetime_text(&sum, false)
            } else {
                Value::UInt(sum.pack())
            })
        }
        Moment::Time(us) => {
            let sum = time_value(call, i128::from(us) + i128::from(by))?;
            match sum {
                Value::Int(us) if call.ty.is_string() => {
                    let time = Time(us);
                    let fsp = if time.microseconds() > 0 { 6 } else { 0 };
                    Ok(Value::String(time.to_text(fsp)))
                }
                value => Ok(value),
            }
        }
    }
}

/// A point in time and a TIME. A month or day of zero is the one before the first. `None` in the year 0, and with a
/// warning after the year 9999.
pub(super) fn time_added(call: &Call<'_>, at: &DateTime, by: i64) -> Result<Option<DateTime>> {
    let sum = at.add_us(by);
    if sum.is_none() && by > 0 && at.year > 0 {
        temporal::overflow_of("add_time", call.ctx)?;
    }
    Ok(sum.filter(|sum| sum.year > 0))
}

fn to_days(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let date = datetime_at(call, args, 0, DateRules::CALENDAR)?;
    Ok(date.map_or(Value::Null, |d| Value::Int(d.day_number())))
}

fn to_seconds(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let date = datetime_at(call, args, 0, DateRules::CALENDAR)?;
    Ok(date.map_or(Value::Null, |d| {
        Value::Int(d.day_number() * 86_400 + d.time_of_day_us() / 1_000_000)
    }))
}

fn resolve_from_days(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    Ok(SqlType::DATE)
}

/// From this day number on, MySQL returns neither a date nor an overflow: a few days into the year 10000.
const NO_DAY: i64 = 3_652_500;

/// Day numbers of the year 0 give the zero date.
fn from_days(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let days = args.first().map_or(0, Datum::int);
    if days <= 365 || days >= NO_DAY {
        return Ok(Value::UInt(0));
    }
    match DateTime::from_day_number(days, 0) {
        Some(date) => Ok(Value::UInt(date.pack())),
        None => {
            temporal::overflow_of("from_days", call.ctx)?;
            Ok(Value::Null)
        }
    }
}

fn resolve_period(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.integer(0);
    binding.integer(1);
    Ok(integer(21))
}

/// Months since year 0 of a `YYYYMM` or `YYMM`. Error 1210 for any other number.
fn months_of(call: &Call<'_>, period: &Datum<'_>) -> Result<i64> {
    let period = match period {
        Datum::UInt(period) => i64::try_from(*period).unwrap_or(-1),
        period => period.int(),
    };
    let (year, month) = (period / 100, period % 100);
    if period <= 0 || !(1..=12).contains(&month) {
        return Err(Error::new(
            errno::ER_WRONG_ARGUMENTS,
            format!("Incorrect arguments to {}", call.def.name),
        ));
    }
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        full => full,
    };
    Ok(year * 12 + month - 1)
}

fn period_add(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [period, by] = args else {
        return Ok(Value::Null);
    };
    let by = match by {
        Datum::UInt(by) => *by,
        by => by.int() as u64,
    };
    // MySQL computes with unsigned numbers, which wrap.
    let months = (months_of(call, period)? as u64).wrapping_add(by);
    let year = match months / 12 {
        _ if months == 0 => return Ok(Value::Int(0)),
        year @ 0..=69 => year + 2000,
        year @ 70..=99 => year + 1900,
        year => year,
    };
    Ok(Value::Int(
        year.wrapping_mul(100).wrapping_add(months % 12 + 1) as i64
    ))
}

fn period_diff(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [a, b] = args else { return Ok(Value::Null) };
    Ok(Value::Int(months_of(call, a)? - months_of(call, b)?))
}
