//! Dates and times from text, as lenient as MySQL.
//!
//! Any punctuation separates fields. Two-digit years are 1970 to 2069. `20240131` and `240131` are dates. A
//! trailing `+05:30` is the time's offset from UTC. Source: manual 9.1.3 "Date and Time Literals" and MySQL
//! 8.0.33's answers.

use types::temporal::{DateTime, calendar};

use crate::context::EvalContext;

/// Which unusual dates are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DateRules {
    /// Month or day may be zero.
    pub zero_in_date: bool,
    /// `0000-00-00` is accepted.
    pub zero_date: bool,
    /// Days up to the 31st of any month are accepted, to distinguish an impossible day from text that is not
    /// a date.
    pub any_day: bool,
}

impl DateRules {
    /// All dates that can be stored.
    pub const ANY: Self = Self {
        zero_in_date: true,
        zero_date: true,
        any_day: false,
    };
    /// Also dates that cannot be stored because their month does not have the day.
    pub const IMPOSSIBLE: Self = Self {
        any_day: true,
        ..Self::ANY
    };
    /// Real days only.
    pub const CALENDAR: Self = Self {
        zero_in_date: false,
        zero_date: false,
        any_day: false,
    };

    /// The dates that `@@sql_mode` accepts.
    pub fn of_mode(mode: &types::SqlMode) -> Self {
        Self {
            zero_in_date: !mode.no_zero_in_date,
            zero_date: !mode.no_zero_date,
            any_day: mode.allow_invalid_dates,
        }
    }

    /// These rules, with the days that the mode allows.
    pub fn under(self, mode: &types::SqlMode) -> Self {
        Self {
            any_day: self.any_day || mode.allow_invalid_dates,
            ..self
        }
    }

    /// For functions that take fields out of a date: a zero month or day does not matter.
    pub fn of_fields(mode: &types::SqlMode) -> Self {
        Self {
            zero_in_date: true,
            zero_date: !mode.no_zero_date,
            any_day: mode.allow_invalid_dates,
        }
    }

    /// These rules for a stored value, whose day was checked before.
    pub fn of_stored(self) -> Self {
        Self {
            any_day: true,
            ..self.of_values()
        }
    }

    /// These rules for a value that is not text: the mode forbids the zero date only in texts.
    pub fn of_values(self) -> Self {
        Self {
            zero_date: self.zero_date || self.zero_in_date,
            ..self
        }
    }

    /// Whether a date is real or one of the accepted exceptions.
    pub fn accept(&self, date: &DateTime) -> bool {
        if date.year == 0 && date.month == 0 && date.day == 0 && date.time_of_day_us() == 0 {
            return self.zero_date;
        }
        if date.has_zero_in_date() {
            return self.zero_in_date && date.day <= 31;
        }
        self.any_day
            || date.day <= calendar::days_in_month(date.year, date.month)
            || date.month == 2 && date.day == 29 && calendar::is_leap_year(date.year)
    }
}

/// A point in time read from text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ParsedDateTime {
    pub value: DateTime,
    /// The microseconds must be rounded up because of the seventh fractional digit.
    pub round_up: bool,
    /// Digits of the fraction, up to 6.
    pub fraction_digits: u8,
    /// Hours were given.
    pub has_time: bool,
    /// Text that is not part of it follows.
    pub truncated: bool,
    /// The offset in seconds east of UTC, if the text has one.
    pub displacement: Option<i32>,
    /// A separator other than the standard's.
    pub delimiter: Option<OddDelimiter>,
}

/// A separator that MySQL deprecates: warnings 4095 and 4096.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct OddDelimiter {
    pub found: char,
    pub position: usize,
    /// The separator expected there; `None` if none is expected.
    pub expected: Option<char>,
}

const MAX_FIELD: u32 = 999_999;
/// Year, month, day, hour, minute, second, fraction.
const FIELDS: usize = 7;
const FRACTION: usize = 6;

struct Fields {
    value: [u32; FIELDS],
    width: [usize; FIELDS],
    count: usize,
    /// In a text of digits alone, how many of them the year would have.
    year_width: usize,
}

/// Why a text is not a point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoDate {
    /// It does not look like one.
    Other,
    /// A field is missing or too large.
    Fields,
    /// As before, but all fields are zero.
    Zero,
    /// The rules do not accept the date.
    Refused,
}

/// Reads a date or a point in time. `None` if the text is neither, or if `rules` do not accept it.
pub(crate) fn datetime(text: &[u8], rules: DateRules) -> Option<ParsedDateTime> {
    parse(text, rules, false).ok()
}

/// [`datetime`], with the reason.
pub(crate) fn datetime_or_why(text: &[u8], rules: DateRules) -> Result<ParsedDateTime, NoDate> {
    parse(text, rules, false)
}

/// Reads a point in time for a TIME. It must have a space, or only a `T` between its digits.
/// `2024-02-29T12:34:56` has more, so its beginning is read as the TIME 00:20:24.
fn full_datetime(text: &[u8]) -> Result<ParsedDateTime, NoDate> {
    parse(text, DateRules::ANY, true)
}

fn parse(text: &[u8], rules: DateRules, must_have_space: bool) -> Result<ParsedDateTime, NoDate> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    if !text.get(start).is_some_and(u8::is_ascii_digit) {
        return Err(NoDate::Other);
    }
    let mut delimiter = (start > 0).then(|| OddDelimiter {
        found: char::from(text.first().copied().unwrap_or(b' ')),
        position: 0,
        expected: None,
    });
    let mut scan = Scan {
        text,
        at: start,
        delimiter: &mut delimiter,
        displacement: None,
        found_delimiter: false,
        found_space: false,
    };
    let fields = scan.fields().ok_or(NoDate::Other)?;
    let (mut at, displacement) = (scan.at, scan.displacement);
    if scan.found_delimiter && !scan.found_space && must_have_space {
        return Err(NoDate::Other);
    }
    let zero = fields.value.iter().all(|v| *v == 0);
    let Some(mut value) = to_datetime(&fields).filter(|_| fields.count >= 3) else {
        let mut rest = text.get(at..).unwrap_or_default().iter();
        return Err(match zero && rest.all(|b| is_space(*b)) {
            true => NoDate::Zero,
            false => NoDate::Fields,
        });
    };
    if fields.year_width == 2 && !zero {
        value.year += if value.year < 70 { 2000 } else { 1900 };
    }
    if !rules.accept(&value) {
        return Err(NoDate::Refused);
    }
    let fraction_digits = fields.width[FRACTION].min(6) as u8;
    let mut round_up = false;
    if fraction_digits == 6
        && let Some(digit) = text.get(at).filter(|b| b.is_ascii_digit())
    {
        round_up = *digit >= b'5';
        at += digits_at(text, at);
    }
    let mut displacement = displacement;
    // If there was a seventh digit, the sign has not been read yet.
    if displacement.is_none() && fraction_digits == 6 && matches!(text.get(at), Some(b'+' | b'-')) {
        let found = text.get(at..).and_then(parse_displacement);
        displacement = Some(found.ok_or(NoDate::Other)?);
        at = text.len();
    }
    let truncated = text
        .get(at..)
        .is_some_and(|rest| !rest.iter().all(|b| is_space(*b)));
    if delimiter.is_none() && at < text.len() && text.get(at).is_some_and(|b| is_space(*b)) {
        delimiter = Some(OddDelimiter {
            found: ' ',
            position: at,
            expected: None,
        });
    }
    Ok(ParsedDateTime {
        value,
        round_up,
        fraction_digits,
        has_time: fields.count > 3,
        truncated,
        displacement,
        delimiter,
    })
}

fn to_datetime(fields: &Fields) -> Option<DateTime> {
    let [year, month, day, hour, minute, second, fraction] = fields.value;
    let scale = 6usize.saturating_sub(fields.width[FRACTION]);
    let microsecond = fraction * 10u32.pow(scale as u32);
    let in_range = year <= 9999
        && month <= 12
        && day <= 31
        && hour <= 23
        && minute <= 59
        && second <= 59
        && microsecond <= 999_999;
    in_range.then_some(DateTime {
        year: year as u16,
        month: month as u8,
        day: day as u8,
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        microsecond,
    })
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    delimiter: &'a mut Option<OddDelimiter>,
    displacement: Option<i32>,
    found_delimiter: bool,
    found_space: bool,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn fields(&mut self) -> Option<Fields> {
        let run = self
            .text
            .get(self.at..)?
            .iter()
            .take_while(|b| b.is_ascii_digit() || **b == b'T')
            .count();
        let all_digits = matches!(self.text.get(self.at + run), None | Some(b'.'));
        let first_width = if run == 4 || run == 8 || run >= 14 { 4 } else { 2 };
        let mut fields = Fields {
            value: [0; FIELDS],
            width: [0; FIELDS],
            count: 0,
            year_width: first_width,
        };
        // Where the last field ended, with everything that belongs to it.
        let mut end = self.at;
        let mut field = 0;
        while field < FIELDS && self.peek().is_some_and(|b| b.is_ascii_digit()) {
            let limit = match field {
                FRACTION => 6,
                _ if !all_digits => usize::MAX,
                0 => first_width,
                _ => 2,
            };
            let width = digits_at(self.text, self.at).min(limit);
            let mut value = 0u32;
            for digit in self.text.get(self.at..self.at + width)? {
                value = value.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
            }
            if value > MAX_FIELD {
                return None;
            }
            self.at += width;
            fields.value[field] = value;
            fields.width[field] = width;
            fields.count = field + 1;
            end = self.at;
            field += 1;
            let Some(next) = self.peek() else { break };
            match field - 1 {
                2 if next == b'T' => self.at += 1,
                5 => {
                    if next == b'.' {
                        self.at += 1;
                        self.displacement()?;
                        end = self.at;
                    } else if next.is_ascii_digit() {
                        break;
                    } else {
                        self.displacement()?;
                        end = self.at;
                        break;
                    }
                }
                FRACTION => {
                    self.displacement()?;
                    end = self.at;
                    break;
                }
                done => {
                    self.delimiters(done)?;
                    end = self.at;
                }
            }
        }
        self.at = end;
        if !all_digits {
            fields.year_width = fields.width[0];
        }
        Some(fields)
    }

    /// Reads the offset from UTC, if a sign begins one. `None` if it is invalid.
    fn displacement(&mut self) -> Option<()> {
        if matches!(self.peek(), Some(b'+' | b'-')) {
            self.displacement = Some(self.text.get(self.at..).and_then(parse_displacement)?);
            self.at = self.text.len();
        }
        Some(())
    }

    /// Skips the separators after the field `done`. Spaces may follow only a date.
    fn delimiters(&mut self, done: usize) -> Option<()> {
        let expected = match done {
            0 | 1 => '-',
            2 => ' ',
            _ => ':',
        };
        let mut seen = false;
        while let Some(byte) = self.peek().filter(|b| b.is_ascii_punctuation() || is_space(*b)) {
            if is_space(byte) {
                if done != 2 {
                    return None;
                }
                self.found_space = true;
            }
            self.found_delimiter = true;
            let found = char::from(byte);
            let last = self.at + 1 == self.text.len() && is_space(byte);
            if self.delimiter.is_none() && (seen || last || found != expected) {
                let superfluous = seen || last;
                *self.delimiter = Some(OddDelimiter {
                    found,
                    position: self.at,
                    expected: (!superfluous).then_some(expected),
                });
            }
            seen = true;
            self.at += 1;
        }
        Some(())
    }
}

/// `+hh:mm` or `-hh:mm` at the end, from -14:00 to +14:00. `-00:00` is invalid.
fn parse_displacement(text: &[u8]) -> Option<i32> {
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = text else {
        return None;
    };
    let digit = |b: &u8| b.is_ascii_digit().then(|| i32::from(b - b'0'));
    let hours = digit(h1)? * 10 + digit(h2)?;
    let minutes = digit(m1)? * 10 + digit(m2)?;
    let seconds = hours * 3600 + minutes * 60;
    let negative = *sign == b'-';
    let right = minutes < 60 && seconds <= 14 * 3600 && !(negative && seconds == 0);
    right.then_some(if negative { -seconds } else { seconds })
}

/// A point in time that is written with a displacement from UTC, in the session's zone.
pub(crate) fn in_session_zone(at: DateTime, displacement: Option<i32>, ctx: &EvalContext) -> DateTime {
    let Some(seconds) = displacement else {
        return at;
    };
    let utc_us = at.to_epoch_us() - i64::from(seconds) * 1_000_000;
    ctx.time_zone.from_unix_us(utc_us)
}

/// A TIME read from text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ParsedTime {
    /// Microseconds, within the range of TIME.
    pub us: i64,
    /// What the seventh fractional digit adds: 0, or a microsecond away from zero.
    pub rounding: i64,
    pub fraction_digits: u8,
    /// Text that is not part of it follows.
    pub truncated: bool,
    /// It was beyond 838:59:59 and has been limited.
    pub clamped: bool,
    /// The text was a whole point in time; as it is written.
    pub date: Option<DateTime>,
    /// Seconds east of UTC, if it says so.
    pub displacement: Option<i32>,
    /// A deprecated space before or after it.
    pub delimiter: Option<OddDelimiter>,
}

impl ParsedTime {
    /// Rounded to microseconds, or truncated if the mode says so, and in the session's zone. May be a microsecond beyond
    /// the range of TIME.
    pub fn rounded(&self, ctx: &EvalContext) -> i64 {
        let us = match (self.displacement, self.moment(ctx)) {
            (Some(_), Some(moment)) => moment.time_of_day_us(),
            _ => self.us,
        };
        match ctx.sql_mode.time_truncate_fractional {
            true => us,
            false => us + self.rounding,
        }
    }

    /// The point in time, in the session's zone.
    pub fn moment(&self, ctx: &EvalContext) -> Option<DateTime> {
        Some(in_session_zone(self.date?, self.displacement, ctx))
    }
}

/// Why a text is not a TIME. MySQL stores zero for each, and warns for the last two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoTime {
    /// Only a sign, an exponent, or a number beyond 32 bits.
    Unsaid,
    /// 60 minutes or seconds, or more.
    OutOfRange,
    Unreadable,
}

/// Reads `[-][d ]hh:mm:ss[.fraction]`, `hhmmss`, or the time of a point in time.
pub(crate) fn time(text: &[u8]) -> Result<ParsedTime, NoTime> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let negative = text.get(start) == Some(&b'-');
    let from = start + usize::from(negative);
    let rest = text.get(from..).filter(|r| !r.is_empty()).ok_or(NoTime::Unsaid)?;
    let moment = match rest.len() >= 12 {
        true => full_datetime(rest),
        false => Err(NoDate::Other),
    };
    match moment {
        Ok(parsed) if parsed.has_time => {
            return Ok(ParsedTime {
                us: parsed.value.time_of_day_us(),
                rounding: i64::from(parsed.round_up),
                fraction_digits: parsed.fraction_digits,
                truncated: parsed.truncated,
                clamped: false,
                date: Some(parsed.value),
                displacement: parsed.displacement,
                delimiter: None,
            });
        }
        Ok(_) | Err(NoDate::Other) => {}
        Err(NoDate::Fields) => return Err(NoTime::Unreadable),
        Err(NoDate::Zero | NoDate::Refused) => return Err(NoTime::OutOfRange),
    }
    let mut found = parse_time(rest, negative)?;
    if start > 0 {
        found.delimiter = space_at(text, 0);
    } else if let Some(odd) = &mut found.delimiter {
        odd.position += from;
    }
    Ok(found)
}

/// The needless space at a place.
fn space_at(text: &[u8], position: usize) -> Option<OddDelimiter> {
    text.get(position).map(|byte| OddDelimiter {
        found: char::from(*byte),
        position,
        expected: None,
    })
}

fn parse_time(text: &[u8], negative: bool) -> Result<ParsedTime, NoTime> {
    let number_at = |at: usize, len: usize| text.get(at..at + len).and_then(number).ok_or(NoTime::Unsaid);
    let first_len = digits_at(text, 0);
    let first = number_at(0, first_len)?;
    let mut at = first_len;
    let spaces = text.iter().skip(at).take_while(|b| is_space(**b)).count();
    let after = at + spaces;
    let digit = |i: usize| text.get(i).is_some_and(u8::is_ascii_digit);
    // Days, hours, minutes, seconds.
    let mut parts = [0u64; 4];
    let filled = if spaces > 0 && text.len() > after + 1 && digit(after) {
        parts[0] = first;
        at = after;
        1
    } else if text.get(after) == Some(&b':') && digit(after + 1) {
        parts[1] = first;
        at = after + 1;
        2
    } else {
        parts = [0, first / 10_000, first / 100 % 100, first % 100];
        4
    };
    let mut filled = filled;
    while filled < 4 {
        let len = digits_at(text, at);
        parts[filled] = number_at(at, len)?;
        at += len;
        filled += 1;
        if filled == 4 || text.get(at) != Some(&b':') || !digit(at + 1) {
            break;
        }
        at += 1;
    }
    let (mut fraction, mut fraction_digits, mut round_up) = (0u64, 0, false);
    if text.get(at) == Some(&b'.') {
        let len = digits_at(text, at + 1);
        if len > 0 {
            let used = len.min(6);
            fraction = number_at(at + 1, used)? * 10u64.pow((6 - used) as u32);
            fraction_digits = used as u8;
            round_up = text.get(at + 7).is_some_and(|b| len > 6 && *b >= b'5');
            at += 1 + len;
        } else if at + 1 == text.len() {
            at += 1;
        }
    }
    if matches!(text.get(at), Some(b'e' | b'E'))
        && (digit(at + 1) || matches!(text.get(at + 1), Some(b'+' | b'-')) && digit(at + 2))
    {
        return Err(NoTime::Unsaid);
    }
    let [days, hours, minutes, seconds] = parts;
    if minutes > 59 || seconds > 59 {
        return Err(NoTime::OutOfRange);
    }
    if at == 0 {
        return Err(NoTime::Unreadable);
    }
    // Each part has at most 32 bits, so this cannot overflow.
    let hours = days * 24 + hours;
    let max = types::temporal::Time::MAX.0;
    let us =
        (i128::from(hours) * 3600 + i128::from(minutes * 60 + seconds)) * 1_000_000 + i128::from(fraction);
    let clamped = us > i128::from(max);
    let us = if clamped { max } else { us as i64 };
    let rest = text.get(at..).unwrap_or_default();
    let truncated = !rest.iter().all(|b| is_space(*b));
    Ok(ParsedTime {
        us: if negative { -us } else { us },
        rounding: if round_up && !clamped {
            if negative { -1 } else { 1 }
        } else {
            0
        },
        fraction_digits,
        truncated,
        clamped,
        date: None,
        displacement: None,
        delimiter: (!truncated).then(|| space_at(text, at)).flatten(),
    })
}

/// A number of up to 32 bits; 0 for no digits.
fn number(digits: &[u8]) -> Option<u64> {
    let value = digits
        .iter()
        .try_fold(0u64, |v, d| v.checked_mul(10)?.checked_add(u64::from(d - b'0')))?;
    (value <= u64::from(u32::MAX)).then_some(value)
}

fn digits_at(text: &[u8], at: usize) -> usize {
    text.get(at..)
        .map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count())
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> String {
        match datetime(text.as_bytes(), DateRules::CALENDAR) {
            None => "none".into(),
            Some(p) => format!(
                "{}{}",
                p.value.datetime_text(if p.fraction_digits > 0 { 6 } else { 0 }),
                if p.truncated { " truncated" } else { "" }
            ),
        }
    }

    /// As MySQL 8.0.33 answers `CAST(... AS DATETIME)`.
    #[test]
    fn datetimes_as_mysql_reads_them() {
        for (text, expected) in [
            ("2024-1-2", "2024-01-02 00:00:00"),
            ("24-1-2", "2024-01-02 00:00:00"),
            ("20240102", "2024-01-02 00:00:00"),
            ("240102", "2024-01-02 00:00:00"),
            ("2024-01-02abc", "2024-01-02 00:00:00 truncated"),
            ("2024-01-01x10:11:12", "2024-01-01 00:00:00 truncated"),
            ("2024-01-02T10:11:12", "2024-01-02 10:11:12"),
            ("20240101T101112", "2024-01-01 10:11:12"),
            ("240101101112", "2024-01-01 10:11:12"),
            ("2024-01-01 10", "2024-01-01 10:00:00"),
            ("2024-01-01 10:11:12.", "2024-01-01 10:11:12"),
            ("2024-01-01 10:11:12.5", "2024-01-01 10:11:12.500000"),
            ("2024.01.02 10.11.12", "2024-01-02 10:11:12"),
            (" 2024-01-01 ", "2024-01-01 00:00:00"),
            ("2024-01-01-", "2024-01-01 00:00:00"),
            ("1-1-1", "0001-01-01 00:00:00"),
            ("00-01-01", "2000-01-01 00:00:00"),
            ("0-01-01", "0000-01-01 00:00:00"),
            ("2024-02-30", "none"),
            ("2024-00-10", "none"),
            ("0000-00-00", "none"),
            ("2024-01-02 25:00:00", "none"),
            ("12345-01-01", "none"),
            ("2024", "none"),
            ("20241", "none"),
            ("2024010", "none"),
            ("20240101 10", "none"),
            ("202401011", "none"),
            ("202401011011", "none"),
            ("abc", "none"),
            ("", "none"),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn zones_and_digits_beyond_the_sixth() {
        let parse = |text: &str| datetime(text.as_bytes(), DateRules::CALENDAR).unwrap();
        assert_eq!(parse("2024-01-02 10:11:12+02:00").displacement, Some(7200));
        assert_eq!(parse("2024-01-02 10:11:12.5+02:00").displacement, Some(7200));
        assert_eq!(
            parse("2024-01-02 10:11:12.1234567-02:00").displacement,
            Some(-7200)
        );
        assert_eq!(datetime(b"2024-01-01 10:11:12+15:00", DateRules::CALENDAR), None);
        assert!(parse("2024-01-02 10:11:12.1234567").round_up);
        assert!(!parse("2024-01-02 10:11:12.1234564").round_up);
        let odd = parse("2024/01/01").delimiter.unwrap();
        assert_eq!((odd.found, odd.position, odd.expected), ('/', 4, Some('-')));
        let odd = parse("2024--01-01").delimiter.unwrap();
        assert_eq!((odd.found, odd.position, odd.expected), ('-', 5, None));
        assert_eq!(parse("2024-01-01 ").delimiter.unwrap().position, 10);
        assert_eq!(parse("2024-01-01 10:11:12").delimiter, None);
    }

    #[test]
    fn times_round_away_from_zero() {
        assert_eq!(time(b"-00:00:00.0000005").unwrap().rounding, -1);
        assert_eq!(time(b"10:11:12.9999999").unwrap().rounding, 1);
        assert_eq!(time(b"10:11:12.1234564").unwrap().rounding, 0);
    }

    /// As MySQL 8.0.33 answers `CAST(... AS TIME)`.
    #[test]
    fn times_as_mysql_reads_them() {
        let text = |t: &str| match time(t.as_bytes()) {
            Err(_) => "none".to_owned(),
            Ok(p) => format!(
                "{}{}{}",
                types::temporal::Time(p.us).to_text(if p.fraction_digits > 0 { 6 } else { 0 }),
                if p.truncated { " truncated" } else { "" },
                if p.clamped { " clamped" } else { "" }
            ),
        };
        for (input, expected) in [
            ("1 10:11:12", "34:11:12"),
            ("10:11", "10:11:00"),
            ("1011", "00:10:11"),
            ("11", "00:00:11"),
            ("839:00:00", "838:59:59 clamped"),
            ("-10:11:12.5", "-10:11:12.500000"),
            ("2024-01-02 10:11:12", "10:11:12"),
            ("10:61:00", "none"),
            ("1 2", "00:00:01 truncated"),
            ("1 2:3", "26:03:00"),
            ("10:11:12abc", "10:11:12 truncated"),
            ("10:11:", "10:11:00 truncated"),
            (":10:11", "00:10:11"),
            ("", "none"),
            ("1e3", "none"),
            ("101112.5", "10:11:12.500000"),
            ("2024-01-01", "00:20:24 truncated"),
            ("2024-01-01 10", "10:00:00"),
            ("-00:00:00.0000005", "00:00:00.000000"),
            ("abc", "none"),
        ] {
            assert_eq!(text(input), expected, "{input}");
        }
    }

    /// As MySQL 8.0.33 stores them in a TIME: a zero, with or without a warning.
    #[test]
    fn what_is_wrong_with_a_time() {
        for (input, expected) in [
            ("", NoTime::Unsaid),
            (" -", NoTime::Unsaid),
            ("1e2", NoTime::Unsaid),
            ("99999999999", NoTime::Unsaid),
            ("12:60:00", NoTime::OutOfRange),
            ("1260", NoTime::OutOfRange),
            ("x", NoTime::Unreadable),
        ] {
            assert_eq!(time(input.as_bytes()), Err(expected), "{input}");
        }
        let position = |text: &str| time(text.as_bytes()).unwrap().delimiter.map(|odd| odd.position);
        assert_eq!(position("1:2:3"), None);
        assert_eq!(position(" 1:2:3 "), Some(0));
        assert_eq!(position("-1:2:3 "), Some(6));
    }
}
