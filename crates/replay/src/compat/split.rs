//! The statements of a file, as the `mysql` client finds them: ended by a delimiter that is not in quotes or
//! in a comment, and that a line `DELIMITER` changes.

use std::io::BufRead;

pub(super) struct Statement {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    pub(super) text: Vec<u8>,
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

pub(super) struct Splitter<R> {
    input: R,
    delimiter: Vec<u8>,
    line: u64,
    /// Of the current line, what is not looked at yet.
    rest: Vec<u8>,
    ended: bool,
}

impl<R: BufRead> Splitter<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            delimiter: b";".to_vec(),
            line: 0,
            rest: Vec::new(),
            ended: false,
        }
    }

    pub(super) fn next_statement(&mut self) -> std::io::Result<Option<Statement>> {
        let mut text = Vec::new();
        let mut start = 0;
        let mut within = Within::Code;
        loop {
            if self.rest.is_empty() && !self.ended {
                match read_line(&mut self.input)? {
                    Some(line) => {
                        self.line += 1;
                        self.rest = line;
                    }
                    None => self.ended = true,
                }
                let is_blank = text.iter().all(u8::is_ascii_whitespace);
                if is_blank && self.takes_delimiter() {
                    continue;
                }
            }
            if self.ended && self.rest.is_empty() {
                let is_blank = text.iter().all(u8::is_ascii_whitespace);
                return Ok((!is_blank).then_some(Statement { line: start, text }));
            }
            let line = std::mem::take(&mut self.rest);
            if let Some(behind) = self.scan(&line, &mut within, &mut text, &mut start) {
                self.rest = line.get(behind..).unwrap_or_default().to_vec();
                if !text.iter().all(u8::is_ascii_whitespace) {
                    return Ok(Some(Statement { line: start, text }));
                }
                text.clear();
            }
        }
    }

    /// `DELIMITER ;;` on a line of its own.
    fn takes_delimiter(&mut self) -> bool {
        let line = self.rest.trim_ascii();
        let is_command = line
            .get(..9)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"delimiter"));
        let Some(new) = line.get(9..).filter(|rest| is_command && rest.starts_with(b" ")) else {
            return false;
        };
        let new = new.trim_ascii();
        if new.is_empty() {
            return false;
        }
        self.delimiter = new.to_vec();
        self.rest.clear();
        true
    }

    /// Moves a line into `text`, up to a delimiter. Returns where the line goes on behind it.
    fn scan(&self, line: &[u8], within: &mut Within, text: &mut Vec<u8>, start: &mut u64) -> Option<usize> {
        let mut at = 0;
        while let Some(byte) = line.get(at).copied() {
            let rest = line.get(at..).unwrap_or_default();
            if *within == Within::Code && rest.starts_with(&self.delimiter) {
                return Some(at + self.delimiter.len());
            }
            if *start == 0 || text.iter().all(u8::is_ascii_whitespace) {
                text.clear();
                *start = self.line;
            }
            let mut length = 1;
            match *within {
                Within::Code => match byte {
                    b'\'' | b'"' | b'`' => *within = Within::Quotes(byte),
                    b'/' if rest.starts_with(b"/*") => {
                        length = 2;
                        *within = Within::Comment;
                    }
                    b'#' => *within = Within::LineComment,
                    b'-' if rest.starts_with(b"-- ") || rest.trim_ascii_end() == b"--" => {
                        *within = Within::LineComment
                    }
                    _ => {}
                },
                Within::Quotes(quote) if byte == b'\\' && quote != b'`' => length = 2,
                Within::Quotes(quote) if byte == quote => *within = Within::Code,
                Within::Comment if rest.starts_with(b"*/") => {
                    length = 2;
                    *within = Within::Code;
                }
                Within::LineComment if byte == b'\n' => {
                    *within = Within::Code;
                    // A comment before the statement: the statement begins behind it.
                    if matches!(text.first(), Some(b'-' | b'#')) {
                        text.clear();
                        *start = 0;
                    }
                }
                _ => {}
            }
            text.extend_from_slice(rest.get(..length).unwrap_or(rest));
            at += length;
        }
        None
    }
}

fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    match input.read_until(b'\n', &mut line)? {
        0 => Ok(None),
        _ => Ok(Some(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(u64, String)> {
        let mut splitter = Splitter::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some(statement) = splitter.next_statement().unwrap() {
            found.push((
                statement.line,
                String::from_utf8(statement.text).unwrap().trim().to_owned(),
            ));
        }
        found
    }

    #[test]
    fn statements_end_at_delimiters_outside_of_quotes() {
        let text = "-- a; comment\nSELECT 1;SELECT ';' /* ; */;\n\nINSERT INTO t VALUES ('a\\';b',\n'c''d');\n\
                    DELIMITER ;;\nCREATE TRIGGER x BEGIN SELECT 1; END ;;\nDELIMITER ;\nSELECT 2";
        assert_eq!(
            split(text),
            [
                (2, "SELECT 1".to_owned()),
                (2, "SELECT ';' /* ; */".to_owned()),
                (4, "INSERT INTO t VALUES ('a\\';b',\n'c''d')".to_owned()),
                (7, "CREATE TRIGGER x BEGIN SELECT 1; END".to_owned()),
                (9, "SELECT 2".to_owned()),
            ]
        );
        assert_eq!(split("  \n ;; \n"), []);
        assert_eq!(split("SELECT 'open"), [(1, "SELECT 'open".to_owned())]);
    }
}
