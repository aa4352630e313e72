//! The length of names.

use crate::{Error, Result, errno};

/// How many characters the name of a database, table, column or index may have.
pub const NAME_CHARS_MAX: usize = 64;

/// Whether a name is longer than any may be.
pub fn is_too_long(name: &str) -> bool {
    name.len() > NAME_CHARS_MAX && name.chars().count() > NAME_CHARS_MAX
}

/// # Errors
/// 1059 for a name that is too long.
pub fn check_length(name: &str) -> Result<()> {
    match is_too_long(name) {
        true => Err(too_long(name)),
        false => Ok(()),
    }
}

/// Error 1059.
pub fn too_long(name: &str) -> Error {
    Error::new(
        errno::ER_TOO_LONG_IDENT,
        format!("Identifier name '{name:.100}' is too long"),
    )
}
