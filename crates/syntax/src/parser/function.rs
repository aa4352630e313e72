//! Operands that begin with a word: calls, special forms (CASE, CAST, EXTRACT ...), names.

use types::{Error, Result, errno};

use super::Parser;
use crate::ast::{CastType, Expr, TemporalKind};
use crate::lexer::keywords::is_reserved;
use crate::lexer::token::Kind;

/// Functions whose name is a reserved word.
const RESERVED_FUNCTIONS: &[&str] = &[
    "if", "left", "right", "replace", "insert", "repeat", "mod", "database", "schema", "char", "grouping",
];

/// Functions whose number of arguments is part of the grammar: another number is error 1064, not 1582.
const ARITY: &[(&str, usize, usize)] = &[
    ("ascii", 1, 1),
    ("charset", 1, 1),
    ("coalesce", 1, usize::MAX),
    ("collation", 1, 1),
    ("database", 0, 0),
    ("date", 1, 1),
    ("day", 1, 1),
    ("format", 2, 3),
    ("hour", 1, 1),
    ("if", 3, 3),
    ("insert", 4, 4),
    ("left", 2, 2),
    ("microsecond", 1, 1),
    ("minute", 1, 1),
    ("mod", 2, 2),
    ("month", 1, 1),
    ("quarter", 1, 1),
    ("repeat", 2, 2),
    ("replace", 3, 3),
    ("reverse", 1, 1),
    ("right", 2, 2),
    ("row_count", 0, 0),
    ("schema", 0, 0),
    ("second", 1, 1),
    ("time", 1, 1),
    ("timestamp", 1, 2),
    ("truncate", 2, 2),
    ("user", 0, 0),
    ("week", 1, 2),
    ("year", 1, 1),
];

/// Names that are functions only when the parenthesis follows at once, but with IGNORE_SPACE. Source: manual 9.2.5
/// "Function Name Parsing and Resolution".
const GLUED: &[&str] = &[
    "adddate",
    "bit_and",
    "bit_or",
    "bit_xor",
    "cast",
    "count",
    "curdate",
    "curtime",
    "date_add",
    "date_sub",
    "extract",
    "group_concat",
    "max",
    "mid",
    "min",
    "now",
    "position",
    "session_user",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "subdate",
    "substr",
    "substring",
    "sum",
    "sysdate",
    "system_user",
    "trim",
    "variance",
    "var_pop",
    "var_samp",
];

/// Aggregates by name, and how many arguments they have. GROUP_CONCAT has a syntax of its own.
const AGGREGATES: &[(&str, usize)] = &[
    ("avg", 1),
    ("bit_and", 1),
    ("bit_or", 1),
    ("bit_xor", 1),
    ("count", 1),
    ("json_arrayagg", 1),
    ("json_objectagg", 2),
    ("max", 1),
    ("min", 1),
    ("std", 1),
    ("stddev", 1),
    ("stddev_pop", 1),
    ("stddev_samp", 1),
    ("sum", 1),
    ("var_pop", 1),
    ("var_samp", 1),
    ("variance", 1),
];

/// Aggregates that may be of DISTINCT values.
const DISTINCT_AGGREGATES: &[&str] = &["avg", "count", "max", "min", "sum"];

const WINDOW_FUNCTIONS: &[&str] = &[
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

const UNITS: &[&str] = &[
    "microsecond",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "second_microsecond",
    "minute_microsecond",
    "minute_second",
    "hour_microsecond",
    "hour_second",
    "hour_minute",
    "day_microsecond",
    "day_second",
    "day_minute",
    "day_hour",
    "year_month",
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
        let word = self.word().to_ascii_lowercase();
        let next = self.peek();
        let is_call = next.kind == Kind::LeftParen;
        if let Some(expr) = self.special_form(&word, is_call)? {
            return Ok(expr);
        }
        if is_call && !self.is_glued(&word) {
            return self.not_glued(&word);
        }
        if is_call {
            return self.call(&word);
        }
        match (word.as_str(), next.kind) {
            ("date", Kind::Text) => return self.temporal(TemporalKind::Date),
            ("time", Kind::Text) => return self.temporal(TemporalKind::Time),
            ("timestamp", Kind::Text) => return self.temporal(TemporalKind::Timestamp),
            _ => {}
        }
        if word.starts_with('_')
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

    /// Whether the parenthesis behind a function's name stands where it must.
    fn is_glued(&self, word: &str) -> bool {
        self.mode.ignore_space || !GLUED.contains(&word) || self.peek().start == self.start() + word.len()
    }

    /// `COUNT (*)`: with a blank, the name is not the built-in function.
    fn not_glued(&mut self, word: &str) -> Result<Expr> {
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
    fn special_form(&mut self, word: &str, is_call: bool) -> Result<Option<Expr>> {
        let expr = match word {
            "null" => self.word_literal(Expr::Null),
            "true" => self.word_literal(Expr::Bool(true)),
            "false" => self.word_literal(Expr::Bool(false)),
            "case" => self.case()?,
            "current_timestamp" | "localtime" | "localtimestamp" => self.clock("now", true)?,
            "current_date" => self.clock("curdate", false)?,
            "current_time" => self.clock("curtime", true)?,
            "utc_date" => self.clock("utc_date", false)?,
            "utc_time" => self.clock("utc_time", true)?,
            "utc_timestamp" => self.clock("utc_timestamp", true)?,
            "current_user" => self.clock("current_user", false)?,
            "interval" => self.interval_operand()?,
            "exists" if is_call => {
                self.advance();
                self.exists()?
            }
            "match" => {
                return Err(Error::not_supported("full-text search (MATCH)", "use LIKE"));
            }
            _ if !is_call => return Ok(None),
            "cast" => self.cast()?,
            "convert" => self.convert()?,
            "row" => {
                self.advance();
                let args = self.arguments()?;
                if args.len() < 2 {
                    return self.fail();
                }
                self.grow()?;
                Expr::Row(args)
            }
            "default" => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let name = self.column_name()?;
                self.expect_kind(Kind::RightParen)?;
                Expr::Default(Some(name))
            }
            "values" => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let name = self.column_name()?;
                self.expect_kind(Kind::RightParen)?;
                Expr::Values(name)
            }
            "extract" => {
                self.open(word)?;
                let unit = self.unit()?;
                self.expect("FROM")?;
                let date = self.expression()?;
                self.close(call("extract", vec![unit, date]))?
            }
            "timestampadd" | "timestampdiff" => {
                self.open(word)?;
                let unit = self.unit()?;
                self.expect_kind(Kind::Comma)?;
                let mut args = vec![unit];
                args.extend(self.comma_separated(Self::expression)?);
                self.close(call(word, args))?
            }
            "get_format" => {
                self.open(word)?;
                let Some(kind) = self.eat_any(&["DATE", "TIME", "DATETIME", "TIMESTAMP"]) else {
                    return self.fail();
                };
                self.expect_kind(Kind::Comma)?;
                let region = self.expression()?;
                self.close(call(word, vec![Expr::Text(kind.to_ascii_lowercase()), region]))?
            }
            "date_add" | "adddate" => self.date_arithmetic(word, "date_add", "adddate")?,
            "date_sub" | "subdate" => self.date_arithmetic(word, "date_sub", "subdate")?,
            "trim" => self.trim()?,
            "position" => {
                self.open(word)?;
                let needle = self.arithmetic(0)?;
                self.expect("IN")?;
                let text = self.expression()?;
                self.close(call("locate", vec![needle, text]))?
            }
            "substring" | "substr" | "mid" => self.substring(word)?,
            "char" => self.char_function()?,
            "weight_string" => return Err(Error::not_supported("WEIGHT_STRING()", "")),
            "json_table" => return Err(Error::not_supported("JSON_TABLE()", "")),
            "group_concat" => self.group_concat()?,
            "st_collect" => return Err(Error::not_supported("ST_COLLECT()", "")),
            _ if WINDOW_FUNCTIONS.contains(&word) => return Err(Self::no_windows()),
            _ => match AGGREGATES.iter().find(|(name, _)| *name == word) {
                Some((name, arguments)) => self.aggregate(name, *arguments)?,
                None => return Ok(None),
            },
        };
        if is_call && self.is("OVER") {
            return Err(Self::no_windows());
        }
        Ok(Some(expr))
    }

    fn no_windows() -> Error {
        Error::not_supported("window functions", "use GROUP BY")
    }

    fn word_literal(&mut self, literal: Expr) -> Expr {
        self.advance();
        literal
    }

    /// Takes the name and the parenthesis behind it, which must follow at once.
    fn open(&mut self, word: &str) -> Result<()> {
        self.advance();
        if !self.mode.ignore_space && GLUED.contains(&word) && self.start() != self.previous_end() {
            return self.fail();
        }
        self.expect_kind(Kind::LeftParen)
    }

    fn close(&mut self, expr: Expr) -> Result<Expr> {
        self.expect_kind(Kind::RightParen)?;
        self.grow()?;
        Ok(expr)
    }

    /// `(a, b, ...)`, also `()`.
    fn arguments(&mut self) -> Result<Vec<Expr>> {
        self.expect_kind(Kind::LeftParen)?;
        if self.eat_kind(Kind::RightParen) {
            return Ok(Vec::new());
        }
        if self.at_query() {
            return Err(Self::no_subqueries());
        }
        let args = self.comma_separated(Self::expression)?;
        self.expect_kind(Kind::RightParen)?;
        Ok(args)
    }

    /// `(a, b, ...)` of a number of arguments that the grammar knows.
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
    fn call(&mut self, word: &str) -> Result<Expr> {
        if is_reserved(word) && !RESERVED_FUNCTIONS.contains(&word) {
            return self.fail();
        }
        let spelling = self.word();
        self.advance();
        let args = match ARITY.iter().find(|(name, ..)| *name == word) {
            Some((_, fewest, most)) => self.counted_arguments(*fewest, *most)?,
            None => self.arguments()?,
        };
        if self.is("OVER") {
            return Err(Self::no_windows());
        }
        self.grow()?;
        let name = match word {
            "session_user" | "system_user" => "user",
            "schema" => "database",
            _ => spelling,
        };
        Ok(call(name, args))
    }

    /// `NOW`-like words that need no parentheses.
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
        if !self.is_glued(name) {
            return self.not_glued(name);
        }
        self.advance();
        self.expect_kind(Kind::LeftParen)?;
        let mut args = Vec::new();
        let distinct = DISTINCT_AGGREGATES.contains(&name) && self.eat("DISTINCT");
        if !distinct && name != "json_objectagg" {
            self.eat("ALL");
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
        if !self.is_glued("group_concat") {
            return self.not_glued("group_concat");
        }
        self.advance();
        self.expect_kind(Kind::LeftParen)?;
        let distinct = self.eat("DISTINCT");
        let args = self.comma_separated(Self::expression)?;
        let order_by = self.order_by()?;
        let separator = if self.eat("SEPARATOR") {
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
        let operand = if self.is("WHEN") {
            None
        } else {
            Some(Box::new(self.expression()?))
        };
        let mut branches = Vec::new();
        while self.eat("WHEN") {
            let when = self.expression()?;
            self.expect("THEN")?;
            branches.push((when, self.expression()?));
        }
        if branches.is_empty() {
            return self.fail();
        }
        let otherwise = if self.eat("ELSE") {
            Some(Box::new(self.expression()?))
        } else {
            None
        };
        self.expect("END")?;
        self.grow()?;
        Ok(Expr::Case {
            operand,
            branches,
            otherwise,
        })
    }

    fn cast(&mut self) -> Result<Expr> {
        self.open("cast")?;
        let operand = self.expression()?;
        if self.is("AT") {
            return Err(Error::not_supported("CAST ... AT TIME ZONE", "use CONVERT_TZ()"));
        }
        self.expect("AS")?;
        let ty = self.cast_type()?;
        self.close(Expr::Cast {
            operand: Box::new(operand),
            ty,
        })
    }

    fn convert(&mut self) -> Result<Expr> {
        self.open("convert")?;
        let operand = Box::new(self.expression()?);
        let expr = if self.eat("USING") {
            let charset = if self.eat("BINARY") {
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

    fn cast_type(&mut self) -> Result<CastType> {
        let word = self.word().to_ascii_lowercase();
        self.advance();
        let ty = match word.as_str() {
            "binary" => CastType::Binary(self.optional_length()?),
            "char" | "character" => {
                let length = self.optional_length()?;
                let (charset, binary) = self.cast_charset()?;
                CastType::Char {
                    length,
                    charset,
                    binary,
                }
            }
            "nchar" => CastType::NChar(self.optional_length()?),
            "signed" | "unsigned" => {
                self.eat_any(&["INTEGER", "INT"]);
                if word == "signed" {
                    CastType::Signed
                } else {
                    CastType::Unsigned
                }
            }
            "date" => CastType::Date,
            "time" => CastType::Time(self.fractional_digits()?),
            "datetime" => CastType::DateTime(self.fractional_digits()?),
            "year" => CastType::Year,
            "decimal" | "dec" => {
                let (precision, scale) = self.precision_and_scale()?;
                CastType::Decimal { precision, scale }
            }
            "float" => match self.optional_length()? {
                None | Some(0..=24) => CastType::Float,
                Some(25..=53) => CastType::Double,
                Some(_) => {
                    return Err(Error::new(
                        errno::ER_TOO_BIG_PRECISION,
                        "Too-big precision specified for 'CAST'. Maximum is 53.",
                    ));
                }
            },
            "double" => {
                self.eat("PRECISION");
                CastType::Double
            }
            "real" => CastType::Double,
            "json" => CastType::Json,
            _ => {
                return Err(self.error_at(self.previous_end() - word.len().min(self.previous_end())));
            }
        };
        if self.is("ARRAY") {
            return Err(Error::not_supported("CAST ... AS ... ARRAY", ""));
        }
        Ok(ty)
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

    /// `(p[, s])` of DECIMAL; 10 and 0 where nothing is said.
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
            if self.eat("BINARY") {
                binary = true;
            } else if self.eat("CHARSET")
                || self.eat_all(&["CHARACTER", "SET"])
                || self.eat_all(&["CHAR", "SET"])
            {
                charset = Some(if self.eat("BINARY") {
                    "binary".into()
                } else {
                    self.name_or_text()?
                });
            } else if self.eat("ASCII") {
                charset = Some("ascii".into());
            } else {
                return Ok((charset, binary));
            }
        }
    }

    /// At `INTERVAL` that begins an interval, not the function of that name.
    pub fn at_interval(&self) -> bool {
        self.is("INTERVAL")
    }

    /// `INTERVAL amount unit`: the amount, and the unit as a string literal.
    pub fn interval(&mut self) -> Result<(Expr, Expr)> {
        self.expect("INTERVAL")?;
        let amount = self.expression()?;
        Ok((amount, self.unit()?))
    }

    /// `INTERVAL n unit + date`, or the function `INTERVAL(n, a, b ...)`.
    fn interval_operand(&mut self) -> Result<Expr> {
        self.advance();
        let amount = self.expression()?;
        if let Expr::Row(args) = amount {
            return Ok(call("interval", args));
        }
        let unit = self.unit()?;
        self.expect_kind(Kind::Plus)?;
        let date = self.nested(|parser| parser.arithmetic(4))?;
        self.grow()?;
        Ok(call("date_add", vec![date, amount, unit]))
    }

    /// A unit of time, as a string literal in lower case.
    fn unit(&mut self) -> Result<Expr> {
        let word = self.word().to_ascii_lowercase();
        let unit = word.strip_prefix("sql_tsi_").unwrap_or(&word);
        if self.kind() != Kind::Word || !UNITS.contains(&unit) {
            return self.fail();
        }
        self.advance();
        Ok(Expr::Text(unit.to_string()))
    }

    /// `DATE_ADD(d, INTERVAL n unit)`, `ADDDATE(d, n)`.
    fn date_arithmetic(&mut self, word: &str, interval_name: &str, days_name: &str) -> Result<Expr> {
        self.open(word)?;
        let date = self.expression()?;
        self.expect_kind(Kind::Comma)?;
        if self.at_interval() {
            let (amount, unit) = self.interval()?;
            return self.close(call(interval_name, vec![date, amount, unit]));
        }
        if word != days_name {
            return self.fail();
        }
        let days = self.expression()?;
        self.close(call(interval_name, vec![date, days, Expr::Text("day".into())]))
    }

    fn trim(&mut self) -> Result<Expr> {
        self.open("trim")?;
        let side = self.eat_any(&["LEADING", "TRAILING", "BOTH"]);
        if side.is_some() && self.eat("FROM") {
            let text = self.expression()?;
            return self.close(trim_call(side, text, Some(Expr::Text(" ".into()))));
        }
        let first = self.expression()?;
        if self.eat("FROM") {
            let text = self.expression()?;
            return self.close(trim_call(side, text, Some(first)));
        }
        if side.is_some() {
            return self.fail();
        }
        self.close(trim_call(None, first, None))
    }

    fn substring(&mut self, word: &str) -> Result<Expr> {
        self.open(word)?;
        let mut args = vec![self.expression()?];
        if self.eat("FROM") {
            args.push(self.expression()?);
            if self.eat("FOR") {
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
        self.open("char")?;
        let mut args = self.comma_separated(Self::expression)?;
        // The character set is always said: a last argument that is a string could be taken for one.
        let charset = if self.eat("USING") && !self.eat("BINARY") {
            self.name_or_text()?
        } else {
            "binary".into()
        };
        args.push(Expr::Text(charset));
        self.close(call("char", args))
    }
}

fn trim_call(side: Option<&str>, text: Expr, what: Option<Expr>) -> Expr {
    match (side, what) {
        (_, None) => call("trim", vec![text]),
        (Some("LEADING"), Some(what)) => call("trim leading", vec![text, what]),
        (Some("TRAILING"), Some(what)) => call("trim trailing", vec![text, what]),
        (_, Some(what)) => call("trim both", vec![text, what]),
    }
}
