//! How a text is printed.

use std::borrow::Cow;

use crate::ast::{ColumnName, Join, ObjectName, Select, SelectItem};

/// What the printer asks about names. The default prints names as they were written.
pub trait Names {
    /// A column with the qualifiers that are to be printed.
    fn column<'a>(&'a self, name: &'a ColumnName) -> Cow<'a, ColumnName> {
        Cow::Borrowed(name)
    }

    /// A table or view of FROM.
    fn table<'a>(&'a self, name: &'a ObjectName) -> Cow<'a, ObjectName> {
        Cow::Borrowed(name)
    }

    /// The columns that a `*` or `t.*` of a query block stands for, with their names in the result. `None`:
    /// the star itself is printed.
    fn star(&self, _select: &Select, _item: &SelectItem) -> Option<Vec<(ColumnName, String)>> {
        None
    }

    /// Whether positions in GROUP BY and ORDER BY are printed as what they mean.
    fn expands_positions(&self) -> bool {
        false
    }

    /// The pairs of columns that USING or NATURAL of a join compares. `None`: the clause itself is printed.
    fn joined(&self, _join: &Join) -> Option<Vec<(ColumnName, ColumnName)>> {
        None
    }
}

/// Names as they were written.
#[derive(Debug, Clone, Copy, Default)]
pub struct AsWritten;

impl Names for AsWritten {}

/// How a text is printed.
#[derive(Clone, Copy)]
pub struct Style<'a> {
    pub names: &'a dyn Names,
    /// The character set of the connection: that of CAST AS CHAR without one.
    pub charset: &'a str,
    /// String literals are printed as `_charset'text'`, so that the text can be read under another
    /// connection's character set.
    pub introducers: bool,
    /// `@@default_week_format`: the mode that WEEK() without one is printed with.
    pub week_format: u8,
}
