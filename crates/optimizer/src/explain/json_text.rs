//! JSON documents whose members stay in their order.

use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn object() -> Self {
        Self::Object(Vec::new())
    }

    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub fn texts<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        Self::Array(texts.map(Self::text).collect())
    }

    pub fn number(number: u64) -> Self {
        Self::Number(number.to_string())
    }

    /// A cost: a text with two digits after the point.
    pub fn cost(cost: f64) -> Self {
        Self::Text(format!("{cost:.2}"))
    }

    /// Sets a member.
    pub fn put(&mut self, name: &str, value: Json) {
        let Self::Object(members) = self else { return };
        match members.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => members.push((name.to_owned(), value)),
        }
    }

    /// Sets a member of a member, if there is such a member.
    pub fn put_in(&mut self, object: &str, name: &str, value: Json) {
        let Self::Object(members) = self else { return };
        if let Some((_, inner)) = members.iter_mut().find(|(known, _)| known == object) {
            inner.put(name, value);
        }
    }

    /// Adds an item to a member that is an array.
    pub fn push_to(&mut self, name: &str, item: Json) {
        let Self::Object(members) = self else { return };
        match members.iter_mut().find(|(known, _)| known == name) {
            Some((_, Self::Array(items))) => items.push(item),
            _ => members.push((name.to_owned(), Self::Array(vec![item]))),
        }
    }

    /// Adds the members of another object.
    pub fn append(&mut self, other: Json) {
        if let (Self::Object(members), Self::Object(more)) = (self, other) {
            members.extend(more);
        }
    }

    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        if let Self::Object(members) = &mut self {
            members.retain(|(known, _)| known != name);
        }
        self
    }

    fn write(&self, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = |f: &mut fmt::Formatter<'_>, depth: usize| write!(f, "\n{:1$}", "", depth * 2);
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => write_text(text, f),
            Self::Array(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    indent(f, depth + 1)?;
                    item.write(depth + 1, f)?;
                }
                indent(f, depth)?;
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (at, (name, value)) in members.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    indent(f, depth + 1)?;
                    write_text(name, f)?;
                    f.write_str(": ")?;
                    value.write(depth + 1, f)?;
                }
                indent(f, depth)?;
                f.write_str("}")
            }
        }
    }
}

fn write_text(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if u32::from(c) < 0x20 => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(0, f)
    }
}
