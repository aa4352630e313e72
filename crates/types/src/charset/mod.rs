//! Character sets: conversion between UTF-8, which all text in memory is, and the bytes of each set.
//!
//! - [`definitions`]: the list of character sets.
//! - this file: encoding and decoding.
//! - [`map`]: the tables of the sets that are not Unicode, ASCII or latin1.
//!
//! How characters compare is a matter of collations ([`crate::collation`]).

mod definitions;
mod map;

use std::borrow::Cow;

pub use definitions::Charset;
use definitions::Form;
pub(crate) use map::gb18030_number;

use crate::collation::{char_to_latin1, latin1_to_char};

impl Charset {
    /// Whether the set contains a character. `binary` contains all of them.
    pub fn has(self, character: char) -> bool {
        match self.definition().form {
            Form::Utf8mb4 | Form::Binary | Form::Utf16 | Form::Utf16Le | Form::Utf32 => true,
            Form::Utf8mb3 | Form::Ucs2 => character <= '\u{ffff}',
            Form::Latin1 => char_to_latin1(character).is_some(),
            Form::Ascii => character.is_ascii(),
            Form::Mapped(table) => map::of(table).encode(character).is_some(),
        }
    }

    /// Whether the set contains all characters of a text.
    pub fn has_all_of(self, text: &str) -> bool {
        match self.definition().form {
            Form::Utf8mb4 | Form::Binary | Form::Utf16 | Form::Utf16Le | Form::Utf32 => true,
            // In UTF-8, exactly the characters above U+FFFF begin with a byte of 0xf0 or more.
            Form::Utf8mb3 | Form::Ucs2 => text.bytes().all(|byte| byte < 0xf0),
            Form::Ascii => text.is_ascii(),
            Form::Latin1 | Form::Mapped(_) => {
                (self.holds_ascii() && text.is_ascii()) || text.chars().all(|c| self.has(c))
            }
        }
    }

    /// Writes the bytes of a character and returns their number; 0 if the set does not contain it.
    pub(crate) fn encode_into(self, character: char, out: &mut [u8; 4]) -> usize {
        if !self.has(character) {
            return 0;
        }
        let code = u32::from(character);
        if matches!(
            self.definition().form,
            Form::Utf8mb4 | Form::Utf8mb3 | Form::Binary
        ) {
            return character.encode_utf8(out).len();
        }
        let mut units = [0; 2];
        let mut write = |bytes: &mut dyn Iterator<Item = u8>| {
            out.iter_mut().zip(bytes).map(|(slot, byte)| *slot = byte).count()
        };
        match self.definition().form {
            Form::Utf8mb4 | Form::Binary | Form::Utf8mb3 => 0,
            Form::Ascii => write(&mut [code as u8].into_iter()),
            Form::Latin1 => write(&mut char_to_latin1(character).into_iter()),
            Form::Ucs2 => write(&mut (code as u16).to_be_bytes().into_iter()),
            Form::Utf16 => write(&mut utf16(character, &mut units).flat_map(u16::to_be_bytes)),
            Form::Utf16Le => write(&mut utf16(character, &mut units).flat_map(u16::to_le_bytes)),
            Form::Utf32 => write(&mut code.to_be_bytes().into_iter()),
            Form::Mapped(table) => write(&mut map::of(table).encode(character).into_iter().flatten()),
        }
    }

    fn encode_char(self, character: char, out: &mut Vec<u8>) -> bool {
        let mut bytes = [0; 4];
        let length = self.encode_into(character, &mut bytes);
        out.extend_from_slice(&bytes[..length]);
        length > 0
    }

    /// Encodes a text. Characters that the set does not contain become `?`.
    pub fn encode(self, text: &str) -> Cow<'_, [u8]> {
        self.encode_or(text, |_| "?".into())
    }

    /// As [`Charset::encode`], with `replacement` for each character that the set does not contain.
    pub fn encode_or(self, text: &str, replacement: impl Fn(char) -> Cow<'static, str>) -> Cow<'_, [u8]> {
        let is_same = match self.is_utf8() {
            true => self.has_all_of(text),
            false => self.holds_ascii() && text.is_ascii(),
        };
        if is_same {
            return Cow::Borrowed(text.as_bytes());
        }
        let mut out = Vec::with_capacity(text.len() * self.min_bytes_per_char());
        for character in text.chars() {
            if !self.encode_char(character, &mut out) {
                replacement(character).chars().for_each(|c| {
                    self.encode_char(c, &mut out);
                });
            }
        }
        Cow::Owned(out)
    }

    /// Decodes the first character, and returns how many bytes it takes; `None` if the bytes begin with no
    /// character.
    fn decode_char(self, bytes: &[u8]) -> Option<(char, usize)> {
        let of = |code: u32, length: usize| char::from_u32(code).map(|character| (character, length));
        match self.definition().form {
            Form::Utf8mb4 | Form::Utf8mb3 | Form::Ascii | Form::Binary => {
                let length = match self {
                    Self::Ascii => 1,
                    _ => bytes.len().min(4),
                };
                let head = bytes.get(..length)?;
                let character = head.utf8_chunks().next()?.valid().chars().next()?;
                self.has(character).then_some((character, character.len_utf8()))
            }
            Form::Latin1 => bytes.first().map(|byte| (latin1_to_char(*byte), 1)),
            Form::Ucs2 => of(u32::from(u16::from_be_bytes(*bytes.first_chunk()?)), 2),
            Form::Utf16 => decode_utf16(bytes, u16::from_be_bytes),
            Form::Utf16Le => decode_utf16(bytes, u16::from_le_bytes),
            Form::Utf32 => of(u32::from_be_bytes(*bytes.first_chunk()?), 4),
            Form::Mapped(table) => map::of(table).decode(bytes),
        }
    }

    /// How many bytes the first character takes; `None` if the bytes begin with no character.
    pub fn first_character_len(self, bytes: &[u8]) -> Option<usize> {
        self.decode_char(bytes).map(|(_, length)| length)
    }

    /// Decodes the longest valid prefix of the bytes, and returns its length in bytes.
    pub fn decode_prefix(self, bytes: &[u8]) -> (Cow<'_, str>, usize) {
        if self.holds_ascii() && bytes.is_ascii() || self.is_utf8() {
            let end = self.utf8_len(bytes);
            let valid = bytes.get(..end).unwrap_or_default();
            return (Cow::Borrowed(std::str::from_utf8(valid).unwrap_or_default()), end);
        }
        let mut text = String::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((character, length)) = self.decode_char(rest) {
            text.push(character);
            rest = rest.get(length..).unwrap_or_default();
        }
        (Cow::Owned(text), bytes.len() - rest.len())
    }

    /// Decodes the bytes; `None` if they are not valid in the character set.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        if matches!(self.definition().form, Form::Utf8mb4 | Form::Binary) {
            return std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
        }
        let (text, length) = self.decode_prefix(bytes);
        (length == bytes.len()).then_some(text)
    }

    /// Binary data that becomes text. Where characters have two or four bytes, zeros are put before bytes that
    /// are too few.
    pub fn whole_characters(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let missing = bytes.len().next_multiple_of(self.min_bytes_per_char()) - bytes.len();
        match missing {
            0 => Cow::Borrowed(bytes),
            _ => Cow::Owned([&[0; 4][..missing], bytes].concat()),
        }
    }

    /// The length of the longest valid prefix, for a set whose bytes are UTF-8.
    fn utf8_len(self, bytes: &[u8]) -> usize {
        let utf8 = |bytes: &[u8]| std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
        match self {
            Self::Ascii => bytes.iter().take_while(|b| b.is_ascii()).count(),
            // Characters of four bytes begin with a byte of 0xf0 or more.
            Self::Utf8mb3 => utf8(bytes).min(bytes.iter().take_while(|b| **b < 0xf0).count()),
            _ => utf8(bytes),
        }
    }

    /// The length of the longest valid prefix.
    pub fn valid_len(self, bytes: &[u8]) -> usize {
        match self {
            Self::Latin1 => bytes.len(),
            _ if self.is_utf8() => self.utf8_len(bytes),
            _ => self.decode_prefix(bytes).1,
        }
    }

    /// How many bytes [`Charset::encode`] makes of a text.
    pub fn encoded_len(self, text: &str) -> usize {
        match self.definition().form {
            Form::Utf8mb4 | Form::Binary => text.len(),
            Form::Latin1 | Form::Ascii => match text.is_ascii() {
                true => text.len(),
                false => text.chars().count(),
            },
            // A character of four bytes becomes `?`.
            Form::Utf8mb3 => text.len() - 3 * text.bytes().filter(|byte| *byte >= 0xf0).count(),
            Form::Ucs2 => 2 * text.chars().count(),
            Form::Utf16 | Form::Utf16Le => 2 * text.encode_utf16().count(),
            Form::Utf32 => 4 * text.chars().count(),
            Form::Mapped(_) if text.is_ascii() => text.len(),
            Form::Mapped(_) if self.max_bytes_per_char() == 1 => text.chars().count(),
            Form::Mapped(_) => self.encode(text).len(),
        }
    }

    /// Whether bytes that begin with no character could begin with one if more bytes followed.
    pub fn is_incomplete(self, bytes: &[u8]) -> bool {
        let Some(first) = bytes.first() else { return true };
        let length = match self.definition().form {
            Form::Utf8mb4 | Form::Utf8mb3 => match first {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0.. if self == Self::Utf8mb4 => 4,
                _ => 1,
            },
            Form::Latin1 | Form::Ascii | Form::Binary => 1,
            Form::Ucs2 | Form::Utf16 | Form::Utf16Le => 2,
            Form::Utf32 => 4,
            Form::Mapped(_) if first.is_ascii() => 1,
            Form::Mapped(_) => self.max_bytes_per_char().min(2) as usize,
        };
        bytes.len() < length
    }

    /// The message of error 1300, "Invalid utf8mb4 character string: 'FF'", with at most three bytes from the
    /// first invalid one on.
    pub fn invalid_message(self, bytes: &[u8]) -> String {
        let wrong: String = bytes
            .iter()
            .skip(self.valid_len(bytes))
            .take(3)
            .map(|b| format!("{b:02X}"))
            .collect();
        format!("Invalid {} character string: '{wrong}'", self.name())
    }
}

fn utf16(character: char, units: &mut [u16; 2]) -> impl Iterator<Item = u16> + '_ {
    character.encode_utf16(units).iter().copied()
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<(char, usize)> {
    let first = unit(*bytes.first_chunk()?);
    let second = bytes
        .get(2..)
        .and_then(|rest| rest.first_chunk())
        .map(|next| unit(*next));
    let character = char::decode_utf16([Some(first), second].into_iter().flatten())
        .next()?
        .ok()?;
    Some((character, character.len_utf16() * 2))
}

#[cfg(test)]
mod tests;
