//! From SQL values to JSON and back.

use std::cmp::Ordering;

use types::temporal::{DateTime, Time};
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::parse;
use super::value::Json;
use crate::cast::conversion::Conversion;
use crate::cast::number_text::parse_double;
use crate::datum::Datum;
use crate::quotient::computed_type;
use crate::temporal::parse::{ParsedDateTime, ParsedTime};
use crate::temporal::{self, DateRules};
use crate::{EvalContext, Expr};

/// Parses an argument of a function: error 3141 names the argument (from 1) and the function.
pub(crate) fn parse_argument(text: &[u8], argument: usize, function: &str) -> Result<Json> {
    parse::parse(text).map_err(|e| {
        Error::new(
            errno::ER_INVALID_JSON_TEXT_IN_PARAM,
            format!(
                "Invalid JSON text in argument {argument} to function {function}: \"{}\" at position {}.",
                e.message, e.position
            ),
        )
    })
}

/// Checks and normalises a text for a JSON column: error 3140.
pub(crate) fn normalise(text: &[u8], column: &str) -> Result<String> {
    match parse::parse(text) {
        Ok(json) => Ok(json.to_text()),
        Err(e) => Err(Error::new(
            errno::ER_INVALID_JSON_TEXT,
            format!(
                "Invalid JSON text: \"{}\" at position {} in value for column '{column}'.",
                e.message, e.position
            ),
        )),
    }
}

/// `CAST(... AS JSON)`: text is parsed, other values become scalars.
pub(crate) fn cast(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<Json> {
    let from = &conversion.from;
    if from.is_string() && !from.is_binary() && from.kind != TypeKind::Json {
        return parse_argument(value.bytes(), 1, "cast_as_json");
    }
    Ok(of_result(&value, conversion.input, conversion.ctx))
}

/// Whether an expression is a truth value, which JSON distinguishes from 0 and 1.
pub(crate) fn is_boolean(expr: &Expr) -> bool {
    match expr {
        Expr::Call { ty, .. } | Expr::Literal { ty, .. } => *ty == SqlType::BOOL,
        _ => false,
    }
}

/// The JSON value of an expression's result, with all digits that were computed.
pub(crate) fn of_result(value: &Datum<'_>, expr: &Expr, ctx: &EvalContext) -> Json {
    let ty = computed_type(expr, ctx.div_precision_increment);
    match value {
        Datum::Decimal(d) => Json::Decimal(crate::eval::output::fit_decimal(*d, &ty)),
        value => of_value(value, &ty, is_boolean(expr)),
    }
}

/// The JSON value of an SQL value: JSON as it is, text as a string.
pub(crate) fn of_value(value: &Datum<'_>, ty: &SqlType, boolean: bool) -> Json {
    match value {
        Datum::Null => Json::Null,
        Datum::Int(us) if ty.kind == TypeKind::Time => Json::String(Time(*us).to_text(6)),
        Datum::Int(v) if boolean => Json::Bool(*v != 0),
        Datum::Int(v) => Json::Int(*v),
        Datum::UInt(packed) if ty.kind == TypeKind::Date => {
            Json::String(DateTime::unpack(*packed).date_text())
        }
        Datum::UInt(packed) if ty.is_datetime() => Json::String(DateTime::unpack(*packed).datetime_text(6)),
        Datum::UInt(bits) if ty.kind == TypeKind::Bit => {
            let bytes = Value::UInt(*bits).to_text(ty).unwrap_or_default();
            Json::String(format!("base64:type16:{}", crate::string::base64::encode(&bytes)))
        }
        Datum::UInt(number) if ty.has_members() => Json::String(Value::UInt(*number).display_text(ty)),
        Datum::UInt(v) => Json::UInt(*v),
        Datum::Double(v) => Json::Double(*v),
        Datum::Decimal(d) => Json::Decimal(*d),
        // JSON text was checked when it was made.
        Datum::String(text) if ty.kind == TypeKind::Json => {
            parse::parse(text.as_bytes()).unwrap_or(Json::Null)
        }
        Datum::String(text) => Json::String((*text).to_owned()),
        Datum::Json(json) => (*json).clone(),
        Datum::Bytes(bytes) => {
            Json::String(format!("base64:type15:{}", crate::string::base64::encode(bytes)))
        }
    }
}

/// Compares two values at least one of which is JSON.
pub(crate) fn compare(a: &Datum<'_>, ta: &SqlType, b: &Datum<'_>, tb: &SqlType) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    // JSON has dates and times of its own, above all else; as text they are only strings.
    match (ta.is_temporal(), tb.is_temporal()) {
        (true, false) => return Some(Ordering::Greater),
        (false, true) => return Some(Ordering::Less),
        _ => {}
    }
    let boolean = |t: &SqlType| *t == SqlType::BOOL;
    let (a, b) = (of_value(a, ta, boolean(ta)), of_value(b, tb, boolean(tb)));
    Some(a.compare(&b))
}

/// The SQL value of a JSON text that is a number, a truth value or a string; `None` for anything else.
pub(crate) fn scalar(text: &str) -> Option<(Value, SqlType)> {
    Some(match parse::parse(text.as_bytes()).ok()? {
        Json::Bool(b) => (Value::Int(i64::from(b)), SqlType::BIGINT),
        Json::Int(v) => (Value::Int(v), SqlType::BIGINT),
        Json::UInt(v) => (Value::UInt(v), SqlType::BIGINT_UNSIGNED),
        Json::Double(v) => (Value::Double(v), SqlType::DOUBLE),
        Json::Decimal(d) => (Value::Decimal(d), SqlType::decimal(65, d.scale)),
        Json::String(s) => {
            // Only text that is a number counts as one.
            let complete = parse_double(s.as_bytes()).complete && !s.is_empty();
            if !complete {
                return None;
            }
            let ty = SqlType::varchar(s.len() as u32, types::Collation::Utf8mb4Bin);
            (Value::String(s), ty)
        }
        Json::Null | Json::Array(_) | Json::Object(_) => return None,
    })
}

/// The name in messages of the types that [`datetime`] and [`time`] read.
pub(crate) const MOMENT: &str = "DATE/TIME/DATETIME/TIMESTAMP";

/// The point in time that a JSON string is, whole.
pub(crate) fn datetime(text: &str, rules: DateRules) -> Option<ParsedDateTime> {
    let inner = string(text)?;
    temporal::parse::datetime(inner.as_bytes(), rules).filter(|parsed| !parsed.truncated)
}

/// The TIME that a JSON string is, whole.
pub(crate) fn time(text: &str) -> Option<ParsedTime> {
    temporal::time_of_text(string(text)?.as_bytes())
}

/// The text of a JSON string without quotes and escapes.
pub(crate) fn string(text: &str) -> Option<String> {
    if !text.starts_with('"') {
        return None;
    }
    match parse::parse(text.as_bytes()) {
        Ok(Json::String(inner)) => Some(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        match parse::parse(text.as_bytes()) {
            Ok(json) => json.to_text(),
            Err(e) => format!("{} {}", e.message, e.position),
        }
    }

    /// As MySQL 8.0.33 prints `CAST(... AS JSON)`.
    #[test]
    fn texts_are_normalised() {
        for (text, expected) in [
            (r#"{"b":1,"aa":2,"a":3,"b":4}"#, r#"{"a": 3, "b": 4, "aa": 2}"#),
            (
                "[1,2.0,1e2,1.5e300,-0,0.1,18446744073709551615,-9223372036854775809]",
                "[1, 2.0, 100.0, 1.5e300, 0, 0.1, 18446744073709551615, -9.223372036854776e18]",
            ),
            (r#""a\u00e9\n\t\u0001/\/""#, r#""aé\n\t\u0001//""#),
            (" [ 1 , 2 ] ", "[1, 2]"),
        ] {
            assert_eq!(normal(text), expected);
        }
    }

    #[test]
    fn order_is_by_type_first() {
        let parse = |t: &str| parse::parse(t.as_bytes()).unwrap();
        let ascending = [
            "null",
            "-1",
            "1",
            "1.5",
            "\"a\"",
            "\"b\"",
            "{}",
            "{\"a\": 1}",
            "[1]",
            "[2]",
            "false",
            "true",
        ];
        for pair in ascending.windows(2) {
            assert_eq!(
                parse(pair[0]).compare(&parse(pair[1])),
                Ordering::Less,
                "{pair:?}"
            );
        }
        assert_eq!(parse("1").compare(&parse("1.0")), Ordering::Equal);
    }

    #[test]
    fn unquoting() {
        assert_eq!(string(r#""a\nb""#).as_deref(), Some("a\nb"));
        assert_eq!(string("[1]"), None);
        assert_eq!(string("\"abc"), None);
        let day = |text: &str| datetime(text, DateRules::CALENDAR).map(|parsed| parsed.value.date_text());
        assert_eq!(day(r#""2024-02-29""#).as_deref(), Some("2024-02-29"));
        for text in [
            r#""2024-02-30""#,
            r#""2024-02-29x""#,
            "20240229",
            "[]",
            "null",
            r#""""#,
        ] {
            assert_eq!(day(text), None, "{text}");
        }
        let seconds = |text: &str| time(text).map(|parsed| parsed.us / 1_000_000);
        assert_eq!(seconds(r#""00:01:02""#), Some(62));
        assert_eq!(seconds(r#""00:01:02x""#), None);
        assert_eq!(seconds("62"), None);
    }
}
