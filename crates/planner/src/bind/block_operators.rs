//! The operators of a query block, above its filtered rows.

use functions::Expr;
use functions::aggregate;
use types::Result;

use super::block::Block;
use super::bound_block::{BoundBlock, is_constant};
use super::bound_query::{BoundQuery, QueryColumn, QueryPlace, limited};
use super::from_place::filtered;
use super::grouping::{Groups, directions_of, rollup_order};
use super::over_items::over_items;
use super::relation::type_in_temporary_table;
use super::subqueries::Subqueries;
use super::window::windowed;
use super::{Binder, hints, limit, volatile_items};
use crate::logical::{ColumnId, Logical, columns_of};
use crate::plan::{OutputLimit, SortKey};

/// The block's operators above its filtered rows.
pub fn operators(
    binder: &Binder<'_>,
    mut bound: BoundBlock,
    mut rel: Logical,
    block: &Block<'_>,
    place: QueryPlace<'_>,
) -> Result<BoundQuery> {
    // A query that counts all its rows makes all of them. LIMIT is applied where the rows are sent.
    let mut limit = limit::bind_limit(binder, block.limit)?;
    let counts = place.is_statement && block.counts_all_rows && limit.count.is_some();
    let limit_of_output = counts.then(|| std::mem::take(&mut limit));
    let is_rolled = bound.rollup;
    let mut results: Vec<_> = bound
        .items
        .iter()
        // An item that may be the sum row of ROLLUP is not announced as a column.
        .map(|item| super::result_column(item, (!is_rolled).then_some(&bound.scope)))
        .collect();
    // The rows of other queries come from a temporary table.
    if bound.distinct || !bound.keys.is_empty() || !bound.windows.borrow().is_empty() {
        for result in &mut results {
            result.is_chosen_time = false;
            result.is_reference = false;
        }
    }
    let shown: Vec<Expr> = bound.items.iter().map(|item| item.expr.clone()).collect();
    for (result, item) in results.iter_mut().zip(&bound.items) {
        if bound.is_announced_as_stored(item) {
            result.ty = type_in_temporary_table(result.ty);
        }
        result.is_stored |= bound.is_stored_document(item);
    }
    let of_groups: Vec<(bool, bool)> = bound
        .items
        .iter()
        .map(|item| {
            let is_rolled_key = is_rolled && bound.keys.contains(&item.expr);
            (bound.is_aggregate(&item.expr), is_rolled_key)
        })
        .collect();
    let stored: Vec<bool> = bound.items.iter().map(|item| bound.is_stored(item)).collect();
    let is_merged = limit.count.is_none() && bound.can_be_merged();
    let block_read = (!bound.grouped).then(|| (bound.scope.clone(), bound.items.clone()));

    // What has a key in it may be NULL, whatever it makes of that.
    let may_be_rolled: Vec<bool> = bound
        .items
        .iter()
        .map(|item| is_rolled && has_key(&item.expr, &bound.keys))
        .collect();
    rel = std::mem::take(&mut bound.below).applied_to(rel);
    if !is_rolled {
        bound.order_by.retain(|key| !is_constant(&key.expr));
    }
    let windows_see_order = bound.windows_see_order();
    if bound.grouped {
        rel = grouped(binder, &mut bound, rel)?;
        // A key may be rolled up, and a group may have no row.
        for ((result, item), rolled) in results.iter_mut().zip(&bound.items).zip(may_be_rolled) {
            result.nullable = rolled || item.expr.nullable();
        }
    }
    let of_shown_rows = match limit.count.is_some() && !bound.distinct && bound.windows.borrow().is_empty() {
        true => subqueries_of_items(&bound),
        false => Subqueries::default(),
    };
    rel = std::mem::take(&mut bound.above).applied_to(rel);
    rel = filtered(rel, bound.having.take());
    if windows_see_order {
        bound.order_before_windows = std::mem::take(&mut bound.order_by);
    }
    rel = sorted(rel, std::mem::take(&mut bound.order_before_windows));
    rel = windowed(rel, bound.windows.take());

    let mut exprs: Vec<Expr> = bound.items.iter().map(|item| item.expr.clone()).collect();
    if place.is_statement {
        send_digits_of_branches(&mut exprs, &stored);
    }
    let (root, ids, in_order) = if bound.distinct {
        let (sorted, ids, by_hidden) = distinct_rows(binder, rel, &exprs, bound.order_by)?;
        (limited(sorted, limit), ids, by_hidden)
    } else if volatile_items::precede_order(&exprs, &bound.order_by) {
        let rows = of_shown_rows.applied_to(rel);
        let (sorted, ids) = volatile_items::sorted_items(binder, rows, &exprs, bound.order_by)?;
        (limited(sorted, limit), ids, false)
    } else {
        // The rows that LIMIT and OFFSET leave out are not computed: their items do not fail.
        let mut rows = limited(sorted(rel, bound.order_by.clone()), limit);
        if !of_shown_rows.is_empty() {
            // A subquery may become a join, which need not keep the order.
            rows = sorted(of_shown_rows.applied_to(rows), bound.order_by);
        }
        let (projected, ids) = projected(binder, rows, &exprs);
        (projected, ids, false)
    };
    let columns = ids.into_iter().zip(&exprs).zip(shown).zip(results).zip(of_groups);
    let columns = columns.map(
        |((((id, expr), shown), result), (is_aggregate, is_rolled_key))| QueryColumn {
            is_aggregate,
            is_rolled_key,
            id,
            ty: expr.ty(),
            nullable: result.nullable,
            expr: shown,
            result,
        },
    );
    Ok(BoundQuery {
        root,
        columns: columns.collect(),
        limit_of_output: limit_of_output.and_then(|limit| {
            Some(OutputLimit {
                offset: limit.offset,
                count: limit.count?,
            })
        }),
        max_execution: hints::time_limit(binder, place.limits_time),
        in_order,
        is_merged,
        block: block_read,
    })
}

fn has_key(expr: &Expr, keys: &[Expr]) -> bool {
    let mut found = false;
    expr.walk(&mut |part| found |= keys.contains(part));
    found
}

/// Takes out the subqueries that only the select list needs.
fn subqueries_of_items(bound: &BoundBlock) -> Subqueries {
    let keys = bound.order_by.iter().map(|key| &key.expr);
    let needed = keys.chain(&bound.having).flat_map(columns_of);
    bound.above.split_off_unneeded(needed.collect())
}

fn sorted(input: Logical, keys: Vec<SortKey>) -> Logical {
    match keys.is_empty() {
        true => input,
        false => Logical::Sort {
            input: Box::new(input),
            keys,
        },
    }
}

/// A DECIMAL made by IF or CASE is sent with the digits of the branch. Where MySQL stores rows in a temporary
/// table before it sends them (`stored`, for each item), it has the common type of the branches.
fn send_digits_of_branches(items: &mut [Expr], stored: &[bool]) {
    for (item, stored) in items.iter_mut().zip(stored) {
        if let Some(text) = functions::bind::output_text(item).filter(|_| !stored) {
            *item = text;
        }
    }
}

/// The groups of the rows, and the block's expressions over them.
fn grouped(binder: &Binder<'_>, bound: &mut BoundBlock, input: Logical) -> Result<Logical> {
    let key_ids: Vec<ColumnId> = bound.keys.iter().map(|_| binder.new_column()).collect();
    let rollup = bound.rollup.then(|| binder.new_column());
    let descending = directions_of(&bound.keys, &bound.order_by);
    let below: std::collections::BTreeSet<ColumnId> = input.output().iter().map(|c| c.id).collect();
    let mut groups = Groups {
        binder,
        keys: &bound.keys,
        key_ids: &key_ids,
        rollup,
        aggregates: &bound.aggregates,
        below: &below,
    };
    for (position, item) in bound.items.iter_mut().enumerate() {
        let own = bound.key_items.iter().find(|(of, _)| *of == position);
        item.expr = match own {
            Some((_, key)) => groups.key_item(*key, &item.expr),
            None => groups.rewrite_shown(&item.expr)?,
        };
    }
    if let Some(having) = &mut bound.having {
        *having = groups.rewrite(having)?;
    }
    // Without GROUP BY there is one row.
    if bound.keys.is_empty() {
        bound.order_by.clear();
    }
    for key in &mut bound.order_by {
        key.expr = groups.rewrite_shown(&key.expr)?;
    }
    for pending in bound.windows.borrow_mut().iter_mut() {
        groups.rewrite_window(pending)?;
    }
    bound.above.rewrite(&mut |expr| groups.rewrite(expr))?;
    // DISTINCT comes before the order, which is then by what is shown.
    if let Some(rollup) = rollup {
        let order = rollup_order(binder, &bound.keys, &key_ids, &descending, rollup)?;
        if !bound.windows.borrow().is_empty() {
            bound.order_before_windows.clone_from(&order);
        }
        if !bound.distinct {
            bound.order_by.extend(order);
        }
    }
    Ok(Logical::Aggregate {
        input: Box::new(input),
        keys: key_ids.into_iter().zip(std::mem::take(&mut bound.keys)).collect(),
        aggregates: bound.aggregates.take(),
        rollup,
    })
}

/// The rows with the columns of expressions and no others; and the id of each.
pub fn projected(binder: &Binder<'_>, input: Logical, exprs: &[Expr]) -> (Logical, Vec<ColumnId>) {
    let below: std::collections::BTreeSet<ColumnId> = input.output().iter().map(|c| c.id).collect();
    let mut columns: Vec<(ColumnId, Expr)> = Vec::with_capacity(exprs.len());
    let mut ids = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let own = match expr {
            // A column of another query's rows is a new one here.
            Expr::Column { index, .. } => Some(ColumnId(*index)).filter(|id| below.contains(id)),
            _ => None,
        };
        let id = own.unwrap_or_else(|| binder.new_column());
        if !columns.iter().any(|(other, _)| *other == id) {
            columns.push((id, expr.clone()));
        }
        ids.push(id);
    }
    let projected = Logical::Project {
        input: Box::new(input),
        columns,
    };
    (projected, ids)
}

/// Rows are made distinct before they are ordered, so the order is by what they show. Without
/// ONLY_FULL_GROUP_BY it may be by columns that they do not show: then by those of the first of the equal
/// rows, as MySQL does. The last result says whether it is.
fn distinct_rows(
    binder: &Binder<'_>,
    input: Logical,
    items: &[Expr],
    order_by: Vec<SortKey>,
) -> Result<(Logical, Vec<ColumnId>, bool)> {
    let mut hidden = Vec::new();
    let ids: Vec<ColumnId> = items.iter().map(|_| binder.new_column()).collect();
    let mut keys = Vec::with_capacity(order_by.len());
    for key in order_by {
        keys.push(SortKey {
            expr: over_items(binder, &key.expr, items, &ids, &mut hidden)?,
            descending: key.descending,
        });
    }
    let by_hidden = !hidden.is_empty();
    let shown: Vec<(ColumnId, Expr)> = ids.iter().copied().zip(items.iter().cloned()).collect();
    let mut rel = if by_hidden {
        Logical::Aggregate {
            input: Box::new(input),
            keys: shown,
            aggregates: hidden
                .into_iter()
                .map(|(id, column)| {
                    let call = aggregate::bind("any_value", vec![column], false, &binder.types)?;
                    Ok((id, call))
                })
                .collect::<Result<_>>()?,
            rollup: None,
        }
    } else {
        Logical::Distinct {
            input: Box::new(Logical::Project {
                input: Box::new(input),
                columns: shown,
            }),
        }
    };
    rel = sorted(rel, keys);
    if by_hidden {
        let columns = ids.iter().zip(items);
        rel = Logical::Project {
            input: Box::new(rel),
            columns: columns
                .map(|(id, item)| (*id, Expr::column(id.0, item.ty(), item.nullable())))
                .collect(),
        };
    }
    Ok((rel, ids, by_hidden))
}
