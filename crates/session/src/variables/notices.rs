//! Warnings about variables and values that were set as they were given.

use types::{Charset, Value, Warning, errno};

use super::charset::{charset_of, collation_of};
use super::definitions::{Definition, Kind, lookup};

const WARN_OPTION_BELOW_LIMIT: u16 = 1708;

/// The warning for a statement that reads or sets a variable that MySQL will remove.
pub fn deprecated(name: &str) -> Option<Warning> {
    let text = lookup(name)?.deprecation()?;
    Some(Warning::warning(errno::ER_WARN_DEPRECATED_SYNTAX, text))
}

/// Warnings for a variable that was set. `value`: the one that was given, `None` for DEFAULT. `text`: what the
/// variable has now. `integer`: the value of another variable in the same scope.
pub fn of_set(
    definition: &Definition,
    value: Option<&Value>,
    text: Option<&str>,
    integer: impl Fn(&str) -> u64,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    warnings.extend(value.and_then(|value| of_value(definition, value)));
    match definition.name {
        name @ ("character_set_database" | "collation_database" | "default_collation_for_utf8mb4") => {
            warnings.push(Warning::warning(
                errno::ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
                format!("Updating '{name}' is deprecated. It will be made read-only in a future release."),
            ));
        }
        name @ "temptable_use_mmap" => warnings.push(Warning::warning(
            errno::ER_WARN_DEPRECATED_SYNTAX,
            format!("'{name}' is deprecated and will be removed in a future release."),
        )),
        "max_allowed_packet" | "net_buffer_length"
            if integer("max_allowed_packet") < integer("net_buffer_length") =>
        {
            warnings.push(Warning::warning(
                WARN_OPTION_BELOW_LIMIT,
                "The value of 'max_allowed_packet' should be no less than the value of 'net_buffer_length'",
            ));
        }
        "session_track_system_variables" => {
            let names = text.unwrap_or_default().split(',').map(str::trim);
            let unknown = |name: &&str| !name.is_empty() && lookup(name).is_none();
            let is_all = text.is_some_and(|text| text.trim() == "*");
            warnings.extend(names.filter(unknown).filter(|_| !is_all).map(|name| {
                Warning::warning(
                    errno::ER_WRONG_VALUE_FOR_VAR,
                    format!("{name} is not a valid system variable and will be ignored."),
                )
            }));
        }
        _ => {}
    }
    warnings
}

/// The warning for a value that is a character set or collation that MySQL will remove.
fn of_value(definition: &Definition, value: &Value) -> Option<Warning> {
    match (definition.kind, value) {
        (Kind::Charset | Kind::CharsetOrNull, Value::String(name)) => planner::deprecated_charset(name),
        (Kind::Charset | Kind::CharsetOrNull, value) => {
            let charset: Charset = charset_of(definition.name, value).ok()?;
            planner::deprecated_charset(charset.name())
        }
        (Kind::Collation, value) => planner::deprecated_collation(collation_of(definition.name, value).ok()?),
        _ => None,
    }
}
