//! The operands of operators: literals, names, parameters, variables, parentheses, unary operators. Calls and
//! special forms are in [`super::function`].

use types::Result;

use super::literal::{bit_bytes, hex_bytes};
use super::{Parser, clauses, deprecated, function, names, text};
use crate::ast::{Expr, NumberText, QueryBody, TemporalKind, UnaryOp};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// A literal directly followed by a comma or a closing parenthesis, like most values of large INSERTs. It is
/// taken without looking for an operator at each level of precedence.
pub fn lone_literal(parser: &mut Parser<'_>) -> Result<Option<Expr>> {
    if !parser.is_before_delimiter() || parser.is_deepest() {
        return Ok(None);
    }
    match parser.kind() {
        Kind::Integer | Kind::Decimal | Kind::Float | Kind::Text => parser.primary().map(Some),
        Kind::Word if parser.is(Kw::NULL) => {
            parser.advance();
            Ok(Some(Expr::Null))
        }
        _ => Ok(None),
    }
}

/// An operand, with its unary operators and COLLATE.
pub fn simple(parser: &mut Parser<'_>) -> Result<Expr> {
    if let Some(operand) = parser.operand_before() {
        return collated(parser, operand);
    }
    let operator = match parser.kind() {
        Kind::Minus => Some(UnaryOp::Minus),
        Kind::Tilde => Some(UnaryOp::BitNot),
        Kind::Bang => Some(UnaryOp::Not),
        Kind::Plus => {
            parser.advance();
            return parser.nested(simple);
        }
        Kind::Word if parser.is(Kw::NOT) && parser.mode.high_not_precedence => Some(UnaryOp::Not),
        Kind::Word if parser.is(Kw::BINARY) => {
            parser.advance();
            let operand = parser.nested(simple)?;
            parser.grow()?;
            return Ok(Expr::Binarize(Box::new(operand)));
        }
        _ => None,
    };
    if let Some(operator) = operator {
        if parser.kind() == Kind::Bang {
            deprecated::replaced(parser, "!", "NOT");
        }
        parser.advance();
        let operand = parser.nested(simple)?;
        return parser.unary(operator, operand);
    }
    let operand = parser.primary()?;
    collated(parser, operand)
}

fn collated(parser: &mut Parser<'_>, mut operand: Expr) -> Result<Expr> {
    while parser.eat(Kw::COLLATE) {
        let collation = if parser.eat(Kw::BINARY) {
            "binary".into()
        } else {
            parser.name_or_text()?
        };
        parser.grow()?;
        operand = Expr::Collate {
            operand: Box::new(operand),
            collation,
        };
    }
    Ok(operand)
}

pub fn primary(parser: &mut Parser<'_>) -> Result<Expr> {
    match parser.kind() {
        Kind::Integer => Ok(Expr::Number(NumberText::Integer(take_word(parser)))),
        Kind::Decimal => Ok(Expr::Number(NumberText::Decimal(take_word(parser)))),
        Kind::Float => Ok(Expr::Number(NumberText::Float(take_word(parser)))),
        Kind::Text | Kind::NationalText => text::text_literals(parser),
        Kind::Hex => {
            let bytes = hex_bytes(parser.word());
            parser.advance();
            Ok(Expr::Bytes(bytes))
        }
        Kind::Bits => {
            let bytes = bit_bytes(parser.word());
            parser.advance();
            Ok(Expr::Bytes(bytes))
        }
        Kind::Parameter => Ok(Expr::Parameter(parser.parameter()?)),
        Kind::At => user_variable(parser),
        Kind::AtAt => system_variable(parser),
        Kind::LeftParen => parenthesised(parser),
        Kind::LeftBrace => odbc_escape(parser),
        Kind::QuotedWord => names::column(parser),
        Kind::Word => function::word_operand(parser),
        _ => parser.fail(),
    }
}

fn take_word(parser: &mut Parser<'_>) -> String {
    let word = parser.word().to_string();
    parser.advance();
    word
}

fn user_variable(parser: &mut Parser<'_>) -> Result<Expr> {
    let spelling = names::user_variable_spelling(parser)?;
    let name = spelling.to_lowercase();
    if parser.kind() != Kind::Assign {
        return Ok(Expr::UserVariable(name));
    }
    names::check_assigned_variable(&spelling)?;
    parser.advance();
    parser.assigns = true;
    let value = parser.nested(Parser::expression)?;
    parser.grow()?;
    Ok(Expr::Assign {
        name,
        value: Box::new(value),
    })
}

fn system_variable(parser: &mut Parser<'_>) -> Result<Expr> {
    let (scope, name) = names::system_variable_name(parser)?;
    let counts = ["warning_count", "error_count"];
    parser.reads_diagnostics |= counts.iter().any(|count| name.eq_ignore_ascii_case(count));
    parser.read_variables.push((scope, name.clone()));
    Ok(Expr::SystemVariable { scope, name })
}

fn parenthesised(parser: &mut Parser<'_>) -> Result<Expr> {
    Ok(in_parentheses(parser)?.0)
}

/// Counts adjacent opening parentheses, reads the contents of the innermost, and then closes one after the
/// other. Returns also whether the outermost has a list in it.
pub fn in_parentheses(parser: &mut Parser<'_>) -> Result<(Expr, bool)> {
    let open = parser.open_parentheses()?;
    let outside = std::mem::take(&mut parser.height);
    let mut inner = if clauses::at_query(parser) {
        let query = Box::new(parser.nested(Parser::query)?);
        parser.grow()?;
        Expr::Subquery(query)
    } else {
        parser.expression()?
    };
    let mut is_list;
    (inner, is_list) = closed(parser, inner)?;
    for _ in 1..open {
        if parser.kind() != Kind::RightParen {
            inner = match inner {
                // `((SELECT 1) UNION (SELECT 2))`
                Expr::Subquery(query) if is_within_query(parser) => {
                    parser.grow()?;
                    Expr::Subquery(Box::new(parser.query_behind(QueryBody::Nested(query))?))
                }
                inner => {
                    parser.set_operand(inner);
                    parser.expression()?
                }
            };
        }
        (inner, is_list) = closed(parser, inner)?;
    }
    parser.height = outside.max(parser.height);
    Ok((inner, is_list))
}

/// Whether a query in parentheses, which ends before the cursor, is an operand of another.
fn is_within_query(parser: &Parser<'_>) -> bool {
    parser.is_any(&[Kw::UNION, Kw::EXCEPT, Kw::INTERSECT, Kw::ORDER, Kw::LIMIT])
}

/// The contents of parentheses whose first expression has been read: this expression, or a row that begins
/// with it, and whether it is a row.
fn closed(parser: &mut Parser<'_>, first: Expr) -> Result<(Expr, bool)> {
    if parser.kind() != Kind::Comma {
        parser.expect_kind(Kind::RightParen)?;
        return Ok((first, false));
    }
    let mut list = vec![first];
    while parser.eat_kind(Kind::Comma) {
        list.push(parser.expression()?);
    }
    parser.expect_kind(Kind::RightParen)?;
    parser.grow()?;
    Ok((Expr::Row(list), true))
}

/// `{d '2024-01-01'}`, ODBC's way to write temporal literals; any other word is ignored.
fn odbc_escape(parser: &mut Parser<'_>) -> Result<Expr> {
    parser.advance();
    let word = parser.name()?;
    let expr = parser.expression()?;
    parser.expect_kind(Kind::RightBrace)?;
    let kind = match word.to_ascii_lowercase().as_str() {
        "d" => TemporalKind::Date,
        "t" => TemporalKind::Time,
        "ts" => TemporalKind::Timestamp,
        _ => return Ok(expr),
    };
    Ok(match expr {
        Expr::Text(text) => Expr::Temporal {
            kind,
            text,
            is_odbc: true,
        },
        other => other,
    })
}
