//! LOAD DATA statements: one that reads the records of a part, and those of a dump, whose files are cut into parts too.

use syntax::ast::{LoadDuplicates, Statement};
use types::SqlMode;

use super::arguments::Arguments;
use super::records::Format;
use super::writer::PART;
use crate::Result;
use crate::endpoint::{literal, quoted};
use crate::error::Error;
use crate::script::quoted_length;

/// `columns`: names and variables in the order of the fields; `None`: all of the table. `sets`: what is
/// computed.
pub(super) fn statement(
    database: Option<&str>,
    table: &str,
    format: &Format,
    columns: Option<&[String]>,
    sets: &[String],
) -> String {
    let table = match database {
        Some(database) => format!("{}.{}", quoted(database), quoted(table)),
        None => quoted(table),
    };
    let character = |byte: Option<u8>| byte.map_or_else(|| "''".to_owned(), |byte| bytes(&[byte]));
    let mut sql = format!(
        "LOAD DATA LOCAL INFILE '{PART}' INTO TABLE {table} CHARACTER SET {} FIELDS TERMINATED BY {}",
        format.charset,
        bytes(&format.fields_terminated)
    );
    if let Some(enclosed) = format.enclosed {
        sql += &format!(" OPTIONALLY ENCLOSED BY {}", character(Some(enclosed)));
    }
    sql += &format!(" ESCAPED BY {} LINES", character(format.escaped));
    if !format.lines_starting.is_empty() {
        sql += &format!(" STARTING BY {}", bytes(&format.lines_starting));
    }
    sql += &format!(" TERMINATED BY {}", bytes(&format.lines_terminated));
    if let Some(columns) = columns {
        sql += &format!(" ({})", columns.join(", "));
    }
    if !sets.is_empty() {
        sql += &format!(" SET {}", sets.join(", "));
    }
    sql
}

/// Fields with the text of --null become NULL: they go through variables.
pub(super) fn with_null(columns: Vec<String>, null: &str) -> (Vec<String>, Vec<String>) {
    let mut fields = Vec::new();
    let mut sets = Vec::new();
    for (position, column) in columns.into_iter().enumerate() {
        if column.starts_with('@') {
            fields.push(column);
            continue;
        }
        let variable = format!("@stemdb_{position}");
        sets.push(format!("{column} = NULLIF({variable}, {})", literal(null)));
        fields.push(variable);
    }
    (fields, sets)
}

/// The list of --columns.
pub(super) fn listed(arguments: &Arguments) -> Option<Vec<String>> {
    let list = arguments.columns.as_ref()?;
    Some(list.split(',').map(|name| field(name.trim())).collect())
}

/// A variable as it is, or a name in quotes.
pub(super) fn field(name: &str) -> String {
    match name.starts_with('@') || name.starts_with('`') {
        true => name.to_owned(),
        false => quoted(name),
    }
}

fn bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => literal(text),
        Err(_) => format!(
            "x'{}'",
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        ),
    }
}

/// LOAD DATA LOCAL of a dump.
pub(super) struct Dumped {
    /// As it is written.
    pub(super) file: String,
    pub(super) database: Option<String>,
    pub(super) table: String,
    pub(super) format: Format,
    /// How many lines of the file are no rows.
    pub(super) skipped: u64,
    /// Reads the records of a part.
    pub(super) load: String,
    /// The same, and takes all rows or none.
    pub(super) whole: String,
    /// Which of two rows with the same key stays depends on their order.
    pub(super) replaces: bool,
}

impl Dumped {
    /// `charset`: that of a file whose statement names none.
    pub(super) fn of(sql: &[u8], charset: &str) -> Result<Self> {
        let text = std::str::from_utf8(sql).map_err(|_| Error::Input("it is not UTF-8".to_owned()))?;
        let parsed =
            syntax::parse_one(text, SqlMode::default()).map_err(|error| Error::Input(error.to_string()))?;
        let Statement::LoadData(load) = parsed.statement else {
            return Err(Error::Input("it is no LOAD DATA".to_owned()));
        };
        if !load.local {
            let why = "LOAD DATA reads a file of the server; LOAD DATA LOCAL one beside the dump";
            return Err(Error::Input(why.to_owned()));
        }
        let word = match load.duplicates {
            LoadDuplicates::Unspecified => "",
            LoadDuplicates::Ignore => "IGNORE",
            LoadDuplicates::Replace => "REPLACE",
        };
        let behind = behind_file(text, word)
            .and_then(|behind| match load.ignored_lines {
                0 => Some(behind.to_owned()),
                _ => without_ignored_lines(behind),
            })
            .ok_or_else(|| Error::Input("comments in LOAD DATA are not supported: remove them".to_owned()))?;
        let one =
            |bytes: Option<Vec<u8>>, usual: Option<u8>| bytes.map_or(usual, |bytes| bytes.first().copied());
        let format = Format {
            fields_terminated: load.format.fields_terminated.unwrap_or_else(|| b"\t".to_vec()),
            enclosed: one(load.format.fields_enclosed, None),
            escaped: one(load.format.fields_escaped, Some(b'\\')),
            lines_starting: load.format.lines_starting.unwrap_or_default(),
            lines_terminated: load.format.lines_terminated.unwrap_or_else(|| b"\n".to_vec()),
            charset: load
                .charset
                .unwrap_or_else(|| charset.to_owned())
                .to_ascii_lowercase(),
        };
        format.check()?;
        Ok(Self {
            file: load.file,
            database: load.table.database,
            table: load.table.name,
            format,
            skipped: load.ignored_lines,
            load: format!("LOAD DATA LOCAL INFILE '{PART}' {word} {behind}"),
            whole: format!("LOAD DATA LOCAL INFILE '{PART}' {behind}"),
            replaces: load.duplicates == LoadDuplicates::Replace,
        })
    }
}

/// What is behind the name of the file, and behind a word that says what happens to duplicates.
fn behind_file<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let start = text.find(['\'', '"'])?;
    let quote = *text.as_bytes().get(start)?;
    let length = quoted_length(text.as_bytes().get(start..)?, quote)?;
    let (first, rest) = text
        .get(start + length..)?
        .trim_start()
        .split_at_checked(word.len())?;
    first.eq_ignore_ascii_case(word).then_some(rest)
}

/// Leaves out `IGNORE n LINES`.
fn without_ignored_lines(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'\'' | b'"' | b'`') {
            at += quoted_length(bytes.get(at..)?, *byte)?;
            continue;
        }
        let length = bytes.get(at..)?.iter().take_while(|byte| is_word(byte)).count();
        if text.get(at..at + length)?.eq_ignore_ascii_case("IGNORE") {
            let behind = text.get(at + length..)?.trim_start();
            let behind = behind.trim_start_matches(|digit: char| digit.is_ascii_digit());
            let behind = behind.trim_start();
            // LINES or ROWS.
            let unit = behind.find(|letter: char| !letter.is_ascii_alphabetic());
            let rest = behind.get(unit.unwrap_or(behind.len())..)?;
            return Some(format!("{}{rest}", text.get(..at)?));
        }
        at += length.max(1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_dumps() {
        let sql = "LOAD DATA LOCAL INFILE 'it''s.csv' INTO TABLE `d`.`IGNORE` CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' \
                   OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\\n' IGNORE 1 LINES (`a`, @v1) SET `b` = UNHEX(@v1)";
        let dumped = Dumped::of(sql.as_bytes(), "latin1").unwrap();
        assert_eq!(
            (dumped.file.as_str(), dumped.table.as_str()),
            ("it's.csv", "IGNORE")
        );
        assert_eq!((dumped.database.as_deref(), dumped.skipped), (Some("d"), 1));
        let format = &dumped.format;
        assert_eq!((format.enclosed, format.escaped), (Some(b'"'), None));
        assert_eq!(
            (
                format.fields_terminated.as_slice(),
                format.lines_terminated.as_slice()
            ),
            (&b","[..], &b"\n"[..])
        );
        assert_eq!(format.charset, "utf8mb4");
        assert!(
            dumped
                .load
                .ends_with("LINES TERMINATED BY '\\n'  (`a`, @v1) SET `b` = UNHEX(@v1)"),
            "{}",
            dumped.load
        );
        // What is left reads the same.
        let again = Dumped::of(dumped.load.as_bytes(), "latin1").unwrap();
        assert_eq!(
            (again.file.as_str(), again.skipped, &again.format),
            (PART, 0, format)
        );

        let sql = "load data local infile \"t.dat\" replace into table t (a)";
        let dumped = Dumped::of(sql.as_bytes(), "gbk").unwrap();
        assert!(
            dumped.replaces && dumped.load.contains("REPLACE  into table t (a)"),
            "{}",
            dumped.load
        );
        assert!(!dumped.whole.to_ascii_uppercase().contains("REPLACE"));
        assert_eq!(
            (dumped.format.escaped, dumped.format.charset.as_str()),
            (Some(b'\\'), "gbk")
        );
    }

    #[test]
    fn what_is_no_file_beside_a_dump() {
        for (sql, expected) in [
            ("LOAD DATA INFILE 't' INTO TABLE t", "a file of the server"),
            (
                "LOAD DATA LOCAL INFILE 't' /* x */ REPLACE INTO TABLE t",
                "comments",
            ),
            (
                "LOAD DATA LOCAL INFILE 't' INTO TABLE t FIELDS TERMINATED BY ''",
                "without separators",
            ),
            ("LOAD DATA LOCAL INFILE 't' INTO", "syntax"),
        ] {
            let error = Dumped::of(sql.as_bytes(), "utf8mb4").map(drop).unwrap_err();
            assert!(error.to_string().contains(expected), "{sql}: {error}");
        }
    }
}
