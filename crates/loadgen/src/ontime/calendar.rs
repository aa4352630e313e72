//! The dates of flights: rows lie in the order of time, with as many per year as in the real data.

/// The first and last year of the data, and each year's flights in ten thousands.
const FIRST_YEAR: u16 = 1988;
const YEARS: [u64; 28] = [
    520, 504, 527, 508, 509, 507, 518, 533, 535, 541, 538, 553, 568, 597, 527, 649, 713, 714, 714, 745, 701,
    645, 645, 609, 610, 637, 582, 582,
];

/// A day of the proleptic Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
}

impl Day {
    /// 1 is Monday.
    pub fn of_week(self) -> u8 {
        // Sakamoto's algorithm: months are numbered from March, so that the leap day comes last.
        const SHIFT: [u32; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
        let year = u32::from(self.year) - u32::from(self.month < 3);
        let shift = SHIFT[usize::from(self.month - 1) % 12];
        let sunday_is_0 = (year + year / 4 - year / 100 + year / 400 + shift + u32::from(self.day)) % 7;
        if sunday_is_0 == 0 { 7 } else { sunday_is_0 as u8 }
    }

    pub fn quarter(self) -> u8 {
        (self.month - 1) / 3 + 1
    }

    /// The day with this number within its year; 0 is the first of January.
    fn of_year(year: u16, mut number: u64) -> Self {
        for month in 1..12 {
            let days = u64::from(days_in_month(year, month));
            if number < days {
                return Self {
                    year,
                    month,
                    day: number as u8 + 1,
                };
            }
            number -= days;
        }
        Self {
            year,
            month: 12,
            day: number.min(30) as u8 + 1,
        }
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day of a row, out of `rows`. Later rows have later days.
pub fn day_of_row(row: u64, rows: u64) -> Day {
    let total: u128 = YEARS.iter().map(|n| u128::from(*n)).sum();
    // Positions are fractions of `rows`, so all terms are multiplied by it.
    let mut position = u128::from(row.min(rows.saturating_sub(1))) * total;
    for (i, flights) in YEARS.iter().enumerate() {
        let in_year = u128::from(*flights) * u128::from(rows);
        if position < in_year {
            let year = FIRST_YEAR + i as u16;
            let days = 365 + u128::from(is_leap(year));
            return Day::of_year(year, (position * days / in_year) as u64);
        }
        position -= in_year;
    }
    Day::of_year(FIRST_YEAR, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days_of_the_week() {
        let day = |year, month, day| Day { year, month, day }.of_week();
        assert_eq!(day(2000, 2, 29), 2);
        assert_eq!(day(1988, 1, 1), 5);
        assert_eq!(day(2015, 12, 31), 4);
        assert_eq!(day(2011, 5, 1), 7);
    }

    #[test]
    fn rows_cover_all_years_in_order() {
        let rows = 200_000;
        let mut last = day_of_row(0, rows);
        let mut days = 1;
        assert_eq!((last.year, last.month, last.day), (1988, 1, 1));
        for row in 1..rows {
            let day = day_of_row(row, rows);
            assert!(day >= last);
            days += u32::from(day != last);
            last = day;
        }
        assert_eq!((last.year, last.month, last.day), (2015, 12, 31));
        // 28 years, 7 of them leap years.
        assert_eq!(days, 28 * 365 + 7);
    }

    #[test]
    fn few_rows_have_days_too() {
        assert_eq!(day_of_row(0, 1).year, 1988);
        assert_eq!(day_of_row(5, 0).year, 1988);
        assert!(day_of_row(1, 2).year > 1999);
    }
}
