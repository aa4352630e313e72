//! Calls that have clauses among their arguments: JSON_VALUE, WEIGHT_STRING.

use types::Result;

use super::Parser;
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

impl Parser<'_> {
    /// `JSON_VALUE(document, 'path' [RETURNING type] [on_empty] [on_error])`. The call has the type as that
    /// of a NULL, then keyword and default of both conditions.
    pub fn json_value(&mut self) -> Result<Expr> {
        self.open()?;
        let document = self.expression()?;
        self.expect_kind(Kind::Comma)?;
        let path = Expr::Text(self.text_literal()?);
        let returning = match self.eat(Kw::RETURNING) {
            true => Some(self.cast_type()?),
            false => None,
        };
        let mut conditions = [OnCondition::NULL, OnCondition::NULL];
        let mut next = 0;
        while self.is_any(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
            let condition = self.on_condition()?;
            let place = match self.eat_any(&[Kw::EMPTY, Kw::ERROR]) {
                Some(Kw::EMPTY) => 0,
                Some(_) => 1,
                None => return self.fail(),
            };
            match conditions.get_mut(place) {
                Some(of_place) if place >= next => *of_place = condition,
                _ => return self.fail(),
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
        self.close(Expr::Function {
            name: "json_value".into(),
            args,
        })
    }

    /// `NULL ON`, `ERROR ON`, `DEFAULT literal ON`
    fn on_condition(&mut self) -> Result<OnCondition> {
        let condition = match self.eat_any(&[Kw::NULL, Kw::ERROR]) {
            Some(Kw::NULL) => OnCondition::NULL,
            Some(_) => OnCondition {
                keyword: "error",
                ..OnCondition::NULL
            },
            None => {
                self.expect(Kw::DEFAULT)?;
                if self.is(Kw::NULL) {
                    return self.fail();
                }
                OnCondition {
                    keyword: "default",
                    default: self.arithmetic(0)?,
                }
            }
        };
        self.expect(Kw::ON)?;
        Ok(condition)
    }

    /// `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n)])`
    pub fn weight_string(&mut self) -> Result<Expr> {
        self.open()?;
        let mut args = vec![self.expression()?];
        if self.eat(Kw::AS) {
            let form = match self.eat_any(&[Kw::CHAR, Kw::BINARY]) {
                Some(Kw::CHAR) => "char",
                Some(_) => "binary",
                None => return self.fail(),
            };
            self.expect_kind(Kind::LeftParen)?;
            let start = self.start();
            let length = self.unsigned_32()?;
            if length == 0 {
                return Err(self.error_at(start));
            }
            self.expect_kind(Kind::RightParen)?;
            let length = Expr::Number(NumberText::Integer(length.to_string()));
            args.extend([Expr::Keyword(form.into()), length]);
        }
        self.close(Expr::Function {
            name: "weight_string".into(),
            args,
        })
    }
}

/// NULL as a value of a type. Of JSON first, so that a CHAR without a length is as long as a document may be.
fn null_of_type(ty: CastType) -> Expr {
    let cast = |operand, ty| Expr::Cast {
        operand: Box::new(operand),
        ty,
    };
    cast(cast(Expr::Null, CastType::Json), ty)
}
