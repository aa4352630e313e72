//! ONLY_FULL_GROUP_BY and DISTINCT: whether the values that a query returns and sorts by are determined by
//! the group or row.
//!
//! A column is determined by the groups if it is a GROUP BY column or depends on them
//! ([`crate::logical::dependence`]). An expression is, if it is a GROUP BY expression itself or all its
//! columns are determined. Source: manual 12.20.3.

use std::collections::HashSet;

use functions::Expr;
use types::{Error, Result, errno};

use super::bound_block::{BoundBlock, OrderNames};
use super::scope::Scope;
use super::window::UNNAMED;
use super::{Binder, common_table};
use crate::logical::{ColumnId, Logical, Window, columns_of, dependence};

/// `rows`: FROM and WHERE. Fails with 1055, 1140, 3065 or 3066.
pub(super) fn check_grouping(binder: &Binder<'_>, block: &BoundBlock, rows: &Logical) -> Result<()> {
    if !binder.env.sql_mode.only_full_group_by || block.scope.relations.is_empty() {
        return Ok(());
    }
    if block.grouped {
        let keys = block.keys.iter().filter_map(dependence::column_of).collect();
        let definitions = |id| common_table::common_table_with_id(binder, id);
        // In a row of ROLLUP, keys are NULL, and decide nothing.
        let determined = match block.rollup {
            true => keys,
            false => dependence::determined(rows, keys, &definitions),
        };
        for item in &block.items {
            check_grouping_calls(&item.expr, block)?;
        }
        for (position, item) in block.items.iter().enumerate() {
            check(&item.expr, &determined, block, "SELECT list", position)?;
        }
        check_windows(block, &determined)?;
        // One row needs no order.
        if !block.keys.is_empty() {
            for (position, (key, names)) in block.order_by.iter().zip(&block.order_names).enumerate() {
                let made = determined
                    .iter()
                    .copied()
                    .chain(columns_of_items(names, block))
                    .collect();
                let key = without_items(&key.expr, names, block)?;
                check(&key, &made, block, "ORDER BY clause", position)?;
            }
        }
    }
    if block.distinct {
        check_distinct(block)?;
    }
    Ok(())
}

/// The expressions of windows of a grouped query must have one value for each group, too.
fn check_windows(block: &BoundBlock, determined: &HashSet<ColumnId>) -> Result<()> {
    let check_window = |name: &str, window: &Window| -> Result<()> {
        let place = format!("PARTITION BY or ORDER BY clause of window '{name}'");
        let order = window.order_by.iter().map(|key| &key.expr);
        for (position, expr) in window.partition_by.iter().chain(order).enumerate() {
            check(expr, determined, block, &place, position)?;
        }
        Ok(())
    };
    for (name, window) in &block.named_windows {
        check_window(name, window)?;
    }
    for pending in block.windows.borrow().iter() {
        check_window(UNNAMED, &pending.window)?;
    }
    for (position, item) in block.items.iter().enumerate() {
        let named = columns_of(&item.expr);
        let windows = block.windows.borrow();
        for pending in windows.iter().filter(|pending| named.contains(&pending.id)) {
            let mut result = Ok(());
            pending.call.expressions(&mut |arg| {
                if result.is_ok() {
                    result = check(arg, determined, block, "SELECT list", position);
                }
            });
            result?;
        }
    }
    Ok(())
}

/// The arguments of GROUPING() must be keys.
fn check_grouping_calls(expr: &Expr, select: &BoundBlock) -> Result<()> {
    let mut wrong = None;
    expr.walk(&mut |e| {
        if let Expr::Call { function, args, .. } = e
            && function.0.name == "grouping"
            && select.rollup
        {
            let is_key = |arg: &Expr| super::grouping::key_of(&select.keys, arg).is_some();
            let unknown = args.iter().position(|arg| !is_key(arg));
            wrong = wrong.or(unknown);
        }
    });
    match wrong {
        Some(position) => Err(super::grouping::not_a_key(position + 1)),
        None => Ok(()),
    }
}

fn check(
    expr: &Expr,
    determined: &HashSet<ColumnId>,
    select: &BoundBlock,
    place: &str,
    position: usize,
) -> Result<()> {
    if select.keys.contains(expr) {
        return Ok(());
    }
    let is_free = |column: ColumnId| !determined.contains(&column);
    let found = match select.rollup {
        // GROUPING() asks about keys, not about their values.
        true => first_column(&without_grouping(expr)?, select, &is_free),
        false => first_column(expr, select, &is_free),
    };
    let Some(column) = found else {
        return Ok(());
    };
    let (number, column) = (position + 1, qualified(&select.scope, column));
    Err(if select.keys.is_empty() {
        Error::new(
            errno::ER_MIX_OF_GROUP_FUNC_AND_FIELDS,
            format!(
                "In aggregated query without GROUP BY, expression #{number} of {place} contains nonaggregated column \
                 '{column}'; this is incompatible with sql_mode=only_full_group_by"
            ),
        )
    } else {
        Error::new(
            errno::ER_WRONG_FIELD_WITH_GROUP,
            format!(
                "Expression #{number} of {place} is not in GROUP BY clause and contains nonaggregated column '{column}' which \
                 is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
                 sql_mode=only_full_group_by"
            ),
        )
    })
}

fn without_grouping(expr: &Expr) -> Result<Expr> {
    match expr {
        Expr::Call { function, .. } if function.0.name == "grouping" => Ok(Expr::null()),
        _ => expr.of_parts(&mut without_grouping),
    }
}

/// ORDER BY of a DISTINCT query must be about what it shows.
fn check_distinct(select: &BoundBlock) -> Result<()> {
    let shown = |expr: &Expr| select.items.iter().any(|item| item.expr == *expr);
    for (position, (key, names)) in select.order_by.iter().zip(&select.order_names).enumerate() {
        if shown(&key.expr) || names.any_value {
            continue;
        }
        let key = without_items(&key.expr, names, select)?;
        let of_items = columns_of_items(names, select);
        if select.refers_to_aggregate(&key) {
            return Err(Error::new(
                crate::errno::ER_AGGREGATE_IN_ORDER_NOT_SELECT,
                format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list, contains aggregate function; this is \
                     incompatible with DISTINCT",
                    position + 1
                ),
            ));
        }
        let is_hidden = |column: ColumnId| {
            let of_item = |id: ColumnId| select.scope.of_id(id);
            let is_of_item = of_items.contains(&column);
            let column = of_item(column);
            !is_of_item
                && !select
                    .items
                    .iter()
                    .any(|item| item.column.is_some() && item.column == column)
        };
        if let Some(column) = first_column(&key, select, &is_hidden) {
            return Err(Error::new(
                errno::ER_FIELD_IN_ORDER_NOT_SELECT,
                format!(
                    "Expression #{} of ORDER BY clause is not in SELECT list, references column '{}' which is not in SELECT list; \
                     this is incompatible with DISTINCT",
                    position + 1,
                    qualified(&select.scope, column)
                ),
            ));
        }
    }
    Ok(())
}

/// A key of ORDER BY, with NULL in place of the select items that it names: they are checked as such.
fn without_items(key: &Expr, names: &OrderNames, block: &BoundBlock) -> Result<Expr> {
    if names.items.iter().any(|&item| block.items[item].expr == *key) {
        return Ok(Expr::null());
    }
    key.of_parts(&mut |part| without_items(part, names, block))
}

/// The columns through which subqueries in keys can name select items.
fn columns_of_items(names: &OrderNames, block: &BoundBlock) -> HashSet<ColumnId> {
    let named = names.items.iter().map(|&item| &block.items[item]);
    named
        .filter(|item| item.column.is_none())
        .flat_map(|item| columns_of(&item.expr))
        .collect()
}

fn qualified(scope: &Scope, column: ColumnId) -> String {
    match scope.of_id(column) {
        Some(column) => scope.relation(column).qualified(column.position),
        None => String::new(),
    }
}

/// The first column of the block's relations in an expression, its subqueries and windows included, for which
/// `wanted` holds.
fn first_column(expr: &Expr, select: &BoundBlock, wanted: &dyn Fn(ColumnId) -> bool) -> Option<ColumnId> {
    let mut found = None;
    expr.walk(&mut |e| {
        let Expr::Column { index, .. } = e else {
            return;
        };
        let id = ColumnId(*index);
        let is_wanted = |id: &ColumnId| select.scope.owns(*id) && wanted(*id);
        found = found.or_else(|| match is_wanted(&id) {
            true => Some(id),
            false => select.above.outer_columns_of(id).into_iter().find(is_wanted),
        });
    });
    found
}
