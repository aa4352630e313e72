//! The parentheses of calls.

use types::Result;

use super::Parser;
use crate::ast::Expr;
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Names that are functions only if the parenthesis follows directly, unless sql_mode has IGNORE_SPACE.
/// Source: manual 9.2.5 "Function Name Parsing and Resolution".
const GLUED: &[Kw] = &[
    Kw::ADDDATE,
    Kw::BIT_AND,
    Kw::BIT_OR,
    Kw::BIT_XOR,
    Kw::CAST,
    Kw::COUNT,
    Kw::CURDATE,
    Kw::CURTIME,
    Kw::DATE_ADD,
    Kw::DATE_SUB,
    Kw::EXTRACT,
    Kw::GROUP_CONCAT,
    Kw::JSON_ARRAYAGG,
    Kw::JSON_OBJECTAGG,
    Kw::MAX,
    Kw::MID,
    Kw::MIN,
    Kw::NOW,
    Kw::POSITION,
    Kw::SESSION_USER,
    Kw::STD,
    Kw::STDDEV,
    Kw::STDDEV_POP,
    Kw::STDDEV_SAMP,
    Kw::SUBDATE,
    Kw::SUBSTR,
    Kw::SUBSTRING,
    Kw::SUM,
    Kw::SYSDATE,
    Kw::SYSTEM_USER,
    Kw::TRIM,
    Kw::VARIANCE,
    Kw::VAR_POP,
    Kw::VAR_SAMP,
];

/// A call as an expression.
pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function {
        name: name.into(),
        args,
    }
}

/// Whether the parenthesis is directly after the function's name, where that is required.
pub fn is_glued(parser: &Parser<'_>) -> bool {
    parser.mode.ignore_space
        || !parser.is_any(GLUED)
        || parser.peek().start == parser.start() + parser.word().len()
}

/// Those of them that MySQL takes for names all the same.
const NAMES: &[Kw] = &[Kw::ADDDATE, Kw::SESSION_USER, Kw::SUBDATE, Kw::SYSTEM_USER];

/// Whether the word is one of these functions with its parenthesis: then it is a keyword, and no name.
pub fn is_called(parser: &Parser<'_>) -> bool {
    parser.is_any(GLUED) && !parser.is_any(NAMES) && parser.peek().kind == Kind::LeftParen && is_glued(parser)
}

/// Takes the name and the parenthesis, which must follow directly where that is required.
pub fn open(parser: &mut Parser<'_>) -> Result<()> {
    let is_glued = is_glued(parser);
    parser.advance();
    if !is_glued {
        return parser.fail();
    }
    parser.expect_kind(Kind::LeftParen)
}

pub fn close(parser: &mut Parser<'_>, expr: Expr) -> Result<Expr> {
    parser.expect_kind(Kind::RightParen)?;
    parser.grow()?;
    Ok(expr)
}
