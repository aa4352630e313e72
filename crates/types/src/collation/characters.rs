//! Characters of UTF-8 text: counting, cutting, decoding.

/// The number of characters.
pub fn character_count(text: &str) -> usize {
    text.chars().count()
}

/// The first `count` characters, or all.
pub fn first_characters(text: &str, count: usize) -> &str {
    if text.len() <= count {
        return text;
    }
    match text.char_indices().nth(count) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Removes the first code point. A byte that begins no character counts as U+FFFD.
pub(super) fn next_code_point(text: &mut &[u8]) -> Option<u32> {
    let bytes = *text;
    let first = *bytes.first()?;
    let (len, lead) = match first {
        0..=0x7f => (1, u32::from(first)),
        0xc2..=0xdf => (2, u32::from(first & 0x1f)),
        0xe0..=0xef => (3, u32::from(first & 0x0f)),
        0xf0..=0xf4 => (4, u32::from(first & 0x07)),
        _ => (0, 0),
    };
    let decoded = match bytes.get(1..len) {
        Some(rest) if rest.iter().all(|b| b & 0xc0 == 0x80) => {
            Some(rest.iter().fold(lead, |c, b| c << 6 | u32::from(b & 0x3f)))
        }
        _ => None,
    };
    match decoded {
        Some(code_point) => {
            *text = &bytes[len..];
            Some(code_point)
        }
        None => {
            *text = &bytes[1..];
            Some(0xfffd)
        }
    }
}

/// The length of the longest common prefix of two texts that ends between characters.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut len = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let continues = |text: &[u8], at: usize| text.get(at).is_some_and(|b| b & 0xc0 == 0x80);
    while len > 0 && (continues(a, len) || continues(b, len)) {
        len -= 1;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(first_characters("aäb", 2), "aä");
        assert_eq!(first_characters("aäb", 3), "aäb");
        assert_eq!(first_characters("aäb", 9), "aäb");
        assert_eq!(first_characters("äöü", 0), "");
        assert_eq!(character_count("aä😀"), 3);
    }

    #[test]
    fn decoding_agrees_with_the_standard_library() {
        let text: String = [
            '\0',
            'a',
            '\u{7f}',
            '\u{80}',
            'ä',
            '\u{7ff}',
            '\u{800}',
            '\u{ffff}',
            '\u{10000}',
            '\u{10ffff}',
        ]
        .iter()
        .collect();
        let mut rest = text.as_bytes();
        for expected in text.chars() {
            assert_eq!(next_code_point(&mut rest), Some(u32::from(expected)));
        }
        assert_eq!(next_code_point(&mut rest), None);
        let mut bad: &[u8] = &[0xff, 0xe4, b'a'];
        assert_eq!(next_code_point(&mut bad), Some(0xfffd));
        assert_eq!(next_code_point(&mut bad), Some(0xfffd));
        assert_eq!(next_code_point(&mut bad), Some(0x61));
    }

    #[test]
    fn prefixes_end_between_characters() {
        assert_eq!(common_prefix("aä".as_bytes(), "aö".as_bytes()), 1);
        assert_eq!(common_prefix("aä".as_bytes(), "aäb".as_bytes()), 3);
        assert_eq!(common_prefix(b"", b"a"), 0);
    }
}
