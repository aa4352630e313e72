//! LOAD DATA as written, and the format of files that it shares with SELECT ... INTO OUTFILE.

use super::{Assignment, ColumnName, ObjectName};

/// `LOAD DATA [LOCAL] INFILE`.
#[derive(Debug, Clone)]
pub struct LoadData {
    /// The client sends the file.
    pub local: bool,
    pub file: String,
    pub duplicates: LoadDuplicates,
    pub table: ObjectName,
    /// `PARTITION (name, ...)`. Empty: all partitions.
    pub partitions: Vec<String>,
    /// `None`: that of the default database.
    pub charset: Option<String>,
    pub format: FileFormat,
    pub ignored_lines: u64,
    /// Where the fields of a line go, in order. Empty: to all columns.
    pub fields: Vec<LoadField>,
    pub assignments: Vec<Assignment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadDuplicates {
    /// The row is an error. With LOCAL, it is left out.
    Unspecified,
    Ignore,
    Replace,
}

/// Where a field of the file goes.
#[derive(Debug, Clone)]
pub enum LoadField {
    Column(ColumnName),
    /// A user variable.
    Variable(String),
}

/// FIELDS and LINES. `None`: the clause is not given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileFormat {
    pub fields_terminated: Option<Vec<u8>>,
    pub fields_enclosed: Option<Vec<u8>>,
    pub optionally_enclosed: bool,
    pub fields_escaped: Option<Vec<u8>>,
    pub lines_starting: Option<Vec<u8>>,
    pub lines_terminated: Option<Vec<u8>>,
}

/// `INTO OUTFILE` and `INTO DUMPFILE`.
#[derive(Debug, Clone, PartialEq)]
pub struct IntoFile {
    pub file: String,
    /// `None`: DUMPFILE, the values of one row and nothing else.
    pub format: Option<FileFormat>,
    /// `None`: each value keeps its own.
    pub charset: Option<String>,
}
