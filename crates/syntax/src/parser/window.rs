//! Window functions and the clause WINDOW.

use types::{Error, Result, errno};

use super::{Parser, clauses, interval};
use crate::ast::{Expr, Frame, FrameBound, FrameOffset, FrameUnit, NamedWindow, Window, WindowSpec};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// An optional `WINDOW name AS (specification), ...`.
pub fn window_clause(parser: &mut Parser<'_>) -> Result<Vec<NamedWindow>> {
    if !parser.eat(Kw::WINDOW) {
        return Ok(Vec::new());
    }
    parser.comma_separated(|parser| {
        let name = parser.any_name()?;
        parser.expect(Kw::AS)?;
        let spec = window_spec(parser)?;
        Ok(NamedWindow { name, spec })
    })
}

/// A window function, from its name on: `LAG(a, 2) IGNORE NULLS OVER ...`.
pub fn window_function(parser: &mut Parser<'_>) -> Result<Expr> {
    let name = parser.word().to_ascii_lowercase();
    parser.advance();
    let args = window_arguments(parser, &name)?;
    if parser.eat_all(&[Kw::FROM, Kw::LAST]) {
        return Err(not_yet("FROM LAST"));
    }
    parser.eat_all(&[Kw::FROM, Kw::FIRST]);
    if parser.eat_all(&[Kw::IGNORE, Kw::NULLS]) {
        return Err(not_yet("IGNORE NULLS"));
    }
    parser.eat_all(&[Kw::RESPECT, Kw::NULLS]);
    if !parser.is(Kw::OVER) {
        return parser.fail();
    }
    over(parser, Expr::Function { name, args })
}

/// The arguments. The grammar fixes how many there are, and that a number of rows is a literal, a parameter
/// or a variable.
fn window_arguments(parser: &mut Parser<'_>, name: &str) -> Result<Vec<Expr>> {
    parser.expect_kind(Kind::LeftParen)?;
    let mut args = Vec::new();
    match name {
        "ntile" => args.push(row_count(parser)?),
        "lead" | "lag" => {
            args.push(parser.expression()?);
            if parser.eat_kind(Kind::Comma) {
                args.push(row_count(parser)?);
                if parser.eat_kind(Kind::Comma) {
                    args.push(parser.expression()?);
                }
            }
        }
        "first_value" | "last_value" => args.push(parser.expression()?),
        "nth_value" => {
            args.push(parser.expression()?);
            parser.expect_kind(Kind::Comma)?;
            args.push(parser.nested(|parser| parser.arithmetic(8))?);
        }
        _ => {}
    }
    parser.expect_kind(Kind::RightParen)?;
    Ok(args)
}

fn row_count(parser: &mut Parser<'_>) -> Result<Expr> {
    match parser.kind() {
        Kind::Integer | Kind::Parameter | Kind::At => parser.primary(),
        // In MySQL, a name here is a variable of a stored program.
        Kind::Word | Kind::QuotedWord if !parser.is_reserved() => {
            let name = parser.any_name()?;
            Err(Error::new(
                errno::ER_SP_UNDECLARED_VAR,
                format!("Undeclared variable: {name}"),
            ))
        }
        _ => parser.fail(),
    }
}

/// `OVER name` or `OVER (specification)`.
pub fn over(parser: &mut Parser<'_>, function: Expr) -> Result<Expr> {
    parser.expect(Kw::OVER)?;
    let window = if parser.kind() == Kind::LeftParen {
        Window::Spec(Box::new(window_spec(parser)?))
    } else {
        Window::Named(parser.any_name()?)
    };
    parser.grow()?;
    Ok(Expr::Over {
        function: Box::new(function),
        window,
    })
}

fn window_spec(parser: &mut Parser<'_>) -> Result<WindowSpec> {
    parser.expect_kind(Kind::LeftParen)?;
    let at_clause = parser.kind() == Kind::RightParen
        || parser.is_any(&[Kw::PARTITION, Kw::ORDER, Kw::ROWS, Kw::RANGE, Kw::GROUPS]);
    let base = if at_clause { None } else { Some(parser.any_name()?) };
    let partition_by = if parser.eat_all(&[Kw::PARTITION, Kw::BY]) {
        parser.comma_separated(Parser::expression)?
    } else {
        Vec::new()
    };
    let order_by = clauses::order_by(parser)?;
    let frame = frame(parser)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(WindowSpec {
        base,
        partition_by,
        order_by,
        frame,
    })
}

fn frame(parser: &mut Parser<'_>) -> Result<Option<Frame>> {
    let unit = match parser.eat_any(&[Kw::ROWS, Kw::RANGE, Kw::GROUPS]) {
        Some(Kw::ROWS) => FrameUnit::Rows,
        Some(Kw::RANGE) => FrameUnit::Range,
        Some(_) => FrameUnit::Groups,
        None => return Ok(None),
    };
    if !parser.eat(Kw::BETWEEN) {
        let start = frame_bound(parser)?;
        // Without an end, the frame ends at the current row and cannot start after it.
        if matches!(start, FrameBound::Following(_) | FrameBound::UnboundedFollowing) {
            return parser.fail();
        }
        refuse_exclusion(parser)?;
        return Ok(Some(Frame {
            unit,
            start,
            end: None,
        }));
    }
    let start = frame_bound(parser)?;
    parser.expect(Kw::AND)?;
    let end = Some(frame_bound(parser)?);
    refuse_exclusion(parser)?;
    Ok(Some(Frame { unit, start, end }))
}

fn refuse_exclusion(parser: &Parser<'_>) -> Result<()> {
    match parser.is(Kw::EXCLUDE) {
        true => Err(not_yet("EXCLUDE")),
        false => Ok(()),
    }
}

fn frame_bound(parser: &mut Parser<'_>) -> Result<FrameBound> {
    if parser.eat_all(&[Kw::CURRENT, Kw::ROW]) {
        return Ok(FrameBound::CurrentRow);
    }
    let offset = match parser.eat(Kw::UNBOUNDED) {
        true => None,
        false => Some(frame_offset(parser)?),
    };
    match (parser.eat_any(&[Kw::PRECEDING, Kw::FOLLOWING]), offset) {
        (Some(Kw::PRECEDING), None) => Ok(FrameBound::UnboundedPreceding),
        (Some(Kw::PRECEDING), Some(offset)) => Ok(FrameBound::Preceding(offset)),
        (Some(_), None) => Ok(FrameBound::UnboundedFollowing),
        (Some(_), Some(offset)) => Ok(FrameBound::Following(offset)),
        (None, _) => parser.fail(),
    }
}

fn frame_offset(parser: &mut Parser<'_>) -> Result<FrameOffset> {
    if let Some((amount, unit)) = interval::interval_before_expression(parser)? {
        return Ok(FrameOffset {
            amount,
            unit: Some(unit),
        });
    }
    let is_number = matches!(
        parser.kind(),
        Kind::Integer | Kind::Decimal | Kind::Float | Kind::Hex | Kind::Bits | Kind::Parameter
    );
    if !is_number {
        return parser.fail();
    }
    Ok(FrameOffset {
        amount: parser.primary()?,
        unit: None,
    })
}

/// The error for syntax that MySQL parses and does not support.
fn not_yet(what: &str) -> Error {
    Error::new(
        errno::ER_NOT_SUPPORTED_YET,
        format!("This version of MySQL doesn't yet support '{what}'"),
    )
}
