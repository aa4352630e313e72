//! From the AST back to text, in the form that MySQL gives to what it stores: views, defaults, generated
//! columns, CHECK constraints. Names are quoted, every operator is in parentheses, synonyms are printed by
//! one name, and a value used as a condition is compared with 0. Source: what SHOW CREATE VIEW and SHOW
//! CREATE TABLE of MySQL 8.0.33 print.
//!
//! The text is SQL with the meaning of the AST under the default sql_mode. It is not the text that was
//! parsed.
//!
//! [`printer`] has names, literals and lists. Each other file has functions that print one part of the AST.
//! Expressions and queries contain each other: they are printed through the methods here, so that the files
//! do not import each other.

mod cast;
mod condition;
mod data_type;
mod expr;
mod function;
mod json_table;
mod operators;
mod position;
mod printer;
mod query;
mod style;
mod subquery_test;
mod window;

pub use style::{AsWritten, Names, Style};

use crate::ast::{Expr, Query};
use printer::Printer;

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

impl Printer<'_> {
    fn expr(&mut self, expr: &Expr) {
        expr::expr(self, expr);
    }

    /// A condition: an operand of AND, OR, XOR and IS TRUE, or a [filter](Self::filter).
    fn condition(&mut self, expr: &Expr) {
        condition::condition(self, expr);
    }

    /// The whole of WHERE, HAVING and ON.
    fn filter(&mut self, expr: &Expr) {
        self.is_filter = true;
        self.condition(expr);
    }

    fn query(&mut self, query: &Query) {
        query::query(self, query);
    }

    fn parenthesised(&mut self, query: &Query) {
        query::parenthesised(self, query);
    }
}

#[cfg(test)]
mod tests;
