//! The command line of an import from files.

use std::path::PathBuf;

use super::records::Format;
use crate::Result;
use crate::error::Error;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// Statements, as mysqldump writes them.
    Sql,
    /// Fields between commas, in double quotes where they need them, which are doubled within.
    Csv,
    /// Fields between tabs, with backslashes, as SELECT ... INTO OUTFILE writes them.
    Tsv,
    Parquet,
}

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A directory of mydumper or of `stemdb export`, a dump of mysqldump, or a file of SQL, CSV, TSV or
    /// Parquet, compressed with gzip or zstd or not. `-` is a dump on standard input
    #[arg(value_name = "DIR|FILE")]
    inputs: Vec<PathBuf>,
    /// What the files hold, if their names do not say it
    #[arg(long, value_enum, requires = "inputs")]
    pub(super) format: Option<Kind>,
    /// The table for rows of CSV, TSV and Parquet; otherwise the file's name is its name: [DB.]TABLE.csv
    #[arg(long, value_name = "[DB.]TABLE", requires = "inputs")]
    pub(super) table: Option<String>,
    /// The columns in the order of the fields, or variables for --set: a,@b,c
    #[arg(long, value_name = "LIST", requires = "inputs")]
    pub(super) columns: Option<String>,
    /// A value that is computed, as in LOAD DATA: "b = UNHEX(@b)"
    #[arg(long, value_name = "COLUMN = EXPRESSION", requires = "inputs")]
    pub(super) set: Vec<String>,
    /// The first line of CSV and TSV names the columns
    #[arg(long, requires = "inputs", conflicts_with = "columns")]
    pub(super) header: bool,
    /// Lines to skip at the beginning of each file
    #[arg(long, value_name = "COUNT", default_value_t = 0, requires = "inputs")]
    pub(super) ignore_lines: u64,
    /// A field with this text is NULL. Without it: \N, and the word NULL where fields can be quoted
    #[arg(long, value_name = "TEXT", requires = "inputs")]
    pub(super) null: Option<String>,
    /// The character set of the files
    #[arg(long, default_value = "utf8mb4", requires = "inputs")]
    pub(super) character_set: String,
    /// As in LOAD DATA. \t, \n, \r, \0 and \\ stand for what they do there
    #[arg(long, value_name = "TEXT", requires = "inputs")]
    fields_terminated_by: Option<String>,
    #[arg(long, value_name = "CHARACTER", requires = "inputs")]
    fields_enclosed_by: Option<String>,
    #[arg(long, value_name = "CHARACTER", requires = "inputs")]
    fields_escaped_by: Option<String>,
    #[arg(long, value_name = "TEXT", requires = "inputs")]
    lines_starting_by: Option<String>,
    #[arg(long, value_name = "TEXT", requires = "inputs")]
    lines_terminated_by: Option<String>,
    /// Where rows that the target does not take are written: PREFIX.sql or PREFIX.csv, and PREFIX.log with
    /// the reasons
    #[arg(
        long,
        value_name = "PREFIX",
        default_value = "stemdb-import-rejected",
        requires = "inputs"
    )]
    pub(super) rejected: PathBuf,
}

impl Arguments {
    pub(crate) fn is_given(&self) -> bool {
        !self.inputs.is_empty()
    }

    pub(super) fn inputs(&self) -> &[PathBuf] {
        &self.inputs
    }

    /// How the lines of a file of this kind are written.
    pub(super) fn lines(&self, kind: Kind) -> Result<Format> {
        let is_csv = kind == Kind::Csv;
        let text = |given: &Option<String>, usual: &str| {
            given
                .as_deref()
                .map_or_else(|| usual.as_bytes().to_vec(), unescaped)
        };
        let character = |option: &str, given: &Option<String>, usual: &str| {
            let bytes = text(given, usual);
            match bytes.as_slice() {
                [] => Ok(None),
                [byte] => Ok(Some(*byte)),
                _ => Err(Error::Arguments(format!("--{option} takes one character"))),
            }
        };
        let format = Format {
            fields_terminated: text(&self.fields_terminated_by, if is_csv { "," } else { "\t" }),
            enclosed: character(
                "fields-enclosed-by",
                &self.fields_enclosed_by,
                if is_csv { "\"" } else { "" },
            )?,
            escaped: character(
                "fields-escaped-by",
                &self.fields_escaped_by,
                if is_csv { "" } else { "\\" },
            )?,
            lines_starting: text(&self.lines_starting_by, ""),
            lines_terminated: text(&self.lines_terminated_by, "\n"),
            charset: self.character_set.to_ascii_lowercase(),
        };
        format.check()?;
        Ok(format)
    }
}

/// The bytes that an option stands for.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next() {
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(other) => other,
                None => b'\\',
            },
            other => other,
        });
    }
    bytes
}
