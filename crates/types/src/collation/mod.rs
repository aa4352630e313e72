//! Collations: how strings compare, and keys that sort the same way.
//!
//! - [`definitions`]: the list of collations, and the kind of order of each.
//! - [`Collation::compare`], [`Collation::sort_key`]: dispatch to one module per kind of order that is not
//!   plain bytes (`ducet`, `uca`, `general_ci`, `latin1`, `thai`, and `table` for all that are data), and to
//!   `pad` for PAD SPACE.
//! - [`first_characters`], [`character_count`]: lengths in characters.
//!
//! Not here: which collation an expression has (`functions`); the bytes of text ([`crate::charset`]).

mod characters;
mod definitions;
mod ducet;
mod general_ci;
mod latin1;
mod like_range;
mod pad;
mod table;
mod thai;
mod uca;
mod weight_string;

use std::cmp::Ordering;

pub use characters::{character_count, first_characters};
pub use definitions::Collation;
use definitions::Order;
pub(crate) use latin1::{char_to_latin1, latin1_to_char};
pub use like_range::like_range;

impl Collation {
    /// Compares two strings (UTF-8 for text, any bytes for `binary`). Allocates only for Thai.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.order() {
            Order::Bytes => a.cmp(b),
            // The order of UTF-8's bytes is that of code points.
            Order::CodePoints => pad::compare_bytes(a, b),
            Order::Ducet => {
                let (a, b) = without_common_prefix(a, b);
                ducet::Weights::of(a).cmp(ducet::Weights::of(b))
            }
            Order::General => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(general_ci::weights(a), general_ci::weights(b), general_ci::SPACE)
            }
            Order::Latin1Swedish => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(latin1::weights(a), latin1::weights(b), latin1::SPACE)
            }
            Order::Latin1Bytes => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(latin1::bytes(a), latin1::bytes(b), latin1::SPACE)
            }
            Order::AsciiGeneral => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(ascii_weights(a), ascii_weights(b), u16::from(b' '))
            }
            Order::Unicode(version) => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(
                    uca::weights(version, a),
                    uca::weights(version, b),
                    version.space(),
                )
            }
            Order::Encoded | Order::Table(..) => self.compare_by_table(a, b),
            Order::Thai => pad::compare(thai::weights(a), thai::weights(b), u16::from(b' ')),
        }
    }

    fn compare_by_table(self, a: &[u8], b: &[u8]) -> Ordering {
        let table = self.table();
        let (a, b) = match table.has_contractions() {
            true => (a, b),
            false => without_common_prefix(a, b),
        };
        match self.pads_space() {
            true => pad::compare(table.weights(a), table.weights(b), table.space),
            false => table.compare(a, b),
        }
    }

    /// A number that pre-sorts texts. If the numbers of two texts differ, the texts compare as the numbers
    /// do. If the numbers are equal, [`Collation::compare`] decides.
    pub fn order_number(self, text: &[u8]) -> u64 {
        match self.order() {
            Order::Bytes => first_bytes(text, 0),
            Order::CodePoints => first_bytes(text, b' '),
            Order::Ducet => {
                ducet::four_of_ascii(text).unwrap_or_else(|| first_weights(ducet::Weights::of(text), 0))
            }
            Order::General => first_weights(general_ci::weights(text), general_ci::SPACE),
            Order::Latin1Swedish => first_weights(latin1::weights(text), latin1::SPACE),
            Order::Latin1Bytes => first_weights(latin1::bytes(text), latin1::SPACE),
            Order::AsciiGeneral => first_weights(ascii_weights(text), u16::from(b' ')),
            Order::Unicode(version) => first_weights(uca::weights(version, text), version.space()),
            Order::Encoded | Order::Table(..) => {
                let table = self.table();
                let pad = if self.pads_space() { table.space } else { 0 };
                first_weights(table.weights(text), pad)
            }
            Order::Thai => first_weights(thai::weights(text), u16::from(b' ')),
        }
    }

    /// Whether two strings are equal: [`Collation::compare`], with a shortcut for equal bytes.
    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        a == b || (self != Self::Binary && self.compare(a, b) == Ordering::Equal)
    }

    /// Appends the sort key: bytes whose order and equality are the collation's. Equal strings have equal
    /// keys, so that keys can be hashed. Keys are stored in indexes: their bytes are part of the stored
    /// format.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        match self.order() {
            Order::Bytes => out.extend_from_slice(text),
            Order::CodePoints => pad::sort_key_of_bytes(text, out),
            Order::Ducet => ducet::sort_key(text, out),
            Order::General => {
                let weights = general_ci::weights(text);
                pad::sort_key(weights, general_ci::SPACE, general_ci::write_weight, out);
            }
            Order::Latin1Swedish => {
                let weights = latin1::weights(text);
                pad::sort_key(weights, latin1::SPACE, latin1::write_weight, out);
            }
            Order::Latin1Bytes => {
                let bytes = latin1::bytes(text);
                pad::sort_key(bytes, latin1::SPACE, latin1::write_weight, out);
            }
            Order::AsciiGeneral => {
                let write = |weight: u16, out: &mut Vec<u8>| out.push(weight as u8);
                pad::sort_key(ascii_weights(text), u16::from(b' '), write, out);
            }
            Order::Unicode(version) => {
                let weights = uca::weights(version, text);
                pad::sort_key(weights, version.space(), uca::write_weight, out);
            }
            Order::Encoded | Order::Table(..) => {
                let table = self.table();
                match self.pads_space() {
                    true if table.width == 1 => {
                        pad::sort_key(table.weights(text), table.space, latin1::write_weight, out);
                    }
                    true => pad::sort_key(table.weights(text), table.space, uca::write_weight, out),
                    false => table.sort_key(text, out),
                }
            }
            Order::Thai => {
                pad::sort_key(thai::weights(text), u16::from(b' '), latin1::write_weight, out);
            }
        }
    }
}

/// The weights under `ascii_general_ci`: bytes, with lower case mapped to upper case.
fn ascii_weights(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    text.iter().map(|byte| u16::from(byte.to_ascii_uppercase()))
}

/// The first eight bytes as a number. `pad` fills up shorter texts.
fn first_bytes(text: &[u8], pad: u8) -> u64 {
    let mut first = [pad; 8];
    for (slot, byte) in first.iter_mut().zip(text) {
        *slot = *byte;
    }
    u64::from_be_bytes(first)
}

/// The first four weights as a number. `pad` fills up shorter texts.
fn first_weights(mut weights: impl Iterator<Item = u16>, pad: u16) -> u64 {
    (0..4).fold(0, |number, _| {
        (number << 16) | u64::from(weights.next().unwrap_or(pad))
    })
}

/// Both texts without their common prefix, for collations where the weights of a character do not depend on
/// its neighbours.
fn without_common_prefix<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let shared = characters::common_prefix(a, b);
    (&a[shared..], &b[shared..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(collation: Collation, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        collation.sort_key(text.as_bytes(), &mut out);
        out
    }

    /// Answers of MySQL 8.0.33.
    #[test]
    fn equal_and_less_as_mysql_says() {
        use Collation::*;
        use Ordering::*;
        for (collation, a, b, expected) in [
            (Utf8mb40900AiCi, "a", "Ä", Equal),
            (Utf8mb40900AiCi, "ss", "ß", Equal),
            (Utf8mb40900AiCi, "a", "a ", Less),
            (Utf8mb40900AiCi, "a", "a\0", Equal),
            (Utf8mb40900AiCi, "_", "a", Less),
            (Utf8mb40900AiCi, "e\u{301}", "É", Equal),
            (Utf8mb40900AiCi, "😀", "😁", Less),
            (Utf8mb4GeneralCi, "a", "Ä", Equal),
            (Utf8mb4GeneralCi, "s", "ß", Equal),
            (Utf8mb4GeneralCi, "a", "a  ", Equal),
            (Utf8mb4GeneralCi, "a\n", "a", Less),
            (Utf8mb4GeneralCi, "😀", "😁", Equal),
            (Utf8mb4GeneralCi, "_", "a", Greater),
            (Utf8mb4Bin, "a", "A", Greater),
            (Utf8mb4Bin, "a", "a ", Equal),
            (Utf8mb4Bin, "a\n", "a", Less),
            (Utf8mb4Bin, "\u{ffff}", "😀", Less),
            (Latin1SwedishCi, "ü", "Y", Equal),
            (Latin1SwedishCi, "ä", "a", Greater),
            (Latin1SwedishCi, "ö", "ä", Greater),
            (Latin1SwedishCi, "a ", "A", Equal),
            (Latin1Bin, "ü", "Y", Greater),
            (Latin1Bin, "€", "ä", Less),
            (Latin1Bin, "a ", "A", Greater),
            (Latin1Bin, "a ", "a", Equal),
            (AsciiBin, "a", "A", Greater),
            (AsciiBin, "a", "a ", Equal),
            (Binary, "a", "a ", Less),
            (Utf8mb4UnicodeCi, "a", "Ä ", Equal),
            (Utf8mb4UnicodeCi, "ss", "ß", Equal),
            (Utf8mb4UnicodeCi, "e\u{301}", "É", Equal),
            (Utf8mb4UnicodeCi, "😀", "😁", Equal),
            (Utf8mb4UnicodeCi, "a\n", "a", Less),
            (Utf8mb4UnicodeCi, "ł", "l", Greater),
            (Utf8mb4Unicode520Ci, "ł", "l", Equal),
            (Utf8mb4Unicode520Ci, "😀", "😁", Less),
            (Utf8mb4Unicode520Ci, "a", "A  ", Equal),
            (Utf8mb40900Bin, "a", "A", Greater),
            (Utf8mb40900Bin, "a", "a ", Less),
            (Utf8mb3GeneralCi, "s", "ß ", Equal),
            (Utf8mb3Bin, "a", "A", Greater),
            (Utf8mb3UnicodeCi, "ss", "ß", Equal),
            (Utf8mb3UnicodeCi, "ł", "l", Greater),
            (Utf8mb3Unicode520Ci, "ł", "l", Equal),
            (AsciiGeneralCi, "a ", "A", Equal),
            (AsciiGeneralCi, "_", "a", Greater),
        ] {
            assert_eq!(
                collation.compare(a.as_bytes(), b.as_bytes()),
                expected,
                "{collation:?} {a:?} {b:?}"
            );
            assert_eq!(
                key(collation, a).cmp(&key(collation, b)),
                expected,
                "key: {collation:?} {a:?} {b:?}"
            );
            assert_eq!(collation.equal(a.as_bytes(), b.as_bytes()), expected == Equal);
        }
    }

    /// Checks lines of collation, text in UTF-8 and weights, the last two hexadecimal. Returns the number of
    /// lines.
    fn check_weights(lines: &str) -> usize {
        let bytes = |hex: &str| -> Vec<u8> {
            let (pairs, _) = hex.as_bytes().as_chunks::<2>();
            let pair = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
            pairs.iter().map(pair).collect()
        };
        let mut wrong = Vec::new();
        for line in lines.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let collation = Collation::from_name(fields[0]).unwrap();
            let mut weights = Vec::new();
            collation.weight_string(&bytes(fields[1]), &mut weights);
            if weights != bytes(fields[2]) {
                wrong.push(format!("{line}, not {weights:02x?}"));
            }
        }
        assert!(
            wrong.is_empty(),
            "{} wrong:\n{}",
            wrong.len(),
            wrong[..wrong.len().min(300)].join("\n")
        );
        lines.lines().count()
    }

    /// Texts with characters that single languages order in their own way, as MySQL 8.0.33 weighs them.
    #[test]
    fn weights_as_recorded() {
        assert!(check_weights(include_str!("weights_sample.txt")) > 1500);
    }

    /// Compares with any number of weights from a MySQL server, in the file that `MYSQL_WEIGHTS` names:
    /// collation, text and `WEIGHT_STRING`, separated by tabs, the last two hexadecimal.
    #[test]
    #[ignore = "needs weights from a MySQL server"]
    fn weights_of_a_server() {
        let file = std::fs::read_to_string(std::env::var("MYSQL_WEIGHTS").unwrap()).unwrap();
        check_weights(&file);
    }

    proptest! {
        #[test]
        fn keys_agree_with_comparison(a in "[ \t\n!aAbBäÄßé中😀]{0,6}", b in "[ \t\n!aAbBäÄßé中😀]{0,6}") {
            for collation in Collation::ALL {
                let order = collation.compare(a.as_bytes(), b.as_bytes());
                prop_assert_eq!(key(collation, &a).cmp(&key(collation, &b)), order, "{:?}", collation);
                let numbers = [&a, &b].map(|text| collation.order_number(text.as_bytes()));
                prop_assert!(numbers[0] == numbers[1] || numbers[0].cmp(&numbers[1]) == order, "{:?}", collation);
                prop_assert_eq!(collation.compare(b.as_bytes(), a.as_bytes()), order.reverse());
            }
        }

        #[test]
        fn any_text_and_any_bytes(a: String, b: String, bytes: Vec<u8>) {
            for collation in Collation::ALL {
                let order = collation.compare(a.as_bytes(), b.as_bytes());
                prop_assert_eq!(key(collation, &a).cmp(&key(collation, &b)), order, "{:?}", collation);
                let numbers = [&a, &b].map(|text| collation.order_number(text.as_bytes()));
                prop_assert!(numbers[0] == numbers[1] || numbers[0].cmp(&numbers[1]) == order, "{:?}", collation);
                let _ = collation.compare(&bytes, a.as_bytes());
                collation.sort_key(&bytes, &mut Vec::new());
            }
        }
    }
}
