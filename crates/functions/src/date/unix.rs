//! Unix time and time zones: FROM_UNIXTIME, UNIX_TIMESTAMP, CONVERT_TZ.

use types::temporal::DateTime;
use types::{Decimal, Error, Result, SqlType, TypeKind, Value, errno};

use super::format::format_datetime;
use super::{datetime_at, fraction_digits, integer};
use crate::Expr;
use crate::datum::Datum;
use crate::datum::to_decimal;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};
use crate::temporal::DateRules;
use crate::timezone::TimeZone;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("from_unixtime", 1, 2, resolve_from, from_unixtime)
        .nullability(Nullability::Always)
        .session(),
    function("unix_timestamp", 0, 1, resolve_to, unix_timestamp)
        .takes_json()
        .session(),
    function("convert_tz", 3, 3, resolve_convert, convert_tz)
        .takes_json()
        .nullability(Nullability::Always),
    function("at time zone", 2, 2, resolve_at_time_zone, at_time_zone)
        .nullability(Nullability::Always)
        .session(),
];

/// 3001-01-18 23:59:59 UTC.
const MAX_SECONDS: i64 = 32_536_771_199;

fn resolve_from(binding: &mut Binding<'_>) -> Result<SqlType> {
    let fsp = super::exact_seconds(binding, 0);
    if binding.args.len() > 1 {
        binding.text(1);
        return super::format::format_type(binding, 1);
    }
    Ok(SqlType::datetime(fsp))
}

fn from_unixtime(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(seconds) = args.first() else {
        return Ok(Value::Null);
    };
    let micros = crate::temporal::micros_of_seconds(&to_decimal(seconds), call.ctx);
    let micros = micros.and_then(|us| i64::try_from(us).ok());
    let Some(micros) = micros.filter(|us| *us >= 0 && us / 1_000_000 <= MAX_SECONDS) else {
        return Ok(Value::Null);
    };
    let local = call.ctx.time_zone.from_unix_us(micros);
    match args.get(1) {
        Some(format) => {
            Ok(format_datetime(&local, format.bytes(), call.ctx.locale).map_or(Value::Null, Value::String))
        }
        None => Ok(Value::UInt(local.pack())),
    }
}

fn resolve_to(binding: &mut Binding<'_>) -> Result<SqlType> {
    if binding.args.is_empty() {
        return Ok(integer(21));
    }
    let is_date = |text: &str| crate::temporal::parse::datetime(text.as_bytes(), DateRules::ANY).is_some();
    let digits = match binding.args.first() {
        Some(Expr::Literal {
            value: Value::String(text),
            ..
        }) if !is_date(text) => 6,
        _ => fraction_digits(binding, 0),
    };
    Ok(match digits {
        0 => integer(21),
        fsp => SqlType::decimal(11 + u32::from(fsp), fsp),
    })
}

fn unix_timestamp(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let micros = if args.is_empty() {
        call.ctx.now_us
    } else {
        let rules = DateRules::of_fields(&call.ctx.sql_mode);
        let at = datetime_at(call, args, 0, rules)?;
        at.map_or(0, |at| micros_of(call, &at))
    };
    if call.ty.kind == TypeKind::Decimal {
        let exact = Decimal::from_i128(i128::from(micros), 6);
        return Ok(Value::Decimal(exact.truncate(i32::from(call.ty.decimals))));
    }
    Ok(Value::Int(micros / 1_000_000))
}

/// The instant of a local time; 0 if there is none or it is out of range.
fn micros_of(call: &Call<'_>, at: &DateTime) -> i64 {
    if at.has_zero_in_date() {
        return 0;
    }
    let us = call.ctx.time_zone.to_unix_us(at).unwrap_or(0);
    if us >= 0 && us / 1_000_000 <= MAX_SECONDS {
        us
    } else {
        0
    }
}

fn resolve_convert(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(1);
    binding.text(2);
    Ok(SqlType::datetime(fraction_digits(binding, 0)))
}

/// Times out of the range of Unix time are returned unchanged.
fn convert_tz(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let zone = |i: usize| {
        let name = args.get(i).and_then(|d| std::str::from_utf8(d.bytes()).ok());
        name.and_then(TimeZone::parse)
    };
    let (Some(from), Some(to)) = (zone(1), zone(2)) else {
        return Ok(Value::Null);
    };
    let Some(at) = datetime_at(call, args, 0, DateRules::CALENDAR)? else {
        return Ok(Value::Null);
    };
    let rounded = crate::temporal::fit(&at, call.ty.decimals, call.ctx).unwrap_or(at);
    // A day after the end of its month becomes a day of the next month.
    let rounded = DateTime::from_epoch_us(rounded.to_epoch_us()).unwrap_or(rounded);
    let Some(us) = from
        .to_unix_us(&rounded)
        .filter(|us| *us >= 0 && us / 1_000_000 <= MAX_SECONDS)
    else {
        return Ok(Value::UInt(rounded.pack()));
    };
    Ok(Value::UInt(to.from_unix_us(us).pack()))
}

/// `timestamp AT TIME ZONE 'zone'` of a CAST: a TIMESTAMP, or a literal, and the zone as a keyword. MySQL has
/// it for UTC only.
fn resolve_at_time_zone(binding: &mut Binding<'_>) -> Result<SqlType> {
    let zone = binding.keyword(1)?;
    if !matches!(zone, "+00:00" | "-00:00") && !zone.eq_ignore_ascii_case("utc") {
        return Err(Error::new(
            errno::ER_UNKNOWN_TIME_ZONE,
            format!("Unknown or incorrect time zone: '{zone}'"),
        ));
    }
    let ty = binding.ty(0);
    let is_literal = matches!(binding.args.first(), Some(Expr::Literal { .. }));
    match ty.kind {
        TypeKind::Timestamp | TypeKind::Null => {}
        TypeKind::DateTime if is_literal => {}
        _ => {
            return Err(Error::new(
                errno::ER_INVALID_CAST_TO_TIMESTAMP,
                "Cannot cast value to TIMESTAMP WITH TIME ZONE.",
            ));
        }
    }
    binding.args.truncate(1);
    Ok(SqlType::datetime(0))
}

fn at_time_zone(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let at = datetime_at(call, args, 0, DateRules::of_fields(&call.ctx.sql_mode))?;
    // MySQL drops the fraction, even for a DATETIME with fractional digits.
    let seconds = |at| micros_of(call, &at).div_euclid(1_000_000);
    let at = at.map(|at| TimeZone::UTC.from_unix_us(seconds(at) * 1_000_000));
    Ok(at.map_or(Value::Null, |at| Value::UInt(at.pack())))
}
