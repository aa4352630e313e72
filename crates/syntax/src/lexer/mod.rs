//! The only lexer. The parser, which also splits multiple statements, and [`crate::normalize()`] use it, so
//! that they always read a text in the same way.
//!
//! Source: MySQL 8.0 manual, 9 "Language Structure". The text is UTF-8. Every token begins and ends at a
//! character boundary, because all signs of the grammar are ASCII.

pub mod echo;
pub mod keywords;
pub mod raw_bytes;
pub mod token;

use types::SqlMode;

use keywords::Keyword;
use token::{Kind, Token};

/// The version that `/*!NNNNN ... */` comments are compared with: their content is read when it is not newer.
const VERSION: u32 = 80_033;

/// TiDB's features that StemDB has, by their names in TiDB's comments.
const TIDB_FEATURES: &[&str] = &["auto_rand", "auto_rand_base", "clustered_index"];

type IsDigit = fn(&u8) -> bool;

/// Reads tokens from a text. It is small and `Copy`: the parser looks ahead with a copy.
#[derive(Debug, Clone, Copy)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    ansi_quotes: bool,
    backslash_escapes: bool,
    /// Inside a `/*! ... */` or `/*T! ... */` whose content is read.
    in_version_comment: bool,
    /// The last token was a name directly followed by a point: what follows the point is a name, `t.1a` too.
    after_qualifier: bool,
    last_was_name: bool,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str, at: usize, mode: &SqlMode) -> Self {
        Self {
            text,
            at,
            ansi_quotes: mode.ansi_quotes,
            backslash_escapes: !mode.no_backslash_escapes,
            in_version_comment: false,
            after_qualifier: false,
            last_was_name: false,
        }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn backslash_escapes(&self) -> bool {
        self.backslash_escapes
    }

    /// Continues at a later position: the caller has read the text in between.
    pub fn jump(&mut self, at: usize) {
        self.at = at;
        self.last_was_name = false;
        self.after_qualifier = false;
    }

    fn byte(&self, at: usize) -> u8 {
        // 0 stands for the end, because no token begins with a NUL byte.
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// The next token. At the end of the text every call returns [`Kind::End`].
    #[inline]
    pub fn next_token(&mut self) -> Token {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        if bytes.get(start) == Some(&b' ') {
            start += 1;
        }
        // The first byte decides what the most frequent tokens are.
        let (kind, end) = match bytes.get(start).map(|&b| BEGINNINGS[b as usize]) {
            Some(Beginning::Sign(kind)) => (kind, start + 1),
            Some(Beginning::Word) => (Kind::Word, self.word_end(start + 1)),
            _ => return self.any_token(),
        };
        self.at = end;
        self.after_qualifier = false;
        self.last_was_name = kind == Kind::Word && self.byte(end) == b'.';
        self.token(kind, start, end)
    }

    #[inline(never)]
    fn any_token(&mut self) -> Token {
        if let Err(start) = self.skip_blanks() {
            return self.finish(Kind::Bad, start, self.text.len());
        }
        let start = self.at;
        if start >= self.text.len() || self.is_padding(start) {
            let kind = if self.in_version_comment {
                Kind::Bad
            } else {
                Kind::End
            };
            return self.finish(kind, start, start);
        }
        let (kind, end) = self.scan(start);
        self.finish(kind, start, end)
    }

    /// NUL bytes up to the end: some clients send the one that ends their strings.
    fn is_padding(&self, at: usize) -> bool {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        rest.first() == Some(&0) && rest.iter().all(|&b| b == 0)
    }

    fn finish(&mut self, kind: Kind, start: usize, end: usize) -> Token {
        self.after_qualifier = kind == Kind::Dot && self.last_was_name;
        // Only if a point follows the name directly, the next word is always a name.
        self.last_was_name = matches!(kind, Kind::Word | Kind::QuotedWord) && self.byte(end) == b'.';
        self.at = end;
        self.token(kind, start, end)
    }

    #[inline]
    fn token(&self, kind: Kind, start: usize, end: usize) -> Token {
        let keyword = match kind {
            Kind::Word => Keyword::of(&self.text.as_bytes()[start..end]),
            _ => None,
        };
        Token {
            kind,
            keyword,
            start,
            end,
        }
    }

    /// Skips white space and comments. Fails with the position of a comment that never ends.
    fn skip_blanks(&mut self) -> Result<(), usize> {
        while self.skip_blank()? {
            self.last_was_name = false;
            self.after_qualifier = false;
        }
        Ok(())
    }

    /// Skips one character of white space, one comment, or the begin or end of a comment whose content is read.
    /// False if there is none.
    #[inline]
    fn skip_blank(&mut self) -> Result<bool, usize> {
        match self.byte(self.at) {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
            b'#' => self.skip_line(),
            b'-' if self.byte(self.at + 1) == b'-' && self.comment_may_follow(self.at + 2) => {
                self.skip_line()
            }
            b'/' if self.byte(self.at + 1) == b'*' => self.enter_comment()?,
            b'*' if self.in_version_comment && self.byte(self.at + 1) == b'/' => {
                self.in_version_comment = false;
                self.at += 2;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `--` begins a comment only before white space, a control character or the end.
    fn comment_may_follow(&self, at: usize) -> bool {
        at >= self.text.len() || self.byte(at) <= b' '
    }

    fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn enter_comment(&mut self) -> Result<(), usize> {
        let start = self.at;
        if !self.in_version_comment
            && let Some(content) = self.tidb_comment(start)
        {
            self.at = content;
            self.in_version_comment = true;
            return Ok(());
        }
        if self.byte(start + 2) == b'!' && !self.in_version_comment {
            let digits = self.digits(start + 3) - (start + 3);
            // Five or six digits are a version; fewer are part of the statement.
            let length = match digits {
                5 => 5,
                6.. => 6,
                _ => 0,
            };
            let version: u32 = self.text[start + 3..start + 3 + length].parse().unwrap_or(0);
            if version <= VERSION {
                self.at = start + 3 + length;
                self.in_version_comment = true;
                return Ok(());
            }
        }
        let Some(length) = find_comment_end(&self.text.as_bytes()[start + 2..]) else {
            return Err(start);
        };
        self.at = start + 2 + length;
        Ok(())
    }

    /// Where the content of a comment begins that TiDB reads and MySQL does not: `/*T! ... */`, or
    /// `/*T![feature,...] ... */` if StemDB has all of the features.
    fn tidb_comment(&self, start: usize) -> Option<usize> {
        let rest = self.text.get(start..)?;
        let content = rest.strip_prefix("/*T!")?;
        let Some(list) = content.strip_prefix('[') else {
            return Some(start + "/*T!".len());
        };
        // The list ends before the comment does, so no text is read more than once.
        let length = list
            .find([']', '*'])
            .filter(|end| list[*end..].starts_with(']'))?;
        let all_present = list[..length]
            .split(',')
            .all(|feature| TIDB_FEATURES.contains(&feature.trim()));
        all_present.then(|| start + "/*T![".len() + length + 1)
    }

    fn digits(&self, mut at: usize) -> usize {
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        at
    }

    fn word_end(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while bytes.get(at).is_some_and(|&b| is_word_byte(b)) {
            at += 1;
        }
        at
    }

    fn scan(&self, start: usize) -> (Kind, usize) {
        let next = self.byte(start + 1);
        let one = |kind| (kind, start + 1);
        let two = |kind| (kind, start + 2);
        match self.byte(start) {
            b'\'' => self.quoted(start, start, Kind::Text, self.backslash_escapes),
            b'"' if self.ansi_quotes => self.quoted(start, start, Kind::QuotedWord, false),
            b'"' => self.quoted(start, start, Kind::Text, self.backslash_escapes),
            b'`' => self.quoted(start, start, Kind::QuotedWord, false),
            b'n' | b'N' if next == b'\'' => {
                self.quoted(start, start + 1, Kind::NationalText, self.backslash_escapes)
            }
            b'x' | b'X' if next == b'\'' => self.quoted(start, start + 1, Kind::Hex, false),
            b'b' | b'B' if next == b'\'' => self.quoted(start, start + 1, Kind::Bits, false),
            b'0'..=b'9' if self.after_qualifier => (Kind::Word, self.word_end(start)),
            b'0'..=b'9' => self.number(start),
            b'.' if next.is_ascii_digit() && !self.last_was_name => self.number(start),
            b'.' => one(Kind::Dot),
            b if is_word_byte(b) => (Kind::Word, self.word_end(start)),
            b'@' if next == b'@' => two(Kind::AtAt),
            b'@' => one(Kind::At),
            b'?' if !is_word_byte(next) => one(Kind::Parameter),
            b'+' => one(Kind::Plus),
            b'-' if next == b'>' && self.byte(start + 2) == b'>' => (Kind::LongArrow, start + 3),
            b'-' if next == b'>' => two(Kind::Arrow),
            b'-' => one(Kind::Minus),
            b'*' => one(Kind::Star),
            b'/' => one(Kind::Slash),
            b'%' => one(Kind::Percent),
            b'^' => one(Kind::Caret),
            b'~' => one(Kind::Tilde),
            b'!' if next == b'=' => two(Kind::NotEqual),
            b'!' => one(Kind::Bang),
            b'(' => one(Kind::LeftParen),
            b')' => one(Kind::RightParen),
            b'{' => one(Kind::LeftBrace),
            b'}' => one(Kind::RightBrace),
            b',' => one(Kind::Comma),
            b';' => one(Kind::Semicolon),
            b':' if next == b'=' => two(Kind::Assign),
            b':' => one(Kind::Colon),
            b'=' => one(Kind::Equal),
            b'<' if next == b'=' && self.byte(start + 2) == b'>' => (Kind::NullSafeEqual, start + 3),
            b'<' if next == b'=' => two(Kind::LessOrEqual),
            b'<' if next == b'>' => two(Kind::NotEqual),
            b'<' if next == b'<' => two(Kind::ShiftLeft),
            b'<' => one(Kind::Less),
            b'>' if next == b'=' => two(Kind::GreaterOrEqual),
            b'>' if next == b'>' => two(Kind::ShiftRight),
            b'>' => one(Kind::Greater),
            b'&' if next == b'&' => two(Kind::AndAnd),
            b'&' => one(Kind::Ampersand),
            b'|' if next == b'|' => two(Kind::PipePipe),
            b'|' => one(Kind::Pipe),
            _ => (Kind::Bad, self.text.len()),
        }
    }

    /// A quoted token that starts at `start` and whose quote is at `open`.
    fn quoted(&self, start: usize, open: usize, kind: Kind, escapes: bool) -> (Kind, usize) {
        let bytes = self.text.as_bytes();
        let quote = self.byte(open);
        let mut at = open + 1;
        while let Some(rest) = bytes.get(at..) {
            at += plain_length(rest, quote);
            match bytes.get(at) {
                None => break,
                Some(&b) if b == quote => {
                    if self.byte(at + 1) != quote {
                        return (check_digits(kind, &bytes[start..=at]), at + 1);
                    }
                    at += 2;
                }
                Some(_) => at += if escapes { 2 } else { 1 },
            }
        }
        (Kind::Bad, bytes.len())
    }

    fn number(&self, start: usize) -> (Kind, usize) {
        if self.byte(start) == b'0' {
            let radix: Option<(Kind, IsDigit)> = match self.byte(start + 1) {
                b'x' => Some((Kind::Hex, u8::is_ascii_hexdigit)),
                b'b' => Some((Kind::Bits, |b| matches!(b, b'0' | b'1'))),
                _ => None,
            };
            if let Some((kind, is_digit)) = radix {
                let end = self.word_end(start);
                let digits = &self.text.as_bytes()[start + 2..end];
                let is_number = !digits.is_empty() && digits.iter().all(is_digit);
                return (if is_number { kind } else { Kind::Word }, end);
            }
        }
        let mut end = self.digits(start);
        let mut kind = Kind::Integer;
        if self.byte(end) == b'.' {
            end = self.digits(end + 1);
            kind = Kind::Decimal;
        }
        if matches!(self.byte(end), b'e' | b'E') {
            let signed = matches!(self.byte(end + 1), b'+' | b'-');
            let first = end + 1 + usize::from(signed);
            if self.byte(first).is_ascii_digit() {
                let float_end = self.digits(first);
                // `1e5x` is a name, `1e+5x` a number and a name.
                if kind == Kind::Decimal || signed || !is_word_byte(self.byte(float_end)) {
                    return (Kind::Float, float_end);
                }
            }
        }
        if kind == Kind::Integer && is_word_byte(self.byte(end)) {
            return (Kind::Word, self.word_end(end));
        }
        (kind, end)
    }
}

/// How many bytes at the beginning of a quoted text are neither the quote nor a backslash.
pub fn plain_length(text: &[u8], quote: u8) -> usize {
    memchr::memchr2(quote, b'\\', text).unwrap_or(text.len())
}

/// Whether a byte may be part of an unquoted name.
pub fn is_word_byte(b: u8) -> bool {
    WORD_BYTES[b as usize]
}

const WORD_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let byte = b as u8;
        table[b] = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80;
        b += 1;
    }
    table
};

/// What the first byte of a token says about the token.
#[derive(Clone, Copy)]
enum Beginning {
    /// The byte is the whole token.
    Sign(Kind),
    /// A word, whatever follows the byte.
    Word,
    /// The bytes that follow decide.
    Unclear,
}

const BEGINNINGS: [Beginning; 256] = {
    let mut table = [Beginning::Unclear; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = match b as u8 {
            b'(' => Beginning::Sign(Kind::LeftParen),
            b')' => Beginning::Sign(Kind::RightParen),
            b',' => Beginning::Sign(Kind::Comma),
            b'=' => Beginning::Sign(Kind::Equal),
            b'+' => Beginning::Sign(Kind::Plus),
            // They may be the start of a literal.
            b'0'..=b'9' | b'b' | b'B' | b'n' | b'N' | b'x' | b'X' => Beginning::Unclear,
            byte if WORD_BYTES[byte as usize] => Beginning::Word,
            _ => Beginning::Unclear,
        };
        b += 1;
    }
    table
};

/// `x'4'` and `b'2'` are not literals.
fn check_digits(kind: Kind, token: &[u8]) -> Kind {
    let digits = token.get(2..token.len().saturating_sub(1)).unwrap_or_default();
    let good = match kind {
        Kind::Hex => digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit),
        Kind::Bits => digits.iter().all(|b| matches!(b, b'0' | b'1')),
        _ => true,
    };
    if good { kind } else { Kind::Bad }
}

/// Length of a comment's rest, its `*/` included. A version comment that is skipped may hold ordinary
/// comments.
fn find_comment_end(rest: &[u8]) -> Option<usize> {
    let skipped_version = rest.first() == Some(&b'!');
    let mut depth = 1;
    let mut at = 0;
    while at + 1 < rest.len() {
        match (rest[at], rest[at + 1]) {
            (b'*', b'/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            (b'/', b'*') if skipped_version => {
                depth += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode() -> SqlMode {
        crate::testing::sql_mode()
    }

    fn tokens(text: &str) -> Vec<(Kind, &str)> {
        let mut lexer = Lexer::new(text, 0, &mode());
        std::iter::from_fn(|| {
            let token = lexer.next_token();
            (token.kind != Kind::End).then(|| (token.kind, &text[token.start..token.end]))
        })
        .take(50)
        .collect()
    }

    #[test]
    fn numbers_and_names() {
        use Kind::*;
        assert_eq!(
            tokens("1 1.5 .5 1. 1e5 1.e-5 1a 1e t.1a 0x4A 0b01 0xg 0x"),
            [
                (Integer, "1"),
                (Decimal, "1.5"),
                (Decimal, ".5"),
                (Decimal, "1."),
                (Float, "1e5"),
                (Float, "1.e-5"),
                (Word, "1a"),
                (Word, "1e"),
                (Word, "t"),
                (Dot, "."),
                (Word, "1a"),
                (Hex, "0x4A"),
                (Bits, "0b01"),
                (Word, "0xg"),
                (Word, "0x"),
            ]
        );
    }

    #[test]
    fn quotes() {
        use Kind::*;
        assert_eq!(
            tokens(r#"'it''s' 'a\'b' "x""y" `a``b` N'x' x'41' b'01'"#),
            [
                (Text, "'it''s'"),
                (Text, r"'a\'b'"),
                (Text, r#""x""y""#),
                (QuotedWord, "`a``b`"),
                (NationalText, "N'x'"),
                (Hex, "x'41'"),
                (Bits, "b'01'"),
            ]
        );
        assert_eq!(tokens("a 'bc"), [(Word, "a"), (Bad, "'bc")]);
        assert_eq!(tokens("x'4'"), [(Bad, "x'4'")]);
    }

    #[test]
    fn modes_change_quotes() {
        let mut mode = mode();
        mode.ansi_quotes = true;
        mode.no_backslash_escapes = true;
        let mut lexer = Lexer::new(r#""a" 'b\'"#, 0, &mode);
        assert_eq!(lexer.next_token().kind, Kind::QuotedWord);
        assert_eq!(lexer.next_token().kind, Kind::Text);
        assert_eq!(lexer.next_token().kind, Kind::End);
    }

    #[test]
    fn comments() {
        use Kind::*;
        assert_eq!(
            tokens("1 -- x\n+ # y\n 2 /* z */ - 3 --4 /*!40101 5 */ /*!99999 6 /* 7 */ */ /*! 8 */"),
            [
                (Integer, "1"),
                (Plus, "+"),
                (Integer, "2"),
                (Minus, "-"),
                (Integer, "3"),
                (Minus, "-"),
                (Minus, "-"),
                (Integer, "4"),
                (Integer, "5"),
                (Integer, "8"),
            ]
        );
        assert_eq!(tokens("1 /* x").last(), Some(&(Bad, "/* x")));
        assert_eq!(
            tokens("1 /*T! 2 */ /*T![auto_rand,clustered_index] 3 */ /*T![ttl] 4 */ /*T 5 */ /*T![ 6 */ 7"),
            [(Integer, "1"), (Integer, "2"), (Integer, "3"), (Integer, "7")]
        );
        assert_eq!(tokens("1 /*T! 2").last(), Some(&(Bad, "")));
        // To look for the end of each list in the whole text would take minutes.
        let open_lists = "/*T![*/".repeat(1 << 20);
        assert_eq!(tokens(&open_lists), []);
    }

    #[test]
    fn operators() {
        use Kind::*;
        let kinds: Vec<Kind> = tokens("<=> <= <> != := -> ->> || && << >> @@ @ ?")
            .into_iter()
            .map(|(kind, _)| kind)
            .collect();
        assert_eq!(
            kinds,
            [
                NullSafeEqual,
                LessOrEqual,
                NotEqual,
                NotEqual,
                Assign,
                Arrow,
                LongArrow,
                PipePipe,
                AndAnd,
                ShiftLeft,
                ShiftRight,
                AtAt,
                At,
                Parameter
            ]
        );
    }

    #[test]
    fn nul_bytes_at_the_end_are_no_text() {
        assert_eq!(tokens("a\0\0"), [(Kind::Word, "a")]);
        assert_eq!(tokens("a\0b"), [(Kind::Word, "a"), (Kind::Bad, "\0b")]);
    }

    #[test]
    fn any_bytes_end() {
        for text in [
            "\0",
            "é",
            "\u{10ffff}'",
            "'\\",
            "/*!",
            "/*!4",
            "x'",
            "N'",
            "0x",
            "@",
            "\\N",
            "*/",
        ] {
            let mut lexer = Lexer::new(text, 0, &mode());
            let count = (0..20)
                .take_while(|_| lexer.next_token().kind != Kind::End)
                .count();
            assert!(count <= 20);
        }
    }
}
