//! Arithmetic of decimals. Numbers that fit 128 bits take a fast path.

use arrow::datatypes::i256;
use num_bigint::{BigInt, Sign};

use super::{Decimal, pow10, pow10_i128};

/// Operations return `None` if the result has more than [`Decimal::MAX_WORKING_DIGITS`] digits.
impl Decimal {
    #[allow(clippy::should_implement_trait)] // The others return Options, so they cannot be operators.
    pub fn neg(self) -> Self {
        Self::new(self.unscaled.wrapping_neg(), self.scale)
    }

    pub fn abs(self) -> Self {
        Self::new(self.unscaled.wrapping_abs(), self.scale)
    }

    /// The sum, at the larger of the two scales.
    #[allow(clippy::should_implement_trait)]
    pub fn add(&self, other: &Self) -> Option<Self> {
        if self.scale == other.scale
            && let (Some(a), Some(b)) = (self.unscaled.to_i128(), other.unscaled.to_i128())
            && let Some(sum) = a.checked_add(b)
        {
            return Some(Self::from_i128(sum, self.scale));
        }
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.widen(scale)?, other.widen(scale)?);
        Self::new(a.checked_add(b)?, scale).checked()
    }

    /// The difference, at the larger of the two scales.
    #[allow(clippy::should_implement_trait)]
    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.neg())
    }

    /// The product. Its scale is the sum of the two scales, rounded to 30 if that is more.
    #[allow(clippy::should_implement_trait)]
    pub fn mul(&self, other: &Self) -> Option<Self> {
        let scale = u32::from(self.scale) + u32::from(other.scale);
        let excess = scale.saturating_sub(u32::from(Self::MAX_SCALE));
        if excess == 0
            && let (Some(a), Some(b)) = (self.unscaled.to_i128(), other.unscaled.to_i128())
            && let Some(product) = a.checked_mul(b)
        {
            return Self::from_i128(product, scale as u8).checked();
        }
        if let Some(product) = self.unscaled.checked_mul(other.unscaled) {
            let kept = divide_rounding(product, pow10(excess)?);
            return Self::new(kept, (scale - excess) as u8).checked();
        }
        let product = to_big(self.unscaled) * to_big(other.unscaled);
        let kept = from_big(&big_divide_rounding(product, &big_pow10(excess)))?;
        Self::new(kept, (scale - excess) as u8).checked()
    }

    /// The quotient at MySQL's scale: this number's plus `div_precision_increment`, at most 30. `None` also
    /// for a division by zero, which callers check first.
    pub fn div(&self, other: &Self, div_precision_increment: u8) -> Option<Self> {
        let scale = self
            .scale
            .saturating_add(div_precision_increment)
            .min(Self::MAX_SCALE);
        self.div_to_scale(other, scale)
    }

    /// The quotient rounded to `scale`, half away from zero. `None` also for a division by zero.
    pub fn div_to_scale(&self, other: &Self, scale: u8) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        // self / other = (a / 10^s1) / (b / 10^s2), wanted times 10^scale: a * 10^(scale + s2 - s1) / b.
        let shift = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        let (up, down) = (shift.max(0) as u32, (-shift).max(0) as u32);
        if let (Some(a), Some(b)) = (self.unscaled.to_i128(), other.unscaled.to_i128())
            && let Some(a) = pow10_i128(up).and_then(|p| a.checked_mul(p))
            && let Some(b) = pow10_i128(down).and_then(|p| b.checked_mul(p))
        {
            return Self::from_i128(divide_rounding_i128(a, b)?, scale).checked();
        }
        if let Some(a) = pow10(up).and_then(|p| self.unscaled.checked_mul(p))
            && let Some(b) = pow10(down).and_then(|p| other.unscaled.checked_mul(p))
        {
            return Self::new(divide_rounding(a, b), scale).checked();
        }
        let a = to_big(self.unscaled) * big_pow10(up);
        let b = to_big(other.unscaled) * big_pow10(down);
        Self::new(from_big(&big_divide_rounding(a, &b))?, scale).checked()
    }

    /// `DIV`: the integer part of the quotient. `None` also for a division by zero.
    pub fn div_integer(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let shift = i32::from(other.scale) - i32::from(self.scale);
        let (up, down) = (shift.max(0) as u32, (-shift).max(0) as u32);
        let quotient = match (
            pow10(up).and_then(|p| self.unscaled.checked_mul(p)),
            pow10(down).and_then(|p| other.unscaled.checked_mul(p)),
        ) {
            (Some(a), Some(b)) => a.wrapping_div(b),
            _ => from_big(
                &(to_big(self.unscaled) * big_pow10(up) / (to_big(other.unscaled) * big_pow10(down))),
            )?,
        };
        Self::new(quotient, 0).checked()
    }

    /// The remainder, with the sign of `self` and the larger scale. `None` also for a division by zero.
    #[allow(clippy::should_implement_trait)]
    pub fn rem(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        let remainder = match (self.widen(scale), other.widen(scale)) {
            (Some(a), Some(b)) => match (a.to_i128(), b.to_i128()) {
                (Some(a), Some(b)) => i256::from_i128(a.wrapping_rem(b)),
                _ => a.wrapping_rem(b),
            },
            _ => {
                let up = |d: &Self| to_big(d.unscaled) * big_pow10(u32::from(scale - d.scale));
                from_big(&(up(self) % up(other)))?
            }
        };
        Self::new(remainder, scale).checked()
    }

    /// The same number at `scale`, rounded half away from zero if digits are dropped.
    pub fn rescale(&self, scale: u8) -> Option<Self> {
        if scale == self.scale {
            return Some(*self);
        }
        if scale > self.scale {
            return Self::new(self.widen(scale)?, scale).checked();
        }
        let divisor = u32::from(self.scale - scale);
        if let (Some(v), Some(p)) = (self.unscaled.to_i128(), pow10_i128(divisor)) {
            return Some(Self::from_i128(divide_rounding_i128(v, p)?, scale));
        }
        Some(match pow10(divisor) {
            Some(p) => Self::new(divide_rounding(self.unscaled, p), scale),
            None => Self::new(i256::ZERO, scale),
        })
    }

    /// `ROUND(x, places)`: half away from zero; `places` below zero rounds before the point. The scale of the
    /// result is `places`, clamped between 0 and the number's own scale.
    pub fn round(&self, places: i32) -> Option<Self> {
        self.cut(places, Cut::Round)
    }

    /// `TRUNCATE(x, places)`.
    pub fn truncate(&self, places: i32) -> Self {
        // Rounding towards zero cannot overflow.
        self.cut(places, Cut::Truncate).unwrap_or(*self)
    }

    /// The largest integer that is not greater.
    pub fn floor(&self) -> Option<Self> {
        self.cut(0, Cut::Floor)
    }

    /// The smallest integer that is not less.
    pub fn ceil(&self) -> Option<Self> {
        self.cut(0, Cut::Ceil)
    }

    fn cut(&self, places: i32, how: Cut) -> Option<Self> {
        if places >= i32::from(self.scale) {
            return Some(*self);
        }
        let scale = places.max(0) as u8;
        let dropped = (i32::from(self.scale)).saturating_sub(places) as u32;
        let Some(p) = pow10(dropped) else {
            return Some(Self::new(i256::ZERO, scale));
        };
        let (quotient, remainder) = (self.unscaled.wrapping_div(p), self.unscaled.wrapping_rem(p));
        let one = if self.is_negative() {
            i256::MINUS_ONE
        } else {
            i256::ONE
        };
        let away = match how {
            Cut::Truncate => false,
            Cut::Round => is_half_or_more(remainder, p),
            Cut::Floor => remainder.is_negative(),
            Cut::Ceil => remainder.is_positive(),
        };
        let kept = if away {
            quotient.wrapping_add(one)
        } else {
            quotient
        };
        // Places before the point become zeros again.
        let zeros = pow10((-places).max(0) as u32)?;
        Self::new(kept.checked_mul(zeros)?, scale).checked()
    }

    /// The unscaled value at a scale that is at least as large.
    fn widen(&self, scale: u8) -> Option<i256> {
        if scale == self.scale {
            return Some(self.unscaled);
        }
        self.unscaled
            .checked_mul(pow10(u32::from(scale.checked_sub(self.scale)?))?)
    }
}

#[derive(Clone, Copy)]
enum Cut {
    Round,
    Truncate,
    Floor,
    Ceil,
}

/// Whether `|remainder| >= |divisor| / 2`.
fn is_half_or_more(remainder: i256, divisor: i256) -> bool {
    let (r, d) = (remainder.wrapping_abs(), divisor.wrapping_abs());
    // r * 2 >= d without the overflow.
    r >= d.wrapping_sub(r)
}

/// `a / b`, half away from zero.
fn divide_rounding(a: i256, b: i256) -> i256 {
    if b == i256::ONE {
        return a;
    }
    let (quotient, remainder) = (a.wrapping_div(b), a.wrapping_rem(b));
    if !is_half_or_more(remainder, b) || remainder == i256::ZERO {
        return quotient;
    }
    if a.is_negative() == b.is_negative() {
        quotient.wrapping_add(i256::ONE)
    } else {
        quotient.wrapping_sub(i256::ONE)
    }
}

fn divide_rounding_i128(a: i128, b: i128) -> Option<i128> {
    let (quotient, remainder) = (a.checked_div(b)?, a.checked_rem(b)?);
    let (r, d) = (remainder.unsigned_abs(), b.unsigned_abs());
    if r == 0 || r < d - r {
        return Some(quotient);
    }
    Some(if (a < 0) == (b < 0) {
        quotient + 1
    } else {
        quotient - 1
    })
}

/// The wide path, for products and shifted dividends of up to 130 digits.
fn to_big(v: i256) -> BigInt {
    BigInt::from_signed_bytes_le(&v.to_le_bytes())
}

fn from_big(v: &BigInt) -> Option<i256> {
    let bytes = v.to_signed_bytes_le();
    if bytes.len() > 32 {
        return None;
    }
    let mut full = [if v.sign() == Sign::Minus { 0xff } else { 0 }; 32];
    full[..bytes.len()].copy_from_slice(&bytes);
    Some(i256::from_le_bytes(full))
}

fn big_pow10(n: u32) -> BigInt {
    BigInt::from(10u8).pow(n)
}

fn big_divide_rounding(a: BigInt, b: &BigInt) -> BigInt {
    let negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
    let (quotient, remainder) = (&a / b, a % b);
    if BigInt::from(remainder.magnitude().clone()) * 2u8 < BigInt::from(b.magnitude().clone()) {
        quotient
    } else if negative {
        quotient - 1
    } else {
        quotient + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    fn text(value: Option<Decimal>) -> String {
        value.map_or("overflow".into(), |v| v.to_text())
    }

    #[test]
    fn sums_and_products() {
        assert_eq!(text(d("1.5").add(&d("2.25"))), "3.75");
        assert_eq!(text(d("1.5").sub(&d("2.25"))), "-0.75");
        assert_eq!(text(d("1.5").mul(&d("-2.25"))), "-3.375");
        // MySQL too goes beyond 65 digits inside an expression.
        let max = Decimal::max_value(65, 0);
        assert_eq!(text(max.add(&d("1"))), format!("1{}", "0".repeat(65)));
        assert_eq!(
            text(max.mul(&d("100000000000"))),
            format!("{}{}", "9".repeat(65), "0".repeat(11))
        );
        assert_eq!(max.mul(&d("1000000000000")), None);
        assert_eq!(Decimal::max_value(76, 0).add(&d("1")), None);
        assert_eq!(text(max.sub(&max)), "0");
        // 60 fractional digits are rounded to 30.
        let tiny = d("0.000000000000000000000000000005");
        assert_eq!(text(tiny.mul(&d("0.1"))), "0.000000000000000000000000000001");
        assert_eq!(text(tiny.mul(&tiny)), "0.000000000000000000000000000000");
        // Wider than 256 bits on the way.
        let a = d("12345678901234567890.123456789012345678901234567890");
        assert_eq!(
            text(a.mul(&a)),
            "152415787532388367504953515625666819450.083828733757049236500533455763"
        );
    }

    #[test]
    fn quotients_have_mysqls_scale() {
        assert_eq!(text(d("1").div(&d("3"), 4)), "0.3333");
        assert_eq!(text(d("2").div(&d("3"), 4)), "0.6667");
        assert_eq!(text(d("-2").div(&d("3"), 4)), "-0.6667");
        assert_eq!(text(d("1.00").div(&d("0.3"), 4)), "3.333333");
        assert_eq!(d("1").div(&d("0.00"), 4), None);
        let max = Decimal::max_value(65, 0);
        assert_eq!(text(max.div(&d("1"), 4)), format!("{}.0000", "9".repeat(65)));
        assert_eq!(max.div(&d("0.000000000001"), 4), None);
        assert_eq!(text(max.div_to_scale(&max, 30)), format!("1.{}", "0".repeat(30)));
        assert_eq!(text(d("7.5").div_integer(&d("-2"))), "-3");
        assert_eq!(text(max.div_integer(&d("0.000000000001"))), "overflow");
        assert_eq!(text(max.div_integer(&max.neg())), "-1");
    }

    #[test]
    fn remainders_have_the_dividends_sign() {
        assert_eq!(text(d("10.5").rem(&d("3"))), "1.5");
        assert_eq!(text(d("-10.5").rem(&d("3"))), "-1.5");
        assert_eq!(text(d("10").rem(&d("0.3"))), "0.1");
        let max = Decimal::max_value(65, 0);
        assert_eq!(
            text(max.rem(&d("0.000000000000000000000000000007"))),
            // 9...9 (65 nines) * 10^30 mod 7
            "0.000000000000000000000000000004"
        );
    }

    #[test]
    fn rounding_goes_away_from_zero_at_half() {
        assert_eq!(text(d("2.5").round(0)), "3");
        assert_eq!(text(d("-2.5").round(0)), "-3");
        assert_eq!(text(d("-2.4").round(0)), "-2");
        assert_eq!(text(d("1255").round(-1)), "1260");
        assert_eq!(text(d("1.255").round(2)), "1.26");
        assert_eq!(text(d("1.2").round(5)), "1.2");
        assert_eq!(text(d("49").round(-2)), "0");
        assert_eq!(text(d("50").round(-2)), "100");
        assert_eq!(text(d("5").round(-90)), "0");
        assert_eq!(d("-1.99").truncate(1).to_text(), "-1.9");
        assert_eq!(d("199").truncate(-2).to_text(), "100");
        assert_eq!(text(d("-1.5").floor()), "-2");
        assert_eq!(text(d("-1.5").ceil()), "-1");
        assert_eq!(text(d("1.1").ceil()), "2");
        assert_eq!(text(d("1.9").floor()), "1");
        assert_eq!(text(d("9.995").rescale(2)), "10.00");
        assert_eq!(Decimal::max_value(65, 0).rescale(12), None);
    }
}
