//! Words of texts, and MATCH ... AGAINST.
//!
//! - [`words`]: what the words of a text are.
//! - [`query`]: what the text behind AGAINST asks.
//! - [`rank`]: how relevant a row is for it; [`keys`]: the words of both, by number.
//! - [`parsed`]: the queries of a statement.
//!
//! A FULLTEXT index has an entry for each word of a row. The words are the elements of a hidden column, whose
//! expression is `stemdb_words(column, ...)`. MATCH is bound as a call of [`MATCH`], whose arguments include how
//! many rows there are and how many have each word: subqueries with conditions that are calls of [`HAS`].
//!
//! Source: manual 12.9 "Full-Text Search Functions"; `storage/innobase/fts` of MySQL.

mod keys;
pub(crate) mod parsed;
mod query;
mod rank;
mod words;

use types::collation::{character_count, first_characters};
use types::json::{Json, JsonArray, JsonBinary, JsonRef, JsonView};
use types::{Collation, Error, Result, SqlType, Value};

pub use self::query::{Mode, Query, QueryWord};
use self::rank::Counts;
pub use self::words::{Parser, STOPWORDS};
use crate::datum::Datum;
use crate::expr::{Binding, Call, FunctionDef, Nullability};
use crate::registry::{Family, MANY, function};

pub(crate) static FAMILY: Family = Family {
    functions: FUNCTIONS,
    aliases: &[],
};

static FUNCTIONS: &[FunctionDef] = &[
    function("stemdb_words", 1, MANY, resolve_words, |c, a| {
        array_of_words(c, a, Parser::BuiltIn)
    })
    .sees_null()
    .nullability(Nullability::Never),
    function("stemdb_ngrams", 1, MANY, resolve_words, |c, a| {
        array_of_words(c, a, Parser::Ngram)
    })
    .sees_null()
    .nullability(Nullability::Never),
    function(HAS, 2, 2, |_| Ok(SqlType::BOOL), has).takes_json(),
    function(WITH_PREFIX, 2, 2, |_| Ok(SqlType::BIGINT), with_prefix).takes_json(),
    function(NTH, 5, 5, resolve_nth, nth).nullability(Nullability::Always),
    function(MATCH, 5, MANY, resolve_match, match_against)
        .sees_null()
        .nullability(Nullability::Always),
];

/// `MATCH ... AGAINST`. The arguments: the query, [`Mode::code`], how many counts follow, and of these how many
/// are of prefixes, the number of rows (NULL: it is only asked whether the row is found), then the counts of rows with
/// each word, then of entries with each prefix, then the columns. The name is not a word, so no statement can call it.
pub const MATCH: &str = "match against";
/// Whether an array of words has a word.
pub const HAS: &str = "full text has";
/// How many words of an array begin with a text.
pub const WITH_PREFIX: &str = "full text with prefix";
/// The word of a query with a number: query, mode, `word` or `prefix`, the number from 0, and an expression of the
/// type of the index's words.
pub const NTH: &str = "full text nth";

/// The function whose value is the words of some columns.
pub fn words_function(parser: Parser) -> &'static str {
    match parser {
        Parser::BuiltIn => "stemdb_words",
        Parser::Ngram => "stemdb_ngrams",
    }
}

/// The type of the words of texts with a collation.
pub fn word_type(collation: Collation) -> SqlType {
    SqlType::varchar(words::CHARS_MAX as u32, collation)
}

/// The parser whose function that is.
pub fn parser_of(function: &str) -> Option<Parser> {
    [Parser::BuiltIn, Parser::Ngram]
        .into_iter()
        .find(|parser| words_function(*parser) == function)
}

fn resolve_words(binding: &mut Binding<'_>) -> Result<SqlType> {
    for index in 0..binding.args.len() {
        binding.text(index);
    }
    Ok(SqlType::JSON)
}

fn text<'a>(datum: &Datum<'a>) -> Option<&'a str> {
    match datum {
        Datum::String(text) => Some(text),
        _ => None,
    }
}

fn array_of_words(call: &Call<'_>, args: &[Datum<'_>], parser: Parser) -> Result<Value> {
    let collation = call.arg_type(0).collation;
    let words = words::distinct(parser, args.iter().filter_map(text), collation);
    let array = Json::Array(words.into_iter().map(Json::String).collect());
    JsonBinary::new(&array).map(Value::Json)
}

fn items<'a>(datum: Option<&Datum<'a>>) -> impl Iterator<Item = &'a str> {
    let array = match datum {
        Some(Datum::Json(json)) => match json.view() {
            JsonView::Array(items) => Some(items),
            _ => None,
        },
        _ => None,
    };
    let strings = |json: JsonRef<'a>| match json.view() {
        JsonView::String(text) => Some(text),
        _ => None,
    };
    array.into_iter().flat_map(JsonArray::iter).filter_map(strings)
}

fn has(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let collation = call.arg_type(1).collation;
    let Some(word) = args.get(1).and_then(text) else {
        return Ok(Value::Null);
    };
    let mut items = items(args.first());
    let has = items.any(|item| collation.equal(item.as_bytes(), word.as_bytes()));
    Ok(Value::Int(i64::from(has)))
}

fn with_prefix(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let collation = call.arg_type(1).collation;
    let Some(prefix) = args.get(1).and_then(text) else {
        return Ok(Value::Null);
    };
    let chars = character_count(prefix);
    let begins = |item: &&str| {
        let start = first_characters(item, chars);
        collation.equal(start.as_bytes(), prefix.as_bytes())
    };
    let count = items(args.first()).filter(begins).count();
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn resolve_nth(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(word_type(binding.ty(4).collation))
}

fn nth(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [Datum::String(text), mode, kind, number, _] = args else {
        return Ok(Value::Null);
    };
    let queries = &call.ctx.state.full_text_queries;
    let query = queries.parse(text, Mode::of_code(mode.bytes()), call.arg_type(4).collation)?;
    let is_prefix = kind.bytes() == b"prefix";
    let mut words = query.words.iter().filter(|word| word.is_prefix == is_prefix);
    let word = words.nth(count_of(Some(number)) as usize);
    Ok(word.map_or(Value::Null, |word| Value::String(word.text.clone())))
}

fn resolve_match(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::COMPUTED_DOUBLE)
}

fn count_of(datum: Option<&Datum<'_>>) -> u64 {
    match datum {
        Some(Datum::Int(count)) => u64::try_from(*count).unwrap_or(0),
        Some(Datum::UInt(count)) => *count,
        Some(Datum::Decimal(count)) => count.to_string().parse().unwrap_or(0),
        _ => 0,
    }
}

fn match_against(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [query, mode, counts, prefixes, rows, rest @ ..] = args else {
        return Err(Error::internal("MATCH has too few arguments"));
    };
    let Datum::String(query) = query else {
        return Ok(Value::Double(0.0));
    };
    let counted = count_of(Some(counts)) as usize;
    let of_prefixes = count_of(Some(prefixes)) as usize;
    let (Some(counts), Some(columns)) = (rest.get(..counted), rest.get(counted..)) else {
        return Err(Error::internal("MATCH has too few counts"));
    };
    let Some((words, prefixes)) = counts.split_at_checked(counted.saturating_sub(of_prefixes)) else {
        return Err(Error::internal("MATCH has too few counts"));
    };
    let mode = Mode::of_code(mode.bytes());
    let collation = call
        .args
        .last()
        .map_or(Collation::DEFAULT, |column| column.ty().collation);
    let query = call.ctx.state.full_text_queries.parse(query, mode, collation)?;
    let texts: Vec<&str> = columns.iter().filter_map(text).collect();
    if rows.is_null() {
        let found = rank::relevance(&query, mode.parser, collation, &texts, None);
        return Ok(Value::Double(f64::from(found)));
    }
    let (mut words, mut prefixes) = (words.iter(), prefixes.iter());
    let mut with_word = Vec::with_capacity(query.words.len());
    for word in &query.words {
        let count = match word.is_prefix {
            true => prefixes.next(),
            false => words.next(),
        };
        with_word.push(count_of(Some(count.ok_or_else(too_many_words)?)));
    }
    let counts = Counts {
        rows: count_of(Some(rows)),
        with_word,
    };
    let rank = rank::relevance(&query, mode.parser, collation, &texts, Some(&counts));
    Ok(Value::Double(f64::from(rank)))
}

fn too_many_words() -> Error {
    Error::not_supported("so many words in AGAINST(?)", "write the query as a literal")
}
