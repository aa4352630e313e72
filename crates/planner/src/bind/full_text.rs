//! `MATCH (columns) AGAINST (query)`.
//!
//! The relevance of a row depends on how many rows there are and how many have each word of the query. These
//! numbers are subqueries, which the statement runs once ([`full_text_counts`](super::full_text_counts)). In WHERE,
//! MATCH by itself is only whether a row is found, and needs none of them
//! ([`full_text_search`](super::full_text_search)).
//!
//! WITH QUERY EXPANSION searches for the words of the query, and then for these and all words of the rows found.

use functions::full_text::{self, Mode, Parser, Query as Words};
use functions::{EvalContext, Expr, bind};
use schema::model::Table;
use syntax::ast;
use types::{Error, Result, SqlType, Value, errno};

use super::Binder;
use super::bound_query::as_it_stands;
use super::context::Context;
use super::full_text_counts::Search;
use super::full_text_index::on_partitions;
use super::relation::{BaseColumn, Relation};

/// The names of MATCH among functions, as the parser has them; and those where only counts whether a row is found, which
/// no statement has.
const NATURAL: [&str; 2] = ["match against", "match found against"];
const BOOLEAN: [&str; 2] = ["match in boolean mode", "match found in boolean mode"];
const EXPANDED: [&str; 2] = ["match with query expansion", "match found with query expansion"];

pub(super) fn is_match(function: &str) -> bool {
    [NATURAL, BOOLEAN, EXPANDED].as_flattened().contains(&function)
}

/// The name of a MATCH that is only whether a row is found.
pub(super) fn found_only(function: &str) -> Option<&'static str> {
    let mut all = [NATURAL, BOOLEAN, EXPANDED].into_iter();
    all.find_map(|[name, found]| (name == function).then_some(found))
}

/// # Errors
/// 1191 if there is no FULLTEXT index of the columns; 1210 for a query that is not constant; 1214 for columns of other
/// rows than a table's; 1064 for a query that is not well formed.
pub(super) fn bind_match(
    binder: &Binder<'_>,
    name: &str,
    args: &[ast::Expr],
    context: &Context<'_>,
) -> Result<Expr> {
    let Some((query, columns)) = args.split_first() else {
        return Err(Error::internal("MATCH without arguments"));
    };
    if let Some(refused) = binder.in_definition {
        return Err(refused(Some("match")));
    }
    let named = columns_of(columns, context)?;
    let Some(base) = named.first() else {
        return Err(wrong_arguments("MATCH"));
    };
    let offsets: Vec<usize> = named.iter().map(|column| column.offset).collect();
    let (parser, ordered) = index_of(&base.table, &offsets)?;
    let mode = Mode {
        boolean: BOOLEAN.contains(&name),
        parser,
    };
    let mut in_order = Vec::with_capacity(ordered.len());
    for column in &ordered {
        let same = columns.iter().zip(&offsets).find(|(_, offset)| *offset == column);
        let (name, _) = same.ok_or_else(|| wrong_arguments("MATCH"))?;
        in_order.push(binder.scalar(name, context)?);
    }
    let first = base.table.columns.get(base.offset);
    let collation = first.map_or(binder.types.collation, |column| column.ty.collation);
    let query = bound_query(binder, query, collation, context)?;
    let known = known_text(&query)
        .map(|text| Words::parse(&text, mode, collation))
        .transpose()?;
    let search = Search {
        binder,
        context,
        table: &base.table,
        columns: &ordered,
        mode,
        collation,
        known: known.as_ref(),
        is_expanded: EXPANDED.contains(&name),
    };
    let is_found_only = found_only(name).is_none();
    // A view is stored with what was written, and runs nothing.
    let (query, [rows, counts]) = match binder.resolution.is_some() {
        true => (query, [Expr::null(), Expr::null()]),
        false => search.with_counts(query, is_found_only)?,
    };
    let mut all = vec![query, binder.keyword(mode.code()), rows, counts];
    all.extend(in_order);
    binder.call(full_text::MATCH, all)
}

/// Error 1210.
fn wrong_arguments(of: &str) -> Error {
    Error::new(errno::ER_WRONG_ARGUMENTS, format!("Incorrect arguments to {of}"))
}

/// The columns of one table that they are.
fn columns_of(columns: &[ast::Expr], context: &Context<'_>) -> Result<Vec<BaseColumn>> {
    let mut found: Vec<BaseColumn> = Vec::with_capacity(columns.len());
    let mut named: Option<&Relation> = None;
    for column in columns {
        let ast::Expr::Column(name) = column else {
            return Err(wrong_arguments("MATCH"));
        };
        let (relation, position) = context.names.defaulted(name)?;
        let base = relation
            .base(position)
            .ok_or_else(|| match relation.is_merged() {
                true => wrong_arguments("MATCH"),
                false => on_partitions(),
            })?;
        let is_other = |first: &Relation| first.id(0) != relation.id(0);
        if named.is_some_and(is_other) || found.first().is_some_and(|first| first.first != base.first) {
            return Err(wrong_arguments("MATCH"));
        }
        named = Some(relation);
        found.push(base);
    }
    Ok(found)
}

/// The parser of the FULLTEXT index of some columns, and its columns in their order.
fn index_of(table: &Table, offsets: &[usize]) -> Result<(Parser, Vec<usize>)> {
    let indexes = table.public_indexes();
    let found = indexes.filter_map(|index| Some((index.full_text.as_ref()?, index)));
    for (words, index) in found {
        let Some(columns) = table.offsets_of(&words.columns) else {
            continue;
        };
        let is_same = columns.iter().all(|column| offsets.contains(column))
            && offsets.iter().all(|column| columns.contains(column));
        if is_same && !index.invisible {
            let parser = match words.ngram {
                true => Parser::Ngram,
                false => Parser::BuiltIn,
            };
            return Ok((parser, columns));
        }
    }
    Err(Error::new(
        1191,
        "Can't find FULLTEXT index matching the column list",
    ))
}

/// The query as text in a collation's character set. Bytes are taken for text in it.
fn bound_query(
    binder: &Binder<'_>,
    query: &ast::Expr,
    collation: types::Collation,
    context: &Context<'_>,
) -> Result<Expr> {
    let text = SqlType::varchar(u32::from(u16::MAX), binder.types.collation);
    let place = Context {
        parameters: Some(text),
        ..*context
    };
    let bound = match query {
        ast::Expr::Parameter(index) => binder.parameter(*index, Some(text))?,
        query => binder.scalar(query, &place)?,
    };
    let mut is_literal_param = false;
    bound.walk(&mut |part| {
        is_literal_param |= matches!(part, Expr::Param { .. }) && binder.env.literal_params;
    });
    if is_literal_param {
        return Err(as_it_stands());
    }
    if !bound.is_constant() {
        return Err(wrong_arguments("AGAINST"));
    }
    match bound.ty() {
        ty if ty.is_string() && ty.is_binary() => {
            let charset = binder.keyword(collation.charset().name());
            binder.call("convert using", vec![bound, charset])
        }
        ty if ty.is_string() => Ok(bound),
        _ => bind::cast(bound, text),
    }
}

/// The query's text, if no statement has another for it.
fn known_text(bound: &Expr) -> Option<String> {
    let is_constant = |expr: &Expr| {
        let mut constant = functions::is_known_when_planned(expr);
        expr.walk(&mut |part| constant &= !matches!(part, Expr::Param { .. } | Expr::Outer { .. }));
        constant
    };
    if !is_constant(bound) {
        return None;
    }
    match functions::eval_value(bound, &EvalContext::default()).ok()? {
        Value::String(text) => Some(text),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Value::Null => Some(String::new()),
        _ => None,
    }
}
