//! The rows of a file: LOAD DATA. The format is that of SELECT ... INTO OUTFILE as well.
//!
//! Source: manual 13.2.9, "LOAD DATA Statement".

use types::Charset;

use super::{AssignedSubqueries, Assignment};

/// How a file is cut into lines and these into fields. What is empty or `None` does not occur in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFormat {
    pub fields_terminated: Vec<u8>,
    pub enclosed: Option<u8>,
    /// Only texts are enclosed. Readers need not know it.
    pub optionally_enclosed: bool,
    pub escaped: Option<u8>,
    pub lines_starting: Vec<u8>,
    pub lines_terminated: Vec<u8>,
}

impl FileFormat {
    /// Fields have the widths of their columns, and nothing lies between them.
    pub fn has_fixed_rows(&self) -> bool {
        self.fields_terminated.is_empty() && self.enclosed.is_none()
    }
}

/// What an INSERT makes of a file.
#[derive(Debug, Clone)]
pub struct FileRows {
    pub format: FileFormat,
    /// Of the file.
    pub charset: Charset,
    pub fields: Vec<FieldTarget>,
    /// SET. Values see the columns of the row by offset, as far as they are assigned, and after them the columns of
    /// the subqueries.
    pub assignments: Vec<Assignment>,
    pub subqueries: Vec<AssignedSubqueries>,
}

/// Where a field goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldTarget {
    /// By offset.
    Column(usize),
    /// A user variable, in lower case.
    Variable(String),
    /// To a generated column, which computes its own value.
    Nowhere,
}
