//! Names of columns, indexes and aliases: how long they may be, and when two are the same.

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

/// # Errors
/// 1470 for a text of more than `longest` characters. `what` says what it is of: `user name`.
pub fn check_text(text: &str, longest: usize, what: &str) -> Result<()> {
    if text.chars().count() <= longest {
        return Ok(());
    }
    let shown: String = text.chars().take(70).collect();
    Err(Error::new(
        errno::ER_WRONG_STRING_LENGTH,
        format!("String '{shown}' is too long for {what} (should be no longer than {longest})"),
    ))
}

/// Whether two names are the same: MySQL compares them without case, in all scripts. `é` and `É` are, `e` and `é` are not.
pub fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!(a.is_ascii() && b.is_ascii()) && lower_case(a).eq(lower_case(b)))
}

/// The characters in lower case, each of them by itself.
fn lower_case(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|character| {
        let mut lower = character.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(only), None) => only,
            _ => character,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_count_and_accents_do() {
        for (a, b) in [
            ("id", "ID"),
            ("\u{e9}t\u{e9}", "\u{c9}T\u{c9}"),
            ("\u{43d}", "\u{41d}"),
            ("\u{212a}", "k"),
            ("", ""),
        ] {
            assert!(same_name(a, b) && same_name(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("e", "\u{e9}"),
            ("\u{e9}", "e"),
            ("ss", "\u{df}"),
            ("a", "ab"),
            ("\u{130}", "i"),
        ] {
            assert!(!same_name(a, b) && !same_name(b, a), "{a} {b}");
        }
    }
}
