//! The other case of a letter, in the character sets and collations that MySQL has for it.
//!
//! Source: UPPER and LOWER of all characters under `utf8mb4_general_ci` and `utf8mb4_0900_ai_ci` in MySQL 8.0.33.

use types::{Charset, Collation};

/// One case of the two.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Case {
    Upper,
    Lower,
}

/// The letters of Unicode that came after the tables of the older collations, up to [`OLD_END`].
#[rustfmt::skip]
const NEW_LETTERS: &[(char, char)] = &[
    ('\u{180}', '\u{180}'), ('\u{19a}', '\u{19a}'), ('\u{19e}', '\u{19e}'), ('\u{220}', '\u{220}'),
    ('\u{23a}', '\u{252}'), ('\u{25c}', '\u{25c}'), ('\u{261}', '\u{261}'), ('\u{265}', '\u{266}'),
    ('\u{26a}', '\u{26c}'), ('\u{271}', '\u{271}'), ('\u{27d}', '\u{27d}'), ('\u{282}', '\u{282}'),
    ('\u{287}', '\u{287}'), ('\u{289}', '\u{289}'), ('\u{28c}', '\u{28c}'), ('\u{29d}', '\u{29e}'),
    ('\u{370}', '\u{37f}'), ('\u{3cf}', '\u{3cf}'), ('\u{3d7}', '\u{3d9}'), ('\u{3f3}', '\u{3ff}'),
    ('\u{48a}', '\u{48b}'), ('\u{4c0}', '\u{4c0}'), ('\u{4c5}', '\u{4c6}'), ('\u{4c9}', '\u{4ca}'),
    ('\u{4cd}', '\u{4cf}'), ('\u{4f6}', '\u{4f7}'), ('\u{4fa}', '\u{52f}'), ('\u{10a0}', '\u{10ff}'),
    ('\u{13a0}', '\u{13fd}'), ('\u{1c80}', '\u{1d8e}'), ('\u{1e9e}', '\u{1e9e}'), ('\u{1efa}', '\u{1eff}'),
    ('\u{2132}', '\u{214e}'), ('\u{2183}', '\u{2184}'), ('\u{2c00}', '\u{2d2d}'), ('\u{a640}', '\u{a7f6}'),
    ('\u{ab53}', '\u{abbf}'),
];
/// The letters whose other case came to Unicode after 9.0, whose table the collations named after 9.0 have.
#[rustfmt::skip]
const LATER_THAN_9: &[(char, char)] = &[
    ('\u{19b}', '\u{19b}'), ('\u{264}', '\u{264}'), ('\u{282}', '\u{282}'), ('\u{10d0}', '\u{10ff}'),
    ('\u{1c89}', '\u{1c8a}'), ('\u{1c90}', '\u{1cbf}'), ('\u{1d8e}', '\u{1d8e}'), ('\u{2c2f}', '\u{2c2f}'),
    ('\u{2c5f}', '\u{2c5f}'), ('\u{a794}', '\u{a794}'), ('\u{a7b8}', '\u{a7f6}'), ('\u{10570}', '\u{105bc}'),
    ('\u{10d50}', '\u{10d85}'), ('\u{16e40}', '\u{16e7f}'), ('\u{16ea0}', '\u{16ed3}'),
];
/// Those that came between 5.2 and 9.0.
#[rustfmt::skip]
const LATER_THAN_5: &[(char, char)] = &[
    ('\u{25c}', '\u{25c}'), ('\u{261}', '\u{261}'), ('\u{265}', '\u{266}'), ('\u{26a}', '\u{26a}'),
    ('\u{26c}', '\u{26c}'), ('\u{287}', '\u{287}'), ('\u{29d}', '\u{29e}'), ('\u{37f}', '\u{37f}'),
    ('\u{3f3}', '\u{3f3}'), ('\u{526}', '\u{52f}'), ('\u{10c7}', '\u{10c7}'), ('\u{10cd}', '\u{10cd}'),
    ('\u{13a0}', '\u{13fd}'), ('\u{1c80}', '\u{1c88}'), ('\u{2cf2}', '\u{2cf3}'), ('\u{2d27}', '\u{2d27}'),
    ('\u{2d2d}', '\u{2d2d}'), ('\u{a660}', '\u{a661}'), ('\u{a698}', '\u{a69b}'), ('\u{a78d}', '\u{a78d}'),
    ('\u{a790}', '\u{a7b7}'), ('\u{ab53}', '\u{ab53}'), ('\u{ab70}', '\u{abbf}'), ('\u{104b0}', '\u{104fb}'),
    ('\u{10c80}', '\u{10cf2}'), ('\u{118a0}', '\u{118df}'), ('\u{1e900}', '\u{1e943}'),
];
/// The older tables have no letter from here on.
const OLD_END: char = '\u{10000}';
/// Letters before this one have the same case in all collations.
const OLD_START: char = '\u{180}';

/// `text` in one case. Letters whose other case has several characters stay, and so do those whose other case the
/// character set does not have.
pub(super) fn in_case(text: &str, collation: Collation, case: Case) -> String {
    let charset = collation.charset();
    let is_turkish = has_turkish_letters(collation);
    let changed = |c: char| match (case, c) {
        (Case::Upper, 'i') if is_turkish => DOTTED_I,
        (Case::Lower, 'I') if is_turkish => DOTLESS_I,
        (Case::Upper, c) => upper(c),
        (Case::Lower, c) => lower(c),
    };
    if charset.is_unicode() {
        let is_new: fn(char) -> bool = match has_old_table(collation) {
            true => |c| c >= OLD_END || is_in(c, NEW_LETTERS),
            false if collation.name().contains("_520_") => {
                |c| is_in(c, LATER_THAN_9) || is_in(c, LATER_THAN_5)
            }
            false => |c| is_in(c, LATER_THAN_9),
        };
        let change = |c: char| match c >= OLD_START && is_new(c) {
            true => c,
            false => changed(c),
        };
        return text.chars().map(change).collect();
    }
    // In latin1, MySQL knows no letters among the bytes 0x80 to 0x9F.
    let fits = |c: char| match charset {
        Charset::Latin1 => c <= '\u{ff}',
        _ => charset.has(c),
    };
    let change = |c: char| match changed(c) {
        changed if fits(c) && fits(changed) => changed,
        _ => c,
    };
    text.chars().map(change).collect()
}

const DOTTED_I: char = '\u{130}';
const DOTLESS_I: char = '\u{131}';

/// Whether `i` and `I` are two letters. The Turkish collations of Unicode 9.0 have the cases of all others.
fn has_turkish_letters(collation: Collation) -> bool {
    collation.charset() == Charset::Latin5 || collation.name().ends_with("_turkish_ci")
}

/// Whether the collation is older than those of Unicode 5.2 and 9.0.
fn has_old_table(collation: Collation) -> bool {
    collation.pads_space() && !collation.name().contains("_520_")
}

/// Whether a letter is in one of the ranges, which ascend.
fn is_in(c: char, ranges: &[(char, char)]) -> bool {
    let at = ranges.partition_point(|(_, last)| *last < c);
    ranges.get(at).is_some_and(|(first, _)| *first <= c)
}

fn upper(c: char) -> char {
    // Greek letters with a iota below: MySQL has them as one character.
    let distance = match c {
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => 8,
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => 9,
        _ => return single(c.to_uppercase(), c),
    };
    char::from_u32(c as u32 + distance).unwrap_or(c)
}

fn lower(c: char) -> char {
    // The only upper-case letter with a lower-case form of two characters: the dotted i.
    match c {
        DOTTED_I => 'i',
        c => single(c.to_lowercase(), c),
    }
}

fn single(mut mapped: impl ExactSizeIterator<Item = char>, original: char) -> char {
    match (mapped.len(), mapped.next()) {
        (1, Some(c)) => c,
        _ => original,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_the_tables() {
        let upper = |text, collation| in_case(text, collation, Case::Upper);
        assert_eq!(upper("aßéÿœ", Collation::Latin1SwedishCi), "AßÉÿœ");
        assert_eq!(in_case("ŸŒÉ", Collation::Latin1SwedishCi, Case::Lower), "ŸŒé");
        assert_eq!(upper("ÿœʞƀ", Collation::Utf8mb4GeneralCi), "ŸŒʞƀ");
        assert_eq!(upper("Iİiı", Collation::Utf8mb4TurkishCi), "IİİI");
        assert_eq!(in_case("Iİiı", Collation::Latin5Bin, Case::Lower), "ıiiı");
        assert_eq!(upper("ʞƀ", Collation::Utf8mb40900AiCi), "\u{a7b0}Ƀ");
        assert_eq!(
            upper("\u{1f80}\u{10428}", Collation::Utf8mb4Bin),
            "\u{1f88}\u{10428}"
        );
    }

    #[test]
    fn new_letters_ascend() {
        for letters in [NEW_LETTERS, LATER_THAN_5, LATER_THAN_9] {
            assert!(letters.iter().all(|(first, last)| first <= last));
            assert!(letters.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
