//! Parts of dates and times: YEAR to MICROSECOND, EXTRACT, weekdays, weeks, names.

use types::temporal::{DateTime, Time};
use types::{Result, SqlType, Value};

use super::interval::Unit;
use super::week::WeekRule;
use super::{Moment, datetime_at, integer, moment_at, stays_dated, time_at};
use crate::datum::Datum;
use crate::expr::{Binding, Call, Expr, FunctionDef, Nullability, ScalarFn};
use crate::registry::{Alias, Family, function};
use crate::temporal::DateRules;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias {
        name: "day",
        of: "dayofmonth",
    }],
};

static FUNCTIONS: &[FunctionDef] = &[
    part("year", |b| size(b, 5), |c, a| field(c, a, |d| i64::from(d.year))),
    part(
        "month",
        |b| size(b, 3),
        |c, a| field(c, a, |d| i64::from(d.month)),
    ),
    part(
        "dayofmonth",
        |b| size(b, 3),
        |c, a| field(c, a, |d| i64::from(d.day)),
    ),
    part(
        "quarter",
        |b| size(b, 2),
        |c, a| field(c, a, |d| quarter(d.month)),
    ),
    part(
        "hour",
        |b| size(b, 4),
        |c, a| time_part(c, a, |t| i64::from(t.hours())),
    ),
    part(
        "minute",
        |b| size(b, 3),
        |c, a| time_part(c, a, |t| i64::from(t.minutes())),
    ),
    part(
        "second",
        |b| size(b, 3),
        |c, a| time_part(c, a, |t| i64::from(t.seconds())),
    ),
    part(
        "microsecond",
        |b| size(b, 21),
        |c, a| time_part(c, a, |t| i64::from(t.microseconds())),
    ),
    part(
        "dayofweek",
        |b| size(b, 2),
        |c, a| day(c, a, |d| i64::from((d.weekday() + 1) % 7 + 1)),
    ),
    part(
        "weekday",
        |b| size(b, 2),
        |c, a| day(c, a, |d| i64::from(d.weekday())),
    ),
    part(
        "dayofyear",
        |b| size(b, 4),
        |c, a| day(c, a, |d| i64::from(d.day_of_year())),
    ),
    part(
        "weekofyear",
        |b| size(b, 3),
        |c, a| day(c, a, |d| WeekRule::of_mode(3).week(d).0),
    ),
    function("week", 1, 2, resolve_week, week)
        .takes_json()
        .sees_null()
        .nullability(Nullability::Always),
    function("yearweek", 1, 2, |b| size_mode(b, 7), year_week)
        .takes_json()
        .sees_null()
        .nullability(Nullability::Always),
    part("dayname", name_type, day_name),
    part("monthname", name_type, month_name),
    function("extract", 2, 2, resolve_extract, extract)
        .takes_json()
        .nullability(Nullability::Always),
];

const fn part(name: &'static str, resolve: crate::expr::ResolveFn, eval: ScalarFn) -> FunctionDef {
    function(name, 1, 1, resolve, eval)
        .takes_json()
        .nullability(Nullability::Always)
}

fn quarter(month: u8) -> i64 {
    i64::from(month.div_ceil(3))
}

fn size(_: &mut Binding<'_>, length: u32) -> Result<SqlType> {
    Ok(integer(length))
}

fn size_mode(binding: &mut Binding<'_>, length: u32) -> Result<SqlType> {
    binding.integer_if_given(1);
    Ok(integer(length))
}

fn resolve_week(binding: &mut Binding<'_>) -> Result<SqlType> {
    if binding.args.len() == 1 {
        add_week_format(binding);
    }
    size_mode(binding, 3)
}

/// Adds the session's mode as the last argument.
fn add_week_format(binding: &mut Binding<'_>) {
    let mode = Value::Int(i64::from(binding.env.default_week_format));
    binding.args.push(Expr::literal(mode, SqlType::BIGINT));
}

fn name_type(binding: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType::varchar(9, binding.env.collation))
}

/// A field of a date that may have zeros in it.
fn field(call: &Call<'_>, args: &[Datum<'_>], get: fn(&DateTime) -> i64) -> Result<Value> {
    let rules = DateRules::of_fields(&call.ctx.sql_mode);
    let date = datetime_at(call, args, 0, rules)?;
    Ok(date.map_or(Value::Null, |d| Value::Int(get(&d))))
}

/// A field that only a real day has.
fn day(call: &Call<'_>, args: &[Datum<'_>], get: fn(&DateTime) -> i64) -> Result<Value> {
    let date = datetime_at(call, args, 0, DateRules::CALENDAR)?;
    Ok(date.map_or(Value::Null, |d| Value::Int(get(&d))))
}

fn time_part(call: &Call<'_>, args: &[Datum<'_>], get: fn(&Time) -> i64) -> Result<Value> {
    let time = time_at(call, args, 0)?;
    Ok(time.map_or(Value::Null, |us| Value::Int(get(&Time(us)))))
}

fn mode(args: &[Datum<'_>]) -> i64 {
    args.get(1).map_or(0, Datum::int)
}

fn week(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let date = datetime_at(call, args, 0, DateRules::CALENDAR)?;
    Ok(date.map_or(Value::Null, |d| {
        Value::Int(WeekRule::of_mode(mode(args)).week(&d).0)
    }))
}

fn year_week(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let date = datetime_at(call, args, 0, DateRules::CALENDAR)?;
    let rule = WeekRule {
        whole_year: true,
        ..WeekRule::of_mode(mode(args))
    };
    Ok(date.map_or(Value::Null, |d| {
        let (week, year) = rule.week(&d);
        Value::Int(year * 100 + week)
    }))
}

fn day_name(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let date = datetime_at(call, args, 0, DateRules::CALENDAR)?;
    let name = date.and_then(|d| call.ctx.locale.day(d.weekday(), false));
    Ok(name.map_or(Value::Null, Value::from))
}

fn month_name(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let date = datetime_at(call, args, 0, DateRules::of_fields(&call.ctx.sql_mode))?;
    let name = date.and_then(|d| call.ctx.locale.month(d.month, false));
    Ok(name.map_or(Value::Null, Value::from))
}

/// `extract('unit', value)`, of a week with the mode.
fn resolve_extract(binding: &mut Binding<'_>) -> Result<SqlType> {
    let unit = Unit::parse(binding.keyword(0)?)?;
    if unit == Unit::Week {
        add_week_format(binding);
    }
    Ok(integer(match unit {
        Unit::Year => 5,
        Unit::YearMonth => 7,
        Unit::Quarter => 2,
        Unit::Month | Unit::Week | Unit::Day | Unit::Minute | Unit::Second => 3,
        Unit::Hour => 4,
        Unit::DayHour => 9,
        Unit::DayMinute => 11,
        Unit::DaySecond => 13,
        Unit::HourMinute => 6,
        Unit::HourSecond => 8,
        Unit::MinuteSecond => 5,
        Unit::Microsecond => 7,
        Unit::DayMicrosecond => 20,
        Unit::HourMicrosecond => 14,
        Unit::MinuteMicrosecond => 11,
        Unit::SecondMicrosecond => 9,
    }))
}

fn extract(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let unit = match args.first() {
        Some(Datum::String(name)) => Unit::parse(name)?,
        _ => return Ok(Value::Null),
    };
    if unit == Unit::Week {
        let date = datetime_at(call, args, 1, DateRules::CALENDAR)?;
        let rule = WeekRule::of_mode(args.get(2).map_or(0, Datum::int));
        return Ok(date.map_or(Value::Null, |d| Value::Int(rule.week(&d).0)));
    }
    if unit.is_of_date() {
        let date = datetime_at(call, args, 1, DateRules::of_fields(&call.ctx.sql_mode))?;
        return Ok(date.map_or(Value::Null, |d| Value::Int(date_part(unit, &d))));
    }
    let Some(moment) = moment_at(call, args, 1)? else {
        return Ok(Value::Null);
    };
    let typed = call.arg_type(1).is_datetime();
    let (day, us) = match moment {
        Moment::Time(us) => (0, us),
        Moment::DateTime(at) if typed && !stays_dated(call.args.get(1)) => (0, at.time_of_day_us()),
        Moment::DateTime(at) => (i64::from(at.day), at.time_of_day_us()),
    };
    let magnitude = span_part(unit, day, &Time(us));
    Ok(Value::Int(if us < 0 { -magnitude } else { magnitude }))
}

fn date_part(unit: Unit, date: &DateTime) -> i64 {
    let (year, month) = (i64::from(date.year), i64::from(date.month));
    match unit {
        Unit::Year => year,
        Unit::YearMonth => year * 100 + month,
        Unit::Quarter => quarter(date.month),
        Unit::Month => month,
        _ => i64::from(date.day),
    }
}

/// The digits of all fields from the unit's first to its last, concatenated.
fn span_part(unit: Unit, day: i64, time: &Time) -> i64 {
    let (hour, minute) = (i64::from(time.hours()), i64::from(time.minutes()));
    let (second, micros) = (i64::from(time.seconds()), i64::from(time.microseconds()));
    let day_hour = day * 100 + hour;
    let hms = hour * 10_000 + minute * 100 + second;
    match unit {
        Unit::Hour => hour,
        Unit::Minute => minute,
        Unit::Second => second,
        Unit::Microsecond => micros,
        Unit::DayHour => day_hour,
        Unit::DayMinute => day_hour * 100 + minute,
        Unit::DaySecond => day * 1_000_000 + hms,
        Unit::HourMinute => hour * 100 + minute,
        Unit::HourSecond => hms,
        Unit::MinuteSecond => minute * 100 + second,
        Unit::DayMicrosecond => (day * 1_000_000 + hms) * 1_000_000 + micros,
        Unit::HourMicrosecond => hms * 1_000_000 + micros,
        Unit::MinuteMicrosecond => (minute * 100 + second) * 1_000_000 + micros,
        _ => second * 1_000_000 + micros,
    }
}
