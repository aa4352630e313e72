//! `@@time_zone`: fixed offsets and named zones, and conversions between UTC and local time.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Offset, TimeZone as _, Timelike};
use types::temporal::DateTime;
use types::{Error, errno};

/// `@@time_zone`: a fixed offset or a named zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeZone {
    /// Seconds east of UTC. `SYSTEM` is resolved to a zone when the server starts.
    Offset(i32),
    Named(chrono_tz::Tz),
}

impl TimeZone {
    pub const UTC: Self = Self::Offset(0);

    /// Reads a value of `SET time_zone` or `CONVERT_TZ`: `+05:30`, `UTC`, `Europe/Paris` (in any letter
    /// case), `SYSTEM`. `None` if there is no such zone ([`TimeZone::unknown`] is MySQL's error).
    pub fn parse(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("system") {
            return Some(Self::system());
        }
        parse_offset(name)
            .map(Self::Offset)
            .or_else(|| named(name).map(Self::Named))
    }

    /// Error 1298.
    pub fn unknown(name: &str) -> Error {
        Error::new(
            errno::ER_UNKNOWN_TIME_ZONE,
            format!("Unknown or incorrect time zone: '{name}'"),
        )
    }

    /// The machine's zone; UTC if it cannot be determined.
    pub fn system() -> Self {
        let name = std::env::var("TZ").ok().filter(|tz| !tz.is_empty()).or_else(|| {
            let target = std::fs::read_link("/etc/localtime").ok()?;
            let text = target.to_str()?;
            Some(text.split_once("zoneinfo/")?.1.to_owned())
        });
        name.and_then(|n| named(n.trim_start_matches(':')))
            .map_or(Self::UTC, Self::Named)
    }

    /// As `@@time_zone` prints it.
    pub fn name(self) -> String {
        match self {
            Self::Offset(seconds) => {
                let sign = if seconds < 0 { '-' } else { '+' };
                let minutes = seconds.unsigned_abs() / 60;
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            Self::Named(zone) => zone.name().to_owned(),
        }
    }

    /// Seconds east of UTC at an instant given in seconds since 1970 UTC.
    pub fn offset_at(self, unix_seconds: i64) -> i32 {
        match self {
            Self::Offset(seconds) => seconds,
            Self::Named(zone) => match chrono::DateTime::from_timestamp(unix_seconds, 0) {
                Some(utc) => zone
                    .offset_from_utc_datetime(&utc.naive_utc())
                    .fix()
                    .local_minus_utc(),
                None => 0,
            },
        }
    }

    /// The local time of an instant in microseconds since 1970 UTC.
    pub fn from_unix_us(self, unix_us: i64) -> DateTime {
        let offset = self.offset_at(unix_us.div_euclid(1_000_000));
        match chrono::DateTime::from_timestamp_micros(unix_us + i64::from(offset) * 1_000_000) {
            Some(local) => from_chrono(&local.naive_utc()),
            None => DateTime::default(),
        }
    }

    /// The instant of a local time, in microseconds since 1970 UTC. As in MySQL, a time that the clocks skip
    /// (in spring) is the instant when they were put forward, and of a time that occurs twice (in autumn) the
    /// first is used. `None` for times that have no instant, such as `0000-00-00`.
    pub fn to_unix_us(self, local: &DateTime) -> Option<i64> {
        let naive = to_chrono(local)?;
        let wall_us = naive.and_utc().timestamp_micros();
        match self {
            Self::Offset(seconds) => Some(wall_us - i64::from(seconds) * 1_000_000),
            Self::Named(zone) => Some(match zone.offset_from_local_datetime(&naive) {
                chrono::MappedLocalTime::Single(offset) | chrono::MappedLocalTime::Ambiguous(offset, _) => {
                    wall_us - i64::from(offset.fix().local_minus_utc()) * 1_000_000
                }
                chrono::MappedLocalTime::None => gap_end_us(self, wall_us),
            }),
        }
    }

    /// Packed UTC to packed local time.
    pub fn utc_to_local(self, packed: u64) -> u64 {
        match Self::UTC.to_unix_us(&DateTime::unpack(packed)) {
            Some(us) => self.from_unix_us(us).pack(),
            None => packed,
        }
    }

    /// Packed local time to packed UTC; see [`TimeZone::to_unix_us`].
    pub fn local_to_utc(self, packed: u64) -> Option<u64> {
        let us = self.to_unix_us(&DateTime::unpack(packed))?;
        Some(Self::UTC.from_unix_us(us).pack())
    }

    /// Whether a local time is one that the clocks skip.
    pub fn is_skipped(self, local: &DateTime) -> bool {
        match (self, to_chrono(local)) {
            (Self::Named(zone), Some(naive)) => {
                matches!(
                    zone.offset_from_local_datetime(&naive),
                    chrono::MappedLocalTime::None
                )
            }
            _ => false,
        }
    }
}

/// `[+-]H[H]:MM`, from -13:59 to +14:00, in seconds.
fn parse_offset(text: &str) -> Option<i32> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'+' => (false, text.get(1..)?),
        b'-' => (true, text.get(1..)?),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |s: &str, max_len| {
        let right = !s.is_empty() && s.len() <= max_len && s.bytes().all(|b| b.is_ascii_digit());
        right.then(|| s.parse::<i32>().ok()).flatten()
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    if minutes > 59 {
        return None;
    }
    let seconds = hours * 3600 + minutes * 60;
    let limit = if negative { 13 * 3600 + 59 * 60 } else { 14 * 3600 };
    (seconds <= limit).then_some(if negative { -seconds } else { seconds })
}

/// A zone of the time zone database by its name in any case.
fn named(name: &str) -> Option<chrono_tz::Tz> {
    name.parse().ok().or_else(|| {
        let found = chrono_tz::TZ_VARIANTS
            .iter()
            .find(|tz| tz.name().eq_ignore_ascii_case(name));
        found.copied()
    })
}

/// The instant at which clocks were put forward over the wall time `wall_us`.
fn gap_end_us(zone: TimeZone, wall_us: i64) -> i64 {
    let wall = wall_us.div_euclid(1_000_000);
    // With the offset from before the gap, a skipped wall time is after the change; with the offset from
    // after the gap, it is before the change. So the change is between these two instants, and there is no
    // other change near it.
    let offset_before = i64::from(zone.offset_at(wall - 86_400));
    let offset_after = i64::from(zone.offset_at(wall + 86_400));
    let (mut before, mut after) = (wall - offset_after - 1, wall - offset_before);
    let new_offset = zone.offset_at(after);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if zone.offset_at(middle) == new_offset {
            after = middle;
        } else {
            before = middle;
        }
    }
    after * 1_000_000
}

fn to_chrono(time: &DateTime) -> Option<NaiveDateTime> {
    NaiveDate::from_ymd_opt(i32::from(time.year), u32::from(time.month), u32::from(time.day))?
        .and_hms_micro_opt(
            u32::from(time.hour),
            u32::from(time.minute),
            u32::from(time.second),
            time.microsecond,
        )
}

fn from_chrono(time: &NaiveDateTime) -> DateTime {
    // Years before 0 or after 9999 have no DATETIME. Callers check ranges before.
    let Ok(year) = u16::try_from(time.year()) else {
        return DateTime::default();
    };
    DateTime {
        year,
        month: time.month() as u8,
        day: time.day() as u8,
        hour: time.hour() as u8,
        minute: time.minute() as u8,
        second: time.second() as u8,
        microsecond: (time.and_utc().timestamp_subsec_micros()) % 1_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: u16, month: u8, day: u8, hour: u8, minute: u8) -> DateTime {
        DateTime {
            year,
            month,
            day,
            hour,
            minute,
            ..DateTime::default()
        }
    }

    fn berlin() -> TimeZone {
        TimeZone::parse("europe/BERLIN").unwrap()
    }

    #[test]
    fn names_and_offsets() {
        assert_eq!(TimeZone::parse("+05:30"), Some(TimeZone::Offset(19_800)));
        assert_eq!(TimeZone::parse("-13:59"), Some(TimeZone::Offset(-50_340)));
        assert_eq!(TimeZone::parse("-3:00").unwrap().name(), "-03:00");
        assert_eq!(berlin().name(), "Europe/Berlin");
        for wrong in ["+14:01", "-14:00", "+1", "+:30", "+01:60", "Mars/Olympus", ""] {
            assert_eq!(TimeZone::parse(wrong), None, "{wrong}");
        }
        assert_eq!(TimeZone::unknown("x").code, 1298);
    }

    #[test]
    fn there_and_back() {
        let zone = berlin();
        let local = at(2024, 7, 1, 12, 0);
        let utc = zone.local_to_utc(local.pack()).unwrap();
        assert_eq!(DateTime::unpack(utc), at(2024, 7, 1, 10, 0));
        assert_eq!(zone.utc_to_local(utc), local.pack());
    }

    /// 2024-03-31: 02:00 to 03:00 do not exist in Berlin; 2024-10-27: 02:00 to 03:00 come twice.
    #[test]
    fn gaps_and_overlaps() {
        let zone = berlin();
        for minute in [0, 1, 30, 59] {
            let utc = zone.local_to_utc(at(2024, 3, 31, 2, minute).pack()).unwrap();
            assert_eq!(DateTime::unpack(utc), at(2024, 3, 31, 1, 0), "minute {minute}");
            assert!(zone.is_skipped(&at(2024, 3, 31, 2, minute)));
        }
        let utc = zone.local_to_utc(at(2024, 10, 27, 2, 30).pack()).unwrap();
        assert_eq!(DateTime::unpack(utc), at(2024, 10, 27, 0, 30));
        assert!(!zone.is_skipped(&at(2024, 10, 27, 2, 30)));
        assert_eq!(zone.local_to_utc(0), None);
    }
}
