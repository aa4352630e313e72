//! Statement digests as MySQL computes them: the text without its literals, and the tokens whose hash
//! identifies it (manual 27.10, "Performance Schema Statement Digests and Sampling").
//!
//! In MySQL the lexer makes the tokens of a digest, and merges literals and lists of literals at the same
//! time. Only a few decisions depend on the grammar, for example whether a NULL is a literal. Here the
//! preceding tokens decide them. [`words`] has the numbers of MySQL's tokens.

mod hints;
mod literal_row;
mod words;

use types::SqlMode;

use crate::lexer::keywords::Keyword;
use crate::lexer::token::{Kind, Token};
use crate::lexer::{Lexer, is_word_byte};
use words::{Word, sign};

/// Identifies a statement regardless of its literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementDigest {
    /// As `DIGEST_TEXT` shows it.
    pub text: String,
    /// What `DIGEST` is the SHA-256 hash of.
    pub tokens: Vec<u8>,
}

/// The digest of one statement. `bytes_max` is `max_digest_length`: how many bytes its tokens may take.
pub fn statement_digest(text: &str, mode: &SqlMode, bytes_max: usize) -> StatementDigest {
    let mut reader = TokenReader {
        lexer: Lexer::new(text, 0, mode),
        text,
        mode,
        digest: DigestTokens {
            tokens: Vec::new(),
            bytes: 0,
            bytes_max,
            is_full: false,
        },
        defines: false,
        after_system_sign: false,
    };
    reader.read();
    reader.digest.finish()
}

/// A token of a digest.
#[derive(Clone, Copy)]
struct DigestToken<'a> {
    number: u16,
    name: Name<'a>,
}

#[derive(Clone, Copy)]
enum Name<'a> {
    /// A token that is always written in this form.
    Fixed(&'a str),
    /// An identifier without its quotes. The flag says that quotes within it must be doubled when it is
    /// written.
    Identifier(&'a str, bool),
}

const GENERIC: u16 = 1100;
const GENERIC_LIST: u16 = 1101;
const ROW_OF_ONE: u16 = 1102;
const ROWS_OF_ONE: u16 = 1103;
const ROW_OF_MANY: u16 = 1104;
const ROWS_OF_MANY: u16 = 1105;
const IDENTIFIER: u16 = 1106;
const HINT_BEGIN: u16 = 1108;
const HINT_END: u16 = 1109;
const IN_VALUES: u16 = 1110;
const CHARSET_NAME: u16 = 852;
const WITH_ROLLUP: u16 = 894;
const COMMA: u16 = b',' as u16;
const LEFT: u16 = b'(' as u16;
/// No token.
const NONE: u16 = 0;

/// The tokens so far, merged.
struct DigestTokens<'a> {
    tokens: Vec<DigestToken<'a>>,
    bytes: usize,
    bytes_max: usize,
    /// A token did not fit. All tokens after it are left out.
    is_full: bool,
}

impl<'a> DigestTokens<'a> {
    /// The number of the token `back` places before the end.
    fn back(&self, back: usize) -> u16 {
        let at = self.tokens.len().checked_sub(back + 1);
        at.map_or(NONE, |at| self.tokens[at].number)
    }

    fn drop_last(&mut self, count: usize) {
        self.tokens.truncate(self.tokens.len() - count);
        self.bytes -= 2 * count;
    }

    fn push_fixed(&mut self, number: u16, text: &'a str) {
        self.push(
            DigestToken {
                number,
                name: Name::Fixed(text),
            },
            2,
        );
    }

    fn push_identifier(&mut self, name: &'a str, doubled: bool) {
        let quotes = if doubled { name.matches("``").count() } else { 0 };
        let token = DigestToken {
            number: IDENTIFIER,
            name: Name::Identifier(name, doubled),
        };
        self.push(token, 4 + name.len() - quotes);
    }

    fn push(&mut self, token: DigestToken<'a>, bytes: usize) {
        if self.is_full || self.bytes + bytes > self.bytes_max {
            self.is_full = true;
            return;
        }
        self.bytes += bytes;
        self.tokens.push(token);
    }

    /// Adds a literal. `is_number`: a sign before it belongs to it, if an expression begins there.
    fn push_value(&mut self, is_number: bool) {
        if self.is_full {
            return;
        }
        while is_number && [sign(b'-'), sign(b'+')].contains(&self.back(0)) && words::starts(self.back(1)) {
            self.drop_last(1);
        }
        if self.back(0) == COMMA && [GENERIC, GENERIC_LIST].contains(&self.back(1)) {
            self.drop_last(2);
            self.push_fixed(GENERIC_LIST, "?, ...");
        } else {
            self.push_fixed(GENERIC, "?");
        }
    }

    /// Adds `)`. It turns a list of literals into a row, and rows into a list of rows.
    fn push_right(&mut self) {
        if self.is_full {
            return;
        }
        let rows: [(u16, &str); 2] = match (self.back(1), self.back(0)) {
            (LEFT, GENERIC) => [(ROW_OF_ONE, "(?)"), (ROWS_OF_ONE, "(?) /* , ... */")],
            (LEFT, GENERIC_LIST) => [(ROW_OF_MANY, "(...)"), (ROWS_OF_MANY, "(...) /* , ... */")],
            _ => return self.push_fixed(sign(b')'), ")"),
        };
        self.drop_last(2);
        let [row, list] = rows;
        if self.back(0) == words::IN {
            self.drop_last(1);
            self.push_fixed(IN_VALUES, "IN (...)");
        } else if self.back(0) == COMMA && [row.0, list.0].contains(&self.back(1)) {
            self.drop_last(2);
            self.push_fixed(list.0, list.1);
        } else {
            self.push_fixed(row.0, row.1);
        }
    }

    fn finish(self) -> StatementDigest {
        let mut text = String::new();
        let mut bytes = Vec::with_capacity(self.bytes);
        for token in &self.tokens {
            bytes.extend_from_slice(&token.number.to_le_bytes());
            match token.name {
                Name::Fixed("") => {}
                Name::Fixed("@") => text.push('@'),
                Name::Fixed(fixed) => {
                    text.push_str(fixed);
                    text.push(' ');
                }
                Name::Identifier(name, doubled) => {
                    let name = match doubled {
                        true => name.replace("``", "`"),
                        false => name.to_owned(),
                    };
                    bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
                    bytes.extend_from_slice(name.as_bytes());
                    if !name.is_empty() {
                        text.push('`');
                        text.push_str(&name);
                        text.push_str("` ");
                    }
                }
            }
        }
        text.truncate(text.trim_end().len());
        StatementDigest { text, tokens: bytes }
    }
}

/// Reads the tokens of a text as MySQL's lexer does, where ours differs.
struct TokenReader<'a, 'm> {
    lexer: Lexer<'a>,
    text: &'a str,
    mode: &'m SqlMode,
    digest: DigestTokens<'a>,
    /// The statement defines something: NULL may be a property of a column.
    defines: bool,
    /// After `@@`.
    after_system_sign: bool,
}

impl<'a> TokenReader<'a, '_> {
    fn read(&mut self) {
        loop {
            let token = self.lexer.next_token();
            if matches!(token.kind, Kind::End | Kind::Bad) || self.digest.is_full {
                return;
            }
            self.token(token);
            self.after_system_sign = token.kind == Kind::AtAt;
        }
    }

    fn slice(&self, token: Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or_default()
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn token(&mut self, token: Token) {
        match token.kind {
            Kind::Integer | Kind::Decimal | Kind::Float | Kind::Hex | Kind::Bits => {
                self.digest.push_value(true);
            }
            Kind::Text | Kind::NationalText | Kind::Parameter => self.digest.push_value(false),
            Kind::RightParen => self.digest.push_right(),
            Kind::LeftParen if self.skips_row(token) => {}
            Kind::Word => self.word(token),
            Kind::QuotedWord => self.quoted(token),
            Kind::At => self.user_variable(token),
            Kind::AtAt => {
                self.digest.push_fixed(sign(b'@'), "@");
                self.digest.push_fixed(sign(b'@'), "@");
            }
            kind => {
                let (number, text) = words::of_sign(kind, self.byte(token.start));
                self.digest.push_fixed(number, text);
            }
        }
    }

    /// Skips a row of literals that follows others: it is part of their list.
    fn skips_row(&mut self, left: Token) -> bool {
        let follows_row =
            self.digest.back(0) == COMMA && [ROW_OF_MANY, ROWS_OF_MANY].contains(&self.digest.back(1));
        let end = match follows_row && !self.defines {
            true => literal_row::end(self.text.as_bytes(), left.start, self.mode),
            false => None,
        };
        let Some(end) = end else { return false };
        self.digest.drop_last(2);
        self.digest.push_fixed(ROWS_OF_MANY, "(...) /* , ... */");
        self.lexer.jump(end);
        true
    }

    fn quoted(&mut self, token: Token) {
        let text = self.slice(token);
        let name = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
        self.digest
            .push_identifier(name, text.starts_with('`') && name.contains("``"));
    }

    /// `@name`: its name is a literal, unless it is in backticks.
    fn user_variable(&mut self, token: Token) {
        self.digest.push_fixed(sign(b'@'), "@");
        let first = self.byte(token.end);
        if matches!(first, b'\'' | b'"' | b'`' | b'@') {
            return;
        }
        let mut end = token.end;
        while is_word_byte(self.byte(end)) || self.byte(end) == b'.' {
            end += 1;
        }
        if end > token.end {
            self.digest.push_value(false);
            self.lexer.jump(end);
        }
    }

    fn word(&mut self, token: Token) {
        let text = self.slice(token);
        let follows_dot = self.byte(token.start.wrapping_sub(1)) == b'.' && token.start > 0;
        let precedes_dot = self.byte(token.end) == b'.' && is_word_byte(self.byte(token.end + 1));
        let known = token.keyword.and_then(words::of);
        let is_name =
            !self.after_system_sign && (follows_dot && self.digest.back(0) == sign(b'.') || precedes_dot);
        match known {
            Some(word) if !is_name && (!word.is_function || self.byte(token.end) == b'(') => {
                self.keyword(token, word);
            }
            _ if text.strip_prefix('_').is_some_and(words::is_charset) => {
                self.digest.push_fixed(CHARSET_NAME, "(_charset)");
            }
            _ => self.digest.push_identifier(text, false),
        }
    }

    fn keyword(&mut self, token: Token, word: &'static Word) {
        let is_first = self.digest.tokens.is_empty();
        let keyword = token.keyword;
        if is_first {
            self.defines = matches!(keyword, Some(Keyword::CREATE | Keyword::ALTER));
        }
        match keyword {
            Some(Keyword::NULL) if !self.null_is_keyword() => self.digest.push_value(false),
            Some(Keyword::WITH) => {
                let mut ahead = self.lexer;
                let next = ahead.next_token();
                if next.keyword == Some(Keyword::ROLLUP) {
                    self.lexer = ahead;
                    self.digest.push_fixed(WITH_ROLLUP, "WITH ROLLUP");
                } else {
                    self.digest.push_fixed(word.number, word.text);
                }
            }
            Some(
                Keyword::SELECT | Keyword::INSERT | Keyword::REPLACE | Keyword::UPDATE | Keyword::DELETE,
            ) => {
                self.digest.push_fixed(word.number, word.text);
                self.hints(token.end);
            }
            _ => self.digest.push_fixed(word.number, word.text),
        }
    }

    /// Whether a NULL is part of `IS NULL`, of a column's definition, of `SET NULL`, or of `NULL ON EMPTY`.
    fn null_is_keyword(&self) -> bool {
        let (last, before) = (self.digest.back(0), self.digest.back(1));
        let mut ahead = self.lexer;
        let on_follows = ahead.next_token().keyword == Some(Keyword::ON)
            && matches!(ahead.next_token().keyword, Some(Keyword::EMPTY | Keyword::ERROR));
        if on_follows || last == words::IS || last == words::NOT && before == words::IS {
            return true;
        }
        if !self.defines || last == words::DEFAULT || words::is_comparison(last) {
            return false;
        }
        let ends_type = last == sign(b')') || [ROW_OF_ONE, ROW_OF_MANY].contains(&last);
        let is_word = last > 256 && last < GENERIC && !words::starts(last) && last != words::IN;
        ends_type || is_word || last == words::NOT
    }

    /// Optimizer hints, which are a comment to the lexer.
    fn hints(&mut self, at: usize) {
        let rest = self.text.get(at..).unwrap_or_default();
        let blanks = rest.len() - rest.trim_start().len();
        let Some(body) = rest[blanks..].strip_prefix("/*+") else {
            return;
        };
        let Some(length) = body.find("*/") else { return };
        self.digest.push_fixed(HINT_BEGIN, "/*+");
        hints::read(&body[..length], self.mode, &mut self.digest);
        self.digest.push_fixed(HINT_END, "*/");
        self.lexer.jump(at + blanks + 3 + length + 2);
    }
}

#[cfg(test)]
mod tests;
