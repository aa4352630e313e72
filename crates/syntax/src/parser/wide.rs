//! Names and comments are utf8mb3 in MySQL's dictionary: characters of four bytes do not exist there.

use types::{Charset, Error, Warning, errno, shown_bytes};

use super::Parser;

/// How many bytes the message shows.
const SHOWN: usize = 6;

/// The text with `?` for characters of four bytes, of which a warning is given.
pub(super) fn in_utf8mb3(parser: &mut Parser<'_>, text: String) -> String {
    if !is_wide(&text) {
        return text;
    }
    let warning = Warning::warning(errno::ER_INVALID_CHARACTER_STRING, message(&text));
    parser.warnings.push(warning);
    let narrow = |c: char| if c.len_utf8() > 3 { '?' } else { c };
    text.chars().map(narrow).collect()
}

/// # Errors
/// 3854 for a text with characters of four bytes as the name of a select item.
pub(super) fn check_alias(text: &str) -> Result<(), Error> {
    match is_wide(text) {
        true => Err(Error::new(errno::ER_CANNOT_CONVERT_STRING, message(text))),
        false => Ok(()),
    }
}

fn is_wide(text: &str) -> bool {
    text.bytes().any(|byte| byte >= 0xf0)
}

fn message(text: &str) -> String {
    let bytes = text.as_bytes();
    format!(
        "Cannot convert string '{}{}' from {} to {}",
        shown_bytes(bytes.get(..SHOWN).unwrap_or(bytes)),
        if bytes.len() > SHOWN { "..." } else { "" },
        Charset::Utf8mb4.name(),
        Charset::Utf8mb3.name()
    )
}
