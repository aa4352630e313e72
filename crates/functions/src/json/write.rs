//! JSON functions that make or change documents: JSON_OBJECT, JSON_ARRAY, JSON_SET, JSON_MERGE_PATCH and
//! others.
//!
//! Source: manual 12.18 "JSON Functions".

use types::json::{Json, key_order};
use types::{Error, Result, SqlType, Value, errno};

use super::argument::{document, has_null, made, of_binary, resolve_json, single_path_at};
use super::convert::of_result;
use super::path::{Index, Leg, Path};
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Alias, Family, MANY, of_json};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[Alias {
        name: "json_merge",
        of: "json_merge_preserve",
    }],
};

static FUNCTIONS: &[FunctionDef] = &[
    of_json("json_array", 0, MANY, resolve_json, array)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_object", 0, MANY, resolve_object, object)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_set", 3, MANY, resolve_pairs, |c, a| {
        change(c, a, true, true)
    })
    .sees_null()
    .nullability(Nullability::Always),
    of_json("json_insert", 3, MANY, resolve_pairs, |c, a| {
        change(c, a, true, false)
    })
    .sees_null()
    .nullability(Nullability::Always),
    of_json("json_replace", 3, MANY, resolve_pairs, |c, a| {
        change(c, a, false, true)
    })
    .sees_null()
    .nullability(Nullability::Always),
    of_json("json_remove", 2, MANY, resolve_json, remove)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_array_append", 3, MANY, resolve_pairs, array_append)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_array_insert", 3, MANY, resolve_pairs, array_insert)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_merge_patch", 2, MANY, resolve_json, merge_patch)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_merge_preserve", 2, MANY, resolve_json, merge_preserve)
        .sees_null()
        .nullability(Nullability::Always),
];

fn wrong_count(name: &str) -> Error {
    Error::new(
        errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
        format!("Incorrect parameter count in the call to native function '{name}'"),
    )
}

fn resolve_object(binding: &mut Binding<'_>) -> Result<SqlType> {
    if !binding.args.len().is_multiple_of(2) {
        return Err(wrong_count(binding.written));
    }
    for i in (0..binding.args.len()).step_by(2) {
        binding.text(i);
    }
    Ok(SqlType::JSON)
}

/// A document, then pairs of a path and a value.
fn resolve_pairs(binding: &mut Binding<'_>) -> Result<SqlType> {
    if binding.args.len().is_multiple_of(2) {
        return Err(wrong_count(binding.written));
    }
    Ok(SqlType::JSON)
}

/// The JSON value of argument `index`.
fn value_at(call: &Call<'_>, args: &[Datum<'_>], index: usize) -> Json {
    match (args.get(index), call.args.get(index)) {
        (Some(datum), Some(expr)) => of_result(datum, expr, call.ctx),
        _ => Json::Null,
    }
}

fn array(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let items = (0..args.len()).map(|i| value_at(call, args, i)).collect();
    made(Json::Array(items))
}

fn object(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let mut members = Vec::with_capacity(args.len() / 2);
    for i in (0..args.len()).step_by(2) {
        let key = match args.get(i) {
            Some(Datum::String(key)) => (*key).to_owned(),
            Some(Datum::Bytes(_)) => return Err(of_binary()),
            _ => {
                let message = "JSON documents may not contain NULL member names.";
                return Err(Error::new(errno::ER_JSON_DOCUMENT_NULL_KEY, message));
            }
        };
        members.push((key, value_at(call, args, i + 1)));
    }
    made(Json::object(members))
}

/// The document; `None` if it or a path is NULL, which makes the result NULL. Values may be. It is read before a path
/// that is NULL counts.
fn document_to_change(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<Json>> {
    if args.first().is_none_or(|d| d.is_null()) {
        return Ok(None);
    }
    let document = document(call, args, 0)?;
    let mut paths = args.iter().skip(1).step_by(2);
    Ok((!paths.any(|path| path.is_null())).then(|| document.to_tree()))
}

fn change(call: &Call<'_>, args: &[Datum<'_>], inserts: bool, replaces: bool) -> Result<Value> {
    let Some(mut document) = document_to_change(call, args)? else {
        return Ok(Value::Null);
    };
    for i in (1..args.len()).step_by(2) {
        let path = single_path_at(args, i)?;
        let value = value_at(call, args, i + 1);
        put(&mut document, &path, value, inserts, replaces);
    }
    made(document)
}

/// The value that a path matches.
fn seek_mut<'a>(json: &'a mut Json, legs: &[Leg]) -> Option<&'a mut Json> {
    let Some((leg, rest)) = legs.split_first() else {
        return Some(json);
    };
    match (leg, json) {
        (Leg::Member(key), Json::Object(members)) => {
            let at = members.binary_search_by(|(k, _)| key_order(k, key)).ok()?;
            seek_mut(&mut members.get_mut(at)?.1, rest)
        }
        (Leg::Cell(index), Json::Array(items)) => {
            let at = position(*index, items.len())?;
            seek_mut(items.get_mut(at)?, rest)
        }
        // Any other value counts as an array with itself as the only element.
        (Leg::Cell(index), other) if position(*index, 1) == Some(0) => seek_mut(other, rest),
        _ => None,
    }
}

fn position(index: Index, len: usize) -> Option<usize> {
    match index {
        Index::First(i) => Some(i),
        Index::Last(back) => len.checked_sub(1)?.checked_sub(back),
    }
}

fn put(document: &mut Json, path: &Path, value: Json, inserts: bool, replaces: bool) {
    if let Some(place) = seek_mut(document, &path.0) {
        if replaces {
            *place = value;
        }
        return;
    }
    let Some((last, parents)) = path.0.split_last() else {
        return;
    };
    if !inserts {
        return;
    }
    match (last, seek_mut(document, parents)) {
        (Leg::Member(key), Some(Json::Object(members))) => {
            if let Err(at) = members.binary_search_by(|(k, _)| key_order(k, key)) {
                members.insert(at, (key.clone(), value));
            }
        }
        (Leg::Cell(index), Some(Json::Array(items))) => match index {
            Index::First(_) => items.push(value),
            Index::Last(_) => items.insert(0, value),
        },
        (Leg::Cell(index), Some(scalar)) => {
            let own = std::mem::replace(scalar, Json::Null);
            let pair = match index {
                Index::First(_) => vec![own, value],
                Index::Last(_) => vec![value, own],
            };
            *scalar = Json::Array(pair);
        }
        _ => {}
    }
}

fn remove(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, 1)? {
        return Ok(Value::Null);
    }
    let mut document = document(call, args, 0)?.to_tree();
    for i in 1..args.len() {
        let path = single_path_at(args, i)?;
        let Some((last, parents)) = path.0.split_last() else {
            let message = "The path expression '$' is not allowed in this context.";
            return Err(Error::new(errno::ER_JSON_VACUOUS_PATH, message));
        };
        match (last, seek_mut(&mut document, parents)) {
            (Leg::Member(key), Some(Json::Object(members))) => members.retain(|(k, _)| k != key),
            (Leg::Cell(index), Some(Json::Array(items))) => {
                if let Some(at) = position(*index, items.len()).filter(|at| *at < items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
    made(document)
}

fn array_append(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(mut document) = document_to_change(call, args)? else {
        return Ok(Value::Null);
    };
    for i in (1..args.len()).step_by(2) {
        let path = single_path_at(args, i)?;
        let value = value_at(call, args, i + 1);
        match seek_mut(&mut document, &path.0) {
            Some(Json::Array(items)) => items.push(value),
            Some(other) => {
                let own = std::mem::replace(other, Json::Null);
                *other = Json::Array(vec![own, value]);
            }
            None => {}
        }
    }
    made(document)
}

fn array_insert(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(mut document) = document_to_change(call, args)? else {
        return Ok(Value::Null);
    };
    for i in (1..args.len()).step_by(2) {
        let path = single_path_at(args, i)?;
        let Some((Leg::Cell(index), parents)) = path.0.split_last() else {
            let message = "A path expression is not a path to a cell in an array.";
            return Err(Error::new(errno::ER_INVALID_JSON_PATH_ARRAY_CELL, message));
        };
        let value = value_at(call, args, i + 1);
        if let Some(Json::Array(items)) = seek_mut(&mut document, parents) {
            let at = position(*index, items.len()).unwrap_or(0).min(items.len());
            items.insert(at, value);
        }
    }
    made(document)
}

/// Merges all arguments from the left. A NULL argument makes the result NULL, unless a later argument that is
/// not an object replaces it.
fn merge_patch(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let argument = |index: usize| match args.get(index) {
        None | Some(Datum::Null) => Ok(None),
        _ => document(call, args, index).map(|document| Some(document.to_tree())),
    };
    let mut result = argument(0)?;
    for i in 1..args.len() {
        result = match (result, argument(i)?) {
            (_, None) => None,
            (Some(target), Some(change)) => Some(patch(target, change)),
            (None, Some(Json::Object(_))) => None,
            (None, Some(change)) => Some(change),
        };
    }
    result.map_or(Ok(Value::Null), made)
}

/// RFC 7396.
fn patch(target: Json, change: Json) -> Json {
    let Json::Object(changes) = change else {
        return change;
    };
    let mut members = match target {
        Json::Object(members) => members,
        _ => Vec::new(),
    };
    for (key, value) in changes {
        let old = members
            .iter()
            .position(|(k, _)| *k == key)
            .map(|at| members.remove(at).1);
        if value != Json::Null {
            members.push((key, patch(old.unwrap_or(Json::Null), value)));
        }
    }
    Json::object(members)
}

fn merge_preserve(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, args.len())? {
        return Ok(Value::Null);
    }
    let mut result = document(call, args, 0)?.to_tree();
    for i in 1..args.len() {
        result = preserve(result, document(call, args, i)?.to_tree());
    }
    made(result)
}

fn preserve(a: Json, b: Json) -> Json {
    match (a, b) {
        (Json::Object(mut members), Json::Object(others)) => {
            for (key, value) in others {
                let old = members
                    .iter()
                    .position(|(k, _)| *k == key)
                    .map(|at| members.remove(at).1);
                let merged = match old {
                    Some(old) => preserve(old, value),
                    None => value,
                };
                members.push((key, merged));
            }
            Json::object(members)
        }
        (a, b) => {
            let items = |j| match j {
                Json::Array(items) => items,
                other => vec![other],
            };
            let mut all = items(a);
            all.extend(items(b));
            Json::Array(all)
        }
    }
}
