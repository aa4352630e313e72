//! Operands that begin with a word: calls, special forms (CASE, CAST, EXTRACT ...), names.

use types::{Error, Result, errno};

use super::{Parser, call_clauses, calls, cast, clauses, interval, names, text, window};
use crate::ast::{Expr, TemporalKind};
use crate::lexer::keywords::Keyword as Kw;
use crate::lexer::token::Kind;

/// Functions whose name is a reserved word.
const RESERVED_FUNCTIONS: &[Kw] = &[
    Kw::IF,
    Kw::LEFT,
    Kw::RIGHT,
    Kw::REPLACE,
    Kw::INSERT,
    Kw::REPEAT,
    Kw::MOD,
    Kw::DATABASE,
    Kw::SCHEMA,
    Kw::CHAR,
    Kw::GROUPING,
];

/// Functions whose number of arguments is part of the grammar: another number is error 1064, not 1582.
const ARITY: &[(Kw, usize, usize)] = &[
    (Kw::ASCII, 1, 1),
    (Kw::CHARSET, 1, 1),
    (Kw::COALESCE, 1, usize::MAX),
    (Kw::COLLATION, 1, 1),
    (Kw::DATABASE, 0, 0),
    (Kw::DATE, 1, 1),
    (Kw::DAY, 1, 1),
    (Kw::FORMAT, 2, 3),
    (Kw::GROUPING, 1, usize::MAX),
    (Kw::HOUR, 1, 1),
    (Kw::IF, 3, 3),
    (Kw::INSERT, 4, 4),
    (Kw::LEFT, 2, 2),
    (Kw::MICROSECOND, 1, 1),
    (Kw::MINUTE, 1, 1),
    (Kw::MOD, 2, 2),
    (Kw::MONTH, 1, 1),
    (Kw::QUARTER, 1, 1),
    (Kw::REPEAT, 2, 2),
    (Kw::REPLACE, 3, 3),
    (Kw::REVERSE, 1, 1),
    (Kw::RIGHT, 2, 2),
    (Kw::ROW_COUNT, 0, 0),
    (Kw::SCHEMA, 0, 0),
    (Kw::SECOND, 1, 1),
    (Kw::TIME, 1, 1),
    (Kw::TIMESTAMP, 1, 2),
    (Kw::TRUNCATE, 2, 2),
    (Kw::USER, 0, 0),
    (Kw::WEEK, 1, 2),
    (Kw::YEAR, 1, 1),
];

/// Aggregates by name, and how many arguments they have. GROUP_CONCAT has a syntax of its own.
const AGGREGATES: &[(Kw, &str, usize)] = &[
    (Kw::AVG, "avg", 1),
    (Kw::BIT_AND, "bit_and", 1),
    (Kw::BIT_OR, "bit_or", 1),
    (Kw::BIT_XOR, "bit_xor", 1),
    (Kw::COUNT, "count", 1),
    (Kw::JSON_ARRAYAGG, "json_arrayagg", 1),
    (Kw::JSON_OBJECTAGG, "json_objectagg", 2),
    (Kw::MAX, "max", 1),
    (Kw::MIN, "min", 1),
    (Kw::STD, "std", 1),
    (Kw::STDDEV, "stddev", 1),
    (Kw::STDDEV_POP, "stddev_pop", 1),
    (Kw::STDDEV_SAMP, "stddev_samp", 1),
    (Kw::SUM, "sum", 1),
    (Kw::VAR_POP, "var_pop", 1),
    (Kw::VAR_SAMP, "var_samp", 1),
    (Kw::VARIANCE, "variance", 1),
];

/// Aggregates that may be of DISTINCT values.
const DISTINCT_AGGREGATES: &[Kw] = &[Kw::AVG, Kw::COUNT, Kw::MAX, Kw::MIN, Kw::SUM];

const WINDOW_FUNCTIONS: &[Kw] = &[
    Kw::CUME_DIST,
    Kw::DENSE_RANK,
    Kw::FIRST_VALUE,
    Kw::LAG,
    Kw::LAST_VALUE,
    Kw::LEAD,
    Kw::NTH_VALUE,
    Kw::NTILE,
    Kw::PERCENT_RANK,
    Kw::RANK,
    Kw::ROW_NUMBER,
];

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function {
        name: name.into(),
        args,
    }
}

/// An operand whose first token is an unquoted word.
pub fn word_operand(parser: &mut Parser<'_>) -> Result<Expr> {
    let next = parser.peek().kind;
    let is_call = next == Kind::LeftParen;
    if let Some(keyword) = parser.keyword()
        && let Some(expr) = special_form(parser, keyword, is_call)?
    {
        return Ok(expr);
    }
    if is_call && !calls::is_glued(parser) {
        return not_glued(parser);
    }
    // No function: a word of the grammar alone.
    if is_call && parser.is(Kw::ROLLUP) {
        parser.advance();
        return parser.fail();
    }
    if is_call {
        return ordinary_call(parser);
    }
    match (parser.keyword(), next) {
        (Some(Kw::DATE), Kind::Text) => return temporal(parser, TemporalKind::Date),
        (Some(Kw::TIME), Kind::Text) => return temporal(parser, TemporalKind::Time),
        (Some(Kw::TIMESTAMP), Kind::Text) => return temporal(parser, TemporalKind::Timestamp),
        _ => {}
    }
    if parser.word().starts_with('_')
        && let Some(literal) = text::introduced(parser)?
    {
        return Ok(literal);
    }
    column_or_stored_function(parser)
}

fn column_or_stored_function(parser: &mut Parser<'_>) -> Result<Expr> {
    let column = names::column(parser)?;
    if parser.kind() == Kind::LeftParen
        && let Expr::Column(name) = &column
        && let Some(database) = &name.table
    {
        return Err(Error::new(
            errno::ER_SP_DOES_NOT_EXIST,
            format!("FUNCTION {database}.{} does not exist", name.column),
        ));
    }
    Ok(column)
}

/// `COUNT (*)`: with a blank, the name is not the built-in function.
fn not_glued(parser: &mut Parser<'_>) -> Result<Expr> {
    let word = parser.word().to_ascii_lowercase();
    parser.advance();
    parser.advance();
    if parser.kind() == Kind::Star {
        return parser.fail();
    }
    Err(Error::new(
        errno::ER_FUNC_INEXISTENT_NAME_COLLISION,
        format!(
            "FUNCTION {word} does not exist. Check the 'Function Name Parsing and Resolution' section in the \
             Reference Manual"
        ),
    ))
}

fn temporal(parser: &mut Parser<'_>, kind: TemporalKind) -> Result<Expr> {
    parser.advance();
    let text = parser.text_literal()?;
    Ok(Expr::Temporal { kind, text })
}

/// Words that are not names of ordinary functions or columns.
fn special_form(parser: &mut Parser<'_>, keyword: Kw, is_call: bool) -> Result<Option<Expr>> {
    let expr = match keyword {
        Kw::NULL => word_literal(parser, Expr::Null),
        Kw::TRUE => word_literal(parser, Expr::Bool(true)),
        Kw::FALSE => word_literal(parser, Expr::Bool(false)),
        Kw::CASE => case(parser)?,
        Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => clock(parser, "now", true)?,
        Kw::CURRENT_DATE => clock(parser, "curdate", false)?,
        Kw::CURRENT_TIME => clock(parser, "curtime", true)?,
        Kw::UTC_DATE => clock(parser, "utc_date", false)?,
        Kw::UTC_TIME => clock(parser, "utc_time", true)?,
        Kw::UTC_TIMESTAMP => clock(parser, "utc_timestamp", true)?,
        Kw::CURRENT_USER => clock(parser, "current_user", false)?,
        Kw::INTERVAL => interval_operand(parser)?,
        Kw::EXISTS if is_call => {
            parser.advance();
            exists(parser)?
        }
        Kw::MATCH => {
            return Err(Error::not_supported("full-text search (MATCH)", "use LIKE"));
        }
        _ if !is_call => return Ok(None),
        Kw::CAST => cast::cast(parser)?,
        Kw::CONVERT => cast::convert(parser)?,
        Kw::ROW => {
            parser.advance();
            let args = arguments(parser)?;
            if args.len() < 2 {
                return parser.fail();
            }
            parser.grow()?;
            Expr::Row(args)
        }
        Kw::DEFAULT => {
            parser.advance();
            parser.expect_kind(Kind::LeftParen)?;
            let name = names::column_name(parser)?;
            parser.expect_kind(Kind::RightParen)?;
            Expr::Default(Some(name))
        }
        Kw::VALUES => {
            parser.advance();
            parser.expect_kind(Kind::LeftParen)?;
            let name = names::column_name(parser)?;
            parser.expect_kind(Kind::RightParen)?;
            Expr::Values(name)
        }
        Kw::EXTRACT => {
            calls::open(parser)?;
            let unit = interval::unit(parser)?;
            parser.expect(Kw::FROM)?;
            let date = parser.expression()?;
            calls::close(parser, call("extract", vec![unit, date]))?
        }
        Kw::TIMESTAMPADD | Kw::TIMESTAMPDIFF => {
            calls::open(parser)?;
            let unit = interval::unit(parser)?;
            parser.expect_kind(Kind::Comma)?;
            let mut args = vec![unit];
            args.extend(parser.comma_separated(Parser::expression)?);
            let name = if keyword == Kw::TIMESTAMPADD {
                "timestampadd"
            } else {
                "timestampdiff"
            };
            calls::close(parser, call(name, args))?
        }
        Kw::GET_FORMAT => {
            calls::open(parser)?;
            let Some(kind) = parser.eat_any(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP]) else {
                return parser.fail();
            };
            parser.expect_kind(Kind::Comma)?;
            let region = parser.expression()?;
            let kind = Expr::Keyword(kind.text().to_ascii_lowercase());
            calls::close(parser, call("get_format", vec![kind, region]))?
        }
        Kw::DATE_ADD | Kw::ADDDATE => date_arithmetic(parser, "date_add", keyword == Kw::ADDDATE)?,
        Kw::DATE_SUB | Kw::SUBDATE => date_arithmetic(parser, "date_sub", keyword == Kw::SUBDATE)?,
        Kw::TRIM => trim(parser)?,
        Kw::POSITION => {
            calls::open(parser)?;
            let needle = parser.arithmetic(0)?;
            parser.expect(Kw::IN)?;
            let text = parser.expression()?;
            calls::close(parser, call("locate", vec![needle, text]))?
        }
        Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => substring(parser)?,
        Kw::CHAR => char_function(parser)?,
        Kw::WEIGHT_STRING => call_clauses::weight_string(parser)?,
        Kw::JSON_VALUE => call_clauses::json_value(parser)?,
        Kw::JSON_TABLE => {
            return Err(Error::not_supported(
                "JSON_TABLE() outside FROM",
                "use it in FROM",
            ));
        }
        Kw::GROUP_CONCAT => group_concat(parser)?,
        Kw::ST_COLLECT => {
            return Err(Error::not_supported(
                "ST_COLLECT()",
                "store coordinates as numbers",
            ));
        }
        _ if WINDOW_FUNCTIONS.contains(&keyword) => window::window_function(parser)?,
        _ => match AGGREGATES.iter().find(|(word, ..)| *word == keyword) {
            Some((_, name, arguments)) => aggregate(parser, name, *arguments)?,
            None => return Ok(None),
        },
    };
    if matches!(expr, Expr::Aggregate { .. } | Expr::GroupConcat { .. }) && parser.is(Kw::OVER) {
        return window::over(parser, expr).map(Some);
    }
    Ok(Some(expr))
}

fn word_literal(parser: &mut Parser<'_>, literal: Expr) -> Expr {
    parser.advance();
    literal
}

/// `(a, b, ...)`, also `()`.
pub fn arguments(parser: &mut Parser<'_>) -> Result<Vec<Expr>> {
    parser.expect_kind(Kind::LeftParen)?;
    if parser.eat_kind(Kind::RightParen) {
        return Ok(Vec::new());
    }
    let args = parser.comma_separated(Parser::expression)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(args)
}

/// `(a, b, ...)` where the grammar fixes the number of arguments.
fn counted_arguments(parser: &mut Parser<'_>, fewest: usize, most: usize) -> Result<Vec<Expr>> {
    parser.expect_kind(Kind::LeftParen)?;
    let mut args = Vec::new();
    if parser.kind() != Kind::RightParen && most > 0 {
        args.push(parser.expression()?);
        while args.len() < most && parser.eat_kind(Kind::Comma) {
            args.push(parser.expression()?);
        }
    }
    if args.len() < fewest {
        return parser.fail();
    }
    parser.expect_kind(Kind::RightParen)?;
    Ok(args)
}

/// An ordinary call.
fn ordinary_call(parser: &mut Parser<'_>) -> Result<Expr> {
    if parser.is_reserved() && !parser.is_any(RESERVED_FUNCTIONS) {
        return parser.fail();
    }
    let (spelling, keyword) = (parser.word(), parser.keyword());
    parser.advance();
    let args = match ARITY.iter().find(|(word, ..)| Some(*word) == keyword) {
        Some((_, fewest, most)) => counted_arguments(parser, *fewest, *most)?,
        None => arguments(parser)?,
    };
    parser.grow()?;
    let name = match keyword {
        Some(Kw::SESSION_USER | Kw::SYSTEM_USER) => "user",
        Some(Kw::SCHEMA) => "database",
        _ => spelling,
    };
    Ok(call(name, args))
}

/// Functions such as CURRENT_TIMESTAMP, which may be called without parentheses.
fn clock(parser: &mut Parser<'_>, name: &str, precision: bool) -> Result<Expr> {
    parser.advance();
    let mut args = Vec::new();
    if parser.eat_kind(Kind::LeftParen) {
        if precision && parser.kind() != Kind::RightParen {
            args.push(parser.expression()?);
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    parser.grow()?;
    Ok(call(name, args))
}

fn aggregate(parser: &mut Parser<'_>, name: &'static str, arguments: usize) -> Result<Expr> {
    let may_be_distinct = parser.is_any(DISTINCT_AGGREGATES);
    if !calls::is_glued(parser) {
        return not_glued(parser);
    }
    parser.advance();
    parser.expect_kind(Kind::LeftParen)?;
    let mut args = Vec::new();
    let distinct = may_be_distinct && parser.eat(Kw::DISTINCT);
    if !distinct && name != "json_objectagg" {
        parser.eat(Kw::ALL);
    }
    if name == "count" && !distinct && parser.eat_kind(Kind::Star) {
        return calls::close(parser, Expr::Aggregate { name, distinct, args });
    }
    args.push(parser.expression()?);
    while (args.len() < arguments || name == "count" && distinct) && parser.eat_kind(Kind::Comma) {
        args.push(parser.expression()?);
    }
    if args.len() < arguments {
        return parser.fail();
    }
    calls::close(parser, Expr::Aggregate { name, distinct, args })
}

/// `GROUP_CONCAT([DISTINCT] a, b ORDER BY c DESC SEPARATOR ', ')`
fn group_concat(parser: &mut Parser<'_>) -> Result<Expr> {
    if !calls::is_glued(parser) {
        return not_glued(parser);
    }
    parser.advance();
    parser.expect_kind(Kind::LeftParen)?;
    let distinct = parser.eat(Kw::DISTINCT);
    let args = parser.comma_separated(Parser::expression)?;
    let order_by = clauses::order_by(parser)?;
    let separator = if parser.eat(Kw::SEPARATOR) {
        parser.text_literal()?
    } else {
        ",".to_owned()
    };
    calls::close(
        parser,
        Expr::GroupConcat {
            distinct,
            args,
            order_by,
            separator,
        },
    )
}

fn case(parser: &mut Parser<'_>) -> Result<Expr> {
    parser.advance();
    let operand = if parser.is(Kw::WHEN) {
        None
    } else {
        Some(Box::new(parser.expression()?))
    };
    let mut branches = Vec::new();
    while parser.eat(Kw::WHEN) {
        let when = parser.expression()?;
        parser.expect(Kw::THEN)?;
        branches.push((when, parser.expression()?));
    }
    if branches.is_empty() {
        return parser.fail();
    }
    let otherwise = if parser.eat(Kw::ELSE) {
        Some(Box::new(parser.expression()?))
    } else {
        None
    };
    parser.expect(Kw::END)?;
    parser.grow()?;
    Ok(Expr::Case {
        operand,
        branches,
        otherwise,
    })
}

/// `INTERVAL n unit + date`, or the function `INTERVAL(n, a, b ...)`.
fn interval_operand(parser: &mut Parser<'_>) -> Result<Expr> {
    if interval::at_interval_function(parser) {
        parser.advance();
        return Ok(call("interval", arguments(parser)?));
    }
    parser.advance();
    let amount = parser.expression()?;
    let unit = interval::unit(parser)?;
    parser.expect_kind(Kind::Plus)?;
    let date = parser.nested(|parser| parser.arithmetic(4))?;
    parser.grow()?;
    Ok(call("date_add", vec![date, amount, unit]))
}

/// `DATE_ADD(d, INTERVAL n unit)`; `ADDDATE(d, n)` takes days too.
fn date_arithmetic(parser: &mut Parser<'_>, function: &str, takes_days: bool) -> Result<Expr> {
    calls::open(parser)?;
    let date = parser.expression()?;
    parser.expect_kind(Kind::Comma)?;
    if interval::at_interval(parser) {
        let (amount, unit) = interval::interval(parser)?;
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

fn trim(parser: &mut Parser<'_>) -> Result<Expr> {
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

fn substring(parser: &mut Parser<'_>) -> Result<Expr> {
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
fn char_function(parser: &mut Parser<'_>) -> Result<Expr> {
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

fn trim_call(side: Option<Kw>, text: Expr, what: Option<Expr>) -> Expr {
    match (side, what) {
        (_, None) => call("trim", vec![text]),
        (Some(Kw::LEADING), Some(what)) => call("trim leading", vec![text, what]),
        (Some(Kw::TRAILING), Some(what)) => call("trim trailing", vec![text, what]),
        (_, Some(what)) => call("trim both", vec![text, what]),
    }
}

/// `EXISTS (SELECT ...)`, the cursor at the parenthesis.
pub fn exists(parser: &mut Parser<'_>) -> Result<Expr> {
    let query = parser.query_in_parentheses()?;
    parser.grow()?;
    Ok(Expr::Exists(query))
}
