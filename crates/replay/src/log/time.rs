//! The times of a log as microseconds since 1970. A zone is left out: only differences matter.

/// `2026-11-24T03:35:36.123456Z` or `...+01:00` (MySQL), `241124  3:35:36` (MariaDB, and MySQL up to 5.6).
/// Returns the time and what is behind it.
pub(super) fn parse(line: &[u8]) -> Option<(u64, &[u8])> {
    iso(line).or_else(|| short(line))
}

fn iso(line: &[u8]) -> Option<(u64, &[u8])> {
    let (date, rest) = line.split_at_checked(11)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T'] = date else {
        return None;
    };
    let (year, month, day) = (
        number(&[*y1, *y2, *y3, *y4])?,
        number(&[*m1, *m2])?,
        number(&[*d1, *d2])?,
    );
    let (seconds, mut rest) = clock(rest)?;
    let mut micros = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, behind) = fraction.split_at_checked(digits)?;
        for position in 0..6 {
            micros = micros * 10 + digits.get(position).map_or(0, |digit| u64::from(digit - b'0'));
        }
        rest = behind;
    }
    let rest = match rest.split_first()? {
        (b'Z', rest) => rest,
        (b'+' | b'-', zone) => zone.get(5..)?,
        _ => return None,
    };
    Some((at(year, month, day, seconds) * 1_000_000 + micros, rest))
}

fn short(line: &[u8]) -> Option<(u64, &[u8])> {
    let (date, rest) = line.split_at_checked(6)?;
    let date = number(date)?;
    let rest = rest.strip_prefix(b" ")?;
    let (seconds, rest) = clock(rest.trim_ascii_start())?;
    let (year, month, day) = (2000 + date / 10_000, date / 100 % 100, date % 100);
    Some((at(year, month, day, seconds) * 1_000_000, rest))
}

/// `3:35:36` or `03:35:36`.
fn clock(text: &[u8]) -> Option<(u64, &[u8])> {
    let hour = text
        .iter()
        .take(3)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (hour, rest) = text.split_at_checked(hour)?;
    let (time, rest) = rest.split_at_checked(6)?;
    let [b':', m1, m2, b':', s1, s2] = time else {
        return None;
    };
    let (minute, second) = (number(&[*m1, *m2])?, number(&[*s1, *s2])?);
    Some((number(hour)? * 3600 + minute * 60 + second, rest))
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Seconds since 1970 (Hinnant, "chrono-compatible date algorithms").
fn at(year: u64, month: u64, day: u64, seconds: u64) -> u64 {
    let year = year.saturating_sub(u64::from(month <= 2));
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day.saturating_sub(1);
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year;
    days.saturating_sub(719_468) * 86_400 + seconds
}
