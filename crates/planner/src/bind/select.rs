//! Query blocks: their clauses are bound in the order in which names become visible, and become operators.
//! Here FROM and WHERE; [`super::clauses`] has the others.
//!
//! From below: FROM, the subqueries of WHERE, its filter, the subqueries that groups or the select list need,
//! the groups, the subqueries above them, HAVING, windows, the order, the select list, LIMIT. DISTINCT comes
//! between the select list and the order.

use std::borrow::Cow;

use syntax::ast::{Hint, Hints, SelectItem, TableRef};
use types::{Error, Result, Warning};

use super::block::Block;
use super::bound_query::{BoundQuery, QueryPlace};
use super::clauses::names_of;
use super::context::Context;
use super::from_place::{From, FromPlace, filtered};
use super::names::WHERE_CLAUSE;
use super::scope::ScopeNames;
use super::subqueries::Subqueries;
use super::{
    Binder, block_operators, clauses, filter, from, full_group_by, full_text_search, hints, values, window,
};
use crate::errno::{ER_UNRESOLVED_TABLE_LOCK, ER_WARN_DEPRECATED_SYNTAX};
use crate::logical::Logical;

pub fn block(binder: &Binder<'_>, block: Block<'_>, place: QueryPlace<'_>) -> Result<BoundQuery> {
    binder.windows.borrow_mut().push(block.windows.clone());
    let straight = Hints {
        list: vec![Hint::JoinFixedOrder { block: None }],
        error: None,
    };
    // SELECT STRAIGHT_JOIN says the same as a hint.
    let hints = match (block.straight_join, &block.hints) {
        (false, hints) => hints.as_deref().map(Cow::Borrowed),
        (true, None) => Some(Cow::Owned(straight)),
        (true, Some(hints)) => Some(Cow::Owned(Hints {
            list: [straight.list, hints.list.clone()].concat(),
            error: hints.error.clone(),
        })),
    };
    if block.counts_all_rows {
        binder.warn_each_time(Warning::warning(ER_WARN_DEPRECATED_SYNTAX, COUNTING_DEPRECATED));
    }
    hints::enter_block(binder, hints.as_deref());
    let mut bound = block_with_windows(binder, block, place);
    if let Ok(bound) = &mut bound
        && place.as_set
    {
        let root = std::mem::replace(&mut bound.root, Logical::OneRow);
        bound.root = hints::of_subquery(binder, root);
    }
    hints::leave_block(binder);
    binder.windows.borrow_mut().pop();
    bound
}

fn block_with_windows(binder: &Binder<'_>, block: Block<'_>, place: QueryPlace<'_>) -> Result<BoundQuery> {
    let implied = match place.is_statement || block.limit.is_some() {
        true => full_text_search::implied_order(binder, &block),
        false => Vec::new(),
    };
    let mut block = block;
    if !implied.is_empty() {
        block.order_by = &implied;
    }
    if let Some(rows) = block.values {
        return values::bind_values(binder, rows, &block, place);
    }
    let items = block.items.iter().filter_map(|item| match item {
        SelectItem::Expr { expr, .. } => Some(expr),
        SelectItem::All | SelectItem::AllOf(_) => None,
    });
    let unnamed = items.chain(block.order_by.iter().map(|item| &item.expr));
    window::check_windows(binder, &block.windows, unnamed.map(window::unnamed_within).sum())?;
    check_locks(binder, &block)?;
    let first_own = binder.next_column();
    let From { rel, scope, .. } = binder.from(
        &block.from,
        FromPlace {
            outer: place.outer,
            locking: block.locking,
            left: None,
            for_writing: None,
        },
    )?;
    hints::check_hinted_names(binder, &scope);
    let in_where = Subqueries::default();
    let filter = {
        let names = names_of(&scope, WHERE_CLAUSE, place);
        let in_arguments = ScopeNames {
            in_aggregate: true,
            ..names_of(&scope, WHERE_CLAUSE, place)
        };
        let context = Context {
            argument_names: &in_arguments,
            subqueries: Some(&in_where),
            outer: place.outer,
            first_own,
            ..Context::of(&names)
        };
        filter::bind_filter(binder, block.filter.as_ref(), &context, &scope)?
    };
    let mut bound = clauses::bind_clauses(binder, &block, place, scope, first_own)?;
    if place.loses_order && block.limit.is_none() {
        bound.order_by.clear();
        bound.order_names.clear();
    }
    let rel = filtered(in_where.applied_to(rel), filter);
    full_group_by::check_grouping(binder, &bound, &rel)?;
    block_operators::operators(binder, bound, rel, &block, place)
}

/// A table of FROM, as a locking clause names it.
struct Lockable<'a> {
    alias: &'a str,
    database: Option<&'a str>,
    is_derived: bool,
}

fn add_lockable<'a>(table: &'a TableRef, current: Option<&'a str>, all: &mut Vec<Lockable<'a>>) {
    let of_query = |alias, is_derived| Lockable {
        alias,
        database: current,
        is_derived,
    };
    match table {
        TableRef::Table(table) => all.push(Lockable {
            alias: table.alias.as_deref().unwrap_or(&table.name.name),
            database: table.name.database.as_deref().or(current),
            is_derived: false,
        }),
        TableRef::Derived(derived) => all.push(of_query(&derived.alias, true)),
        TableRef::Json(json) => all.push(of_query(&json.alias, true)),
        TableRef::Join(join) => {
            add_lockable(&join.left, current, all);
            add_lockable(&join.right, current, all);
        }
        TableRef::Nested(tables) => {
            for table in tables {
                add_lockable(table, current, all);
            }
        }
    }
}

/// Error 3568 for a table of a locking clause that FROM has not, 3569 for a derived table, whose own query says what
/// it locks. Whether the tables of FROM exist is checked later.
fn check_locks(binder: &Binder<'_>, block: &Block<'_>) -> Result<()> {
    if block.locking.is_empty() {
        return Ok(());
    }
    let mut tables = Vec::new();
    for table in &block.from {
        add_lockable(table, binder.env.database, &mut tables);
    }
    for name in block.locking.iter().flat_map(|clause| &clause.of) {
        // Tables of two databases may have one name.
        let is_named = |table: &&Lockable<'_>| {
            let is_of = |database: &String| table.database == Some(database.as_str());
            table.alias == name.name && name.database.iter().all(is_of)
        };
        let mut named = tables.iter().filter(is_named).peekable();
        if named.peek().is_none() {
            let database = name.database.iter().map(|database| format!("`{database}`."));
            return Err(Error::new(
                ER_UNRESOLVED_TABLE_LOCK,
                format!(
                    "Unresolved table name {}`{}` in locking clause.",
                    database.collect::<String>(),
                    name.name
                ),
            ));
        }
        if named.any(|table| table.is_derived) {
            return Err(from::locked_twice(&format!("`{}`", name.name)));
        }
    }
    Ok(())
}

const COUNTING_DEPRECATED: &str = "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. Consider using two \
     separate queries instead.";
