//! Bytes of text in its character set. In memory all text is UTF-8, whatever its column's character set.

use std::borrow::Cow;

use types::Charset;
use types::collation::{char_to_latin1, latin1_to_utf8};

/// The bytes of `text` in a character set; characters it has not become `?`.
pub fn encode(text: &str, charset: Charset) -> Cow<'_, [u8]> {
    match charset {
        _ if text.is_ascii() => Cow::Borrowed(text.as_bytes()),
        Charset::Latin1 => Cow::Owned(text.chars().map(|c| char_to_latin1(c).unwrap_or(b'?')).collect()),
        _ => match restrict(text, charset) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
    }
}

/// Text of bytes in a character set; `None` if they are none of it.
pub fn decode(bytes: &[u8], charset: Charset) -> Option<String> {
    if charset == Charset::Latin1 {
        return Some(latin1_to_utf8(bytes));
    }
    (charset.valid_len(bytes) == bytes.len()).then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// A text for a message; bytes that are none as [`types::shown_bytes`].
pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(types::shown_bytes(bytes)),
    }
}

/// Whether bytes are an incomplete character, as far as the first byte tells.
pub(crate) fn is_incomplete(bytes: &[u8], charset: Charset) -> bool {
    let length = match bytes.first() {
        _ if !charset.is_unicode() => 1,
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..) if charset == Charset::Utf8mb4 => 4,
        _ => 1,
    };
    bytes.len() < length
}

/// How many bytes `text` takes in a character set.
pub(crate) fn encoded_len(text: &str, charset: Charset) -> usize {
    match charset {
        Charset::Latin1 | Charset::Ascii if !text.is_ascii() => text.chars().count(),
        // A character that it has not is a `?` there.
        Charset::Utf8mb3 => text.len() - 3 * text.bytes().filter(|byte| *byte >= 0xf0).count(),
        _ => text.len(),
    }
}

/// `text` with every character replaced by `?` that the character set has not.
pub(crate) fn restrict(text: &str, charset: Charset) -> Cow<'_, str> {
    if charset.has_all_of(text) {
        return Cow::Borrowed(text);
    }
    let restricted = text.chars().map(|c| if charset.has(c) { c } else { '?' });
    Cow::Owned(restricted.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_code_page_1252() {
        assert_eq!(encode("é€", Charset::Latin1).as_ref(), [0xe9, 0x80]);
        assert_eq!(decode(&[0xe9, 0x80, 0x41], Charset::Latin1).unwrap(), "é€A");
        assert_eq!(encode("aŁ", Charset::Latin1).as_ref(), b"a?");
        assert_eq!(encoded_len("é", Charset::Latin1), 1);
        assert_eq!(restrict("é€Ł", Charset::Ascii), "???");
    }

    #[test]
    fn utf8mb3_has_no_characters_of_four_bytes() {
        assert_eq!(restrict("aé漢😀\u{ffff}", Charset::Utf8mb3), "aé漢?\u{ffff}");
        assert_eq!(encode("é😀", Charset::Utf8mb3).as_ref(), "é?".as_bytes());
        assert_eq!(encoded_len("é😀a😀", Charset::Utf8mb3), 5);
        assert_eq!(decode("漢".as_bytes(), Charset::Utf8mb3).unwrap(), "漢");
        assert_eq!(decode("漢😀".as_bytes(), Charset::Utf8mb3), None);
        assert_eq!(Charset::Utf8mb3.valid_len("漢😀".as_bytes()), 3);
        assert_eq!(Charset::Utf8mb3.valid_len(b"a\xff\xf0"), 1);
    }
}
