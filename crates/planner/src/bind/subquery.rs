//! Subqueries in expressions. Each becomes an Apply below the operator whose expression it stands in, and the
//! expression names the Apply's columns.

use functions::{Expr, bind};
use syntax::ast::{self, BinaryOp, Quantifier, Query, QueryBody, Select, SelectItem};
use types::{Error, Result, errno};

use super::Binder;
use super::bound_query::{BoundQuery, QueryColumn, QueryPlace, too_many_parts};
use super::bound_rows::{compare_rows, operand_columns};
use super::context::Context;
use super::names::{InClause, SUBQUERY_OPERAND};
use super::query_width::has_other_width;
use crate::logical::{ApplyKind, Logical};

/// How many subqueries a clause may have: each is a level of the plan.
const SUBQUERIES_MAX: usize = 1_000;

fn subquery(binder: &Binder<'_>, query: &Query, context: &Context<'_>, as_set: bool) -> Result<BoundQuery> {
    if context.subqueries.is_none() {
        return Err(Error::not_supported(
            "a subquery in this place",
            "run the subquery first, and use its result",
        ));
    }
    if context.subqueries.is_some_and(|all| all.len() >= SUBQUERIES_MAX) {
        return Err(too_many_parts());
    }
    let place = QueryPlace {
        as_set,
        ..QueryPlace::within(Some(context))
    };
    types::stack::with_room(|| binder.query_at(query, place))
}

fn apply(kind: ApplyKind, rel: Logical, context: &Context<'_>) {
    if let Some(subqueries) = context.subqueries {
        subqueries.add(kind, rel);
    }
}

/// `(SELECT ...)` in the place of a value.
pub(super) fn scalar_subquery(binder: &Binder<'_>, query: &Query, context: &Context<'_>) -> Result<Expr> {
    let mut columns = row_subquery(binder, query, context)?;
    match (columns.pop(), columns.is_empty()) {
        (Some(column), true) => Ok(bind::without_members(column)),
        _ => Err(operand_columns(1)),
    }
}

/// `(SELECT ...)` in the place of a row.
fn row_subquery(binder: &Binder<'_>, query: &Query, context: &Context<'_>) -> Result<Vec<Expr>> {
    let bound = subquery(binder, query, context, false)?;
    let columns = bound
        .columns
        .iter()
        .map(|column| Expr::made_column(column.id.0, column.ty, true, column.strength()));
    let exprs: Vec<Expr> = columns.collect();
    let columns = bound.columns.iter().map(|column| column.id).collect();
    apply(ApplyKind::Scalar { columns }, bound.root, context);
    Ok(exprs)
}

/// The columns of an operand that is a row.
pub(super) fn row_operand(
    binder: &Binder<'_>,
    operand: &ast::Expr,
    context: &Context<'_>,
) -> Result<Vec<Expr>> {
    match operand {
        ast::Expr::Row(columns) => columns
            .iter()
            .map(|column| match column {
                ast::Expr::Row(inner) => Err(operand_columns(inner.len())),
                column => binder.scalar(column, context),
            })
            .collect(),
        ast::Expr::Subquery(query) => row_subquery(binder, query, context),
        single => Ok(vec![binder.scalar(single, context)?]),
    }
}

pub(super) fn exists(binder: &Binder<'_>, query: &Query, context: &Context<'_>) -> Result<Expr> {
    // Nothing reads what the subquery selects, so its `*` needs no table.
    let without_star = without_star(query).or_else(|| without_distinct(query));
    let around = binder.unread_stars.replace(Some(binder.query_depth.get() + 1));
    let bound = subquery(binder, without_star.as_ref().unwrap_or(query), context, true);
    binder.unread_stars.set(around);
    let bound = bound?;
    let mark = binder.new_column();
    apply(ApplyKind::Exists { mark }, bound.root, context);
    Ok(Expr::truth_column(mark.0, false))
}

/// `x IN (SELECT ...)`: `x = ANY (SELECT ...)`.
pub(super) fn in_subquery(
    binder: &Binder<'_>,
    operand: &ast::Expr,
    query: &Query,
    negated: bool,
    context: &Context<'_>,
) -> Result<Expr> {
    let any = any(binder, BinaryOp::Equal, operand, query, context)?;
    if negated {
        return binder.call("not", vec![any]);
    }
    Ok(any)
}

/// `x > ANY (SELECT ...)`, `x > ALL (SELECT ...)`; the latter is `NOT x <= ANY (SELECT ...)`.
pub(super) fn quantified(
    binder: &Binder<'_>,
    op: BinaryOp,
    operand: &ast::Expr,
    quantifier: Quantifier,
    query: &Query,
    context: &Context<'_>,
) -> Result<Expr> {
    match quantifier {
        Quantifier::Any => any(binder, op, operand, query, context),
        Quantifier::All => {
            if op == BinaryOp::Equal && matches!(operand, ast::Expr::Row(columns) if columns.len() > 1) {
                return Err(operand_columns(1));
            }
            let any = any(binder, opposite(op), operand, query, context)?;
            binder.call("not", vec![any])
        }
    }
}

fn any(
    binder: &Binder<'_>,
    op: BinaryOp,
    operand: &ast::Expr,
    query: &Query,
    context: &Context<'_>,
) -> Result<Expr> {
    if query.limit.is_some() {
        return Err(Error::new(
            errno::ER_NOT_SUPPORTED_YET,
            "This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'",
        ));
    }
    let names = InClause {
        names: context.names,
        clause: SUBQUERY_OPERAND,
    };
    let in_operand = Context {
        names: &names,
        ..*context
    };
    let left = row_operand(binder, operand, &in_operand)?;
    if left.len() > 1 && op != BinaryOp::Equal {
        return Err(operand_columns(1));
    }
    if has_other_width(&query.body, left.len()) {
        return Err(operand_columns(left.len()));
    }
    let without_distinct = without_distinct(query);
    let query = without_distinct.as_ref().unwrap_or(query);
    let bound = subquery(binder, query, context, true)?;
    if left.len() != bound.columns.len() {
        return Err(operand_columns(left.len()));
    }
    let right: Vec<Expr> = bound.columns.iter().map(QueryColumn::column).collect();
    let condition = compare_rows(binder, op, &left, &right)?;
    let mark = binder.new_column();
    let nullable = condition.nullable();
    apply(ApplyKind::Any { mark, condition }, bound.root, context);
    Ok(Expr::truth_column(mark.0, nullable))
}

/// A subquery of which only the set of rows counts, without its DISTINCT, so that its ORDER BY may name
/// anything.
fn without_distinct(query: &Query) -> Option<Query> {
    let is_idle = |select: &Select| select.distinct && !query.order_by.is_empty();
    match &query.body {
        QueryBody::Select(select) if is_idle(select) && query.limit.is_none() => {}
        _ => return None,
    }
    let mut query = query.clone();
    if let QueryBody::Select(select) = &mut query.body {
        select.distinct = false;
    }
    Some(query)
}

/// `SELECT *` without a table, as `SELECT NULL`.
fn without_star(query: &Query) -> Option<Query> {
    let QueryBody::Select(select) = &query.body else {
        return None;
    };
    if !select.from.is_empty() || !select.items.iter().any(|item| matches!(item, SelectItem::All)) {
        return None;
    }
    let mut query = query.clone();
    if let QueryBody::Select(select) = &mut query.body {
        for item in select
            .items
            .iter_mut()
            .filter(|item| matches!(item, SelectItem::All))
        {
            *item = SelectItem::Expr {
                expr: ast::Expr::Null,
                name: "NULL".to_owned(),
                aliased: false,
            };
        }
    }
    Some(query)
}

/// The comparison that is true where this one is false.
fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        BinaryOp::GreaterOrEqual => BinaryOp::Less,
        other => other,
    }
}
