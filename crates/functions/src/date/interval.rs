//! Intervals that are added to and subtracted from dates: DATE_ADD, DATE_SUB, ADDDATE, SUBDATE, TIMESTAMPADD.
//!
//! Source: manual 9.5.3 "Expressions", "Temporal Intervals".

use types::temporal::{DateTime, MICROS_PER_DAY, Time};
use types::{Decimal, Error, Result, SqlType, TypeKind, Value};

use super::{datetime_at, datetime_text};
use crate::Expr;
use crate::datum::Datum;
use crate::datum::to_decimal;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::json::convert;
use crate::registry::{Family, function};
use crate::temporal::{self, DateRules, parse};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("date_add", 3, 3, resolve, |c, a| add(c, a, 1))
        .takes_json()
        .nullability(Nullability::Always),
    function("date_sub", 3, 3, resolve, |c, a| add(c, a, -1))
        .takes_json()
        .nullability(Nullability::Always),
    function("adddate", 2, 3, resolve_days, |c, a| add(c, a, 1))
        .takes_json()
        .nullability(Nullability::Always),
    function("subdate", 2, 3, resolve_days, |c, a| add(c, a, -1))
        .takes_json()
        .nullability(Nullability::Always),
    function("timestampadd", 3, 3, resolve_timestampadd, |c, a| add(c, a, 1))
        .takes_json()
        .nullability(Nullability::Always),
];

/// The unit of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Microsecond,
    YearMonth,
    DayHour,
    DayMinute,
    DaySecond,
    HourMinute,
    HourSecond,
    MinuteSecond,
    DayMicrosecond,
    HourMicrosecond,
    MinuteMicrosecond,
    SecondMicrosecond,
}

impl Unit {
    /// The unit with a name, in any letter case. `SQL_TSI_DAY` is `DAY`.
    pub fn parse(name: &str) -> Result<Self> {
        let lower = name.to_ascii_lowercase();
        Ok(match lower.strip_prefix("sql_tsi_").unwrap_or(&lower) {
            "year" => Self::Year,
            "quarter" => Self::Quarter,
            "month" => Self::Month,
            "week" => Self::Week,
            "day" => Self::Day,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            "microsecond" => Self::Microsecond,
            "year_month" => Self::YearMonth,
            "day_hour" => Self::DayHour,
            "day_minute" => Self::DayMinute,
            "day_second" => Self::DaySecond,
            "hour_minute" => Self::HourMinute,
            "hour_second" => Self::HourSecond,
            "minute_second" => Self::MinuteSecond,
            "day_microsecond" => Self::DayMicrosecond,
            "hour_microsecond" => Self::HourMicrosecond,
            "minute_microsecond" => Self::MinuteMicrosecond,
            "second_microsecond" => Self::SecondMicrosecond,
            _ => {
                return Err(Error::not_supported(
                    format!("the interval unit {name}"),
                    "use MICROSECOND to YEAR",
                ));
            }
        })
    }

    /// Whether it is a whole number of days, months or years.
    pub fn is_of_date(self) -> bool {
        matches!(
            self,
            Self::Year | Self::Quarter | Self::Month | Self::Week | Self::Day | Self::YearMonth
        )
    }

    /// Whether a TIME becomes a point in time if the interval is added to it. MySQL leaves out one of the
    /// compound units.
    fn begins_with_days(self) -> bool {
        self.is_of_date() || matches!(self, Self::DayHour | Self::DayMinute | Self::DaySecond)
    }

    fn has_microseconds(self) -> bool {
        matches!(
            self,
            Self::Microsecond
                | Self::DayMicrosecond
                | Self::HourMicrosecond
                | Self::MinuteMicrosecond
                | Self::SecondMicrosecond
        )
    }

    /// The fields of a compound unit, largest first, as months or microseconds.
    fn fields(self) -> &'static [i64] {
        const SECOND: i64 = 1_000_000;
        const MINUTE: i64 = 60 * SECOND;
        const HOUR: i64 = 60 * MINUTE;
        const DAY: i64 = 24 * HOUR;
        match self {
            Self::YearMonth => &[12, 1],
            Self::DayHour => &[DAY, HOUR],
            Self::DayMinute => &[DAY, HOUR, MINUTE],
            Self::DaySecond => &[DAY, HOUR, MINUTE, SECOND],
            Self::HourMinute => &[HOUR, MINUTE],
            Self::HourSecond => &[HOUR, MINUTE, SECOND],
            Self::MinuteSecond => &[MINUTE, SECOND],
            Self::DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, 1],
            Self::HourMicrosecond => &[HOUR, MINUTE, SECOND, 1],
            Self::MinuteMicrosecond => &[MINUTE, SECOND, 1],
            Self::SecondMicrosecond => &[SECOND, 1],
            Self::Year => &[12],
            Self::Quarter => &[3],
            Self::Month => &[1],
            Self::Week => &[7 * DAY],
            Self::Day => &[DAY],
            Self::Hour => &[HOUR],
            Self::Minute => &[MINUTE],
            Self::Second => &[SECOND],
            Self::Microsecond => &[1],
        }
    }

    fn counts_months(self) -> bool {
        matches!(self, Self::Year | Self::Quarter | Self::Month | Self::YearMonth)
    }
}

/// An amount of time: months, or microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Span {
    Months(i128),
    Micros(i128),
}

/// Converts the interval's amount to the type that its unit needs, and types the result.
fn bind_interval(binding: &mut Binding<'_>, date: usize, amount: usize, unit: usize) -> Result<SqlType> {
    let unit = Unit::parse(binding.keyword(unit)?)?;
    let mut fsp = if unit.has_microseconds() { 6 } else { 0 };
    if unit.fields().len() > 1 {
        binding.text(amount);
    } else if unit == Unit::Second {
        let ty = binding.ty(amount);
        fsp = match ty.kind {
            TypeKind::Decimal => ty.decimals.min(6),
            _ if ty.is_integer() || ty.kind == TypeKind::Null => 0,
            _ => 6,
        };
        if !ty.is_integer() && !ty.is_decimal() && ty.kind != TypeKind::Null {
            // All digits, because those behind microseconds are cut off.
            binding.cast(amount, SqlType::decimal(65, 30));
        }
    } else {
        binding.integer(amount);
    }
    let ty = binding.ty(date);
    Ok(match ty.kind {
        TypeKind::Date if unit.is_of_date() => SqlType::DATE,
        TypeKind::Date => SqlType::datetime(fsp),
        TypeKind::DateTime | TypeKind::Timestamp => SqlType::datetime(ty.decimals.max(fsp)),
        TypeKind::Time if !unit.begins_with_days() => SqlType::time(ty.decimals.max(fsp)),
        TypeKind::Time => SqlType::datetime(ty.decimals.max(fsp)),
        _ => super::text_type(binding.env.collation),
    })
}

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    bind_interval(binding, 0, 1, 2)
}

/// `ADDDATE(date, days)`, or with an interval.
fn resolve_days(binding: &mut Binding<'_>) -> Result<SqlType> {
    if binding.args.len() == 2 {
        let unit = Value::from("day");
        let ty = SqlType::varchar(3, binding.env.collation);
        binding.args.push(Expr::Literal { value: unit, ty });
    }
    bind_interval(binding, 0, 1, 2)
}

/// `timestampadd('unit', amount, date)` becomes `timestampadd(date, amount, 'unit')`.
fn resolve_timestampadd(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.args.swap(0, 2);
    bind_interval(binding, 0, 1, 2)
}

fn add(call: &Call<'_>, args: &[Datum<'_>], sign: i128) -> Result<Value> {
    let [date, amount, Datum::String(unit)] = args else {
        return Ok(Value::Null);
    };
    let unit = Unit::parse(unit)?;
    let Some(span) = span(amount, unit, sign) else {
        return match unit.fields().len() {
            1 => overflow(call),
            _ => misread(call),
        };
    };
    if call.ty.kind == TypeKind::Time {
        return add_to_time(call, date, span);
    }
    let Some(at) = datetime_at(call, args, 0, DateRules::CALENDAR)? else {
        return Ok(Value::Null);
    };
    let Some(moved) = shift(&at, span) else {
        return overflow(call);
    };
    Ok(match call.ty.kind {
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => Value::UInt(moved.pack()),
        _ => datetime_text(&moved, unit.is_of_date() && spells_date_only(date)),
    })
}

/// Whether a text or number is a date without a time.
fn spells_date_only(datum: &Datum<'_>) -> bool {
    match datum {
        Datum::String(_) | Datum::Bytes(_) => {
            parse::datetime(datum.bytes(), DateRules::IMPOSSIBLE).is_some_and(|p| !p.has_time)
        }
        Datum::Json(json) => {
            convert::datetime(*json, DateRules::IMPOSSIBLE).is_some_and(|parsed| !parsed.has_time)
        }
        number => temporal::split_number(number).is_some_and(|(whole, _)| temporal::is_date_number(whole)),
    }
}

fn overflow(call: &Call<'_>) -> Result<Value> {
    temporal::overflow(call.ctx)?;
    Ok(Value::Null)
}

/// An amount of several fields that cannot be read. MySQL does not warn of one that is added to a TIME.
fn misread(call: &Call<'_>) -> Result<Value> {
    if call.ty.kind != TypeKind::Time {
        temporal::overflow_of("date_add_interval", call.ctx)?;
    }
    Ok(Value::Null)
}

fn overflow_of_time(call: &Call<'_>) -> Result<Value> {
    temporal::overflow_of("time", call.ctx)?;
    Ok(Value::Null)
}

fn add_to_time(call: &Call<'_>, time: &Datum<'_>, span: Span) -> Result<Value> {
    let (Datum::Int(us), Span::Micros(by)) = (time, span) else {
        return overflow_of_time(call);
    };
    let moved = i64::try_from(i128::from(*us) + by).map(Time);
    match moved {
        Ok(moved) if moved.is_valid() => Ok(Value::Int(moved.0)),
        _ => overflow_of_time(call),
    }
}

/// A point in time, moved by a span; `None` if it is out of range.
fn shift(at: &DateTime, span: Span) -> Option<DateTime> {
    match span {
        Span::Months(months) => at.add_months(i64::try_from(months).ok()?),
        Span::Micros(us) => {
            let day = i128::from(MICROS_PER_DAY);
            let in_day = i128::from(at.time_of_day_us()) + us.rem_euclid(day);
            let days = us.div_euclid(day) + in_day.div_euclid(day);
            let number = at.day_number().checked_add(i64::try_from(days).ok()?)?;
            let time = i64::try_from(in_day.rem_euclid(day)).ok()?;
            match number {
                // Day numbers of the year 0 give the zero date.
                0..=365 => DateTime::from_day_number(366, time).map(|d| DateTime {
                    year: 0,
                    month: 0,
                    day: 0,
                    ..d
                }),
                number => DateTime::from_day_number(number, time),
            }
        }
    }
}

/// The span of an amount; `None` if it is beyond all dates.
fn span(amount: &Datum<'_>, unit: Unit, sign: i128) -> Option<Span> {
    let fields = unit.fields();
    let total = match (fields, amount) {
        ([worth], Datum::Int(v)) => i128::from(*v).checked_mul(i128::from(*worth))?,
        // A number without a sign is read as if it had one.
        ([worth], Datum::UInt(v)) => i128::from(v.cast_signed()).checked_mul(i128::from(*worth))?,
        ([worth], exact) => {
            let micros = to_decimal(exact).mul(&Decimal::from_i64(*worth))?;
            micros.truncate(0).to_i128()?
        }
        (fields, text) => compound(text.bytes(), fields, unit.has_microseconds())?,
    };
    let total = total * sign;
    Some(if unit.counts_months() {
        Span::Months(total)
    } else {
        Span::Micros(total)
    })
}

/// Reads numbers with any separators. If there are fewer numbers than fields, they are the last fields; `None` if
/// there are more. A leading minus applies to all.
fn compound(text: &[u8], fields: &[i64], fraction_last: bool) -> Option<i128> {
    let text = text.trim_ascii_start();
    let (negative, mut rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut numbers: Vec<i128> = Vec::with_capacity(fields.len());
    while numbers.len() < fields.len() {
        let skip = rest.iter().take_while(|b| !b.is_ascii_digit()).count();
        rest = rest.get(skip..)?;
        let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if len == 0 {
            break;
        }
        let digits = std::str::from_utf8(rest.get(..len)?).ok()?;
        let mut number: i128 = digits.parse().ok()?;
        // The last of all fields is a fraction: `.5` is 500,000 microseconds.
        if fraction_last && numbers.len() + 1 == fields.len() && len < 6 {
            number *= 10i128.pow(6 - len as u32);
        }
        numbers.push(number);
        rest = rest.get(len..)?;
    }
    if rest.iter().any(u8::is_ascii_digit) {
        return None;
    }
    // A fraction is one also if there are fewer fields.
    if fraction_last && numbers.len() < fields.len() && !numbers.is_empty() {
        let last_len = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        if let Some(last) = numbers.last_mut()
            && (1..6).contains(&last_len)
        {
            *last *= 10i128.pow(6 - last_len as u32);
        }
    }
    let used = fields.get(fields.len() - numbers.len()..)?;
    let total = used.iter().zip(&numbers).try_fold(0i128, |sum, (worth, n)| {
        sum.checked_add(n.checked_mul(i128::from(*worth))?)
    })?;
    Some(if negative { -total } else { total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compound_amounts() {
        let us = |text: &str, unit: Unit| {
            compound(text.as_bytes(), unit.fields(), unit.has_microseconds()).unwrap()
        };
        assert_eq!(us("1 1:1:1", Unit::DaySecond), 90_061_000_000);
        assert_eq!(us("1:1", Unit::MinuteSecond), 61_000_000);
        assert_eq!(us("10", Unit::DayHour), 36_000_000_000);
        assert_eq!(us("-1 10", Unit::DayHour), -122_400_000_000);
        assert_eq!(us("1.999999", Unit::SecondMicrosecond), 1_999_999);
        assert_eq!(us("1:2:3.5", Unit::HourMicrosecond), 3_723_500_000);
        assert_eq!(us("6/4", Unit::HourMinute), 21_840_000_000);
        assert_eq!(us("1-2", Unit::YearMonth), 14);
        assert_eq!(us("", Unit::DaySecond), 0);
        assert_eq!(us("1:2 x", Unit::DayHour), 93_600_000_000);
        assert_eq!(compound(b"1:2:3", Unit::DayHour.fields(), false), None);
    }

    #[test]
    fn shifts() {
        let at = DateTime::from_date(2024, 1, 31);
        let text = |span| shift(&at, span).map_or("none".to_owned(), |d| d.datetime_text(6));
        assert_eq!(text(Span::Months(1)), "2024-02-29 00:00:00.000000");
        assert_eq!(text(Span::Micros(-1)), "2024-01-30 23:59:59.999999");
        assert_eq!(text(Span::Micros(i128::from(MICROS_PER_DAY) * 5_000_000)), "none");
        assert_eq!(text(Span::Months(12 * 9000)), "none");
    }
}
