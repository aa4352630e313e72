//! The statements of a SQL script, as the `mysql` client finds them: ended by a delimiter that is not in
//! quotes or in a comment, and that a line `DELIMITER` changes. Each has its place in the input, so that a
//! reader can name it and continue after it.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memchr2};

const READ_BYTES: usize = 256 << 10;
/// No server takes a longer statement (`max_allowed_packet`).
const STATEMENT_BYTES_MAX: usize = 1 << 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Of its first byte in the input.
    pub offset: u64,
    /// Of the first byte after its delimiter.
    pub end: u64,
    /// The line on which it begins, from 1.
    pub line: u64,
    /// Without the delimiter, and without comments before it.
    pub text: Vec<u8>,
    /// The input ended before a delimiter came.
    pub is_cut_off: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    /// This quote closes it.
    Quotes(u8),
    Comment,
    /// To the end of the line.
    LineComment,
}

/// The result of a scan.
enum Scan {
    /// The delimiter is here.
    Ended(usize),
    /// Where to continue when there are more bytes.
    More(usize),
}

pub struct Script<R> {
    input: R,
    delimiter: Vec<u8>,
    /// The bytes that may end a run of code.
    is_special: [bool; 256],
    /// Bytes that are not taken yet begin at `start`.
    buffer: Vec<u8>,
    start: usize,
    /// Offset and line of `start` in the input.
    offset: u64,
    line: u64,
    at_end: bool,
}

impl<R: Read> Script<R> {
    pub fn new(input: R) -> Self {
        let mut script = Self {
            input,
            delimiter: Vec::new(),
            is_special: [false; 256],
            buffer: Vec::new(),
            start: 0,
            offset: 0,
            line: 1,
            at_end: false,
        };
        script.set_delimiter(b";");
        script
    }

    /// # Errors
    /// The input cannot be read, or a statement does not end.
    pub fn next_statement(&mut self) -> io::Result<Option<Statement>> {
        loop {
            self.skip_between()?;
            if self.rest().is_empty() {
                return Ok(None);
            }
            let (offset, line) = (self.offset, self.line);
            let (length, is_cut_off) = self.find_end()?;
            let text = self.rest()[..length].to_vec();
            self.take(length + if is_cut_off { 0 } else { self.delimiter.len() });
            if text.is_empty() {
                continue;
            }
            return Ok(Some(Statement {
                offset,
                end: self.offset,
                line,
                text,
                is_cut_off,
            }));
        }
    }

    fn set_delimiter(&mut self, delimiter: &[u8]) {
        self.delimiter = delimiter.to_vec();
        self.is_special = [false; 256];
        for byte in b"'\"`#-/*".iter().chain(delimiter.first()) {
            self.is_special[usize::from(*byte)] = true;
        }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) {
        let taken = self
            .buffer
            .get(self.start..self.start + count)
            .unwrap_or_default();
        self.line += memchr_iter(b'\n', taken).count() as u64;
        self.offset += count as u64;
        self.start += count;
    }

    /// Reads more. Returns whether there was any.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let length = self.buffer.len();
        // Long statements are read in long steps, so that what is there is not moved often.
        self.buffer.resize(length + READ_BYTES.max(length), 0);
        let read = loop {
            match self.input.read(self.buffer.get_mut(length..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        self.at_end = read? == 0;
        Ok(!self.at_end)
    }

    /// Whether the input continues with these bytes. Reads only as many as this takes.
    fn goes_on_with(&mut self, text: &[u8]) -> io::Result<bool> {
        while self.rest().len() < text.len() && self.fill()? {}
        Ok(self.rest().starts_with(text))
    }

    /// Skips white space, comments that no server runs, and DELIMITER commands.
    fn skip_between(&mut self) -> io::Result<()> {
        let mut is_line_start = self.offset == 0;
        loop {
            let blank = (self.rest().iter())
                .position(|byte| !byte.is_ascii_whitespace())
                .unwrap_or(self.rest().len());
            is_line_start |= memchr(b'\n', &self.rest()[..blank]).is_some();
            self.take(blank);
            if self.rest().is_empty() {
                match self.fill()? {
                    true => continue,
                    false => return Ok(()),
                }
            }
            // The byte order mark of UTF-8, which some editors write.
            if self.offset == 0 && self.goes_on_with(b"\xef\xbb\xbf")? {
                self.take(3);
            } else if self.goes_on_with(b"#")? || self.is_dash_comment()? {
                self.skip_behind(b"\n")?;
                is_line_start = true;
            } else if self.goes_on_with(b"/*")?
                && !self.goes_on_with(b"/*!")?
                && !self.goes_on_with(b"/*+")?
            {
                self.take(2);
                self.skip_behind(b"*/")?;
            } else if !(is_line_start && self.takes_delimiter()?) {
                return Ok(());
            }
        }
    }

    fn is_dash_comment(&mut self) -> io::Result<bool> {
        Ok(self.goes_on_with(b"--")?
            && (self.goes_on_with(b"-- ")?
                || self.goes_on_with(b"--\n")?
                || self.goes_on_with(b"--\t")?
                || self.goes_on_with(b"--\r")?
                || self.rest().len() == 2))
    }

    fn skip_behind(&mut self, end: &[u8]) -> io::Result<()> {
        loop {
            if let Some(at) = find(self.rest(), end) {
                self.take(at + end.len());
                return Ok(());
            }
            // The end may begin with the last byte that is here.
            self.take(self.rest().len().saturating_sub(end.len() - 1));
            if !self.fill()? {
                self.take(self.rest().len());
                return Ok(());
            }
        }
    }

    /// `DELIMITER ;;` on a line of its own.
    fn takes_delimiter(&mut self) -> io::Result<bool> {
        const COMMAND: &[u8] = b"delimiter";
        while self.rest().len() <= COMMAND.len() && self.fill()? {}
        let is_command = (self.rest().get(..COMMAND.len()))
            .is_some_and(|word| word.eq_ignore_ascii_case(COMMAND))
            && self
                .rest()
                .get(COMMAND.len())
                .is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if !is_command {
            return Ok(false);
        }
        let end = loop {
            if let Some(end) = memchr(b'\n', self.rest()) {
                break end;
            }
            if !self.fill()? {
                break self.rest().len();
            }
        };
        let new = self.rest()[COMMAND.len()..end].trim_ascii().to_vec();
        self.take(end);
        if !new.is_empty() {
            self.set_delimiter(&new);
        }
        Ok(true)
    }

    /// The length of the statement that begins here, and whether the input ends within it.
    fn find_end(&mut self) -> io::Result<(usize, bool)> {
        let mut within = Within::Code;
        let mut is_conditional = false;
        let mut from = 0;
        loop {
            match self.scan(from, &mut within, &mut is_conditional) {
                Scan::Ended(length) => return Ok((length, false)),
                Scan::More(at) => from = at,
            }
            if self.rest().len() > STATEMENT_BYTES_MAX {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "the statement on line {} is longer than 1 GiB: no end of it was found",
                        self.line
                    ),
                ));
            }
            if !self.fill()? {
                // Bytes that could not be classified before can be now.
                return Ok(match self.scan(from, &mut within, &mut is_conditional) {
                    Scan::Ended(length) => (length, false),
                    Scan::More(length) => (length, true),
                });
            }
        }
    }

    /// Scans for the delimiter. `is_conditional`: within `/*! */`, which is code, and the delimiter is part
    /// of it.
    fn scan(&self, from: usize, within: &mut Within, is_conditional: &mut bool) -> Scan {
        let text = self.rest();
        // The number of bytes that show what begins here. At the end of the input, fewer are enough.
        let needed = if self.at_end {
            1
        } else {
            self.delimiter.len().max(3)
        };
        let mut at = from;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let found = match *within {
                Within::Code => rest.iter().position(|byte| self.is_special[usize::from(*byte)]),
                Within::Quotes(b'`') => memchr(b'`', rest),
                Within::Quotes(quote) => memchr2(quote, b'\\', rest),
                Within::Comment => memchr(b'*', rest),
                Within::LineComment => memchr(b'\n', rest),
            };
            let Some(found) = found else {
                return Scan::More(text.len());
            };
            at += found;
            let rest = text.get(at..).unwrap_or_default();
            if rest.len() < needed {
                return Scan::More(at);
            }
            at += match *within {
                Within::Code if !*is_conditional && rest.starts_with(&self.delimiter) => {
                    return Scan::Ended(at);
                }
                Within::Code => enter(rest, within, is_conditional),
                Within::Quotes(quote) if rest.first() == Some(&quote) => {
                    *within = Within::Code;
                    1
                }
                // A backslash, and what it escapes.
                Within::Quotes(_) => 2.min(rest.len()),
                Within::Comment if rest.starts_with(b"*/") => {
                    *within = Within::Code;
                    2
                }
                Within::Comment => 1,
                Within::LineComment => {
                    *within = Within::Code;
                    1
                }
            };
        }
    }
}

/// A byte of code that may begin something else. Returns how many bytes belong to that.
fn enter(rest: &[u8], within: &mut Within, is_conditional: &mut bool) -> usize {
    match rest {
        [quote @ (b'\'' | b'"' | b'`'), ..] => *within = Within::Quotes(*quote),
        [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n' | b'\r', ..] => *within = Within::LineComment,
        [b'/', b'*', b'!', ..] => {
            *is_conditional = true;
            return 3;
        }
        [b'/', b'*', ..] => {
            *within = Within::Comment;
            return 2;
        }
        [b'*', b'/', ..] if *is_conditional => {
            *is_conditional = false;
            return 2;
        }
        _ => {}
    }
    // A line comment that begins with its line's end would not end.
    1
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    memchr_iter(first, text).find(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(wanted)))
}

/// A statement whose quoted texts that are not UTF-8 are hexadecimal literals of a character set. `None` if
/// other bytes are outside of such texts.
pub(crate) fn with_hexadecimal_texts(sql: &[u8], charset: &str) -> Option<String> {
    let mut out = String::with_capacity(sql.len() + sql.len() / 2);
    let mut rest = sql;
    loop {
        let code = memchr::memchr3(b'\'', b'"', b'`', rest).unwrap_or(rest.len());
        let (before, quoted) = rest.split_at(code);
        out.push_str(std::str::from_utf8(before).ok()?);
        let Some(&quote) = quoted.first() else {
            return Some(out);
        };
        let length = quoted_length(quoted, quote)?;
        let (quoted, behind) = quoted.split_at(length);
        rest = behind;
        match std::str::from_utf8(quoted) {
            Ok(text) => out.push_str(text),
            Err(_) if quote == b'`' => return None,
            Err(_) => {
                let word = out
                    .trim_end()
                    .rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .next();
                let has_introducer = word.is_some_and(|word| word.starts_with('_'));
                // Bytes that are not UTF-8 are only for columns that take any.
                if charset != "binary" && !charset.starts_with("utf8") && !has_introducer {
                    out.push('_');
                    out.push_str(charset);
                    out.push(' ');
                }
                out.push_str("x'");
                for byte in unescaped(quoted.get(1..length - 1)?, quote) {
                    for digit in [byte >> 4, byte & 15] {
                        out.push(char::from_digit(u32::from(digit), 16)?);
                    }
                }
                out.push('\'');
            }
        }
    }
}

/// The length of a quoted text, its quotes included.
pub(crate) fn quoted_length(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    loop {
        let rest = text.get(at..)?;
        at += match quote {
            b'`' => memchr(b'`', rest)?,
            _ => memchr2(quote, b'\\', rest)?,
        };
        match (text.get(at), text.get(at + 1)) {
            (Some(b'\\'), _) if quote != b'`' => at += 2,
            (_, Some(next)) if *next == quote => at += 2,
            _ => return Some(at + 1),
        }
    }
}

/// The bytes that a quoted text stands for.
fn unescaped(inner: &[u8], quote: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    while let Some(byte) = rest.next() {
        if byte == quote {
            rest.next();
            bytes.push(quote);
        } else if byte == b'\\' {
            match rest.next() {
                Some(b'0') => bytes.push(0),
                Some(b'b') => bytes.push(8),
                Some(b'n') => bytes.push(b'\n'),
                Some(b'r') => bytes.push(b'\r'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'Z') => bytes.push(0x1a),
                Some(escaped @ (b'%' | b'_')) => bytes.extend([b'\\', escaped]),
                Some(escaped) => bytes.push(escaped),
                None => {}
            }
        } else {
            bytes.push(byte);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Slowly;

    fn statements(text: &str, step: usize) -> Vec<Statement> {
        let mut script = Script::new(Slowly(text.as_bytes(), step));
        std::iter::from_fn(|| script.next_statement().unwrap()).collect()
    }

    fn split(text: &str) -> Vec<(u64, String)> {
        let whole = statements(text, usize::MAX);
        for step in [1, 2, 3, 5, 7] {
            assert_eq!(statements(text, step), whole, "{step} bytes at a time");
        }
        for statement in &whole {
            let start = statement.offset as usize;
            assert!(text.as_bytes()[start..].starts_with(&statement.text));
        }
        let shown = |statement: Statement| (statement.line, String::from_utf8(statement.text).unwrap());
        whole.into_iter().map(shown).collect()
    }

    #[test]
    fn statements_end_at_delimiters_outside_of_quotes() {
        let text = "-- a; comment\nSELECT 1;SELECT ';' /* ; */;\n\nINSERT INTO t VALUES ('a\\';b',\n'c''d');\n\
                    DELIMITER ;;\nCREATE TRIGGER x BEGIN SELECT 1; END ;;\nDELIMITER ;\nSELECT 2";
        let expected = [
            (2, "SELECT 1"),
            (2, "SELECT ';' /* ; */"),
            (4, "INSERT INTO t VALUES ('a\\';b',\n'c''d')"),
            (7, "CREATE TRIGGER x BEGIN SELECT 1; END "),
            (9, "SELECT 2"),
        ];
        assert_eq!(split(text), expected.map(|(line, text)| (line, text.to_owned())));
        assert_eq!(split("  \n ;; \n"), []);
        assert_eq!(split("SELECT 'open"), [(1, "SELECT 'open".to_owned())]);
        assert_eq!(split("a;--"), [(1, "a".to_owned())]);
    }

    #[test]
    fn conditional_comments_are_code() {
        let text = "/*!50001 CREATE VIEW v AS SELECT '*/;' */;\n/* ; */ /*!40000 ALTER */;--\n#;\nx -- ;\n;";
        let expected = [
            (1, "/*!50001 CREATE VIEW v AS SELECT '*/;' */"),
            (2, "/*!40000 ALTER */"),
            (4, "x -- ;\n"),
        ];
        assert_eq!(split(text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_statement_that_is_cut_off_says_so() {
        let found = statements("SELECT 1; SELECT 2", 4);
        let cut_off: Vec<bool> = found.iter().map(|statement| statement.is_cut_off).collect();
        assert_eq!(cut_off, [false, true]);
        assert_eq!(found[0].end, 9);
    }

    #[test]
    fn bytes_that_are_no_text_become_hexadecimal() {
        let sql = b"INSERT INTO `t` VALUES (_binary '\xff\\0''', '\xe4', 'a\\'b')";
        assert_eq!(
            with_hexadecimal_texts(sql, "latin1").unwrap(),
            "INSERT INTO `t` VALUES (_binary x'ff0027', _latin1 x'e4', 'a\\'b')"
        );
        for charset in ["binary", "utf8mb4"] {
            assert_eq!(with_hexadecimal_texts(b"('\xff')", charset).unwrap(), "(x'ff')");
        }
        assert_eq!(with_hexadecimal_texts(b"(\xff)", "binary"), None);
        assert_eq!(with_hexadecimal_texts(b"('\xff", "binary"), None);
    }
}
