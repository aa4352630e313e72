//! LIKE and the REGEXP functions.

mod compiled;
pub(crate) mod like;
pub(crate) mod operators;
pub(crate) mod regex_cache;
pub(crate) mod regexp;
mod segments;
mod token;
