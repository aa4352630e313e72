//! What a query is to the binder today: one query block over one table at most. Every other query that MySQL
//! has is refused here, by name, with 1235.

use std::ops::Deref;

use syntax::ast::{
    DerivedTable, Expr, IndexHint, Limit, LockingClause, OrderItem, Query, QueryBody, Select, SelectItem,
    SetOperator, TableRef,
};
use types::{Error, Result};

/// A query block with the clauses that the query expression around it has. The block's own fields are reached
/// through it.
#[derive(Clone, Copy)]
pub struct Block<'q> {
    select: &'q Select,
    /// VALUES: rows in place of items and of a table.
    pub values: Option<&'q [Vec<Option<Expr>>]>,
    pub table: Option<&'q TableRef>,
    pub order_by: &'q [OrderItem],
    pub limit: Option<&'q Limit>,
    pub locking: Option<&'q LockingClause>,
}

/// The block of VALUES.
static NO_SELECT: Select = Select {
    max_execution_ms: None,
    distinct: false,
    counts_all_rows: false,
    items: Vec::new(),
    from: Vec::new(),
    filter: None,
    group_by: Vec::new(),
    rollup: false,
    having: None,
    windows: Vec::new(),
};

impl Deref for Block<'_> {
    type Target = Select;

    fn deref(&self) -> &Select {
        self.select
    }
}

impl<'q> Block<'q> {
    pub fn of(query: &'q Query) -> Result<Self> {
        if query.with.is_some() {
            return Err(Error::not_supported(
                "WITH (common table expressions)",
                "run the inner query first",
            ));
        }
        if query.locking.len() > 1 {
            return Err(Error::not_supported("several locking clauses", "use one"));
        }
        let mut block = match &query.body {
            QueryBody::Select(select) => Self::of_select(select)?,
            QueryBody::Values(rows) => Self {
                values: Some(rows),
                ..Self::bare(&NO_SELECT, None)
            },
            QueryBody::Nested(inner) => Self::of(inner)?,
            QueryBody::SetOperation { rest, .. } => {
                let name = match rest.first().map(|operand| operand.operator) {
                    Some(SetOperator::Intersect) => "INTERSECT",
                    Some(SetOperator::Except) => "EXCEPT",
                    _ => "UNION",
                };
                return Err(Error::not_supported(name, "run the queries one by one"));
            }
        };
        let orders = !query.order_by.is_empty() || query.limit.is_some();
        if orders && (block.limit.is_some() || block.locking.is_some()) {
            return Err(Error::not_supported(
                "ORDER BY or LIMIT around a query in parentheses",
                "",
            ));
        }
        if !query.order_by.is_empty() {
            block.order_by = &query.order_by;
        }
        block.limit = block.limit.or(query.limit.as_ref());
        block.locking = query.locking.first().or(block.locking);
        Ok(block)
    }

    fn of_select(select: &'q Select) -> Result<Self> {
        if !select.windows.is_empty() {
            return Err(no_windows());
        }
        let table = match select.from.as_slice() {
            [] => None,
            tables => Some(only_table(tables).ok_or_else(no_joins)?),
        };
        Ok(Self::bare(select, table))
    }

    fn bare(select: &'q Select, table: Option<&'q TableRef>) -> Self {
        Self {
            select,
            values: None,
            table,
            order_by: &[],
            limit: None,
            locking: None,
        }
    }

    pub fn hints(&self) -> &'q [IndexHint] {
        match self.table {
            Some(TableRef::Table(table)) => &table.hints,
            _ => &[],
        }
    }
}

/// The table or derived table that is all of FROM; `None` where there are several.
pub fn only_table(tables: &[TableRef]) -> Option<&TableRef> {
    match tables {
        [TableRef::Nested(tables)] => only_table(tables),
        [table @ (TableRef::Table(_) | TableRef::Derived(_))] => Some(table),
        _ => None,
    }
}

/// The query of a derived table, if it is one that FROM can have.
pub fn query_of_derived(table: &DerivedTable) -> Result<&Query> {
    let is_select = match &table.query.body {
        QueryBody::Select(_) => true,
        QueryBody::SetOperation { first, .. } => matches!(**first, QueryBody::Select(_)),
        QueryBody::Values(_) | QueryBody::Nested(_) => false,
    };
    if table.lateral || table.query.with.is_some() || !is_select {
        return Err(Error::not_supported(
            "this kind of subquery in FROM",
            "run the inner query first",
        ));
    }
    if !table.columns.is_empty() {
        return Err(Error::not_supported(
            "names of a derived table's columns after its alias",
            "give the columns aliases in the query",
        ));
    }
    Ok(&table.query)
}

/// `(SELECT x)`, without a table: x. Any other subquery is refused.
pub fn value_of_subquery(query: &Query) -> Result<&Expr> {
    let lone = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.locking.is_empty();
    match &query.body {
        QueryBody::Nested(inner) if lone => value_of_subquery(inner),
        QueryBody::Select(select) if lone => match select.items.as_slice() {
            [SelectItem::Expr { expr, .. }] if is_bare(select) && !expr.has_aggregate() => Ok(expr),
            _ => Err(no_subqueries()),
        },
        _ => Err(no_subqueries()),
    }
}

/// Whether a block is nothing but a select list.
fn is_bare(select: &Select) -> bool {
    let Select {
        max_execution_ms: _,
        distinct: _,
        items: _,
        counts_all_rows,
        from,
        filter,
        group_by,
        rollup,
        having,
        windows,
    } = select;
    !counts_all_rows
        && from.is_empty()
        && filter.is_none()
        && group_by.is_empty()
        && !rollup
        && having.is_none()
        && windows.is_empty()
}

pub fn no_subqueries() -> Error {
    Error::not_supported("subqueries", "run the inner query first")
}

pub fn no_windows() -> Error {
    Error::not_supported("window functions", "use GROUP BY")
}

pub fn no_joins() -> Error {
    Error::not_supported("joins", "read the tables one by one")
}
