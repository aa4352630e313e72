//! MySQL's binary form of decimals ([`types::decimal::binary`]), with this crate's errors.

use types::Decimal;
use types::decimal::binary as form;
pub use types::decimal::binary::SmallForm;

use crate::{Error, Result};

const DAMAGED: Error = Error::Malformed { what: "a decimal" };

/// Appends precision, scale and digits. The number is rounded to `scale`; it must fit the precision.
pub fn encode(value: &Decimal, precision: u8, scale: u8, out: &mut Vec<u8>) -> Result<()> {
    form::encode(value, precision, scale, out).ok_or(Error::Malformed {
        what: "a decimal beyond its column's precision",
    })
}

/// Removes precision, scale and digits from the front.
pub fn decode(input: &mut &[u8]) -> Result<Decimal> {
    form::decode(input).ok_or(DAMAGED)
}

/// Skips an encoded decimal.
pub fn skip(input: &mut &[u8]) -> Result<()> {
    form::skip(input).ok_or(DAMAGED)
}
