//! Values of variables that are character sets and collations: by name, or by the number of a collation.

use types::{Charset, Collation, Error, Result, Value, errno};

use super::convert::{number, string, wrong_value};
use crate::other_collations;

/// A character set by its name, or by the number of one of its collations.
///
/// # Errors
/// 1115 for one that there is not, 1231 for one that no client may use, 1273 where a number means a collation
/// that StemDB does not have and the variable has a collation beside it.
pub fn charset_of(variable: &str, value: &Value) -> Result<Charset> {
    let Some(number) = number(value) else {
        return charset_named(variable, &string(variable, value)?);
    };
    if let Some(collation) = numbered(value) {
        return Ok(collation.charset());
    }
    let Some(collation) = u16::try_from(number).ok().and_then(other_collations::name) else {
        return Err(unknown_charset(&number.to_string()));
    };
    let name = other_collations::charset_name(collation);
    if variable == CLIENT && other_collations::is_not_for_clients(name) {
        return Err(wrong_value(CLIENT, &number.to_string()));
    }
    let charset = charset_named(variable, name)?;
    match paired(variable, charset.name(), None) {
        Some(_) => Err(unknown_collation(collation)),
        None => Ok(charset),
    }
}

/// A character set by its name, for a variable.
///
/// # Errors
/// 1115 and 1231.
pub fn charset_named(variable: &str, name: &str) -> Result<Charset> {
    if variable == CLIENT && other_collations::is_not_for_clients(name) {
        return Err(wrong_value(CLIENT, &name.to_ascii_lowercase()));
    }
    Charset::from_name(name).ok_or_else(|| unknown_charset(name))
}

pub const CLIENT: &str = "character_set_client";

/// A collation by its name or number. Fails with 1273.
pub fn collation_of(variable: &str, value: &Value) -> Result<Collation> {
    let Some(number) = number(value) else {
        let name = string(variable, value)?;
        return Collation::from_name(&name).ok_or_else(|| unknown_collation(&name));
    };
    numbered(value).ok_or_else(|| unknown_collation(&number.to_string()))
}

/// The collation that a value gives by number.
pub fn numbered(value: &Value) -> Option<Collation> {
    let number = number(value)?;
    Collation::ALL.into_iter().find(|c| i128::from(c.id()) == number)
}

/// A character set and its collation are two variables of one choice: what the other one becomes when this
/// one is set. `numbered`: the collation whose number was given instead of a name.
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
        format!("Unknown character set: '{name}'"),
    )
}

fn unknown_collation(name: &str) -> Error {
    Error::new(
        errno::ER_UNKNOWN_COLLATION,
        format!("Unknown collation: '{name}'"),
    )
}
