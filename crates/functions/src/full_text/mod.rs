//! Words of texts, and MATCH ... AGAINST.
//!
//! - [`words`]: what the words of a text are.
//! - [`query`]: what the text behind AGAINST asks.
//! - [`keys`]: by which entries of an index its rows are found.
//! - [`rank`]: how relevant a row is for it; [`sort_keys`]: the words of both, by number.
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
mod sort_keys;
mod words;

use types::collation::{character_count, first_characters};
use types::json::{Json, JsonBinary, JsonObject, JsonView};
use types::{Collation, Error, Result, SqlType, Value};

pub use self::keys::{ALL, Key, OF_FOUND, PREFIX, WORD, keys_of};
use self::keys::{items, text};
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
    function(KEYS, 4, 4, keys::resolve_keys, keys::keys).nullability(Nullability::Always),
    function(EXPANDED, 4, 4, keys::resolve_expanded, keys::expanded)
        .takes_json()
        .sees_null()
        .nullability(Nullability::Always),
    function(MATCH, 5, MANY, resolve_match, match_against)
        .takes_json()
        .sees_null()
        .nullability(Nullability::Always),
];

/// `MATCH ... AGAINST`. The arguments: the query, [`Mode::code`], the number of rows (NULL: it is only asked whether
/// the row is found), a document of how many rows have each of the query's words, by their numbers from 1 on, then the
/// columns. The name is not a word, so no statement can call it.
pub const MATCH: &str = "match against";
/// Whether an array of words has a word.
pub const HAS: &str = "full text has";
/// How many words of an array begin with a text.
pub const WITH_PREFIX: &str = "full text with prefix";
/// The keys of a query's words: the query, [`Mode::code`], [`ALL`] or [`OF_FOUND`], and an expression of the type of
/// the index's words.
pub const KEYS: &str = "full text keys";
/// A query with the words of the rows that it finds: the query, an array of arrays of words, [`Mode::code`], and an
/// expression of the type of the words.
pub const EXPANDED: &str = "full text expanded";

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

fn array_of_words(call: &Call<'_>, args: &[Datum<'_>], parser: Parser) -> Result<Value> {
    let collation = call.arg_type(0).collation;
    let words = words::distinct(parser, args.iter().filter_map(text), collation);
    let array = Json::Array(words.into_iter().map(Json::String).collect());
    JsonBinary::new(&array).map(Value::Json)
}

fn has(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let collation = call.arg_type(1).collation;
    let [Datum::Json(words), Datum::String(word)] = args else {
        return Ok(Value::Null);
    };
    let has = items(*words).any(|item| collation.equal(item.as_bytes(), word.as_bytes()));
    Ok(Value::Int(i64::from(has)))
}

fn with_prefix(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let collation = call.arg_type(1).collation;
    let [Datum::Json(words), Datum::String(prefix)] = args else {
        return Ok(Value::Null);
    };
    let chars = character_count(prefix);
    let begins = |item: &&str| {
        let start = first_characters(item, chars);
        collation.equal(start.as_bytes(), prefix.as_bytes())
    };
    let count = items(*words).filter(begins).count();
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn resolve_match(binding: &mut Binding<'_>) -> Result<SqlType> {
    binding.text(0);
    Ok(SqlType::COMPUTED_DOUBLE)
}

fn match_against(call: &Call<'_>, args: &[Datum<'_>]) -> Result<Value> {
    let [query, mode, rows, counts, columns @ ..] = args else {
        return Err(Error::internal("MATCH has too few arguments"));
    };
    let Datum::String(query) = query else {
        return Ok(Value::Double(0.0));
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
    let with_word = match counts {
        Datum::Json(counts) => match counts.view() {
            JsonView::Object(counts) => counts_of(counts, query.words.len()),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let counts = Counts {
        rows: match rows {
            Datum::Int(rows) => u64::try_from(*rows).unwrap_or(0),
            Datum::UInt(rows) => *rows,
            _ => 0,
        },
        with_word,
    };
    let rank = rank::relevance(&query, mode.parser, collation, &texts, Some(&counts));
    Ok(Value::Double(f64::from(rank)))
}

/// The counts of as many words.
fn counts_of(counts: JsonObject<'_>, words: usize) -> Vec<u64> {
    let of_word = |number: usize| match counts.get(&number.to_string())?.view() {
        JsonView::Int(count) => u64::try_from(count).ok(),
        JsonView::UInt(count) => Some(count),
        JsonView::Decimal(count) => count.to_string().parse().ok(),
        _ => None,
    };
    (1..=words).map(|number| of_word(number).unwrap_or(0)).collect()
}
