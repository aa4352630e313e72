//! LIKE and the REGEXP functions.

mod compiled;
mod icu_rules;
pub(crate) mod like;
pub(crate) mod operators;
pub(crate) mod regex_cache;
pub(crate) mod regexp;
mod segments;
mod token;
