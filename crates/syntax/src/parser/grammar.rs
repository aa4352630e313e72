//! The recursive part of the grammar: an expression may contain a query, and a query contains expressions.
//! Both are parsed through methods of the parser, so that their files do not import each other.

use types::Result;

use super::{Parser, expr, primary, query, statement};
use crate::Parsed;
use crate::ast::{Expr, Query, QueryBody};

impl Parser<'_> {
    /// Reads one statement, up to its semicolon or the end. Fails with 1065 if the text is empty.
    pub fn parse_statement(&mut self) -> Result<Parsed> {
        statement::parse_statement(self)
    }

    pub fn expression(&mut self) -> Result<Expr> {
        expr::expression(self)
    }

    /// Operators that bind tighter than `level`, by precedence climbing.
    pub fn arithmetic(&mut self, level: u8) -> Result<Expr> {
        expr::arithmetic(self, level)
    }

    /// An operand without operators.
    pub fn primary(&mut self) -> Result<Expr> {
        primary::primary(self)
    }

    /// What is in parentheses, and whether it is a list.
    pub fn in_parentheses(&mut self) -> Result<(Expr, bool)> {
        primary::in_parentheses(self)
    }

    /// A query expression, in parentheses or not.
    pub fn query(&mut self) -> Result<Query> {
        query::query(self)
    }

    /// A query expression whose first operand has been read.
    pub fn query_behind(&mut self, first: QueryBody) -> Result<Query> {
        query::query_behind(self, first)
    }

    /// `(query)`. More parentheses around it have no effect.
    pub fn query_in_parentheses(&mut self) -> Result<Box<Query>> {
        query::query_in_parentheses(self)
    }
}
