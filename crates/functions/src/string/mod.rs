//! String functions.

pub(crate) mod base64;
