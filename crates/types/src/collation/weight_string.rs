//! The weights of a string as MySQL's WEIGHT_STRING shows them. Sort keys ([`Collation::sort_key`]) differ
//! from them under collations that pad with spaces.

use super::definitions::Order;
use super::{Collation, ascii_weights, general_ci, latin1, thai, uca};
use crate::Charset;

impl Collation {
    /// Appends the weights of a text, each in as many bytes as MySQL uses.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        match self.order() {
            Order::Bytes | Order::Ducet => self.sort_key(text, out),
            Order::CodePoints => self.code_points(text, out),
            Order::General => {
                general_ci::weights(text).for_each(|weight| general_ci::write_weight(weight, out));
            }
            Order::Latin1Swedish => {
                out.extend(latin1::weights(text).map(|weight| weight as u8));
            }
            Order::Latin1Bytes => out.extend(latin1::bytes(text).map(|weight| weight as u8)),
            Order::AsciiGeneral => out.extend(ascii_weights(text).map(|weight| weight as u8)),
            Order::Unicode(version) => {
                uca::weights(version, text).for_each(|weight| uca::write_weight(weight, out));
            }
            Order::Encoded | Order::Table(..) => {
                let table = self.table();
                match self.pads_space() {
                    true if table.width == 1 => out.extend(table.weights(text).map(|weight| weight as u8)),
                    true => table
                        .weights(text)
                        .for_each(|weight| uca::write_weight(weight, out)),
                    false => table.sort_key(text, out),
                }
            }
            Order::Thai => out.extend(thai::weights(text).map(|weight| weight as u8)),
        }
    }

    /// How many bytes MySQL reserves for the weights of a text. `bytes`: the length of the text in bytes if
    /// all its characters were as long as the character set allows.
    pub fn weights_length(self, bytes: u64) -> u64 {
        let characters = bytes.div_ceil(u64::from(self.charset().max_bytes_per_char()));
        let times = |factor: u64| bytes.saturating_mul(factor);
        match self.order() {
            Order::Bytes | Order::Latin1Swedish | Order::Latin1Bytes | Order::AsciiGeneral => bytes,
            Order::Ducet | Order::Thai => times(4),
            Order::CodePoints => characters.saturating_mul(self.code_point_bytes() as u64),
            Order::General => characters.saturating_mul(2),
            Order::Unicode(_) => times(8),
            Order::Encoded => bytes,
            Order::Table(..) => self.table_weights_length(bytes),
        }
    }

    fn table_weights_length(self, bytes: u64) -> u64 {
        // Bytes for each level of weights, and between two levels.
        let (factor, separators) = match self.name() {
            "latin1_german2_ci" | "gb18030_chinese_ci" => (2, 0),
            name if name.ends_with("_0900_as_cs_ks") => (20, 6),
            "utf8mb4_ja_0900_as_cs" | "utf8mb4_zh_0900_as_cs" => (16, 4),
            name if name.ends_with("_0900_as_cs") => (12, 4),
            name if name.ends_with("_0900_as_ci") => (8, 2),
            name if name.ends_with("_0900_ai_ci") => (4, 0),
            _ if self.charset().is_unicode() => (8, 0),
            _ => (1, 0),
        };
        bytes.saturating_mul(factor).saturating_add(separators)
    }

    /// In how many bytes MySQL writes a code point as a weight.
    fn code_point_bytes(self) -> usize {
        match self.charset() {
            Charset::Ascii => 1,
            Charset::Utf8mb3 | Charset::Ucs2 => 2,
            _ => 3,
        }
    }

    /// Appends code points, each in as many bytes as the character set needs.
    fn code_points(self, text: &[u8], out: &mut Vec<u8>) {
        let bytes = self.code_point_bytes();
        for character in String::from_utf8_lossy(text).chars() {
            let code = u32::from(character).to_be_bytes();
            out.extend(code.iter().skip(4 - bytes));
        }
    }
}
