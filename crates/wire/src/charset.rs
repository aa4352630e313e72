//! Text between a client's character set and ours, which is UTF-8 everywhere in memory.
//!
//! `@@character_set_client` says what statements and parameters arrive in, `@@character_set_results` what rows leave
//! in. MySQL's latin1 is Windows-1252, with the five bytes that Windows leaves out kept as control characters.

use std::borrow::Cow;

use types::Charset;

/// Code points of the bytes 0x80 to 0x9f of MySQL's latin1.
const LATIN1_80_TO_9F: [u16; 32] = [
    0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152,
    0x008d, 0x017d, 0x008f, 0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122,
    0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
];

fn latin1_to_char(byte: u8) -> char {
    match byte {
        0x80..=0x9f => LATIN1_80_TO_9F
            .get(usize::from(byte - 0x80))
            .and_then(|&code| char::from_u32(u32::from(code)))
            .unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::from(byte),
    }
}

fn char_to_latin1(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0..=0x7f | 0xa0..=0xff) => Some(code as u8),
        code => {
            let position = LATIN1_80_TO_9F.iter().position(|&c| u32::from(c) == code)?;
            Some(0x80 + position as u8)
        }
    }
}

/// Text from a client to UTF-8; `None` where the bytes are no text of that character set. `binary` is taken for UTF-8.
pub fn decode(charset: Charset, bytes: &[u8]) -> Option<Cow<'_, str>> {
    match charset {
        Charset::Utf8mb4 | Charset::Binary => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Charset::Latin1 if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Charset::Latin1 => Some(Cow::Owned(
            bytes.iter().map(|&byte| latin1_to_char(byte)).collect(),
        )),
        Charset::Ascii if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Charset::Ascii => None,
    }
}

/// UTF-8 to the results' character set; characters it lacks become `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transcoder {
    charset: Charset,
}

impl Transcoder {
    /// `None` where no byte changes: utf8mb4, and `binary` or NULL, which mean "as it is".
    pub fn to(charset: Charset) -> Option<Self> {
        matches!(charset, Charset::Latin1 | Charset::Ascii).then_some(Self { charset })
    }

    pub fn encode<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let encode_char = |character: char| match self.charset {
            Charset::Latin1 => char_to_latin1(character).unwrap_or(b'?'),
            _ if character.is_ascii() => character as u8,
            _ => b'?',
        };
        Cow::Owned(String::from_utf8_lossy(text).chars().map(encode_char).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latin1_byte_round_trips() {
        let all: Vec<u8> = (0..=255).collect();
        let text = decode(Charset::Latin1, &all).unwrap();
        assert_eq!(text.chars().count(), 256);
        assert_eq!(
            Transcoder::to(Charset::Latin1)
                .unwrap()
                .encode(text.as_bytes())
                .as_ref(),
            all
        );
        assert_eq!(decode(Charset::Latin1, b"\x80\xe4").unwrap(), "€ä");
    }

    #[test]
    fn what_a_character_set_lacks_becomes_a_question_mark() {
        let text = "aä€漢".as_bytes();
        assert_eq!(
            Transcoder::to(Charset::Latin1).unwrap().encode(text).as_ref(),
            b"a\xe4\x80?"
        );
        assert_eq!(
            Transcoder::to(Charset::Ascii).unwrap().encode(text).as_ref(),
            b"a???"
        );
        assert_eq!(Transcoder::to(Charset::Utf8mb4), None);
    }

    #[test]
    fn bytes_that_are_no_text() {
        assert_eq!(decode(Charset::Utf8mb4, b"\xff"), None);
        assert_eq!(decode(Charset::Ascii, b"\xe4"), None);
    }
}
