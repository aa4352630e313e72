//! STR_TO_DATE: reads a date in a format of DATE_FORMAT.

use types::temporal::{DateTime, calendar};
use types::{Result, SqlType, TypeKind, Value, errno};

use super::{DAYS, MONTHS};
use crate::Expr;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] =
    &[function("str_to_date", 2, 2, resolve, str_to_date).nullability(Nullability::Always)];

/// The type that a constant format determines.
fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.text(1);
    let Some(Expr::Literal {
        value: Value::String(format),
        ..
    }) = binding.args.get(1)
    else {
        return Ok(SqlType::datetime(6));
    };
    let mut specifiers = Vec::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c == '%' {
            specifiers.extend(chars.next());
        }
    }
    let any = |set: &str| specifiers.iter().any(|s| set.contains(*s));
    let (date, time, fraction) = (any("MVUXYWabcjmvuxyw"), any("HISThiklrs"), any("f"));
    let fsp = if fraction { 6 } else { 0 };
    Ok(match (date, time || fraction) {
        (true, true) => SqlType::datetime(fsp),
        (false, true) => SqlType::time(fsp),
        _ => SqlType::DATE,
    })
}

fn str_to_date(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, format] = args else {
        return Ok(Value::Null);
    };
    let (text, format) = (text.bytes(), format.bytes());
    let kind = match call.ty.kind {
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        _ => "datetime",
    };
    let shown = || String::from_utf8_lossy(text).into_owned();
    // NO_ZERO_DATE alone decides, also about single zeros.
    let accepted = |fields: &DateTime| {
        let has_zero = fields.year == 0 || fields.month == 0 || fields.day == 0;
        call.ty.kind == TypeKind::Time || !(call.ctx.sql_mode.no_zero_date && has_zero)
    };
    let mut reader = Reader::new(text);
    let found = reader
        .read(format)
        .and_then(|()| reader.finish())
        .filter(accepted);
    let Some(fields) = found else {
        let (kind, at) = match reader.wrong_time {
            Some(at) => ("time", at),
            None => ("datetime", 0),
        };
        let wrong = String::from_utf8_lossy(text.get(at..).unwrap_or_default());
        call.ctx.conversion_lost(
            1411,
            format!("Incorrect {kind} value: '{wrong}' for function str_to_date"),
        )?;
        return Ok(Value::Null);
    };
    if reader.rest().iter().any(|b| !b.is_ascii_whitespace()) {
        call.ctx.conversion_lost(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect {kind} value: '{}'", shown()),
        )?;
    }
    Ok(match call.ty.kind {
        TypeKind::Date => Value::UInt(fields.date().pack()),
        TypeKind::Time => Value::Int(fields.time_of_day_us() + i64::from(fields.day) * 86_400_000_000),
        _ => Value::UInt(fields.pack()),
    })
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    fields: DateTime,
    twelve_hours: bool,
    afternoon: bool,
    day_of_year: u16,
    /// 1 is Monday.
    weekday: Option<u8>,
    week: Option<Week>,
    /// The year of `%X` (true) or `%x`.
    week_year: Option<(bool, u16)>,
    /// Where the text of `%r` or `%T` begins, if that is wrong.
    wrong_time: Option<usize>,
}

#[derive(Clone, Copy)]
struct Week {
    number: u8,
    sunday_first: bool,
    /// `%V`, `%v`: weeks are numbered within a year of whole weeks.
    strict: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            fields: DateTime::ZERO,
            twelve_hours: false,
            afternoon: false,
            day_of_year: 0,
            weekday: None,
            week: None,
            week_year: None,
            wrong_time: None,
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_while(&mut self, skip: impl Fn(u8) -> bool) {
        self.at += self.rest().iter().take_while(|b| skip(**b)).count();
    }

    /// Reads until the format or the text ends; `None` if the text does not match the format.
    fn read(&mut self, format: &[u8]) -> Option<()> {
        let mut format = format.iter();
        while let Some(wanted) = format.next() {
            self.skip_while(|b| b.is_ascii_whitespace());
            if self.rest().is_empty() {
                break;
            }
            match wanted {
                b'%' => match format.next() {
                    Some(specifier) => self.part(*specifier)?,
                    None => self.literal(b'%')?,
                },
                space if space.is_ascii_whitespace() => {}
                other => self.literal(*other)?,
            }
        }
        Some(())
    }

    fn literal(&mut self, wanted: u8) -> Option<()> {
        if *self.rest().first()? != wanted {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// A number of at most `max` digits, and how many it had.
    fn number(&mut self, max: usize) -> Option<(u32, usize)> {
        let digits: Vec<u8> = { self.rest() }
            .iter()
            .take(max)
            .take_while(|b| b.is_ascii_digit())
            .copied()
            .collect();
        if digits.is_empty() {
            return None;
        }
        self.at += digits.len();
        let value = digits.iter().fold(0, |v, d| v * 10 + u32::from(d - b'0'));
        Some((value, digits.len()))
    }

    fn small(&mut self, max: usize) -> Option<u8> {
        self.number(max).and_then(|(v, _)| u8::try_from(v).ok())
    }

    /// Reads a name of a list (its first three letters, if `short`), or an unambiguous beginning of one.
    /// Returns its position from 1.
    fn name(&mut self, names: &[&str], short: bool) -> Option<u8> {
        let letters = self.rest().iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let word = self.rest().get(..letters)?;
        let begins = |name: &str| {
            let name = if short {
                name.get(..3).unwrap_or(name)
            } else {
                name
            };
            let begin = name.as_bytes().get(..letters);
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word))
        };
        let mut all = names.iter().enumerate().filter(|(_, name)| begins(name));
        let (found, _) = all.next().filter(|_| letters > 0)?;
        if all.next().is_some() {
            return None;
        }
        self.at += letters;
        Some(found as u8 + 1)
    }

    fn part(&mut self, specifier: u8) -> Option<()> {
        match specifier {
            b'Y' => {
                let (year, digits) = self.number(4)?;
                self.fields.year = if digits <= 2 { full_year(year) } else { year as u16 };
            }
            b'y' => self.fields.year = full_year(self.number(2)?.0),
            b'm' | b'c' => self.fields.month = self.small(2)?,
            b'M' => self.fields.month = self.name(&MONTHS, false)?,
            b'b' => self.fields.month = self.name(&MONTHS, true)?,
            b'd' | b'e' => self.fields.day = self.small(2)?,
            b'D' => {
                self.fields.day = self.small(2)?;
                self.at = (self.at + 2).min(self.text.len());
            }
            b'h' | b'I' | b'l' => {
                self.twelve_hours = true;
                self.fields.hour = self.small(2)?;
            }
            b'k' | b'H' => self.fields.hour = self.small(2)?,
            b'i' => self.fields.minute = self.small(2)?,
            b's' | b'S' => self.fields.second = self.small(2)?,
            b'f' => {
                let (value, digits) = self.number(6)?;
                self.fields.microsecond = value * 10u32.pow(6 - digits as u32);
            }
            b'p' => {
                let word = self.rest().get(..2).filter(|_| self.twelve_hours)?;
                self.afternoon = word.eq_ignore_ascii_case(b"PM");
                if !self.afternoon && !word.eq_ignore_ascii_case(b"AM") {
                    return None;
                }
                self.at += 2;
            }
            b'W' => self.weekday = Some(self.name(&DAYS, false)?),
            b'a' => self.weekday = Some(self.name(&DAYS, true)?),
            b'w' => {
                let day = self.small(1).filter(|d| *d < 7)?;
                self.weekday = Some(if day == 0 { 7 } else { day });
            }
            b'j' => self.day_of_year = self.number(3)?.0 as u16,
            b'U' | b'u' | b'V' | b'v' => {
                let strict = matches!(specifier, b'V' | b'v');
                let number = self.small(2).filter(|n| *n <= 53 && !(strict && *n == 0))?;
                self.week = Some(Week {
                    number,
                    sunday_first: matches!(specifier, b'U' | b'V'),
                    strict,
                });
            }
            b'X' | b'x' => self.week_year = Some((specifier == b'X', self.number(4)?.0 as u16)),
            b'r' => self.time(b"%I:%i:%S %p")?,
            b'T' => self.time(b"%H:%i:%S")?,
            b'.' => self.skip_while(|b| b.is_ascii_punctuation()),
            b'@' => self.skip_while(|b| b.is_ascii_alphabetic()),
            b'#' => self.skip_while(|b| b.is_ascii_digit()),
            b'%' => self.literal(b'%')?,
            _ => return None,
        }
        Some(())
    }

    /// Reads `%r` and `%T`, which are formats of their own: errors in them show their part of the text.
    fn time(&mut self, format: &[u8]) -> Option<()> {
        let start = self.at;
        let read = self.read(format);
        let is_hour = !self.twelve_hours || (1..=12).contains(&self.fields.hour);
        let read = read.filter(|()| is_hour);
        if read.is_none() {
            self.wrong_time = Some(start);
        }
        read
    }

    /// The point in time of the fields; `None` if they contradict each other or are out of range. Every month
    /// has a day 31, as in MySQL.
    fn finish(&self) -> Option<DateTime> {
        let mut fields = self.fields;
        if self.twelve_hours {
            if !(1..=12).contains(&fields.hour) {
                return None;
            }
            fields.hour = fields.hour % 12 + if self.afternoon { 12 } else { 0 };
        }
        if self.day_of_year > 0 {
            let first = calendar::day_number(fields.year, 1, 1);
            fields = with_date(&fields, first + i64::from(self.day_of_year) - 1)?;
        }
        if let (Some(week), Some(weekday)) = (self.week, self.weekday) {
            fields = with_date(&fields, self.day_of_week(week, weekday)?)?;
        }
        let in_range = fields.month <= 12
            && fields.day <= 31
            && fields.hour <= 23
            && fields.minute <= 59
            && fields.second <= 59;
        in_range.then_some(fields)
    }

    /// The day number of a weekday in a week.
    fn day_of_week(&self, week: Week, weekday: u8) -> Option<i64> {
        let year = match (week.strict, self.week_year) {
            (true, Some((sunday, year))) if sunday == week.sunday_first => year,
            (false, None) => self.fields.year,
            _ => return None,
        };
        let first = calendar::day_number(year, 1, 1);
        let first_weekday = (first + 5 + i64::from(week.sunday_first)).rem_euclid(7);
        let weeks = (i64::from(week.number) - 1) * 7;
        Some(if week.sunday_first {
            let skip = if first_weekday == 0 { 0 } else { 7 };
            first + skip - first_weekday + weeks + i64::from(weekday % 7)
        } else {
            let skip = if first_weekday <= 3 { 0 } else { 7 };
            first + skip - first_weekday + weeks + i64::from(weekday) - 1
        })
    }
}

fn with_date(fields: &DateTime, day_number: i64) -> Option<DateTime> {
    DateTime::from_day_number(day_number, fields.time_of_day_us())
}

fn full_year(two_digits: u32) -> u16 {
    let year = two_digits as u16;
    year + if year < 70 { 2000 } else { 1900 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 reads them.
    #[test]
    fn texts_and_formats() {
        let read = |text: &str, format: &str| {
            let mut reader = Reader::new(text.as_bytes());
            match reader.read(format.as_bytes()).and_then(|()| reader.finish()) {
                Some(fields) => fields.datetime_text(0),
                None => "none".to_owned(),
            }
        };
        for (text, format, expected) in [
            ("01,5,2013", "%d,%m,%Y", "2013-05-01 00:00:00"),
            ("May 1, 2013", "%M %d,%Y", "2013-05-01 00:00:00"),
            ("a09:30:17", "a%h:%i:%s", "0000-00-00 09:30:17"),
            ("10:11:12 PM", "%r", "0000-00-00 22:11:12"),
            ("22:11:12", "%T", "0000-00-00 22:11:12"),
            ("2013-02-30", "%Y-%m-%d", "2013-02-30 00:00:00"),
            ("200442 Monday", "%X%V %W", "2004-10-18 00:00:00"),
            ("2013-13-01", "%Y-%m-%d", "none"),
            ("13-5-1", "%y-%m-%d", "2013-05-01 00:00:00"),
            ("2013 121", "%Y %j", "2013-05-01 00:00:00"),
            ("12:00 AM", "%h:%i %p", "0000-00-00 00:00:00"),
            ("Jan", "%b", "0000-01-00 00:00:00"),
            ("13:00 AM", "%h:%i %p", "none"),
            ("x", "%Y", "none"),
        ] {
            assert_eq!(read(text, format), expected, "{text} {format}");
        }
    }
}
