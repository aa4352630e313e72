//! DATE_FORMAT, TIME_FORMAT, GET_FORMAT.

use types::temporal::{DateTime, Time};
use types::{Result, SqlType, Value};

use super::locale::Locale;
use super::week::WeekRule;
use super::{datetime_at, time_at};
use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};
use crate::temporal::DateRules;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("date_format", 2, 2, resolve, date_format)
        .takes_json()
        .nullability(Nullability::Always),
    function("time_format", 2, 2, resolve, time_format)
        .takes_json()
        .nullability(Nullability::Always),
    function("get_format", 2, 2, resolve_get, get_format).nullability(Nullability::Always),
];

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(1);
    format_type(binding, 1)
}

/// The type of a text made by the format in argument `index`.
pub(super) fn format_type(binding: &Binding<'_>, index: usize) -> Result<SqlType> {
    /// The length that MySQL assumes for each unknown character of a format.
    const GROWTH: u32 = 10;
    let length = match binding.args.get(index) {
        Some(Expr::Literal {
            value: Value::String(format),
            ..
        }) => written_length(format),
        _ => binding.total_length(index..index + 1).saturating_mul(GROWTH),
    };
    Ok(binding.text_result(length, binding.env.collation))
}

/// The longest text of a format, as MySQL counts it.
fn written_length(format: &str) -> u32 {
    let mut length = 0;
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        length += match (c, if c == '%' { chars.next() } else { None }) {
            ('%', Some('M' | 'W')) => 64,
            ('%', Some('a' | 'b')) => 32,
            ('%', Some('D' | 'Y' | 'x' | 'X')) => 4,
            ('%', Some('j')) => 3,
            ('%', Some('k' | 'H')) => 7,
            ('%', Some('r')) => 11,
            ('%', Some('T')) => 8,
            ('%', Some('f')) => 6,
            (
                '%',
                Some(
                    'u' | 'U' | 'v' | 'V' | 'y' | 'm' | 'd' | 'h' | 'i' | 'I' | 'l' | 'p' | 's' | 'S' | 'c'
                    | 'e',
                ),
            ) => 2,
            _ => 1,
        };
    }
    length
}

fn date_format(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let rules = DateRules::of_fields(&call.ctx.sql_mode);
    let Some(at) = datetime_at(call, args, 0, rules)? else {
        return Ok(Value::Null);
    };
    let format = args.get(1).map_or(&b""[..], |d| d.bytes());
    Ok(format_datetime(&at, format, call.ctx.locale).map_or(Value::Null, Value::String))
}

/// Formats a point in time. `None` for an empty format, and for names that the date does not have.
pub(super) fn format_datetime(at: &DateTime, format: &[u8], locale: &Locale) -> Option<String> {
    let time = Time(at.time_of_day_us());
    write(Some(at), &time, format, locale)
}

fn time_format(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(us) = time_at(call, args, 0)? else {
        return Ok(Value::Null);
    };
    let format = args.get(1).map_or(&b""[..], |d| d.bytes());
    Ok(write(None, &Time(us), format, call.ctx.locale).map_or(Value::Null, Value::String))
}

/// Writes a point in time, or a TIME if there is no date.
fn write(date: Option<&DateTime>, time: &Time, format: &[u8], locale: &Locale) -> Option<String> {
    let format = std::str::from_utf8(format).ok().filter(|f| !f.is_empty())?;
    let mut out = String::with_capacity(format.len() * 2);
    if time.is_negative() {
        out.push('-');
    }
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            None => out.push('%'),
            Some(specifier) => write_part(specifier, (date, time), locale, &mut out)?,
        }
    }
    Some(out)
}

fn write_part(
    specifier: char,
    (date, time): (Option<&DateTime>, &Time),
    locale: &Locale,
    out: &mut String,
) -> Option<()> {
    let zero = DateTime::ZERO;
    let day = date.unwrap_or(&zero);
    // Names and week numbers need a real date.
    let named = || date.filter(|d| d.month > 0 || d.year > 0);
    let hour = time.hours();
    let hour12 = (hour % 24 + 11) % 12 + 1;
    let half = if hour % 24 < 12 { "AM" } else { "PM" };
    let (minute, second) = (time.minutes(), time.seconds());
    let text = match specifier {
        'M' | 'b' => locale.month(day.month, specifier == 'b')?.to_owned(),
        'W' | 'a' => locale.day(named()?.weekday(), specifier == 'a')?.to_owned(),
        'D' => format!("{}{}", day.day, ordinal(day.day)),
        'Y' => format!("{:04}", day.year),
        'y' => format!("{:02}", day.year % 100),
        'm' => format!("{:02}", day.month),
        'c' => day.month.to_string(),
        'd' => format!("{:02}", day.day),
        'e' => day.day.to_string(),
        'f' => format!("{:06}", time.microseconds()),
        'H' => format!("{hour:02}"),
        'k' => hour.to_string(),
        'h' | 'I' => format!("{hour12:02}"),
        'l' => hour12.to_string(),
        'i' => format!("{minute:02}"),
        's' | 'S' => format!("{second:02}"),
        'p' => half.to_owned(),
        'r' => format!("{hour12:02}:{minute:02}:{second:02} {half}"),
        'T' => format!("{hour:02}:{minute:02}:{second:02}"),
        'j' => format!("{:03}", date?.day_of_year()),
        'w' => ((named()?.weekday() + 1) % 7).to_string(),
        'U' => format!("{:02}", WeekRule::SUNDAY.week(date?).0),
        'u' => format!("{:02}", WeekRule::MONDAY.week(date?).0),
        'V' => format!("{:02}", WeekRule::SUNDAY_OF_YEAR.week(date?).0),
        'v' => format!("{:02}", WeekRule::MONDAY_OF_YEAR.week(date?).0),
        'X' => format!("{:04}", WeekRule::SUNDAY_OF_YEAR.week(date?).1),
        'x' => format!("{:04}", WeekRule::MONDAY_OF_YEAR.week(date?).1),
        other => other.to_string(),
    };
    out.push_str(&text);
    Some(())
}

fn ordinal(day: u8) -> &'static str {
    match (day, day % 10) {
        (10..=19, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

fn resolve_get(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(1);
    Ok(SqlType::varchar(17, binding.env.collation))
}

/// `get_format('date', 'usa')`.
fn get_format(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let word = |i: usize| {
        args.get(i).map_or(String::new(), |d| {
            String::from_utf8_lossy(d.bytes()).to_ascii_lowercase()
        })
    };
    let format = match (word(0).as_str(), word(1).as_str()) {
        ("date", "usa") => "%m.%d.%Y",
        ("date", "jis" | "iso") => "%Y-%m-%d",
        ("date", "eur") => "%d.%m.%Y",
        ("date", "internal") => "%Y%m%d",
        ("time", "usa") => "%h:%i:%s %p",
        ("time", "jis" | "iso") => "%H:%i:%s",
        ("time", "eur") => "%H.%i.%s",
        ("time", "internal") => "%H%i%s",
        ("datetime" | "timestamp", "usa" | "eur") => "%Y-%m-%d %H.%i.%s",
        ("datetime" | "timestamp", "jis" | "iso") => "%Y-%m-%d %H:%i:%s",
        ("datetime" | "timestamp", "internal") => "%Y%m%d%H%i%s",
        _ => return Ok(Value::Null),
    };
    Ok(Value::from(format))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 formats them.
    #[test]
    fn dates() {
        let at = DateTime::new(2024, 1, 2, 3, 4, 5, 678_901);
        let all = b"%a %b %c %D %d %e %f %H %h %I %i %j %k %l %M %m %p %r %S %s %T %U %u %V %v %W %w %X %x %Y %y %% %z %";
        assert_eq!(
            format_datetime(&at, all, Locale::en_us()).unwrap(),
            "Tue Jan 1 2nd 02 2 678901 03 03 03 04 002 3 3 January 01 AM 03:04:05 AM 05 05 03:04:05 00 01 53 01 \
             Tuesday 2 2023 2024 2024 24 % z %"
        );
        assert_eq!(format_datetime(&at, b"", Locale::en_us()), None);
        assert_eq!(
            format_datetime(&DateTime::from_date(2024, 0, 0), b"%M", Locale::en_us()),
            None
        );
        let noon = DateTime::new(2024, 1, 2, 12, 0, 0, 0);
        assert_eq!(
            format_datetime(&noon, b"%h %p %l %I %r", Locale::en_us()).unwrap(),
            "12 PM 12 12 12:00:00 PM"
        );
    }

    #[test]
    fn times() {
        let time = Time::new(false, 100, 10, 11, 0).unwrap();
        let text = write(
            None,
            &time,
            b"%H %k %h %i %s %f %p %r %T %Y %l %I",
            Locale::en_us(),
        )
        .unwrap();
        assert_eq!(text, "100 100 04 10 11 000000 AM 04:10:11 AM 100:10:11 0000 4 04");
        let negative = Time::new(true, 10, 11, 12, 0).unwrap();
        assert_eq!(
            write(None, &negative, b"%H:%i", Locale::en_us()).unwrap(),
            "-10:11"
        );
    }
}
