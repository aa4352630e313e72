//! Locales: the names of months and days, and how FORMAT() writes numbers.
//!
//! `locales.tsv` has MySQL 8.0.33's locales, in the order of their numbers in MySQL: name, thousands
//! separator, decimal point, digits of a group (0: no groups; 32: three, then two each), months, short
//! months, days, short days.
//!
//! Source: manual 10.16, "MySQL Server Locale Support".

use std::sync::LazyLock;

/// See the module.
#[derive(Debug)]
pub struct Locale {
    pub name: &'static str,
    thousands: &'static str,
    point: &'static str,
    groups: Groups,
    /// January first.
    months: Vec<&'static str>,
    short_months: Vec<&'static str>,
    /// Monday first.
    days: Vec<&'static str>,
    short_days: Vec<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Groups {
    None,
    Threes,
    ThreeThenTwos,
}

static LOCALES: LazyLock<Vec<Locale>> =
    LazyLock::new(|| include_str!("locales.tsv").lines().map(Locale::of_line).collect());

static EN_US: LazyLock<Locale> = LazyLock::new(|| {
    let line = include_str!("locales.tsv").lines().next();
    Locale::of_line(line.unwrap_or_default())
});

impl Locale {
    fn of_line(line: &'static str) -> Self {
        let mut fields = line.split('\t');
        let mut text = || fields.next().unwrap_or_default();
        let (name, thousands, point) = (text(), text(), text());
        let groups = match text() {
            "3" => Groups::Threes,
            "32" => Groups::ThreeThenTwos,
            _ => Groups::None,
        };
        let mut names = || text().split('|').collect();
        Self {
            name,
            thousands,
            point,
            groups,
            months: names(),
            short_months: names(),
            days: names(),
            short_days: names(),
        }
    }

    /// The default locale.
    pub fn en_us() -> &'static Self {
        &EN_US
    }

    /// The locale with a name, in any letter case.
    pub fn named(name: &str) -> Option<&'static Self> {
        LOCALES
            .iter()
            .find(|locale| locale.name.eq_ignore_ascii_case(name))
    }

    /// The locale of MySQL's number.
    pub fn numbered(number: usize) -> Option<&'static Self> {
        LOCALES.get(number)
    }

    /// The name of a month, from 1 on.
    pub(crate) fn month(&self, month: u8, short: bool) -> Option<&'static str> {
        let names = if short { &self.short_months } else { &self.months };
        names.get(usize::from(month).checked_sub(1)?).copied()
    }

    /// The name of a day, from Monday = 0 on.
    pub(crate) fn day(&self, weekday: u8, short: bool) -> Option<&'static str> {
        let names = if short { &self.short_days } else { &self.days };
        names.get(usize::from(weekday)).copied()
    }

    /// A number in plain digits, with this locale's separators.
    pub(crate) fn grouped(&self, number: &str) -> String {
        let (sign, unsigned) = match number.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", number),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let mut out = sign.to_owned();
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && self.separates(whole.len() - i) {
                out.push_str(self.thousands);
            }
            out.push(digit);
        }
        if !fraction.is_empty() {
            out.push_str(self.point);
            out.push_str(fraction);
        }
        out
    }

    /// Whether a separator stands before the last `left` digits.
    fn separates(&self, left: usize) -> bool {
        match self.groups {
            Groups::None => false,
            Groups::Threes => left.is_multiple_of(3),
            Groups::ThreeThenTwos => left >= 3 && (left - 3).is_multiple_of(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_is_whole() {
        assert_eq!(LOCALES.len(), 111);
        assert_eq!(Locale::en_us().name, "en_US");
        for locale in LOCALES.iter() {
            let name = locale.name;
            assert_eq!(
                (locale.months.len(), locale.short_months.len()),
                (12, 12),
                "{name}"
            );
            assert_eq!((locale.days.len(), locale.short_days.len()), (7, 7), "{name}");
            assert_eq!(
                locale.thousands.is_empty(),
                locale.groups == Groups::None,
                "{name}"
            );
            assert!(std::ptr::eq(Locale::named(&name.to_uppercase()).unwrap(), locale));
        }
    }

    #[test]
    fn numbers() {
        let of = |name: &str, number| Locale::named(name).unwrap().grouped(number);
        assert_eq!(of("en_US", "-1234567.8"), "-1,234,567.8");
        assert_eq!(of("en_IN", "1234567"), "12,34,567");
        assert_eq!(of("de_AT", "1234567.8"), "1234567,8");
    }
}
