//! The weights of a string as MySQL's WEIGHT_STRING shows them. Keys ([`Collation::sort_key`]) are other
//! bytes where trailing spaces do not count.

use super::{Collation, ascii_weights, general_ci, latin1, uca};

impl Collation {
    /// Appends the weights of a text, each in as many bytes as MySQL takes for it.
    pub fn weight_string(self, text: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Binary | Self::Utf8mb40900Bin | Self::Utf8mb40900AiCi => self.sort_key(text, out),
            Self::AsciiBin => out.extend_from_slice(text),
            Self::Utf8mb4Bin | Self::Utf8mb3Bin => {
                let skip = if self == Self::Utf8mb4Bin { 1 } else { 2 };
                for character in String::from_utf8_lossy(text).chars() {
                    let code = u32::from(character).to_be_bytes();
                    out.extend(code.iter().skip(skip));
                }
            }
            Self::Utf8mb4GeneralCi | Self::Utf8mb3GeneralCi => {
                general_ci::weights(text).for_each(|weight| general_ci::write_weight(weight, out));
            }
            Self::Latin1SwedishCi => {
                latin1::weights(text).for_each(|weight| latin1::write_weight(weight, out))
            }
            Self::Latin1Bin => latin1::bytes(text).for_each(|weight| latin1::write_weight(weight, out)),
            Self::AsciiGeneralCi => out.extend(ascii_weights(text).map(|weight| weight as u8)),
            Self::Utf8mb4UnicodeCi
            | Self::Utf8mb4Unicode520Ci
            | Self::Utf8mb3UnicodeCi
            | Self::Utf8mb3Unicode520Ci => {
                uca::weights(self.uca(), text).for_each(|weight| uca::write_weight(weight, out));
            }
        }
    }
}
