//! CAST and CONVERT, and their types.

use std::ops::Range;

use types::{Decimal, Error, Result, errno};

use super::data_type::field_length;
use super::{Parser, calls, deprecated};
use crate::ast::{CastType, Expr};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// The digits of a DECIMAL behind the point, and in all.
const SCALE_MAX: u8 = Decimal::MAX_SCALE;
const DIGITS_MAX: u32 = Decimal::MAX_DIGITS as u32;

/// `CAST(x AS type)`
pub fn cast(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let start = parser.start();
    let operand = parser.expression()?;
    let text = start..parser.previous_end();
    if parser.is(Kw::AT) {
        return cast_at_time_zone(parser, operand);
    }
    parser.expect(Kw::AS)?;
    let ty = cast_type_of(parser, text)?;
    calls::close(
        parser,
        Expr::Cast {
            operand: Box::new(operand),
            ty,
        },
    )
}

/// `CAST(x AT TIME ZONE [INTERVAL] 'zone' AS DATETIME[(digits)])`, the cursor at AT.
fn cast_at_time_zone(parser: &mut Parser<'_>, operand: Expr) -> Result<Expr> {
    for word in [Kw::AT, Kw::TIME, Kw::ZONE] {
        parser.expect(word)?;
    }
    parser.eat(Kw::INTERVAL);
    let zone = Expr::Keyword(parser.text_literal()?);
    parser.expect(Kw::AS)?;
    parser.expect(Kw::DATETIME)?;
    let ty = CastType::DateTime(fractional_digits(parser)?);
    parser.grow()?;
    let operand = Box::new(Expr::Function {
        name: "at time zone".into(),
        args: vec![operand, zone],
    });
    calls::close(parser, Expr::Cast { operand, ty })
}

/// `CONVERT(x, type)`, `CONVERT(x USING charset)`
pub fn convert(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let start = parser.start();
    let operand = Box::new(parser.expression()?);
    let text = start..parser.previous_end();
    let expr = if parser.eat(Kw::USING) {
        let charset = if parser.eat(Kw::BINARY) {
            "binary".into()
        } else {
            parser.name_or_text()?
        };
        Expr::ConvertUsing { operand, charset }
    } else {
        parser.expect_kind(Kind::Comma)?;
        let ty = cast_type_of(parser, text)?;
        Expr::Cast { operand, ty }
    };
    calls::close(parser, expr)
}

/// The type that the expression at `text` is converted to. Errors about the digits of a DECIMAL name the expression.
fn cast_type_of(parser: &mut Parser<'_>, text: Range<usize>) -> Result<CastType> {
    let ty = cast_type(parser)?;
    let name = || parser.source(text.start, text.end);
    match ty {
        CastType::Decimal { precision, scale } if u32::from(scale) > precision => Err(Error::new(
            errno::ER_M_BIGGER_THAN_D,
            "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '').",
        )),
        CastType::Decimal { precision, .. } if precision > DIGITS_MAX => Err(Error::new(
            errno::ER_TOO_BIG_PRECISION,
            format!(
                "Too-big precision {precision} specified for '{}'. Maximum is {DIGITS_MAX}.",
                name()
            ),
        )),
        CastType::Decimal { scale, .. } if scale > SCALE_MAX => Err(Error::new(
            errno::ER_TOO_BIG_SCALE,
            format!(
                "Too big scale {scale} specified for column '{}'. Maximum is {SCALE_MAX}.",
                name()
            ),
        )),
        ty => Ok(ty),
    }
}

pub fn cast_type(parser: &mut Parser<'_>) -> Result<CastType> {
    let (start, keyword) = (parser.start(), parser.keyword());
    parser.advance();
    let ty = match keyword {
        Some(Kw::BINARY) => CastType::Binary(text_length(parser)?),
        Some(Kw::CHAR | Kw::CHARACTER) => {
            let length = text_length(parser)?;
            let (charset, binary) = cast_charset(parser)?;
            CastType::Char {
                length,
                charset,
                binary,
            }
        }
        Some(Kw::NCHAR) => CastType::NChar(text_length(parser)?),
        Some(Kw::NATIONAL) => {
            if parser.eat_any(&[Kw::CHAR, Kw::CHARACTER]).is_none() {
                return parser.fail();
            }
            CastType::NChar(text_length(parser)?)
        }
        Some(Kw::SIGNED | Kw::UNSIGNED) => {
            parser.eat_any(&[Kw::INTEGER, Kw::INT]);
            if keyword == Some(Kw::SIGNED) {
                CastType::Signed
            } else {
                CastType::Unsigned
            }
        }
        Some(Kw::DATE) => CastType::Date,
        Some(Kw::TIME) => CastType::Time(fractional_digits(parser)?),
        Some(Kw::DATETIME) => CastType::DateTime(fractional_digits(parser)?),
        Some(Kw::YEAR) => CastType::Year,
        Some(Kw::DECIMAL | Kw::DEC) => {
            let (precision, scale) = precision_and_scale(parser)?;
            CastType::Decimal { precision, scale }
        }
        Some(Kw::FLOAT) => match optional_length(parser)? {
            None | Some(0..=24) => CastType::Float,
            Some(25..=53) => CastType::Double,
            Some(digits) => {
                return Err(Error::new(
                    errno::ER_TOO_BIG_PRECISION,
                    format!("Too-big precision {digits} specified for 'CAST'. Maximum is 53."),
                ));
            }
        },
        Some(Kw::DOUBLE) => {
            parser.eat(Kw::PRECISION);
            CastType::Double
        }
        Some(Kw::REAL) if parser.mode.real_as_float => CastType::Float,
        Some(Kw::REAL) => CastType::Double,
        Some(Kw::JSON) => CastType::Json,
        Some(
            Kw::POINT
            | Kw::LINESTRING
            | Kw::POLYGON
            | Kw::MULTIPOINT
            | Kw::MULTILINESTRING
            | Kw::MULTIPOLYGON
            | Kw::GEOMETRYCOLLECTION,
        ) => {
            return Err(Error::not_supported(
                "spatial types",
                "store coordinates as numbers",
            ));
        }
        _ => return Err(parser.error_at(start)),
    };
    Ok(match parser.eat(Kw::ARRAY) {
        true => CastType::Array(Box::new(ty)),
        false => ty,
    })
}

/// The length of CHAR and BINARY.
fn text_length(parser: &mut Parser<'_>) -> Result<Option<u32>> {
    if !parser.eat_kind(Kind::LeftParen) {
        return Ok(None);
    }
    let length = field_length(parser)?;
    parser.expect_kind(Kind::RightParen)?;
    u32::try_from(length).map(Some).map_err(|_| {
        Error::new(
            errno::ER_TOO_BIG_DISPLAYWIDTH,
            format!(
                "Display width out of range for column 'cast as char' (max = {})",
                u32::MAX
            ),
        )
    })
}

fn optional_length(parser: &mut Parser<'_>) -> Result<Option<u32>> {
    if !parser.eat_kind(Kind::LeftParen) {
        return Ok(None);
    }
    let length = parser.unsigned_32()?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(Some(length))
}

fn fractional_digits(parser: &mut Parser<'_>) -> Result<u8> {
    let digits = optional_length(parser)?.unwrap_or(0);
    u8::try_from(digits).ok().filter(|&d| d <= 6).ok_or_else(|| {
        Error::new(
            errno::ER_TOO_BIG_PRECISION,
            format!("Too-big precision {digits} specified for 'CAST'. Maximum is 6."),
        )
    })
}

/// `(p[, s])` of DECIMAL. The default is (10, 0).
fn precision_and_scale(parser: &mut Parser<'_>) -> Result<(u32, u8)> {
    if !parser.eat_kind(Kind::LeftParen) {
        return Ok((10, 0));
    }
    let precision = parser.unsigned_32()?;
    let scale = if parser.eat_kind(Kind::Comma) {
        parser.unsigned_32()?
    } else {
        0
    };
    parser.expect_kind(Kind::RightParen)?;
    // The binder checks the values, and has the messages.
    Ok((precision, u8::try_from(scale).unwrap_or(u8::MAX)))
}

fn cast_charset(parser: &mut Parser<'_>) -> Result<(Option<String>, bool)> {
    let mut charset = None;
    let mut binary = false;
    loop {
        if parser.eat(Kw::BINARY) {
            binary = true;
            deprecated::replaced(
                parser,
                "BINARY as attribute of a type",
                "a CHARACTER SET clause with _bin collation",
            );
        } else if parser.eat(Kw::CHARSET)
            || parser.eat_all(&[Kw::CHARACTER, Kw::SET])
            || parser.eat_all(&[Kw::CHAR, Kw::SET])
        {
            charset = Some(if parser.eat(Kw::BINARY) {
                "binary".into()
            } else {
                parser.name_or_text()?
            });
        } else if parser.eat(Kw::ASCII) {
            // MySQL means latin1 (manual 10.3.5).
            charset = Some("latin1".into());
            deprecated::replaced(parser, "ASCII", "CHARACTER SET charset_name");
        } else if parser.eat(Kw::UNICODE) {
            charset = Some("ucs2".into());
        } else {
            return Ok((charset, binary));
        }
    }
}
