//! `MATCH (columns) AGAINST (query)`.
//!
//! The relevance of a row depends on how many rows there are and how many have each word of the query. These
//! numbers are subqueries, which the statement runs once:
//!
//! ```text
//! (SELECT COUNT(*) FROM t)
//! (SELECT COUNT(*) FROM t WHERE the words of t's columns have 'word')
//! ```
//!
//! In WHERE, MATCH by itself is only whether a row is found, and needs none of them.
//!
//! The second reads entries of the FULLTEXT index. If the query is no literal, its words are not known when it is
//! bound: there are subqueries for a number of words, most of which it may not have.

use functions::full_text::{self, Mode, Parser, Query as Words, QueryWord};
use functions::{EvalContext, Expr, bind};
use schema::model::Table;
use syntax::ast::{self, BinaryOp, CastType, ColumnName, NumberText, ObjectName, OrderItem};
use types::{Collation, Error, Result, SqlType, Value, errno};

use super::Binder;
use super::block::Block;
use super::bound_query::as_it_stands;
use super::context::Context;
use super::relation::Relation;
use super::subquery::scalar_subquery;

/// The names of MATCH among functions, as the parser has them.
const NATURAL: &str = "match against";
const BOOLEAN: &str = "match in boolean mode";
const EXPANDED: &str = "match with query expansion";
/// The same where only counts whether a row is found. No statement has these.
const NATURAL_FOUND: &str = "match found against";
const BOOLEAN_FOUND: &str = "match found in boolean mode";

/// How many words a query may have that is not a literal.
const UNKNOWN_WORDS: usize = 16;
/// How many of `word*`.
const UNKNOWN_PREFIXES: usize = 4;

pub(super) fn is_match(function: &str) -> bool {
    [NATURAL, BOOLEAN, EXPANDED, NATURAL_FOUND, BOOLEAN_FOUND].contains(&function)
}

/// # Errors
/// 1191 if there is no FULLTEXT index of the columns; 1210 for a query that is not constant; 1064 for one that is
/// not well formed.
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
    if name == EXPANDED {
        return Err(Error::not_supported(
            "WITH QUERY EXPANSION",
            "run the query, and then one with words of the rows that it finds",
        ));
    }
    let (relation, offsets) = columns_of(columns, context)?;
    let Some(table) = relation.table() else {
        return Err(wrong_arguments("MATCH"));
    };
    let (parser, ordered) = index_of(table, &offsets)?;
    let mode = Mode {
        boolean: matches!(name, BOOLEAN | BOOLEAN_FOUND),
        parser,
    };
    let counted = Counted {
        binder,
        context,
        table,
        alias: &relation.alias,
        columns: ordered,
        mode,
    };
    let bound = bound_query(binder, query, context)?;
    let bound_columns = counted.bound_columns(columns, &offsets)?;
    let collation = counted.collation();
    let known = known_text(&bound)
        .map(|text| Words::parse(&text, mode, collation))
        .transpose()?;
    let is_found = matches!(name, NATURAL_FOUND | BOOLEAN_FOUND);
    let (words, prefixes) = match &known {
        _ if is_found => (Vec::new(), Vec::new()),
        Some(known) => counted.known(&known.words)?,
        None => counted.unknown(query)?,
    };
    let rows = match is_found {
        true => Expr::null(),
        false => counted.count(None)?,
    };
    let number = |count: usize| Expr::literal(Value::Int(i64::try_from(count).unwrap_or(0)), SqlType::BIGINT);
    let mut all = vec![
        bound,
        binder.keyword(mode.code()),
        number(words.len() + prefixes.len()),
        number(prefixes.len()),
        rows,
    ];
    all.extend(words);
    all.extend(prefixes);
    all.extend(bound_columns);
    binder.call(full_text::MATCH, all)
}

/// Error 1210.
fn wrong_arguments(of: &str) -> Error {
    Error::new(errno::ER_WRONG_ARGUMENTS, format!("Incorrect arguments to {of}"))
}

/// The table whose columns they are, and their offsets.
fn columns_of<'c>(columns: &[ast::Expr], context: &Context<'c>) -> Result<(&'c Relation, Vec<usize>)> {
    let mut found: Option<(&Relation, Vec<usize>)> = None;
    for column in columns {
        let ast::Expr::Column(name) = column else {
            return Err(wrong_arguments("MATCH"));
        };
        let (named, position) = context.names.defaulted(name)?;
        let (relation, offset) = match (named.table(), &named.view) {
            (Some(_), _) => (named, position),
            (None, Some(view)) => {
                let below = view
                    .written
                    .as_ref()
                    .and_then(|view| view.table_of(named.id(position)));
                let (table, offset) = below.ok_or_else(of_other_rows)?;
                (&table.relation, offset)
            }
            (None, None) => return Err(of_other_rows()),
        };
        match &mut found {
            None => found = Some((relation, vec![offset])),
            Some((first, offsets)) if first.id(0) == relation.id(0) => offsets.push(offset),
            Some(_) => return Err(wrong_arguments("MATCH")),
        }
    }
    found.ok_or_else(|| wrong_arguments("MATCH"))
}

fn of_other_rows() -> Error {
    Error::not_supported(
        "MATCH of a derived table's columns",
        "use MATCH in the query of the derived table",
    )
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

/// The query as text.
fn bound_query(binder: &Binder<'_>, query: &ast::Expr, context: &Context<'_>) -> Result<Expr> {
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
    match bound.ty().is_string() {
        true => Ok(bound),
        false => bind::cast(bound, text),
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

/// The table whose rows are counted.
struct Counted<'a, 'b> {
    binder: &'a Binder<'b>,
    context: &'a Context<'a>,
    table: &'a Table,
    alias: &'a str,
    /// The columns of the index.
    columns: Vec<usize>,
    mode: Mode,
}

impl Counted<'_, '_> {
    fn collation(&self) -> Collation {
        let first = self
            .columns
            .first()
            .and_then(|column| self.table.columns.get(*column));
        first.map_or(Collation::DEFAULT, |column| column.ty.collation)
    }

    /// The columns in the index's order, each once, of those that the statement names.
    fn bound_columns(&self, named: &[ast::Expr], offsets: &[usize]) -> Result<Vec<Expr>> {
        let mut bound = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let same = named.iter().zip(offsets).find(|(_, offset)| *offset == column);
            let (name, _) = same.ok_or_else(|| wrong_arguments("MATCH"))?;
            bound.push(self.binder.scalar(name, self.context)?);
        }
        Ok(bound)
    }

    /// How many rows have each word, and how many entries there are with each prefix.
    fn known(&self, words: &[QueryWord]) -> Result<(Vec<Expr>, Vec<Expr>)> {
        let (mut of_words, mut of_prefixes) = (Vec::new(), Vec::new());
        for word in words {
            let text = self.typed(ast::Expr::Text(word.text.clone()));
            match word.is_prefix {
                true => of_prefixes.push(self.prefix(text)?),
                false => of_words.push(self.count(Some(self.call(full_text::HAS, text)))?),
            }
        }
        Ok((of_words, of_prefixes))
    }

    fn unknown(&self, query: &ast::Expr) -> Result<(Vec<Expr>, Vec<Expr>)> {
        let nth = |kind: &str, number: usize| ast::Expr::Function {
            name: full_text::NTH.to_owned(),
            args: vec![
                query.clone(),
                ast::Expr::Text(self.mode.code().to_owned()),
                ast::Expr::Text(kind.to_owned()),
                ast::Expr::Number(NumberText::Integer(number.to_string())),
                self.typed(ast::Expr::Text(String::new())),
            ],
        };
        let words =
            (0..UNKNOWN_WORDS).map(|number| self.count(Some(self.call(full_text::HAS, nth("word", number)))));
        let prefixes = (0..UNKNOWN_PREFIXES).map(|number| self.prefix(nth("prefix", number)));
        Ok((words.collect::<Result<_>>()?, prefixes.collect::<Result<_>>()?))
    }

    /// A text of the type of the index's words.
    fn typed(&self, text: ast::Expr) -> ast::Expr {
        let collation = self.collation();
        let ty = CastType::Char {
            length: Some(full_text::word_type(collation).length),
            charset: Some(collation.charset().name().to_owned()),
            binary: false,
        };
        ast::Expr::Collate {
            operand: Box::new(ast::Expr::Cast {
                operand: Box::new(text),
                ty,
            }),
            collation: collation.name().to_owned(),
        }
    }

    /// A function of the words of a row.
    fn call(&self, function: &str, with: ast::Expr) -> ast::Expr {
        let column = |offset: &usize| {
            let name = self.table.columns.get(*offset).map(|column| column.name.clone());
            ast::Expr::Column(ColumnName {
                database: None,
                table: Some(self.alias.to_owned()),
                column: name.unwrap_or_default(),
            })
        };
        let words = ast::Expr::Function {
            name: full_text::words_function(self.mode.parser).to_owned(),
            args: self.columns.iter().map(column).collect(),
        };
        ast::Expr::Function {
            name: function.to_owned(),
            args: vec![words, with],
        }
    }

    fn count(&self, filter: Option<ast::Expr>) -> Result<Expr> {
        let count = ast::Expr::Aggregate {
            name: "count",
            distinct: false,
            args: Vec::new(),
        };
        self.subquery(count, filter)
    }

    fn prefix(&self, prefix: ast::Expr) -> Result<Expr> {
        let is_there = ast::Expr::Is {
            operand: Box::new(prefix.clone()),
            test: ast::TruthTest::Null,
            negated: true,
        };
        let sum = ast::Expr::Aggregate {
            name: "sum",
            distinct: false,
            args: vec![self.call(full_text::WITH_PREFIX, prefix)],
        };
        self.subquery(sum, Some(is_there))
    }

    fn subquery(&self, item: ast::Expr, filter: Option<ast::Expr>) -> Result<Expr> {
        // A view is stored with what was written.
        if self.binder.resolution.is_some() {
            return Ok(Expr::literal(Value::Int(0), SqlType::BIGINT));
        }
        let table = ast::NamedTable {
            name: ObjectName {
                database: Some(self.table.database.clone()),
                name: self.table.name.clone(),
            },
            alias: Some(self.alias.to_owned()),
            partitions: Vec::new(),
            as_of: None,
            hints: Vec::new(),
        };
        let select = ast::Select {
            hints: None,
            straight_join: false,
            distinct: false,
            counts_all_rows: false,
            items: vec![ast::SelectItem::Expr {
                expr: item,
                name: String::new(),
                aliased: true,
            }],
            from: vec![ast::TableRef::Table(table)],
            filter,
            group_by: Vec::new(),
            rollup: false,
            having: None,
            windows: Vec::new(),
            into: None,
        };
        let query = ast::Query {
            with: None,
            body: ast::QueryBody::Select(Box::new(select)),
            order_by: Vec::new(),
            limit: None,
            locking: Vec::new(),
            into: None,
            into_place: ast::IntoPlace::AtEnd,
        };
        // The rows are counted before any is written, as those of a derived table are read.
        let depth = &self.binder.derived_depth;
        depth.set(depth.get() + 1);
        let bound = scalar_subquery(self.binder, &query, self.context);
        depth.set(depth.get().saturating_sub(1));
        bound
    }
}

/// A condition whose MATCH by itself, or as one of conditions that must all hold, is only whether a row is found;
/// `None` if it has none such.
pub(super) fn without_relevance(binder: &Binder<'_>, condition: &ast::Expr) -> Option<ast::Expr> {
    // The text of a view names what was written, by its address.
    if binder.resolution.is_some() {
        return None;
    }
    match condition {
        ast::Expr::And(conditions) => {
            let changed: Vec<Option<ast::Expr>> = conditions
                .iter()
                .map(|condition| without_relevance(binder, condition))
                .collect();
            changed.iter().any(Option::is_some).then(|| {
                let all = changed.into_iter().zip(conditions);
                ast::Expr::And(
                    all.map(|(changed, old)| changed.unwrap_or_else(|| old.clone()))
                        .collect(),
                )
            })
        }
        ast::Expr::Function { name, args } => {
            let name = match name.as_str() {
                NATURAL => NATURAL_FOUND,
                BOOLEAN => BOOLEAN_FOUND,
                _ => return None,
            };
            Some(ast::Expr::Function {
                name: name.to_owned(),
                args: args.clone(),
            })
        }
        _ => None,
    }
}

/// The order of rows that a block without ORDER BY finds with MATCH in one table: the most relevant first.
pub(super) fn implied_order(binder: &Binder<'_>, block: &Block<'_>) -> Vec<OrderItem> {
    let is_plain = binder.resolution.is_none()
        && block.order_by.is_empty()
        && block.group_by.is_empty()
        && block.having.is_none()
        && block.windows.is_empty()
        && !block.distinct;
    let ([ast::TableRef::Table(named)], Some(filter), true) =
        (block.from.as_slice(), &block.filter, is_plain)
    else {
        return Vec::new();
    };
    let is_computed = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => expr.has_aggregate() || expr.has_window(),
        _ => false,
    };
    let conditions = match filter {
        ast::Expr::And(conditions) => conditions.as_slice(),
        condition => std::slice::from_ref(condition),
    };
    let found = conditions.iter().find_map(searched);
    let (Some(found), false) = (found, block.items.iter().any(is_computed)) else {
        return Vec::new();
    };
    let database = named.name.database.as_deref().or(binder.env.database);
    let table = database.and_then(|database| binder.env.schema.table(database, &named.name.name));
    let Some(table) = table.filter(|table| table.view.is_none()) else {
        return Vec::new();
    };
    let alias = named.alias.as_ref().unwrap_or(&named.name.name);
    let key = table.primary_parts().into_iter().filter_map(|part| {
        Some(OrderItem {
            expr: ast::Expr::Column(ColumnName {
                database: None,
                table: Some(alias.clone()),
                column: table.columns.get(part.column)?.name.clone(),
            }),
            descending: false,
        })
    });
    let relevance = OrderItem {
        expr: found.clone(),
        descending: true,
    };
    std::iter::once(relevance).chain(key).collect()
}

/// MATCH, if a condition is that rows are relevant.
fn searched(condition: &ast::Expr) -> Option<&ast::Expr> {
    match condition {
        ast::Expr::Function { name, .. } if is_match(name) => Some(condition),
        ast::Expr::Binary { op, left, right } => match op {
            BinaryOp::Greater | BinaryOp::GreaterOrEqual if matches!(**right, ast::Expr::Number(_)) => {
                searched(left)
            }
            BinaryOp::Less | BinaryOp::LessOrEqual if matches!(**left, ast::Expr::Number(_)) => {
                searched(right)
            }
            _ => None,
        },
        _ => None,
    }
}
