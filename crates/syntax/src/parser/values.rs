//! Rows of values, and assignments to columns.

use types::Result;

use super::{Parser, names};
use crate::ast::{Assignment, ColumnName, Expr};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

pub fn rows_of_values(parser: &mut Parser<'_>) -> Result<Vec<Vec<Option<Expr>>>> {
    let named = parser.eat(Kw::ROW);
    let mut rows = vec![row_of_values(parser, 0)?];
    while parser.eat_kind(Kind::Comma) {
        if parser.eat(Kw::ROW) != named {
            return parser.fail();
        }
        let width = rows.last().map_or(0, Vec::len);
        rows.push(row_of_values(parser, width)?);
    }
    Ok(rows)
}

/// `width`: the expected number of values, which is that of the previous row.
pub fn row_of_values(parser: &mut Parser<'_>, width: usize) -> Result<Vec<Option<Expr>>> {
    parser.expect_kind(Kind::LeftParen)?;
    let mut values = Vec::with_capacity(width);
    if parser.eat_kind(Kind::RightParen) {
        return Ok(values);
    }
    values.push(value_or_default(parser)?);
    while parser.eat_kind(Kind::Comma) {
        values.push(value_or_default(parser)?);
    }
    parser.expect_kind(Kind::RightParen)?;
    Ok(values)
}

/// An expression, or `None` for DEFAULT.
pub fn value_or_default(parser: &mut Parser<'_>) -> Result<Option<Expr>> {
    if parser.is(Kw::DEFAULT) && parser.peek().kind != Kind::LeftParen {
        parser.advance();
        return Ok(None);
    }
    parser.expression().map(Some)
}

pub fn assignment(parser: &mut Parser<'_>) -> Result<Assignment> {
    let column: ColumnName = names::column_name(parser)?;
    if !parser.eat_kind(Kind::Equal) && !parser.eat_kind(Kind::Assign) {
        return parser.fail();
    }
    let value = value_or_default(parser)?;
    Ok(Assignment { column, value })
}
