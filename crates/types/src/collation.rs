//! Character sets and collations: how strings compare, and keys that sort the same way.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// The character sets a column or connection may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Charset {
    Utf8mb4,
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
}

impl Collation {
    pub const DEFAULT: Self = Self::Utf8mb40900AiCi;
    pub const ALL: [Self; 6] = [
        Self::Utf8mb40900AiCi,
        Self::Utf8mb4GeneralCi,
        Self::Utf8mb4Bin,
        Self::Latin1SwedishCi,
        Self::AsciiBin,
        Self::Binary,
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
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|c| c.name().eq_ignore_ascii_case(name))
    }

    pub fn charset(self) -> Charset {
        match self {
            Self::Utf8mb40900AiCi | Self::Utf8mb4GeneralCi | Self::Utf8mb4Bin => Charset::Utf8mb4,
            Self::Latin1SwedishCi => Charset::Latin1,
            Self::AsciiBin => Charset::Ascii,
            Self::Binary => Charset::Binary,
        }
    }

    /// Whether trailing spaces are ignored by comparison (PAD SPACE). Only `utf8mb4_0900_ai_ci` and `binary` say no.
    pub fn pads_space(self) -> bool {
        !matches!(self, Self::Utf8mb40900AiCi | Self::Binary)
    }

    /// Whether equality under this collation is equality of bytes (after trailing spaces, where it pads).
    pub fn is_bytewise(self) -> bool {
        matches!(self, Self::Utf8mb4Bin | Self::AsciiBin | Self::Binary)
    }

    /// Compares two strings (UTF-8 for text, any bytes for `binary`).
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let (mut ka, mut kb) = (Vec::new(), Vec::new());
        self.sort_key(a, &mut ka);
        self.sort_key(b, &mut kb);
        ka.cmp(&kb)
    }

    /// Appends the sort key: bytes whose order and equality are the collation's.
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(text);
    }
}

impl Charset {
    pub const ALL: [Self; 4] = [Self::Utf8mb4, Self::Latin1, Self::Ascii, Self::Binary];

    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8mb4 => "utf8mb4",
            Self::Latin1 => "latin1",
            Self::Ascii => "ascii",
            Self::Binary => "binary",
        }
    }

    /// Finds a character set by name. `utf8` and `utf8mb3` are read as utf8mb4.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") || name.eq_ignore_ascii_case("utf8mb3") {
            return Some(Self::Utf8mb4);
        }
        Self::ALL
            .into_iter()
            .find(|c| c.name().eq_ignore_ascii_case(name))
    }

    pub fn default_collation(self) -> Collation {
        match self {
            Self::Utf8mb4 => Collation::Utf8mb40900AiCi,
            Self::Latin1 => Collation::Latin1SwedishCi,
            Self::Ascii => Collation::AsciiBin,
            Self::Binary => Collation::Binary,
        }
    }

    /// Bytes the longest character takes.
    pub fn max_bytes_per_char(self) -> u32 {
        if self == Self::Utf8mb4 { 4 } else { 1 }
    }
}
