//! Query blocks: their clauses are bound in the order in which names become visible, and become operators.
//!
//! From below: FROM, the subqueries of WHERE, its filter, the subqueries that groups or the select list need,
//! the groups, the subqueries above them, HAVING, windows, the order, the select list, LIMIT. DISTINCT comes
//! between the select list and the order.

use std::borrow::Cow;
use std::cell::RefCell;

use functions::Expr;
use syntax::ast::{self, Hint, Hints, TableRef};
use types::{Error, Result};

use super::block::Block;
use super::bound_block::BoundBlock;
use super::bound_query::{BoundQuery, QueryPlace};
use super::context::{Aggregates, Context, PendingWindow};
use super::from_place::{From, FromPlace, filtered};
use super::name_lookup::{ColumnsThenItems, FieldsAndItems, ItemsAndKeys};
use super::names::{FIELD_LIST, GROUP_STATEMENT, HAVING_CLAUSE, ORDER_CLAUSE, WHERE_CLAUSE};
use super::output::Item;
use super::relation::Relation;
use super::scope::{Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::{
    Binder, block_keys, block_operators, filter, from, full_group_by, hints, output, values, window,
};
use crate::errno::ER_UNRESOLVED_TABLE_LOCK;
use crate::logical::{ColumnId, Logical, columns_of};

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
    if let Some(rows) = block.values {
        return values::bind_values(binder, rows, &block, place);
    }
    window::check_windows(binder, &block.windows)?;
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
    check_locks(binder, &block, &scope)?;
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
        filter::bind_filter(binder, block.filter.as_ref(), &context)?
    };
    let bound = clauses(binder, &block, place, scope, first_own)?;
    let rel = filtered(in_where.applied_to(rel), filter);
    full_group_by::check_grouping(binder, &bound, &rel)?;
    block_operators::operators(binder, bound, rel, &block, place)
}

/// Everything after WHERE.
fn clauses(
    binder: &Binder<'_>,
    block: &Block<'_>,
    place: QueryPlace<'_>,
    scope: Scope,
    first_own: ColumnId,
) -> Result<BoundBlock> {
    let aggregates = Aggregates::default();
    let windows = RefCell::default();
    let (below, above) = (Subqueries::default(), Subqueries::default());
    let drops_groups = place.as_set && has_idle_groups(block);
    let mut grouped = is_grouped(block) && !drops_groups;
    let fields = names_of(&scope, FIELD_LIST, place);
    let in_arguments = ScopeNames {
        in_aggregate: true,
        ..names_of(&scope, FIELD_LIST, place)
    };
    let bound_items = RefCell::default();
    let names = FieldsAndItems {
        fields,
        items: &bound_items,
        written: &block.items,
        aggregates: &aggregates,
        windows: &windows,
    };
    let context = Context {
        aggregates: Some(&aggregates),
        grouped,
        windows: Some(&windows),
        subqueries: Some(&above),
        argument_subqueries: Some(&below),
        outer: place.outer,
        first_own,
        argument_names: &in_arguments,
        ..Context::of(&names)
    };
    output::bind_items(binder, &block.items, &scope, &context, &bound_items)?;
    let items = bound_items.borrow().clone();
    window::check_named_windows(binder, &block.windows, &context)?;
    let (keys, key_items) = {
        let names = ColumnsThenItems {
            items: &items,
            tables: names_of(&scope, GROUP_STATEMENT, place),
            of_groups: Some((&aggregates, &windows)),
            named: RefCell::default(),
        };
        let context = Context {
            subqueries: Some(&below),
            outer: place.outer,
            first_own,
            ..Context::of(&names)
        };
        let is_of_groups = |key: &Expr| {
            let mut columns = columns_of(key);
            let in_subqueries: Vec<ColumnId> = columns
                .iter()
                .flat_map(|id| above.outer_columns_of(*id))
                .collect();
            columns.extend(in_subqueries);
            aggregates.borrow().iter().any(|(id, _)| columns.contains(id))
                || windows
                    .borrow()
                    .iter()
                    .any(|w: &PendingWindow| columns.contains(&w.id))
        };
        block_keys::group_by(binder, block, &items, &context, &names, &is_of_groups)?
    };
    let (keys, key_items) = match drops_groups {
        true => block_keys::GroupKeys::default(),
        false => (keys, key_items),
    };
    // A subquery of the select list that is a key by its alias.
    let of_keys = keys.iter().flat_map(columns_of).collect();
    above.move_to(&below, &of_keys);
    let having = match &block.having {
        Some(having) => {
            let tables = ScopeNames {
                in_aggregate: true,
                ..names_of(&scope, HAVING_CLAUSE, place)
            };
            let inner = ItemsAndKeys {
                binder,
                items: &items,
                tables: names_of(&scope, HAVING_CLAUSE, place),
                keys: &keys,
                grouped,
                windows: &windows,
            };
            let context = Context {
                names: &inner,
                argument_names: &tables,
                windows: None,
                ..context
            };
            Some(filter::condition(binder, having, &context)?)
        }
        None => None,
    };
    let (order_by, order_names) = {
        let names = ColumnsThenItems {
            items: &items,
            tables: names_of(&scope, ORDER_CLAUSE, place),
            of_groups: None,
            named: RefCell::default(),
        };
        let context = Context {
            names: &names,
            argument_names: &names.tables,
            aggregates: grouped.then_some(&aggregates),
            ..context
        };
        block_keys::order_by(binder, block, &items, &context, &names)?
    };
    // An aggregate of this block may stand in a subquery.
    grouped = !block.group_by.is_empty() && !drops_groups || !aggregates.borrow().is_empty();
    let distinct = block.distinct && (block.rollup || !groups_are_distinct(grouped, &keys, &items));
    Ok(BoundBlock {
        items,
        grouped,
        keys,
        rollup: block.rollup,
        key_items,
        aggregates,
        windows,
        having,
        order_by,
        order_of_groups: Vec::new(),
        order_names,
        distinct,
        below,
        above,
        scope,
    })
}

fn names_of<'a>(scope: &'a Scope, clause: &'static str, place: QueryPlace<'a>) -> ScopeNames<'a> {
    ScopeNames {
        scope,
        clause,
        outer: place.outer,
        in_aggregate: false,
    }
}

/// Error 3568 for a table of a locking clause that FROM has not, 3569 for a derived table, whose own query says what
/// it locks.
fn check_locks(binder: &Binder<'_>, block: &Block<'_>, scope: &Scope) -> Result<()> {
    for name in block.locking.iter().flat_map(|clause| &clause.of) {
        // Tables of two databases may have one name.
        let is_named = |relation: &Relation| {
            let is_of = |database: &String| match relation.definition() {
                Some(definition) => definition.database == *database,
                None => binder.env.database == Some(database.as_str()),
            };
            relation.alias == name.name && name.database.iter().all(is_of)
        };
        if !scope.relations.iter().any(is_named) {
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
        if block.from.iter().any(|table| is_derived(table, &name.name)) {
            return Err(from::locked_twice(&name.name));
        }
    }
    Ok(())
}

/// Whether a name is that of a derived table.
fn is_derived(table: &TableRef, name: &str) -> bool {
    match table {
        TableRef::Table(_) => false,
        TableRef::Derived(derived) => derived.alias == name,
        TableRef::Json(json) => json.alias == name,
        TableRef::Join(join) => is_derived(&join.left, name) || is_derived(&join.right, name),
        TableRef::Nested(tables) => tables.iter().any(|table| is_derived(table, name)),
    }
}

fn is_grouped(select: &Block<'_>) -> bool {
    !select.group_by.is_empty()
        || block_keys::has_aggregates_to_show(select)
        || select.order_by.iter().any(|item| item.expr.has_aggregate())
}

/// Whether GROUP BY only leaves out rows, of which the equal ones count once in any case.
fn has_idle_groups(block: &Block<'_>) -> bool {
    let makes = |expr: &ast::Expr| expr.has_aggregate() || expr.has_window();
    let in_item = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => makes(expr),
        ast::SelectItem::All | ast::SelectItem::AllOf(_) => false,
    };
    !block.group_by.is_empty()
        && !block.rollup
        && block.having.is_none()
        && block.limit.is_none()
        && !block.items.iter().any(in_item)
        && !block.order_by.iter().any(|item| makes(&item.expr))
}

/// A query that shows all its groups' keys shows no two equal rows, nor does one whose rows are one group.
fn groups_are_distinct(grouped: bool, keys: &[Expr], items: &[Item]) -> bool {
    grouped && keys.iter().all(|key| items.iter().any(|item| item.expr == *key))
}
