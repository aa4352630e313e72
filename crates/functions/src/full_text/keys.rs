//! The keys by which a FULLTEXT index is read for a query, as a document:
//!
//! ```text
//! [{"word": "apple"}, {"prefix": "ban"}]
//! ```
//!
//! `word*` is a key of all words that begin so.

use std::collections::HashSet;

use types::json::{Json, JsonArray, JsonBinary, JsonRef, JsonView};
use types::{Result, SqlType, Value};

use super::query::{Mode, Query, QueryWord};
use super::sort_keys::sort_key;
use crate::datum::Datum;
use crate::expr::{Binding, Call};

/// Which of a query's words: all in their order.
pub const ALL: &str = "all";
/// Those of which a row has one if the query finds it.
pub const OF_FOUND: &str = "of found";

/// The members of a key.
pub const WORD: &str = "word";
pub const PREFIX: &str = "prefix";

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    Word(&'a str),
    Prefix(&'a str),
}

/// The keys that a document lists.
pub fn keys_of(document: JsonRef<'_>) -> Vec<Key<'_>> {
    fn key(item: JsonRef<'_>) -> Option<Key<'_>> {
        let JsonView::Object(object) = item.view() else {
            return None;
        };
        let member = |name: &str| match object.get(name)?.view() {
            JsonView::String(text) => Some(text),
            _ => None,
        };
        let word = member(WORD).map(Key::Word);
        word.or_else(|| member(PREFIX).map(Key::Prefix))
    }
    match document.view() {
        JsonView::Array(all) => all.iter().filter_map(key).collect(),
        _ => Vec::new(),
    }
}

fn document_of(word: &QueryWord) -> Json {
    let name = match word.is_prefix {
        true => PREFIX,
        false => WORD,
    };
    Json::Object(vec![(name.to_owned(), Json::String(word.text.clone()))])
}

pub(super) fn resolve_keys(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::JSON)
}

/// Arguments: the query, [`Mode::code`], [`ALL`] or [`OF_FOUND`], and an expression of the type of the index's words.
pub(super) fn keys(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [Datum::String(text), mode, which, _] = args else {
        return Ok(Value::Null);
    };
    let query = Query::parse(text, Mode::of_code(mode.bytes()), call.arg_type(3).collation)?;
    let words: Vec<Json> = match which.bytes() == OF_FOUND.as_bytes() {
        true => query.alternatives().into_iter().map(document_of).collect(),
        false => query.words.iter().map(document_of).collect(),
    };
    JsonBinary::new(&Json::Array(words)).map(Value::Json)
}

pub(super) fn resolve_expanded(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::varchar(u32::MAX, binding.ty(0).collation))
}

/// Arguments: a query, an array of the arrays of words of the rows that it finds, [`Mode::code`], and an expression of
/// the type of the words. The query with these words besides its own.
pub(super) fn expanded(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [query, rows, mode, _] = args else {
        return Ok(Value::Null);
    };
    let Some(query) = text(query) else {
        return Ok(Value::Null);
    };
    let collation = call.arg_type(3).collation;
    let own = Query::parse(query, Mode::of_code(mode.bytes()), collation)?.words;
    let own = own.iter().filter(|word| !word.is_prefix);
    let own: HashSet<Vec<u8>> = own.map(|word| sort_key(collation, &word.text)).collect();
    let mut words: Vec<&str> = Vec::new();
    if let Datum::Json(rows) = rows
        && let JsonView::Array(rows) = rows.view()
    {
        words.extend(rows.iter().flat_map(items));
    }
    words.sort_by(|a, b| collation.compare(a.as_bytes(), b.as_bytes()));
    words.dedup_by(|a, b| collation.equal(a.as_bytes(), b.as_bytes()));
    words.retain(|word| !own.contains(&sort_key(collation, word)));
    let all: Vec<&str> = std::iter::once(query).chain(words).collect();
    Ok(Value::String(all.join(" ")))
}

pub(super) fn text<'a>(datum: &Datum<'a>) -> Option<&'a str> {
    match datum {
        Datum::String(text) => Some(text),
        _ => None,
    }
}

/// The texts among the items of an array.
pub(super) fn items<'a>(array: JsonRef<'a>) -> impl Iterator<Item = &'a str> {
    let items = match array.view() {
        JsonView::Array(items) => Some(items),
        _ => None,
    };
    let texts = |item: JsonRef<'a>| match item.view() {
        JsonView::String(text) => Some(text),
        _ => None,
    };
    items.into_iter().flat_map(JsonArray::iter).filter_map(texts)
}
