//! MySQL's binary form of decimals. Values of one precision and scale sort as the numbers do.
//!
//! Nine digits take four bytes. The digits of an incomplete group take as few bytes as can hold them. Digits
//! are grouped from the decimal point outwards. The first bit is flipped; negative numbers have every bit
//! flipped. One byte for the precision and one for the scale come first, as in TiDB.
//!
//! Source: MySQL's documented storage of DECIMAL, manual 12.25.2 "DECIMAL Data Type Characteristics".

use super::Decimal;
use arrow::datatypes::i256;

const GROUP_DIGITS: u8 = 9;
const GROUP_BYTES: usize = 4;

/// The bytes of an incomplete group, by the number of its digits.
const BYTES_OF_DIGITS: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

const POW10: [u32; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];

/// 65 digits are at most 8 groups before the point and 4 after it, incomplete ones included. No precision and
/// scale take more bytes than this.
const MAX_BYTES: usize = 40;

/// How the digits of a DECIMAL(precision, scale) are divided into groups, from left to right.
struct DigitGroups {
    leading_digits: u8,
    full_groups: usize,
    trailing_digits: u8,
}

impl DigitGroups {
    fn new(precision: u8, scale: u8) -> Option<Self> {
        if precision == 0
            || precision > Decimal::MAX_DIGITS
            || scale > precision
            || scale > Decimal::MAX_SCALE
        {
            return None;
        }
        let integer = precision - scale;
        Some(Self {
            leading_digits: integer % GROUP_DIGITS,
            full_groups: usize::from(integer / GROUP_DIGITS) + usize::from(scale / GROUP_DIGITS),
            trailing_digits: scale % GROUP_DIGITS,
        })
    }

    fn bytes(&self) -> usize {
        BYTES_OF_DIGITS[usize::from(self.leading_digits)]
            + self.full_groups * GROUP_BYTES
            + BYTES_OF_DIGITS[usize::from(self.trailing_digits)]
    }
}

/// Appends precision, scale and digits. The number is rounded to `scale`. `None` if it does not fit the
/// precision.
pub fn encode(value: &Decimal, precision: u8, scale: u8, out: &mut Vec<u8>) -> Option<()> {
    let groups = DigitGroups::new(precision, scale)?;
    let value = value
        .rescale(scale)
        .filter(|v| v.is_zero() || v.digits() <= precision)?;
    out.extend_from_slice(&[precision, scale]);
    let mut buffer = [0u8; MAX_BYTES];
    let digits = &mut buffer[..groups.bytes()];
    let (low, high) = value.unscaled.wrapping_abs().to_parts();
    match u64::try_from(low) {
        Ok(magnitude) if high == 0 => write_groups_u64(magnitude, &groups, digits),
        _ => write_groups(value.unscaled.wrapping_abs(), &groups, digits),
    }
    if let Some(first) = digits.first_mut() {
        *first ^= 0x80;
    }
    if value.is_negative() {
        digits.iter_mut().for_each(|b| *b = !*b);
    }
    out.extend_from_slice(digits);
    Some(())
}

/// Writes groups from the right. `next(n)` removes the `n` lowest digits of the rest and returns them.
fn write_groups_with(mut next: impl FnMut(u8) -> u32, groups: &DigitGroups, out: &mut [u8]) {
    let mut end = out.len();
    let mut put = |digits: u8, bytes: usize| {
        let group = next(digits).to_be_bytes();
        let start = end - bytes;
        out[start..end].copy_from_slice(&group[GROUP_BYTES - bytes..]);
        end = start;
    };
    if groups.trailing_digits > 0 {
        put(
            groups.trailing_digits,
            BYTES_OF_DIGITS[usize::from(groups.trailing_digits)],
        );
    }
    for _ in 0..groups.full_groups {
        put(GROUP_DIGITS, GROUP_BYTES);
    }
    if groups.leading_digits > 0 {
        put(
            groups.leading_digits,
            BYTES_OF_DIGITS[usize::from(groups.leading_digits)],
        );
    }
}

fn write_groups_u64(mut rest: u64, groups: &DigitGroups, out: &mut [u8]) {
    let next = |digits: u8| {
        let base = u64::from(POW10[usize::from(digits)]);
        let group = (rest % base) as u32;
        rest /= base;
        group
    };
    write_groups_with(next, groups, out);
}

fn write_groups(mut rest: i256, groups: &DigitGroups, out: &mut [u8]) {
    let next = |digits: u8| {
        let base = i256::from_i128(i128::from(POW10[usize::from(digits)]));
        let group = rest.wrapping_rem(base).as_i128() as u32;
        rest = rest.wrapping_div(base);
        group
    };
    write_groups_with(next, groups, out);
}

/// Removes precision, scale and digits from the front. `None` if they are damaged or end too early.
pub fn decode(input: &mut &[u8]) -> Option<Decimal> {
    let ([precision, scale], groups, stored) = take(input)?;
    let mut buffer = [0u8; MAX_BYTES];
    let digits = &mut buffer[..stored.len()];
    digits.copy_from_slice(stored);
    let negative = stored.first().is_some_and(|b| b & 0x80 == 0);
    if negative {
        digits.iter_mut().for_each(|b| *b = !*b);
    }
    if let Some(first) = digits.first_mut() {
        *first ^= 0x80;
    }
    let unscaled = if precision <= 38 {
        let mut value = 0i128;
        read_groups(&groups, digits, |group, digits| {
            value = value * i128::from(POW10[usize::from(digits)]) + i128::from(group);
        })?;
        i256::from_i128(value)
    } else {
        let mut value = i256::ZERO;
        read_groups(&groups, digits, |group, digits| {
            value = value
                .wrapping_mul(i256::from_i128(i128::from(POW10[usize::from(digits)])))
                .wrapping_add(i256::from_i128(i128::from(group)));
        })?;
        value
    };
    let decimal = Decimal::new(unscaled, scale);
    Some(if negative { decimal.neg() } else { decimal })
}

/// How a DECIMAL is stored whose digits take at most eight bytes. Computed once for a column, so that a scan
/// reads a number with a few shifts.
#[derive(Debug, Clone, Copy)]
pub struct SmallForm {
    precision_and_scale: [u8; 2],
    bits: u32,
    groups: [SmallGroup; MAX_SMALL_GROUPS],
}

#[derive(Debug, Clone, Copy, Default)]
struct SmallGroup {
    shift: u32,
    mask: u64,
    /// The largest value plus 1; 1 for a group that does not exist.
    base: u64,
}

/// One incomplete group on each side of the point, and full ones between them, in eight bytes.
const MAX_SMALL_GROUPS: usize = 4;

impl SmallForm {
    /// `None` if the digits take more bytes.
    pub fn new(precision: u8, scale: u8) -> Option<Self> {
        let groups = DigitGroups::new(precision, scale)?;
        let bytes = groups.bytes();
        if bytes > 8 {
            return None;
        }
        let leading = (groups.leading_digits > 0).then_some(groups.leading_digits);
        let full = std::iter::repeat_n(GROUP_DIGITS, groups.full_groups);
        let trailing = (groups.trailing_digits > 0).then_some(groups.trailing_digits);
        let mut form = Self {
            precision_and_scale: [precision, scale],
            bits: bytes as u32 * 8,
            groups: [SmallGroup {
                base: 1,
                ..SmallGroup::default()
            }; MAX_SMALL_GROUPS],
        };
        let mut shift = form.bits;
        for (group, digits) in form
            .groups
            .iter_mut()
            .zip(leading.into_iter().chain(full).chain(trailing))
        {
            let bits = BYTES_OF_DIGITS[usize::from(digits)] as u32 * 8;
            shift -= bits;
            *group = SmallGroup {
                shift,
                mask: u64::MAX >> (64 - bits),
                base: u64::from(POW10[usize::from(digits)]),
            };
        }
        Some(form)
    }

    /// The unscaled number; `None` if it is stored in another form or damaged.
    #[inline]
    pub fn decode(&self, cell: &[u8]) -> Option<i64> {
        let (precision_and_scale, digits) = cell.split_first_chunk::<2>()?;
        if *precision_and_scale != self.precision_and_scale || digits.len() as u32 * 8 != self.bits {
            return None;
        }
        let stored = digits.iter().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        let sign = 1 << (self.bits - 1);
        let is_negative = stored & sign == 0;
        let magnitude = (if is_negative { !stored } else { stored }) ^ sign;
        let mut value = 0_u64;
        for group in &self.groups {
            let part = magnitude >> group.shift & group.mask;
            if part >= group.base {
                return None;
            }
            value = value * group.base + part;
        }
        Some(if is_negative {
            -(value as i64)
        } else {
            value as i64
        })
    }
}

/// Skips an encoded decimal.
pub fn skip(input: &mut &[u8]) -> Option<()> {
    take(input).map(|_| ())
}

/// Removes an encoded decimal: returns its precision and scale, its groups, and the bytes of its digits.
fn take<'a>(input: &mut &'a [u8]) -> Option<([u8; 2], DigitGroups, &'a [u8])> {
    let (form, rest) = input.split_first_chunk::<2>()?;
    let groups = DigitGroups::new(form[0], form[1])?;
    let (stored, rest) = rest.split_at_checked(groups.bytes())?;
    *input = rest;
    Some((*form, groups, stored))
}

fn read_groups(groups: &DigitGroups, mut input: &[u8], mut group: impl FnMut(u32, u8)) -> Option<()> {
    let mut read = |digits: u8| -> Option<()> {
        let (bytes, rest) = input.split_at_checked(BYTES_OF_DIGITS[usize::from(digits)])?;
        input = rest;
        let value = bytes.iter().fold(0u32, |v, b| v << 8 | u32::from(*b));
        if value >= POW10[usize::from(digits)] {
            return None;
        }
        group(value, digits);
        Some(())
    };
    if groups.leading_digits > 0 {
        read(groups.leading_digits)?;
    }
    for _ in 0..groups.full_groups {
        read(GROUP_DIGITS)?;
    }
    if groups.trailing_digits > 0 {
        read(groups.trailing_digits)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(text: &str, precision: u8, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&Decimal::parse(text).unwrap(), precision, scale, &mut out).unwrap();
        out
    }

    #[test]
    fn small_forms_read_what_the_general_one_reads() {
        for (precision, scale) in [(15, 2), (1, 0), (5, 5), (18, 9), (9, 0), (12, 2), (16, 7)] {
            let form = SmallForm::new(precision, scale).unwrap();
            let most = 10_i128.pow(u32::from(precision)) - 1;
            for unscaled in [0, 1, -1, 7, -12 % (most + 1), most / 3, most, -most] {
                let mut bytes = Vec::new();
                encode(&Decimal::from_i128(unscaled, scale), precision, scale, &mut bytes).unwrap();
                assert_eq!(
                    form.decode(&bytes).map(i128::from),
                    Some(unscaled),
                    "{precision} {scale}"
                );
                assert_eq!(form.decode(&bytes[1..]), None);
            }
        }
        assert!(SmallForm::new(30, 2).is_none());
        assert_eq!(
            SmallForm::new(2, 0).unwrap().decode(&[2, 0, 0xff]),
            None,
            "127 of two digits"
        );
    }

    /// The example of MySQL's source documentation of `decimal2bin`: 1234567890.1234 as DECIMAL(14,4).
    #[test]
    fn bytes_as_documented() {
        let expected = [14, 4, 0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2];
        assert_eq!(encoded("1234567890.1234", 14, 4), expected);
        let negated: Vec<u8> = expected[2..].iter().map(|b| !b).collect();
        assert_eq!(encoded("-1234567890.1234", 14, 4)[2..], negated);
    }

    #[test]
    fn too_large_is_refused() {
        let mut out = Vec::new();
        assert!(encode(&Decimal::from_i64(1000), 3, 0, &mut out).is_none());
        assert!(encode(&Decimal::from_i64(999), 3, 0, &mut out).is_some());
        assert!(encode(&Decimal::from_i64(0), 1, 1, &mut out).is_some());
        assert!(encode(&Decimal::from_i64(0), 66, 1, &mut out).is_none());
    }

    #[test]
    fn damage_is_an_error() {
        let good = encoded("123456789.12", 11, 2);
        for len in 0..good.len() {
            assert!(decode(&mut &good[..len]).is_none());
        }
        let mut bad = good.clone();
        bad[2] = 0xff; // a group above 999,999,999
        assert!(decode(&mut &bad[..]).is_none());
    }

    fn number() -> impl Strategy<Value = (Decimal, u8, u8)> {
        (1u8..=65, 0u8..=30, any::<[u8; 32]>()).prop_map(|(precision, scale, bytes)| {
            let scale = scale.min(precision);
            let limit = Decimal::max_value(precision, scale)
                .unscaled
                .wrapping_add(i256::ONE);
            let unscaled = i256::from_le_bytes(bytes).wrapping_rem(limit);
            (Decimal::new(unscaled, scale), precision, scale)
        })
    }

    proptest! {
        #[test]
        fn round_trip((value, precision, scale) in number()) {
            let mut out = Vec::new();
            encode(&value, precision, scale, &mut out).unwrap();
            let mut rest = &out[..];
            let back = decode(&mut rest).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!((back.unscaled, back.scale), (value.unscaled, value.scale));
            let mut rest = &out[..];
            skip(&mut rest).unwrap();
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn order(a in -99_999_999_999_999_999i64..99_999_999_999_999_999, b in -99_999_999_999i64..99_999_999_999) {
            let encode = |v: i64| {
                let mut out = Vec::new();
                encode(&Decimal::from_i128(v.into(), 5), 20, 5, &mut out).unwrap();
                out
            };
            prop_assert_eq!(a.cmp(&b), encode(a).cmp(&encode(b)));
        }

        #[test]
        fn any_bytes_decode_or_fail(input: Vec<u8>) {
            let _ = decode(&mut &input[..]);
            let _ = skip(&mut &input[..]);
        }
    }
}
