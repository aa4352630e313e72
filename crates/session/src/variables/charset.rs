//! Values of variables that are character sets or collations: names, or numbers of collations.

use types::{Charset, Collation, Error, Result, Value, errno};

use super::convert::{beginning, number, string, wrong_value};

/// The character set of a name that stood for a client's conversion before MySQL 4.1. SET CHARACTER SET and the variables
/// still take these names.
pub fn without_old_name(name: &str) -> &str {
    const OLD_NAMES: [(&str, &str); 3] = [
        ("cp1251_koi8", "cp1251"),
        ("cp1250_latin2", "cp1250"),
        ("kam_latin2", "keybcs2"),
    ];
    let found = OLD_NAMES.iter().find(|(old, _)| old.eq_ignore_ascii_case(name));
    found.map_or(name, |(_, charset)| charset)
}

/// A character set by its name, or by the number of one of its collations.
///
/// # Errors
/// 1115 for an unknown one, 1231 for one that clients cannot use.
pub fn charset_of(variable: &str, value: &Value) -> Result<Charset> {
    let Some(number) = number(value) else {
        return charset_named(variable, without_old_name(&string(variable, value)?));
    };
    if let Some(collation) = numbered(value) {
        return match collation.charset() {
            charset if variable == CLIENT && !charset.is_for_clients() => {
                Err(wrong_value(CLIENT, &number.to_string()))
            }
            charset => Ok(charset),
        };
    }
    Err(unknown_charset(&of_32_bits(number)))
}

/// A character set by its name, for a variable.
///
/// # Errors
/// 1115 and 1231.
pub fn charset_named(variable: &str, name: &str) -> Result<Charset> {
    match Charset::from_name(name) {
        Some(charset) if variable == CLIENT && !charset.is_for_clients() => {
            Err(wrong_value(CLIENT, charset.name()))
        }
        Some(charset) => Ok(charset),
        None => Err(unknown_charset(name)),
    }
}

pub const CLIENT: &str = "character_set_client";

/// A collation by its name or number. Fails with 1273.
pub fn collation_of(variable: &str, value: &Value) -> Result<Collation> {
    let Some(number) = number(value) else {
        let name = string(variable, value)?;
        return Collation::from_name(&name).ok_or_else(|| unknown_collation(&name));
    };
    numbered(value).ok_or_else(|| unknown_collation(&of_32_bits(number)))
}

/// A number as MySQL shows it, which keeps 32 bits of it.
fn of_32_bits(number: i128) -> String {
    (number as i32).to_string()
}

/// The collation that a value identifies by number.
pub fn numbered(value: &Value) -> Option<Collation> {
    let number = u16::try_from(number(value)?).ok()?;
    Collation::from_id(number)
}

/// A character set and its collation are two variables that belong together: the name and value of the other
/// one when this one is set. `numbered`: the collation whose number was given instead of a name.
pub fn paired(name: &str, text: &str, numbered: Option<Collation>) -> Option<(String, &'static str)> {
    let has_both = |place: &&str| matches!(*place, "connection" | "database" | "server");
    if let Some(place) = name.strip_prefix("character_set_").filter(has_both) {
        let charset = Charset::from_name(text)?;
        let collation = numbered.unwrap_or(charset.default_collation());
        return Some((format!("collation_{place}"), collation.name()));
    }
    let place = name.strip_prefix("collation_").filter(has_both)?;
    let collation = Collation::from_name(text)?;
    Some((format!("character_set_{place}"), collation.charset().name()))
}

fn unknown_charset(name: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_CHARACTER_SET,
        format!("Unknown character set: '{}'", beginning(name, 64)),
    )
}

pub fn unknown_collation(name: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_COLLATION,
        format!("Unknown collation: '{}'", beginning(name, 64)),
    )
}
