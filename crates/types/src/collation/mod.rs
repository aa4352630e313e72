//! Character sets and collations: how strings compare, and keys that sort the same way.
//!
//! - [`Collation::compare`], [`Collation::sort_key`]: dispatch to one module per collation that is not plain
//!   bytes (`ducet`, `uca`, `general_ci`, `latin1`), and to `pad` for PAD SPACE.
//! - [`latin1_to_utf8`], [`utf8_to_latin1`]: for clients that speak latin1. In memory all text is UTF-8.
//! - [`first_characters`], [`character_count`]: lengths in characters.
//!
//! Not here: which collation an expression has (`functions`).

mod characters;
mod ducet;
mod general_ci;
mod latin1;
mod like_range;
mod pad;
mod uca;
mod weight_string;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

pub use characters::{character_count, first_characters};
pub use latin1::{char_to_latin1, latin1_to_char, latin1_to_utf8, utf8_to_latin1};

/// The character sets a column or connection may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Charset {
    Utf8mb4,
    /// UTF-8 of at most three bytes a character: nothing above U+FFFF. In memory it is UTF-8 like all others.
    Utf8mb3,
    Latin1,
    Ascii,
    Binary,
}

/// The collations StemDB has. Stored by name in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collation {
    Utf8mb40900AiCi,
    Utf8mb4GeneralCi,
    Utf8mb4Bin,
    Latin1SwedishCi,
    AsciiBin,
    Binary,
    Utf8mb4UnicodeCi,
    Utf8mb4Unicode520Ci,
    Utf8mb40900Bin,
    AsciiGeneralCi,
    Latin1Bin,
    Utf8mb3GeneralCi,
    Utf8mb3Bin,
    Utf8mb3UnicodeCi,
    Utf8mb3Unicode520Ci,
}

impl Collation {
    pub const DEFAULT: Self = Self::Utf8mb40900AiCi;
    pub const ALL: [Self; 15] = [
        Self::Utf8mb40900AiCi,
        Self::Utf8mb4GeneralCi,
        Self::Utf8mb4Bin,
        Self::Latin1SwedishCi,
        Self::AsciiBin,
        Self::Binary,
        Self::Utf8mb4UnicodeCi,
        Self::Utf8mb4Unicode520Ci,
        Self::Utf8mb40900Bin,
        Self::AsciiGeneralCi,
        Self::Latin1Bin,
        Self::Utf8mb3GeneralCi,
        Self::Utf8mb3Bin,
        Self::Utf8mb3UnicodeCi,
        Self::Utf8mb3Unicode520Ci,
    ];

    /// MySQL's number for the collation, as in `information_schema.collations` and the protocol.
    pub fn id(self) -> u16 {
        match self {
            Self::Utf8mb40900AiCi => 255,
            Self::Utf8mb4GeneralCi => 45,
            Self::Utf8mb4Bin => 46,
            Self::Latin1SwedishCi => 8,
            Self::AsciiBin => 65,
            Self::Binary => 63,
            Self::Utf8mb4UnicodeCi => 224,
            Self::Utf8mb4Unicode520Ci => 246,
            Self::Utf8mb40900Bin => 309,
            Self::AsciiGeneralCi => 11,
            Self::Latin1Bin => 47,
            Self::Utf8mb3GeneralCi => 33,
            Self::Utf8mb3Bin => 83,
            Self::Utf8mb3UnicodeCi => 192,
            Self::Utf8mb3Unicode520Ci => 214,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8mb40900AiCi => "utf8mb4_0900_ai_ci",
            Self::Utf8mb4GeneralCi => "utf8mb4_general_ci",
            Self::Utf8mb4Bin => "utf8mb4_bin",
            Self::Latin1SwedishCi => "latin1_swedish_ci",
            Self::AsciiBin => "ascii_bin",
            Self::Binary => "binary",
            Self::Utf8mb4UnicodeCi => "utf8mb4_unicode_ci",
            Self::Utf8mb4Unicode520Ci => "utf8mb4_unicode_520_ci",
            Self::Utf8mb40900Bin => "utf8mb4_0900_bin",
            Self::AsciiGeneralCi => "ascii_general_ci",
            Self::Latin1Bin => "latin1_bin",
            Self::Utf8mb3GeneralCi => "utf8mb3_general_ci",
            Self::Utf8mb3Bin => "utf8mb3_bin",
            Self::Utf8mb3UnicodeCi => "utf8mb3_unicode_ci",
            Self::Utf8mb3Unicode520Ci => "utf8mb3_unicode_520_ci",
        }
    }

    /// Finds a collation by name. `utf8_` is the older spelling of `utf8mb3_`.
    pub fn from_name(name: &str) -> Option<Self> {
        let is_named = |collation: &Self| {
            let own = collation.name();
            let older = || own.strip_prefix("utf8mb3_").zip(prefix_and_rest(name, "utf8_"));
            own.eq_ignore_ascii_case(name) || older().is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
        };
        Self::ALL.into_iter().find(is_named)
    }

    /// Finds a collation by the number that a client gives.
    pub fn from_id(id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.id() == id)
    }

    pub fn charset(self) -> Charset {
        match self {
            Self::Utf8mb40900AiCi
            | Self::Utf8mb4GeneralCi
            | Self::Utf8mb4Bin
            | Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci
            | Self::Utf8mb40900Bin => Charset::Utf8mb4,
            Self::Utf8mb3GeneralCi
            | Self::Utf8mb3Bin
            | Self::Utf8mb3UnicodeCi
            | Self::Utf8mb3Unicode520Ci => Charset::Utf8mb3,
            Self::Latin1SwedishCi | Self::Latin1Bin => Charset::Latin1,
            Self::AsciiBin | Self::AsciiGeneralCi => Charset::Ascii,
            Self::Binary => Charset::Binary,
        }
    }

    /// Whether trailing spaces are ignored by comparison (PAD SPACE): not under the newer collations and
    /// `binary`.
    pub fn pads_space(self) -> bool {
        !matches!(self, Self::Utf8mb40900AiCi | Self::Utf8mb40900Bin | Self::Binary)
    }

    /// `Sortlen` of SHOW COLLATION: how much memory MySQL sets aside for sorting.
    pub fn sort_length(self) -> u64 {
        match self {
            Self::Utf8mb40900AiCi => 0,
            Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci
            | Self::Utf8mb3UnicodeCi
            | Self::Utf8mb3Unicode520Ci => 8,
            _ => 1,
        }
    }

    /// Whether equality under this collation is equality of bytes (after trailing spaces, where it pads).
    pub fn is_bytewise(self) -> bool {
        matches!(
            self,
            Self::Utf8mb4Bin
                | Self::Utf8mb40900Bin
                | Self::Utf8mb3Bin
                | Self::AsciiBin
                | Self::Latin1Bin
                | Self::Binary
        )
    }

    /// Compares two strings (UTF-8 for text, any bytes for `binary`). Allocates nothing.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Binary | Self::Utf8mb40900Bin => a.cmp(b),
            // The order of UTF-8's bytes is that of code points.
            Self::Utf8mb4Bin | Self::Utf8mb3Bin | Self::AsciiBin => pad::compare_bytes(a, b),
            Self::Utf8mb40900AiCi => {
                let (a, b) = without_common_prefix(a, b);
                ducet::Weights::of(a).cmp(ducet::Weights::of(b))
            }
            Self::Utf8mb4GeneralCi | Self::Utf8mb3GeneralCi => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(general_ci::weights(a), general_ci::weights(b), general_ci::SPACE)
            }
            Self::Latin1SwedishCi => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(latin1::weights(a), latin1::weights(b), latin1::SPACE)
            }
            Self::Latin1Bin => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(latin1::bytes(a), latin1::bytes(b), latin1::SPACE)
            }
            Self::AsciiGeneralCi => {
                let (a, b) = without_common_prefix(a, b);
                pad::compare(ascii_weights(a), ascii_weights(b), u16::from(b' '))
            }
            Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci
            | Self::Utf8mb3UnicodeCi
            | Self::Utf8mb3Unicode520Ci => {
                let (a, b) = without_common_prefix(a, b);
                let version = self.uca();
                pad::compare(
                    uca::weights(version, a),
                    uca::weights(version, b),
                    version.space(),
                )
            }
        }
    }

    /// A number for sorting. If the numbers of two texts differ, the texts compare as the numbers do;
    /// otherwise [`Collation::compare`] decides.
    pub fn order_number(self, text: &[u8]) -> u64 {
        match self {
            Self::Binary | Self::Utf8mb40900Bin => first_bytes(text, 0),
            Self::Utf8mb4Bin | Self::Utf8mb3Bin | Self::AsciiBin => first_bytes(text, b' '),
            Self::Utf8mb40900AiCi => {
                ducet::four_of_ascii(text).unwrap_or_else(|| first_weights(ducet::Weights::of(text), 0))
            }
            Self::Utf8mb4GeneralCi | Self::Utf8mb3GeneralCi => {
                first_weights(general_ci::weights(text), general_ci::SPACE)
            }
            Self::Latin1SwedishCi => first_weights(latin1::weights(text), latin1::SPACE),
            Self::Latin1Bin => first_weights(latin1::bytes(text), latin1::SPACE),
            Self::AsciiGeneralCi => first_weights(ascii_weights(text), u16::from(b' ')),
            Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci
            | Self::Utf8mb3UnicodeCi
            | Self::Utf8mb3Unicode520Ci => first_weights(uca::weights(self.uca(), text), self.uca().space()),
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
        match self {
            Self::Binary | Self::Utf8mb40900Bin => out.extend_from_slice(text),
            Self::Utf8mb4Bin | Self::Utf8mb3Bin | Self::AsciiBin => pad::sort_key_of_bytes(text, out),
            Self::Utf8mb40900AiCi => ducet::sort_key(text, out),
            Self::Utf8mb4GeneralCi | Self::Utf8mb3GeneralCi => {
                let weights = general_ci::weights(text);
                pad::sort_key(weights, general_ci::SPACE, general_ci::write_weight, out);
            }
            Self::Latin1SwedishCi => {
                let weights = latin1::weights(text);
                pad::sort_key(weights, latin1::SPACE, latin1::write_weight, out);
            }
            Self::Latin1Bin => {
                let bytes = latin1::bytes(text);
                pad::sort_key(bytes, latin1::SPACE, latin1::write_weight, out);
            }
            Self::AsciiGeneralCi => {
                let write = |weight: u16, out: &mut Vec<u8>| out.push(weight as u8);
                pad::sort_key(ascii_weights(text), u16::from(b' '), write, out);
            }
            Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci
            | Self::Utf8mb3UnicodeCi
            | Self::Utf8mb3Unicode520Ci => {
                let weights = uca::weights(self.uca(), text);
                pad::sort_key(weights, self.uca().space(), uca::write_weight, out);
            }
        }
    }

    fn uca(self) -> uca::Version {
        match self {
            Self::Utf8mb4Unicode520Ci | Self::Utf8mb3Unicode520Ci => uca::Version::V5_2,
            _ => uca::Version::V4_0,
        }
    }
}

/// The weights under `ascii_general_ci`: bytes, small letters as capitals.
fn ascii_weights(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    text.iter().map(|byte| u16::from(byte.to_ascii_uppercase()))
}

/// The first eight bytes, or as many with `pad` for those that are missing, as a number.
fn first_bytes(text: &[u8], pad: u8) -> u64 {
    let mut first = [pad; 8];
    for (slot, byte) in first.iter_mut().zip(text) {
        *slot = *byte;
    }
    u64::from_be_bytes(first)
}

/// The same with four weights.
fn first_weights(mut weights: impl Iterator<Item = u16>, pad: u16) -> u64 {
    (0..4).fold(0, |number, _| {
        (number << 16) | u64::from(weights.next().unwrap_or(pad))
    })
}

/// Both texts without their common prefix. The weights of a character do not depend on the characters around
/// it.
fn without_common_prefix<'a>(a: &'a [u8], b: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let shared = characters::common_prefix(a, b);
    (&a[shared..], &b[shared..])
}

/// What follows a prefix, whatever its case.
fn prefix_and_rest<'a>(name: &'a str, prefix: &str) -> Option<&'a str> {
    let head = name.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &name[prefix.len()..])
}

impl Charset {
    pub const ALL: [Self; 5] = [
        Self::Utf8mb4,
        Self::Utf8mb3,
        Self::Latin1,
        Self::Ascii,
        Self::Binary,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8mb4 => "utf8mb4",
            Self::Utf8mb3 => "utf8mb3",
            Self::Latin1 => "latin1",
            Self::Ascii => "ascii",
            Self::Binary => "binary",
        }
    }

    /// Finds a character set by name. `utf8` is utf8mb3, as in MySQL 8.0.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Self::Utf8mb3);
        }
        Self::ALL
            .into_iter()
            .find(|c| c.name().eq_ignore_ascii_case(name))
    }

    pub fn default_collation(self) -> Collation {
        match self {
            Self::Utf8mb4 => Collation::Utf8mb40900AiCi,
            Self::Utf8mb3 => Collation::Utf8mb3GeneralCi,
            Self::Latin1 => Collation::Latin1SwedishCi,
            Self::Ascii => Collation::AsciiGeneralCi,
            Self::Binary => Collation::Binary,
        }
    }

    /// The collation that compares code points or bytes, and ignores trailing spaces (but for `binary`).
    pub fn bytewise_collation(self) -> Collation {
        match self {
            Self::Utf8mb4 => Collation::Utf8mb4Bin,
            Self::Utf8mb3 => Collation::Utf8mb3Bin,
            Self::Latin1 => Collation::Latin1Bin,
            Self::Ascii => Collation::AsciiBin,
            Self::Binary => Collation::Binary,
        }
    }

    /// Bytes the longest character takes.
    pub fn max_bytes_per_char(self) -> u32 {
        match self {
            Self::Utf8mb4 => 4,
            Self::Utf8mb3 => 3,
            Self::Latin1 | Self::Ascii | Self::Binary => 1,
        }
    }

    /// Whether its text is UTF-8, all of it or a part.
    pub fn is_unicode(self) -> bool {
        matches!(self, Self::Utf8mb4 | Self::Utf8mb3)
    }

    /// Whether it has a character. `binary` takes all of them.
    pub fn has(self, character: char) -> bool {
        match self {
            Self::Utf8mb4 | Self::Binary => true,
            Self::Utf8mb3 => character <= '\u{ffff}',
            Self::Latin1 => char_to_latin1(character).is_some(),
            Self::Ascii => character.is_ascii(),
        }
    }

    /// Whether it has all characters of a text.
    pub fn has_all_of(self, text: &str) -> bool {
        match self {
            Self::Utf8mb4 | Self::Binary => true,
            // Characters above U+FFFF, and no others, begin with such a byte.
            Self::Utf8mb3 => text.bytes().all(|byte| byte < 0xf0),
            Self::Ascii => text.is_ascii(),
            Self::Latin1 => text.is_ascii() || text.chars().all(|c| self.has(c)),
        }
    }

    /// How many bytes from the start on are text of this character set.
    pub fn valid_len(self, bytes: &[u8]) -> usize {
        let utf8 = |bytes: &[u8]| std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
        match self {
            Self::Latin1 => bytes.len(),
            Self::Ascii => bytes.iter().take_while(|b| b.is_ascii()).count(),
            Self::Utf8mb4 | Self::Binary => utf8(bytes),
            // Characters of four bytes begin with one of those.
            Self::Utf8mb3 => utf8(bytes).min(bytes.iter().take_while(|b| **b < 0xf0).count()),
        }
    }

    /// The message of error 1300, "Invalid utf8mb4 character string: 'FF'": the bytes from the first wrong
    /// one on, at most three.
    pub fn invalid_message(self, bytes: &[u8]) -> String {
        let wrong: String = bytes
            .iter()
            .skip(self.valid_len(bytes))
            .take(3)
            .map(|b| format!("{b:02X}"))
            .collect();
        format!("Invalid {} character string: '{wrong}'", self.name())
    }
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

    /// The whole of Unicode against a running MySQL. `MYSQL_WEIGHTS` names a file of tab-separated lines:
    /// code point, `HEX(WEIGHT_STRING(...))` under utf8mb4_0900_ai_ci and under utf8mb4_general_ci.
    #[test]
    #[ignore = "needs weights from a MySQL server"]
    fn every_code_point_weighs_as_in_mysql() {
        let file = std::fs::read_to_string(std::env::var("MYSQL_WEIGHTS").unwrap()).unwrap();
        let hex = |bytes: Vec<u8>| bytes.iter().map(|b| format!("{b:02X}")).collect::<String>();
        let mut seen = 0;
        for line in file.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let text = String::from(char::from_u32(fields[0].parse().unwrap()).unwrap());
            assert_eq!(
                hex(key(Collation::Utf8mb40900AiCi, &text)),
                fields[1],
                "{}",
                fields[0]
            );
            let general: Vec<u8> = general_ci::weights(text.as_bytes())
                .flat_map(u16::to_be_bytes)
                .collect();
            assert_eq!(hex(general), fields[2], "{}", fields[0]);
            seen += 1;
        }
        assert_eq!(seen, 0x11_0000 - 0x800);
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
