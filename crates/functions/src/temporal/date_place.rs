//! The places of numbers among dates. `datetime_column > 1` compares the column's digits (`20240102030405`)
//! with 1, which is not a date. To use an index, such a number gets a place between two dates that preserves
//! the order.
//!
//! A place has the fields of a date, but need not be a date: its microseconds may be [`AFTER`] all others.

use types::temporal::{DateTime, calendar, fsp_unit};

use super::DateRules;

/// Microseconds of a place after every time of its second, and before the next second.
const AFTER: u32 = 10_000_000;

/// The largest value of year, month, day, hour, minute, second.
const LIMITS: [i64; 6] = [9999, 12, 31, 23, 59, 59];

/// The place of a number whose digits are not a date. A number that is compared with a DATE has eight digits;
/// with another type, fourteen.
pub(crate) fn of_number(whole: i64, nanoseconds: i32, beside_date: bool) -> DateTime {
    if whole < 0 || nanoseconds < 0 {
        // It is before all dates except the zero date, and must not equal the zero date.
        return DateTime {
            microsecond: 1,
            ..DateTime::ZERO
        };
    }
    let (date, time) = if beside_date {
        (whole, 0)
    } else {
        (whole / 1_000_000, whole % 1_000_000)
    };
    let mut fields = [
        date / 10_000,
        date / 100 % 100,
        date % 100,
        time / 10_000,
        time / 100 % 100,
        time % 100,
    ];
    let mut microsecond = (nanoseconds / 1000) as u32;
    if beside_date && nanoseconds > 0 {
        microsecond = microsecond.max(1);
    }
    // A field beyond its limit is after all dates with the same fields before it.
    if let Some(beyond) = fields.iter().zip(LIMITS).position(|(f, limit)| *f > limit) {
        for (field, limit) in fields.iter_mut().zip(LIMITS).skip(beyond) {
            *field = limit;
        }
        microsecond = AFTER;
    }
    with_fields(fields, microsecond)
}

fn with_fields([year, month, day, hour, minute, second]: [i64; 6], microsecond: u32) -> DateTime {
    DateTime {
        year: year as u16,
        month: month as u8,
        day: day as u8,
        hour: hour as u8,
        minute: minute as u8,
        second: second as u8,
        microsecond,
    }
}

/// Whether a column can store it. TIMESTAMPs (`zeros` is false) store only real days and the zero date.
pub(crate) fn is_stored(place: &DateTime, zeros: bool) -> bool {
    let real = place.microsecond < 1_000_000 && DateRules::ANY.accept(place);
    let zero = place.has_zero_in_date();
    let timed_zero_date = place.is_zero_date() && place.time_of_day_us() > 0;
    real && !timed_zero_date && (zeros || !zero || *place == DateTime::ZERO)
}

/// The last date that is not after the place.
pub(crate) fn below(place: &DateTime, zeros: bool) -> DateTime {
    let end_of = |year: u16, month: u8, day: u8| DateTime::new(year, month, day, 23, 59, 59, 999_999);
    if place.is_zero_date() {
        return DateTime::ZERO;
    }
    let mut at = DateTime {
        microsecond: place.microsecond.min(999_999),
        ..*place
    };
    let days = calendar::days_in_month(at.year, at.month);
    if at.month > 0 && at.day > days {
        at = end_of(at.year, at.month, days);
    }
    if zeros || !at.has_zero_in_date() {
        return at;
    }
    match (at.year, at.month) {
        (0, 0 | 1) => DateTime::ZERO,
        (year, 0 | 1) => end_of(year - 1, 12, 31),
        (year, month) => end_of(year, month - 1, calendar::days_in_month(year, month - 1)),
    }
}

/// The first date that is not before the place; `None` if there is none.
pub(crate) fn above(place: &DateTime, zeros: bool) -> Option<DateTime> {
    let mut fields = [
        i64::from(place.year),
        i64::from(place.month),
        i64::from(place.day),
        i64::from(place.hour),
        i64::from(place.minute),
        i64::from(place.second),
    ];
    let mut microsecond = place.microsecond;
    if microsecond >= 1_000_000 {
        microsecond = 0;
        // The next second, with carry.
        for (field, limit) in fields.iter_mut().zip(LIMITS).rev() {
            *field += 1;
            if *field <= limit {
                break;
            }
            *field = 0;
        }
        // The carry leaves the year 9999.
        if fields == [0; 6] {
            return None;
        }
    }
    let mut at = with_fields(fields, microsecond);
    if at.is_zero_date() {
        // The zero date has no time of day: the first day of month 0 comes next.
        at = DateTime::from_date(0, 0, 1);
    }
    if at.month > 0 && at.day > calendar::days_in_month(at.year, at.month) {
        at = match at.month {
            12 => DateTime::from_date(at.year + 1, 0, 0),
            month => DateTime::from_date(at.year, month + 1, 0),
        };
    }
    if !zeros && at.has_zero_in_date() {
        at = DateTime::from_date(at.year, at.month.max(1), at.day.max(1));
        if at.day > calendar::days_in_month(at.year, at.month) {
            at = DateTime::from_date(at.year, at.month + 1, 1);
        }
    }
    (at.year <= 9999).then_some(at)
}

/// The first value that a column can hold after `date`, one of its own: the next day of a DATE, else the next
/// unit of the last of `fsp` fractional digits.
pub(crate) fn next(date: &DateTime, is_date: bool, fsp: u8, zeros: bool) -> Option<DateTime> {
    if is_date {
        let end = DateTime {
            hour: 23,
            minute: 59,
            second: 59,
            microsecond: AFTER,
            ..*date
        };
        return above(&end, zeros);
    }
    let microsecond = date.microsecond + fsp_unit(fsp);
    if microsecond < 1_000_000 {
        return Some(DateTime { microsecond, ..*date });
    }
    let after = DateTime {
        microsecond: AFTER,
        ..*date
    };
    above(&after, zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored() -> Vec<DateTime> {
        let mut dates = vec![
            DateTime::ZERO,
            DateTime::from_date(0, 0, 1),
            DateTime::from_date(2024, 0, 0),
            DateTime::from_date(2024, 2, 0),
            DateTime::new(2024, 2, 29, 23, 59, 59, 0),
            DateTime::from_date(2024, 3, 0),
            DateTime::from_date(2024, 3, 1),
            DateTime::new(2024, 12, 31, 23, 59, 59, 999_999),
            DateTime::from_date(2025, 1, 1),
            DateTime::MAX,
        ];
        dates.sort();
        dates
    }

    /// A place stands among dates as the number among the dates' numbers, and so do the keys on both sides of
    /// it.
    #[test]
    fn order_is_that_of_numbers() {
        for number in [
            1_i64,
            99,
            20_240_000_000_001,
            20_240_230_000_000,
            20_240_229_240_000,
            20_240_229_235_960,
            20_241_301_000_000,
            99_991_232_000_000,
            i64::MAX,
        ] {
            let place = of_number(number, 0, false);
            for date in stored() {
                let by_number = (date.datetime_number() as i64).cmp(&number);
                assert_eq!(
                    date.pack().cmp(&place.pack()),
                    by_number,
                    "{date:?} beside {number}"
                );
                for zeros in [true, false] {
                    if !is_stored(&date, zeros) {
                        continue;
                    }
                    let under = below(&place, zeros);
                    assert_eq!(
                        date <= under,
                        by_number.is_le(),
                        "{date:?} <= {under:?} for {number}"
                    );
                    let over = above(&place, zeros);
                    assert_eq!(
                        over.is_some_and(|o| date >= o),
                        by_number.is_ge(),
                        "{date:?} >= {over:?} for {number}"
                    );
                }
            }
        }
    }

    #[test]
    fn next_values() {
        let text = |d: Option<DateTime>| d.map_or("none".to_owned(), |d| d.datetime_text(3));
        let day = DateTime::from_date(2024, 2, 29);
        assert_eq!(text(next(&day, true, 0, true)), "2024-03-00 00:00:00.000");
        assert_eq!(text(next(&day, false, 3, true)), "2024-02-29 00:00:00.001");
        let last = DateTime::new(2024, 12, 31, 23, 59, 59, 999_000);
        assert_eq!(text(next(&last, false, 3, false)), "2025-01-01 00:00:00.000");
        assert_eq!(
            text(next(&DateTime::from_date(2024, 0, 0), true, 0, true)),
            "2024-00-01 00:00:00.000"
        );
        assert_eq!(
            text(next(&DateTime::from_date(9999, 12, 31), true, 0, true)),
            "none"
        );
    }

    #[test]
    fn beside_a_date_numbers_have_eight_digits() {
        let place = of_number(20_240_230, 0, true);
        assert!(place > DateTime::from_date(2024, 2, 29) && place < DateTime::from_date(2024, 3, 1));
        assert!(of_number(20_240_101_000_000, 0, true) > DateTime::MAX);
        assert!(of_number(-5, 0, true) < DateTime::from_date(0, 0, 1));
    }
}
