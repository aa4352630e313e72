//! Operands that begin with a word: calls, special forms (CASE, CAST, EXTRACT ...), names.

use types::{Error, Result, errno};

use super::calls::call;
use super::interval::Interval;
use super::{Parser, call_clauses, calls, cast, clauses, interval, names, text, window};
use crate::ast::{ColumnName, Expr, TemporalKind};
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
    // ROLLUP is not a function, only a keyword.
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

/// The error for `COUNT (*)`: with a blank after it, the name is not the built-in function.
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
    Ok(Expr::Temporal {
        kind,
        text,
        is_odbc: false,
    })
}

/// An operand that begins with a keyword and is neither an ordinary call nor a column.
fn special_form(parser: &mut Parser<'_>, keyword: Kw, is_call: bool) -> Result<Option<Expr>> {
    let form = match word_form(parser, keyword)? {
        None if is_call => call_form(parser, keyword)?,
        form => form,
    };
    match form {
        Some(expr @ (Expr::Aggregate { .. } | Expr::GroupConcat { .. })) if parser.is(Kw::OVER) => {
            window::over(parser, expr).map(Some)
        }
        form => Ok(form),
    }
}

/// Words that have a meaning without a parenthesis behind them, too.
fn word_form(parser: &mut Parser<'_>, keyword: Kw) -> Result<Option<Expr>> {
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
        Kw::MATCH => call_clauses::match_against(parser)?,
        _ => return Ok(None),
    };
    Ok(Some(expr))
}

/// Calls with a syntax of their own, and those of aggregates and window functions.
fn call_form(parser: &mut Parser<'_>, keyword: Kw) -> Result<Option<Expr>> {
    let expr = match keyword {
        Kw::EXISTS => {
            parser.advance();
            exists(parser)?
        }
        Kw::NOW if calls::is_glued(parser) => clock(parser, "now", true)?,
        Kw::CURTIME if calls::is_glued(parser) => clock(parser, "curtime", true)?,
        Kw::SYSDATE if calls::is_glued(parser) => clock(parser, "sysdate", true)?,
        Kw::CURDATE if calls::is_glued(parser) => clock(parser, "curdate", false)?,
        Kw::CAST => cast::cast(parser)?,
        Kw::CONVERT => cast::convert(parser)?,
        Kw::ROW => row(parser)?,
        Kw::DEFAULT => Expr::Default(Some(column_argument(parser)?)),
        Kw::VALUES => Expr::Values(column_argument(parser)?),
        Kw::EXTRACT => call_clauses::extract(parser)?,
        Kw::TIMESTAMPADD => call_clauses::with_unit(parser, "timestampadd")?,
        Kw::TIMESTAMPDIFF => call_clauses::with_unit(parser, "timestampdiff")?,
        Kw::GET_FORMAT => call_clauses::get_format(parser)?,
        Kw::DATE_ADD | Kw::ADDDATE => {
            call_clauses::date_arithmetic(parser, "date_add", keyword == Kw::ADDDATE)?
        }
        Kw::DATE_SUB | Kw::SUBDATE => {
            call_clauses::date_arithmetic(parser, "date_sub", keyword == Kw::SUBDATE)?
        }
        Kw::TRIM => call_clauses::trim(parser)?,
        Kw::POSITION => call_clauses::position(parser)?,
        Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => call_clauses::substring(parser)?,
        Kw::CHAR => call_clauses::char_function(parser)?,
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
    Ok(Some(expr))
}

/// `ROW(a, b, ...)`
fn row(parser: &mut Parser<'_>) -> Result<Expr> {
    parser.advance();
    let args = arguments(parser)?;
    if args.len() < 2 {
        return parser.fail();
    }
    parser.grow()?;
    Ok(Expr::Row(args))
}

/// The column in `DEFAULT(column)` and `VALUES(column)`.
fn column_argument(parser: &mut Parser<'_>) -> Result<ColumnName> {
    parser.advance();
    parser.expect_kind(Kind::LeftParen)?;
    let name = names::column_name(parser)?;
    parser.expect_kind(Kind::RightParen)?;
    Ok(name)
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
        // MySQL's grammar has only an integer here.
        if precision && parser.kind() == Kind::Integer && parser.word().parse::<u64>().is_ok() {
            args.push(parser.primary()?);
        }
        parser.expect_kind(Kind::RightParen)?;
    }
    parser.grow()?;
    Ok(call(name, args))
}

/// `DISTINCT` or its other spelling.
fn eat_distinct(parser: &mut Parser<'_>) -> bool {
    parser.eat(Kw::DISTINCT) || parser.eat(Kw::DISTINCTROW)
}

fn aggregate(parser: &mut Parser<'_>, name: &'static str, arguments: usize) -> Result<Expr> {
    let may_be_distinct = parser.is_any(DISTINCT_AGGREGATES);
    if !calls::is_glued(parser) {
        return not_glued(parser);
    }
    parser.advance();
    parser.expect_kind(Kind::LeftParen)?;
    let mut args = Vec::new();
    let distinct = may_be_distinct && eat_distinct(parser);
    // COUNT(DISTINCT ...) takes a list and no ALL.
    if name != "json_objectagg" && !(distinct && name == "count") {
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
    let distinct = eat_distinct(parser);
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
    let (amount, unit) = match interval::interval(parser)? {
        Interval::Span(amount, unit) => (amount, unit),
        Interval::Call(call) => return Ok(call),
    };
    parser.expect_kind(Kind::Plus)?;
    let date = parser.nested(|parser| parser.arithmetic(4))?;
    parser.grow()?;
    Ok(call("date_add", vec![date, amount, unit]))
}

/// `EXISTS (SELECT ...)`, from the parenthesis on.
pub fn exists(parser: &mut Parser<'_>) -> Result<Expr> {
    let query = parser.query_in_parentheses()?;
    parser.grow()?;
    Ok(Expr::Exists(query))
}
