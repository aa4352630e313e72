//! TIME: a signed span of up to 838 hours.

use super::{DateTime, MICROS_PER_DAY, MICROS_PER_SECOND, fsp_unit, write_fraction, write_two};
use crate::number_text::write_padded;

/// A TIME in microseconds, -838:59:59 to 838:59:59.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

impl Time {
    /// `838:59:59`: without a fraction, whatever the precision.
    pub const MAX: Self = Self((838 * 3600 + 59 * 60 + 59) * MICROS_PER_SECOND);
    pub const MIN: Self = Self(-Self::MAX.0);

    /// From fields, each within its range. `None` beyond [`Time::MAX`].
    pub fn new(negative: bool, hours: u32, minutes: u8, seconds: u8, microseconds: u32) -> Option<Self> {
        let us = (i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds)) * MICROS_PER_SECOND
            + i64::from(microseconds);
        let time = Self(if negative { -us } else { us });
        time.is_valid().then_some(time)
    }

    pub fn is_valid(&self) -> bool {
        (Self::MIN..=Self::MAX).contains(self)
    }

    /// The nearest valid TIME. MySQL stores it for a value out of range, with a warning.
    pub fn clamped(self) -> Self {
        self.clamp(Self::MIN, Self::MAX)
    }

    pub fn is_negative(&self) -> bool {
        self.0 < 0
    }

    /// Hours of the absolute value, up to 838.
    pub fn hours(&self) -> u32 {
        (self.0.unsigned_abs() / 3_600_000_000) as u32
    }

    pub fn minutes(&self) -> u8 {
        (self.0.unsigned_abs() / 60_000_000 % 60) as u8
    }

    pub fn seconds(&self) -> u8 {
        (self.0.unsigned_abs() / 1_000_000 % 60) as u8
    }

    pub fn microseconds(&self) -> u32 {
        (self.0.unsigned_abs() % 1_000_000) as u32
    }

    /// Rounded half away from zero to `fsp` fractional digits; clamped to the largest TIME.
    pub fn round(self, fsp: u8) -> Self {
        let unit = i64::from(fsp_unit(fsp));
        let rest = self.0 % unit;
        let cut = self.0 - rest;
        let rounded = if rest.abs() * 2 >= unit && rest != 0 {
            cut + unit * self.0.signum()
        } else {
            cut
        };
        Self(rounded).clamped()
    }

    /// Cut to `fsp` fractional digits.
    pub fn truncate(self, fsp: u8) -> Self {
        Self(self.0 - self.0 % i64::from(fsp_unit(fsp)))
    }

    /// The time of day of a point in time.
    pub fn of_datetime(value: &DateTime) -> Self {
        Self(value.time_of_day_us())
    }

    /// The point in time that is this span after midnight of `date`, as MySQL converts a TIME to a DATETIME.
    /// `None` out of range.
    pub fn on_date(self, date: &DateTime) -> Option<DateTime> {
        let days = self.0.div_euclid(MICROS_PER_DAY);
        DateTime::from_day_number(date.day_number() + days, self.0.rem_euclid(MICROS_PER_DAY))
    }

    /// Appends `[-]hh:mm:ss[.fraction]`, hours with at least two digits.
    pub fn write_text(&self, fsp: u8, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        write_padded(u64::from(self.hours()), 2, out);
        out.push(b':');
        write_two(self.minutes(), out);
        out.push(b':');
        write_two(self.seconds(), out);
        write_fraction(self.microseconds(), fsp, out);
    }

    pub fn to_text(&self, fsp: u8) -> String {
        let mut out = Vec::with_capacity(17);
        self.write_text(fsp, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// MySQL's numeric form of a TIME, without the fraction: `-8385959`.
    pub fn number(&self) -> i64 {
        let magnitude =
            i64::from(self.hours()) * 10_000 + i64::from(self.minutes()) * 100 + i64::from(self.seconds());
        if self.is_negative() { -magnitude } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_shows_sign_hours_and_fraction() {
        assert_eq!(Time(0).to_text(0), "00:00:00");
        assert_eq!(Time::MAX.to_text(6), "838:59:59.000000");
        assert_eq!(Time::MIN.to_text(0), "-838:59:59");
        assert_eq!(Time(-1).to_text(6), "-00:00:00.000001");
        assert_eq!(
            Time::new(false, 1, 2, 3, 456_000).unwrap().to_text(3),
            "01:02:03.456"
        );
    }

    #[test]
    fn limits() {
        assert_eq!(Time::new(false, 838, 59, 59, 1), None);
        assert_eq!(Time::new(true, 838, 59, 59, 0), Some(Time::MIN));
        assert_eq!(Time(i64::MAX).clamped(), Time::MAX);
    }

    #[test]
    fn rounding_is_symmetric() {
        assert_eq!(Time(1_500_000).round(0), Time(2_000_000));
        assert_eq!(Time(-1_500_000).round(0), Time(-2_000_000));
        assert_eq!(Time(-1_499_999).round(0), Time(-1_000_000));
        assert_eq!(Time(-1_999_999).truncate(0), Time(-1_000_000));
    }

    #[test]
    fn a_time_on_a_date_may_be_another_day() {
        let date = DateTime::from_date(2024, 1, 1);
        assert_eq!(
            Time(-1).on_date(&date).unwrap().datetime_text(6),
            "2023-12-31 23:59:59.999999"
        );
        assert_eq!(
            Time(25 * 3_600_000_000).on_date(&date).unwrap().datetime_text(0),
            "2024-01-02 01:00:00"
        );
    }

    #[test]
    fn numbers() {
        assert_eq!(Time::MIN.number(), -8_385_959);
        assert_eq!(Time(3_661_000_000).number(), 10_101);
    }
}
