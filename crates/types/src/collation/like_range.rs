//! The range of strings that begin with a given text.

use super::characters::character_count;
use super::definitions::{Collation, Order};

/// The longest bound that is made, in characters. Longer bounds would differ only for strings that end in
/// hundreds of padding characters.
const MAX_CHARACTERS: usize = 1024;

/// The smallest and the greatest string that begin with `prefix` and have at most `max_characters`
/// characters, both included: the range of an index to read for `LIKE 'prefix%'`. Strings that do not
/// begin with it may lie between.
///
/// Under a collation that pads with spaces, `'abc'` itself is not the smallest: `'abc\n'` is less. Not
/// for `binary`, whose ranges are made of bytes.
pub fn like_range(collation: Collation, prefix: &str, max_characters: usize) -> (String, String) {
    let prefix = without_contraction(collation, prefix);
    let room = max_characters
        .min(MAX_CHARACTERS)
        .saturating_sub(character_count(prefix));
    let greatest = match collation.order() {
        Order::General => '\u{ffff}',
        Order::Latin1Swedish | Order::Latin1Bytes => 'ÿ',
        Order::AsciiGeneral => '\u{7f}',
        Order::CodePoints if collation == Collation::AsciiBin => '\u{7f}',
        // Code points above U+FFFF have the greatest weight. Such a bound need not be valid in the
        // character set.
        _ => '\u{10ffff}',
    };
    let least = match collation.order() {
        // The characters before it have no weight.
        Order::Unicode(_) => '\t',
        Order::Table("tolower" | "general_mysql500", _) => '\0',
        Order::Table(..) if collation.charset().is_unicode() => '\t',
        _ => '\0',
    };
    let mut low = prefix.to_owned();
    if collation.pads_space() {
        low.extend(std::iter::repeat_n(least, room));
    }
    let mut high = prefix.to_owned();
    high.extend(std::iter::repeat_n(greatest, room));
    (low, high)
}

/// The prefix without a last character that could form a contraction with what follows: `'c'` of `'c%'`
/// if `ch` is a letter.
fn without_contraction(collation: Collation, prefix: &str) -> &str {
    let changes: fn(Collation, char) -> bool = match collation.order() {
        Order::Table(..) => |collation, c| collation.table().begins_contraction(c),
        // A leading vowel is ordered after its consonant, and marks after all else.
        Order::Thai => |_, c| !c.is_ascii(),
        _ => return prefix,
    };
    prefix.trim_end_matches(|c| changes(collation, c))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;

    #[test]
    fn strings_with_the_prefix_lie_between() {
        for collation in Collation::ALL {
            let (low, high) = like_range(collation, "ab", 6);
            for text in ["ab", "ab\n", "AB\0\0\0\0", "ab    ", "abz", "ab~~~~"] {
                if collation.is_case_sensitive() && text.starts_with('A') {
                    continue;
                }
                assert_ne!(
                    collation.compare(low.as_bytes(), text.as_bytes()),
                    Ordering::Greater,
                    "{text:?} {collation:?}"
                );
                assert_ne!(
                    collation.compare(high.as_bytes(), text.as_bytes()),
                    Ordering::Less,
                    "{text:?} {collation:?}"
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
