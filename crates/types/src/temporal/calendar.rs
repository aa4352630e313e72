//! The proleptic Gregorian calendar, counted as MySQL counts it.

/// `TO_DAYS('1970-01-01')`.
pub const EPOCH_DAY_NUMBER: i64 = 719_528;

/// The largest day number: `TO_DAYS('9999-12-31')`.
pub const MAX_DAY_NUMBER: i64 = 3_652_424;

/// Whether February has 29 days. Year 0 has 28 here, as in MySQL.
pub fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

pub fn days_in_year(year: u16) -> u16 {
    if is_leap_year(year) { 366 } else { 365 }
}

/// Days of a month, 1 to 12; 0 for every other month.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}

/// `TO_DAYS`: days since the start of year 0. Month and day may be 0, as in `2024-00-00`; the zero date is
/// day 0.
pub fn day_number(year: u16, month: u8, day: u8) -> i64 {
    if year == 0 && month == 0 {
        return i64::from(day);
    }
    let (y, m, d) = (i64::from(year), i64::from(month), i64::from(day));
    let mut days = 365 * y + 31 * (m - 1) + d;
    // Leap days and short months are counted from March on. January and February belong to the year before.
    let leap_base = if m <= 2 {
        y - 1
    } else {
        days -= (m * 4 + 23) / 10;
        y
    };
    let leap_base = leap_base.max(0);
    // MySQL counts centuries this way, so year 0 is not a leap year.
    days + leap_base / 4 - (leap_base / 100 + 1) * 3 / 4
}

/// The date of a day number; `None` outside 0000-01-01 (day 1) to 9999-12-31.
pub fn date_of_day_number(days: i64) -> Option<(u16, u8, u8)> {
    if !(1..=MAX_DAY_NUMBER).contains(&days) {
        return None;
    }
    let mut year = (days * 100 / 36_525) as u16;
    // The estimate is off by at most a year either way.
    while day_number(year, 1, 1) > days {
        year -= 1;
    }
    while day_number(year, 1, 1) + i64::from(days_in_year(year)) <= days {
        year += 1;
    }
    let mut rest = days - day_number(year, 1, 1);
    for month in 1..=12 {
        let length = i64::from(days_in_month(year, month));
        if rest < length {
            return Some((year, month, rest as u8 + 1));
        }
        rest -= length;
    }
    None
}

/// 0 is Monday, as `WEEKDAY` counts.
pub fn weekday(day_number: i64) -> u8 {
    (day_number + 5).rem_euclid(7) as u8
}

/// Day of the year, from 1.
pub fn day_of_year(year: u16, month: u8, day: u8) -> u16 {
    (day_number(year, month, day) - day_number(year, 1, 1) + 1) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values MySQL 8.0.33 gave for `TO_DAYS`.
    #[test]
    fn day_numbers_are_mysqls() {
        for (date, number) in [
            ((1970, 1, 1), 719_528),
            ((9999, 12, 31), 3_652_424),
            ((2000, 2, 29), 730_544),
            ((2000, 3, 1), 730_545),
            ((1, 1, 1), 366),
            ((0, 1, 1), 1),
            ((0, 12, 31), 365),
            ((2024, 12, 31), 739_616),
        ] {
            assert_eq!(day_number(date.0, date.1, date.2), number, "{date:?}");
        }
    }

    #[test]
    fn every_day_comes_back() {
        let mut previous = (0, 0, 0);
        for days in 1..=MAX_DAY_NUMBER {
            let date = date_of_day_number(days).unwrap();
            assert_eq!(day_number(date.0, date.1, date.2), days, "{date:?}");
            assert!(date > previous);
            previous = date;
        }
        assert_eq!(date_of_day_number(0), None);
        assert_eq!(date_of_day_number(MAX_DAY_NUMBER + 1), None);
    }

    #[test]
    fn weekdays_start_on_monday() {
        assert_eq!(weekday(day_number(2024, 1, 1)), 0);
        assert_eq!(weekday(day_number(2024, 1, 7)), 6);
        assert_eq!(weekday(day_number(1970, 1, 1)), 3);
    }

    #[test]
    fn day_of_year_counts_from_one() {
        assert_eq!(day_of_year(2024, 1, 1), 1);
        assert_eq!(day_of_year(2024, 12, 31), 366);
        assert_eq!(day_of_year(2023, 3, 1), 60);
    }
}
