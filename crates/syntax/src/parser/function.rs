//! Operands that begin with a word: calls, special forms (CASE, CAST, EXTRACT ...), names.

use types::{Error, Result, errno};

use super::Parser;
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

/// Names that are functions only when the parenthesis follows at once, but with IGNORE_SPACE. Source: manual
/// 9.2.5 "Function Name Parsing and Resolution".
const GLUED: &[Kw] = &[
    Kw::ADDDATE,
    Kw::BIT_AND,
    Kw::BIT_OR,
    Kw::BIT_XOR,
    Kw::CAST,
    Kw::COUNT,
    Kw::CURDATE,
    Kw::CURTIME,
    Kw::DATE_ADD,
    Kw::DATE_SUB,
    Kw::EXTRACT,
    Kw::GROUP_CONCAT,
    Kw::MAX,
    Kw::MID,
    Kw::MIN,
    Kw::NOW,
    Kw::POSITION,
    Kw::SESSION_USER,
    Kw::STD,
    Kw::STDDEV,
    Kw::STDDEV_POP,
    Kw::STDDEV_SAMP,
    Kw::SUBDATE,
    Kw::SUBSTR,
    Kw::SUBSTRING,
    Kw::SUM,
    Kw::SYSDATE,
    Kw::SYSTEM_USER,
    Kw::TRIM,
    Kw::VARIANCE,
    Kw::VAR_POP,
    Kw::VAR_SAMP,
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

/// Units of time, by the names that functions have for them.
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

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function {
        name: name.into(),
        args,
    }
}

impl Parser<'_> {
    /// An operand whose first token is an unquoted word.
    pub fn word_operand(&mut self) -> Result<Expr> {
        let next = self.peek().kind;
        let is_call = next == Kind::LeftParen;
        if let Some(keyword) = self.keyword()
            && let Some(expr) = self.special_form(keyword, is_call)?
        {
            return Ok(expr);
        }
        if is_call && !self.is_glued() {
            return self.not_glued();
        }
        // No function: a word of the grammar alone.
        if is_call && self.is(Kw::ROLLUP) {
            self.advance();
            return self.fail();
        }
        if is_call {
            return self.call();
        }
        match (self.keyword(), next) {
            (Some(Kw::DATE), Kind::Text) => return self.temporal(TemporalKind::Date),
            (Some(Kw::TIME), Kind::Text) => return self.temporal(TemporalKind::Time),
            (Some(Kw::TIMESTAMP), Kind::Text) => return self.temporal(TemporalKind::Timestamp),
            _ => {}
        }
        if self.word().starts_with('_')
            && let Some(literal) = self.introduced()?
        {
            return Ok(literal);
        }
        self.column_or_stored_function()
    }

    fn column_or_stored_function(&mut self) -> Result<Expr> {
        let column = self.column()?;
        if self.kind() == Kind::LeftParen
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

    /// Whether the parenthesis is directly after the function's name, where that is required.
    fn is_glued(&self) -> bool {
        self.mode.ignore_space || !self.is_any(GLUED) || self.peek().start == self.start() + self.word().len()
    }

    /// `COUNT (*)`: with a blank, the name is not the built-in function.
    fn not_glued(&mut self) -> Result<Expr> {
        let word = self.word().to_ascii_lowercase();
        self.advance();
        self.advance();
        if self.kind() == Kind::Star {
            return self.fail();
        }
        Err(Error::new(
            errno::ER_FUNC_INEXISTENT_NAME_COLLISION,
            format!(
                "FUNCTION {word} does not exist. Check the 'Function Name Parsing and Resolution' section in the \
                 Reference Manual"
            ),
        ))
    }

    fn temporal(&mut self, kind: TemporalKind) -> Result<Expr> {
        self.advance();
        let text = self.text_literal()?;
        Ok(Expr::Temporal { kind, text })
    }

    /// Words that are not names of ordinary functions or columns.
    fn special_form(&mut self, keyword: Kw, is_call: bool) -> Result<Option<Expr>> {
        let expr = match keyword {
            Kw::NULL => self.word_literal(Expr::Null),
            Kw::TRUE => self.word_literal(Expr::Bool(true)),
            Kw::FALSE => self.word_literal(Expr::Bool(false)),
            Kw::CASE => self.case()?,
            Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => self.clock("now", true)?,
            Kw::CURRENT_DATE => self.clock("curdate", false)?,
            Kw::CURRENT_TIME => self.clock("curtime", true)?,
            Kw::UTC_DATE => self.clock("utc_date", false)?,
            Kw::UTC_TIME => self.clock("utc_time", true)?,
            Kw::UTC_TIMESTAMP => self.clock("utc_timestamp", true)?,
            Kw::CURRENT_USER => self.clock("current_user", false)?,
            Kw::INTERVAL => self.interval_operand()?,
            Kw::EXISTS if is_call => {
                self.advance();
                self.exists()?
            }
            Kw::MATCH => {
                return Err(Error::not_supported("full-text search (MATCH)", "use LIKE"));
            }
            _ if !is_call => return Ok(None),
            Kw::CAST => self.cast()?,
            Kw::CONVERT => self.convert()?,
            Kw::ROW => {
                self.advance();
                let args = self.arguments()?;
                if args.len() < 2 {
                    return self.fail();
                }
                self.grow()?;
                Expr::Row(args)
            }
            Kw::DEFAULT => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let name = self.column_name()?;
                self.expect_kind(Kind::RightParen)?;
                Expr::Default(Some(name))
            }
            Kw::VALUES => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let name = self.column_name()?;
                self.expect_kind(Kind::RightParen)?;
                Expr::Values(name)
            }
            Kw::EXTRACT => {
                self.open()?;
                let unit = self.unit()?;
                self.expect(Kw::FROM)?;
                let date = self.expression()?;
                self.close(call("extract", vec![unit, date]))?
            }
            Kw::TIMESTAMPADD | Kw::TIMESTAMPDIFF => {
                self.open()?;
                let unit = self.unit()?;
                self.expect_kind(Kind::Comma)?;
                let mut args = vec![unit];
                args.extend(self.comma_separated(Self::expression)?);
                let name = if keyword == Kw::TIMESTAMPADD {
                    "timestampadd"
                } else {
                    "timestampdiff"
                };
                self.close(call(name, args))?
            }
            Kw::GET_FORMAT => {
                self.open()?;
                let Some(kind) = self.eat_any(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP]) else {
                    return self.fail();
                };
                self.expect_kind(Kind::Comma)?;
                let region = self.expression()?;
                let kind = Expr::Keyword(kind.text().to_ascii_lowercase());
                self.close(call("get_format", vec![kind, region]))?
            }
            Kw::DATE_ADD | Kw::ADDDATE => self.date_arithmetic("date_add", keyword == Kw::ADDDATE)?,
            Kw::DATE_SUB | Kw::SUBDATE => self.date_arithmetic("date_sub", keyword == Kw::SUBDATE)?,
            Kw::TRIM => self.trim()?,
            Kw::POSITION => {
                self.open()?;
                let needle = self.arithmetic(0)?;
                self.expect(Kw::IN)?;
                let text = self.expression()?;
                self.close(call("locate", vec![needle, text]))?
            }
            Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => self.substring()?,
            Kw::CHAR => self.char_function()?,
            Kw::WEIGHT_STRING => self.weight_string()?,
            Kw::JSON_VALUE => self.json_value()?,
            Kw::JSON_TABLE => {
                return Err(Error::not_supported(
                    "JSON_TABLE() outside FROM",
                    "use it in FROM",
                ));
            }
            Kw::GROUP_CONCAT => self.group_concat()?,
            Kw::ST_COLLECT => {
                return Err(Error::not_supported(
                    "ST_COLLECT()",
                    "store coordinates as numbers",
                ));
            }
            _ if WINDOW_FUNCTIONS.contains(&keyword) => self.window_function()?,
            _ => match AGGREGATES.iter().find(|(word, ..)| *word == keyword) {
                Some((_, name, arguments)) => self.aggregate(name, *arguments)?,
                None => return Ok(None),
            },
        };
        if matches!(expr, Expr::Aggregate { .. } | Expr::GroupConcat { .. }) && self.is(Kw::OVER) {
            return self.over(expr).map(Some);
        }
        Ok(Some(expr))
    }

    fn word_literal(&mut self, literal: Expr) -> Expr {
        self.advance();
        literal
    }

    /// Takes the name and the parenthesis behind it, which must follow at once.
    pub fn open(&mut self) -> Result<()> {
        let is_glued = self.is_glued();
        self.advance();
        if !is_glued {
            return self.fail();
        }
        self.expect_kind(Kind::LeftParen)
    }

    pub fn close(&mut self, expr: Expr) -> Result<Expr> {
        self.expect_kind(Kind::RightParen)?;
        self.grow()?;
        Ok(expr)
    }

    /// `(a, b, ...)`, also `()`.
    pub fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect_kind(Kind::LeftParen)?;
        if self.eat_kind(Kind::RightParen) {
            return Ok(Vec::new());
        }
        let args = self.comma_separated(Self::expression)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(args)
    }

    /// `(a, b, ...)` where the grammar fixes the number of arguments.
    fn counted_arguments(&mut self, fewest: usize, most: usize) -> Result<Vec<Expr>> {
        self.expect_kind(Kind::LeftParen)?;
        let mut args = Vec::new();
        if self.kind() != Kind::RightParen && most > 0 {
            args.push(self.expression()?);
            while args.len() < most && self.eat_kind(Kind::Comma) {
                args.push(self.expression()?);
            }
        }
        if args.len() < fewest {
            return self.fail();
        }
        self.expect_kind(Kind::RightParen)?;
        Ok(args)
    }

    /// An ordinary call.
    fn call(&mut self) -> Result<Expr> {
        if self.is_reserved() && !self.is_any(RESERVED_FUNCTIONS) {
            return self.fail();
        }
        let (spelling, keyword) = (self.word(), self.keyword());
        self.advance();
        let args = match ARITY.iter().find(|(word, ..)| Some(*word) == keyword) {
            Some((_, fewest, most)) => self.counted_arguments(*fewest, *most)?,
            None => self.arguments()?,
        };
        self.grow()?;
        let name = match keyword {
            Some(Kw::SESSION_USER | Kw::SYSTEM_USER) => "user",
            Some(Kw::SCHEMA) => "database",
            _ => spelling,
        };
        Ok(call(name, args))
    }

    /// Functions such as CURRENT_TIMESTAMP, which may be called without parentheses.
    fn clock(&mut self, name: &str, precision: bool) -> Result<Expr> {
        self.advance();
        let mut args = Vec::new();
        if self.eat_kind(Kind::LeftParen) {
            if precision && self.kind() != Kind::RightParen {
                args.push(self.expression()?);
            }
            self.expect_kind(Kind::RightParen)?;
        }
        self.grow()?;
        Ok(call(name, args))
    }

    fn aggregate(&mut self, name: &'static str, arguments: usize) -> Result<Expr> {
        let may_be_distinct = self.is_any(DISTINCT_AGGREGATES);
        if !self.is_glued() {
            return self.not_glued();
        }
        self.advance();
        self.expect_kind(Kind::LeftParen)?;
        let mut args = Vec::new();
        let distinct = may_be_distinct && self.eat(Kw::DISTINCT);
        if !distinct && name != "json_objectagg" {
            self.eat(Kw::ALL);
        }
        if name == "count" && !distinct && self.eat_kind(Kind::Star) {
            return self.close(Expr::Aggregate { name, distinct, args });
        }
        args.push(self.expression()?);
        while (args.len() < arguments || name == "count" && distinct) && self.eat_kind(Kind::Comma) {
            args.push(self.expression()?);
        }
        if args.len() < arguments {
            return self.fail();
        }
        self.close(Expr::Aggregate { name, distinct, args })
    }

    /// `GROUP_CONCAT([DISTINCT] a, b ORDER BY c DESC SEPARATOR ', ')`
    fn group_concat(&mut self) -> Result<Expr> {
        if !self.is_glued() {
            return self.not_glued();
        }
        self.advance();
        self.expect_kind(Kind::LeftParen)?;
        let distinct = self.eat(Kw::DISTINCT);
        let args = self.comma_separated(Self::expression)?;
        let order_by = self.order_by()?;
        let separator = if self.eat(Kw::SEPARATOR) {
            self.text_literal()?
        } else {
            ",".to_owned()
        };
        self.close(Expr::GroupConcat {
            distinct,
            args,
            order_by,
            separator,
        })
    }

    fn case(&mut self) -> Result<Expr> {
        self.advance();
        let operand = if self.is(Kw::WHEN) {
            None
        } else {
            Some(Box::new(self.expression()?))
        };
        let mut branches = Vec::new();
        while self.eat(Kw::WHEN) {
            let when = self.expression()?;
            self.expect(Kw::THEN)?;
            branches.push((when, self.expression()?));
        }
        if branches.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat(Kw::ELSE) {
            Some(Box::new(self.expression()?))
        } else {
            None
        };
        self.expect(Kw::END)?;
        self.grow()?;
        Ok(Expr::Case {
            operand,
            branches,
            otherwise,
        })
    }

    /// At `INTERVAL` that begins an interval, not the function of that name.
    pub fn at_interval(&self) -> bool {
        self.is(Kw::INTERVAL) && !self.at_interval_function()
    }

    /// At `INTERVAL (a, b ...`: the function takes two arguments at least, and no amount is a row.
    fn at_interval_function(&self) -> bool {
        if self.peek().kind != Kind::LeftParen {
            return false;
        }
        let mut ahead = self.fork();
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
    pub fn interval(&mut self) -> Result<(Expr, Expr)> {
        self.expect(Kw::INTERVAL)?;
        let amount = self.expression()?;
        Ok((amount, self.unit()?))
    }

    /// `INTERVAL n unit + date`, or the function `INTERVAL(n, a, b ...)`.
    fn interval_operand(&mut self) -> Result<Expr> {
        if self.at_interval_function() {
            self.advance();
            return Ok(call("interval", self.arguments()?));
        }
        self.advance();
        let amount = self.expression()?;
        let unit = self.unit()?;
        self.expect_kind(Kind::Plus)?;
        let date = self.nested(|parser| parser.arithmetic(4))?;
        self.grow()?;
        Ok(call("date_add", vec![date, amount, unit]))
    }

    /// A unit of time, as a string literal in lower case.
    fn unit(&mut self) -> Result<Expr> {
        let Some((_, unit)) = UNITS.iter().find(|(word, _)| self.is(*word)) else {
            return self.fail();
        };
        self.advance();
        Ok(Expr::Keyword((*unit).to_owned()))
    }

    /// `DATE_ADD(d, INTERVAL n unit)`; `ADDDATE(d, n)` takes days too.
    fn date_arithmetic(&mut self, function: &str, takes_days: bool) -> Result<Expr> {
        self.open()?;
        let date = self.expression()?;
        self.expect_kind(Kind::Comma)?;
        if self.at_interval() {
            let (amount, unit) = self.interval()?;
            return self.close(call(function, vec![date, amount, unit]));
        }
        if !takes_days {
            return self.fail();
        }
        let days = self.expression()?;
        self.close(call(function, vec![date, days, Expr::Keyword("day".into())]))
    }

    fn trim(&mut self) -> Result<Expr> {
        self.open()?;
        let side = self.eat_any(&[Kw::LEADING, Kw::TRAILING, Kw::BOTH]);
        if side.is_some() && self.eat(Kw::FROM) {
            let text = self.expression()?;
            return self.close(trim_call(side, text, Some(Expr::Text(" ".into()))));
        }
        let first = self.expression()?;
        if self.eat(Kw::FROM) {
            let text = self.expression()?;
            return self.close(trim_call(side, text, Some(first)));
        }
        if side.is_some() {
            return self.fail();
        }
        self.close(trim_call(None, first, None))
    }

    fn substring(&mut self) -> Result<Expr> {
        self.open()?;
        let mut args = vec![self.expression()?];
        if self.eat(Kw::FROM) {
            args.push(self.expression()?);
            if self.eat(Kw::FOR) {
                args.push(self.expression()?);
            }
        } else {
            while self.eat_kind(Kind::Comma) {
                args.push(self.expression()?);
            }
            if args.len() < 2 || args.len() > 3 {
                return self.fail();
            }
        }
        self.close(call("substring", args))
    }

    /// `CHAR(n, ... [USING charset])`
    fn char_function(&mut self) -> Result<Expr> {
        self.open()?;
        let mut args = self.comma_separated(Self::expression)?;
        let charset = if self.eat(Kw::USING) && !self.eat(Kw::BINARY) {
            self.name_or_text()?
        } else {
            "binary".into()
        };
        args.push(Expr::Keyword(charset));
        self.close(call("char", args))
    }
}

fn trim_call(side: Option<Kw>, text: Expr, what: Option<Expr>) -> Expr {
    match (side, what) {
        (_, None) => call("trim", vec![text]),
        (Some(Kw::LEADING), Some(what)) => call("trim leading", vec![text, what]),
        (Some(Kw::TRAILING), Some(what)) => call("trim trailing", vec![text, what]),
        (_, Some(what)) => call("trim both", vec![text, what]),
    }
}
