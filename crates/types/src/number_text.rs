//! Numbers as MySQL prints them.
//!
//! Sources: MySQL 8.0 manual, 11.1.4 "Floating-Point Types", and the behaviour of MySQL 8.0.33.

use std::io::Write;

/// The decimal exponent from which doubles are printed as `1e15`: MySQL compares the position of the decimal
/// point with the 15 digits that a double always holds.
const FIXED_POINT_MAX: i32 = 15;
const FIXED_POINT_MIN: i32 = -14;

/// How many digits MySQL prints of a FLOAT. Reading it back exactly could take up to nine.
const FLOAT_DIGITS: usize = 6;

/// Appends a DOUBLE: the shortest digits that read back as the same number.
pub fn write_f64(value: f64, out: &mut Vec<u8>) {
    if value == value.trunc() && value.abs() < 1e15 {
        // Most doubles in tables are small integers; this is exact below 2^53.
        if value == 0.0 && value.is_sign_negative() {
            out.push(b'-');
        }
        write_i64(value as i64, out);
        return;
    }
    if !value.is_finite() {
        // MySQL never stores these. Printing them makes defects elsewhere visible.
        let _ = write!(out, "{value}");
        return;
    }
    if value.abs() >= 1e15 && value != value.trunc() {
        // A number that still has digits after the point is shorter in the plain form.
        let _ = write!(out, "{value}");
        return;
    }
    write_scientific(&format!("{value:e}"), out);
}

/// Appends a FLOAT, given as the double of the same value: at most six significant digits.
pub fn write_f32(value: f64, out: &mut Vec<u8>) {
    if !value.is_finite() || value == 0.0 {
        return write_f64(value, out);
    }
    let shortest = format!("{value:e}");
    let digits = shortest
        .bytes()
        .take_while(|b| *b != b'e')
        .filter(u8::is_ascii_digit);
    if digits.count() <= FLOAT_DIGITS {
        write_scientific(&shortest, out);
    } else {
        write_scientific(&format!("{value:.*e}", FLOAT_DIGITS - 1), out);
    }
}

/// Appends a FLOAT(M,D) or DOUBLE(M,D): exactly `decimals` digits after the point.
pub fn write_fixed(value: f64, decimals: u8, out: &mut Vec<u8>) {
    let decimals = usize::from(decimals);
    let shortest = format!("{value}");
    let fraction = shortest.split_once('.').map_or(0, |(_, f)| f.len());
    if fraction <= decimals && value.is_finite() {
        // Digits beyond a double's precision are zeros, not the binary value's own digits.
        out.extend_from_slice(shortest.as_bytes());
        if decimals > 0 {
            if fraction == 0 {
                out.push(b'.');
            }
            out.resize(out.len() + decimals - fraction, b'0');
        }
    } else {
        let _ = write!(out, "{value:.decimals$}");
    }
}

/// Turns `[-]d[.ddd]e[-]x` into MySQL's form.
fn write_scientific(text: &str, out: &mut Vec<u8>) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa),
    };
    if negative {
        out.push(b'-');
    }
    let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    while digits.len() > 1 && digits.last() == Some(&b'0') {
        digits.pop();
    }
    // The point stands after this many digits.
    let point = exponent + 1;
    if !(FIXED_POINT_MIN..=FIXED_POINT_MAX).contains(&point) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let _ = write!(out, "e{exponent}");
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(&digits);
    } else {
        let point = point as usize;
        if digits.len() <= point {
            let end = out.len() + point;
            out.extend_from_slice(&digits);
            out.resize(end, b'0');
        } else {
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    }
}

pub fn write_i64(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    write_u64(value.unsigned_abs(), out);
}

pub fn write_u64(value: u64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    let mut rest = value;
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Appends `value` with at least `width` digits.
pub(crate) fn write_padded(value: u64, width: usize, out: &mut Vec<u8>) {
    let digits = value.checked_ilog10().map_or(1, |log| log as usize + 1);
    out.resize(out.len() + width.saturating_sub(digits), b'0');
    write_u64(value, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// Pairs as MySQL 8.0.33 printed them.
    #[test]
    fn doubles_as_mysql_prints_them() {
        for (value, expected) in [
            (1e15, "1e15"),
            (1e14, "100000000000000"),
            (123456789012345678.0, "1.2345678901234568e17"),
            (0.00001, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (f64::MAX, "1.7976931348623157e308"),
            (-1e16, "-1e16"),
            (123456789012345.6, "123456789012345.6"),
            (1234567890123456.0, "1.234567890123456e15"),
            (0.1, "0.1"),
            (5e-324, "5e-324"),
            (-0.0, "-0"),
            (0.0, "0"),
            (1.100000023841858, "1.100000023841858"),
            (0.00012345678987912834, "0.00012345678987912834"),
            (12.3e-10, "0.00000000123"),
        ] {
            assert_eq!(text(|out| write_f64(value, out)), expected);
        }
    }

    /// Pairs as MySQL 8.0.33 printed them.
    #[test]
    fn floats_as_mysql_prints_them() {
        for (value, expected) in [
            (1234567f32, "1234570"),
            (1.1, "1.1"),
            (1e10, "10000000000"),
            (16777216.0, "16777200"),
            (0.00001, "0.00001"),
            (3.4e38, "3.4e38"),
            (1e20, "1e20"),
            (123456.0, "123456"),
            (0.000_123_456_79, "0.000123457"),
            (1e-30, "1e-30"),
        ] {
            assert_eq!(text(|out| write_f32(f64::from(value), out)), expected);
        }
    }

    #[test]
    fn fixed_digits() {
        assert_eq!(
            text(|out| write_fixed(f64::from(1_234_567.9_f32), 3, out)),
            "1234567.875"
        );
        assert_eq!(text(|out| write_fixed(0.1, 20, out)), "0.10000000000000000000");
        assert_eq!(text(|out| write_fixed(2.0, 0, out)), "2");
        assert_eq!(text(|out| write_fixed(1.25, 4, out)), "1.2500");
        assert_eq!(text(|out| write_fixed(1.005, 2, out)), "1.00");
    }

    #[test]
    fn integers() {
        assert_eq!(text(|out| write_i64(i64::MIN, out)), "-9223372036854775808");
        assert_eq!(text(|out| write_u64(0, out)), "0");
        assert_eq!(text(|out| write_padded(7, 4, out)), "0007");
        assert_eq!(text(|out| write_padded(0, 2, out)), "00");
    }
}
