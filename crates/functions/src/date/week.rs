//! Week numbers, in MySQL's eight modes.
//!
//! Source: manual 12.7, the table of WEEK()'s modes.

use types::temporal::{DateTime, calendar};

/// How weeks are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WeekRule {
    /// True: weeks begin on Monday. False: on Sunday.
    pub monday_first: bool,
    /// True: the days before the first week belong to the last week of the previous year. False: to week 0.
    pub whole_year: bool,
    /// True: the first week is the one with the year's first Sunday (or Monday). False: the one with at least
    /// four days of the year.
    pub first_day_decides: bool,
}

impl WeekRule {
    pub const SUNDAY: Self = Self::new(false, false, true);
    pub const MONDAY: Self = Self::new(true, false, false);
    pub const SUNDAY_OF_YEAR: Self = Self::new(false, true, true);
    pub const MONDAY_OF_YEAR: Self = Self::new(true, true, false);

    const fn new(monday_first: bool, whole_year: bool, first_day_decides: bool) -> Self {
        Self {
            monday_first,
            whole_year,
            first_day_decides,
        }
    }

    /// The rule of WEEK()'s second argument, whose last three bits are used.
    pub fn of_mode(mode: i64) -> Self {
        let monday_first = mode & 1 != 0;
        Self {
            monday_first,
            whole_year: mode & 2 != 0,
            first_day_decides: (mode & 4 != 0) == monday_first,
        }
    }

    /// The week of a date, and the year that week belongs to.
    pub fn week(self, date: &DateTime) -> (i64, i64) {
        let day = date.day_number();
        let mut year = i64::from(date.year);
        let mut whole_year = self.whole_year;
        let mut first = calendar::day_number(date.year, 1, 1);
        // 0 is the day weeks begin on.
        let mut weekday = (first + 5 + i64::from(!self.monday_first)).rem_euclid(7);
        let partial = |weekday: i64| {
            if self.first_day_decides {
                weekday != 0
            } else {
                weekday >= 4
            }
        };
        if date.month == 1 && i64::from(date.day) <= 7 - weekday {
            if !whole_year && partial(weekday) {
                return (0, year);
            }
            whole_year = true;
            year -= 1;
            let days = days_in_year(year);
            first -= days;
            weekday = (weekday + 53 * 7 - days) % 7;
        }
        let days = if partial(weekday) {
            day - (first + 7 - weekday)
        } else {
            day - (first - weekday)
        };
        if whole_year && days >= 52 * 7 {
            let next = (weekday + days_in_year(year)) % 7;
            if !partial(next) {
                return (1, year + 1);
            }
        }
        (days / 7 + 1, year)
    }
}

fn days_in_year(year: i64) -> i64 {
    u16::try_from(year).map_or(366, |y| i64::from(calendar::days_in_year(y)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 answers WEEK and YEARWEEK.
    #[test]
    fn weeks() {
        for (date, mode, expected) in [
            ((2008, 2, 20), 0, 7),
            ((2008, 2, 20), 1, 8),
            ((2008, 12, 31), 1, 53),
            ((2000, 1, 1), 0, 0),
            ((2000, 1, 1), 2, 52),
            ((2008, 12, 29), 3, 1),
            ((2006, 1, 1), 6, 1),
            ((2007, 12, 31), 7, 53),
            ((2008, 1, 1), 4, 1),
            ((2008, 1, 1), 5, 0),
            ((2024, 1, 1), 8, 0),
            ((2023, 12, 31), 3, 52),
        ] {
            let (year, month, day) = date;
            let date = DateTime::from_date(year, month, day);
            assert_eq!(
                WeekRule::of_mode(mode).week(&date).0,
                expected,
                "{date:?} mode {mode}"
            );
        }
        let first = DateTime::from_date(2024, 1, 1);
        assert_eq!(WeekRule::of_mode(2).week(&first), (53, 2023));
        assert_eq!(
            WeekRule::of_mode(3).week(&DateTime::from_date(2024, 12, 30)),
            (1, 2025)
        );
    }
}
