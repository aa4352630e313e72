//! What GROUP BY and ORDER BY of a query block name: columns, select items, their numbers, expressions.

use functions::Expr;
use syntax::ast::{self, NumberText, Select};
use types::{Error, Result, errno};

use super::block::Block;
use super::bound_block::OrderNames;
use super::bound_query::as_it_stands;
use super::context::{Aggregates, Context, invalid_group_function};
use super::name_lookup::ColumnsThenItems;
use super::names::{GROUP_STATEMENT, ORDER_CLAUSE, unknown_place};
use super::output::Item;
use super::{Binder, name_lookup, resolution};
use crate::errno::ER_AGGREGATE_ORDER_NON_AGG_QUERY;
use crate::plan::SortKey;

/// The keys of GROUP BY; of those that name an item of the select list: key and item.
pub type GroupKeys = (Vec<Expr>, Vec<(usize, usize)>);

/// The keys of ORDER BY, and what each names.
pub type OrderKeys = (Vec<SortKey>, Vec<OrderNames>);

pub fn group_by(
    binder: &Binder<'_>,
    select: &Select,
    items: &[Item],
    context: &Context<'_>,
    names: &ColumnsThenItems<'_>,
    is_of_groups: &dyn Fn(&Expr) -> bool,
) -> Result<GroupKeys> {
    let mut keys: Vec<Expr> = Vec::with_capacity(select.group_by.len());
    let mut key_items = Vec::new();
    let mut named = Vec::new();
    for item in &select.group_by {
        let (key, called) = match &item.expr {
            ast::Expr::Parameter(_) if binder.types.literal_params => return Err(as_it_stands()),
            ast::Expr::Number(NumberText::Integer(digits)) => {
                let item = ordinal(digits, items, GROUP_STATEMENT)?;
                (item.expr.clone(), item.name.clone())
            }
            ast::Expr::Column(name) => {
                let key = name_lookup::group_name(binder, name, items, &names.tables);
                let key = key.map_err(|error| {
                    resolution::hidden_column(binder, name, names.tables.outer.is_some(), error)
                })?;
                resolution::note_column(binder, name, &key);
                (key, name.column.clone())
            }
            expr if expr.has_aggregate() => {
                return Err(aggregate_as_key(binder, expr, &item.text, items, context));
            }
            expr => (binder.scalar(expr, context)?, "???".to_owned()),
        };
        if is_of_groups(&key) {
            return Err(cannot_group_on(&called));
        }
        let is_meant = |item: &Item| item.expr == key && types::same_name(&item.name, &called);
        let meant = items.iter().position(is_meant);
        if !keys.contains(&key) {
            named.extend(meant);
            keys.push(key);
        } else if select.rollup {
            // Equal keys are rolled up one by one. An item that is the name of one is not of another.
            if let Some(item) = meant.filter(|item| !named.contains(item)) {
                named.push(item);
                key_items.push((item, keys.len()));
            }
            keys.push(key);
        }
    }
    Ok((keys, key_items))
}

/// 1056 if the aggregate is a select item, else 1111.
fn aggregate_as_key(
    binder: &Binder<'_>,
    expr: &ast::Expr,
    text: &str,
    items: &[Item],
    context: &Context<'_>,
) -> Error {
    let aggregates = Aggregates::default();
    let context = Context {
        aggregates: Some(&aggregates),
        ..*context
    };
    match binder.scalar(expr, &context) {
        Ok(_) if items.iter().any(|item| types::same_name(&item.name, text)) => cannot_group_on(text),
        Ok(_) => invalid_group_function(),
        Err(error) => error,
    }
}

pub fn order_by(
    binder: &Binder<'_>,
    select: &Block<'_>,
    items: &[Item],
    context: &Context<'_>,
    names: &ColumnsThenItems<'_>,
) -> Result<OrderKeys> {
    // An aggregate in ORDER BY alone does not make a query one with groups, except within a window.
    let own = || context.aggregates.map_or(0, |own| own.borrow().len());
    let plain = select.group_by.is_empty() && !has_aggregates_to_show(select) && own() == 0;
    let mut keys: Vec<SortKey> = Vec::with_capacity(select.order_by.len());
    let mut named = Vec::with_capacity(select.order_by.len());
    for (position, item) in select.order_by.iter().enumerate() {
        let before = own();
        let expr = match &item.expr {
            ast::Expr::Parameter(_) if binder.types.literal_params => return Err(as_it_stands()),
            ast::Expr::Number(NumberText::Integer(digits)) => {
                ordinal(digits, items, ORDER_CLAUSE)?.expr.clone()
            }
            ast::Expr::Column(name) => {
                let key = name_lookup::order_name(name, items, &names.tables);
                let key = key.map_err(|error| {
                    resolution::hidden_column(binder, name, names.tables.outer.is_some(), error)
                })?;
                resolution::note_column(binder, name, &key);
                key
            }
            expr => binder.scalar(expr, context)?,
        };
        if plain && own() > before && !item.expr.has_window() {
            return Err(aggregate_in_plain_order(position + 1));
        }
        let items = names.named.take();
        // A second key of the same value orders nothing.
        if !keys.iter().any(|key| key.expr == expr) {
            named.push(OrderNames {
                items,
                any_value: is_of_any_values(&item.expr),
            });
            keys.push(SortKey {
                expr,
                descending: item.descending,
            });
        }
    }
    Ok((keys, named))
}

pub fn has_aggregates_to_show(select: &Select) -> bool {
    let in_item = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => expr.has_aggregate(),
        _ => false,
    };
    select.items.iter().any(in_item) || select.having.as_ref().is_some_and(ast::Expr::has_aggregate)
}

/// The select item of a number in GROUP BY or ORDER BY.
fn ordinal<'i>(digits: &str, items: &'i [Item], clause: &str) -> Result<&'i Item> {
    let position: Option<usize> = digits.parse().ok();
    let item = position.and_then(|p| p.checked_sub(1)).and_then(|p| items.get(p));
    item.ok_or_else(|| unknown_place(digits, clause))
}

fn is_any_value(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Function { name, .. } if name.eq_ignore_ascii_case("any_value"))
}

/// Whether an expression names something of a row only within `ANY_VALUE(...)`.
fn is_of_any_values(expr: &ast::Expr) -> bool {
    let (mut has_any_value, mut names_other) = (false, false);
    note_names(expr, &mut has_any_value, &mut names_other);
    has_any_value && !names_other
}

fn note_names(expr: &ast::Expr, has_any_value: &mut bool, names_other: &mut bool) {
    match expr {
        expr if is_any_value(expr) => *has_any_value = true,
        ast::Expr::Column(_)
        | ast::Expr::Aggregate { .. }
        | ast::Expr::GroupConcat { .. }
        | ast::Expr::Subquery(_)
        | ast::Expr::Exists(_)
        | ast::Expr::InSubquery { .. }
        | ast::Expr::Quantified { .. } => *names_other = true,
        expr if expr.has_window() => *names_other = true,
        expr => expr.children(&mut |child| note_names(child, has_any_value, names_other)),
    }
}

/// Error 3029.
fn aggregate_in_plain_order(position: usize) -> Error {
    Error::new(
        ER_AGGREGATE_ORDER_NON_AGG_QUERY,
        format!(
            "Expression #{position} of ORDER BY contains aggregate function and applies to the result of a non-aggregated \
             query"
        ),
    )
}

/// Error 1056.
fn cannot_group_on(name: &str) -> Error {
    Error::new(errno::ER_WRONG_GROUP_FIELD, format!("Can't group on '{name}'"))
}
