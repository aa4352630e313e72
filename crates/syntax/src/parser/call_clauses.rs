//! Calls that have clauses among their arguments: JSON_VALUE, WEIGHT_STRING.

use types::Result;

use super::{Parser, calls, cast};
use crate::ast::{CastType, Expr, NumberText};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// What JSON_VALUE gives if there is no value, or none of the type.
struct OnCondition {
    keyword: &'static str,
    default: Expr,
}

impl OnCondition {
    const NULL: Self = Self {
        keyword: "null",
        default: Expr::Null,
    };
}

/// `JSON_VALUE(document, 'path' [RETURNING type] [on_empty] [on_error])`. The call has the type as that
/// of a NULL, then keyword and default of both conditions.
pub fn json_value(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let document = parser.expression()?;
    parser.expect_kind(Kind::Comma)?;
    let path = Expr::Text(parser.text_literal()?);
    let returning = match parser.eat(Kw::RETURNING) {
        true => Some(cast::cast_type(parser)?),
        false => None,
    };
    let mut conditions = [OnCondition::NULL, OnCondition::NULL];
    let mut next = 0;
    while parser.is_any(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
        let condition = on_condition(parser)?;
        let place = match parser.eat_any(&[Kw::EMPTY, Kw::ERROR]) {
            Some(Kw::EMPTY) => 0,
            Some(_) => 1,
            None => return parser.fail(),
        };
        match conditions.get_mut(place) {
            Some(of_place) if place >= next => *of_place = condition,
            _ => return parser.fail(),
        }
        next = place + 1;
    }
    let mut args = vec![document, path];
    if returning.is_some() || next > 0 {
        args.push(returning.map_or(Expr::Null, null_of_type));
        for OnCondition { keyword, default } in conditions {
            args.extend([Expr::Keyword(keyword.into()), default]);
        }
    }
    calls::close(
        parser,
        Expr::Function {
            name: "json_value".into(),
            args,
        },
    )
}

/// `NULL ON`, `ERROR ON`, `DEFAULT literal ON`
fn on_condition(parser: &mut Parser<'_>) -> Result<OnCondition> {
    let condition = match parser.eat_any(&[Kw::NULL, Kw::ERROR]) {
        Some(Kw::NULL) => OnCondition::NULL,
        Some(_) => OnCondition {
            keyword: "error",
            ..OnCondition::NULL
        },
        None => {
            parser.expect(Kw::DEFAULT)?;
            if parser.is(Kw::NULL) {
                return parser.fail();
            }
            OnCondition {
                keyword: "default",
                default: parser.arithmetic(0)?,
            }
        }
    };
    parser.expect(Kw::ON)?;
    Ok(condition)
}

/// `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n)])`
pub fn weight_string(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let mut args = vec![parser.expression()?];
    if parser.eat(Kw::AS) {
        let form = match parser.eat_any(&[Kw::CHAR, Kw::BINARY]) {
            Some(Kw::CHAR) => "char",
            Some(_) => "binary",
            None => return parser.fail(),
        };
        parser.expect_kind(Kind::LeftParen)?;
        let start = parser.start();
        let length = parser.unsigned_32()?;
        if length == 0 {
            return Err(parser.error_at(start));
        }
        parser.expect_kind(Kind::RightParen)?;
        let length = Expr::Number(NumberText::Integer(length.to_string()));
        args.extend([Expr::Keyword(form.into()), length]);
    }
    calls::close(
        parser,
        Expr::Function {
            name: "weight_string".into(),
            args,
        },
    )
}

/// NULL as a value of a type. Of JSON first, so that a CHAR without a length is as long as a document may be.
fn null_of_type(ty: CastType) -> Expr {
    let cast = |operand, ty| Expr::Cast {
        operand: Box::new(operand),
        ty,
    };
    cast(cast(Expr::Null, CastType::Json), ty)
}
