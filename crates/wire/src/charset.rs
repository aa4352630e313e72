//! Conversion of text between a client's character set and ours, which is UTF-8 everywhere in memory.
//!
//! Statements and parameters arrive in `@@character_set_client`, rows are sent in
//! `@@character_set_results`. The character sets are in [`types::charset`].

use std::borrow::Cow;

use types::Charset;

/// Converts text from a client to UTF-8; `None` if the bytes are not valid in that character set. `binary`
/// is read as UTF-8.
pub fn decode(charset: Charset, bytes: &[u8]) -> Option<Cow<'_, str>> {
    charset.decode(bytes)
}

/// Replaces the characters that a character set lacks by `?`.
pub fn restrict(charset: Charset, text: Cow<'_, str>) -> Cow<'_, str> {
    if charset.has_all_of(&text) {
        return text;
    }
    let restricted = text.chars().map(|c| if charset.has(c) { c } else { '?' });
    Cow::Owned(restricted.collect())
}

/// UTF-8 to the results' character set; characters it lacks become `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transcoder {
    charset: Charset,
}

impl Transcoder {
    /// `None` if no byte changes: utf8mb4 and `binary`.
    pub fn to(charset: Charset) -> Option<Self> {
        (!matches!(charset, Charset::Utf8mb4 | Charset::Binary)).then_some(Self { charset })
    }

    /// For names of columns, tables and databases. MySQL stores them in utf8mb3, and sends them so where it
    /// does not convert.
    pub fn of_names(results: Option<Charset>) -> Self {
        results.and_then(Self::to).unwrap_or(Self {
            charset: Charset::Utf8mb3,
        })
    }

    /// Whether the second byte of a character can be one of ASCII.
    pub fn has_trailing_ascii(&self) -> bool {
        !self.charset.is_utf8() && self.charset.max_bytes_per_char() > 1
    }

    pub fn encode<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        if self.charset.holds_ascii() && text.is_ascii() {
            return Cow::Borrowed(text);
        }
        if self.charset == Charset::Utf8mb3 {
            return without_four_byte_characters(text);
        }
        match std::str::from_utf8(text) {
            Ok(text) => self.charset.encode(text),
            Err(_) => Cow::Owned(self.charset.encode(&String::from_utf8_lossy(text)).into_owned()),
        }
    }
}

/// An error's message in the results' character set. Characters that it lacks are written as their numbers,
/// `\6F22`. Characters outside utf8mb3, the character set of MySQL's messages, become `?`.
pub fn error_message(text: &str, results: Option<Charset>) -> Cow<'_, [u8]> {
    if text.is_ascii() && results.is_none_or(Charset::holds_ascii) {
        return Cow::Borrowed(text.as_bytes());
    }
    let text = without_four_byte_characters(text.as_bytes());
    match results {
        None | Some(Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Binary) => text,
        Some(charset) => {
            let by_number = |c: char| format!("\\{:04X}", u32::from(c)).into();
            Cow::Owned(
                charset
                    .encode_or(&String::from_utf8_lossy(&text), by_number)
                    .into_owned(),
            )
        }
    }
}

fn without_four_byte_characters(text: &[u8]) -> Cow<'_, [u8]> {
    if text.iter().all(|byte| *byte < 0xf0) {
        return Cow::Borrowed(text);
    }
    let restrict = |c: char| if Charset::Utf8mb3.has(c) { c } else { '?' };
    let restricted: String = String::from_utf8_lossy(text).chars().map(restrict).collect();
    Cow::Owned(restricted.into_bytes())
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
        let transcoder = Transcoder::to(Charset::Utf8mb3).unwrap();
        assert_eq!(transcoder.encode("a漢😀".as_bytes()).as_ref(), "a漢?".as_bytes());
        assert!(matches!(transcoder.encode(text), Cow::Borrowed(_)));
        assert_eq!(Transcoder::to(Charset::Utf8mb4), None);
    }

    /// Answers of MySQL 8.0.33 for `SELECT `nö漢``.
    #[test]
    fn messages_show_what_a_character_set_lacks_by_number() {
        let sent = |results| error_message("nö漢", results).into_owned();
        assert_eq!(sent(Some(Charset::Latin1)), b"n\xf6\\6F22");
        assert_eq!(sent(Some(Charset::Ascii)), b"n\\00F6\\6F22");
        for results in [
            None,
            Some(Charset::Utf8mb4),
            Some(Charset::Utf8mb3),
            Some(Charset::Binary),
        ] {
            assert_eq!(sent(results), "nö漢".as_bytes());
        }
        assert_eq!(error_message("x😀", None).as_ref(), b"x?");
    }

    #[test]
    fn names_have_no_characters_of_four_bytes() {
        let sent = |results| {
            Transcoder::of_names(results)
                .encode("é漢😀".as_bytes())
                .into_owned()
        };
        assert_eq!(sent(None), "é漢?".as_bytes());
        assert_eq!(sent(Some(Charset::Utf8mb4)), "é漢?".as_bytes());
        assert_eq!(sent(Some(Charset::Latin1)), b"\xe9??");
    }

    #[test]
    fn bytes_that_are_no_text() {
        assert_eq!(decode(Charset::Utf8mb4, b"\xff"), None);
        assert_eq!(decode(Charset::Ascii, b"\xe4"), None);
        assert_eq!(decode(Charset::Utf8mb3, "😀".as_bytes()), None);
    }
}
