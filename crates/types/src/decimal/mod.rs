//! Exact decimal numbers of up to 65 digits.
//!
//! - This file: the number, its limits, its order.
//! - `arithmetic`: sums, products, quotients, rounding, each with MySQL's scale of the result.
//! - `text`: reading and printing.
//! - `convert`: integers and floating point.
//!
//! Not here: which scale an *expression* has (`planner`), and the bytes on disk (`codec`).

mod arithmetic;
pub mod binary;
mod convert;
mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use arrow::datatypes::i256;

pub use text::{Cut, ParsedDecimal};

/// An exact number: `unscaled / 10^scale`. Columns hold at most 65 digits, at most 30 of them after the
/// point.
///
/// Equality, order and hash are those of the number: `1.50 == 1.5`. Intermediate results have up to 76 digits
/// (MySQL's have up to 81). Operations return `None` beyond that, which becomes error 1690. Before a number
/// is stored, [`Decimal::fits`] checks it against its column's precision of at most 65.
///
/// Source: MySQL 8.0 manual, 12.25 "Precision Math".
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    pub unscaled: i256,
    pub scale: u8,
}

/// Powers of ten that fit 128 bits.
const POW10_I128: [i128; 39] = {
    let mut table = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// Powers of ten that fit 256 bits: up to 76.
const POW10_I256: [i256; 77] = {
    let mut table = [i256::ONE; 77];
    let mut i = 1;
    while i < 77 {
        table[i] = table[i - 1].wrapping_mul(i256::from_i128(10));
        i += 1;
    }
    table
};

/// `10^n` if it fits.
pub(crate) fn pow10(n: u32) -> Option<i256> {
    POW10_I256.get(n as usize).copied()
}

pub(crate) fn pow10_i128(n: u32) -> Option<i128> {
    POW10_I128.get(n as usize).copied()
}

impl Decimal {
    pub const MAX_DIGITS: u8 = 65;
    pub const MAX_SCALE: u8 = 30;
    /// How many digits an intermediate result may have: all that fit 256 bits.
    pub const MAX_WORKING_DIGITS: u8 = 76;
    pub const ZERO: Self = Self::new(i256::ZERO, 0);

    pub const fn new(unscaled: i256, scale: u8) -> Self {
        Self { unscaled, scale }
    }

    pub const fn from_i128(unscaled: i128, scale: u8) -> Self {
        Self::new(i256::from_i128(unscaled), scale)
    }

    /// The largest `DECIMAL(precision, scale)`. Values out of range are clamped to it.
    pub fn max_value(precision: u8, scale: u8) -> Self {
        let limit = pow10(u32::from(precision)).unwrap_or(i256::MAX);
        Self::new(limit.wrapping_sub(i256::ONE), scale)
    }

    pub fn is_zero(&self) -> bool {
        self.unscaled == i256::ZERO
    }

    pub fn is_negative(&self) -> bool {
        self.unscaled.is_negative()
    }

    /// Number of decimal digits of the unscaled value, at least 1: `12.30` has 4, `0.05` has 1.
    pub fn digits(&self) -> u8 {
        if let Some(v) = self.unscaled.to_i128() {
            return v.unsigned_abs().checked_ilog10().map_or(1, |log| log as u8 + 1);
        }
        let abs = self.unscaled.wrapping_abs();
        // More than 38 digits: i128::MAX has 39.
        let mut digits = 38;
        while pow10(digits).is_some_and(|p| p <= abs) {
            digits += 1;
        }
        digits as u8
    }

    /// Digits before the point, 0 for numbers below one.
    pub fn integer_digits(&self) -> u8 {
        if self.is_zero() {
            0
        } else {
            self.digits().saturating_sub(self.scale)
        }
    }

    /// Whether the number, once rounded to `scale`, fits a `DECIMAL(precision, scale)`.
    pub fn fits(&self, precision: u8, scale: u8) -> bool {
        self.rescale(scale)
            .is_some_and(|d| d.is_zero() || d.digits() <= precision)
    }

    /// The number itself, unless it has more than [`Decimal::MAX_WORKING_DIGITS`] digits.
    pub(crate) fn checked(self) -> Option<Self> {
        (self.unscaled.to_i128().is_some() || self.digits() <= Self::MAX_WORKING_DIGITS).then_some(self)
    }

    /// Without trailing zeros in the fraction, so that equal numbers have equal forms.
    pub fn normalized(self) -> Self {
        if self.is_zero() {
            return Self::ZERO;
        }
        let mut d = self;
        if let Some(mut v) = d.unscaled.to_i128() {
            while d.scale > 0 && v % 10 == 0 {
                v /= 10;
                d.scale -= 1;
            }
            return Self::from_i128(v, d.scale);
        }
        let ten = i256::from_i128(10);
        while d.scale > 0 && d.unscaled.wrapping_rem(ten) == i256::ZERO {
            d.unscaled = d.unscaled.wrapping_div(ten);
            d.scale -= 1;
        }
        d
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        if self.scale > other.scale {
            return other.cmp(self).reverse();
        }
        let shift = u32::from(other.scale - self.scale);
        if let (Some(a), Some(b), Some(p)) = (
            self.unscaled.to_i128(),
            other.unscaled.to_i128(),
            pow10_i128(shift),
        ) && let Some(a) = a.checked_mul(p)
        {
            return a.cmp(&b);
        }
        match pow10(shift).and_then(|p| self.unscaled.checked_mul(p)) {
            Some(scaled) => scaled.cmp(&other.unscaled),
            // The scaled value does not fit 256 bits, so it is further from zero than the other.
            None if self.is_zero() => i256::ZERO.cmp(&other.unscaled),
            None if self.is_negative() => Ordering::Less,
            None => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let d = self.normalized();
        d.unscaled.hash(state);
        d.scale.hash(state);
    }
}

impl Default for Decimal {
    fn default() -> Self {
        Self::ZERO
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn order_does_not_see_the_scale() {
        assert_eq!(d("1.5"), d("1.500"));
        assert!(d("1.49999") < d("1.5"));
        assert!(d("-2") < d("-1.999999999999999999999999999999"));
        let big = Decimal::max_value(65, 0);
        assert!(big > d("0.000000000000000000000000000001"));
        assert!(big.neg() < d("0.000000000000000000000000000001"));
        assert_eq!(d("0"), d("0.000"));
    }

    #[test]
    fn equal_numbers_hash_alike() {
        let set: HashSet<_> = [d("1.5"), d("1.50"), d("0"), d("0.00")].into();
        assert_eq!(set.len(), 2);
    }

    #[test]
    fn digits_are_counted_across_128_bits() {
        for (text, digits) in [("0", 1), ("9", 1), ("10", 2), ("-0.05", 1), ("12.30", 4)] {
            assert_eq!(d(text).digits(), digits, "{text}");
        }
        for precision in 1..=65 {
            assert_eq!(Decimal::max_value(precision, 0).digits(), precision);
        }
        assert_eq!(d(&format!("1{}", "0".repeat(38))).digits(), 39);
        assert_eq!(d(&format!("1{}", "0".repeat(64))).digits(), 65);
    }

    #[test]
    fn fits_looks_at_the_rounded_number() {
        assert!(d("9.994").fits(3, 2));
        assert!(!d("9.995").fits(3, 2));
        assert!(d("0").fits(2, 2));
    }
}
