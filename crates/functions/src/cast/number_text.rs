//! The numbers that a text begins with.

/// The number at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prefix<T> {
    pub value: T,
    /// Nothing but spaces followed, and there was a number.
    pub complete: bool,
}

/// The double at the beginning of `text`. A number that is too large becomes the largest double, and is
/// incomplete. Empty text is a complete 0.
pub(crate) fn parse_double(text: &[u8]) -> Prefix<f64> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let rest = text.get(start..).unwrap_or_default();
    let len = number_len(rest);
    let parsed = rest
        .get(..len)
        .and_then(|n| std::str::from_utf8(n).ok()?.parse::<f64>().ok());
    let tail = rest.get(len..).unwrap_or_default();
    let tail_is_space = tail.iter().all(|b| is_space(*b));
    match parsed {
        Some(value) if value.is_infinite() => Prefix {
            value: if value > 0.0 { f64::MAX } else { f64::MIN },
            complete: false,
        },
        Some(value) => Prefix {
            value,
            complete: tail_is_space,
        },
        None => Prefix {
            value: 0.0,
            complete: rest.is_empty(),
        },
    }
}

/// Bytes of `[sign]digits[.digits][e[sign]digits]` at the beginning; 0 if there are no digits.
fn number_len(text: &[u8]) -> usize {
    let digits = |from: usize| {
        text.get(from..)
            .map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count())
    };
    let mut at = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Whether a text begins with a line break, or another blank than spaces and tabs: CAST and columns of integers find no
/// integer behind it.
pub(crate) fn begins_with_line_break(text: &[u8]) -> bool {
    let first = text.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    first.is_some_and(|byte| is_space(*byte))
}

/// The integer that a text begins with, as 64 bits and a sign.
pub(crate) struct IntegerPrefix {
    pub negative: bool,
    /// The magnitude, limited to the range of an unsigned BIGINT (or, if negative, of a signed one).
    pub magnitude: u64,
    pub complete: bool,
}

impl IntegerPrefix {
    /// The 64 bits of the value.
    pub fn bits(&self) -> u64 {
        if self.negative {
            self.magnitude.wrapping_neg()
        } else {
            self.magnitude
        }
    }
}

/// The integer that CAST finds.
pub(crate) fn parse_cast_integer(text: &[u8]) -> IntegerPrefix {
    match begins_with_line_break(text) {
        true => parse_integer(b""),
        false => parse_integer(text),
    }
}

pub(crate) fn parse_integer(text: &[u8]) -> IntegerPrefix {
    let mut at = text.iter().take_while(|b| is_space(**b)).count();
    let negative = text.get(at) == Some(&b'-');
    at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let digits: &[u8] = text.get(at..).unwrap_or_default();
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let limit = if negative { 1u64 << 63 } else { u64::MAX };
    let parsed = digits.iter().take(len).try_fold(0u64, |v, d| {
        v.checked_mul(10)?
            .checked_add(u64::from(d - b'0'))
            .filter(|v| *v <= limit)
    });
    let rest = digits.get(len..).unwrap_or_default();
    IntegerPrefix {
        negative,
        magnitude: parsed.unwrap_or(limit),
        complete: len > 0 && parsed.is_some() && rest.iter().all(|b| is_space(*b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_at_the_beginning_of_text() {
        for (text, value, complete) in [
            ("12", 12.0, true),
            (" 12 ", 12.0, true),
            ("12 x", 12.0, false),
            (".5", 0.5, true),
            ("5.", 5.0, true),
            ("-", 0.0, false),
            ("0x10", 0.0, false),
            ("inf", 0.0, false),
            ("nan", 0.0, false),
            ("1e", 1.0, false),
            ("1e3", 1000.0, true),
            ("1e400", f64::MAX, false),
            ("", 0.0, true),
            ("abc", 0.0, false),
        ] {
            assert_eq!(
                parse_double(text.as_bytes()),
                Prefix { value, complete },
                "{text}"
            );
        }
    }

    #[test]
    fn integers_at_the_beginning_of_text() {
        for (text, value, complete) in [
            ("12", 12, true),
            (" +5 ", 5, true),
            ("- 5", 0, false),
            ("1.9", 1, false),
            ("", 0, false),
            ("18446744073709551615", -1, true),
            ("99999999999999999999", -1, false),
            ("-9223372036854775808", i64::MIN, true),
            ("-9223372036854775809", i64::MIN, false),
        ] {
            let parsed = parse_integer(text.as_bytes());
            assert_eq!(
                (parsed.bits() as i64, parsed.complete),
                (value, complete),
                "{text}"
            );
        }
    }
}
