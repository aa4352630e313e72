//! The output text, and its smallest parts: names, literals, lists.

use super::style::Style;
use crate::ast::{ColumnName, Expr, ObjectName, OrderItem};

pub struct Printer<'a> {
    pub style: Style<'a>,
    pub text: String,
    /// Whether select items without an alias are printed with their names. In a subquery that is an operand
    /// they are not, because nothing refers to them.
    pub names_items: bool,
    /// The next expression is a part of WHERE, HAVING or ON that AND and OR make of such parts: it holds or does not, and
    /// NULL is as false.
    pub is_filter: bool,
}

impl<'a> Printer<'a> {
    pub fn new(style: Style<'a>) -> Self {
        Self {
            style,
            text: String::new(),
            names_items: true,
            is_filter: false,
        }
    }

    pub fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A name in backticks.
    pub fn name(&mut self, name: &str) {
        self.text.push('`');
        for c in name.chars() {
            if c == '`' {
                self.text.push('`');
            }
            self.text.push(c);
        }
        self.text.push('`');
    }

    pub fn column(&mut self, name: &ColumnName) {
        for part in [&name.database, &name.table].into_iter().flatten() {
            self.name(part);
            self.text.push('.');
        }
        self.name(&name.column);
    }

    pub fn object(&mut self, name: &ObjectName) {
        if let Some(database) = &name.database {
            self.name(database);
            self.text.push('.');
        }
        self.name(&name.name);
    }

    pub fn names(&mut self, names: &[String]) {
        self.separated(names, ",", |printer, name| printer.name(name));
    }

    /// A string literal without introducer. Source: manual 9.1.1, table 9.1; MySQL escapes these six only.
    pub fn quoted(&mut self, text: &str) {
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
    pub fn bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return self.put("x''");
        }
        self.put("0x");
        for byte in bytes {
            self.text.push_str(&format!("{byte:02x}"));
        }
    }

    pub fn separated<T>(&mut self, items: &[T], separator: &str, mut print: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.put(separator);
            }
            print(self, item);
        }
    }

    pub fn exprs(&mut self, list: &[Expr]) {
        self.separated(list, ",", Self::expr);
    }

    pub fn call(&mut self, name: &str, args: &[&Expr]) {
        self.put(name);
        self.put("(");
        self.separated(args, ",", |printer, arg| printer.expr(arg));
        self.put(")");
    }

    pub fn order_items(&mut self, items: &[OrderItem]) {
        self.separated(items, ",", |printer, item| {
            printer.expr(&item.expr);
            if item.descending {
                printer.put(" desc");
            }
        });
    }

    /// `(not(...))`
    pub fn not(&mut self, print: impl FnOnce(&mut Self)) {
        self.put("(not(");
        print(self);
        self.put("))");
    }
}
