//! The INSERTs of a table in a dump as one LOAD DATA ([`crate::whole`]), which reads their rows as they are written:
//! `(1,'it''s',NULL),(2,'a\n',3)` are lines that begin with `(` and end with `)`, and have fields between commas, some of
//! them in quotes. Not all literals are such fields ([`are_lines`]), and not every column takes a text where it
//! takes a number ([`takes_texts`]); those tables are loaded in parts.

use crate::inventory::Column;
use crate::script::quoted_length;
use crate::whole::Whole;

use super::insert::head_length;
use super::writer::PART;

/// A statement's rows wait until they are so many bytes.
const PIECE_BYTES: usize = 256 << 10;

/// Some INSERTs that follow each other, of one table.
pub(super) struct DumpRows {
    /// Of each of them, up to VALUES.
    head: Vec<u8>,
    pub(super) begins_at: u64,
    pub(super) ends_at: u64,
    pub(super) checksum: crc32fast::Hasher,
    /// `None`: an earlier run has loaded them.
    pub(super) statement: Option<Whole>,
    gathered: Vec<u8>,
}

impl DumpRows {
    pub(super) fn new(head: &[u8], begins_at: u64, statement: Option<Whole>) -> Self {
        Self {
            head: head.to_vec(),
            begins_at,
            ends_at: begins_at,
            checksum: crc32fast::Hasher::new(),
            statement,
            gathered: Vec::new(),
        }
    }

    /// Whether an INSERT is one of them.
    pub(super) fn takes(&self, sql: &[u8]) -> bool {
        sql.strip_prefix(self.head.as_slice()).is_some_and(are_lines)
    }

    /// Adds an INSERT. `false`: the statement has ended, by an error.
    pub(super) fn add(&mut self, sql: &[u8], ends_at: u64) -> bool {
        self.checksum.update(sql);
        self.ends_at = ends_at;
        let rows = sql.get(self.head.len()..).unwrap_or_default();
        if self.statement.is_some() {
            self.gathered.extend_from_slice(rows);
        }
        self.gathered.len() < PIECE_BYTES || self.send()
    }

    /// Sends what is gathered.
    pub(super) fn send(&mut self) -> bool {
        let rows = std::mem::take(&mut self.gathered);
        self.statement
            .as_ref()
            .is_none_or(|statement| statement.give(rows))
    }
}

/// `INSERT INTO t (a, b) VALUES`: what LOAD DATA says in place of it.
pub(super) struct Head {
    pub(super) length: usize,
    /// As it is written.
    table: String,
    columns: String,
    pub(super) database: Option<String>,
    pub(super) name: String,
}

impl Head {
    /// `None`: it is something else, such as INSERT IGNORE.
    pub(super) fn of(sql: &[u8]) -> Option<Self> {
        let length = head_length(sql)?;
        let head = std::str::from_utf8(sql.get(..length)?).ok()?;
        let (insert, rest) = head.trim_start().split_at_checked(12)?;
        if !insert.eq_ignore_ascii_case("INSERT INTO ") {
            return None;
        }
        let rest = rest.trim_start();
        let (first, end) = name(rest)?;
        let (database, table, end) = match rest.get(end..)?.strip_prefix('.') {
            None => (None, first, end),
            Some(behind) => {
                let (second, length) = name(behind)?;
                (Some(first), second, end + 1 + length)
            }
        };
        let (written, behind) = rest.split_at_checked(end)?;
        let columns = behind.get(..behind.len().checked_sub("VALUES".len())?)?.trim();
        if !behind.to_ascii_uppercase().ends_with("VALUES")
            || !(columns.is_empty() || columns.starts_with('('))
        {
            return None;
        }
        Some(Self {
            length,
            table: written.to_owned(),
            columns: columns.to_owned(),
            database,
            name: table,
        })
    }

    /// The statement that reads the rows.
    pub(super) fn load(&self, charset: &str) -> String {
        format!(
            "LOAD DATA LOCAL INFILE '{PART}' INTO TABLE {} CHARACTER SET {charset} FIELDS TERMINATED BY ',' \
             OPTIONALLY ENCLOSED BY '\\'' ESCAPED BY '\\\\' LINES STARTING BY '(' TERMINATED BY ')' {}",
            self.table, self.columns
        )
    }
}

/// The name at the begin of a text, and where it ends.
fn name(text: &str) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    if bytes.first() == Some(&b'`') {
        let length = quoted_length(bytes, b'`')?;
        let name = text.get(1..length - 1)?.replace("``", "`");
        return Some((name, length));
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    let length = bytes.iter().take_while(|byte| is_word(byte)).count();
    (length > 0).then(|| (text.get(..length).unwrap_or_default().to_owned(), length))
}

/// Whether a text becomes the same value of each column as the number or text that is written so in SQL.
pub(super) fn takes_texts(columns: &[Column]) -> bool {
    let takes = |column: &Column| {
        let is_plain = matches!(
            column.data_type.as_str(),
            "tinyint"
                | "smallint"
                | "mediumint"
                | "int"
                | "bigint"
                | "decimal"
                | "float"
                | "double"
                | "date"
                | "time"
                | "datetime"
                | "timestamp"
                | "char"
                | "varchar"
                | "tinytext"
                | "text"
                | "mediumtext"
                | "longtext"
                | "json"
        );
        is_plain && !column.is_generated
    };
    !columns.is_empty() && columns.iter().all(takes)
}

/// Whether all rows behind VALUES are numbers, NULL, and texts in quotes whose escapes are those of LOAD DATA.
fn are_lines(rows: &[u8]) -> bool {
    lines_end(rows) == Some(rows.len())
}

fn lines_end(rows: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        // Between rows.
        let rest = rows.get(at..)?;
        let Some(blank) = rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != b',')
        else {
            return Some(rows.len());
        };
        at += blank;
        if rows.get(at) != Some(&b'(') {
            return None;
        }
        loop {
            at += 1;
            at += field_length(rows.get(at..)?)?;
            match rows.get(at)? {
                b',' => {}
                b')' => break,
                _ => return None,
            }
        }
        at += 1;
    }
}

fn field_length(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'\'' => {
            let length = quoted_length(text, b'\'')?;
            escapes_are_known(text.get(1..length - 1)?).then_some(length)
        }
        b'N' => text.starts_with(b"NULL").then_some(4),
        _ => {
            let length = text
                .iter()
                .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'.'))?;
            is_plain_number(text.get(..length)?).then_some(length)
        }
    }
}

/// Whether a number is written as MySQL writes it: in a column of texts, 007 becomes 7, and .5 becomes 0.5.
fn is_plain_number(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, fraction) = match memchr::memchr(b'.', digits).and_then(|at| digits.split_at_checked(at)) {
        None => (digits, None),
        Some((whole, fraction)) => (whole, fraction.get(1..)),
    };
    let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    // -0 is 0. Decimals have a limit of digits.
    let is_signed_well = digits.len() == text.len() || digits.iter().any(|byte| matches!(byte, b'1'..=b'9'));
    text.len() <= 30
        && is_signed_well
        && are_digits(whole)
        && (whole.len() == 1 || whole.first() != Some(&b'0'))
        && fraction.is_none_or(are_digits)
}

fn escapes_are_known(mut text: &[u8]) -> bool {
    while let Some(at) = memchr::memchr(b'\\', text) {
        match text.get(at + 1) {
            Some(b'0' | b'b' | b'n' | b'r' | b't' | b'Z' | b'\\' | b'\'' | b'"') => {}
            _ => return false,
        }
        text = text.get(at + 2..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_load_data_reads_as_it_is_written() {
        for rows in [
            "(1,'a',NULL)",
            " (1,'it''s \\\\ \\'(),;\\n'),\n(-1.50,'',NULL), (2,'x',3)\n",
            "('\\\\%')",
        ] {
            assert!(are_lines(rows.as_bytes()), "{rows}");
        }
        for rows in [
            "(1, 'a')",
            "(_binary 'a')",
            "(0x41)",
            "(007)",
            "(-0.0)",
            "(.5)",
            "(1.)",
            "(1-2)",
            "(1e3)",
            "('a' 'b')",
            "('\\%')",
            "('\\N')",
            "(DEFAULT)",
            "(NULLIF(1,2))",
            "()",
            "(1,)",
            "(1) ON DUPLICATE KEY UPDATE a=1",
            "(1",
            "('a",
        ] {
            assert!(!are_lines(rows.as_bytes()), "{rows}");
        }
    }

    #[test]
    fn heads() {
        let head = Head::of(b"INSERT INTO `a``b`.`values` (`x`,y) VALUES (1,2)").unwrap();
        assert_eq!(head.database.as_deref(), Some("a`b"));
        assert_eq!(head.name, "values");
        assert!(
            head.load("utf8mb4")
                .contains("INTO TABLE `a``b`.`values` CHARACTER SET")
        );
        assert!(head.load("utf8mb4").ends_with("TERMINATED BY ')' (`x`,y)"));
        let head = Head::of(b"insert into t values (1)").unwrap();
        assert_eq!((head.name.as_str(), head.length), ("t", 20));
        for other in [
            "INSERT IGNORE INTO t VALUES (1)",
            "REPLACE INTO t VALUES (1)",
            "INSERT INTO t PARTITION (p) VALUES (1)",
            "INSERT INTO t SELECT 1",
        ] {
            assert!(Head::of(other.as_bytes()).is_none(), "{other}");
        }
    }
}
