//! The clauses of a query block after WHERE: the select list, named windows, GROUP BY, HAVING and ORDER BY.
//!
//! They are bound in this order, because a name in GROUP BY, HAVING or ORDER BY may mean a select item.

use std::cell::RefCell;

use functions::{Expr, aggregate};
use syntax::ast;
use types::{Result, SqlType, Value};

use super::block::Block;
use super::block_keys::{GroupKeys, OrderKeys};
use super::bound_block::BoundBlock;
use super::bound_query::QueryPlace;
use super::context::{Aggregates, Context, PendingWindow};
use super::name_lookup::{
    ArgumentNames, ColumnsThenItems, FieldsAndItems, ItemsAndKeys, KnownAggregates, names_outer_aggregate,
};
use super::names::{FIELD_LIST, GROUP_STATEMENT, HAVING_CLAUSE, ORDER_CLAUSE};
use super::output::Item;
use super::scope::{Scope, ScopeNames};
use super::subqueries::Subqueries;
use super::{Binder, block_keys, filter, output, window};
use crate::logical::{ColumnId, columns_of};

/// Binds everything after WHERE. Columns with smaller ids than `first_own` are not this block's.
pub fn bind_clauses(
    binder: &Binder<'_>,
    block: &Block<'_>,
    place: QueryPlace<'_>,
    scope: Scope,
    first_own: ColumnId,
) -> Result<BoundBlock> {
    let clauses = Clauses {
        binder,
        block,
        place,
        scope: &scope,
        first_own,
    };
    let found = Found::default();
    let drops_groups = place.as_set && has_idle_groups(block);
    let may_have_groups = is_grouped(block) && !drops_groups;
    let in_arguments = clauses.names_in_aggregate(FIELD_LIST);
    let bound_items = RefCell::default();
    let names = FieldsAndItems {
        fields: clauses.names(FIELD_LIST),
        items: &bound_items,
        written: &block.items,
        aggregates: found.known_aggregates(place.outer),
        windows: &found.windows,
    };
    let context = Context {
        aggregates: Some(&found.aggregates),
        grouped: may_have_groups,
        windows: Some(&found.windows),
        subqueries: Some(&found.above),
        argument_subqueries: Some(&found.below),
        outer: place.outer,
        first_own,
        argument_names: &in_arguments,
        ..Context::of(&names)
    };
    output::bind_items(binder, &block.items, &scope, &context, &bound_items)?;
    let items = bound_items.borrow().clone();
    let named_windows = window::bind_named_windows(binder, &block.windows, &context)?;
    let group_keys = clauses.group_by(&items, &found)?;
    // A subquery of the select list may have an aggregate of this block's groups.
    let drops_groups = drops_groups && found.aggregates.borrow().is_empty();
    let (keys, key_items) = match drops_groups {
        true => GroupKeys::default(),
        false => group_keys,
    };
    // A subquery of the select list that is a key by its alias.
    let of_keys = keys.iter().flat_map(columns_of).collect();
    found.above.move_to(&found.below, &of_keys);
    let aggregates = found.known_aggregates(place.outer);
    let having = clauses.having(&items, &keys, aggregates, &found.windows, &context)?;
    let (order_by, order_names) = clauses.order_by(&items, aggregates, &context)?;
    // An aggregate of this block may stand in a subquery, so they are all known only now.
    let grouped = !block.group_by.is_empty() && !drops_groups || !found.aggregates.borrow().is_empty();
    if block.group_by.is_empty() {
        found.leave_out_without_rows(binder, &items, &scope)?;
    }
    let distinct = block.distinct && (block.rollup || !groups_are_distinct(grouped, &keys, &items));
    Ok(BoundBlock {
        items,
        grouped,
        keys,
        rollup: block.rollup,
        key_items,
        aggregates: found.aggregates,
        windows: found.windows,
        named_windows,
        having,
        order_by,
        order_before_windows: Vec::new(),
        order_names,
        distinct,
        below: found.below,
        above: found.above,
        scope,
    })
}

/// What the expressions of the clauses contain. See the fields of [`BoundBlock`].
#[derive(Default)]
struct Found {
    aggregates: Aggregates,
    windows: RefCell<Vec<PendingWindow>>,
    below: Subqueries,
    above: Subqueries,
}

impl Found {
    fn known_aggregates<'a>(&'a self, outer: Option<&'a Context<'a>>) -> KnownAggregates<'a> {
        KnownAggregates {
            own: &self.aggregates,
            subqueries: &self.above,
            outer,
        }
    }

    /// Of the one group of all rows: an item that is a subquery over columns of a row is NULL where there is no row, even a
    /// COUNT.
    fn leave_out_without_rows(&self, binder: &Binder<'_>, items: &[Item], scope: &Scope) -> Result<()> {
        if self.aggregates.borrow().is_empty() {
            return Ok(());
        }
        for item in items {
            let Expr::Column { index, .. } = &item.expr else {
                continue;
            };
            let id = ColumnId(*index);
            if !self
                .above
                .outer_columns_of(id)
                .into_iter()
                .any(|of| scope.owns(of))
            {
                continue;
            }
            let one = Expr::literal(Value::Int(1), SqlType::BIGINT);
            let call = aggregate::bind("any_value", vec![one], false, &binder.types)?;
            let row = binder.aggregate_column(&call, &self.aggregates);
            self.above
                .filter_value(id, binder.call("is not null", vec![row])?);
        }
        Ok(())
    }

    /// Whether an expression needs the groups: itself, or in a subquery.
    fn is_of_groups(&self, expr: &Expr) -> bool {
        let mut columns = columns_of(expr);
        let in_subqueries: Vec<ColumnId> = columns
            .iter()
            .flat_map(|id| self.above.outer_columns_of(*id))
            .collect();
        columns.extend(in_subqueries);
        let (aggregates, windows) = (self.aggregates.borrow(), self.windows.borrow());
        aggregates.iter().any(|(id, _)| columns.contains(id))
            || windows.iter().any(|window| columns.contains(&window.id))
    }
}

/// A block whose FROM and WHERE are bound.
struct Clauses<'a, 'e> {
    binder: &'a Binder<'e>,
    block: &'a Block<'a>,
    place: QueryPlace<'a>,
    scope: &'a Scope,
    first_own: ColumnId,
}

impl<'a> Clauses<'a, '_> {
    fn names(&self, clause: &'static str) -> ScopeNames<'a> {
        names_of(self.scope, clause, self.place)
    }

    /// The names in the arguments of aggregates.
    fn names_in_aggregate(&self, clause: &'static str) -> ScopeNames<'a> {
        ScopeNames {
            in_aggregate: true,
            ..self.names(clause)
        }
    }

    fn group_by(&self, items: &[Item], found: &Found) -> Result<GroupKeys> {
        let names = ColumnsThenItems {
            items,
            tables: self.names(GROUP_STATEMENT),
            aggregates: found.known_aggregates(self.place.outer),
            windows: Some(&found.windows),
            named: RefCell::default(),
        };
        let context = Context {
            subqueries: Some(&found.below),
            outer: self.place.outer,
            first_own: self.first_own,
            ..Context::of(&names)
        };
        let is_of_groups =
            |key: &Expr| found.is_of_groups(key) || names_outer_aggregate(&columns_of(key), self.place.outer);
        block_keys::group_by(self.binder, self.block, items, &context, &names, &is_of_groups)
    }

    /// `fields`: the context of the select list.
    fn having(
        &self,
        items: &[Item],
        keys: &[Expr],
        aggregates: KnownAggregates<'_>,
        windows: &RefCell<Vec<PendingWindow>>,
        fields: &Context<'_>,
    ) -> Result<Option<Expr>> {
        let Some(having) = &self.block.having else {
            return Ok(None);
        };
        let in_arguments = ArgumentNames {
            items,
            tables: self.names_in_aggregate(HAVING_CLAUSE),
            aggregates,
            windows: Some(windows),
            below: fields.argument_subqueries,
        };
        let names = ItemsAndKeys {
            binder: self.binder,
            items,
            tables: self.names(HAVING_CLAUSE),
            keys,
            grouped: fields.grouped,
            aggregates,
            windows,
        };
        let context = Context {
            names: &names,
            argument_names: &in_arguments,
            windows: None,
            ..*fields
        };
        filter::condition(self.binder, having, &context).map(Some)
    }

    /// `fields`: the context of the select list.
    fn order_by(
        &self,
        items: &[Item],
        aggregates: KnownAggregates<'_>,
        fields: &Context<'_>,
    ) -> Result<OrderKeys> {
        let names = ColumnsThenItems {
            items,
            tables: self.names(ORDER_CLAUSE),
            aggregates,
            windows: None,
            named: RefCell::default(),
        };
        let in_arguments = ArgumentNames {
            items,
            tables: self.names(ORDER_CLAUSE),
            aggregates,
            windows: fields.windows,
            below: fields.argument_subqueries,
        };
        let context = Context {
            names: &names,
            argument_names: &in_arguments,
            aggregates: fields
                .aggregates
                .filter(|_| fields.grouped || self.block.group_by.is_empty()),
            ..*fields
        };
        block_keys::order_by(self.binder, self.block, items, &context, &names)
    }
}

/// The names of a block's relations in a clause.
pub fn names_of<'a>(scope: &'a Scope, clause: &'static str, place: QueryPlace<'a>) -> ScopeNames<'a> {
    ScopeNames {
        scope,
        clause,
        outer: place.outer,
        in_aggregate: false,
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
