//! Converts the values of SET to the types and forms of variables.

use functions::TimeZone;
use types::{Error, Result, Value, errno};

/// ON or OFF.
pub fn boolean(name: &str, value: &Value) -> Result<&'static str> {
    match value {
        Value::Int(1) | Value::UInt(1) => Ok("ON"),
        Value::Int(0) | Value::UInt(0) => Ok("OFF"),
        Value::Int(_) | Value::UInt(_) => Err(wrong_value(name, &shown(value))),
        _ => match string(name, value)? {
            s if s.eq_ignore_ascii_case("on") || s.eq_ignore_ascii_case("true") => Ok("ON"),
            s if s.eq_ignore_ascii_case("off") || s.eq_ignore_ascii_case("false") => Ok("OFF"),
            _ => Err(wrong_value(name, &shown(value))),
        },
    }
}

/// One of some names, or its number.
pub fn choice(name: &str, value: &Value, choices: &[&'static str]) -> Result<&'static str> {
    if let Some(number) = number(value) {
        let found = usize::try_from(number).ok().and_then(|n| choices.get(n));
        return found
            .copied()
            .ok_or_else(|| wrong_value(name, &number.to_string()));
    }
    let text = string(name, value)?;
    let found = choices.iter().find(|c| c.eq_ignore_ascii_case(&text));
    found.copied().ok_or_else(|| wrong_value(name, &shown(value)))
}

/// A list of names separated by commas, or a number with a bit for each. The result is in the order of
/// `choices`.
pub fn some_of(name: &str, value: &Value, choices: &[&'static str]) -> Result<String> {
    let bits = match number(value) {
        Some(number) => number,
        None if value.is_null() => return Err(wrong_value(name, "NULL")),
        None => {
            let text = string(name, value)?;
            let mut words = text.split(',').filter(|_| !text.is_empty());
            words.try_fold(0, |bits, word| {
                let found = choices.iter().position(|c| c.eq_ignore_ascii_case(word));
                found
                    .map(|at| bits | 1 << at)
                    .ok_or_else(|| wrong_value(name, word))
            })?
        }
    };
    if bits < 0 || bits >> choices.len() != 0 {
        return Err(wrong_value(name, &bits.to_string()));
    }
    let set = choices.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    Ok(set.map(|(_, choice)| *choice).collect::<Vec<_>>().join(","))
}

/// The value as a number.
pub fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Int(i) => Some(i128::from(*i)),
        Value::UInt(u) => Some(i128::from(*u)),
        _ => None,
    }
}

/// A number limited to a range, as a multiple of `block`; and the text of the warning if it was changed.
pub fn integer(
    name: &str,
    value: &Value,
    (low, high, block): (u64, u64, u64),
) -> Result<(Option<String>, Option<String>)> {
    let given = number(value).ok_or_else(|| wrong_type(name))?;
    let within = given.clamp(i128::from(low), i128::from(high));
    // The least value need not be a multiple.
    let value = (within - within % i128::from(block)).max(i128::from(low));
    Ok((
        Some(value.to_string()),
        (value != given).then(|| truncated(name, &given.to_string())),
    ))
}

/// The same for a number with a fraction, of which six digits are kept.
pub fn fraction(
    name: &str,
    value: &Value,
    (low, high): (f64, f64),
) -> Result<(Option<String>, Option<String>)> {
    let given = match value {
        Value::Int(i) => *i as f64,
        Value::UInt(u) => *u as f64,
        Value::Double(d) => *d,
        Value::Decimal(d) => d.to_string().parse().map_err(|_| wrong_type(name))?,
        _ => return Err(wrong_type(name)),
    };
    let value_within = given.clamp(low, high);
    let warning = (value_within != given).then(|| truncated(name, &shown(&Value::Double(given))));
    Ok((Some(format!("{value_within:.6}")), warning))
}

fn truncated(name: &str, given: &str) -> String {
    format!("Truncated incorrect {name} value: '{given}'")
}

/// A value as messages show it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bytes(bytes) => types::shown_bytes(bytes),
        Value::Null => "NULL".to_owned(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Decimal(d) => d.to_string(),
        _ => value.display_text(&types::SqlType::DOUBLE),
    }
}

/// The value as a text.
pub fn string(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(s) => Ok(s.clone()),
        Value::Bytes(b) => Ok(String::from_utf8(b.clone()).unwrap_or_else(|_| types::shown_bytes(b))),
        Value::Null => Err(wrong_value(name, "NULL")),
        _ => Err(wrong_type(name)),
    }
}

/// `SYSTEM`, `+05:30`, or a named zone.
pub fn parse_time_zone(text: &str) -> Result<TimeZone> {
    TimeZone::parse(text).ok_or_else(|| {
        Error::new(
            errno::ER_UNKNOWN_TIME_ZONE,
            format!("Unknown or incorrect time zone: '{}'", beginning(text, 64)),
        )
    })
}

/// The part of a text that a message has room for, in bytes.
pub fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Error 1231.
pub fn wrong_value(name: &str, value: &str) -> Error {
    Error::new(
        errno::ER_WRONG_VALUE_FOR_VAR,
        format!(
            "Variable '{name}' can't be set to the value of '{}'",
            beginning(value, 200)
        ),
    )
}

/// Error 1232.
pub fn wrong_type(name: &str) -> Error {
    Error::new(
        errno::ER_WRONG_TYPE_FOR_VAR,
        format!("Incorrect argument type to variable '{name}'"),
    )
}
