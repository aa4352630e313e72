//! From the AST back to text, in the form that MySQL gives to what it stores: views, defaults, generated
//! columns, CHECK constraints. Names are quoted, every operator is in parentheses, synonyms have one name, a
//! value in the place of a condition is compared with 0. Source: what SHOW CREATE VIEW and SHOW CREATE TABLE
//! of MySQL 8.0.33 print.
//!
//! The text is SQL with the meaning of the AST under the default sql_mode. It is not the text that was
//! parsed.

mod condition;
mod data_type;
mod expr;
mod function;
mod json_table;
mod query;
mod window;

use std::borrow::Cow;

use crate::ast::{ColumnName, Expr, Join, ObjectName, Query, Select, SelectItem};

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
}

impl Style<'_> {
    /// An expression as MySQL stores it.
    pub fn expression(&self, expr: &Expr) -> String {
        let mut printer = Printer::new(*self);
        printer.expr(expr);
        printer.text
    }

    /// A query as MySQL stores it.
    pub fn query(&self, query: &Query) -> String {
        let mut printer = Printer::new(*self);
        printer.query(query);
        printer.text
    }
}

struct Printer<'a> {
    style: Style<'a>,
    text: String,
    /// Whether select items without an alias are printed with their names: not in a query that is an operand,
    /// where nothing refers to them.
    names_items: bool,
}

impl<'a> Printer<'a> {
    fn new(style: Style<'a>) -> Self {
        Self {
            style,
            text: String::new(),
            names_items: true,
        }
    }

    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A name in backticks.
    fn name(&mut self, name: &str) {
        self.text.push('`');
        for c in name.chars() {
            if c == '`' {
                self.text.push('`');
            }
            self.text.push(c);
        }
        self.text.push('`');
    }

    fn column(&mut self, name: &ColumnName) {
        for part in [&name.database, &name.table].into_iter().flatten() {
            self.name(part);
            self.text.push('.');
        }
        self.name(&name.column);
    }

    fn object(&mut self, name: &ObjectName) {
        if let Some(database) = &name.database {
            self.name(database);
            self.text.push('.');
        }
        self.name(&name.name);
    }

    fn names(&mut self, names: &[String]) {
        self.separated(names, ",", |printer, name| printer.name(name));
    }

    /// A string literal without introducer. Source: manual 9.1.1, table 9.1; MySQL escapes these six only.
    fn quoted(&mut self, text: &str) {
        self.text.push('\'');
        for c in text.chars() {
            match c {
                '\0' => self.text.push_str("\\0"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\u{1a}' => self.text.push_str("\\Z"),
                '\\' => self.text.push_str("\\\\"),
                '\'' => self.text.push_str("\\'"),
                other => self.text.push(other),
            }
        }
        self.text.push('\'');
    }

    /// Bytes as `0x4142`; no bytes as `''`, since `0x` is none.
    fn bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return self.put("x''");
        }
        self.put("0x");
        for byte in bytes {
            self.text.push_str(&format!("{byte:02x}"));
        }
    }

    fn separated<T>(&mut self, items: &[T], separator: &str, mut print: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.put(separator);
            }
            print(self, item);
        }
    }

    fn exprs(&mut self, list: &[Expr]) {
        self.separated(list, ",", Self::expr);
    }
}

#[cfg(test)]
mod tests;
