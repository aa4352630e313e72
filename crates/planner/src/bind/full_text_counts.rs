//! The numbers that the relevance of a row depends on, as subqueries:
//!
//! ```text
//! (SELECT COUNT(*) FROM t)
//! (SELECT JSON_OBJECTAGG(number, rows) FROM each word of the query,
//!    LATERAL (SELECT COUNT(*) FROM t WHERE the words of t's columns have the word))
//! ```
//!
//! The second reads entries of the FULLTEXT index. They count the rows of the table that MATCH names, wherever it is
//! named, so they are made of the table and not of names.

use std::sync::Arc;

use functions::full_text::{self, Mode, Query as Words};
use functions::json_table::{JsonTable, Level, ORDINALITY, OnCondition};
use functions::{Expr, aggregate};
use schema::model::Table;
use types::{Collation, Error, Result, Value};

use super::Binder;
use super::context::Context;
use super::from_place::filtered;
use super::relation::Relation;
use super::subqueries::{Shared, SharedSearch};
use crate::logical::{Apply, ApplyKind, Column, ColumnId, Get, Logical, TableFunction, columns_of};

/// A search in a table.
pub(super) struct Search<'a, 'b> {
    pub binder: &'a Binder<'b>,
    pub context: &'a Context<'a>,
    pub table: &'a Arc<Table>,
    /// The columns of the index.
    pub columns: &'a [usize],
    pub mode: Mode,
    /// Of the columns.
    pub collation: Collation,
    /// The query, if no statement has another for it.
    pub known: Option<&'a Words>,
    /// WITH QUERY EXPANSION.
    pub is_expanded: bool,
}

impl Search<'_, '_> {
    /// The query as MATCH takes it, the number of rows, and the numbers of rows with each word; NULL where it is only
    /// asked whether a row is found.
    pub fn with_counts(&self, query: Expr, found_only: bool) -> Result<(Expr, [Expr; 2])> {
        let search = SharedSearch {
            table: self.table.id,
            columns: self.columns.to_vec(),
            mode: self.mode,
            query: query.clone(),
            is_expanded: self.is_expanded,
        };
        let taken = match self.is_expanded {
            false => query.clone(),
            true => self.once(Shared::Expansion(search.clone()), || self.expanded(&query))?,
        };
        if found_only {
            return Ok((taken, [Expr::null(), Expr::null()]));
        }
        let rows = self.once(Shared::Rows(self.table.id), || {
            self.aggregated(self.rows()?.0, "count", Vec::new())
        })?;
        let has_words = self.is_expanded || self.known.is_none_or(|known| !known.words.is_empty());
        let counts = match has_words {
            true => self.once(Shared::RowsWithWords(search), || self.rows_with_words(query))?,
            false => Expr::null(),
        };
        Ok((taken, [rows, counts]))
    }

    /// A subquery in the place of a value, which depends on nothing around it.
    fn once(&self, what: Shared, make: impl FnOnce() -> Result<(Logical, Expr)>) -> Result<Expr> {
        let Some(subqueries) = self.context.subqueries else {
            return Err(Error::not_supported(
                "the relevance of MATCH in this place",
                "select it in a derived table",
            ));
        };
        // Those of groups may move below the groups.
        let is_shared = !self.context.grouped;
        if let Some(value) = subqueries.shared(&what).filter(|_| is_shared) {
            return Ok(value);
        }
        let (rel, value) = make()?;
        subqueries.add(scalar(&value), rel);
        subqueries.share(what, value.clone());
        Ok(value)
    }

    /// How many rows have each word, and how many entries there are with each prefix, by the word's number.
    fn rows_with_words(&self, query: Expr) -> Result<(Logical, Expr)> {
        let binder = self.binder;
        let (input, query) = match self.is_expanded {
            false => (Logical::OneRow, query),
            true => {
                let (rel, expanded) = self.expanded(&query)?;
                (applied(Logical::OneRow, scalar(&expanded), rel), expanded)
            }
        };
        let (words, [number, word, prefix]) = self.each_word(query)?;
        let lateral = ApplyKind::Lateral {
            left: false,
            condition: None,
        };
        let mut rel = match input {
            Logical::OneRow => words,
            input => applied(input, lateral, words),
        };
        let (rows, of_row) = self.rows()?;
        let has = binder.call(full_text::HAS, vec![of_row, word])?;
        let (counted, mut count) = self.aggregated(filtered(rows, Some(has)), "count", Vec::new())?;
        rel = applied(rel, scalar(&count), counted);
        let has_prefixes = self
            .known
            .is_none_or(|known| known.words.iter().any(|word| word.is_prefix));
        if has_prefixes {
            let (rows, of_row) = self.rows()?;
            let with_prefix = binder.call(full_text::WITH_PREFIX, vec![of_row, prefix])?;
            let found = filtered(rows, Some(with_prefix.clone()));
            let (counted, sum) = self.aggregated(found, "sum", vec![with_prefix])?;
            rel = applied(rel, scalar(&sum), counted);
            count = binder.call("ifnull", vec![sum, count])?;
        }
        self.aggregated(rel, "json_objectagg", vec![number, count])
    }

    /// The query with the words of the rows that it finds.
    fn expanded(&self, query: &Expr) -> Result<(Logical, Expr)> {
        let (rows, of_row) = self.rows()?;
        let Expr::Call { args: columns, .. } = &of_row else {
            return Err(Error::internal("the words of a row are a call"));
        };
        let mode = self.binder.keyword(self.mode.code());
        let found = [query.clone(), mode.clone(), Expr::null(), Expr::null()].into_iter();
        let found = found.chain(columns.iter().cloned()).collect();
        let found = self.binder.call(full_text::MATCH, found)?;
        let (rel, words) = self.aggregated(filtered(rows, Some(found)), "json_arrayagg", vec![of_row])?;
        let args = vec![query.clone(), words, mode, self.word("")];
        let expanded = self.binder.call(full_text::EXPANDED, args)?;
        let id = self.binder.new_column();
        let value = Expr::column(id.0, expanded.ty(), true);
        let rel = Logical::Project {
            input: Box::new(rel),
            columns: vec![(id, expanded)],
        };
        Ok((rel, value))
    }

    /// The query's words: the number of each, and the word or what it begins with.
    fn each_word(&self, query: Expr) -> Result<(Logical, [Expr; 3])> {
        let binder = self.binder;
        let mode = binder.keyword(self.mode.code());
        let all = binder.keyword(full_text::ALL);
        let document = binder.call(full_text::KEYS, vec![query, mode, all, self.word("")])?;
        let word = full_text::word_type(self.collation);
        let types = [ORDINALITY, word, word];
        let mut level = Level::new("$[*]")?;
        level.add_ordinality(0, "number");
        for (position, name) in [(1, full_text::WORD), (2, full_text::PREFIX)] {
            let null = [OnCondition::Null, OnCondition::Null];
            level.add_value(position, name, word, &format!("$.{name}"), null)?;
        }
        let first = binder.new_columns(types.len());
        let columns = types.iter().enumerate().map(|(position, ty)| Column {
            id: ColumnId(first.0 + position),
            ty: *ty,
            nullable: true,
        });
        let columns: Vec<Column> = columns.collect();
        let exprs = [0, 1, 2].map(|at| Expr::column(first.0 + at, types[at], true));
        let rel = Logical::TableFunction(TableFunction {
            table: Arc::new(JsonTable::new("words", level, types.to_vec())?),
            document,
            alias: "words".to_owned(),
            columns,
        });
        Ok((rel, exprs))
    }

    /// A text of the type of the index's words.
    fn word(&self, text: &str) -> Expr {
        Expr::literal(Value::from(text), full_text::word_type(self.collation))
    }

    /// The rows of the table, and the array of a row's words.
    fn rows(&self) -> Result<(Logical, Expr)> {
        let get = Get {
            table: Arc::clone(self.table),
            alias: self.table.name.clone(),
            first: self.binder.new_columns(self.table.columns.len()),
            hints: Vec::new(),
            order: Vec::new(),
            as_of: None,
            locking: None,
            with_key: false,
            partitions: None,
        };
        let relation = Relation::of_table(Arc::clone(self.table), &get.alias, get.first, false);
        let columns = self
            .columns
            .iter()
            .map(|column| relation.column(*column))
            .collect();
        let words = full_text::words_function(self.mode.parser);
        Ok((Logical::Get(get), self.binder.call(words, columns)?))
    }

    /// One row: an aggregate of rows.
    fn aggregated(&self, rows: Logical, function: &str, args: Vec<Expr>) -> Result<(Logical, Expr)> {
        let call = aggregate::bind(function, args, false, &self.binder.types)?;
        let id = self.binder.new_column();
        let value = aggregate::result(Expr::column(id.0, call.ty, true), &call);
        let rel = Logical::Aggregate {
            input: Box::new(rows),
            keys: Vec::new(),
            aggregates: vec![(id, call)],
            rollup: None,
        };
        Ok((rel, value))
    }
}

fn scalar(value: &Expr) -> ApplyKind {
    ApplyKind::Scalar {
        columns: columns_of(value).into_iter().collect(),
    }
}

fn applied(input: Logical, kind: ApplyKind, subquery: Logical) -> Logical {
    Logical::Apply(Apply {
        kind,
        input: Box::new(input),
        subquery: Box::new(subquery),
    })
}
