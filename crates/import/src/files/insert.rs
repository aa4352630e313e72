//! The rows of an INSERT, as text: several short statements become a long one, and the rows of one that the
//! target does not take are tried by themselves.

use std::ops::Range;

use crate::script::quoted_length;

/// The positions of the parts of `INSERT INTO t (...) VALUES (...), (...)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    /// Up to the first row.
    head: usize,
    rows: Vec<Range<usize>>,
    /// Behind the last row: ON DUPLICATE KEY UPDATE, or nothing.
    tail: usize,
}

impl Parts {
    /// `None`: it has no VALUES, or is written in a way that is not understood here.
    pub(super) fn of(sql: &[u8]) -> Option<Self> {
        let head = head_length(sql)?;
        let mut rows = Vec::new();
        let mut at = head;
        loop {
            at += blank(sql.get(at..)?);
            let length = parenthesized(sql.get(at..)?)?;
            rows.push(at..at + length);
            at += length;
            let next = at + blank(sql.get(at..)?);
            match sql.get(next) {
                Some(b',') => at = next + 1,
                _ => break,
            }
        }
        Some(Self { head, rows, tail: at })
    }

    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// The statement with some of the rows.
    pub(super) fn with_rows(&self, sql: &[u8], rows: Range<usize>) -> Vec<u8> {
        let head = sql.get(..self.head).unwrap_or_default();
        let tail = sql.get(self.tail..).unwrap_or_default();
        let rows: Vec<&[u8]> = (self.rows.get(rows).unwrap_or_default().iter())
            .map(|row| sql.get(row.clone()).unwrap_or_default())
            .collect();
        [head, &rows.join(&b","[..]), tail].concat()
    }
}

/// The names in the list of columns before VALUES; `None` if there is no list.
pub(super) fn listed_columns(sql: &[u8]) -> Option<Vec<String>> {
    let head = sql.get(..head_length(sql)?)?;
    let open = head.iter().position(|byte| *byte == b'(')?;
    let list = head.get(open..open + parenthesized(head.get(open..)?)?)?;
    let list = String::from_utf8_lossy(list.get(1..list.len() - 1)?).into_owned();
    let names = list
        .split(',')
        .map(|name| name.trim().trim_matches('`').replace("``", "`"));
    Some(names.collect())
}

/// The statement with DEFAULT in place of some values of each row.
pub(super) fn with_defaults(sql: &[u8], positions: &[usize]) -> Option<Vec<u8>> {
    let parts = Parts::of(sql)?;
    let mut out = Vec::with_capacity(sql.len());
    let mut copied = 0;
    for row in &parts.rows {
        let values = values(sql.get(row.clone())?)?;
        for position in positions {
            let value = values.get(*position)?;
            out.extend_from_slice(sql.get(copied..row.start + value.start)?);
            out.extend_from_slice(b"DEFAULT");
            copied = row.start + value.end;
        }
    }
    out.extend_from_slice(sql.get(copied..)?);
    Some(out)
}

/// Where the values of a row in parentheses are.
fn values(row: &[u8]) -> Option<Vec<Range<usize>>> {
    let end = row.len().checked_sub(1)?;
    let (mut at, mut start) = (1, 1);
    let mut values = Vec::new();
    while at < end {
        at += match row.get(at)? {
            quote @ (b'\'' | b'"' | b'`') => quoted_length(row.get(at..)?, *quote)?,
            b'(' => parenthesized(row.get(at..)?)?,
            b',' => {
                values.push(start..at);
                start = at + 1;
                1
            }
            _ => 1,
        };
    }
    values.push(start..end);
    Some(values)
}

/// Appends the rows of a statement to an earlier one, if only the rows are different. Returns how many.
pub(super) fn append(earlier: &mut Vec<u8>, sql: &[u8]) -> Option<usize> {
    let head = head_length(sql)?;
    let parts = Parts::of(sql).filter(|parts| parts.tail == sql.len())?;
    if earlier.get(..head) != sql.get(..head) || earlier.last() != Some(&b')') {
        return None;
    }
    earlier.push(b',');
    earlier.extend_from_slice(sql.get(head..parts.tail)?);
    Some(parts.count())
}

/// The length up to and with the word VALUES.
pub(super) fn head_length(sql: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = sql.get(at..).filter(|rest| !rest.is_empty())?;
        at += match rest {
            [quote @ (b'`' | b'"' | b'\''), ..] => quoted_length(rest, *quote)?,
            [b'(', ..] => parenthesized(rest)?,
            [first, ..] if is_word(*first) => {
                let word = rest.iter().position(|byte| !is_word(*byte))?;
                let (word, length) = (rest.get(..word)?, word);
                if word.eq_ignore_ascii_case(b"values") || word.eq_ignore_ascii_case(b"value") {
                    return Some(at + length);
                }
                length
            }
            [b'/', b'*', ..] => return None,
            _ => 1,
        };
    }
}

/// The length of what is in parentheses, with them.
fn parenthesized(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'(') {
        return None;
    }
    let (mut at, mut depth) = (0_usize, 0_usize);
    loop {
        let rest = text.get(at..)?;
        at += rest
            .iter()
            .position(|byte| matches!(byte, b'(' | b')' | b'\'' | b'"' | b'`' | b'/' | b'#' | b'-'))?;
        let rest = text.get(at..)?;
        match rest {
            [b'(', ..] => depth += 1,
            [b')', ..] if depth == 1 => return Some(at + 1),
            [b')', ..] => depth -= 1,
            [b'/', b'*', ..] | [b'#', ..] | [b'-', b'-', b' ', ..] => return None,
            [quote @ (b'\'' | b'"' | b'`'), ..] => {
                at += quoted_length(rest, *quote)?;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

fn blank(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found() {
        let sql = b"INSERT INTO `values (` (`a`,b) VALUES\n(1,'x),('),\n (f(2), 'it''s \\')') ON DUPLICATE KEY UPDATE a=(1)";
        let parts = Parts::of(sql).unwrap();
        assert_eq!(parts.count(), 2);
        assert_eq!(
            parts.with_rows(sql, 1..2),
            b"INSERT INTO `values (` (`a`,b) VALUES(f(2), 'it''s \\')') ON DUPLICATE KEY UPDATE a=(1)"
        );
        assert_eq!(parts.with_rows(sql, 0..2).len(), sql.len() - 3);
        for other in [
            "INSERT INTO t SELECT 1",
            "INSERT INTO t VALUES (1",
            "INSERT INTO t VALUES (1 /* ) */)",
        ] {
            assert_eq!(Parts::of(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn values_become_defaults() {
        let sql = b"INSERT INTO t VALUES (1,'a,b',f(2,3)),(4, 'it''s', 5)";
        assert_eq!(
            with_defaults(sql, &[1, 2]).unwrap(),
            b"INSERT INTO t VALUES (1,DEFAULT,DEFAULT),(4,DEFAULT,DEFAULT)"
        );
        assert_eq!(with_defaults(sql, &[3]), None);
        assert_eq!(listed_columns(sql), None);
        let listed = listed_columns(b"INSERT INTO `t` (`a`, b) VALUES (1, 2)");
        assert_eq!(listed, Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn short_statements_become_one() {
        let mut sql = b"INSERT INTO t VALUES (1)".to_vec();
        assert_eq!(append(&mut sql, b"INSERT INTO t VALUES (2),(3)"), Some(2));
        assert_eq!(append(&mut sql, b"INSERT INTO u VALUES (2)"), None);
        assert_eq!(append(&mut sql, b"INSERT INTO t VALUES (2) AS new"), None);
        assert_eq!(sql, b"INSERT INTO t VALUES (1), (2),(3)");
    }
}
