//! The LIKE operator.

use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;
use types::{Collation, Error, Result, SqlType, Value, errno};

use super::like::Like;
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef};
use crate::input::ColumnarValue;
use crate::pace::Pace;
use crate::registry::{Family, function};
use crate::truth::value_of;

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

// A wrong escape character is an error of the statement, whichever rows it has.
static FUNCTIONS: &[FunctionDef] = &[
    function("like", 2, 3, resolve, like)
        .vector(like_vector)
        .infallible(),
    // What is written behind ESCAPE where a backslash is no escape character.
    function("escape character", 1, 1, resolve_escape, written_escape).infallible(),
];

fn resolve(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    binding.text(1);
    binding.compared_texts(0..2)?;
    if binding.args.len() > 2 {
        binding.text(2);
    }
    Ok(SqlType::BOOL)
}

fn resolve_escape(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(binding.ty(0))
}

/// Where a backslash is no escape character, there must be another one.
fn written_escape(_: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let Some(datum) = args.first() else {
        return Ok(Value::Null);
    };
    match as_text(datum).is_empty() {
        true => Err(wrong_escape()),
        false => Ok(datum.to_value()),
    }
}

/// The escape character: a backslash where none is given, `None` for an empty one. Error 1210 if it is not one
/// character.
fn escape(args: &[Datum<'_>]) -> Result<Option<char>> {
    let Some(datum) = args.get(2) else {
        return Ok(Some('\\'));
    };
    let text = as_text(datum);
    let mut chars = text.chars();
    let first = chars.next();
    match chars.next() {
        Some(_) => Err(wrong_escape()),
        None => Ok(first),
    }
}

fn wrong_escape() -> Error {
    Error::new(errno::ER_WRONG_ARGUMENTS, "Incorrect arguments to ESCAPE")
}

/// Text unchanged, and bytes as one character each.
fn as_text<'a>(datum: &Datum<'a>) -> std::borrow::Cow<'a, str> {
    match datum {
        Datum::String(text) => (*text).into(),
        other => other
            .bytes()
            .iter()
            .map(|b| char::from(*b))
            .collect::<String>()
            .into(),
    }
}

fn like(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [text, pattern, ..] = args else {
        return Ok(Value::Null);
    };
    let escape = escape(args)?;
    let compiled = Like::new(&as_text(pattern), escape, call.arg_type(0).collation);
    let matches = compiled.matches(&as_text(text), &mut Pace::of(call.ctx))?;
    Ok(value_of(Some(matches)))
}

/// A column and one pattern.
fn like_vector(call: &Call<'_>, args: &[ColumnarValue], _rows: usize) -> Result<Option<ColumnarValue>> {
    let [
        ColumnarValue::Array(array),
        ColumnarValue::Scalar(Value::String(pattern)),
        rest @ ..,
    ] = args
    else {
        return Ok(None);
    };
    let escape_arg = match rest {
        [] => None,
        [ColumnarValue::Scalar(value)] if !value.is_null() => Some(value),
        _ => return Ok(None),
    };
    if *array.data_type() != DataType::Utf8 {
        return Ok(None);
    }
    let mut datums = vec![Datum::Null, Datum::Null];
    datums.extend(escape_arg.map(Datum::of));
    let compiled = Like::new(pattern, escape(&datums)?, call.arg_type(0).collation);
    let values = array.as_string::<i32>();
    let found = match compiled.is_soon_done(values.values().len()) {
        true => BooleanBuffer::collect_bool(values.len(), |i| compiled.matches_at_once(values.value(i))),
        false => {
            let mut pace = Pace::of(call.ctx);
            let matches = |text: Option<&str>| compiled.matches(text.unwrap_or_default(), &mut pace);
            values.iter().map(matches).collect::<Result<BooleanBuffer>>()?
        }
    };
    let found = BooleanArray::new(found, array.nulls().cloned());
    Ok(Some(ColumnarValue::Array(Arc::new(found))))
}

/// `column LIKE pattern` on stored text: whether it may be true. `None` for a pattern that has an escape character.
pub fn stored_like(pattern: &str, collation: Collation) -> Option<impl Fn(&[u8]) -> bool + use<>> {
    if pattern.contains('\\') {
        return None;
    }
    let like = Like::new(pattern, None, collation);
    Some(move |bytes: &[u8]| like.may_match(bytes))
}

/// `text LIKE pattern`: the filter of SHOW statements.
pub fn show_like(pattern: &str, text: &str, collation: Collation) -> bool {
    let like = Like::new(pattern, '\\', collation);
    like.matches_at_once(text)
}
