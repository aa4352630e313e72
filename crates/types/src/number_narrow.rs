//! Doubles in a limited width: how a number is stored in a CHAR or VARCHAR that is too short for it.
//!
//! Source: the behaviour of MySQL 8.0.33, which drops digits before it fails.

use std::io::Write;

/// Decimal digits that a double always holds. MySQL prints numbers with more of them as `1e16`.
const DIGITS: i32 = 15;

/// A positive number's digits, without zeros at either end. The point stands after `point` of them.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    /// Parses `[d]d[.ddd]` or `d[.ddd]e[-]x`.
    fn of(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let whole = mantissa.split('.').next().unwrap_or_default().len();
        let mut point = exponent.parse::<i32>().unwrap_or(0) + whole as i32;
        let all = mantissa.bytes().filter(u8::is_ascii_digit);
        let mut digits: Vec<u8> = all.collect();
        let leading = digits.iter().take_while(|d| **d == b'0').count();
        digits.drain(..leading);
        point -= leading as i32;
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        Self { digits, point }
    }

    /// The shortest digits that read back as `value`, but at most `most` significant ones (at least one).
    fn significant(value: f64, most: i32) -> Self {
        let shortest = Self::of(&format!("{value:e}"));
        let most = most.max(1) as usize;
        if shortest.digits.len() <= most {
            return shortest;
        }
        Self::of(&format!("{value:.*e}", most - 1))
    }

    /// The shortest digits, but at most `places` after the point; none if that rounds to zero.
    fn behind_point(value: f64, places: i32) -> Self {
        let shortest = Self::of(&format!("{value:e}"));
        let places = places.max(0);
        if shortest.len() - shortest.point <= places {
            return shortest;
        }
        Self::of(&format!("{value:.*}", places as usize))
    }

    fn len(&self) -> i32 {
        self.digits.len() as i32
    }
}

/// Appends a DOUBLE in at most `width` characters: all its digits if there is room, otherwise as many as fit
/// in one of the forms `12.3` and `1.2e3`. False: not even one digit and the exponent fit, and the appended
/// text is cut off.
pub fn write_f64_within(value: f64, width: usize, out: &mut Vec<u8>) -> bool {
    let end = out.len() + width;
    let negative = value.is_sign_negative();
    // The sign counts towards the width, except for that of -0.
    let room = i32::try_from(width).unwrap_or(i32::MAX) - i32::from(value < 0.0);
    if negative {
        out.push(b'-');
    }
    let fits = if value == 0.0 {
        out.push(b'0');
        true
    } else if !value.is_finite() {
        out.push(b'0');
        false
    } else {
        let value = value.abs();
        let all = Digits::significant(value, room);
        if is_plain(&all, room) {
            write_plain(value, all, room, out)
        } else {
            write_scientific(value, all, room, out)
        }
    };
    out.truncate(end);
    fits && width > 0
}

/// How many digits the exponent of `1e10` has.
fn exponent_digits(point: i32) -> i32 {
    1 + i32::from(point >= 101 || point <= -99) + i32::from(point >= 11 || point <= -9)
}

/// Whether to use the form without exponent: it has room for all digits, or for more than the other form.
fn is_plain(number: &Digits, room: i32) -> bool {
    let (len, point) = (number.len(), number.point);
    let needed = match point {
        ..=0 => len - point + 2,
        _ if point < len => len + 1,
        _ => point,
    };
    if needed <= room {
        return point > -DIGITS && (point <= DIGITS || len > point);
    }
    let no_digit_fits = point <= 0 && room <= 2 - point && room >= 3 + exponent_digits(point);
    point <= room && !no_digit_fits && (point >= -1 || point == -2)
}

fn write_plain(value: f64, mut number: Digits, room: i32, out: &mut Vec<u8>) -> bool {
    let point = number.point;
    let mut room = room - i32::from(point < number.len());
    if point <= 0 {
        room -= 1 - point;
    }
    let mut fits = true;
    if room < number.len() {
        fits = room >= point;
        number = Digits::behind_point(value, room.max(point) - point);
    }
    if number.digits.is_empty() {
        // The remaining digits are zero, and MySQL prints no sign.
        if out.last() == Some(&b'-') {
            out.pop();
        }
        out.push(b'0');
        return fits;
    }
    let Digits { digits, point } = number;
    if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(&digits);
        return fits;
    }
    let whole = point as usize;
    let (before, behind) = digits.split_at(whole.min(digits.len()));
    out.extend_from_slice(before);
    out.resize(out.len() + whole - before.len(), b'0');
    if !behind.is_empty() {
        out.push(b'.');
        out.extend_from_slice(behind);
    }
    fits
}

fn write_scientific(value: f64, mut number: Digits, room: i32, out: &mut Vec<u8>) -> bool {
    let is_small = number.point <= 0;
    let room = room - i32::from(is_small) - (1 + exponent_digits(number.point)) - i32::from(number.len() > 1);
    if room < number.len() {
        number = Digits::significant(value, room);
    }
    if let [first, rest @ ..] = number.digits.as_slice() {
        out.push(*first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
    }
    let _ = write!(out, "e{}", number.point - 1);
    room > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What MySQL 8.0.33 stored in VARCHAR(1), VARCHAR(2) and so on. `!`: it raised error 1406; the text is
    /// what INSERT IGNORE stored.
    #[test]
    fn doubles_as_short_columns_keep_them() {
        for (value, expected) in STORED {
            let number: f64 = value.parse().unwrap();
            for (width, expected) in (1..).zip(expected.split(' ')) {
                let mut out = Vec::new();
                let fits = write_f64_within(number, width, &mut out);
                let text = String::from_utf8(out).unwrap();
                let mark = if fits { "" } else { "!" };
                assert_eq!(format!("{mark}{text}"), expected, "{value} in {width}");
            }
        }
    }

    const STORED: &[(&str, &str)] = &[
        (
            "3e10",
            "!3 !3e !3e1 3e10 3e10 3e10 3e10 3e10 3e10 3e10 30000000000",
        ),
        (
            "3e100",
            "!3 !3e !3e1 !3e10 3e100 3e100 3e100 3e100 3e100 3e100 3e100",
        ),
        (
            "12345.678",
            "!1 !1e !1e4 1e4 12346 12346 12345.7 12345.68 12345.678 12345.678 12345.678",
        ),
        ("1.5", "2 2 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5 1.5"),
        (
            "0.0001234",
            "!1 !1e !1e- !1e-4 1e-4 1.2e-4 1.23e-4 1.234e-4 0.0001234 0.0001234 0.0001234",
        ),
        (
            "123.4567",
            "!1 !1e 123 123 123.5 123.46 123.457 123.4567 123.4567 123.4567 123.4567",
        ),
        (
            "-123.4567",
            "!- !-1 !-1e -123 -123 -123.5 -123.46 -123.457 -123.4567 -123.4567 -123.4567",
        ),
        (
            "1e-10",
            "!1 !1e !1e- !1e-1 1e-10 1e-10 1e-10 1e-10 1e-10 1e-10 1e-10",
        ),
        (
            "99999.5",
            "!1 !1e 1e5 1e5 1e5 100000 99999.5 99999.5 99999.5 99999.5 99999.5",
        ),
        ("0.99999999", "1 1 1 1 1 1 1 1 1 0.99999999 0.99999999"),
        (
            "9999999",
            "!1 !1e 1e7 1e7 1e7 1e7 9999999 9999999 9999999 9999999 9999999",
        ),
        (
            "-9.9999e9",
            "!- !-1 !-1e !-1e1 -1e10 -1e10 -1e10 -1e10 -9.9999e9 -9.9999e9 -9999900000",
        ),
        ("0.001", "!0 0 0 1e-3 0.001 0.001 0.001 0.001 0.001 0.001 0.001"),
        (
            "0.0123456",
            "!0 0 0 0.01 0.012 0.0123 0.01235 0.012346 0.0123456 0.0123456 0.0123456",
        ),
        (
            "55.5555",
            "!6 56 56 55.6 55.56 55.556 55.5555 55.5555 55.5555 55.5555 55.5555",
        ),
        ("0", "0 0 0 0 0 0 0 0 0 0 0"),
        (
            "-1.5e-100",
            "!- !-2 !-2e !-2e- !-2e-1 !-2e-10 !-2e-100 -2e-100 -1.5e-100 -1.5e-100 -1.5e-100",
        ),
        ("1e15", "!1 !1e !1e1 1e15 1e15 1e15 1e15 1e15 1e15 1e15 1e15"),
        ("1e16", "!1 !1e !1e1 1e16 1e16 1e16 1e16 1e16 1e16 1e16 1e16"),
        (
            "123456789012345678",
            "!1 !1e !1e1 !1e17 1e17 1.2e17 1.23e17 1.235e17 1.2346e17 1.23457e17 1.234568e17",
        ),
        ("0.05", "!0 0 0.1 0.05 0.05 0.05 0.05 0.05 0.05 0.05 0.05"),
        ("0.96", "1 1 1 0.96 0.96 0.96 0.96 0.96 0.96 0.96 0.96"),
        ("-0.04", "!0 !0 0 0 -0.04 -0.04 -0.04 -0.04 -0.04 -0.04 -0.04"),
        ("9.96", "!1 10 10 9.96 9.96 9.96 9.96 9.96 9.96 9.96 9.96"),
        (
            "1e-15",
            "!1 !1e !1e- !1e-1 1e-15 1e-15 1e-15 1e-15 1e-15 1e-15 1e-15",
        ),
        (
            "1.7976931348623157e308",
            "!2 !2e !2e3 !2e30 !2e308 2e308 1.8e308 1.8e308 1.798e308 1.7977e308 1.79769e308",
        ),
    ];

    #[test]
    fn no_room_at_all() {
        assert!(!write_f64_within(1.0, 0, &mut Vec::new()));
    }
}
