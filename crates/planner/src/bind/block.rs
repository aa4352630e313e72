//! A query block with the clauses of the query expression around it.

use std::ops::Deref;

use syntax::ast::{Expr, Limit, LockingClause, OrderItem, Query, QueryBody, Select, SelectItem};

/// A query block with the clauses that the query expression around it has. The block's own fields are reached
/// through it.
#[derive(Clone, Copy)]
pub struct Block<'q> {
    select: &'q Select,
    /// VALUES: rows in place of items and of a table.
    pub values: Option<&'q [Vec<Option<Expr>>]>,
    pub order_by: &'q [OrderItem],
    pub limit: Option<&'q Limit>,
    pub locking: &'q [LockingClause],
}

/// The block of VALUES.
static NO_SELECT: Select = Select {
    hints: None,
    straight_join: false,
    distinct: false,
    counts_all_rows: false,
    items: Vec::new(),
    from: Vec::new(),
    filter: None,
    group_by: Vec::new(),
    rollup: false,
    having: None,
    windows: Vec::new(),
    into: None,
};

impl Deref for Block<'_> {
    type Target = Select;

    fn deref(&self) -> &Select {
        self.select
    }
}

impl<'q> Block<'q> {
    /// The block that is the whole body of a query; `None` if the body is not a single block, or if both it
    /// and the query around it have an order, a limit or locks. Ignores the query's WITH.
    pub fn of(query: &'q Query) -> Option<Self> {
        let mut block = match &query.body {
            QueryBody::Select(select) => Self::bare(select),
            QueryBody::Values(rows) => Self::of_values(rows),
            QueryBody::Nested(inner) if inner.with.is_none() => Self::of(inner)?,
            QueryBody::Nested(_) | QueryBody::SetOperation { .. } => return None,
        };
        let orders = !query.order_by.is_empty() || query.limit.is_some();
        let locks = !query.locking.is_empty();
        let is_whole = block.limit.is_some() || !block.locking.is_empty();
        if orders && is_whole || locks && !block.locking.is_empty() {
            return None;
        }
        if !query.order_by.is_empty() {
            block.order_by = &query.order_by;
        }
        block.limit = block.limit.or(query.limit.as_ref());
        if locks {
            block.locking = &query.locking;
        }
        Some(block)
    }

    /// A block alone.
    pub fn bare(select: &'q Select) -> Self {
        Self {
            select,
            values: None,
            order_by: &[],
            limit: None,
            locking: &[],
        }
    }

    pub fn of_values(rows: &'q [Vec<Option<Expr>>]) -> Self {
        Self {
            values: Some(rows),
            ..Self::bare(&NO_SELECT)
        }
    }
}

/// `(SELECT x)`, without a table: x.
pub fn value_of_subquery(query: &Query) -> Option<&Expr> {
    let lone = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.locking.is_empty();
    match &query.body {
        QueryBody::Nested(inner) if lone => value_of_subquery(inner),
        QueryBody::Select(select) if lone => match select.items.as_slice() {
            [SelectItem::Expr { expr, .. }]
                if is_bare(select) && !expr.has_aggregate() && !expr.has_window() =>
            {
                Some(expr)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a block is nothing but a select list.
fn is_bare(select: &Select) -> bool {
    let Select {
        hints: _,
        straight_join: _,
        distinct: _,
        items: _,
        counts_all_rows,
        from,
        filter,
        group_by,
        rollup,
        having,
        windows,
        into,
    } = select;
    !counts_all_rows
        && from.is_empty()
        && filter.is_none()
        && group_by.is_empty()
        && !rollup
        && having.is_none()
        && windows.is_empty()
        && into.is_none()
}
