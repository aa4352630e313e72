//! Decimals as text.

use std::fmt;

use arrow::datatypes::i256;

use super::{Decimal, pow10, pow10_i128};

/// The result of [`Decimal::parse_prefix`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedDecimal {
    /// Zero if there was no number; the largest number with that sign and scale if there were too many
    /// digits.
    pub value: Decimal,
    /// How many bytes the number takes, with the spaces before it. 0: there is no number.
    pub consumed: usize,
    /// More than 65 digits, or more than that before the point.
    pub overflow: bool,
    /// Digits after the thirtieth fractional one were rounded away, and not all of them were zero.
    pub rounded: bool,
    /// Where MySQL's buffer of nine groups of nine digits, which do not reach over the point, is too short.
    pub cut: Option<Cut>,
}

/// What does not fit into MySQL's buffer for a decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Integer,
    Fraction,
}

/// `DECIMAL_BUFF_LENGTH`, and `DIG_PER_DEC1` of each.
const GROUPS: i64 = 9;
const GROUP_DIGITS: i64 = 9;

fn cut(before_point: i64, behind_point: i64) -> Option<Cut> {
    let groups = |digits: i64| (digits.max(0) + GROUP_DIGITS - 1) / GROUP_DIGITS;
    match groups(before_point) {
        integer if integer > GROUPS => Some(Cut::Integer),
        integer if integer + groups(behind_point) > GROUPS => Some(Cut::Fraction),
        _ => None,
    }
}

impl Decimal {
    /// Reads a number that is all of `text` except for spaces around it. `None` if the text is not a number
    /// or has more than 65 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let parsed = Self::parse_prefix(text.as_bytes());
        let rest = text.as_bytes().get(parsed.consumed..)?;
        (parsed.consumed > 0 && !parsed.overflow && rest.iter().all(is_space)).then_some(parsed.value)
    }

    /// Reads the number that `text` begins with: `[spaces][sign]digits[.digits][e[sign]digits]`.
    pub fn parse_prefix(text: &[u8]) -> ParsedDecimal {
        let none = ParsedDecimal {
            value: Self::ZERO,
            consumed: 0,
            overflow: false,
            rounded: false,
            cut: None,
        };
        let mut at = text.iter().take_while(|b| is_space(b)).count();
        let negative = match text.get(at) {
            Some(b'-') => {
                at += 1;
                true
            }
            Some(b'+') => {
                at += 1;
                false
            }
            _ => false,
        };
        let integer = digits_at(text, at);
        at += integer.len();
        let mut fraction: &[u8] = &[];
        if text.get(at) == Some(&b'.') {
            fraction = digits_at(text, at + 1);
            if !integer.is_empty() || !fraction.is_empty() {
                at += 1 + fraction.len();
            }
        }
        if integer.is_empty() && fraction.is_empty() {
            return none;
        }
        let exponent = exponent_at(text, &mut at);
        let mut parsed = assemble(integer, fraction, exponent, negative);
        parsed.consumed = at;
        parsed
    }

    /// Appends the number with exactly [`Decimal::scale`] digits after the point.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let mut buffer = [0u8; 80];
        let digits = unscaled_digits(self.unscaled, &mut buffer);
        if self.is_negative() {
            out.push(b'-');
        }
        let scale = usize::from(self.scale);
        if scale == 0 {
            out.extend_from_slice(digits);
        } else if digits.len() > scale {
            let (integer, fraction) = digits.split_at(digits.len() - scale);
            out.extend_from_slice(integer);
            out.push(b'.');
            out.extend_from_slice(fraction);
        } else {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + scale - digits.len(), b'0');
            out.extend_from_slice(digits);
        }
    }

    pub fn to_text(&self) -> String {
        let mut out = Vec::with_capacity(24);
        self.write_text(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_text())
    }
}

fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn digits_at(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or_default();
    let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    &rest[..len]
}

/// Reads `e[sign]digits`; leaves `at` unchanged if there is no exponent. The exponent is clamped to +-10,000,
/// far beyond any number's digits.
fn exponent_at(text: &[u8], at: &mut usize) -> i32 {
    if !matches!(text.get(*at), Some(b'e' | b'E')) {
        return 0;
    }
    let signed = matches!(text.get(*at + 1), Some(b'+' | b'-'));
    let negative = text.get(*at + 1) == Some(&b'-');
    let start = *at + 1 + usize::from(signed);
    let digits = digits_at(text, start);
    if digits.is_empty() {
        return 0;
    }
    *at = start + digits.len();
    let value = digits
        .iter()
        .fold(0i32, |v, d| (v * 10 + i32::from(d - b'0')).min(10_000));
    if negative { -value } else { value }
}

/// `integer.fraction * 10^exponent`, rounded to 30 fractional digits.
fn assemble(integer: &[u8], fraction: &[u8], exponent: i32, negative: bool) -> ParsedDecimal {
    let sign = |d: Decimal| if negative { d.neg() } else { d };
    let all = || integer.iter().chain(fraction).map(|d| d - b'0');
    // The position of the point among all digits, from the left.
    let point = integer.len() as i64 + i64::from(exponent);
    let total = (integer.len() + fraction.len()) as i64;
    let scale = (total - point).clamp(0, i64::from(Decimal::MAX_SCALE));
    // How many of the digits remain: those up to `scale` places after the point.
    let kept = (point + scale).clamp(0, total);
    let zeros = point + scale - kept;
    let mut value = ParsedDecimal {
        value: Decimal::new(i256::ZERO, scale as u8),
        consumed: 0,
        overflow: false,
        rounded: all().skip(kept as usize).any(|d| d != 0),
        cut: cut(point, total - point),
    };
    let round_up = point + scale >= 0 && all().nth(kept as usize).is_some_and(|d| d >= 5);
    let significant = all().skip_while(|d| *d == 0).count() as i64;
    let significant_kept = significant - (total - kept);
    let overflow = ParsedDecimal {
        value: sign(Decimal::max_value(Decimal::MAX_DIGITS, scale as u8)),
        overflow: true,
        ..value
    };
    if significant == 0 {
        return value;
    }
    if significant_kept > 0 && significant_kept + zeros > i64::from(Decimal::MAX_DIGITS) {
        return overflow;
    }
    let mut unscaled = i256::ZERO;
    let mut chunk = (0i128, 0u32);
    for digit in all().take(kept as usize) {
        chunk = (chunk.0 * 10 + i128::from(digit), chunk.1 + 1);
        if chunk.1 == 38 {
            unscaled = append_digits(unscaled, chunk);
            chunk = (0, 0);
        }
    }
    unscaled = append_digits(unscaled, chunk);
    if round_up {
        unscaled = unscaled.wrapping_add(i256::ONE);
    }
    if unscaled != i256::ZERO && zeros > 0 {
        unscaled = unscaled.wrapping_mul(pow10(zeros as u32).unwrap_or(i256::ONE));
    }
    let number = Decimal::new(unscaled, scale as u8);
    if number.digits() > Decimal::MAX_DIGITS {
        return overflow;
    }
    value.value = sign(number);
    value
}

fn append_digits(unscaled: i256, (chunk, len): (i128, u32)) -> i256 {
    if unscaled == i256::ZERO {
        return i256::from_i128(chunk);
    }
    let shift = i256::from_i128(pow10_i128(len).unwrap_or(1));
    unscaled.wrapping_mul(shift).wrapping_add(i256::from_i128(chunk))
}

/// The digits of the absolute value, at least one.
fn unscaled_digits(unscaled: i256, buffer: &mut [u8; 80]) -> &[u8] {
    let mut at = buffer.len();
    if let Some(small) = unscaled.to_i128() {
        write_u128(small.unsigned_abs(), 1, buffer, &mut at);
    } else {
        // i256::MIN, which no decimal holds, would stay negative here. It prints garbage, and does not panic.
        let base = i256::from_i128(POW_36);
        let mut rest = unscaled.wrapping_abs();
        loop {
            let low = rest.wrapping_rem(base).as_i128().unsigned_abs();
            rest = rest.wrapping_div(base);
            if rest == i256::ZERO {
                write_u128(low, 1, buffer, &mut at);
                break;
            }
            write_u128(low, 36, buffer, &mut at);
        }
    }
    &buffer[at..]
}

const POW_36: i128 = 10i128.pow(36);
const POW_18: u128 = 10u128.pow(18);

/// Writes the number leftwards from `at`, padded with zeros to `min_digits`.
fn write_u128(value: u128, min_digits: usize, buffer: &mut [u8; 80], at: &mut usize) {
    let end = *at;
    let mut rest = value;
    loop {
        // 64-bit division is several times faster than 128-bit.
        let (high, mut low) = match rest < POW_18 {
            true => (0, rest as u64),
            false => (rest / POW_18, (rest % POW_18) as u64),
        };
        let group_end = *at;
        while low >= 100 {
            let pair = (low % 100) as u8;
            low /= 100;
            *at -= 2;
            buffer[*at] = b'0' + pair / 10;
            buffer[*at + 1] = b'0' + pair % 10;
        }
        while low > 0 {
            *at -= 1;
            buffer[*at] = b'0' + (low % 10) as u8;
            low /= 10;
        }
        if high == 0 {
            break;
        }
        while group_end - *at < 18 {
            *at -= 1;
            buffer[*at] = b'0';
        }
        rest = high;
    }
    while end - *at < min_digits {
        *at -= 1;
        buffer[*at] = b'0';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "0",
            "0.0",
            "1",
            "-1",
            "0.05",
            "-0.05",
            "12.30",
            "123456789012345678",
            "1000000000000000000",
            "-170141183460469231731687303715884105728",
            "99999999999999999999999999999999999999999999999999999999999999999",
            "-12345678901234567890123456789012345.123456789012345678901234567890",
            "10000000000000000000000000000000000000000000000000000000.000000001",
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_text(), text);
        }
    }

    #[test]
    fn reads_what_mysql_reads() {
        for (text, expected) in [
            ("  1.5 ", "1.5"),
            ("+.5", "0.5"),
            ("5.", "5"),
            ("1e3", "1000"),
            ("1.25e1", "12.5"),
            ("1.25E-3", "0.00125"),
            ("-0", "0"),
            ("000123", "123"),
            ("1e-31", "0.000000000000000000000000000000"),
            ("5e-31", "0.000000000000000000000000000001"),
            (
                "1e64",
                "10000000000000000000000000000000000000000000000000000000000000000",
            ),
            ("0e5000", "0"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_text(), expected, "{text}");
        }
        for text in ["", " ", ".", "-", "e5", "1x", "1e", "1e65", "--1"] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_prefix_tells_how_far_it_reached() {
        let parsed = Decimal::parse_prefix(b" 12.5abc");
        assert_eq!((parsed.value.to_text().as_str(), parsed.consumed), ("12.5", 5));
        assert_eq!(Decimal::parse_prefix(b"1e+x").consumed, 1);
        assert_eq!(Decimal::parse_prefix(b"abc").consumed, 0);
        let parsed = Decimal::parse_prefix("9".repeat(66).as_bytes());
        assert!(parsed.overflow);
        assert_eq!(parsed.value, Decimal::max_value(65, 0));
        assert!(Decimal::parse_prefix(format!("0.{}1", "0".repeat(30)).as_bytes()).rounded);
        assert!(!Decimal::parse_prefix(format!("0.1{}", "0".repeat(40)).as_bytes()).rounded);
    }
}
