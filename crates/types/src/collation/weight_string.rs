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

    /// Appends code points, each in as many bytes as the character set needs.
    fn code_points(self, text: &[u8], out: &mut Vec<u8>) {
        let bytes = match self.charset() {
            Charset::Ascii => 1,
            Charset::Utf8mb3 | Charset::Ucs2 => 2,
            _ => 3,
        };
        for character in String::from_utf8_lossy(text).chars() {
            let code = u32::from(character).to_be_bytes();
            out.extend(code.iter().skip(4 - bytes));
        }
    }
}
