//! Statements whose text is not all text: clients put BLOBs into `_binary'...'` as they are.
//!
//! The lexer and everything behind it read UTF-8. Bytes that are none are therefore carried as characters of a private range,
//! one each ([`carry`]), and become bytes again in the literal they stand in ([`bytes_of`]). A text that holds characters of that
//! range itself is carried byte by byte as well, so that nothing is ever taken for what it is not.

use std::borrow::Cow;

/// `CARRIER + byte` stands for a byte from 0x80 on: U+10FF80..=U+10FFFF.
const CARRIER: u32 = 0x10_FF00;

fn carrier(byte: u8) -> char {
    char::from_u32(CARRIER + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn is_carrier(c: char) -> bool {
    c as u32 >= CARRIER + 0x80
}

/// Any bytes as text that the parser can read.
pub fn carry(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && (bytes.is_ascii() || !has_carried(text))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_carrier(c) {
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

/// Whether the text carries bytes.
pub fn has_carried(text: &str) -> bool {
    // All carriers begin with this byte, which few texts hold.
    text.as_bytes().contains(&0xf4) && text.chars().any(is_carrier)
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
            assert_eq!(bytes_of(carry(bytes).into_owned()), bytes);
        }
        assert!(matches!(carry("é".as_bytes()), Cow::Borrowed("é")));
    }
}
