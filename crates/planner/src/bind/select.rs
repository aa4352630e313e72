//! SELECT: its parts bound in the order their names become known.

use std::cell::RefCell;

use functions::Expr;
use functions::aggregate::AggregateCall;
use types::{Error, Result, errno};

use super::Binder;
use super::block::Block;
use super::expr::{AGGREGATE_BASE, Context, invalid_group_function};
use super::limit::BoundLimit;
use super::name_lookup::{ColumnsThenItems, ItemsAndKeys};
use super::output::Item;
use super::scope::{FIELD_LIST, GROUP_STATEMENT, HAVING_CLAUSE, ORDER_CLAUSE, TableBinding, TableNames};
use crate::errno::{ER_AGGREGATE_ORDER_NON_AGG_QUERY, ER_UNRESOLVED_TABLE_LOCK};
use crate::plan::{Locking, LockingWait, QueryPlan, SortKey};
use syntax::ast::{self, IndexHint, LockWait, NumberText, Query, Select};

/// A SELECT whose names are resolved. Expressions are over all the table's columns, by offset, and over the
/// results of aggregates, from [`AGGREGATE_BASE`] on.
pub struct BoundSelect<'a> {
    pub table: Option<TableBinding>,
    pub hints: &'a [IndexHint],
    pub items: Vec<Item>,
    /// Of VALUES: the number of rows. The items are over the number of the row.
    pub values: Option<usize>,
    pub filter: Option<Expr>,
    /// Whether rows are gathered in groups, be it one of all.
    pub grouped: bool,
    pub keys: Vec<Expr>,
    /// WITH ROLLUP: groups of fewer and fewer keys as well.
    pub rollup: bool,
    pub aggregates: Vec<AggregateCall>,
    pub having: Option<Expr>,
    pub order_by: Vec<SortKey>,
    pub distinct: bool,
    pub limit: BoundLimit,
    pub locking: Option<Locking>,
    pub max_execution_ms: Option<u64>,
    /// SQL_CALC_FOUND_ROWS.
    pub counts_all_rows: bool,
}

impl Binder<'_> {
    pub fn select(&self, query: &Query) -> Result<QueryPlan> {
        let block = Block::of(query)?;
        if let Some((item, inner)) = whether_any(&block) {
            return self.existence(item, inner);
        }
        let bound = self.bind_select(block)?;
        self.check_grouping(&bound)?;
        self.query_plan(bound)
    }

    /// The plan of a query whose rows another one takes.
    pub(super) fn inner_query(&self, query: &Query) -> Result<QueryPlan> {
        let block = Block::of(query)?;
        if let Some((item, inner)) = whether_any(&block) {
            return self.existence(item, inner);
        }
        let mut bound = self.bind_select(block)?;
        self.check_grouping(&bound)?;
        bound.counts_all_rows = false;
        self.plan_query(bound, false)
    }

    pub fn bind_select<'s>(&self, select: Block<'s>) -> Result<BoundSelect<'s>> {
        let table = select.table.map(|table| self.table_ref(table)).transpose()?;
        let names = |clause| TableNames {
            table: table.as_ref(),
            clause,
        };
        let grouped = is_grouped(&select);

        let filter = self.filter(select.filter.as_ref(), table.as_ref())?;
        let aggregates = RefCell::new(Vec::new());
        let fields = names(FIELD_LIST);
        let context = Context {
            aggregates: Some(&aggregates),
            grouped,
            ..Context::of(&fields)
        };
        let items = match select.values {
            Some(rows) => self.items_of_values(rows)?,
            None => self.items(&select.items, table.as_ref(), &context)?,
        };
        let keys = self.group_by(&select, &items, names(GROUP_STATEMENT))?;
        let having = match &select.having {
            Some(having) => {
                let inner = ItemsAndKeys {
                    binder: self,
                    items: &items,
                    tables: names(HAVING_CLAUSE),
                    keys: &keys,
                };
                let context = Context {
                    names: &inner,
                    argument_names: &names(HAVING_CLAUSE),
                    aggregates: Some(&aggregates),
                    grouped,
                };
                Some(self.condition(having, &context)?)
            }
            None => None,
        };
        let order_by = self.order_by(&select, &items, names(ORDER_CLAUSE), &aggregates, grouped)?;
        let locking = self.locking(&select, table.as_ref())?;
        Ok(BoundSelect {
            max_execution_ms: select.max_execution_ms,
            counts_all_rows: select.counts_all_rows,
            hints: select.hints(),
            filter,
            grouped,
            aggregates: aggregates.into_inner(),
            having,
            order_by,
            distinct: select.distinct && (select.rollup || !groups_are_distinct(grouped, &keys, &items)),
            rollup: select.rollup,
            limit: self.limit(select.limit)?,
            locking,
            items,
            keys,
            table,
            values: select.values.map(<[_]>::len),
        })
    }

    fn group_by(&self, select: &Select, items: &[Item], tables: TableNames<'_>) -> Result<Vec<Expr>> {
        let names = ColumnsThenItems { items, tables };
        let mut keys: Vec<Expr> = Vec::with_capacity(select.group_by.len());
        for item in &select.group_by {
            let (key, called) = match &item.expr {
                ast::Expr::Number(NumberText::Integer(digits)) => {
                    let item = ordinal(digits, items, GROUP_STATEMENT)?;
                    (item.expr.clone(), item.name.clone())
                }
                ast::Expr::Column(name) => {
                    (self.group_name(name, items, &names.tables)?, name.column.clone())
                }
                expr if expr.has_aggregate() => {
                    return Err(self.aggregate_as_key(expr, &item.text, items, &names));
                }
                expr => (self.scalar(expr, &Context::of(&names))?, item.text.clone()),
            };
            if refers_to_aggregate(&key) {
                return Err(cannot_group_on(&called));
            }
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(keys)
    }

    /// 1056 where the aggregate is a select item, else 1111.
    fn aggregate_as_key(
        &self,
        expr: &ast::Expr,
        text: &str,
        items: &[Item],
        names: &ColumnsThenItems<'_>,
    ) -> Error {
        let aggregates = RefCell::new(Vec::new());
        let context = Context {
            aggregates: Some(&aggregates),
            ..Context::of(names)
        };
        match self.scalar(expr, &context) {
            Ok(_) if items.iter().any(|item| item.name.eq_ignore_ascii_case(text)) => cannot_group_on(text),
            Ok(_) => invalid_group_function(),
            Err(error) => error,
        }
    }

    fn order_by(
        &self,
        select: &Block<'_>,
        items: &[Item],
        tables: TableNames<'_>,
        aggregates: &RefCell<Vec<AggregateCall>>,
        grouped: bool,
    ) -> Result<Vec<SortKey>> {
        let names = ColumnsThenItems { items, tables };
        let context = Context {
            names: &names,
            argument_names: &names.tables,
            aggregates: grouped.then_some(aggregates),
            grouped,
        };
        if select.values.is_some() && select.order_by.iter().any(|item| item.expr.has_aggregate()) {
            return Err(invalid_group_function());
        }
        // An aggregate in ORDER BY alone does not make a query one with groups.
        let plain = select.group_by.is_empty() && !has_aggregates_to_show(select);
        let mut keys: Vec<SortKey> = Vec::with_capacity(select.order_by.len());
        for (position, item) in select.order_by.iter().enumerate() {
            if plain && self.env.sql_mode.only_full_group_by && item.expr.has_aggregate() {
                return Err(aggregate_in_plain_order(position + 1));
            }
            let expr = match &item.expr {
                ast::Expr::Number(NumberText::Integer(digits)) => {
                    ordinal(digits, items, ORDER_CLAUSE)?.expr.clone()
                }
                ast::Expr::Column(name) => self.order_name(name, items, &names.tables)?,
                expr => self.scalar(expr, &context)?,
            };
            // A second key of the same value orders nothing.
            if !keys.iter().any(|key| key.expr == expr) {
                keys.push(SortKey {
                    expr,
                    descending: item.descending,
                });
            }
        }
        Ok(keys)
    }

    fn locking(&self, select: &Block<'_>, table: Option<&TableBinding>) -> Result<Option<Locking>> {
        let Some(clause) = select.locking else {
            return Ok(None);
        };
        for name in &clause.of {
            if table.is_none_or(|table| table.alias != *name) {
                return Err(Error::new(
                    ER_UNRESOLVED_TABLE_LOCK,
                    format!("Unresolved table name `{name}` in locking clause."),
                ));
            }
        }
        let Some(table) = table.filter(|table| !table.table.is_virtual()) else {
            return Ok(None);
        };
        if table.as_of.is_some() {
            return Err(Error::not_supported(
                "locking rows of the past",
                "leave AS OF TIMESTAMP out",
            ));
        }
        Ok(Some(Locking {
            exclusive: clause.exclusive,
            wait: match clause.wait {
                LockWait::Wait => LockingWait::Wait,
                LockWait::NoWait => LockingWait::NoWait,
                LockWait::SkipLocked => LockingWait::SkipLocked,
            },
        }))
    }
}

/// `SELECT EXISTS (SELECT ...)`, and nothing else.
fn whether_any<'q>(select: &'q Block<'_>) -> Option<(&'q str, &'q Query)> {
    let alone = select.table.is_none()
        && select.filter.is_none()
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.limit.is_none();
    match select.items.as_slice() {
        [
            ast::SelectItem::Expr {
                expr: ast::Expr::Exists(inner),
                name,
                ..
            },
        ] if alone => Some((name.as_str(), inner.as_ref())),
        _ => None,
    }
}

fn is_grouped(select: &Block<'_>) -> bool {
    !select.group_by.is_empty()
        || has_aggregates_to_show(select)
        || select.order_by.iter().any(|item| item.expr.has_aggregate())
}

fn has_aggregates_to_show(select: &Select) -> bool {
    let in_item = |item: &ast::SelectItem| match item {
        ast::SelectItem::Expr { expr, .. } => expr.has_aggregate(),
        _ => false,
    };
    select.items.iter().any(in_item) || select.having.as_ref().is_some_and(ast::Expr::has_aggregate)
}

/// A query that shows all its groups' keys shows no two equal rows, nor does one whose rows are one group.
fn groups_are_distinct(grouped: bool, keys: &[Expr], items: &[Item]) -> bool {
    grouped && keys.iter().all(|key| items.iter().any(|item| item.expr == *key))
}

/// The select item of a number in GROUP BY or ORDER BY.
fn ordinal<'i>(digits: &str, items: &'i [Item], clause: &str) -> Result<&'i Item> {
    let position: Option<usize> = digits.parse().ok();
    let item = position.and_then(|p| p.checked_sub(1)).and_then(|p| items.get(p));
    item.ok_or_else(|| {
        Error::new(
            errno::ER_BAD_FIELD_ERROR,
            format!("Unknown column '{digits}' in '{clause}'"),
        )
    })
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

pub fn refers_to_aggregate(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |e| found |= matches!(e, Expr::Column { index, .. } if *index >= AGGREGATE_BASE));
    found
}
