//! Date and time functions.
//!
//! - [`now`]: the current time.
//! - [`fields`]: parts of dates and times: YEAR, EXTRACT, WEEK, DAYNAME.
//! - [`interval`]: DATE_ADD and similar functions; [`difference`]: DATEDIFF, TIMEDIFF, ADDTIME, day numbers.
//! - [`make`]: DATE, TIMESTAMP, MAKEDATE, SEC_TO_TIME, LAST_DAY; [`unix`]: Unix time and time zones.
//! - [`mod@format`], [`parse_format`]: DATE_FORMAT and STR_TO_DATE; [`locale`]: names of months and days.
//!
//! Arguments of any type are read by [`crate::temporal`]. Source: manual 12.7 "Date and Time Functions".

pub(crate) mod difference;
pub(crate) mod fields;
pub(crate) mod format;
pub(crate) mod interval;
pub(crate) mod locale;
pub(crate) mod make;
pub(crate) mod now;
pub(crate) mod parse_format;
pub(crate) mod unix;
pub(crate) mod week;

use types::temporal::{DateTime, Time};
use types::{Collation, Result, SqlType, TypeKind, Value, errno};

use crate::Expr;
use crate::bind::arguments::hex_as_number;
use crate::cast::conversion::Conversion;
use crate::datum::Datum;
use crate::expr::{Binding, Call};
use crate::json::convert;
use crate::temporal::{self, DateRules, parse};

/// The English names, which STR_TO_DATE() reads.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Monday first.
pub(crate) const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// The type of a date or time that is returned as text because the argument was text: a CHAR.
pub(crate) fn text_type(collation: Collation) -> SqlType {
    SqlType {
        kind: TypeKind::Char,
        ..SqlType::varchar(29, collation)
    }
}

/// Argument `index` as a point in time that `rules` accept.
pub(crate) fn datetime_at(
    call: &Call<'_>,
    args: &[Datum<'_>],
    index: usize,
    rules: DateRules,
) -> Result<Option<DateTime>> {
    let datum = args.get(index).copied().unwrap_or(Datum::Null);
    if let Datum::Json(json) = datum {
        return match convert::datetime(json, rules.under(&call.ctx.sql_mode)) {
            Some(parsed) => Ok(temporal::complete(&parsed, call.ctx)),
            None => no_moment(call, index),
        };
    }
    temporal::to_datetime(datum, &call.arg_type(index), call.ctx, rules)
}

/// JSON that is no date and no time: NULL, and a warning.
fn no_moment<T>(call: &Call<'_>, index: usize) -> Result<Option<T>> {
    if let Some(input) = call.args.get(index) {
        let conversion = Conversion {
            from: input.ty(),
            to: SqlType::datetime(6),
            implicit: true,
            ctx: call.ctx,
            input,
        };
        conversion.invalid_json(convert::MOMENT)?;
    }
    Ok(None)
}

/// Argument `index` as a TIME in microseconds.
pub(crate) fn time_at(call: &Call<'_>, args: &[Datum<'_>], index: usize) -> Result<Option<i64>> {
    let datum = args.get(index).copied().unwrap_or(Datum::Null);
    if let Datum::Json(json) = datum {
        return match convert::time(json) {
            Some(parsed) => Ok(Some(Time(parsed.rounded(call.ctx)).clamped().0)),
            None => no_moment(call, index),
        };
    }
    temporal::to_time(datum, &call.arg_type(index), call.ctx)
}

/// A TIME or a point in time, for functions that take both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Moment {
    Time(i64),
    DateTime(DateTime),
}

/// Argument `index` as a TIME or a point in time.
pub(crate) fn moment_at(call: &Call<'_>, args: &[Datum<'_>], index: usize) -> Result<Option<Moment>> {
    let datum = args.get(index).copied().unwrap_or(Datum::Null);
    let ty = call.arg_type(index);
    if let Datum::UInt(packed) = datum
        && ty.is_datetime()
    {
        return Ok(Some(Moment::DateTime(DateTime::unpack(packed))));
    }
    let parsed = match datum {
        Datum::String(_) | Datum::Bytes(_) => parse::time(datum.bytes()).ok(),
        Datum::Json(json) => convert::time(json),
        _ => None,
    };
    if let Some(parsed) = parsed
        && let Some(date) = parsed.moment(call.ctx)
    {
        let date = if parsed.rounding != 0 && !call.ctx.sql_mode.time_truncate_fractional {
            date.add_us(1).unwrap_or(date)
        } else {
            date
        };
        return Ok(Some(Moment::DateTime(date)));
    }
    if let Some((whole, nano)) = temporal::split_moment(&datum, call.ctx).filter(|_| ty.is_numeric())
        && temporal::has_date(whole)
        && let Some(at) = temporal::number_to_datetime(whole, nano, DateRules::CALENDAR)
    {
        return Ok(Some(Moment::DateTime(at)));
    }
    Ok(time_at(call, args, index)?.map(Moment::Time))
}

/// Argument `index` as a date or a point in time, and whether it is a date alone.
pub(crate) fn dated_at(
    call: &Call<'_>,
    args: &[Datum<'_>],
    index: usize,
) -> Result<Option<(DateTime, bool)>> {
    let ty = call.arg_type(index);
    let rules = DateRules::of_fields(&call.ctx.sql_mode);
    let Some(at) = datetime_at(call, args, index, rules)? else {
        return Ok(None);
    };
    let datum = args.get(index).copied().unwrap_or(Datum::Null);
    let is_date = match datum {
        _ if ty.is_datetime() => ty.kind == TypeKind::Date,
        Datum::String(_) | Datum::Bytes(_) => {
            parse::datetime(datum.bytes(), DateRules::IMPOSSIBLE).is_some_and(|parsed| !parsed.has_time)
        }
        Datum::Json(json) => {
            convert::datetime(json, DateRules::IMPOSSIBLE).is_some_and(|parsed| !parsed.has_time)
        }
        // A number with fewer digits than a point in time has.
        number => temporal::split_number(&number).is_some_and(|(n, _)| n != 0 && n < 10_000_101_000_000),
    };
    Ok(Some((at, is_date)))
}

/// Whether an expression with a date remains a date when it is read as a TIME. Of most functions' results
/// MySQL reads the time of day, but not of columns and of functions that return an argument.
pub(crate) fn stays_dated(expr: Option<&Expr>) -> bool {
    match expr {
        Some(Expr::Call { function, .. }) => {
            let name = function.0.name;
            function.0.chooses()
                || matches!(
                    name,
                    "coalesce"
                        | "greatest"
                        | "least"
                        | "date_add"
                        | "date_sub"
                        | "adddate"
                        | "subdate"
                        | "timestampadd"
                        | "addtime"
                        | "subtime"
                        | "str_to_date"
                )
        }
        Some(Expr::Cast {
            input,
            implicit: true,
            ..
        }) => stays_dated(Some(input)),
        Some(Expr::Cast { .. } | Expr::Literal { .. }) => false,
        _ => true,
    }
}

/// Converts an argument to an exact number of seconds. Returns the number of its fractional digits.
pub(crate) fn exact_seconds(binding: &mut Binding<'_>, index: usize) -> u8 {
    if let Some(arg) = binding.args.get_mut(index) {
        let expr = std::mem::replace(arg, Expr::null());
        *arg = hex_as_number(expr, &SqlType::BIGINT_UNSIGNED);
    }
    let ty = binding.ty(index);
    let fsp = match ty.kind {
        TypeKind::Decimal => ty.decimals.min(6),
        _ if ty.is_temporal() => ty.decimals,
        _ if ty.is_integer() || ty.kind == TypeKind::Null => 0,
        _ => 6,
    };
    if ty.is_temporal() {
        binding.cast(index, SqlType::decimal(65, fsp));
    } else if !ty.is_numeric() || ty.is_float() {
        binding.cast(index, SqlType::decimal(65, 6));
    }
    fsp
}

/// How many fractional digits an argument has as a TIME or a point in time.
pub(crate) fn fraction_digits(binding: &Binding<'_>, index: usize) -> u8 {
    let ty = binding.ty(index);
    if ty.is_temporal() || ty.is_decimal() {
        return ty.decimals.min(6);
    }
    if ty.is_integer() || ty.kind == TypeKind::Null {
        return 0;
    }
    match binding.args.get(index) {
        Some(Expr::Literal {
            value: Value::String(text),
            ..
        }) => {
            let at =
                parse::datetime(text.as_bytes(), DateRules::ANY).filter(|p| p.has_time || p.value.year > 0);
            let time = parse::time(text.as_bytes()).ok();
            match (at, time) {
                (_, Some(time)) if time.date.is_some() || !time.truncated => time.fraction_digits,
                (Some(at), _) => at.fraction_digits,
                (None, Some(time)) => time.fraction_digits,
                (None, None) => 6,
            }
        }
        // A hexadecimal or bit literal.
        Some(Expr::Literal {
            value: Value::Bytes(_),
            ty,
        }) if ty.unsigned => 0,
        _ => 6,
    }
}

/// Limits a TIME to its range, with warning 1292 if it was out of range.
pub(crate) fn time_value(call: &Call<'_>, us: i128) -> Result<Value> {
    let max = i128::from(Time::MAX.0);
    if (-max..=max).contains(&us) {
        return Ok(Value::Int(us as i64));
    }
    let seconds = us.unsigned_abs() / 1_000_000;
    let fraction = us.unsigned_abs() % 1_000_000;
    let mut shown = format!(
        "{}{:02}:{:02}:{:02}",
        if us < 0 { "-" } else { "" },
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    let digits = usize::from(call.ty.decimals.min(6));
    if call.ty.kind == TypeKind::Time && digits > 0 {
        let all = format!("{fraction:06}");
        shown.push('.');
        shown.push_str(all.get(..digits).unwrap_or_default());
    }
    call.ctx.conversion_lost(
        errno::ER_TRUNCATED_WRONG_VALUE,
        format!("Truncated incorrect time value: '{shown}'"),
    )?;
    Ok(Value::Int(if us < 0 { Time::MIN.0 } else { Time::MAX.0 }))
}

/// A point in time as functions that return text show it: with a fraction only if there is one.
pub(crate) fn datetime_text(at: &DateTime, date_only: bool) -> Value {
    Value::String(if date_only {
        at.date_text()
    } else {
        at.datetime_text(if at.microsecond > 0 { 6 } else { 0 })
    })
}

/// A small integer's type.
pub(crate) fn integer(length: u32) -> SqlType {
    SqlType {
        length,
        ..SqlType::BIGINT
    }
}
