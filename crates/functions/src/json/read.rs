//! JSON functions that read documents: JSON_EXTRACT, `->`, `->>`, JSON_CONTAINS, JSON_KEYS and others.
//!
//! Source: manual 12.18 "JSON Functions".

use std::collections::HashSet;

use types::json::{Json, JsonArray, JsonBinary, JsonRef, JsonView, ParseError, write_quoted};
use types::{Collation, Error, Result, SqlType, TypeKind, Value, errno};

use super::argument::{Document, document, has_null, made, of_binary, path_at, resolve_json, single_path_at};
use super::convert::{of_result, parse_argument};
use super::order::compare;
use super::{returning, schema, storage};
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::pace::{Pace, Steps};
use crate::registry::{Family, MANY, of_json};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    of_json("json_extract", 2, MANY, resolve_json, extract)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("->", 2, 2, resolve_json, extract)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("->>", 2, 2, resolve_text, extract_unquoted)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_value", 2, 7, returning::resolve_value, returning::value)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_unquote", 1, 1, resolve_unquote, unquote),
    of_json("json_quote", 1, 1, resolve_unquote, quote),
    of_json("json_valid", 1, 1, resolve_integer, valid)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_type", 1, 1, resolve_type, type_of),
    of_json("json_length", 1, 2, resolve_integer, length)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_depth", 1, 1, resolve_integer, depth).nullability(Nullability::Always),
    of_json("json_keys", 1, 2, resolve_json, keys)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_contains", 2, 3, resolve_integer, contains)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_contains_path", 3, MANY, resolve_integer, contains_path)
        .sees_null()
        .nullability(Nullability::Always),
    of_json("json_overlaps", 2, 2, |_| Ok(SqlType::BOOL), overlaps).sees_null(),
    of_json("member of", 2, 2, |_| Ok(SqlType::BOOL), member_of),
    of_json("json_pretty", 1, 1, resolve_text, pretty),
    of_json("json_schema_valid", 2, 2, |_| Ok(SqlType::BOOL), schema::valid),
    of_json(
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
    of_json("json_search", 3, MANY, resolve_json, search)
        .sees_null()
        .nullability(Nullability::Always),
];

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
    if ty.is_string() && ty.is_binary() {
        return Err(of_binary());
    }
    let is_document = ty.kind == TypeKind::Json && binding.name != "json_quote";
    if !ty.is_string() && !is_document && ty.kind != TypeKind::Null {
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

/// The parts of the document that the paths in the other arguments match.
enum Found<'a> {
    Nothing,
    One(JsonRef<'a>),
    Several(Vec<JsonRef<'a>>),
}

impl Found<'_> {
    fn several(found: &[JsonRef<'_>]) -> Result<Value> {
        made(Json::Array(found.iter().map(|json| json.to_tree()).collect()))
    }
}

fn find<'a>(document: &'a Document<'_>, args: &[Datum<'_>]) -> Result<Found<'a>> {
    let root = document.root();
    if let [_, _] = args {
        let path = path_at(args, 1)?;
        if !path.is_multiple() {
            return Ok(path.find_first(root).map_or(Found::Nothing, Found::One));
        }
    }
    let mut found = Vec::new();
    for i in 1..args.len() {
        found.extend(path_at(args, i)?.find(root));
    }
    Ok(match found.is_empty() {
        true => Found::Nothing,
        false => Found::Several(found),
    })
}

fn extract(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, 1)? {
        return Ok(Value::Null);
    }
    Ok(match find(&document(call, args, 0)?, args)? {
        Found::Nothing => Value::Null,
        Found::One(json) => Value::Json(json.to_binary()),
        Found::Several(found) => Found::several(&found)?,
    })
}

fn extract_unquoted(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, 1)? {
        return Ok(Value::Null);
    }
    Ok(match find(&document(call, args, 0)?, args)? {
        Found::Nothing => Value::Null,
        Found::One(json) => Value::String(json.to_unquoted()),
        Found::Several(found) => match Found::several(&found)? {
            Value::Json(array) => Value::String(array.root().to_text()),
            other => other,
        },
    })
}

fn unquote(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let text = match args.first() {
        Some(Datum::String(text)) => *text,
        Some(Datum::Json(json)) => return Ok(Value::String(json.to_unquoted())),
        _ => return Ok(Value::Null),
    };
    let quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    if !quoted {
        return Ok(Value::from(text));
    }
    let json = parse_argument(text.as_bytes(), 1, call.def.name)?;
    Ok(Value::String(json.root().to_unquoted()))
}

fn quote(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(Datum::String(text)) = args.first() else {
        return Ok(Value::Null);
    };
    let mut out = Vec::with_capacity(text.len() + 2);
    write_quoted(text, &mut out);
    Ok(Value::String(String::from_utf8(out).unwrap_or_default()))
}

fn valid(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let ty = call.arg_type(0);
    // An ENUM or SET is no document either.
    let is_member = call
        .args
        .first()
        .is_some_and(|arg| arg.as_stored().ty().has_members());
    if is_member {
        return Ok(Value::Int(0));
    }
    let text = ty.kind == TypeKind::Json || ty.is_string() && !ty.is_binary();
    let is_null = args.first().is_none_or(Datum::is_null);
    // The NULL of a number or date is no document, as its other values.
    if is_null && (text || ty.is_string() || ty.kind == TypeKind::Null) {
        return Ok(Value::Null);
    }
    let valid = match args.first() {
        Some(Datum::Json(_)) => true,
        Some(text_datum) if text => match types::json::parse(text_datum.bytes()) {
            Ok(_) => true,
            Err(ParseError::Syntax { .. }) => false,
            Err(ParseError::Limit(error)) => return Err(error),
        },
        _ => false,
    };
    Ok(Value::Int(i64::from(valid)))
}

fn type_of(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    Ok(Value::from(document(call, args, 0)?.root().type_name()))
}

/// The value at the path in argument `index`, or the whole document if there is no such argument.
fn part<'a>(args: &[Datum<'_>], document: &'a Document<'_>, index: usize) -> Result<Option<JsonRef<'a>>> {
    let root = document.root();
    if args.len() <= index {
        return Ok(Some(root));
    }
    Ok(single_path_at(args, index)?.find_first(root))
}

fn length(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, 1)? {
        return Ok(Value::Null);
    }
    let document = document(call, args, 0)?;
    if args.len() > 1 {
        let path = path_at(args, 1)?;
        if path.is_multiple() {
            // The matches form an array.
            let found = path.find(document.root()).len();
            return Ok(match found {
                0 => Value::Null,
                found => Value::Int(found as i64),
            });
        }
    }
    Ok(match part(args, &document, 1)?.map(JsonRef::view) {
        None => Value::Null,
        Some(JsonView::Array(items)) => Value::Int(items.len() as i64),
        Some(JsonView::Object(members)) => Value::Int(members.len() as i64),
        Some(_) => Value::Int(1),
    })
}

fn depth(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    fn of(json: JsonRef<'_>) -> i64 {
        1 + match json.view() {
            JsonView::Array(items) => items.iter().map(of).max().unwrap_or(0),
            JsonView::Object(members) => members.values().map(of).max().unwrap_or(0),
            _ => 0,
        }
    }
    Ok(Value::Int(of(document(call, args, 0)?.root())))
}

fn keys(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, 1)? {
        return Ok(Value::Null);
    }
    let document = document(call, args, 0)?;
    let root = document.root();
    let part = match args.len() {
        0 | 1 => Some(root),
        _ => single_path_at(args, 1)?.find_unwrapped(root),
    };
    match part.map(JsonRef::view) {
        Some(JsonView::Object(members)) => {
            let keys = members.keys().map(|k| Json::String(k.to_owned())).collect();
            made(Json::Array(keys))
        }
        _ => Ok(Value::Null),
    }
}

fn contains(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, 2)? {
        return Ok(Value::Null);
    }
    let target = document(call, args, 0)?;
    let candidate = document(call, args, 1)?;
    Ok(match part(args, &target, 2)? {
        None => Value::Null,
        Some(target) => {
            let mut pace = Pace::of(call.ctx);
            Value::Int(i64::from(is_contained(target, candidate.root(), &mut pace)?))
        }
    })
}

fn is_contained(target: JsonRef<'_>, candidate: JsonRef<'_>, pace: &mut Pace<'_>) -> Result<bool> {
    match (target.view(), candidate.view()) {
        (JsonView::Object(members), JsonView::Object(wanted)) => all(wanted.iter(), |(key, value)| {
            let found = members.get(key);
            found.map_or(Ok(false), |found| is_contained(found, value, pace))
        }),
        (JsonView::Array(items), JsonView::Array(wanted)) => {
            all(wanted.iter(), |wanted| is_in_array(items, wanted, pace))
        }
        (JsonView::Array(items), _) => any(items.iter(), |item| is_contained(item, candidate, pace)),
        _ => equal(target, candidate, pace),
    }
}

/// Whether one of an array's items contains a value of the candidate array. An array can be contained only in
/// an item that is an array.
fn is_in_array(items: JsonArray<'_>, wanted: JsonRef<'_>, pace: &mut Pace<'_>) -> Result<bool> {
    let is_array = |json: JsonRef<'_>| matches!(json.view(), JsonView::Array(_));
    let wants_array = is_array(wanted);
    any(items.iter(), |item| {
        pace.step(STEPS_OF_ITEM)?;
        Ok((!wants_array || is_array(item)) && is_contained(item, wanted, pace)?)
    })
}

/// What reading an item of an array takes.
const STEPS_OF_ITEM: usize = 16;

fn equal(a: JsonRef<'_>, b: JsonRef<'_>, pace: &mut Pace<'_>) -> Result<bool> {
    pace.step(STEPS_OF_ITEM)?;
    Ok(compare(a, b).is_eq())
}

fn any<T>(mut items: impl Iterator<Item = T>, mut holds: impl FnMut(T) -> Result<bool>) -> Result<bool> {
    let found = items.find_map(|item| Some(holds(item)).filter(|holds| !matches!(holds, Ok(false))));
    found.unwrap_or(Ok(false))
}

fn all<T>(items: impl Iterator<Item = T>, mut holds: impl FnMut(T) -> Result<bool>) -> Result<bool> {
    any(items, |item| holds(item).map(|holds| !holds)).map(|found| !found)
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

/// Paths after the one that decides are not looked at.
fn contains_path(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let is_null = |at: usize| args.get(at).is_none_or(Datum::is_null);
    if is_null(0) {
        return Ok(Value::Null);
    }
    let document = document(call, args, 0)?;
    if is_null(1) {
        return Ok(Value::Null);
    }
    let all = one_or_all(args, call.def.name)?;
    for i in 2..args.len() {
        if is_null(i) {
            return Ok(Value::Null);
        }
        let found = path_at(args, i)?.find_first(document.root()).is_some();
        if found != all {
            return Ok(Value::Int(i64::from(found)));
        }
    }
    Ok(Value::Int(i64::from(all)))
}

fn overlaps(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    if has_null(call, args, 2)? {
        return Ok(Value::Null);
    }
    let (a, b) = (document(call, args, 0)?, document(call, args, 1)?);
    let mut pace = Pace::of(call.ctx);
    let mut equal = |x: JsonRef<'_>, y: JsonRef<'_>| equal(x, y, &mut pace);
    let (a, b) = (a.root(), b.root());
    let found = match (a.view(), b.view()) {
        (JsonView::Object(members), JsonView::Object(others)) => any(members.iter(), |(key, value)| {
            others.get(key).map_or(Ok(false), |other| equal(value, other))
        })?,
        (JsonView::Array(x), JsonView::Array(y)) => any(x.iter(), |v| any(y.iter(), |w| equal(v, w)))?,
        (JsonView::Array(items), _) => any(items.iter(), |item| equal(item, b))?,
        (_, JsonView::Array(items)) => any(items.iter(), |item| equal(item, a))?,
        _ => equal(a, b)?,
    };
    Ok(Value::Int(i64::from(found)))
}

/// Whether a value is an element of an array, or the document itself.
fn member_of(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let (Some(value), Some(written)) = (args.first(), call.args.first()) else {
        return Ok(Value::Null);
    };
    let value = JsonBinary::new(&of_result(value, written, call.ctx))?;
    let document = document(call, args, 1)?;
    let found = match document.root().view() {
        JsonView::Array(items) => items.iter().any(|item| compare(item, value.root()).is_eq()),
        _ => compare(document.root(), value.root()).is_eq(),
    };
    Ok(Value::Int(i64::from(found)))
}

fn pretty(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let mut out = Vec::new();
    write_pretty(document(call, args, 0)?.root(), 0, &mut out);
    Ok(Value::String(String::from_utf8(out).unwrap_or_default()))
}

fn write_pretty(json: JsonRef<'_>, depth: usize, out: &mut Vec<u8>) {
    let line = |out: &mut Vec<u8>, number: usize, depth: usize| {
        out.extend_from_slice(if number > 0 { b",\n" } else { b"\n" });
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    match json.view() {
        JsonView::Array(items) if !items.is_empty() => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                line(out, i, depth + 1);
                write_pretty(item, depth + 1, out);
            }
            line(out, 0, depth);
            out.push(b']');
        }
        JsonView::Object(members) if !members.is_empty() => {
            out.push(b'{');
            for (i, (key, value)) in members.iter().enumerate() {
                line(out, i, depth + 1);
                write_quoted(key, out);
                out.extend_from_slice(b": ");
                write_pretty(value, depth + 1, out);
            }
            line(out, 0, depth);
            out.push(b'}');
        }
        _ => json.write_text(out),
    }
}

/// `JSON_SEARCH(doc, one|all, pattern[, escape[, path...]])`: paths of strings that are LIKE the pattern.
fn search(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let nullable = |i: usize| args.get(i).is_none_or(|d| d.is_null());
    if nullable(0) {
        return Ok(Value::Null);
    }
    let document = document(call, args, 0)?;
    if nullable(1) || nullable(2) || args.iter().skip(4).any(|d| d.is_null()) {
        return Ok(Value::Null);
    }
    let all = one_or_all(args, call.def.name)?;
    let pattern = args.get(2).map_or(&b""[..], |d| d.bytes());
    let escape = args.get(3).and_then(|d| std::str::from_utf8(d.bytes()).ok());
    let mut escape = escape.unwrap_or_default().chars();
    let (escape, None) = (escape.next(), escape.next()) else {
        return Err(Error::new(
            errno::ER_WRONG_ARGUMENTS,
            "Incorrect arguments to ESCAPE",
        ));
    };
    let pattern = String::from_utf8_lossy(pattern);
    let matcher = crate::pattern::like::Like::new(&pattern, escape.unwrap_or('\\'), Collation::Utf8mb4Bin);
    let (mut found, mut pace) = (Vec::new(), Pace::of(call.ctx));
    if args.len() > 4 {
        for i in 4..args.len() {
            let path = path_at(args, i)?;
            let prefix = std::str::from_utf8(args.get(i).map_or(&b""[..], |d| d.bytes())).unwrap_or("$");
            let parts = path.find(document.root());
            if path.is_multiple() {
                // A path with wildcards does not tell where its values are.
                let parts: HashSet<*const u8> = parts.into_iter().map(JsonRef::address).collect();
                walk_parts(document.root(), "$", &parts, &mut |part, path| {
                    walk_strings(part, path, &matcher, &mut found, &mut pace)
                })?;
                continue;
            }
            for part in parts {
                walk_strings(part, prefix.trim(), &matcher, &mut found, &mut pace)?;
            }
        }
    } else {
        walk_strings(document.root(), "$", &matcher, &mut found, &mut pace)?;
    }
    let mut seen = HashSet::with_capacity(found.len());
    found.retain(|path| seen.insert(path.clone()));
    if !all {
        found.truncate(1);
    }
    let mut paths: Vec<Json> = found.into_iter().map(Json::String).collect();
    match (paths.len(), paths.pop()) {
        (1, Some(path)) => made(path),
        (_, Some(last)) => {
            paths.push(last);
            made(Json::Array(paths))
        }
        (_, None) => Ok(Value::Null),
    }
}

/// Calls `on_part` for those of a document's values that are among `parts`, with their paths; not for values
/// below them.
fn walk_parts(
    json: JsonRef<'_>,
    path: &str,
    parts: &HashSet<*const u8>,
    on_part: &mut dyn FnMut(JsonRef<'_>, &str) -> Result<()>,
) -> Result<()> {
    if parts.contains(&json.address()) {
        return on_part(json, path);
    }
    match json.view() {
        JsonView::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk_parts(item, &format!("{path}[{i}]"), parts, on_part)?;
            }
        }
        JsonView::Object(members) => {
            for (key, value) in members.iter() {
                walk_parts(value, &member_path(path, key), parts, on_part)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// The path of an object's member.
fn member_path(path: &str, key: &str) -> String {
    let plain = key.chars().all(|c| c == '_' || c.is_alphanumeric())
        && !key.starts_with(|c: char| c.is_ascii_digit())
        && !key.is_empty();
    if plain {
        return format!("{path}.{key}");
    }
    let mut quoted = Vec::new();
    write_quoted(key, &mut quoted);
    format!("{path}.{}", String::from_utf8(quoted).unwrap_or_default())
}

fn walk_strings(
    json: JsonRef<'_>,
    path: &str,
    matcher: &crate::pattern::like::Like,
    found: &mut Vec<String>,
    pace: &mut Pace<'_>,
) -> Result<()> {
    pace.step(STEPS_OF_ITEM + path.len())?;
    match json.view() {
        JsonView::String(text) if matcher.matches(text, pace)? => found.push(path.to_owned()),
        JsonView::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                walk_strings(item, &format!("{path}[{i}]"), matcher, found, pace)?;
            }
        }
        JsonView::Object(members) => {
            for (key, value) in members.iter() {
                walk_strings(value, &member_path(path, key), matcher, found, pace)?;
            }
        }
        _ => {}
    }
    Ok(())
}
