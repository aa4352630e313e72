//! DATE, DATETIME and TIMESTAMP: the fields, their packed form, arithmetic on days and microseconds, text.

use super::calendar::{self, EPOCH_DAY_NUMBER, date_of_day_number, day_number};
use super::{MICROS_PER_DAY, MICROS_PER_SECOND, fsp_unit, write_fraction, write_two};
use crate::number_text::write_padded;

/// A point in time as DATE, DATETIME and TIMESTAMP hold it: fields, not an instant, so that `0000-00-00` and
/// `2024-02-00` exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
}

impl DateTime {
    /// `0000-00-00 00:00:00`.
    pub const ZERO: Self = Self::new(0, 0, 0, 0, 0, 0, 0);
    /// `9999-12-31 23:59:59.999999`.
    pub const MAX: Self = Self::new(9999, 12, 31, 23, 59, 59, 999_999);

    pub const fn new(
        year: u16,
        month: u8,
        day: u8,
        hour: u8,
        minute: u8,
        second: u8,
        microsecond: u32,
    ) -> Self {
        Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
            microsecond,
        }
    }

    pub const fn from_date(year: u16, month: u8, day: u8) -> Self {
        Self::new(year, month, day, 0, 0, 0, 0)
    }

    /// Order-preserving 64 bits: `((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 |
    /// second`, shifted left by 24 and joined with the microsecond. The same layout as rows on disk.
    pub fn pack(&self) -> u64 {
        let ymd = (u64::from(self.year) * 13 + u64::from(self.month)) << 5 | u64::from(self.day);
        let hms = u64::from(self.hour) << 12 | u64::from(self.minute) << 6 | u64::from(self.second);
        (ymd << 17 | hms) << 24 | u64::from(self.microsecond)
    }

    /// Reverses [`DateTime::pack`]. Other numbers give wrong fields, or fields that [`DateTime::is_valid`]
    /// refuses. It never panics.
    pub fn unpack(packed: u64) -> Self {
        let ymdhms = packed >> 24;
        let ymd = ymdhms >> 17;
        let hms = ymdhms & ((1 << 17) - 1);
        let year_month = ymd >> 5;
        Self {
            year: (year_month / 13) as u16,
            month: (year_month % 13) as u8,
            day: (ymd & 31) as u8,
            hour: (hms >> 12) as u8,
            minute: (hms >> 6 & 63) as u8,
            second: (hms & 63) as u8,
            microsecond: (packed & ((1 << 24) - 1)) as u32,
        }
    }

    /// Whether all fields of the date are zero: `0000-00-00`, whatever the time.
    pub fn is_zero_date(&self) -> bool {
        self.year == 0 && self.month == 0 && self.day == 0
    }

    /// Whether month or day is zero, the zero date itself included.
    pub fn has_zero_in_date(&self) -> bool {
        self.month == 0 || self.day == 0
    }

    /// Whether the fields are in range and the month has that day. Zero month and day count as valid; see
    /// `DateRules` for what a statement accepts.
    pub fn is_valid(&self) -> bool {
        let last_day = match self.month {
            0 => 31,
            month => calendar::days_in_month(self.year, month),
        };
        self.year <= 9999
            && self.month <= 12
            && self.day <= last_day
            && self.hour < 24
            && self.minute < 60
            && self.second < 60
            && self.microsecond < 1_000_000
    }

    /// The date alone.
    pub fn date(&self) -> Self {
        Self::from_date(self.year, self.month, self.day)
    }

    /// The time of day in microseconds.
    pub fn time_of_day_us(&self) -> i64 {
        (i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second))
            * MICROS_PER_SECOND
            + i64::from(self.microsecond)
    }

    /// `TO_DAYS`.
    pub fn day_number(&self) -> i64 {
        day_number(self.year, self.month, self.day)
    }

    /// 0 is Monday.
    pub fn weekday(&self) -> u8 {
        calendar::weekday(self.day_number())
    }

    pub fn day_of_year(&self) -> u16 {
        calendar::day_of_year(self.year, self.month, self.day)
    }

    /// The last day of the month, time 0. `None` if the month is 0.
    pub fn last_day(&self) -> Option<Self> {
        let day = calendar::days_in_month(self.year, self.month);
        (day > 0).then(|| Self::from_date(self.year, self.month, day))
    }

    /// The fields of a day number and a time of day in microseconds. `None` out of range.
    pub fn from_day_number(days: i64, time_of_day_us: i64) -> Option<Self> {
        let (year, month, day) = date_of_day_number(days)?;
        let seconds = time_of_day_us / MICROS_PER_SECOND;
        Some(Self {
            year,
            month,
            day,
            hour: u8::try_from(seconds / 3600).ok().filter(|h| *h < 24)?,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microsecond: (time_of_day_us % MICROS_PER_SECOND) as u32,
        })
    }

    /// That many days later (earlier if negative), at the same time of day. `None` out of range.
    pub fn add_days(&self, days: i64) -> Option<Self> {
        Self::from_day_number(self.day_number().checked_add(days)?, self.time_of_day_us())
    }

    /// That many microseconds later (earlier if negative). `None` out of range.
    pub fn add_us(&self, microseconds: i64) -> Option<Self> {
        let in_day = self.time_of_day_us() + microseconds % MICROS_PER_DAY;
        let days = self.day_number() + microseconds / MICROS_PER_DAY + in_day.div_euclid(MICROS_PER_DAY);
        Self::from_day_number(days, in_day.rem_euclid(MICROS_PER_DAY))
    }

    /// That many months later (earlier if negative). A day that the month lacks becomes its last. `None` out
    /// of range.
    pub fn add_months(&self, months: i64) -> Option<Self> {
        let total = (i64::from(self.year) * 12 + i64::from(self.month) - 1).checked_add(months)?;
        let year = u16::try_from(total.div_euclid(12)).ok().filter(|y| *y <= 9999)?;
        let month = total.rem_euclid(12) as u8 + 1;
        let day = self.day.min(calendar::days_in_month(year, month));
        Some(Self {
            year,
            month,
            day,
            ..*self
        })
    }

    /// Microseconds since 1970-01-01 00:00:00, reading the fields as UTC.
    pub fn to_epoch_us(&self) -> i64 {
        (self.day_number() - EPOCH_DAY_NUMBER) * MICROS_PER_DAY + self.time_of_day_us()
    }

    /// The fields, in UTC, of microseconds since 1970. `None` outside years 0 to 9999.
    pub fn from_epoch_us(microseconds: i64) -> Option<Self> {
        let days = microseconds.div_euclid(MICROS_PER_DAY) + EPOCH_DAY_NUMBER;
        Self::from_day_number(days, microseconds.rem_euclid(MICROS_PER_DAY))
    }

    /// Rounded half up to `fsp` fractional digits. `None` if that goes beyond year 9999, or if the date has a
    /// zero in it and rounding would change the second.
    pub fn round(&self, fsp: u8) -> Option<Self> {
        let unit = fsp_unit(fsp);
        let rest = self.microsecond % unit;
        if rest == 0 {
            return Some(*self);
        }
        let cut = self.truncate(fsp);
        if rest < unit.div_ceil(2) {
            return Some(cut);
        }
        if cut.microsecond + unit < 1_000_000 {
            return Some(Self {
                microsecond: cut.microsecond + unit,
                ..cut
            });
        }
        if self.has_zero_in_date() {
            return None;
        }
        cut.add_us(i64::from(unit))
    }

    /// Cut to `fsp` fractional digits.
    pub fn truncate(&self, fsp: u8) -> Self {
        Self {
            microsecond: self.microsecond - self.microsecond % fsp_unit(fsp),
            ..*self
        }
    }

    /// Appends `YYYY-MM-DD`.
    pub fn write_date(&self, out: &mut Vec<u8>) {
        write_padded(u64::from(self.year), 4, out);
        out.push(b'-');
        write_two(self.month, out);
        out.push(b'-');
        write_two(self.day, out);
    }

    /// Appends `YYYY-MM-DD hh:mm:ss[.fraction]`.
    pub fn write_datetime(&self, fsp: u8, out: &mut Vec<u8>) {
        self.write_date(out);
        out.push(b' ');
        write_two(self.hour, out);
        out.push(b':');
        write_two(self.minute, out);
        out.push(b':');
        write_two(self.second, out);
        write_fraction(self.microsecond, fsp, out);
    }

    /// `YYYY-MM-DD`.
    pub fn date_text(&self) -> String {
        let mut out = Vec::with_capacity(10);
        self.write_date(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// `YYYY-MM-DD hh:mm:ss[.fraction]`.
    pub fn datetime_text(&self, fsp: u8) -> String {
        let mut out = Vec::with_capacity(26);
        self.write_datetime(fsp, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// MySQL's numeric form of a date: `20240131`.
    pub fn date_number(&self) -> u64 {
        u64::from(self.year) * 10_000 + u64::from(self.month) * 100 + u64::from(self.day)
    }

    /// MySQL's numeric form of a point in time, without the fraction: `20240131235959`.
    pub fn datetime_number(&self) -> u64 {
        self.date_number() * 1_000_000
            + u64::from(self.hour) * 10_000
            + u64::from(self.minute) * 100
            + u64::from(self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: DateTime = DateTime::new(2024, 2, 29, 23, 59, 59, 999_999);

    #[test]
    fn packing_keeps_fields_and_order() {
        let ordered = [
            DateTime::ZERO,
            DateTime::from_date(0, 0, 1),
            DateTime::from_date(2024, 2, 0),
            DateTime::from_date(2024, 2, 29),
            SAMPLE,
            DateTime::from_date(2024, 3, 1),
            DateTime::MAX,
        ];
        for pair in ordered.windows(2) {
            assert!(pair[0].pack() < pair[1].pack());
        }
        for value in ordered {
            assert_eq!(DateTime::unpack(value.pack()), value);
        }
        assert!(!DateTime::unpack(u64::MAX).is_valid());
    }

    #[test]
    fn text_has_the_fraction_asked_for() {
        assert_eq!(SAMPLE.datetime_text(0), "2024-02-29 23:59:59");
        assert_eq!(SAMPLE.datetime_text(3), "2024-02-29 23:59:59.999");
        assert_eq!(DateTime::ZERO.datetime_text(6), "0000-00-00 00:00:00.000000");
        assert_eq!(DateTime::from_date(7, 1, 2).date_text(), "0007-01-02");
    }

    #[test]
    fn arithmetic_crosses_days_months_and_years() {
        assert_eq!(SAMPLE.add_us(1), Some(DateTime::from_date(2024, 3, 1)));
        assert_eq!(
            DateTime::from_date(2024, 1, 1)
                .add_us(-1)
                .unwrap()
                .datetime_text(6),
            "2023-12-31 23:59:59.999999"
        );
        assert_eq!(DateTime::MAX.add_us(1), None);
        assert_eq!(
            DateTime::from_date(2024, 1, 31).add_months(1),
            Some(DateTime::from_date(2024, 2, 29))
        );
        assert_eq!(
            DateTime::from_date(2024, 1, 31).add_months(-2),
            Some(DateTime::from_date(2023, 11, 30))
        );
        assert_eq!(DateTime::from_date(9999, 12, 1).add_months(1), None);
        assert_eq!(
            DateTime::from_date(2023, 12, 31).add_days(60),
            Some(DateTime::from_date(2024, 2, 29))
        );
        assert_eq!(
            DateTime::from_date(2023, 2, 5).last_day(),
            Some(DateTime::from_date(2023, 2, 28))
        );
        assert_eq!(DateTime::from_date(2023, 0, 5).last_day(), None);
    }

    #[test]
    fn epoch_microseconds_round_trip() {
        assert_eq!(DateTime::from_date(1970, 1, 1).to_epoch_us(), 0);
        for us in [0, -1, 1, 1_700_000_000_123_456, -62_135_596_800_000_000] {
            assert_eq!(DateTime::from_epoch_us(us).unwrap().to_epoch_us(), us);
        }
        assert_eq!(DateTime::from_epoch_us(i64::MAX), None);
        assert_eq!(DateTime::from_epoch_us(i64::MIN), None);
    }

    #[test]
    fn rounding_carries() {
        assert_eq!(SAMPLE.round(6), Some(SAMPLE));
        assert_eq!(SAMPLE.round(0), Some(DateTime::from_date(2024, 3, 1)));
        assert_eq!(DateTime::MAX.round(3), None);
        let half = DateTime::new(2024, 1, 1, 0, 0, 0, 499_500);
        assert_eq!(half.round(3).unwrap().microsecond, 500_000);
        assert_eq!(half.round(0).unwrap().second, 0);
        assert_eq!(half.truncate(1).microsecond, 400_000);
        // Rounding must not change a date that has zeros.
        assert_eq!(DateTime::new(2024, 0, 0, 1, 59, 59, 600_000).round(0), None);
    }

    #[test]
    fn validity_knows_the_months() {
        assert!(DateTime::from_date(2024, 2, 29).is_valid());
        assert!(!DateTime::from_date(2023, 2, 29).is_valid());
        assert!(DateTime::from_date(2023, 0, 31).is_valid());
        assert!(!DateTime::from_date(2023, 13, 1).is_valid());
        assert!(!DateTime::new(2023, 1, 1, 24, 0, 0, 0).is_valid());
    }
}
