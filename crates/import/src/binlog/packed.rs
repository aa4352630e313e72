//! Decimals and dates in the forms that columns and JSON documents share.

use mysql::Value;

use super::bytes::{Bytes, Malformed, Result};

/// The number of bytes of 0 to 9 decimal digits.
const DIGIT_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Groups of nine digits in four bytes, high byte first; the first bit is inverted, and all bits if the
/// number is negative. The group at either end can be shorter.
pub(super) fn decimal(data: &mut Bytes<'_>, precision: usize, scale: usize) -> Result<String> {
    let whole = precision
        .checked_sub(scale)
        .ok_or_else(|| Malformed::new("a decimal with more fractions than digits"))?;
    let size = |digits: usize| digits / 9 * 4 + DIGIT_BYTES.get(digits % 9).copied().unwrap_or(0);
    let mut bytes = data.take(size(whole) + size(scale))?.to_vec();
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 == 0);
    if let Some(first) = bytes.first_mut() {
        *first ^= 0x80;
    }
    if is_negative {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let mut bytes = Bytes::new(&bytes);
    let mut digits = String::new();
    let mut groups = |counts: &mut dyn Iterator<Item = usize>, digits: &mut String| {
        for count in counts.filter(|count| *count > 0) {
            let length = DIGIT_BYTES.get(count).copied().unwrap_or(0);
            let value = bytes.big_endian(length)?;
            *digits += &format!("{value:0count$}");
        }
        Ok::<(), Malformed>(())
    };
    let nines = |digits: usize| std::iter::repeat_n(9, digits / 9);
    groups(&mut [whole % 9].into_iter().chain(nines(whole)), &mut digits)?;
    let trimmed = digits.trim_start_matches('0');
    let mut text = if is_negative {
        "-".to_owned()
    } else {
        String::new()
    };
    text += if trimmed.is_empty() { "0" } else { trimmed };
    if scale > 0 {
        let mut fractions = String::new();
        groups(&mut nines(scale).chain([scale % 9]), &mut fractions)?;
        text.push('.');
        text += &fractions;
    }
    Ok(text)
}

/// `seconds` is HHMMSS in decimal.
pub(super) fn date_time(year: u64, month: u64, day: u64, seconds: u64, micros: u32) -> Value {
    let (hour, minute, second) = (seconds / 10_000, seconds / 100 % 100, seconds % 100);
    Value::Date(
        year as u16,
        month as u8,
        day as u8,
        hour as u8,
        minute as u8,
        second as u8,
        micros,
    )
}

/// 1 bit of sign, 17 of year * 13 + month, 5 of day, 5 of hour, 6 of minute, 6 of second.
pub(super) fn packed_date_time(packed: u64, micros: u32) -> Value {
    let packed = packed & 0x7f_ffff_ffff;
    let (days, seconds) = (packed >> 17, packed & 0x1_ffff);
    let months = days >> 5;
    let clock = (seconds >> 12) * 10_000 + (seconds >> 6 & 63) * 100 + (seconds & 63);
    date_time(months / 13, months % 13, days & 31, clock, micros)
}
