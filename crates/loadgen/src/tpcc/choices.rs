//! The standard's random choices: uniform, non-uniform (clause 2.1.6), last names and strings (4.3.2),
//! amounts of money.

use crate::random::Random;

pub const DISTRICTS: u64 = 10;
/// Customers and first orders of a district.
pub const CUSTOMERS: u64 = 3_000;
pub const ITEMS: u64 = 100_000;

/// The constant C of non-uniform last names, for loading and for running. The standard permits their
/// difference, 66 (2.1.6.1). They are fixed, so that a run with another seed asks for names that were
/// loaded.
const C_LAST_LOAD: u64 = 157;
const C_LAST_RUN: u64 = 223;

/// From `least` to `most`, both inclusive.
pub fn between(random: &mut Random, least: u64, most: u64) -> u64 {
    least + random.below(most.saturating_sub(least) + 1)
}

/// NURand(A, x, y): some values are far more frequent than others.
fn non_uniform(random: &mut Random, a: u64, c: u64, least: u64, most: u64) -> u64 {
    let bits = random.below(a + 1) | between(random, least, most);
    (bits + c) % (most - least + 1) + least
}

/// The constants of a run, and the choices that use them.
#[derive(Debug, Clone, Copy)]
pub struct Constants {
    customer: u64,
    item: u64,
}

impl Constants {
    /// All terminals of a run use the same constants.
    pub fn of_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self {
            customer: random.below(1024),
            item: random.below(8192),
        }
    }

    pub fn customer(self, random: &mut Random) -> u64 {
        non_uniform(random, 1023, self.customer, 1, CUSTOMERS)
    }

    pub fn item(self, random: &mut Random) -> u64 {
        non_uniform(random, 8191, self.item, 1, ITEMS)
    }
}

/// A last name that a terminal asks for.
pub fn last_name_to_find(random: &mut Random) -> String {
    last_name(non_uniform(random, 255, C_LAST_RUN, 0, 999))
}

/// The last name of a loaded customer: the first thousand customers have all names.
pub fn last_name_to_load(random: &mut Random, customer: u64) -> String {
    match customer {
        1..=1000 => last_name(customer - 1),
        _ => last_name(non_uniform(random, 255, C_LAST_LOAD, 0, 999)),
    }
}

/// Three syllables, one for each digit.
fn last_name(number: u64) -> String {
    const SYLLABLES: [&str; 10] = [
        "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
    ];
    [number / 100, number / 10, number]
        .map(|digit| SYLLABLES[(digit % 10) as usize])
        .concat()
}

/// Letters and digits, between `least` and `most` of them.
pub fn text(random: &mut Random, least: u64, most: u64) -> String {
    const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789xy";
    let length = between(random, least, most);
    let mut out = String::with_capacity(length as usize);
    let mut bits = 0;
    for position in 0..length {
        if position % 10 == 0 {
            bits = random.next_u64();
        }
        out.push(char::from(ALPHABET[(bits & 63) as usize]));
        bits >>= 6;
    }
    out
}

pub fn digits(random: &mut Random, length: usize) -> String {
    (0..length)
        .map(|_| char::from(b'0' + random.below(10) as u8))
        .collect()
}

/// Four digits and five ones.
pub fn zip(random: &mut Random) -> String {
    digits(random, 4) + "11111"
}

/// Text that contains ORIGINAL in one of ten cases.
pub fn data(random: &mut Random) -> String {
    let mut out = text(random, 26, 50);
    if random.below(10) == 0 {
        let at = random.below(out.len() as u64 - 7) as usize;
        out.replace_range(at..at + 8, "ORIGINAL");
    }
    out
}

/// Cents as a decimal number.
pub fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

/// Ten-thousandths as a decimal number below 1: taxes and discounts.
pub fn rate(random: &mut Random, most: u64) -> String {
    format!("0.{:04}", random.below(most + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_the_standards() {
        assert_eq!(last_name(0), "BARBARBAR");
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!(last_name(999), "EINGEINGEING");
        assert!((0..1000).all(|number| last_name(number).len() <= 16));
        let allowed = |delta: u64| (65..=119).contains(&delta) && delta != 96 && delta != 112;
        assert!(allowed(C_LAST_RUN - C_LAST_LOAD));
    }

    #[test]
    fn non_uniform_choices_stay_in_bounds_and_are_skewed() {
        let (mut random, constants) = (Random::new(1), Constants::of_seed(1));
        let mut counts = vec![0u32; 1 + ITEMS as usize];
        for _ in 0..100_000 {
            let item = constants.item(&mut random);
            assert!((1..=ITEMS).contains(&item));
            assert!((1..=CUSTOMERS).contains(&constants.customer(&mut random)));
            counts[item as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // Uniform choices would give the first thousand about 5 % of all.
        assert!(counts[..1000].iter().sum::<u32>() > 10_000);
    }

    #[test]
    fn strings_have_the_lengths_asked_for() {
        let mut random = Random::new(2);
        let mut original = 0;
        for _ in 0..1000 {
            assert!((8..=16).contains(&text(&mut random, 8, 16).len()));
            let data = data(&mut random);
            assert!((26..=50).contains(&data.len()));
            original += u32::from(data.contains("ORIGINAL"));
            assert_eq!(zip(&mut random).len(), 9);
        }
        assert!((60..140).contains(&original), "{original}");
    }

    #[test]
    fn money_is_exact() {
        assert_eq!(
            [money(5), money(-1050), money(30_000_000)],
            ["0.05", "-10.50", "300000.00"]
        );
    }
}
