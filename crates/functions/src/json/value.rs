//! JSON values as trees, and their normalised text.

use std::cmp::Ordering;
use std::fmt::Write as _;

use types::{Decimal, number_text};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    /// The value of an SQL DECIMAL. The text of a document shows it as a number, which is read as a double.
    Decimal(Decimal),
    String(String),
    Array(Vec<Json>),
    /// Sorted by length of the key, then its bytes; keys are unique.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object of members in the order they were given: of equal keys the last one counts.
    pub fn object(members: Vec<(String, Json)>) -> Self {
        let mut members = members;
        // Stable: the last of equal keys stays last.
        members.sort_by(|a, b| key_order(&a.0, &b.0));
        let mut unique: Vec<(String, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match unique.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => unique.push(member),
            }
        }
        Self::Object(unique)
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => {
                let found = members.binary_search_by(|(k, _)| key_order(k, key)).ok()?;
                members.get(found).map(|(_, v)| v)
            }
            _ => None,
        }
    }

    /// The normalised text.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Int(v) => {
                let _ = write!(out, "{v}");
            }
            Self::UInt(v) => {
                let _ = write!(out, "{v}");
            }
            Self::Double(v) => out.push_str(&double_text(*v)),
            Self::Decimal(d) => out.push_str(&d.to_text()),
            Self::String(text) => write_quoted(text, out),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    write_quoted(key, out);
                    out.push_str(": ");
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// What `JSON_TYPE` answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "BOOLEAN",
            Self::Int(_) => "INTEGER",
            Self::UInt(_) => "UNSIGNED INTEGER",
            Self::Double(_) => "DOUBLE",
            Self::Decimal(_) => "DECIMAL",
            Self::String(_) => "STRING",
            Self::Array(_) => "ARRAY",
            Self::Object(_) => "OBJECT",
        }
    }
}

/// The order of keys in an object.
pub(crate) fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

/// A double always shows that it is one: `1.0`, `1e20`.
fn double_text(value: f64) -> String {
    let mut out = Vec::new();
    number_text::write_f64(value, &mut out);
    let mut text = String::from_utf8(out).unwrap_or_default();
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        text.push_str(".0");
    }
    text
}

/// Appends a string as JSON writes it.
pub(crate) fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
