//! Conversions from SQL values to JSON and back.

use std::cmp::Ordering;

use types::json::{Json, JsonBinary, JsonRef, JsonView, field_type};
use types::temporal::{DateTime, Time};
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::loss::JsonLoss;
use super::order;
use crate::cast::conversion::Conversion;
use crate::cast::number_text::{parse_double, parse_integer};
use crate::datum::Datum;
use crate::quotient::computed_type;
use crate::temporal::parse::{ParsedDateTime, ParsedTime};
use crate::temporal::{self, DateRules};
use crate::{EvalContext, Expr};

/// Parses an argument of a function: error 3141 names the argument (from 1) and the function.
pub(crate) fn parse_argument(text: &[u8], argument: usize, function: &str) -> Result<JsonBinary> {
    let invalid = |message: &str, position: usize| {
        Error::new(
            errno::ER_INVALID_JSON_TEXT_IN_PARAM,
            format!(
                "Invalid JSON text in argument {argument} to function {function}: \"{message}\" at position {position}."
            ),
        )
    };
    JsonBinary::parse(text).map_err(|error| error.into_error(invalid))
}

/// Parses a text for a JSON column: error 3140.
pub(crate) fn parse_for_column(text: &[u8], column: &str) -> Result<JsonBinary> {
    let invalid = |message: &str, position: usize| {
        Error::new(
            errno::ER_INVALID_JSON_TEXT,
            format!(
                "Invalid JSON text: \"{message}\" at position {position} in value for column '{column}'."
            ),
        )
    };
    JsonBinary::parse(text).map_err(|error| error.into_error(invalid))
}

/// `CAST(... AS JSON)`: text is parsed, other values become scalars.
pub(crate) fn cast(value: Datum<'_>, conversion: &Conversion<'_>) -> Result<JsonBinary> {
    let from = &conversion.from;
    match value {
        Datum::Json(json) => Ok(json.to_binary()),
        Datum::String(text) if from.is_string() || from.kind == TypeKind::Json => {
            parse_argument(text.as_bytes(), 1, "cast_as_json")
        }
        value => JsonBinary::new(&of_result(&value, conversion.input, conversion.ctx)),
    }
}

/// Functions whose result is a truth value, although its type is a wider integer.
const TRUTHS: &[&str] = &["json_valid", "json_contains", "json_contains_path", "strcmp"];
/// Functions that choose among their arguments. MySQL treats a chosen truth value as a number.
const CHOICES: &[&str] = &[
    "if", "ifnull", "nullif", "coalesce", "greatest", "least", "nth of",
];

/// Whether an expression is a truth value, which JSON distinguishes from 0 and 1.
pub(crate) fn is_boolean(expr: &Expr) -> bool {
    match expr {
        Expr::Literal { ty, .. } => *ty == SqlType::BOOL,
        Expr::Column { label, .. } => label.is_truth(),
        Expr::Call { function, ty, .. } => {
            let name = function.name();
            TRUTHS.contains(&name) || *ty == SqlType::BOOL && !CHOICES.contains(&name)
        }
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

/// The JSON value of an SQL value: JSON stays the same, text becomes a string.
pub(crate) fn of_value(value: &Datum<'_>, ty: &SqlType, boolean: bool) -> Json {
    match value {
        Datum::Null => Json::Null,
        Datum::Int(us) if ty.kind == TypeKind::Time => Json::Time(Time(*us)),
        Datum::Int(v) if boolean => Json::Bool(*v != 0),
        Datum::Int(v) => Json::Int(*v),
        Datum::UInt(packed) if ty.is_datetime() => {
            let at = DateTime::unpack(*packed);
            match ty.kind {
                TypeKind::Date => Json::Date(at),
                TypeKind::Timestamp => Json::Timestamp(at),
                _ => Json::DateTime(at),
            }
        }
        Datum::UInt(bits) if ty.kind == TypeKind::Bit => Json::Opaque(
            field_type::BIT,
            Value::UInt(*bits).to_text(ty).unwrap_or_default(),
        ),
        Datum::UInt(number) if ty.has_members() => Json::String(Value::UInt(*number).display_text(ty)),
        Datum::UInt(v) => Json::UInt(*v),
        Datum::Double(v) => Json::Double(*v),
        Datum::Decimal(d) => Json::Decimal(*d),
        Datum::String(text) if ty.kind == TypeKind::Json => {
            types::json::parse(text.as_bytes()).unwrap_or(Json::Null)
        }
        Datum::String(text) => Json::String((*text).to_owned()),
        Datum::Json(json) => json.to_tree(),
        Datum::Bytes(bytes) => Json::Opaque(field_type_of(ty), bytes.to_vec()),
    }
}

/// The field type of a type of binary strings.
fn field_type_of(ty: &SqlType) -> u8 {
    match ty.kind {
        TypeKind::Char => field_type::STRING,
        TypeKind::TinyText => field_type::TINY_BLOB,
        TypeKind::Text => field_type::BLOB,
        TypeKind::MediumText => field_type::MEDIUM_BLOB,
        TypeKind::LongText => field_type::LONG_BLOB,
        _ => field_type::VARCHAR,
    }
}

/// Compares two values at least one of which is JSON.
pub(crate) fn compare(a: &Datum<'_>, ta: &SqlType, b: &Datum<'_>, tb: &SqlType) -> Option<Ordering> {
    if a.is_null() || b.is_null() {
        return None;
    }
    let (mut own_a, mut own_b) = (None, None);
    Some(order::compare(
        in_place(a, ta, &mut own_a),
        in_place(b, tb, &mut own_b),
    ))
}

/// A JSON value unchanged. Any other value is converted to JSON, which is stored in `own`.
fn in_place<'v>(value: &Datum<'v>, ty: &SqlType, own: &'v mut Option<JsonBinary>) -> JsonRef<'v> {
    match value {
        Datum::Json(json) => *json,
        value => {
            let json = of_value(value, ty, *ty == SqlType::BOOL);
            own.insert(JsonBinary::new(&json).unwrap_or_else(|_| JsonBinary::null()))
                .root()
        }
    }
}

/// The SQL value of JSON that is a number, a truth value or a string; `None` for anything else.
pub(crate) fn scalar(json: JsonRef<'_>) -> Option<(Value, SqlType)> {
    Some(match json.view() {
        JsonView::Bool(b) => (Value::Int(i64::from(b)), SqlType::BIGINT),
        JsonView::Int(v) => (Value::Int(v), SqlType::BIGINT),
        JsonView::UInt(v) => (Value::UInt(v), SqlType::BIGINT_UNSIGNED),
        JsonView::Double(v) => (Value::Double(v), SqlType::DOUBLE),
        JsonView::Decimal(d) => (Value::Decimal(d), SqlType::decimal(65, d.scale)),
        JsonView::String(s) => {
            // Text counts as a number only if all of it is a number.
            let complete = parse_double(s.as_bytes()).complete && !s.is_empty();
            if !complete {
                return None;
            }
            let ty = SqlType::varchar(s.len() as u32, types::Collation::Utf8mb4Bin);
            (Value::from(s), ty)
        }
        _ => return None,
    })
}

/// The 64 bits of the integer that a JSON string begins with, and what is wrong with the string. Blanks may come
/// before the integer, but not after it.
pub(crate) fn integer_of_text(text: &str) -> (u64, Option<JsonLoss>) {
    let parsed = parse_integer(text.as_bytes());
    let unsigned = text.trim_ascii_start();
    let unsigned = unsigned.strip_prefix(['+', '-']).unwrap_or(unsigned);
    let is_integer = !unsigned.is_empty() && unsigned.bytes().all(|b| b.is_ascii_digit());
    let loss = match (is_integer, parsed.complete) {
        (true, true) => None,
        (true, false) => Some(JsonLoss::OutOfRange),
        (false, _) => Some(JsonLoss::Invalid),
    };
    (parsed.bits(), loss)
}

/// The name in messages of the types that [`datetime`] and [`time`] read.
pub(crate) const MOMENT: &str = "DATE/TIME/DATETIME/TIMESTAMP";

/// The point in time in a JSON value: a date or time, or a string that consists of one.
pub(crate) fn datetime(json: JsonRef<'_>, rules: DateRules) -> Option<ParsedDateTime> {
    let text = match json.view() {
        JsonView::String(_) | JsonView::Date(_) | JsonView::DateTime(_) | JsonView::Timestamp(_) => {
            json.to_unquoted()
        }
        _ => return None,
    };
    temporal::parse::datetime(text.as_bytes(), rules).filter(|parsed| !parsed.truncated)
}

/// The TIME in a JSON value: a time, or a string that consists of one. A number is none, and digits after the sixth
/// behind the point do not count.
pub(crate) fn time(json: JsonRef<'_>) -> Option<ParsedTime> {
    match json.view() {
        JsonView::String(text) => {
            let parsed = temporal::time_of_text(text.as_bytes())?;
            let is_time = !parsed.clamped && (parsed.date.is_some() || text.contains(':'));
            is_time.then_some(ParsedTime {
                rounding: 0,
                ..parsed
            })
        }
        JsonView::Time(_) => temporal::time_of_text(json.to_unquoted().as_bytes()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> JsonBinary {
        JsonBinary::parse(text.as_bytes()).unwrap()
    }

    fn normal(text: &str) -> String {
        match JsonBinary::parse(text.as_bytes()) {
            Ok(json) => json.root().to_text(),
            Err(e) => format!("{e:?}"),
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
        let compare = |a: &str, b: &str| order::compare(of(a).root(), of(b).root());
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
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare("1", "1.0"), Ordering::Equal);
    }

    #[test]
    fn unquoting() {
        assert_eq!(of(r#""a\nb""#).root().to_unquoted(), "a\nb");
        let day = |text: &str| {
            datetime(of(text).root(), DateRules::CALENDAR).map(|parsed| parsed.value.date_text())
        };
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
        let seconds = |text: &str| time(of(text).root()).map(|parsed| parsed.us / 1_000_000);
        assert_eq!(seconds(r#""00:01:02""#), Some(62));
        assert_eq!(seconds(r#""00:01:02x""#), None);
        assert_eq!(seconds("62"), None);
    }
}
