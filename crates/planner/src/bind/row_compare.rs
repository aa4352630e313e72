//! Comparisons of rows, as comparisons of their columns.

use functions::{Expr, bind};
use types::{Error, Result};

use super::bound_rows::{all_of, compare_rows, operand_columns, strict};
use super::context::Context;
use super::query_width::width;
use super::{Binder, subquery};
use syntax::ast::{self, BinaryOp};

/// `(a, b) = (c, d)` and the other comparisons.
pub(super) fn row_comparison(
    binder: &Binder<'_>,
    op: BinaryOp,
    left: &ast::Expr,
    right: &ast::Expr,
    context: &Context<'_>,
) -> Result<Expr> {
    let is_subquery = |e: &ast::Expr| matches!(e, ast::Expr::Subquery(_));
    if is_subquery(left) || is_subquery(right) {
        if let (ast::Expr::Row(row), ast::Expr::Subquery(query)) = (left, right)
            && width(query).is_some_and(|width| width != row.len())
        {
            return Err(operand_columns(row.len()));
        }
        let left = subquery::row_operand(binder, left, context)?;
        let right = subquery::row_operand(binder, right, context)?;
        return compare_rows(binder, op, &left, &right);
    }
    let (left, right) = (columns(left), columns(right));
    if left.len() != right.len() {
        return Err(operand_columns(left.len()));
    }
    compare_columns(binder, op, left, right, context)
}

fn compare_columns(
    binder: &Binder<'_>,
    op: BinaryOp,
    left: &[ast::Expr],
    right: &[ast::Expr],
    context: &Context<'_>,
) -> Result<Expr> {
    match op {
        BinaryOp::Equal | BinaryOp::NullSafeEqual => {
            all_of(binder, each(binder, op, left, right, context)?, "and")
        }
        BinaryOp::NotEqual => all_of(binder, each(binder, op, left, right, context)?, "or"),
        _ => lexicographic(binder, op, left, right, context),
    }
}

fn each(
    binder: &Binder<'_>,
    op: BinaryOp,
    left: &[ast::Expr],
    right: &[ast::Expr],
    context: &Context<'_>,
) -> Result<Vec<Expr>> {
    let pairs = left.iter().zip(right);
    pairs.map(|(l, r)| compare(binder, op, l, r, context)).collect()
}

fn compare(
    binder: &Binder<'_>,
    op: BinaryOp,
    left: &ast::Expr,
    right: &ast::Expr,
    context: &Context<'_>,
) -> Result<Expr> {
    if is_row(left) || is_row(right) {
        return row_comparison(binder, op, left, right, context);
    }
    binder.call(
        op.function(),
        binder.comparands(op.function(), &[left, right], context)?,
    )
}

/// `(a, b) < (c, d)` is `a < c OR (a = c AND b < d)`; the last column has the operator itself.
fn lexicographic(
    binder: &Binder<'_>,
    op: BinaryOp,
    left: &[ast::Expr],
    right: &[ast::Expr],
    context: &Context<'_>,
) -> Result<Expr> {
    let mut alternatives = Vec::with_capacity(left.len());
    for last in 0..left.len() {
        let mut all = each(binder, BinaryOp::Equal, &left[..last], &right[..last], context)?;
        let operator = if last + 1 == left.len() { op } else { strict(op) };
        all.push(compare(binder, operator, &left[last], &right[last], context)?);
        alternatives.push(all_of(binder, all, "and")?);
    }
    all_of(binder, alternatives, "or")
}

/// `(a, b) IN ((1, 2), (3, 4))`; rows of either side may be subqueries.
pub(super) fn row_in_list(
    binder: &Binder<'_>,
    operand: &ast::Expr,
    list: &[ast::Expr],
    negated: bool,
    context: &Context<'_>,
) -> Result<Expr> {
    let alternatives = match operand {
        ast::Expr::Subquery(_) => equals_items_bound(binder, operand, list, context)?,
        _ => equals_items(binder, columns(operand), list, context)?,
    };
    let any = all_of(binder, alternatives, "or")?;
    if negated {
        binder.call("not", vec![any])
    } else {
        Ok(any)
    }
}

/// Whether the row of a subquery, which runs once, equals each item.
fn equals_items_bound(
    binder: &Binder<'_>,
    operand: &ast::Expr,
    list: &[ast::Expr],
    context: &Context<'_>,
) -> Result<Vec<Expr>> {
    let left = subquery::row_operand(binder, operand, context)?;
    let equal = list.iter().map(|item| {
        let right = subquery::row_operand(binder, item, context)?;
        compare_rows(binder, BinaryOp::Equal, &left, &right)
    });
    equal.collect()
}

fn equals_items(
    binder: &Binder<'_>,
    operand: &[ast::Expr],
    list: &[ast::Expr],
    context: &Context<'_>,
) -> Result<Vec<Expr>> {
    let mut alternatives = Vec::with_capacity(list.len());
    for item in list {
        if matches!(item, ast::Expr::Subquery(_)) {
            let left = operand.iter().map(|column| binder.scalar(column, context));
            let left: Vec<Expr> = left.collect::<Result<_>>()?;
            let right = subquery::row_operand(binder, item, context)?;
            alternatives.push(compare_rows(binder, BinaryOp::Equal, &left, &right)?);
            continue;
        }
        let item = columns(item);
        if item.len() != operand.len() {
            return Err(operand_columns(operand.len()));
        }
        let columns = operand.iter().zip(item);
        let equal = columns.map(|(left, right)| equals_item(binder, left, right, list.len(), context));
        let equal = equal.collect::<Result<Vec<_>>>()?;
        alternatives.push(all_of(binder, equal, "and")?);
    }
    Ok(alternatives)
}

/// Whether a column of the row before IN equals that of a row of the list. Of dates and times it is decided as IN
/// does, by the type of the left side alone: no date is ever equal to a TIME there.
fn equals_item(
    binder: &Binder<'_>,
    left: &ast::Expr,
    right: &ast::Expr,
    rows: usize,
    context: &Context<'_>,
) -> Result<Expr> {
    if is_row(left) || is_row(right) {
        return row_comparison(binder, BinaryOp::Equal, left, right, context);
    }
    let sides = binder.comparands("in", &[left, right], context)?;
    let [operand, item] = sides.as_slice() else {
        return Err(Error::internal("a comparison has two sides"));
    };
    if !operand.ty().is_temporal() && !item.ty().is_temporal() {
        let [operand, item] = bind::row_list_texts([operand.clone(), item.clone()], rows);
        return binder.call("=", vec![operand, item]);
    }
    match bind::row_list_pair(operand.clone(), item.clone(), rows, &binder.types)? {
        Some((operand, item)) => binder.call("=", vec![operand, item]),
        None => {
            // NULL if one of them is, otherwise false.
            let differs = |side: &Expr| binder.call("<>", vec![side.clone(), side.clone()]);
            binder.call("or", vec![differs(operand)?, differs(item)?])
        }
    }
}

fn columns(expr: &ast::Expr) -> &[ast::Expr] {
    match expr {
        ast::Expr::Row(columns) => columns,
        single => std::slice::from_ref(single),
    }
}

/// Whether an operand of a comparison is a row: written as one, or the row of a subquery.
pub fn is_row(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Row(_) => true,
        ast::Expr::Subquery(query) => width(query).is_some_and(|width| width > 1),
        _ => false,
    }
}
