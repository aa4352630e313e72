//! Text between a client's character set and ours, which is UTF-8 everywhere in memory.
//!
//! `@@character_set_client` says what statements and parameters arrive in, `@@character_set_results` what rows leave
//! in. What latin1 holds is in [`types::collation`].

use std::borrow::Cow;

use types::Charset;
use types::collation::{char_to_latin1, latin1_to_char};

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
