//! JSON functions that look into documents: JSON_EXTRACT, `->`, `->>`, JSON_CONTAINS, JSON_KEYS and their
//! like.
//!
//! Source: manual 12.18 "JSON Functions".

use std::collections::HashSet;

use std::borrow::Cow;

use types::{Collation, Error, Result, SqlType, TypeKind, Value, errno};

use super::convert::{of_result, parse_argument};
use super::path::{self, Path};
use super::value::{Json, write_quoted};
use super::{returning, schema, storage};
use crate::call::Binding;
use crate::call::Call;
use crate::datum::Datum;
use crate::registry::{Family, FunctionDef, MANY, Nullability, makes_json, of_json};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    makes_json("json_extract", 2, MANY, resolve_json, extract).nullability(Nullability::Always),
    makes_json("->", 2, 2, resolve_json, extract).nullability(Nullability::Always),
    of_json("->>", 2, 2, resolve_text, extract_unquoted).nullability(Nullability::Always),
    of_json("json_value", 2, 7, returning::resolve_value, returning::value)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_unquote", 1, 1, resolve_unquote, unquote),
    of_json("json_quote", 1, 1, resolve_unquote, quote),
    of_json("json_valid", 1, 1, resolve_integer, valid)
        .nullability(Nullability::Always)
        .infallible(),
    of_json("json_type", 1, 1, resolve_type, type_of),
    of_json("json_length", 1, 2, resolve_integer, length).nullability(Nullability::Always),
    of_json("json_depth", 1, 1, resolve_integer, depth).nullability(Nullability::Always),
    makes_json("json_keys", 1, 2, resolve_json, keys).nullability(Nullability::Always),
    of_json("json_contains", 2, 3, resolve_integer, contains).nullability(Nullability::Always),
    of_json("json_contains_path", 3, MANY, resolve_integer, contains_path).nullability(Nullability::Always),
    of_json("json_overlaps", 2, 2, |_| Ok(SqlType::BOOL), overlaps),
    of_json("member of", 2, 2, |_| Ok(SqlType::BOOL), member_of),
    of_json("json_pretty", 1, 1, resolve_text, pretty),
    of_json("json_schema_valid", 2, 2, |_| Ok(SqlType::BOOL), schema::valid),
    makes_json(
        "json_schema_validation_report",
        2,
        2,
        resolve_json,
        schema::report,
    )
    .nullability(Nullability::Always),
    of_json("json_storage_size", 1, 1, resolve_integer, storage::storage_size)
        .nullability(Nullability::Always),
    of_json("json_storage_free", 1, 1, resolve_integer, storage::storage_free)
        .nullability(Nullability::Always),
    makes_json("json_search", 3, MANY, resolve_json, search)
        .sees_null()
        .nullability(Nullability::Always),
];

pub(super) fn resolve_json(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType::JSON)
}

fn resolve_integer(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType {
        length: 21,
        ..SqlType::BIGINT
    })
}

fn long_text() -> SqlType {
    SqlType {
        kind: TypeKind::LongText,
        ..SqlType::varchar(u32::MAX, Collation::Utf8mb4Bin)
    }
}

fn resolve_text(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(long_text())
}

fn resolve_type(_: &mut Binding<'_>) -> Result<SqlType> {
    Ok(SqlType::varchar(17, Collation::Utf8mb4Bin))
}

fn resolve_unquote(binding: &mut Binding<'_>) -> Result<SqlType> {
    let ty = binding.ty(0);
    let text = ty.is_string() && !ty.is_binary() || matches!(ty.kind, TypeKind::Json | TypeKind::Null);
    if !text {
        return Err(Error::new(
            3064,
            format!("Incorrect type for argument 1 in function {}.", binding.name),
        ));
    }
    let length = binding.total_length(0..1);
    Ok(match (ty.is_string(), binding.name) {
        (true, "json_quote") => {
            let escaped = length.saturating_mul(6).saturating_add(2);
            binding.text_result(escaped, Collation::Utf8mb4Bin)
        }
        (true, _) => binding.text_result(length, Collation::Utf8mb4Bin),
        _ => long_text(),
    })
}

/// The document in argument `index`. Errors 3141 and 3146.
pub(super) fn document(call: &Call<'_>, args: &[Datum<'_>], index: usize) -> Result<Json> {
    let name = match call.def.name {
        "->" | "->>" => "json_extract",
        name => name,
    };
    match args.get(index) {
        Some(Datum::String(text)) => parse_argument(text.as_bytes(), index + 1, name),
        Some(Datum::Json(json)) => Ok((*json).clone()),
        _ => Err(Error::new(
            errno::ER_INVALID_TYPE_FOR_JSON,
            format!(
                "Invalid data type for JSON data in argument {} to function {name}; a JSON string or JSON type is required.",
                index + 1
            ),
        )),
    }
}

/// The path in argument `index`.
pub(super) fn path_at(args: &[Datum<'_>], index: usize) -> Result<Path> {
    match args.get(index) {
        Some(datum @ (Datum::String(_) | Datum::Bytes(_))) => {
            path::parse(&String::from_utf8_lossy(datum.bytes()))
        }
        Some(other) => path::parse(&other.to_value().display_text(&SqlType::BIGINT)),
        None => path::parse(""),
    }
}

/// A path that names one value. Error 3149.
pub(super) fn single_path_at(args: &[Datum<'_>], index: usize) -> Result<Path> {
    let path = path_at(args, index)?;
    if path.is_multiple() {
        return Err(Error::new(
            errno::ER_INVALID_JSON_PATH_WILDCARD,
            "In this situation, path expressions may not contain the * and ** tokens or an array range.",
        ));
    }
    Ok(path)
}

fn find(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<Json>> {
    let document = document(call, args, 0)?;
    let mut found = Vec::new();
    let mut multiple = args.len() > 2;
    for i in 1..args.len() {
        let path = path_at(args, i)?;
        multiple |= path.is_multiple();
        found.extend(path.find(&document).into_iter().cloned());
    }
    Ok(if multiple {
        (!found.is_empty()).then_some(Json::Array(found))
    } else {
        found.pop()
    })
}

fn extract(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<Json>> {
    find(call, args)
}

fn extract_unquoted(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(match find(call, args)? {
        None => Value::Null,
        Some(Json::String(text)) => Value::String(text),
        Some(other) => Value::String(other.to_text()),
    })
}

fn unquote(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let text = match args.first() {
        Some(Datum::String(text)) => *text,
        Some(Datum::Json(Json::String(inner))) => return Ok(Value::from(inner.as_str())),
        Some(Datum::Json(json)) => return Ok(Value::String(json.to_text())),
        _ => return Ok(Value::Null),
    };
    let quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    if !quoted {
        return Ok(Value::from(text));
    }
    Ok(match parse_argument(text.as_bytes(), 1, call.def.name)? {
        Json::String(inner) => Value::String(inner),
        _ => Value::from(text),
    })
}

fn quote(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let text = match args.first() {
        Some(Datum::String(text)) => Cow::Borrowed(*text),
        Some(Datum::Json(json)) => Cow::Owned(json.to_text()),
        _ => return Ok(Value::Null),
    };
    let mut out = String::with_capacity(text.len() + 2);
    write_quoted(&text, &mut out);
    Ok(Value::String(out))
}

fn valid(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let ty = call.arg_type(0);
    let text = ty.kind == TypeKind::Json || ty.is_string() && !ty.is_binary();
    let valid = text
        && args
            .first()
            .is_some_and(|d| matches!(d, Datum::Json(_)) || super::parse::parse(d.bytes()).is_ok());
    Ok(Value::Int(i64::from(valid)))
}

fn type_of(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(Value::from(document(call, args, 0)?.type_name()))
}

/// The value at the path in argument 1, or the whole document if there is no such argument.
fn part(call: &Call<'_>, args: &[Datum<'_>], document: Json, index: usize) -> Result<Option<Json>> {
    let _ = call;
    if args.len() <= index {
        return Ok(Some(document));
    }
    let path = single_path_at(args, index)?;
    Ok(path.find(&document).first().map(|j| (*j).clone()))
}

fn length(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let document = document(call, args, 0)?;
    if args.len() > 1 {
        let path = path_at(args, 1)?;
        if path.is_multiple() {
            // What it leads to is an array.
            let found = path.find(&document).len();
            return Ok(match found {
                0 => Value::Null,
                found => Value::Int(found as i64),
            });
        }
    }
    Ok(match part(call, args, document, 1)? {
        None => Value::Null,
        Some(Json::Array(items)) => Value::Int(items.len() as i64),
        Some(Json::Object(members)) => Value::Int(members.len() as i64),
        Some(_) => Value::Int(1),
    })
}

fn depth(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    fn of(json: &Json) -> i64 {
        1 + match json {
            Json::Array(items) => items.iter().map(of).max().unwrap_or(0),
            Json::Object(members) => members.iter().map(|(_, v)| of(v)).max().unwrap_or(0),
            _ => 0,
        }
    }
    Ok(Value::Int(of(&document(call, args, 0)?)))
}

fn keys(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<Json>> {
    let document = document(call, args, 0)?;
    Ok(match part(call, args, document, 1)? {
        Some(Json::Object(members)) => {
            let keys = members.into_iter().map(|(k, _)| Json::String(k)).collect();
            Some(Json::Array(keys))
        }
        _ => None,
    })
}

fn contains(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let target = document(call, args, 0)?;
    let candidate = document(call, args, 1)?;
    Ok(match part(call, args, target, 2)? {
        None => Value::Null,
        Some(target) => Value::Int(i64::from(is_contained(&target, &candidate))),
    })
}

fn is_contained(target: &Json, candidate: &Json) -> bool {
    match (target, candidate) {
        (Json::Object(_), Json::Object(members)) => members
            .iter()
            .all(|(key, value)| target.get(key).is_some_and(|found| is_contained(found, value))),
        (Json::Array(items), Json::Array(wanted)) => wanted.iter().all(|w| is_in_array(items, w)),
        (Json::Array(items), single) => items.iter().any(|item| is_contained(item, single)),
        (a, b) => a.compare(b).is_eq(),
    }
}

/// Whether one of an array's items contains a value of the candidate array. Only an array there contains an
/// array.
fn is_in_array(items: &[Json], wanted: &Json) -> bool {
    items.iter().any(|item| match (item, wanted) {
        (Json::Array(_), Json::Array(_)) => is_contained(item, wanted),
        (_, Json::Array(_)) => false,
        _ => is_contained(item, wanted),
    })
}

/// `'one'` or `'all'`. Error 3154.
fn one_or_all(args: &[Datum<'_>], function: &str) -> Result<bool> {
    let word = args.get(1).map_or(&b""[..], |d| d.bytes());
    if word.eq_ignore_ascii_case(b"one") {
        return Ok(false);
    }
    if word.eq_ignore_ascii_case(b"all") {
        return Ok(true);
    }
    Err(Error::new(
        errno::ER_JSON_BAD_ONE_OR_ALL_ARG,
        format!("The oneOrAll argument to {function} may take these values: 'one' or 'all'."),
    ))
}

fn contains_path(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let document = document(call, args, 0)?;
    let all = one_or_all(args, call.def.name)?;
    for i in 2..args.len() {
        let found = !path_at(args, i)?.find(&document).is_empty();
        if found != all {
            return Ok(Value::Int(i64::from(found)));
        }
    }
    Ok(Value::Int(i64::from(all)))
}

fn overlaps(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let (a, b) = (document(call, args, 0)?, document(call, args, 1)?);
    let equal = |x: &Json, y: &Json| x.compare(y).is_eq();
    let found = match (&a, &b) {
        (Json::Object(members), Json::Object(_)) => members
            .iter()
            .any(|(k, v)| b.get(k).is_some_and(|other| equal(v, other))),
        (Json::Array(x), Json::Array(y)) => x.iter().any(|v| y.iter().any(|w| equal(v, w))),
        (Json::Array(items), single) | (single, Json::Array(items)) => items.iter().any(|v| equal(v, single)),
        (x, y) => equal(x, y),
    };
    Ok(Value::Int(i64::from(found)))
}

/// Whether a value is one of an array's, or the document itself.
fn member_of(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let (Some(value), Some(written)) = (args.first(), call.args.first()) else {
        return Ok(Value::Null);
    };
    let value = of_result(value, written, call.ctx);
    let found = match document(call, args, 1)? {
        Json::Array(items) => items.iter().any(|item| item.compare(&value).is_eq()),
        single => single.compare(&value).is_eq(),
    };
    Ok(Value::Int(i64::from(found)))
}

fn pretty(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let mut out = String::new();
    write_pretty(&document(call, args, 0)?, 0, &mut out);
    Ok(Value::String(out))
}

fn write_pretty(json: &Json, depth: usize, out: &mut String) {
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', depth * 2));
    };
    match json {
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                indent(out, depth + 1);
                write_pretty(item, depth + 1, out);
            }
            indent(out, depth);
            out.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                indent(out, depth + 1);
                write_quoted(key, out);
                out.push_str(": ");
                write_pretty(value, depth + 1, out);
            }
            indent(out, depth);
            out.push('}');
        }
        other => other.write(out),
    }
}

/// `JSON_SEARCH(doc, one|all, pattern[, escape[, path...]])`: paths of strings that are LIKE the pattern.
fn search(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Option<Json>> {
    let nullable = |i: usize| args.get(i).is_none_or(|d| d.is_null());
    if nullable(0) || nullable(1) || nullable(2) || args.iter().skip(4).any(|d| d.is_null()) {
        return Ok(None);
    }
    let document = document(call, args, 0)?;
    let all = one_or_all(args, call.def.name)?;
    let pattern = args.get(2).map_or(&b""[..], |d| d.bytes());
    let escape = args
        .get(3)
        .and_then(|d| std::str::from_utf8(d.bytes()).ok()?.chars().next());
    let pattern = String::from_utf8_lossy(pattern);
    let matcher = crate::pattern::like::Like::new(&pattern, escape.unwrap_or('\\'), Collation::Utf8mb4Bin);
    let mut found = Vec::new();
    if args.len() > 4 {
        for i in 4..args.len() {
            let path = path_at(args, i)?;
            let prefix = std::str::from_utf8(args.get(i).map_or(&b""[..], |d| d.bytes())).unwrap_or("$");
            let parts = path.find(&document);
            if path.is_multiple() {
                // The path says less than where its values are.
                let parts: HashSet<*const Json> = parts.into_iter().map(std::ptr::from_ref).collect();
                walk_parts(&document, "$", &parts, &mut |part, path| {
                    walk_strings(part, path, &matcher, &mut found);
                });
                continue;
            }
            for part in parts {
                walk_strings(part, prefix.trim(), &matcher, &mut found);
            }
        }
    } else {
        walk_strings(&document, "$", &matcher, &mut found);
    }
    let mut seen = HashSet::with_capacity(found.len());
    found.retain(|path| seen.insert(path.clone()));
    if !all {
        found.truncate(1);
    }
    let mut paths: Vec<Json> = found.into_iter().map(Json::String).collect();
    Ok(match paths.len() {
        0 => None,
        1 => paths.pop(),
        _ => Some(Json::Array(paths)),
    })
}

/// Calls `on_part` for those of a document's values that are among `parts`, with their paths; not for values
/// below them.
fn walk_parts(json: &Json, path: &str, parts: &HashSet<*const Json>, on_part: &mut dyn FnMut(&Json, &str)) {
    if parts.contains(&std::ptr::from_ref(json)) {
        return on_part(json, path);
    }
    match json {
        Json::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk_parts(item, &format!("{path}[{i}]"), parts, on_part);
            }
        }
        Json::Object(members) => {
            for (key, value) in members {
                walk_parts(value, &member_path(path, key), parts, on_part);
            }
        }
        _ => {}
    }
}

/// The path of an object's member.
fn member_path(path: &str, key: &str) -> String {
    let plain = key.chars().all(|c| c == '_' || c.is_alphanumeric())
        && !key.starts_with(|c: char| c.is_ascii_digit())
        && !key.is_empty();
    let mut leg = String::new();
    if plain {
        leg.push_str(key)
    } else {
        write_quoted(key, &mut leg)
    }
    format!("{path}.{leg}")
}

fn walk_strings(json: &Json, path: &str, matcher: &crate::pattern::like::Like, found: &mut Vec<String>) {
    match json {
        Json::String(text) if matcher.matches(text) => found.push(path.to_owned()),
        Json::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk_strings(item, &format!("{path}[{i}]"), matcher, found);
            }
        }
        Json::Object(members) => {
            for (key, value) in members {
                walk_strings(value, &member_path(path, key), matcher, found);
            }
        }
        _ => {}
    }
}
