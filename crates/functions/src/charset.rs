//! Bytes of text in its character set. In memory all text is UTF-8, whatever its column's character set.

use std::borrow::Cow;

use types::Charset;
use types::collation::{char_to_latin1, latin1_to_utf8};

/// Text as latin1; `None` if some character is not in it.
pub(crate) fn encode_latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(char_to_latin1).collect()
}

/// The bytes of `text` in a character set; characters it has not become `?`.
pub(crate) fn encode(text: &str, charset: Charset) -> Cow<'_, [u8]> {
    match charset {
        Charset::Utf8mb4 | Charset::Binary => Cow::Borrowed(text.as_bytes()),
        _ if text.is_ascii() => Cow::Borrowed(text.as_bytes()),
        Charset::Latin1 => Cow::Owned(text.chars().map(|c| char_to_latin1(c).unwrap_or(b'?')).collect()),
        Charset::Ascii => Cow::Owned(
            text.chars()
                .map(|c| if c.is_ascii() { c as u8 } else { b'?' })
                .collect(),
        ),
    }
}

/// Text of bytes in a character set; `None` if they are none of it.
pub(crate) fn decode(bytes: &[u8], charset: Charset) -> Option<String> {
    match charset {
        Charset::Utf8mb4 | Charset::Binary => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Charset::Latin1 => Some(latin1_to_utf8(bytes)),
        Charset::Ascii => bytes
            .is_ascii()
            .then(|| bytes.iter().map(|b| char::from(*b)).collect()),
    }
}

/// How many bytes `text` takes in a character set.
pub(crate) fn encoded_len(text: &str, charset: Charset) -> usize {
    match charset {
        Charset::Utf8mb4 | Charset::Binary => text.len(),
        Charset::Latin1 | Charset::Ascii if text.is_ascii() => text.len(),
        Charset::Latin1 | Charset::Ascii => text.chars().count(),
    }
}

/// `text` with every character replaced by `?` that the character set has not.
pub(crate) fn restrict(text: &str, charset: Charset) -> Cow<'_, str> {
    let has = |c: char| match charset {
        Charset::Latin1 => char_to_latin1(c).is_some(),
        Charset::Ascii => c.is_ascii(),
        Charset::Utf8mb4 | Charset::Binary => true,
    };
    if text.chars().all(has) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if has(c) { c } else { '?' }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_is_code_page_1252() {
        assert_eq!(encode_latin1("é€"), Some(vec![0xe9, 0x80]));
        assert_eq!(encode_latin1("Ł"), None);
        assert_eq!(decode(&[0xe9, 0x80, 0x41], Charset::Latin1).unwrap(), "é€A");
        assert_eq!(encode("aŁ", Charset::Latin1).as_ref(), b"a?");
        assert_eq!(encoded_len("é", Charset::Latin1), 1);
        assert_eq!(restrict("é€Ł", Charset::Ascii), "???");
    }
}
