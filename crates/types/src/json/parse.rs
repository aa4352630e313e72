//! JSON text to a tree. Messages and positions are those that MySQL reports.

use super::{Json, MAX_DEPTH, too_deep};
use crate::Error;

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum ParseError {
    /// At which byte, and why.
    Syntax { message: &'static str, position: usize },
    /// The text is JSON that no document can hold. MySQL reports this error wherever it parses JSON.
    Limit(Error),
}

impl ParseError {
    /// The error for a client. `syntax` makes one from a message and a position.
    pub fn into_error(self, syntax: impl FnOnce(&str, usize) -> Error) -> Error {
        match self {
            Self::Syntax { message, position } => syntax(message, position),
            Self::Limit(error) => error,
        }
    }
}

impl From<Error> for ParseError {
    fn from(error: Error) -> Self {
        Self::Limit(error)
    }
}

type Parsed<T> = Result<T, ParseError>;

/// Reads one value that is all of `text`.
pub fn parse(text: &[u8]) -> Parsed<Json> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    parser.spaces();
    if parser.at == text.len() {
        return Err(parser.error("The document is empty.", text.len()));
    }
    let value = parser.value()?;
    parser.spaces();
    if parser.at < text.len() {
        return Err(parser.here("The document root must not be followed by other values."));
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: u8,
}

impl Parser<'_> {
    fn error(&self, message: &'static str, position: usize) -> ParseError {
        ParseError::Syntax { message, position }
    }

    fn here(&self, message: &'static str) -> ParseError {
        self.error(message, self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Parsed<Json> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            Some(b'n') => self.word(b"null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.here("Invalid value.")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Parsed<Json>) -> Parsed<Json> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep().into());
        }
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn word(&mut self, word: &[u8], value: Json) -> Parsed<Json> {
        for expected in word {
            if !self.eat(*expected) {
                return Err(self.here("Invalid value."));
            }
        }
        Ok(value)
    }

    fn array(&mut self) -> Parsed<Json> {
        let mut items = Vec::new();
        self.spaces();
        if self.eat(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value()?);
            self.spaces();
            if self.eat(b']') {
                return Ok(Json::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.here("Missing a comma or ']' after an array element."));
            }
            self.spaces();
        }
    }

    fn object(&mut self) -> Parsed<Json> {
        let mut members = Vec::new();
        self.spaces();
        if self.eat(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.here("Missing a name for object member."));
            }
            let key = self.string()?;
            self.spaces();
            if !self.eat(b':') {
                return Err(self.here("Missing a colon after a name of object member."));
            }
            self.spaces();
            members.push((key, self.value()?));
            self.spaces();
            if self.eat(b'}') {
                return Ok(Json::object(members));
            }
            if !self.eat(b',') {
                return Err(self.here("Missing a comma or '}' after an object member."));
            }
            self.spaces();
        }
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut out: Vec<u8> = Vec::new();
        loop {
            let start = self.at;
            match self.peek() {
                None => return Err(self.here("Missing a closing quotation mark in string.")),
                Some(b'"') => {
                    self.at += 1;
                    return String::from_utf8(out)
                        .map_err(|_| self.error("Invalid encoding in string.", start));
                }
                Some(b'\\') => {
                    self.at += 1;
                    let escaped = match self.peek() {
                        Some(b @ (b'"' | b'\\' | b'/')) => b,
                        Some(b'b') => 8,
                        Some(b'f') => 12,
                        Some(b'n') => b'\n',
                        Some(b'r') => b'\r',
                        Some(b't') => b'\t',
                        Some(b'u') => {
                            self.at += 1;
                            let c = self.unicode(start)?;
                            let mut buffer = [0; 4];
                            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                            continue;
                        }
                        _ => return Err(self.error("Invalid escape character in string.", start)),
                    };
                    out.push(escaped);
                    self.at += 1;
                }
                Some(control) if control < 0x20 => return Err(self.here("Invalid encoding in string.")),
                Some(_) => {
                    let rest = self.text.get(start..).unwrap_or_default();
                    let plain = rest
                        .iter()
                        .take_while(|b| !matches!(b, b'"' | b'\\' | ..0x20))
                        .count();
                    out.extend_from_slice(rest.get(..plain).unwrap_or_default());
                    self.at += plain;
                }
            }
        }
    }

    fn unicode(&mut self, start: usize) -> Parsed<char> {
        let first = self.hex(start)?;
        let pair = "The surrogate pair in string is invalid.";
        let code = match first {
            0xd800..=0xdbff => {
                if !(self.eat(b'\\') && self.eat(b'u')) {
                    return Err(self.error(pair, start));
                }
                let second = self.hex(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.error(pair, start));
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| self.error(pair, start))
    }

    fn hex(&mut self, start: usize) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.error("Incorrect hex digit after \\u escape in string.", start));
            };
            code = code << 4 | digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Parsed<Json> {
        let start = self.at;
        let negative = self.eat(b'-');
        // A leading zero must not be followed by digits.
        if !self.eat(b'0') && self.digits() == 0 {
            return Err(self.here("Invalid value."));
        }
        let mut whole = true;
        if self.eat(b'.') {
            whole = false;
            if self.digits() == 0 {
                return Err(self.here("Miss fraction part in number."));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.here("Miss exponent in number."));
            }
        }
        let text = self
            .text
            .get(start..self.at)
            .and_then(|t| std::str::from_utf8(t).ok());
        let text = text.unwrap_or("0");
        if whole {
            // As in MySQL, integers up to 2^32-1 are signed, larger ones unsigned.
            if let Ok(value) = text.parse::<i64>()
                && value <= i64::from(u32::MAX)
            {
                return Ok(Json::Int(value));
            }
            if !negative && let Ok(value) = text.parse::<u64>() {
                return Ok(Json::UInt(value));
            }
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Json::Double(value)),
            _ => Err(self.error("Number too big to be stored in double.", start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 reports them.
    #[test]
    fn errors_and_positions() {
        for (text, message, position) in [
            ("", "The document is empty.", 0),
            ("[1", "Missing a comma or ']' after an array element.", 2),
            ("[1,", "Invalid value.", 3),
            ("[1,]", "Invalid value.", 3),
            (r#"{"a"}"#, "Missing a colon after a name of object member.", 4),
            ("{a:1}", "Missing a name for object member.", 1),
            (r#"{"a":1,}"#, "Missing a name for object member.", 7),
            (r#"{"a":1"#, "Missing a comma or '}' after an object member.", 6),
            ("\"abc", "Missing a closing quotation mark in string.", 4),
            ("nul", "Invalid value.", 3),
            (
                "1 2",
                "The document root must not be followed by other values.",
                2,
            ),
            ("01", "The document root must not be followed by other values.", 1),
            ("1.", "Miss fraction part in number.", 2),
            ("1e", "Miss exponent in number.", 2),
            ("-", "Invalid value.", 1),
            (r#""\x""#, "Invalid escape character in string.", 1),
            (r#""\ud800""#, "The surrogate pair in string is invalid.", 1),
            ("1e400", "Number too big to be stored in double.", 0),
        ] {
            assert_eq!(
                parse(text.as_bytes()),
                Err(ParseError::Syntax { message, position }),
                "{text}"
            );
        }
        let deep = "[".repeat(101);
        assert!(parse(deep.as_bytes()).is_err());
    }
}
