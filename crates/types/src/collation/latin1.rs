//! MySQL's latin1 (Windows code page 1252, with its five unassigned bytes as control characters), and
//! `latin1_swedish_ci`. `latin1_bin` is the order of its bytes.

use super::characters::next_code_point;

/// The characters of bytes 0x80 to 0x9f.
const CONTROLS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Weights of bytes 0xc0 to 0xff under `latin1_swedish_ci`, as MySQL 8.0.33's `WEIGHT_STRING` gives them.
const UPPER_WEIGHTS: [u8; 64] = [
    65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73, 68, 78, 79, 79, 79, 79, 93, 215, 216, 85,
    85, 85, 89, 89, 222, 223, 65, 65, 65, 65, 92, 91, 92, 67, 69, 69, 69, 69, 73, 73, 73, 73, 68, 78, 79, 79,
    79, 79, 93, 247, 216, 85, 85, 85, 89, 89, 222, 255,
];

pub(super) const SPACE: u16 = 0x20;
/// Added to code points outside latin1, so that they sort after all of latin1.
const NOT_LATIN1: u16 = 0x100;

/// The character of a latin1 byte.
pub fn latin1_to_char(byte: u8) -> char {
    match byte {
        0x80..=0x9f => CONTROLS[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// The latin1 byte of a character; `None` if it has none.
pub fn char_to_latin1(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0..=0x7f | 0xa0..=0xff) => Some(code as u8),
        _ => CONTROLS
            .iter()
            .position(|c| *c == character)
            .map(|place| 0x80 + place as u8),
    }
}

/// The weights of UTF-8 text under `latin1_swedish_ci`. A column of that collation holds no characters
/// outside latin1. In comparisons they are greater than all others.
pub(super) fn weights(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes(text).map(|unit| match u8::try_from(unit) {
        Ok(byte @ 0xc0..) => u16::from(UPPER_WEIGHTS[usize::from(byte - 0xc0)]),
        Ok(byte) => u16::from(byte.to_ascii_uppercase()),
        Err(_) => unit,
    })
}

/// The weights under `latin1_bin`: the latin1 bytes of UTF-8 text.
pub(super) fn bytes(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || match rest.first() {
        Some(byte @ 0..=0x7f) => {
            rest = &rest[1..];
            Some(u16::from(*byte))
        }
        _ => next_code_point(&mut rest).map(|c| match char::from_u32(c).and_then(char_to_latin1) {
            Some(byte) => u16::from(byte),
            None => NOT_LATIN1.saturating_add(u16::try_from(c).unwrap_or(u16::MAX)),
        }),
    })
}

/// The first byte of a weight that takes two more bytes: of `ÿ`, and of characters outside latin1.
const ESCAPE: u8 = 0xff;

/// Writes one byte for every character of latin1 except `ÿ`. Two more bytes distinguish `ÿ` and the
/// characters outside latin1.
pub(super) fn write_weight(weight: u16, out: &mut Vec<u8>) {
    match u8::try_from(weight) {
        Ok(weight) if weight < ESCAPE => out.push(weight),
        _ => {
            out.push(ESCAPE);
            out.extend_from_slice(&weight.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        for byte in 0..=255u8 {
            assert_eq!(char_to_latin1(latin1_to_char(byte)), Some(byte));
        }
        assert_eq!(char_to_latin1('\u{80}'), None);
    }

    /// `ÿ` has the greatest weight of latin1. Characters outside latin1 are greater still, in keys as in
    /// comparisons.
    #[test]
    fn keys_keep_the_order_at_the_escape() {
        let key = |text: &str| {
            let mut key = Vec::new();
            weights(text.as_bytes()).for_each(|weight| write_weight(weight, &mut key));
            key
        };
        let ascending = ["þ", "ÿ", "ÿa", "ÿÿ", "ÿ中", "Ā", "\u{1cbd}", "中"];
        assert!(ascending.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
    }

    /// Answers of MySQL 8.0.33.
    #[test]
    fn weights_as_mysql_has_them() {
        let bytes = [0x61, 0xc4, 0xdf, 0x80, 0x81, 0xfc, 0xfb];
        let text: String = bytes.into_iter().map(latin1_to_char).collect();
        assert_eq!(
            weights(text.as_bytes()).collect::<Vec<_>>(),
            [0x41, 0x5c, 0xdf, 0x80, 0x81, 89, 85]
        );
        assert_eq!(weights("Åäöé".as_bytes()).collect::<Vec<_>>(), [91, 92, 93, 69]);
    }
}
