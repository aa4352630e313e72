//! Statements with bytes that are not text: clients put BLOBs into `_binary'...'` without escaping them.
//!
//! The lexer and everything after it read UTF-8. Other bytes are therefore carried as characters of a private
//! range, one for each byte ([`carry`]), and become bytes again in their literal ([`bytes_of`]). If a text
//! contains characters of that range itself, each of their bytes is carried as well, so that every character
//! of the range stands for a byte.

use std::borrow::Cow;

use types::Charset;

/// `CARRIER + byte` stands for a byte from 0x80 on: U+10FF80..=U+10FFFF.
const CARRIER: u32 = 0x10_FF00;

fn carrier(byte: u8) -> char {
    char::from_u32(CARRIER + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn is_carrier(c: char) -> bool {
    c as u32 >= CARRIER + 0x80
}

/// Returns any bytes as a text that the parser can read. Bytes that are not characters of `charset` are
/// carried.
pub fn carry(bytes: &[u8], charset: Charset) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && (charset.is_utf8() || charset.holds_ascii() && bytes.is_ascii())
        && (bytes.is_ascii() || charset.has_all_of(text) && !has_carried(text))
    {
        return Cow::Borrowed(text);
    }
    if !charset.is_utf8() {
        return carry_encoded(bytes, charset);
    }
    let mut out = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_carrier(c) || !charset.has(c) {
                let mut buffer = [0; 4];
                out.extend(c.encode_utf8(&mut buffer).bytes().map(carrier));
            } else {
                out.push(c);
            }
        }
        out.extend(chunk.invalid().iter().copied().map(carrier));
    }
    Cow::Owned(out)
}

/// The same of bytes in a character set that is not UTF-8.
fn carry_encoded(bytes: &[u8], charset: Charset) -> Cow<'_, str> {
    let (text, mut read) = charset.decode_prefix(bytes);
    let mut out = text.into_owned();
    while let Some((byte, rest)) = bytes.get(read..).and_then(<[u8]>::split_first) {
        out.push(if byte.is_ascii() {
            char::from(*byte)
        } else {
            carrier(*byte)
        });
        let (text, length) = charset.decode_prefix(rest);
        out.push_str(&text);
        read += 1 + length;
    }
    Cow::Owned(out)
}

/// Whether the text carries bytes.
pub fn has_carried(text: &str) -> bool {
    may_carry(text.as_bytes()) && text.chars().any(is_carrier)
}

/// Whether there may be carriers in a part of a text: all of them start with a byte that is rare in texts.
pub fn may_carry(text: &[u8]) -> bool {
    memchr::memchr(0xf4, text).is_some()
}

/// The text as a name, as MySQL reads it: bytes that are not text become `?`, and the name ends at a byte
/// that could begin an incomplete character.
pub fn as_name(text: String) -> String {
    if !has_carried(&text) {
        return text;
    }
    let bytes = bytes_of(text);
    let mut name = String::with_capacity(bytes.len());
    let mut left = bytes.len();
    for chunk in bytes.utf8_chunks() {
        name.push_str(chunk.valid());
        left -= chunk.valid().len();
        for byte in chunk.invalid() {
            let length = match byte {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0.. => 4,
                _ => 1,
            };
            if left < length {
                return name;
            }
            name.push('?');
            left -= 1;
        }
    }
    name
}

/// The bytes that the text was made of.
pub fn bytes_of(text: String) -> Vec<u8> {
    if !has_carried(&text) {
        return text.into_bytes();
    }
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        if is_carrier(c) {
            out.push((c as u32 - CARRIER) as u8);
        } else {
            let mut buffer = [0; 4];
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back() {
        for bytes in [
            &b"plain"[..],
            "é\u{10ff80}\u{10ffff}x".as_bytes(),
            b"\xff\x00'\\\x80\xc3",
            b"\xf4\x8f\xbe\x80\xf4",
            &(0..=255).collect::<Vec<u8>>(),
        ] {
            for charset in [Charset::Utf8mb4, Charset::Utf8mb3, Charset::Ascii] {
                assert_eq!(bytes_of(carry(bytes, charset).into_owned()), bytes);
            }
        }
        assert!(matches!(
            carry("é".as_bytes(), Charset::Utf8mb3),
            Cow::Borrowed("é")
        ));
        assert!(has_carried(&carry("é😀".as_bytes(), Charset::Utf8mb3)));
    }

    /// Answers of MySQL 8.0.33.
    #[test]
    fn names_of_bytes_that_are_no_text() {
        for (bytes, name) in [
            (&b"a\xffbcde"[..], "a?bcde"),
            (b"a\xffbcd", "a?bcd"),
            (b"a\xffbc", "a"),
            (b"a\xe4bc", "a?bc"),
            (b"a\xe4b", "a"),
            (b"a\xc3", "a"),
            (b"a\x80", "a?"),
            ("é".as_bytes(), "é"),
        ] {
            assert_eq!(as_name(carry(bytes, Charset::Utf8mb4).into_owned()), name);
        }
    }
}
