//! Reads VALUES that consist of literals only, directly from the bytes: no tokens and no expressions are
//! made.
//!
//! If anything else occurs (a comment, an expression, DEFAULT), the parser reads the rows from the start.

use memchr::memchr2;

use super::literal::hex_bytes;
use crate::ast::LiteralRows;
use crate::lexer::raw_bytes::{bytes_of, has_carried, may_carry};

/// Integers with this many digits always fit into signed 64 bits.
const INTEGER_DIGITS: usize = 18;
/// The most memory that is reserved at first. A text of many statements must not reserve its whole length for
/// each of them.
const RESERVED_BYTES: usize = 1 << 20;
/// The maximum of DECIMAL.
const DECIMAL_DIGITS: usize = 65;
/// In so many bytes the end of a text is looked for one by one: most texts are short.
const SHORT_TEXT: usize = 16;
/// So many bytes at a time are searched for bytes that are no text. The text may have many statements after this one,
/// each of which is searched in its turn.
const SEARCHED_BYTES: usize = 1 << 10;

/// The rows that begin at `at`, and where they end.
pub(super) fn literal_rows(
    text: &str,
    at: usize,
    backslash_escapes: bool,
    ansi_quotes: bool,
) -> Option<(LiteralRows, usize)> {
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        at,
        backslash_escapes,
        ansi_quotes,
        searched: at,
        may_carry: false,
        rows: LiteralRows::default(),
    };
    scanner.row()?;
    scanner.rows.reserve((text.len() - at).min(RESERVED_BYTES));
    loop {
        let end = scanner.at;
        scanner.skip_blank();
        match scanner.peek() {
            b',' => scanner.at += 1,
            // After the rows may come the end (a byte 0 here), another statement, AS or ON.
            0 | b';' | b'a' | b'A' | b'o' | b'O' => return Some((scanner.rows.finished(), end)),
            // Perhaps a comment, after which more rows may follow.
            _ => return None,
        }
        scanner.skip_blank();
        scanner.row()?;
    }
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    backslash_escapes: bool,
    /// Double quotes are for names.
    ansi_quotes: bool,
    /// Up to here the rows have been searched for bytes that are no text.
    searched: usize,
    /// There may be such bytes before that.
    may_carry: bool,
    rows: LiteralRows,
}

impl Scanner<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn row(&mut self) -> Option<()> {
        if self.peek() != b'(' {
            return None;
        }
        let before = self.rows.cell_count();
        loop {
            self.at += 1;
            self.skip_blank();
            self.value()?;
            self.skip_blank();
            match self.peek() {
                b',' => {}
                b')' => break,
                _ => return None,
            }
        }
        self.at += 1;
        self.rows.end_row(before).then_some(())
    }

    fn value(&mut self) -> Option<()> {
        match self.peek() {
            b'\'' | b'"' => self.quoted(false),
            b'0' if matches!(self.bytes.get(self.at + 1), Some(b'x')) => self.hexadecimal(),
            b'0'..=b'9' | b'-' => self.number(),
            b'N' | b'n' => {
                let word = self.bytes.get(self.at..self.at + 4)?;
                if !word.eq_ignore_ascii_case(b"NULL") {
                    return None;
                }
                self.at += 4;
                self.rows.push_null();
                Some(())
            }
            b'_' => {
                const BINARY: &[u8] = b"_binary";
                if !self.bytes.get(self.at..)?.starts_with(BINARY) {
                    return None;
                }
                self.at += BINARY.len();
                self.skip_blank();
                self.quoted(true)
            }
            _ => None,
        }
    }

    fn quoted(&mut self, is_binary: bool) -> Option<()> {
        let quote = self.peek();
        if quote != b'\'' && (quote != b'"' || self.ansi_quotes) {
            return None;
        }
        let from = self.rows.text_end();
        let mut start = self.at + 1;
        let mut search = start;
        loop {
            let end = search + self.special(quote, search)?;
            if self.bytes.get(end) == Some(&b'\\') {
                self.rows.push_part(self.text.get(start..end)?);
                let (part, length) = match self.bytes.get(end + 1)? {
                    b'0' => ("\0", 2),
                    b'b' => ("\u{8}", 2),
                    b'n' => ("\n", 2),
                    b'r' => ("\r", 2),
                    b't' => ("\t", 2),
                    b'Z' => ("\u{1a}", 2),
                    // The backslash stays: in a pattern of LIKE it makes them ordinary characters.
                    b'%' | b'_' => ("\\", 1),
                    // The character itself, which must not be examined again.
                    _ => ("", 1),
                };
                self.rows.push_part(part);
                start = end + length;
                search = end + 2;
                continue;
            }
            self.rows.push_part(self.text.get(start..end)?);
            if self.bytes.get(end + 1) != Some(&quote) {
                self.at = end + 1;
                return self.end_text(from, is_binary);
            }
            // Two quotes stand for one. The second one is copied.
            start = end + 1;
            search = end + 2;
        }
    }

    /// How far behind `from` the next quote or escape character is.
    fn special(&self, quote: u8, from: usize) -> Option<usize> {
        let rest = self.bytes.get(from..)?;
        let escape = if self.backslash_escapes { b'\\' } else { quote };
        let (short, long) = rest.split_at(rest.len().min(SHORT_TEXT));
        let found = short.iter().position(|byte| *byte == quote || *byte == escape);
        found.or_else(|| Some(short.len() + memchr2(quote, escape, long)?))
    }

    fn end_text(&mut self, from: usize, is_binary: bool) -> Option<()> {
        if is_binary {
            let text = self.rows.take_text(from);
            return self.rows.push_binary(&bytes_of(text));
        }
        if self.may_carry() && has_carried(self.rows.text_from(from)) {
            let text = self.rows.take_text(from);
            return self.rows.push_raw(&bytes_of(text));
        }
        self.rows.end_text(from)
    }

    /// Whether there may be bytes that are no text before `at`.
    fn may_carry(&mut self) -> bool {
        if self.searched < self.at {
            let end = self.bytes.len().min(self.at + SEARCHED_BYTES);
            let next = self.bytes.get(self.searched..end).unwrap_or_default();
            self.may_carry |= may_carry(next);
            self.searched = end;
        }
        self.may_carry
    }

    fn hexadecimal(&mut self) -> Option<()> {
        let start = self.at;
        self.at += 2;
        while self.peek().is_ascii_hexdigit() {
            self.at += 1;
        }
        if self.at == start + 2 || is_word(self.peek()) {
            return None;
        }
        self.rows
            .push_hexadecimal(&hex_bytes(self.text.get(start..self.at)?))
    }

    fn number(&mut self) -> Option<()> {
        let start = self.at;
        let is_negative = self.peek() == b'-';
        self.at += usize::from(is_negative);
        let whole = self.digits();
        if whole == 0 {
            return None;
        }
        let mut fraction = None;
        if self.peek() == b'.' {
            self.at += 1;
            fraction = Some(self.digits());
        }
        let has_exponent = matches!(self.peek(), b'e' | b'E');
        if has_exponent {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            if self.digits() == 0 {
                return None;
            }
        }
        if is_word(self.peek()) || self.peek() == b'.' {
            return None;
        }
        let text = self.text.get(start..self.at)?;
        match fraction {
            _ if has_exponent => {
                let number: f64 = text.parse().ok()?;
                number.is_finite().then(|| self.rows.push_float(number))
            }
            None if whole <= INTEGER_DIGITS => {
                self.rows.push_integer(text.parse().ok()?);
                Some(())
            }
            Some(fraction) if fraction > 0 && whole + fraction <= DECIMAL_DIGITS => {
                self.rows.push_decimal(text)
            }
            _ => None,
        }
    }

    /// Skips digits. Returns how many.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        self.at - start
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@') || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Expr, Literal};
    use crate::lexer::raw_bytes::carry;
    use crate::parser::{Parser, values};

    type Rows = Vec<Vec<Option<Expr>>>;

    /// The rows as expressions: read by this file, and by the parser.
    fn both(rows: &str) -> (Option<Rows>, Rows) {
        let fast = literal_rows(rows, 0, true, false).map(|(found, end)| {
            assert_eq!(end, rows.len());
            found.to_expressions()
        });
        let mode = crate::testing::sql_mode();
        (
            fast,
            values::rows_of_values(&mut Parser::new(rows, 0, mode)).unwrap(),
        )
    }

    #[test]
    fn reads_what_the_parser_reads() {
        for rows in [
            "(1)",
            "(1, -2, 0, 123456789012345678), (NULL,null,3 , 4)",
            "('a', '', 'it''s', 'x\\'y', 'a\\\\', '\\n\\0\\Z\\b\\r\\t\\%\\_\\q\\é', 'é''')",
            "(1.5, -0.05, 12345678901234567890.5)",
            "(\"a\", \"it's \"\"x\"\"\", 'a\"b')",
            "(_binary 'a\\0b', _binary'', 0xff, 0x0)",
            "('a'),\n('b') ,\t('c')",
        ] {
            let (fast, parsed) = both(rows);
            let fast = fast.unwrap_or_else(|| panic!("{rows}"));
            assert_eq!(format!("{fast:?}"), format!("{parsed:?}"), "{rows}");
        }
    }

    #[test]
    fn leaves_the_rest_to_the_parser() {
        for rows in [
            "()",
            "(1 + 1)",
            "('a' 'b')",
            "('a' COLLATE utf8mb4_bin)",
            "(DEFAULT)",
            "(1 /* one */)",
            "(x)",
            "(?)",
            "(nullif(1,1))",
            "(1234567890123456789)",
            "(1e400)",
            "(0xg)",
            "(1a)",
            "(- 1)",
            "(1), (1, 2)",
            "(1), x",
            "('a",
            "(",
            "",
        ] {
            assert!(literal_rows(rows, 0, true, false).is_none(), "{rows}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_bytes_again() {
        let text = carry(b"(_binary '\xff\\0', 1)", types::Charset::Utf8mb4);
        let (rows, _) = literal_rows(&text, 0, true, false).unwrap();
        let first: Vec<Literal<'_>> = rows.rows(0).flatten().collect();
        assert_eq!(first, [Literal::Binary(b"\xff\0"), Literal::Integer(1)]);
        let text = carry(b"('\xff', 'a')", types::Charset::Utf8mb4);
        let (rows, _) = literal_rows(&text, 0, true, false).unwrap();
        let all: Vec<Literal<'_>> = rows.rows(0).flatten().collect();
        assert_eq!(all, [Literal::Raw(b"\xff"), Literal::Text("a")]);
        assert!(rows.has_raw() && rows.is_ascii());
        // Far from the beginning, and across the border of what is searched at once.
        for blanks in [SEARCHED_BYTES - 3, SEARCHED_BYTES + 1, 3 * SEARCHED_BYTES] {
            let rows = format!("('a', '{}", " ".repeat(blanks));
            let bytes = [rows.as_bytes(), b"\xff', 'b')"].concat();
            let text = carry(&bytes, types::Charset::Utf8mb4);
            let (rows, _) = literal_rows(&text, 0, true, false).unwrap();
            assert!(
                matches!(rows.rows(0).flatten().nth(1), Some(Literal::Raw(_))),
                "{blanks}"
            );
        }
    }

    #[test]
    fn ends_before_what_follows() {
        let text = "VALUES (1), (2) ON DUPLICATE";
        let (rows, end) = literal_rows(text, 7, true, false).unwrap();
        assert_eq!((rows.len(), rows.width(), &text[end..]), (2, 1, " ON DUPLICATE"));
        assert_eq!(literal_rows("('a\\')", 0, false, false).unwrap().0.len(), 1);
    }
}
