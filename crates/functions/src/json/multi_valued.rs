//! `CAST(document AS type ARRAY)`: the values by which a multi-valued index finds a row.
//!
//! The result is an array of distinct values of the type, or NULL. [`elements`] are the values of index
//! entries. Source: manual 13.1.15 "CREATE INDEX Statement", "Multi-Valued Indexes".

use types::json::{Json, JsonArray, JsonBinary, JsonRef, JsonView};
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::argument::{document, made, resolve_json};
use super::convert::{of_result, of_value};
use super::order::compare;
use super::returning::converted;
use crate::datum::Datum;
use crate::expr::{Call, FunctionDef, Nullability};
use crate::registry::{Family, of_json};
use crate::{EvalContext, Expr};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

/// The second argument is NULL of the type of the values. The third is the index's name, for errors.
static FUNCTIONS: &[FunctionDef] = &[of_json(FUNCTION, 3, 3, resolve_json, cast_array)
    .sees_null()
    .nullability(Nullability::Always)];

/// The name of the function. It is not a word, so no statement can call it.
pub const FUNCTION: &str = "cast as array";

fn cast_array(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if args.first().is_none_or(|d| d.is_null()) {
        return Ok(Value::Null);
    }
    let document = document(call, args, 0)?;
    let ty = call.arg_type(1);
    let index = args.get(2).map_or(&b""[..], |d| d.bytes());
    let index = String::from_utf8_lossy(index);
    let value = |json: JsonRef<'_>| match element(json, &ty, call.ctx)? {
        Some(value) => Ok(value),
        None => Err(refused(json, &ty, &index)),
    };
    let values = match document.root().view() {
        JsonView::Array(items) => items.iter().map(value).collect::<Result<Vec<Json>>>()?,
        JsonView::Object(_) => return Err(not_supported("OBJECT")),
        JsonView::Bool(_) => return Err(not_supported("BOOLEAN")),
        _ => vec![value(document.root())?],
    };
    let all = JsonBinary::new(&Json::Array(values))?;
    match all.root().view() {
        JsonView::Array(items) => made(Json::Array(distinct(items))),
        _ => Ok(Value::Null),
    }
}

/// A document that MySQL does not take. As an element of an array, it takes a boolean.
fn not_supported(kind: &str) -> Error {
    Error::new(
        errno::ER_NOT_SUPPORTED_YET,
        format!("This version of MySQL doesn't yet support 'CAST-ing JSON {kind} type to array'"),
    )
}

/// An element as a value of the index's type, if it can be one.
fn element(json: JsonRef<'_>, ty: &SqlType, ctx: &EvalContext) -> Result<Option<Json>> {
    // These values need no conversion.
    match json.view() {
        JsonView::Int(v) if ty.is_integer() && !ty.unsigned => return Ok(Some(Json::Int(v))),
        JsonView::UInt(v) if ty.is_integer() && ty.unsigned => return Ok(Some(Json::UInt(v))),
        JsonView::Int(v) if ty.is_integer() => return Ok(u64::try_from(v).ok().map(Json::UInt)),
        JsonView::Null | JsonView::Array(_) | JsonView::Object(_) => return Ok(None),
        _ => {}
    }
    let value = converted(json, ty, ctx)?;
    Ok(value.map(|value| of_value(&Datum::of(&value), ty, false)))
}

/// Each value once, in order.
fn distinct(items: JsonArray<'_>) -> Vec<Json> {
    let mut values: Vec<JsonRef<'_>> = items.iter().collect();
    values.sort_by(|a, b| compare(*a, *b));
    values.dedup_by(|a, b| compare(*a, *b).is_eq());
    values.into_iter().map(JsonRef::to_tree).collect()
}

/// The error for a value that is not of the index's type.
fn refused(json: JsonRef<'_>, ty: &SqlType, index: &str) -> Error {
    match json.view() {
        JsonView::Array(_) | JsonView::Object(_) => Error::new(
            errno::ER_WRONG_MVI_VALUE,
            format!("Cannot store an array or an object in a scalar key part of the index '{index}'."),
        ),
        JsonView::Double(_) if ty.is_integer() => Error::new(
            errno::ER_JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX,
            format!("Out of range JSON value for CAST for functional index '{index}'."),
        ),
        JsonView::Int(_) | JsonView::UInt(_) | JsonView::Double(_) | JsonView::Decimal(_)
            if ty.is_numeric() =>
        {
            Error::new(
                errno::ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX,
                format!("Value is out of range for functional index '{index}' at row 1"),
            )
        }
        JsonView::String(_) if ty.is_temporal() => Error::new(
            errno::ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX,
            format!("Data truncated for functional index '{index}' at row 1"),
        ),
        view if ty.is_string() && view != JsonView::Null => Error::new(
            errno::ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG,
            format!("Data too long for functional index '{index}'."),
        ),
        _ => Error::new(
            errno::ER_INVALID_JSON_VALUE_FOR_FUNC_INDEX,
            format!("Invalid JSON value for CAST for functional index '{index}'."),
        ),
    }
}

/// The values of the result of [`FUNCTION`], in their type.
pub fn elements(array: &JsonBinary) -> impl Iterator<Item = Value> {
    let items = match array.root().view() {
        JsonView::Array(items) => Some(items),
        _ => None,
    };
    items
        .into_iter()
        .flat_map(JsonArray::iter)
        .map(|item| match item.view() {
            JsonView::Int(v) => Value::Int(v),
            JsonView::UInt(v) => Value::UInt(v),
            JsonView::Decimal(v) => Value::Decimal(v),
            JsonView::String(text) => Value::from(text),
            JsonView::Date(at) | JsonView::DateTime(at) => Value::UInt(at.pack()),
            JsonView::Time(time) => Value::Int(time.0),
            JsonView::Opaque(_, bytes) => Value::Bytes(bytes.to_vec()),
            _ => Value::Null,
        })
}

/// The value by which a multi-valued index finds the rows that have an element equal to a JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum ElementKey {
    Value(Value),
    /// No element that the index can have is equal.
    Nothing,
    /// Equal elements can have several values in the index.
    Several,
}

/// The key of a JSON value in an index of elements of a type. Elements that are equal to the value were
/// converted in the same way as the value. Equal numbers of different types are converted the same way only
/// to numbers.
pub fn element_key(json: JsonRef<'_>, ty: &SqlType, ctx: &EvalContext) -> Result<ElementKey> {
    let is_whole = match json.view() {
        JsonView::Int(_) | JsonView::UInt(_) => true,
        JsonView::Double(v) => v.fract() == 0.0,
        JsonView::Decimal(v) => v.scale == 0,
        JsonView::Array(_) | JsonView::Object(_) | JsonView::Null => return Ok(ElementKey::Nothing),
        _ => return key_of(json, ty, ctx),
    };
    match ty.kind {
        _ if ty.is_integer() && is_whole => key_of(json, ty, ctx),
        TypeKind::Decimal => key_of(json, ty, ctx),
        _ => Ok(ElementKey::Several),
    }
}

fn key_of(json: JsonRef<'_>, ty: &SqlType, ctx: &EvalContext) -> Result<ElementKey> {
    Ok(match converted(json, ty, ctx)? {
        Some(value) => ElementKey::Value(value),
        None => ElementKey::Nothing,
    })
}

/// The JSON value of a literal on the left side of MEMBER OF.
pub fn of_literal(value: &Value, literal: &Expr) -> Result<JsonBinary> {
    JsonBinary::new(&of_result(&Datum::of(value), literal, &EvalContext::default()))
}
