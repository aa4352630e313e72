//! INTERVAL and units of time.

use types::Result;

use super::Parser;
use super::calls::call;
use crate::ast::Expr;
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Units of time, and the names by which functions take them.
const UNITS: &[(Kw, &str)] = &[
    (Kw::MICROSECOND, "microsecond"),
    (Kw::SECOND, "second"),
    (Kw::MINUTE, "minute"),
    (Kw::HOUR, "hour"),
    (Kw::DAY, "day"),
    (Kw::WEEK, "week"),
    (Kw::MONTH, "month"),
    (Kw::QUARTER, "quarter"),
    (Kw::YEAR, "year"),
    (Kw::SECOND_MICROSECOND, "second_microsecond"),
    (Kw::MINUTE_MICROSECOND, "minute_microsecond"),
    (Kw::MINUTE_SECOND, "minute_second"),
    (Kw::HOUR_MICROSECOND, "hour_microsecond"),
    (Kw::HOUR_SECOND, "hour_second"),
    (Kw::HOUR_MINUTE, "hour_minute"),
    (Kw::DAY_MICROSECOND, "day_microsecond"),
    (Kw::DAY_SECOND, "day_second"),
    (Kw::DAY_MINUTE, "day_minute"),
    (Kw::DAY_HOUR, "day_hour"),
    (Kw::YEAR_MONTH, "year_month"),
    (Kw::SQL_TSI_SECOND, "second"),
    (Kw::SQL_TSI_MINUTE, "minute"),
    (Kw::SQL_TSI_HOUR, "hour"),
    (Kw::SQL_TSI_DAY, "day"),
    (Kw::SQL_TSI_WEEK, "week"),
    (Kw::SQL_TSI_MONTH, "month"),
    (Kw::SQL_TSI_QUARTER, "quarter"),
    (Kw::SQL_TSI_YEAR, "year"),
];

/// What the word INTERVAL begins.
pub enum Interval {
    /// `INTERVAL amount unit`: the amount, and the unit as a string literal.
    Span(Expr, Expr),
    /// The function `INTERVAL(n, a, b ...)`.
    Call(Expr),
}

/// Reads what INTERVAL begins. If a parenthesis follows, its contents are read before it is known what they
/// are: the function takes at least two arguments, and an amount cannot be a row. To look ahead for the comma
/// instead would read nested intervals again at each level.
pub fn interval(parser: &mut Parser<'_>) -> Result<Interval> {
    parser.expect(Kw::INTERVAL)?;
    if parser.kind() == Kind::LeftParen {
        let (contents, is_list) = parser.in_parentheses()?;
        match contents {
            Expr::Row(args) if is_list => return Ok(Interval::Call(call("interval", args))),
            first => parser.set_operand(first),
        }
    }
    let amount = parser.expression()?;
    Ok(Interval::Span(amount, unit(parser)?))
}

/// The amount and the unit of an interval where an expression may stand instead. `None`: the expression that is
/// read next is something else, which may begin with the function INTERVAL.
pub fn interval_before_expression(parser: &mut Parser<'_>) -> Result<Option<(Expr, Expr)>> {
    if !parser.is(Kw::INTERVAL) {
        return Ok(None);
    }
    Ok(match interval(parser)? {
        Interval::Span(amount, unit) => Some((amount, unit)),
        Interval::Call(call) => {
            parser.set_operand(call);
            None
        }
    })
}

/// A unit of time, as a string literal in lower case.
pub fn unit(parser: &mut Parser<'_>) -> Result<Expr> {
    let Some((_, unit)) = UNITS.iter().find(|(word, _)| parser.is(*word)) else {
        return parser.fail();
    };
    parser.advance();
    Ok(Expr::Keyword((*unit).to_owned()))
}
