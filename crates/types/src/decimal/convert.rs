//! Decimals from and to integers and floating point.

use super::{Decimal, POW10_I128};
use crate::number_text;

impl Decimal {
    pub const fn from_i64(value: i64) -> Self {
        Self::from_i128(value as i128, 0)
    }

    pub const fn from_u64(value: u64) -> Self {
        Self::from_i128(value as i128, 0)
    }

    /// The shortest decimal that reads back as `value`, as MySQL converts. `None` if it is not finite or has
    /// more than 65 digits.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let mut text = Vec::with_capacity(32);
        number_text::write_f64(value, &mut text);
        let parsed = Self::parse_prefix(&text);
        (parsed.consumed == text.len() && !parsed.overflow).then_some(parsed.value)
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        const EXACT: i128 = 1 << 53;
        if let Some(v) = self.unscaled.to_i128()
            && (-EXACT..=EXACT).contains(&v)
            && self.scale <= 22
        {
            // Both are exact doubles, so the division rounds only once.
            return v as f64 / POW10_I128[usize::from(self.scale)] as f64;
        }
        self.to_text().parse().unwrap_or(f64::NAN)
    }

    /// Rounded half away from zero; `None` out of range (the caller clamps by the sign).
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.to_i128()?).ok()
    }

    /// Rounded half away from zero; `None` out of range, also if the result is negative.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(self.to_i128()?).ok()
    }

    /// Rounded half away from zero; `None` out of range.
    pub fn to_i128(&self) -> Option<i128> {
        self.rescale(0)?.unscaled.to_i128()
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self::from_i64(value)
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Self::from_u64(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn integers_round_half_away_from_zero() {
        assert_eq!(d("2.5").to_i64(), Some(3));
        assert_eq!(d("-2.5").to_i64(), Some(-3));
        assert_eq!(d("9223372036854775807.4").to_i64(), Some(i64::MAX));
        assert_eq!(d("9223372036854775807.5").to_i64(), None);
        assert_eq!(d("18446744073709551615").to_u64(), Some(u64::MAX));
        assert_eq!(d("-0.4").to_u64(), Some(0));
        assert_eq!(d("-0.5").to_u64(), None);
        assert_eq!(Decimal::max_value(65, 0).to_i64(), None);
    }

    #[test]
    fn doubles_are_the_nearest() {
        assert_eq!(d("0.1").to_f64(), 0.1);
        assert_eq!(d("123456789012345678.9").to_f64(), 123456789012345678.9);
        assert_eq!(d("-0.000000000000000000000000000001").to_f64(), -1e-30);
        assert_eq!(Decimal::from_f64(0.1).unwrap().to_text(), "0.1");
        assert_eq!(
            Decimal::from_f64(1e20).unwrap().to_text(),
            "100000000000000000000"
        );
        assert_eq!(Decimal::from_f64(f64::NAN), None);
        assert_eq!(Decimal::from_f64(1e65), None);
    }
}
