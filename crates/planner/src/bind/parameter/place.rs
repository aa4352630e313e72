//! What type a parameter has as an argument of each function and operator: the one table of it.
//!
//! In MySQL it is each function that says so when it resolves its own type. Most take the type of the first argument
//! that has one, or one type for each argument, a text unless they need something else.

use functions::Expr;
use types::{Collation, SqlType};

use super::kind::{self, COUNT, GUESSED_CHARS, WIDEST_DECIMAL};
use syntax::ast;

/// Where the type of a parameter comes from.
enum Source {
    /// From the first of these arguments that has a type. If none has one, from the place of the call, if that may have
    /// this kind; otherwise it is this type.
    First(fn(usize) -> bool, SqlType),
    /// It is always this.
    Always(SqlType),
}

/// What the result of a call shows of its parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Its type or its value, so values are converted to the type.
    Shows,
    /// Nothing: the value may stay as it was sent.
    None,
}

/// A call that has parameters as arguments.
pub(super) struct Call<'a> {
    pub function: &'a str,
    pub args: &'a [&'a ast::Expr],
    /// The arguments that are known before the types of parameters are.
    pub bound: &'a [Option<Expr>],
    /// The type of the call's own place.
    pub around: Option<SqlType>,
    /// `@@collation_connection`
    pub collation: Collation,
}

impl Call<'_> {
    /// The type of a parameter as the argument at `position`, and whether values are converted to it.
    pub fn parameter(&self, position: usize) -> (SqlType, Effect) {
        let (source, effect) = self.rule(position);
        let ty = match source {
            Source::Always(ty) => ty,
            Source::First(among, otherwise) => {
                let mut others = self.bound.iter().enumerate().filter(|(at, _)| among(*at));
                let first = others.find_map(|(_, other)| kind::beside(&other.as_ref()?.ty()));
                let fits = |around: &SqlType| otherwise.is_string() || around.is_numeric();
                first.or(self.around.filter(fits)).unwrap_or(otherwise)
            }
        };
        (ty, self.effect_of(position, &ty, effect))
    }

    /// Some take a value as it was sent: NULLIF shows a date or DECIMAL so, FIELD compares dates, and operators of bits
    /// read numbers with a fraction.
    fn effect_of(&self, position: usize, ty: &SqlType, effect: Effect) -> Effect {
        let as_sent = match self.function {
            "nullif" => position == 0 && (ty.is_temporal() || ty.is_decimal()),
            "field" => ty.is_temporal(),
            "&" | "|" | "^" => ty.is_decimal() || ty.is_float(),
            _ => false,
        };
        if as_sent { Effect::None } else { effect }
    }

    fn rule(&self, position: usize) -> (Source, Effect) {
        let text = SqlType::varchar(GUESSED_CHARS, self.collation);
        if let Some(rule) = of_operator(self.function, position, text) {
            return rule;
        }
        if let Some(ty) = read_as_moment(self.function, position) {
            return (Source::Always(ty), Effect::None);
        }
        if let Some(ty) = of_json(self.function, position) {
            return (Source::Always(ty.unwrap_or(text)), Effect::None);
        }
        if let Some(ty) = read_as_double(self.function) {
            return (Source::Always(ty), Effect::None);
        }
        match self.of_interval(position) {
            Some(rule) => rule,
            None => of_function(self.function, position, text),
        }
    }

    /// An argument of a function that adds an interval to a date. The unit decides about the types of both.
    fn of_interval(&self, position: usize) -> Option<(Source, Effect)> {
        let (unit, amount, moment) = match self.function {
            "date_add" | "date_sub" => (2, 1, 0),
            "timestampadd" => (0, 1, 2),
            _ => return None,
        };
        let ast::Expr::Keyword(unit) = self.args.get(unit)? else {
            return None;
        };
        if position == moment {
            let ty = match DAYS.contains(&unit.as_str()) {
                true => SqlType::DATE,
                false => SqlType::datetime(6),
            };
            return Some((Source::Always(ty), Effect::Shows));
        }
        let ty = match unit.as_str() {
            "second" => WIDEST_DECIMAL,
            unit if unit.contains('_') => return None,
            _ => COUNT,
        };
        (position == amount).then_some((Source::Always(ty), Effect::Shows))
    }
}

/// Units of intervals that leave a date a date.
const DAYS: &[&str] = &["day", "week", "month", "quarter", "year", "year_month"];

/// Bytes, for the operators of bits, of as many as an aggregate of bits takes, or any number.
const BYTES: SqlType = SqlType::varchar(u16::MAX as u32, Collation::Binary);
const AGGREGATED_BYTES: SqlType = SqlType::varchar(511, Collation::Binary);

/// Operators, and functions whose arguments are compared or chosen from.
fn of_operator(function: &str, position: usize, text: SqlType) -> Option<(Source, Effect)> {
    use Effect::{None as Hidden, Shows};
    use Source::{Always, First};
    let any: fn(usize) -> bool = |_| true;
    Some(match function {
        "+" | "-" | "*" | "/" | "%" | "mod" => (First(any, SqlType::COMPUTED_DOUBLE), Shows),
        "div" => (First(any, COUNT), Shows),
        "unary -" | "abs" | "ceil" | "ceiling" | "floor" => (First(any, SqlType::COMPUTED_DOUBLE), Shows),
        "&" | "|" | "^" => (First(any, BYTES), Shows),
        "<<" | ">>" if position == 1 => (Always(COUNT), Shows),
        "<<" | ">>" | "~" | "bit_count" => (Always(BYTES), Shows),
        "bit_and" | "bit_or" | "bit_xor" => (Always(AGGREGATED_BYTES), Shows),
        "=" | "<=>" | "<>" | "<" | "<=" | ">" | ">=" | "between" | "in" | "compared" | "strcmp" => {
            (First(any, text), Hidden)
        }
        "and" | "or" | "xor" | "not" | "is true" | "is not true" | "is false" | "is not false"
        | "is unknown" | "is not unknown" => (Always(COUNT), Hidden),
        "is null" | "is not null" | "like" | "regexp" => (Always(text), Hidden),
        "coalesce" | "ifnull" | "nullif" | "greatest" | "least" | "case" | "field" => {
            (First(any, text), Shows)
        }
        "if" if position == 0 => (Always(COUNT), Hidden),
        "if" | "nth of" => (First(|at| at > 0, text), Shows),
        _ if counts_rows(function, position) => (Always(COUNT), Shows),
        "lag" | "lead" => (First(|at| at != 1, text), Shows),
        _ => return None,
    })
}

/// Whether an argument is a number of rows of a window, or of parts of it.
pub(super) fn counts_rows(function: &str, position: usize) -> bool {
    matches!(
        (function, position),
        ("lag" | "lead" | "nth_value", 1) | ("ntile", 0)
    )
}

/// The position of the first argument that the result of a call may be, or that is compared with others as one of those.
pub(super) fn first_chosen(function: &str) -> Option<usize> {
    match function {
        "coalesce" | "ifnull" | "greatest" | "least" | "case" | "field" => Some(0),
        "if" => Some(1),
        _ => None,
    }
}

/// The date or time that a function reads an argument as, for a part of it or to calculate with it. The type of its result
/// does not depend on the argument's, so values stay as they are sent.
fn read_as_moment(function: &str, position: usize) -> Option<SqlType> {
    Some(match (function, position) {
        ("year" | "month" | "quarter" | "week" | "yearweek" | "date_format" | "time_format", 0)
        | ("unix_timestamp" | "timestamp" | "convert_tz", 0)
        | ("day" | "dayofmonth" | "dayofweek" | "dayofyear" | "dayname" | "monthname", 0)
        | ("weekday" | "weekofyear" | "hour" | "minute" | "second" | "microsecond" | "time", 0)
        | ("last_day" | "to_days" | "to_seconds" | "datediff", _)
        | ("extract" | "timestampdiff", 1..) => SqlType::datetime(6),
        ("date", 0) => SqlType::DATE,
        ("time_to_sec", 0) | ("addtime" | "subtime", 0) => SqlType::time(6),
        _ => return None,
    })
}

/// A document of JSON, or `Some(None)` for a path, a name or a value that becomes a scalar.
fn of_json(function: &str, position: usize) -> Option<Option<SqlType>> {
    if matches!(function, "json_quote" | "json_unquote") || !function.starts_with("json_") {
        return None;
    }
    let is_document = match function {
        "json_set" | "json_insert" | "json_replace" => position.is_multiple_of(2),
        "json_contains" => position < 2,
        "json_extract" | "json_length" | "json_keys" | "json_type" | "json_depth" | "json_pretty"
        | "json_contains_path" | "json_search" => position == 0,
        _ => false,
    };
    Some(is_document.then_some(SqlType::JSON))
}

fn read_as_double(function: &str) -> Option<SqlType> {
    let reads = matches!(
        function,
        "acos"
            | "asin"
            | "atan"
            | "atan2"
            | "cos"
            | "cot"
            | "degrees"
            | "exp"
            | "ln"
            | "log"
            | "log10"
            | "log2"
            | "pow"
            | "power"
            | "radians"
            | "rand"
            | "sign"
            | "sin"
            | "sleep"
            | "sqrt"
            | "tan"
    );
    reads.then_some(SqlType::COMPUTED_DOUBLE)
}

/// Any other function.
fn of_function(function: &str, position: usize, text: SqlType) -> (Source, Effect) {
    use Effect::{None as Hidden, Shows};
    use Source::{Always, First};
    let any: fn(usize) -> bool = |_| true;
    match (function, position) {
        ("left" | "right" | "repeat" | "lpad" | "rpad" | "format" | "round" | "truncate" | "get_lock", 1)
        | ("week" | "yearweek" | "sha2" | "weight_string", 1)
        | ("substring" | "substr" | "mid" | "insert" | "conv", 1 | 2)
        | ("locate" | "position" | "substring_index", 2)
        | ("regexp_instr", 2..=4)
        | ("regexp_substr", 2 | 3)
        | ("regexp_replace", 3 | 4)
        | ("export_set", 0 | 4)
        | ("space" | "elt" | "make_set" | "from_days" | "last_insert_id" | "inet_ntoa", 0)
        | ("makedate" | "period_add" | "period_diff", _)
        | ("maketime", 0 | 1) => (Always(COUNT), Shows),
        // They read a text otherwise than as the number in it.
        ("bin" | "oct", 0) | ("char" | "interval", _) => (Always(COUNT), Hidden),
        ("sum" | "avg", _) => (Always(SqlType::COMPUTED_DOUBLE), Shows),
        ("round" | "truncate" | "format", 0) | ("maketime", 2) => (Always(WIDEST_DECIMAL), Shows),
        ("from_unixtime" | "sec_to_time", 0) => (Always(WIDEST_DECIMAL), Hidden),
        ("std" | "stddev" | "stddev_pop" | "stddev_samp" | "variance" | "var_pop" | "var_samp", _) => {
            (Always(WIDEST_DECIMAL), Hidden)
        }
        ("timestamp" | "addtime" | "subtime", 1) => (Always(SqlType::time(6)), Shows),
        ("timediff", _) => (First(any, text), Hidden),
        _ => (Always(text), Shows),
    }
}
