//! Clauses that queries share with other statements: ORDER BY, LIMIT, lists of columns. Also whether a query
//! begins or continues here.

use types::{Error, Result};

use super::Parser;
use crate::ast::{Expr, Limit, NumberText, OrderItem};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Whether a query in parentheses continues with one of the words that make it an operand of another query.
/// None of them can be an alias.
pub fn is_behind_query_term(parser: &Parser<'_>) -> bool {
    parser.kind() == Kind::RightParen
        || parser.is_any(&[
            Kw::UNION,
            Kw::EXCEPT,
            Kw::INTERSECT,
            Kw::ORDER,
            Kw::LIMIT,
            Kw::FOR,
            Kw::LOCK,
            Kw::INTO,
        ])
}

/// Whether a query without parentheses of its own starts here.
pub fn at_query(parser: &Parser<'_>) -> bool {
    parser.is_any(&[Kw::SELECT, Kw::WITH, Kw::VALUES, Kw::TABLE])
        && !(parser.is(Kw::VALUES) && parser.peek().kind == Kind::LeftParen)
}

/// An optional `(column, ...)`.
pub fn column_list(parser: &mut Parser<'_>) -> Result<Vec<String>> {
    if !parser.eat_kind(Kind::LeftParen) {
        return Ok(Vec::new());
    }
    let columns = parser.comma_separated(Parser::any_name)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(columns)
}

pub fn order_by(parser: &mut Parser<'_>) -> Result<Vec<OrderItem>> {
    if !parser.eat(Kw::ORDER) {
        return Ok(Vec::new());
    }
    parser.expect(Kw::BY)?;
    parser.comma_separated(|parser| {
        let expr = parser.expression()?;
        let descending = parser.eat_any(&[Kw::ASC, Kw::DESC]) == Some(Kw::DESC);
        Ok(OrderItem { expr, descending })
    })
}

/// `LIMIT n`, `LIMIT offset, n`, `LIMIT n OFFSET offset`.
pub fn limit(parser: &mut Parser<'_>) -> Result<Option<Limit>> {
    if !parser.eat(Kw::LIMIT) {
        return Ok(None);
    }
    let first = limit_number(parser)?;
    if parser.eat_kind(Kind::Comma) {
        let count = limit_number(parser)?;
        return Ok(Some(Limit {
            offset: Some(first),
            count,
        }));
    }
    let offset = if parser.eat(Kw::OFFSET) {
        Some(limit_number(parser)?)
    } else {
        None
    };
    Ok(Some(Limit { offset, count: first }))
}

/// `LIMIT n` of UPDATE and DELETE.
pub fn row_limit(parser: &mut Parser<'_>) -> Result<Option<Limit>> {
    if !parser.eat(Kw::LIMIT) {
        return Ok(None);
    }
    let count = limit_number(parser)?;
    Ok(Some(Limit { offset: None, count }))
}

pub fn limit_number(parser: &mut Parser<'_>) -> Result<Expr> {
    match parser.kind() {
        Kind::Parameter => {
            let parameter = parser.parameter()?;
            parser.row_counts.push(parameter);
            Ok(Expr::Parameter(parameter))
        }
        Kind::Integer if parser.word().parse::<u64>().is_ok() => {
            let text = parser.word().to_string();
            parser.advance();
            Ok(Expr::Number(NumberText::Integer(text)))
        }
        Kind::At => Err(Error::not_supported("variables in LIMIT", "use a parameter")),
        _ => parser.fail(),
    }
}
