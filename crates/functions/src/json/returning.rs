//! JSON_VALUE. Source: manual 12.18.3 "Functions That Search JSON Values".

use types::json::{Json, JsonBinary, JsonRef, JsonView};
use types::{Collation, Error, Result, SqlType, TypeKind, Value, errno};

use super::argument::{Document, document, path_at};
use super::convert::parse_argument;
use super::path;
use crate::bind::literal_type;
use crate::cast::number_text::parse_double;
use crate::context::{EvalContext, Strictness};
use crate::datum::Datum;
use crate::eval::eval_value;
use crate::expr::{Binding, Call};
use crate::{Expr, bind};

/// The collation of texts from documents.
const TEXT: Collation = Collation::Utf8mb40900Bin;

/// `JSON_VALUE(document, path RETURNING type ... ON EMPTY ... ON ERROR)`. The third argument is a NULL of the
/// type. A keyword (`null`, `error` or `default`) and the default's value follow for ON EMPTY, and again for
/// ON ERROR. Without RETURNING the type is VARCHAR(512).
pub(super) fn resolve_value(binding: &mut Binding<'_>) -> Result<SqlType> {
    if let Some(Expr::Literal {
        value: Value::String(text),
        ..
    }) = binding.args.get(1)
    {
        path::parse(text)?;
    }
    let ty = match binding.ty(2) {
        ty if ty.kind == TypeKind::Null => SqlType::varchar(512, TEXT),
        ty if ty.collation.charset() == TEXT.charset() => SqlType {
            collation: TEXT,
            ..ty
        },
        ty => ty,
    };
    for position in [4, 6] {
        let Some(default) = binding.args.get_mut(position) else {
            continue;
        };
        let expr = std::mem::replace(default, Expr::null());
        *default = match expr {
            Expr::Literal { value, ty: from } if !value.is_null() => default_of(value, from, &ty)?,
            expr => bind::implicit_cast(expr, ty),
        };
    }
    Ok(ty)
}

/// A default as a value of the type. It must be one without a loss.
fn default_of(value: Value, from: SqlType, ty: &SqlType) -> Result<Expr> {
    let text = value.display_text(&from);
    if ty.kind == TypeKind::Json && from.is_string() {
        let json = parse_argument(text.as_bytes(), 1, "json_value")?;
        return Ok(Expr::literal(Value::Json(json), *ty));
    }
    let is_number = !from.is_string() || !text.is_empty() && parse_double(text.as_bytes()).complete;
    let json = match value {
        // A date is written as a text, and is a number inside.
        value if from.is_temporal() => Json::String(value.display_text(&from)),
        Value::Int(v) => Json::Int(v),
        Value::UInt(v) => Json::UInt(v),
        Value::Double(v) => Json::Double(v),
        Value::Decimal(v) => Json::Decimal(v),
        value => Json::String(value.display_text(&from)),
    };
    let is_whole = !ty.is_integer() || !matches!(json, Json::Double(_) | Json::Decimal(_));
    match converted(JsonBinary::new(&json)?.root(), ty, &EvalContext::default())? {
        Some(value) if is_whole => Ok(Expr::literal(value, *ty)),
        _ if is_whole && (ty.is_string() || ty.is_numeric() && is_number) => Err(Error::new(
            errno::ER_DATA_OUT_OF_RANGE,
            format!(
                "{} DEFAULT value is out of range in 'json_value'",
                range_name(ty).replace("STRING", "CHAR")
            ),
        )),
        _ => Err(Error::new(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!("Truncated incorrect {} value: '{text}'", cast_name(ty)),
        )),
    }
}

pub(super) fn value(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(first) = args.first().filter(|first| !first.is_null()) else {
        return Ok(Value::Null);
    };
    let on = |keyword: usize| On {
        keyword: args.get(keyword).map_or(&b"null"[..], |d| d.bytes()),
        default: args.get(keyword + 1).copied().unwrap_or(Datum::Null),
    };
    let (on_empty, on_error) = (on(3), on(5));
    let json = match first {
        Datum::String(text) => match parse_argument(text.as_bytes(), 1, call.def.name) {
            Ok(json) => Document::Own(json),
            Err(error) if on_error.is_error() => return Err(error),
            Err(error) => {
                call.ctx.warn(error.code, error.message)?;
                return Ok(on_error.value());
            }
        },
        _ => document(call, args, 0)?,
    };
    let path = path_at(args, 1)?;
    let found = path.find(json.root());
    match found.as_slice() {
        [] if on_empty.is_error() => Err(Error::new(
            errno::ER_MISSING_JSON_VALUE,
            "No value was found by 'json_value' on the specified path.",
        )),
        [] => Ok(on_empty.value()),
        [one] => match converted(*one, &call.ty, call.ctx)? {
            Some(value) => Ok(value),
            None if on_error.is_error() => Err(Error::new(
                errno::ER_DATA_OUT_OF_RANGE,
                format!("{} value is out of range in 'json_value'", range_name(&call.ty)),
            )),
            None => Ok(on_error.value()),
        },
        _ if on_error.is_error() => Err(Error::new(
            errno::ER_MULTIPLE_JSON_VALUES,
            "More than one value was found by 'json_value' on the specified path.",
        )),
        _ => Ok(on_error.value()),
    }
}

/// The action of ON EMPTY or ON ERROR.
struct On<'a> {
    keyword: &'a [u8],
    default: Datum<'a>,
}

impl On<'_> {
    fn is_error(&self) -> bool {
        self.keyword == b"error"
    }

    fn value(&self) -> Value {
        self.default.to_value()
    }
}

/// Converts a JSON value to a type; `None` if it is not one of its values. Numbers are rounded.
pub(super) fn converted(json: JsonRef<'_>, ty: &SqlType, ctx: &EvalContext) -> Result<Option<Value>> {
    if json.view() == JsonView::Null {
        return Ok(Some(Value::Null));
    }
    if ty.kind == TypeKind::Json {
        return Ok(Some(Value::Json(json.to_binary())));
    }
    if ty.is_string() {
        let text = json.to_unquoted();
        let characters = match ty.is_binary() {
            true => text.len(),
            false => text.chars().count(),
        };
        let fits = ty.length == u32::MAX || ty.is_blob_or_text() || characters <= ty.length as usize;
        return Ok(fits.then(|| match ty.is_binary() {
            true => Value::Bytes(text.into_bytes()),
            false => Value::String(text),
        }));
    }
    let literal = match json.view() {
        JsonView::String(text) => Expr::literal(Value::from(text), literal_type(text.len(), TEXT)),
        JsonView::Date(v) => Expr::literal(Value::UInt(v.pack()), SqlType::DATE),
        JsonView::DateTime(v) | JsonView::Timestamp(v) => {
            Expr::literal(Value::UInt(v.pack()), SqlType::datetime(6))
        }
        JsonView::Time(v) => Expr::literal(Value::Int(v.0), SqlType::time(6)),
        // Only text can be a date.
        _ if ty.is_temporal() => return Ok(None),
        JsonView::Bool(v) => Expr::literal(Value::Int(i64::from(v)), SqlType::BIGINT),
        JsonView::Int(v) if ty.unsigned && v < 0 => return Ok(None),
        JsonView::Int(v) => Expr::literal(Value::Int(v), SqlType::BIGINT),
        JsonView::UInt(v) if ty.is_integer() && !ty.unsigned && i64::try_from(v).is_err() => return Ok(None),
        JsonView::UInt(v) => Expr::literal(Value::UInt(v), SqlType::BIGINT_UNSIGNED),
        // A cast would give the nearest number.
        JsonView::Double(v) if ty.is_integer() && !within(v, ty) => return Ok(None),
        JsonView::Double(v) => Expr::literal(Value::Double(v), SqlType::DOUBLE),
        JsonView::Decimal(v) => Expr::literal(Value::Decimal(v), SqlType::decimal(65, v.scale)),
        _ => return Ok(None),
    };
    let strict = EvalContext {
        strictness: Strictness::Error,
        sql_mode: ctx.sql_mode,
        time_zone: ctx.time_zone,
        now_us: ctx.now_us,
        ..EvalContext::default()
    };
    let cast = |input, ty| Expr::Cast {
        input: Box::new(input),
        ty,
        implicit: false,
    };
    // A point in time is a date, too: its time is left out.
    let expr = match ty.kind {
        TypeKind::Date => cast(cast(literal, SqlType::datetime(0)), *ty),
        _ => cast(literal, *ty),
    };
    match eval_value(&expr, &strict) {
        Ok(value) if strict.warnings.count() == 0 && !value.is_null() => Ok(Some(value)),
        _ => Ok(None),
    }
}

/// Whether a number is in the range of a BIGINT after rounding.
fn within(value: f64, ty: &SqlType) -> bool {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    let value = value.round();
    match ty.unsigned {
        true => (0.0..2.0 * TWO_TO_63).contains(&value),
        // The smallest BIGINT is the nearest double of smaller numbers, too.
        false => -TWO_TO_63 < value && value < TWO_TO_63,
    }
}

/// A type's name in error 1690.
fn range_name(ty: &SqlType) -> &'static str {
    match ty.kind {
        _ if ty.is_integer() && ty.unsigned => "UNSIGNED",
        TypeKind::Year => "YEAR",
        _ if ty.is_integer() => "SIGNED",
        TypeKind::Decimal => "DECIMAL",
        TypeKind::Float => "FLOAT",
        TypeKind::Double => "DOUBLE",
        TypeKind::Date => "DATE",
        TypeKind::Time => "TIME",
        TypeKind::DateTime | TypeKind::Timestamp => "DATETIME",
        _ => "STRING",
    }
}

/// A type's name in error 1292.
fn cast_name(ty: &SqlType) -> &'static str {
    match ty.kind {
        _ if ty.is_integer() && ty.unsigned => "INTEGER UNSIGNED",
        TypeKind::Year => "YEAR",
        _ if ty.is_integer() => "INTEGER SIGNED",
        TypeKind::Decimal => "DECIMAL",
        TypeKind::Float => "FLOAT",
        TypeKind::Double => "DOUBLE",
        TypeKind::Date => "DATE",
        TypeKind::Time => "TIME",
        TypeKind::DateTime | TypeKind::Timestamp => "DATETIME",
        _ => "CHAR",
    }
}
