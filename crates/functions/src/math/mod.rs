//! Numeric functions.
//!
//! - [`rounding`]: ABS, SIGN, CEILING, FLOOR, ROUND, TRUNCATE.
//! - [`transcendental`]: roots, powers, logarithms, trigonometry.
//! - [`bases`]: CONV, BIN, OCT.
//! - [`random`] has RAND.
//!
//! Source: manual 12.6.2 "Mathematical Functions".

pub(crate) mod bases;
pub(crate) mod random;
pub(crate) mod rounding;
pub(crate) mod sequence;
pub(crate) mod transcendental;
