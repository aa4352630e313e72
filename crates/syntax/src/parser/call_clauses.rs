//! Calls that have clauses or keywords among their arguments, such as `EXTRACT(unit FROM date)`.

use types::Result;

use super::calls::call;
use super::literal::hex_bytes;
use super::{Parser, calls, cast, interval, names};
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

/// `JSON_VALUE(document, 'path' [RETURNING type] [on_empty] [on_error])`. The arguments after the path are a
/// NULL cast to the type, then keyword and default of both conditions.
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
    calls::close(parser, call("json_value", args))
}

/// `MATCH (column, ...) AGAINST (query [mode])`, the parentheses of the columns being optional. The arguments are
/// the query and the columns; the name says the mode.
pub fn match_against(parser: &mut Parser<'_>) -> Result<Expr> {
    parser.expect(Kw::MATCH)?;
    let in_parentheses = parser.eat_kind(Kind::LeftParen);
    let columns = parser.comma_separated(names::column)?;
    if in_parentheses {
        parser.expect_kind(Kind::RightParen)?;
    }
    parser.expect(Kw::AGAINST)?;
    parser.expect_kind(Kind::LeftParen)?;
    let query = parser.apart(|parser| parser.arithmetic(0))?;
    let name = if parser.eat_all(&[Kw::IN, Kw::BOOLEAN, Kw::MODE]) {
        "match in boolean mode"
    } else {
        if parser.eat(Kw::IN) && !parser.eat_all(&[Kw::NATURAL, Kw::LANGUAGE, Kw::MODE]) {
            return parser.fail();
        }
        match parser.eat_all(&[Kw::WITH, Kw::QUERY, Kw::EXPANSION]) {
            true => "match with query expansion",
            false => "match against",
        }
    };
    parser.expect_kind(Kind::RightParen)?;
    parser.grow()?;
    let mut args = vec![query];
    args.extend(columns);
    Ok(Expr::Function {
        name: name.into(),
        args,
    })
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

/// `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n) | , result_length, weights, flags])`. The numbers of the
/// last form, which no manual has, follow each other here in the order weights, length, flags, so that the
/// third argument is a count of characters in all forms.
pub fn weight_string(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let mut args = vec![parser.expression()?];
    let number = |number: u64| Expr::Number(NumberText::Integer(number.to_string()));
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
        args.extend([Expr::Keyword(form.into()), number(length.into())]);
    } else if parser.eat_kind(Kind::Comma) {
        let length = any_unsigned(parser)?;
        parser.expect_kind(Kind::Comma)?;
        let weights = any_unsigned(parser)?;
        parser.expect_kind(Kind::Comma)?;
        let flags = any_unsigned(parser)?;
        args.push(Expr::Keyword("weights".into()));
        args.extend([weights, length, flags].map(number));
    }
    calls::close(parser, call("weight_string", args))
}

/// What MySQL reads as an integer where its grammar has any number: digits up to the first character that is
/// none, or a hexadecimal literal of up to eight bytes.
fn any_unsigned(parser: &mut Parser<'_>) -> Result<u64> {
    let start = parser.start();
    let number = match parser.kind() {
        Kind::Integer | Kind::Decimal | Kind::Float => {
            let word = parser.word();
            let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
            match &word[..end] {
                "" => Some(0),
                digits => digits.parse().ok(),
            }
        }
        Kind::Hex => {
            let bytes = hex_bytes(parser.word());
            let digit = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
            (bytes.len() <= 8).then(|| bytes.iter().fold(0, digit))
        }
        _ => return parser.fail(),
    };
    let number = number.ok_or_else(|| parser.error_at(start))?;
    parser.advance();
    Ok(number)
}

/// `EXTRACT(unit FROM date)`
pub fn extract(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let unit = interval::unit(parser)?;
    parser.expect(Kw::FROM)?;
    let date = parser.expression()?;
    calls::close(parser, call("extract", vec![unit, date]))
}

/// `TIMESTAMPADD(unit, n, date)`, `TIMESTAMPDIFF(unit, from, to)`
pub fn with_unit(parser: &mut Parser<'_>, function: &str) -> Result<Expr> {
    calls::open(parser)?;
    let unit = interval::unit(parser)?;
    parser.expect_kind(Kind::Comma)?;
    let mut args = vec![unit];
    args.extend(parser.comma_separated(Parser::expression)?);
    calls::close(parser, call(function, args))
}

/// `GET_FORMAT(DATE, region)`
pub fn get_format(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let Some(kind) = parser.eat_any(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP]) else {
        return parser.fail();
    };
    parser.expect_kind(Kind::Comma)?;
    let region = parser.expression()?;
    let kind = Expr::Keyword(kind.text().to_ascii_lowercase());
    calls::close(parser, call("get_format", vec![kind, region]))
}

/// `DATE_ADD(d, INTERVAL n unit)`; `ADDDATE(d, n)` takes days, too.
pub fn date_arithmetic(parser: &mut Parser<'_>, function: &str, takes_days: bool) -> Result<Expr> {
    calls::open(parser)?;
    let date = parser.expression()?;
    parser.expect_kind(Kind::Comma)?;
    if let Some((amount, unit)) = interval::interval_before_expression(parser)? {
        return calls::close(parser, call(function, vec![date, amount, unit]));
    }
    if !takes_days {
        return parser.fail();
    }
    let days = parser.expression()?;
    calls::close(
        parser,
        call(function, vec![date, days, Expr::Keyword("day".into())]),
    )
}

/// `TRIM([[LEADING | TRAILING | BOTH] [what] FROM] text)`
pub fn trim(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let side = parser.eat_any(&[Kw::LEADING, Kw::TRAILING, Kw::BOTH]);
    if side.is_some() && parser.eat(Kw::FROM) {
        let text = parser.expression()?;
        return calls::close(parser, trim_call(side, text, Some(Expr::Text(" ".into()))));
    }
    let first = parser.expression()?;
    if parser.eat(Kw::FROM) {
        let text = parser.expression()?;
        return calls::close(parser, trim_call(side, text, Some(first)));
    }
    if side.is_some() {
        return parser.fail();
    }
    calls::close(parser, trim_call(None, first, None))
}

fn trim_call(side: Option<Kw>, text: Expr, what: Option<Expr>) -> Expr {
    match (side, what) {
        (_, None) => call("trim", vec![text]),
        (Some(Kw::LEADING), Some(what)) => call("trim leading", vec![text, what]),
        (Some(Kw::TRAILING), Some(what)) => call("trim trailing", vec![text, what]),
        (_, Some(what)) => call("trim both", vec![text, what]),
    }
}

/// `POSITION(needle IN text)`
pub fn position(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let needle = parser.arithmetic(0)?;
    parser.expect(Kw::IN)?;
    let text = parser.expression()?;
    calls::close(parser, call("locate", vec![needle, text]))
}

/// `SUBSTRING(text, from [, length])`, `SUBSTRING(text FROM from [FOR length])`
pub fn substring(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let mut args = vec![parser.expression()?];
    if parser.eat(Kw::FROM) {
        args.push(parser.expression()?);
        if parser.eat(Kw::FOR) {
            args.push(parser.expression()?);
        }
    } else {
        while parser.eat_kind(Kind::Comma) {
            args.push(parser.expression()?);
        }
        if args.len() < 2 || args.len() > 3 {
            return parser.fail();
        }
    }
    calls::close(parser, call("substring", args))
}

/// `CHAR(n, ... [USING charset])`
pub fn char_function(parser: &mut Parser<'_>) -> Result<Expr> {
    calls::open(parser)?;
    let mut args = parser.comma_separated(Parser::expression)?;
    let charset = if parser.eat(Kw::USING) && !parser.eat(Kw::BINARY) {
        parser.name_or_text()?
    } else {
        "binary".into()
    };
    args.push(Expr::Keyword(charset));
    calls::close(parser, call("char", args))
}

/// NULL cast to a type. It is cast to JSON first, so that a CHAR without a length gets the length of the
/// longest document.
fn null_of_type(ty: CastType) -> Expr {
    let cast = |operand, ty| Expr::Cast {
        operand: Box::new(operand),
        ty,
    };
    cast(cast(Expr::Null, CastType::Json), ty)
}
