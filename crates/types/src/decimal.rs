//! Exact decimal numbers of up to 65 digits.

use arrow::datatypes::i256;

/// An exact number: `unscaled / 10^scale`. At most 65 digits, at most 30 of them after the point.
///
/// Source: MySQL 8.0 manual, 12.25 "Precision Math".
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    pub unscaled: i256,
    pub scale: u8,
}

impl Decimal {
    pub const MAX_DIGITS: u8 = 65;
    pub const MAX_SCALE: u8 = 30;
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.scale == other.scale && self.unscaled == other.unscaled
    }
}
