//! The range of strings that begin with a given text.

use super::Collation;

/// Longest bound that is made; longer ones would only tell apart strings that end in hundreds of padding
/// characters.
const MAX_CHARACTERS: usize = 1024;

impl Collation {
    /// The smallest and the greatest string, both included, that begin with `prefix` and have at most
    /// `max_characters` characters: what an index is read for under `LIKE 'prefix%'`. Strings that do not
    /// begin with it may lie between.
    ///
    /// Where spaces pad, `'abc'` itself is not the smallest: `'abc\n'` is less. For `binary` use bytes
    /// instead.
    pub fn like_range(self, prefix: &str, max_characters: usize) -> (String, String) {
        let room = max_characters
            .min(MAX_CHARACTERS)
            .saturating_sub(super::character_count(prefix));
        let greatest = match self {
            Self::Utf8mb40900AiCi
            | Self::Utf8mb4Bin
            | Self::Binary
            | Self::Utf8mb40900Bin
            // What is above U+FFFF weighs most.
            | Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci => '\u{10ffff}',
            // As a bound it may be what no text of utf8mb3 has.
            Self::Utf8mb3Bin | Self::Utf8mb3UnicodeCi | Self::Utf8mb3Unicode520Ci => '\u{10ffff}',
            Self::Utf8mb4GeneralCi | Self::Utf8mb3GeneralCi => '\u{ffff}',
            Self::Latin1SwedishCi | Self::Latin1Bin => 'ÿ',
            Self::AsciiBin | Self::AsciiGeneralCi => '\u{7f}',
        };
        let least = match self {
            // The characters before it do not count at all.
            Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci
            | Self::Utf8mb3UnicodeCi
            | Self::Utf8mb3Unicode520Ci => '\t',
            _ => '\0',
        };
        let mut low = prefix.to_owned();
        if self.pads_space() {
            low.extend(std::iter::repeat_n(least, room));
        }
        let mut high = prefix.to_owned();
        high.extend(std::iter::repeat_n(greatest, room));
        (low, high)
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn strings_with_the_prefix_lie_between() {
        for collation in Collation::ALL {
            let (low, high) = collation.like_range("ab", 6);
            for text in ["ab", "ab\n", "AB\0\0\0\0", "ab    ", "abz", "ab~~~~"] {
                if collation.is_bytewise() && text.starts_with('A') {
                    continue;
                }
                assert_ne!(
                    collation.compare(low.as_bytes(), text.as_bytes()),
                    Ordering::Greater,
                    "{text:?}"
                );
                assert_ne!(
                    collation.compare(high.as_bytes(), text.as_bytes()),
                    Ordering::Less,
                    "{text:?}"
                );
            }
            for text in ["aa", "ac", "b", ""] {
                let inside = collation.compare(low.as_bytes(), text.as_bytes()).is_le()
                    && collation.compare(high.as_bytes(), text.as_bytes()).is_ge();
                assert!(!inside, "{text:?} {collation:?}");
            }
        }
    }
}
