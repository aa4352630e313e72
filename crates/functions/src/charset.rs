//! Text in a character set. In memory all text is UTF-8, whatever the character set of its column is.

use std::borrow::Cow;

use types::Charset;

/// The bytes of `text` in a character set. Characters that it does not have become `?`.
pub fn encode(text: &str, charset: Charset) -> Cow<'_, [u8]> {
    charset.encode(text)
}

/// The text of binary data in a character set; `None` if it is not valid in it.
pub fn decode(bytes: &[u8], charset: Charset) -> Option<String> {
    let bytes = charset.whole_characters(bytes);
    charset.decode(&bytes).map(Cow::into_owned)
}

/// Text for a message. Bytes that are not text are shown by [`types::shown_bytes`].
pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(types::shown_bytes(bytes)),
    }
}

/// The message of error 1366, with up to six bytes from the first wrong one on. `charset`: the one that they are given in.
pub(crate) fn incorrect_string(from: &[u8], charset: Charset) -> String {
    let first = from.get(..6).unwrap_or(from);
    let shown = match charset.min_bytes_per_char() {
        1 => types::shown_bytes(first),
        // Bytes that look like ASCII are parts of characters.
        _ => first.iter().map(|byte| format!("\\x{byte:02X}")).collect(),
    };
    let more = if from.len() > 6 { "..." } else { "" };
    format!("Incorrect string value: '{shown}{more}'")
}

/// How many bytes `text` takes in a character set.
pub(crate) fn encoded_len(text: &str, charset: Charset) -> usize {
    charset.encoded_len(text)
}

/// `text`, with `?` for every character that the character set does not have.
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
    fn binary_data_has_zeros_before_bytes_that_are_too_few() {
        assert_eq!(decode(&[0xaa], Charset::Ucs2).unwrap(), "\u{aa}");
        assert_eq!(decode(&[1, 0, 0x82], Charset::Utf32).unwrap(), "\u{10082}");
        assert_eq!(decode(&[0x11, 0, 0], Charset::Utf32), None);
        assert_eq!(decode(&[], Charset::Utf16).unwrap(), "");
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
