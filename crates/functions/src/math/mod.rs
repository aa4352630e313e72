//! Numeric functions.


pub(crate) mod random;


