//! JSON paths: `$.a`, `$[0]`, `$[last-1]`, `$[0 to 2]`, `$.*`, `$[*]`, `$**.a`.
//!
//! Source: manual 12.18.3 "Functions That Search JSON Values", "JSON Path Syntax".

use std::collections::HashSet;

use types::json::{Json, JsonRef, JsonView};
use types::{Error, Result, errno};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Leg {
    Member(String),
    AnyMember,
    Cell(Index),
    Range(Index, Index),
    AnyCell,
    /// `**`: this value and everything below it.
    Ellipsis,
}

/// A position from the beginning, or (`last - n`) from the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Index {
    First(usize),
    Last(usize),
}

impl Index {
    /// The position in an array of length `len`; `None` before its beginning.
    pub fn resolve(self, len: usize) -> Option<usize> {
        match self {
            Self::First(i) => Some(i),
            Self::Last(back) => len.checked_sub(1)?.checked_sub(back),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path(pub Vec<Leg>);

/// Reads a path. Error 3143 has the position of the fault.
pub(crate) fn parse(text: &str) -> Result<Path> {
    let mut parser = Parser {
        text: text.as_bytes(),
        at: 0,
    };
    parser.path().ok_or_else(|| {
        Error::new(
            errno::ER_INVALID_JSON_PATH,
            format!(
                "Invalid JSON path expression. The error is around character position {}.",
                parser.at.max(1)
            ),
        )
    })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn path(&mut self) -> Option<Path> {
        self.spaces();
        if !self.eat(b'$') {
            return None;
        }
        let mut legs = Vec::new();
        loop {
            self.spaces();
            match self.peek() {
                None => break,
                Some(b'.') => {
                    self.at += 1;
                    self.spaces();
                    legs.push(self.member()?);
                }
                Some(b'[') => {
                    self.at += 1;
                    legs.push(self.cell()?);
                }
                Some(b'*') => {
                    self.at += 1;
                    if !self.eat(b'*') {
                        return None;
                    }
                    legs.push(Leg::Ellipsis);
                }
                Some(_) => return None,
            }
        }
        // `**` must be followed by another leg.
        (legs.last() != Some(&Leg::Ellipsis)).then_some(Path(legs))
    }

    fn member(&mut self) -> Option<Leg> {
        if self.eat(b'*') {
            return Some(Leg::AnyMember);
        }
        let start = self.at;
        if self.peek() == Some(b'"') {
            let mut end = self.at + 1;
            while *self.text.get(end)? != b'"' {
                end += 1 + usize::from(self.text.get(end) == Some(&b'\\'));
            }
            let quoted = self.text.get(start..=end)?;
            self.at = end + 1;
            return match types::json::parse(quoted) {
                Ok(Json::String(key)) => Some(Leg::Member(key)),
                _ => None,
            };
        }
        let rest = std::str::from_utf8(self.text.get(start..)?).ok()?;
        let letter =
            |i: usize, c: char| c == '_' || c == '$' || c.is_alphabetic() || i > 0 && c.is_alphanumeric();
        let end = rest
            .char_indices()
            .find(|(i, c)| !letter(*i, *c))
            .map_or(rest.len(), |(i, _)| i);
        if end == 0 {
            return None;
        }
        self.at += end;
        rest.get(..end).map(|key| Leg::Member(key.to_owned()))
    }

    fn cell(&mut self) -> Option<Leg> {
        self.spaces();
        let leg = if self.eat(b'*') {
            Leg::AnyCell
        } else {
            let from = self.index()?;
            self.spaces();
            if self.word(b"to") {
                self.spaces();
                let to = self.index()?;
                if is_backwards(from, to) {
                    return None;
                }
                Leg::Range(from, to)
            } else {
                Leg::Cell(from)
            }
        };
        self.spaces();
        self.eat(b']').then_some(leg)
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let found = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word));
        if found {
            self.at += word.len();
        }
        found
    }

    fn index(&mut self) -> Option<Index> {
        if !self.word(b"last") {
            return self.number().map(Index::First);
        }
        self.spaces();
        if !self.eat(b'-') {
            return Some(Index::Last(0));
        }
        self.spaces();
        self.number().map(Index::Last)
    }

    fn number(&mut self) -> Option<usize> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = self.text.get(start..self.at)?;
        let number: u32 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        Some(number as usize)
    }
}

/// Whether no array has cells from one position to the other.
fn is_backwards(from: Index, to: Index) -> bool {
    match (from, to) {
        (Index::First(from), Index::First(to)) => from > to,
        (Index::Last(from), Index::Last(to)) => from < to,
        _ => false,
    }
}

impl Path {
    /// Whether it can match several values.
    pub fn is_multiple(&self) -> bool {
        self.0
            .iter()
            .any(|leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_)))
    }

    /// The values it matches, in document order, each once. The time is proportional to the size of the
    /// document for every path.
    pub fn find<'a>(&self, root: JsonRef<'a>) -> Vec<JsonRef<'a>> {
        let mut found = vec![root];
        let mut repeats = false;
        for leg in &self.0 {
            let mut next = Vec::new();
            for value in found {
                follow(value, leg, &mut next);
            }
            // `**` reaches the same value from several values above it. After it, `[0]` leads from an array
            // to its first value, and from that value to itself.
            repeats |= *leg == Leg::Ellipsis;
            if repeats {
                let mut seen = HashSet::with_capacity(next.len());
                next.retain(|value| seen.insert(value.address()));
            }
            found = next;
        }
        found
    }

    /// The value it matches, where a value that is no array does not count as one with itself as the only element.
    pub fn find_unwrapped<'a>(&self, root: JsonRef<'a>) -> Option<JsonRef<'a>> {
        self.0.iter().try_fold(root, |value, leg| {
            let wraps = matches!(leg, Leg::Cell(_)) && !matches!(value.view(), JsonView::Array(_));
            (!wraps).then(|| one_step(value, leg)).flatten()
        })
    }

    /// The first value it matches.
    pub fn find_first<'a>(&self, root: JsonRef<'a>) -> Option<JsonRef<'a>> {
        if self.is_multiple() {
            return self.find(root).first().copied();
        }
        self.0.iter().try_fold(root, one_step)
    }
}

/// The value that a leg matches, if the leg can match at most one value.
fn one_step<'a>(value: JsonRef<'a>, leg: &Leg) -> Option<JsonRef<'a>> {
    match (leg, value.view()) {
        (Leg::Member(key), JsonView::Object(members)) => members.get(key),
        (Leg::Cell(index), JsonView::Array(items)) => items.get(index.resolve(items.len())?),
        // Any other value counts as an array with itself as the only element.
        (Leg::Cell(index), _) => (index.resolve(1) == Some(0)).then_some(value),
        _ => None,
    }
}

/// The values that one leg matches.
fn follow<'a>(value: JsonRef<'a>, leg: &Leg, found: &mut Vec<JsonRef<'a>>) {
    match (leg, value.view()) {
        (Leg::Member(_) | Leg::Cell(_), _) => found.extend(one_step(value, leg)),
        (Leg::AnyMember, JsonView::Object(members)) => found.extend(members.values()),
        (Leg::Range(from, to), JsonView::Array(items)) => {
            let from = from.resolve(items.len()).unwrap_or(0);
            if let Some(to) = to.resolve(items.len()) {
                let count = to.saturating_add(1).saturating_sub(from);
                found.extend(items.iter().skip(from).take(count));
            }
        }
        (Leg::Range(from, to), _) => {
            let starts = from.resolve(1).is_none_or(|i| i == 0);
            found.extend((starts && to.resolve(1).is_some()).then_some(value));
        }
        (Leg::AnyCell, JsonView::Array(items)) => found.extend(items.iter()),
        (Leg::Ellipsis, _) => everything(value, found),
        (Leg::AnyMember | Leg::AnyCell, _) => {}
    }
}

/// A value and all values below it. The recursion is no deeper than the document.
fn everything<'a>(value: JsonRef<'a>, found: &mut Vec<JsonRef<'a>>) {
    found.push(value);
    match value.view() {
        JsonView::Array(items) => items.iter().for_each(|v| everything(v, found)),
        JsonView::Object(members) => members.values().for_each(|v| everything(v, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use types::json::JsonBinary;

    use super::*;

    fn find(document: &str, path: &str) -> Vec<String> {
        let json = JsonBinary::parse(document.as_bytes()).unwrap();
        let path = parse(path).unwrap();
        let first = path.find_first(json.root()).map(|j| j.to_text());
        assert_eq!(first, path.find(json.root()).first().map(|j| j.to_text()));
        path.find(json.root()).iter().map(|j| j.to_text()).collect()
    }

    #[test]
    fn paths_lead_to_values() {
        let document = r#"{"a": [1, 2, {"b": 3}], "a b": 4}"#;
        assert_eq!(find(document, "$.a[2].b"), ["3"]);
        assert_eq!(find(document, "$.a[*]"), ["1", "2", r#"{"b": 3}"#]);
        assert_eq!(find(document, "$**.b"), ["3"]);
        assert_eq!(find(document, "$.a[last]"), [r#"{"b": 3}"#]);
        assert_eq!(find(document, "$.a[last-2]"), ["1"]);
        assert_eq!(find(document, "$.a[0 to 1]"), ["1", "2"]);
        assert_eq!(find(document, r#"$."a b""#), ["4"]);
        assert_eq!(find("5", "$[0]"), ["5"]);
        let five = JsonBinary::parse(b"5").unwrap();
        assert!(parse("$[0]").unwrap().find_unwrapped(five.root()).is_none());
        assert_eq!(find("[1, [2, 3]]", "$**[0]"), ["1", "2", "3"]);
        assert_eq!(find(r#"{"a": {"a": {"a": 1}}}"#, "$**.a**.a").len(), 2);
        let deep = format!("{}1{}", "[".repeat(90), "]".repeat(90));
        assert_eq!(find(&deep, &format!("${}[0]", "**[0]".repeat(50))).len(), 40);
        assert!(find(document, "$.x").is_empty());
    }

    #[test]
    fn wrong_paths() {
        for path in ["a", "$.", "$[", "$[a]", "$**", "$x", ""] {
            assert_eq!(parse(path).unwrap_err().code, 3143, "{path}");
        }
    }
}
