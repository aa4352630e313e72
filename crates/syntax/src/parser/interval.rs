//! INTERVAL and units of time.

use types::Result;

use super::Parser;
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

/// Whether an interval begins here, and not the function INTERVAL.
pub fn at_interval(parser: &Parser<'_>) -> bool {
    parser.is(Kw::INTERVAL) && !at_interval_function(parser)
}

/// Whether the function begins here: `INTERVAL (a, b ...`. It takes at least two arguments, and an amount
/// cannot be a row.
pub fn at_interval_function(parser: &Parser<'_>) -> bool {
    if parser.peek().kind != Kind::LeftParen {
        return false;
    }
    let mut ahead = parser.fork();
    ahead.advance();
    let mut depth = 0_u32;
    loop {
        match ahead.kind() {
            Kind::LeftParen => depth += 1,
            Kind::RightParen if depth <= 1 => return false,
            Kind::RightParen => depth -= 1,
            Kind::Comma if depth == 1 => return true,
            Kind::End | Kind::Semicolon => return false,
            _ => {}
        }
        ahead.advance();
    }
}

/// `INTERVAL amount unit`: the amount, and the unit as a string literal.
pub fn interval(parser: &mut Parser<'_>) -> Result<(Expr, Expr)> {
    parser.expect(Kw::INTERVAL)?;
    let amount = parser.expression()?;
    Ok((amount, unit(parser)?))
}

/// A unit of time, as a string literal in lower case.
pub fn unit(parser: &mut Parser<'_>) -> Result<Expr> {
    let Some((_, unit)) = UNITS.iter().find(|(word, _)| parser.is(*word)) else {
        return parser.fail();
    };
    parser.advance();
    Ok(Expr::Keyword((*unit).to_owned()))
}
