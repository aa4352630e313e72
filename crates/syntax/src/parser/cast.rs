//! CAST and CONVERT, and the types that they know.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{CastType, Expr};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

impl Parser<'_> {
    /// `CAST(x AS type)`
    pub fn cast(&mut self) -> Result<Expr> {
        self.open()?;
        let operand = self.expression()?;
        if self.is(Kw::AT) {
            return self.cast_at_time_zone(operand);
        }
        self.expect(Kw::AS)?;
        let ty = self.cast_type()?;
        self.close(Expr::Cast {
            operand: Box::new(operand),
            ty,
        })
    }

    /// `CAST(x AT TIME ZONE [INTERVAL] 'zone' AS DATETIME[(digits)])`, the cursor at AT.
    fn cast_at_time_zone(&mut self, operand: Expr) -> Result<Expr> {
        for word in [Kw::AT, Kw::TIME, Kw::ZONE] {
            self.expect(word)?;
        }
        self.eat(Kw::INTERVAL);
        let zone = Expr::Keyword(self.text_literal()?);
        self.expect(Kw::AS)?;
        self.expect(Kw::DATETIME)?;
        let ty = CastType::DateTime(self.fractional_digits()?);
        self.grow()?;
        let operand = Box::new(Expr::Function {
            name: "at time zone".into(),
            args: vec![operand, zone],
        });
        self.close(Expr::Cast { operand, ty })
    }

    /// `CONVERT(x, type)`, `CONVERT(x USING charset)`
    pub fn convert(&mut self) -> Result<Expr> {
        self.open()?;
        let operand = Box::new(self.expression()?);
        let expr = if self.eat(Kw::USING) {
            let charset = if self.eat(Kw::BINARY) {
                "binary".into()
            } else {
                self.name_or_text()?
            };
            Expr::ConvertUsing { operand, charset }
        } else {
            self.expect_kind(Kind::Comma)?;
            let ty = self.cast_type()?;
            Expr::Cast { operand, ty }
        };
        self.close(expr)
    }

    pub fn cast_type(&mut self) -> Result<CastType> {
        let (start, keyword) = (self.start(), self.keyword());
        self.advance();
        let ty = match keyword {
            Some(Kw::BINARY) => CastType::Binary(self.optional_length()?),
            Some(Kw::CHAR | Kw::CHARACTER) => {
                let length = self.optional_length()?;
                let (charset, binary) = self.cast_charset()?;
                CastType::Char {
                    length,
                    charset,
                    binary,
                }
            }
            Some(Kw::NCHAR) => CastType::NChar(self.optional_length()?),
            Some(Kw::NATIONAL) => {
                if self.eat_any(&[Kw::CHAR, Kw::CHARACTER]).is_none() {
                    return self.fail();
                }
                CastType::NChar(self.optional_length()?)
            }
            Some(Kw::SIGNED | Kw::UNSIGNED) => {
                self.eat_any(&[Kw::INTEGER, Kw::INT]);
                if keyword == Some(Kw::SIGNED) {
                    CastType::Signed
                } else {
                    CastType::Unsigned
                }
            }
            Some(Kw::DATE) => CastType::Date,
            Some(Kw::TIME) => CastType::Time(self.fractional_digits()?),
            Some(Kw::DATETIME) => CastType::DateTime(self.fractional_digits()?),
            Some(Kw::YEAR) => CastType::Year,
            Some(Kw::DECIMAL | Kw::DEC) => {
                let (precision, scale) = self.precision_and_scale()?;
                CastType::Decimal { precision, scale }
            }
            Some(Kw::FLOAT) => match self.optional_length()? {
                None | Some(0..=24) => CastType::Float,
                Some(25..=53) => CastType::Double,
                Some(_) => {
                    return Err(Error::new(
                        errno::ER_TOO_BIG_PRECISION,
                        "Too-big precision specified for 'CAST'. Maximum is 53.",
                    ));
                }
            },
            Some(Kw::DOUBLE) => {
                self.eat(Kw::PRECISION);
                CastType::Double
            }
            Some(Kw::REAL) if self.mode.real_as_float => CastType::Float,
            Some(Kw::REAL) => CastType::Double,
            Some(Kw::JSON) => CastType::Json,
            _ => return Err(self.error_at(start)),
        };
        Ok(match self.eat(Kw::ARRAY) {
            true => CastType::Array(Box::new(ty)),
            false => ty,
        })
    }

    fn optional_length(&mut self) -> Result<Option<u32>> {
        if !self.eat_kind(Kind::LeftParen) {
            return Ok(None);
        }
        let length = self.unsigned_32()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(Some(length))
    }

    fn fractional_digits(&mut self) -> Result<u8> {
        let digits = self.optional_length()?.unwrap_or(0);
        u8::try_from(digits).ok().filter(|&d| d <= 6).ok_or_else(|| {
            Error::new(
                errno::ER_TOO_BIG_PRECISION,
                format!("Too-big precision {digits} specified for 'CAST'. Maximum is 6."),
            )
        })
    }

    /// `(p[, s])` of DECIMAL. The default is (10, 0).
    fn precision_and_scale(&mut self) -> Result<(u32, u8)> {
        if !self.eat_kind(Kind::LeftParen) {
            return Ok((10, 0));
        }
        let precision = self.unsigned_32()?;
        let scale = if self.eat_kind(Kind::Comma) {
            self.unsigned_32()?
        } else {
            0
        };
        self.expect_kind(Kind::RightParen)?;
        // The checks themselves, and their messages, are the binder's.
        Ok((precision, u8::try_from(scale).unwrap_or(u8::MAX)))
    }

    fn cast_charset(&mut self) -> Result<(Option<String>, bool)> {
        let mut charset = None;
        let mut binary = false;
        loop {
            if self.eat(Kw::BINARY) {
                binary = true;
            } else if self.eat(Kw::CHARSET)
                || self.eat_all(&[Kw::CHARACTER, Kw::SET])
                || self.eat_all(&[Kw::CHAR, Kw::SET])
            {
                charset = Some(if self.eat(Kw::BINARY) {
                    "binary".into()
                } else {
                    self.name_or_text()?
                });
            } else if self.eat(Kw::ASCII) {
                // MySQL means latin1 (manual 10.3.5).
                charset = Some("latin1".into());
            } else {
                return Ok((charset, binary));
            }
        }
    }
}
