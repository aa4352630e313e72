//! Recognises a text that differs from a normalised one in its literals only. The text between the literals
//! is compared byte by byte instead of being parsed again.
//!
//! What a token means to [`crate::normalize()`] depends only on the kinds of the tokens before it and on
//! their words. So two texts are normalised in the same way if they differ only in the values of literals,
//! and these have the same kinds and types.

use types::{Collation, SqlMode, SqlType, Value};

use super::literal;
use crate::lexer::Lexer;
use crate::lexer::token::Kind;

/// The result of normalising a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// With `?` for the literals.
    pub text: String,
    pub types: Vec<SqlType>,
    pub(crate) placeholders: Vec<Placeholder>,
    pub(crate) collation: Collation,
}

/// Where a literal was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Placeholder {
    /// Where the `?` is.
    pub at: usize,
    /// `None`: the literal has more than one token, or another value at this place might not be a literal.
    pub kind: Option<Kind>,
}

impl Template {
    /// The literals of a text, if it would be normalised to this one under the same modes. `None`: it would
    /// not, or it is not certain.
    pub fn read(&self, text: &str, mode: &SqlMode) -> Option<Vec<Value>> {
        let (mut at, mut copied) = (0, 0);
        let mut values = Vec::new();
        for (placeholder, ty) in self.placeholders.iter().zip(&self.types) {
            at = self.behind(text, at, copied..placeholder.at)?;
            copied = placeholder.at + 1;
            let mut lexer = Lexer::new(text, at, mode);
            let token = lexer.next_token();
            if token.start != at || Some(token.kind) != placeholder.kind {
                return None;
            }
            at = token.end;
            let source = text.get(token.start..token.end)?;
            if values.is_empty() {
                values.reserve_exact(self.placeholders.len());
            }
            let (value, own) = literal(token.kind, source, lexer.backslash_escapes(), self.collation)?;
            if own != *ty {
                return None;
            }
            values.push(value);
        }
        let end = self.behind(text, at, copied..self.text.len())?;
        (end == text.len()).then_some(values)
    }

    /// Where a text continues after a piece of this one.
    fn behind(&self, text: &str, at: usize, piece: std::ops::Range<usize>) -> Option<usize> {
        let piece = self.text.as_bytes().get(piece)?;
        let rest = text.as_bytes().get(at..)?;
        rest.starts_with(piece).then_some(at + piece.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize;

    /// For any two of these: if the template of one recognises the other, it reads the literals that
    /// normalising gives.
    #[test]
    fn what_is_read_is_what_normalising_gives() {
        let texts = [
            "INSERT INTO t VALUES (1, 'a')",
            "INSERT INTO t VALUES (20, 'it''s')",
            "INSERT INTO t VALUES (20, 'it\\'s');",
            "INSERT INTO t VALUES (20, \"b\")",
            "INSERT INTO t VALUES (1, 'a' 'b')",
            "INSERT INTO t VALUES (1, 'ä')",
            "INSERT INTO t VALUES (1 , 'a')",
            "INSERT INTO t VALUES ( 1, 'a')",
            "INSERT INTO t VALUES (1.5, 'a')",
            "INSERT INTO t VALUES (1.25, 'a')",
            "INSERT INTO t VALUES (1e5, 'a')",
            "INSERT INTO t VALUES (0x31, 'a')",
            "INSERT INTO t VALUES (NULL, 'a')",
            "INSERT INTO t VALUES (-1, 'a')",
            "INSERT INTO t VALUES (-9223372036854775808, 'a')",
            "INSERT INTO t VALUES (18446744073709551615, 'a')",
            "INSERT INTO t VALUES (/* 1 */1, 'a')",
            "INSERT INTO t VALUES (1, _binary'a')",
            "INSERT INTO t VALUES (1, x'61')",
            "INSERT INTO t VALUES (1, 'open)",
            "INSERT INTO t VALUES (/*!5 */)",
            "INSERT INTO t VALUES (/*!99999 */)",
            "INSERT INTO t VALUES (/*!50000 */)",
            "INSERT INTO t VALUES (/*!50000 1 */)",
            "INSERT INTO t VALUES (/*!50000 2 */)",
            "SELECT a FROM t WHERE b > 3 -/*!40000.5 */- 3",
            "SELECT a FROM t WHERE b > 3 -/*!400003.5 */- 3",
            "SELECT a FROM t WHERE b = 1",
            "SELECT a FROM t WHERE b = 1a",
            "SELECT a FROM t WHERE b = 17 LIMIT 2",
            "SELECT a FROM t WHERE b = 1 LIMIT 3; ",
            "SELECT a FROM t WHERE b = 1 LIMIT 3;",
            "SELECT 1 FROM t WHERE b = 1",
            "SELECT 2 FROM t WHERE b = 1",
        ];
        let long = format!("INSERT INTO t VALUES (1, '{}')", "x".repeat(300));
        let texts: Vec<&str> = texts.into_iter().chain([long.as_str()]).collect();
        let mode = crate::testing::sql_mode();
        let normalized = |text: &str| normalize(text, &mode, Collation::DEFAULT);
        let mut read = 0;
        for first in texts.iter().filter_map(|text| normalized(text)) {
            for text in &texts {
                let (values, again) = (first.template.read(text, &mode), normalized(text));
                let expected = again.filter(|again| again.template == first.template);
                match values {
                    Some(values) => {
                        assert_eq!(Some(values), expected.map(|again| again.params), "{text}");
                        read += 1;
                    }
                    None => assert!(
                        expected.is_none() || text.contains("_binary") || text.contains("/*!"),
                        "{text} is not {}",
                        first.template.text
                    ),
                }
            }
        }
        assert!(read > texts.len());
    }
}
