//! Operators put together: from a query whose names are resolved to a tree of [`Rel`].
//!
//! Scan (or the one row without a table), gate of constant conditions, HAVING or the aggregation, sort,
//! projection, DISTINCT, LIMIT, from below. Columns that nothing above the scan needs are not read.
//!
//! - [`source`]: the scan and its filter. [`columns`]: which columns. [`extreme`]: MIN and MAX of an index's
//!   end.
//! - [`route`]: which executor. [`constant`]: conditions without columns.

mod columns;
mod constant;
mod extreme;
mod route;
mod source;
mod target;

use functions::Expr;
use functions::aggregate::{self, AggregateCall};
use types::{Result, SqlType};

use crate::bind::Binder;
use crate::bind::grouping::{Groups, rolled_keys, rollup_order};
use crate::bind::{BoundSelect, refers_to_aggregate, result_column};
use crate::object_access::{LockMode, PrivilegeSet};
use crate::plan::{OutputLimit, QueryPlan, Rel, Route, SortKey};

pub(crate) use source::Source;

/// The parts of a query above its source, over the source's columns; in a grouped query those of the
/// aggregation's output.
struct Upper {
    items: Vec<Expr>,
    having: Option<Expr>,
    order_by: Vec<SortKey>,
    aggregates: Vec<AggregateCall>,
}

impl Binder<'_> {
    /// Plans a query of its own.
    pub fn query_plan(&self, select: BoundSelect<'_>) -> Result<QueryPlan> {
        self.plan_query(select, true)
    }

    /// `free`: the query may run in either executor.
    pub fn plan_query(&self, mut select: BoundSelect<'_>, free: bool) -> Result<QueryPlan> {
        self.reads(&select);
        // Read in parallel, no row is the first.
        let anywhere = free && !orders_by_hidden(&select);
        // A query that counts all its rows makes all of them. LIMIT is applied where the rows are sent.
        let limit_of_output = if select.counts_all_rows && select.limit.count.is_some() {
            Some(std::mem::take(&mut select.limit))
        } else {
            None
        };
        let mut upper = self.upper(&select)?;
        let columns = select
            .items
            .iter()
            .zip(&upper.items)
            // What may be a sum of groups is no column.
            .map(|(item, expr)| result_column(item, expr, select.table.as_ref().filter(|_| !select.rollup)))
            .collect();
        if free {
            show_branches(&select, &mut upper.items);
        }
        let source = self.source(&select, &upper, anywhere)?;
        let route = source.route;
        let root = self.operators(&select, upper, source)?;
        Ok(QueryPlan {
            root,
            columns,
            locking: select.locking,
            route,
            limit_of_output: limit_of_output.and_then(|limit| {
                Some(OutputLimit {
                    offset: limit.offset,
                    count: limit.count?,
                })
            }),
            max_execution: select.max_execution_ms.map(std::time::Duration::from_millis),
        })
    }

    /// Notes what the query needs of its table. A derived table has noted it of its own.
    fn reads(&self, select: &BoundSelect<'_>) {
        let Some(table) = select.table.as_ref().filter(|table| table.rows.is_none()) else {
            return;
        };
        let lock = match select.locking {
            Some(locking) if locking.exclusive => LockMode::Write,
            _ => LockMode::Read,
        };
        self.accesses
            .add(&table.table, &table.alias, PrivilegeSet::SELECT, lock);
    }

    fn upper(&self, select: &BoundSelect<'_>) -> Result<Upper> {
        let order_by = || {
            select
                .order_by
                .iter()
                .filter(|key| !crate::access::is_constant(&key.expr))
        };
        if !select.grouped {
            return Ok(Upper {
                items: select.items.iter().map(|item| item.expr.clone()).collect(),
                having: select.having.clone(),
                order_by: order_by().cloned().collect(),
                aggregates: Vec::new(),
            });
        }
        let mut groups = Groups {
            binder: self,
            keys: &select.keys,
            rollup: select.rollup,
            aggregates: select.aggregates.clone(),
        };
        let mut items = Vec::with_capacity(select.items.len());
        for item in &select.items {
            items.push(groups.rewrite(&item.expr)?);
        }
        let having = select
            .having
            .as_ref()
            .map(|having| groups.rewrite(having))
            .transpose()?;
        let mut keys = Vec::new();
        // Without GROUP BY there is one row.
        if !select.keys.is_empty() {
            for key in order_by() {
                keys.push(SortKey {
                    expr: groups.rewrite(&key.expr)?,
                    descending: key.descending,
                });
            }
        }
        Ok(Upper {
            items,
            having,
            order_by: keys,
            aggregates: groups.aggregates,
        })
    }

    fn operators(&self, select: &BoundSelect<'_>, upper: Upper, source: Source) -> Result<Rel> {
        let mut width = source.width;
        let mut rel = source.rel;
        let map = &source.map;
        let mapped = |mut expr: Expr| {
            expr.map_columns(&|column| map.get(column).copied().flatten().unwrap_or(column));
            expr
        };
        let Upper {
            mut items,
            mut having,
            mut order_by,
            aggregates,
        } = upper;
        if select.grouped {
            let mut keys: Vec<Expr> = select.keys.iter().cloned().map(mapped).collect();
            let mut aggregates: Vec<AggregateCall> = aggregates
                .into_iter()
                .map(|call| AggregateCall {
                    args: call.args.into_iter().map(mapped).collect(),
                    ..call
                })
                .collect();
            if select.rollup {
                rel = Rel::Repeat {
                    input: Box::new(rel),
                    times: keys.len() as u32 + 1,
                };
                let behind_copy = |expr: &mut Expr| expr.map_columns(&|column| column + 1);
                keys.iter_mut().for_each(behind_copy);
                let args = aggregates.iter_mut().flat_map(|call| &mut call.args);
                args.for_each(behind_copy);
                keys = rolled_keys(self, keys, &Expr::column(0, SqlType::BIGINT, false))?;
                // DISTINCT comes before the order, which is then by what is shown.
                if !select.distinct {
                    order_by.extend(rollup_order(self, &select.keys)?);
                }
            }
            width = keys.len() + aggregates.len();
            rel = Rel::Aggregate {
                input: Box::new(rel),
                keys,
                aggregates,
            };
        } else {
            items = items.into_iter().map(mapped).collect();
            having = having.map(mapped);
            order_by
                .iter_mut()
                .for_each(|key| key.expr = mapped(key.expr.clone()));
        }
        if let Some(predicate) = having {
            rel = Rel::Filter {
                input: Box::new(rel),
                predicate,
            };
        }
        let sorted = order_by.is_empty() || source.ordered && !select.rollup;
        if select.distinct {
            rel = self.distinct(rel, items, order_by, select, width)?;
        } else {
            if !sorted {
                rel = self.sort(rel, order_by, select)?;
            }
            rel = project(rel, items, width);
        }
        if select.limit.count.is_some() {
            rel = Rel::Limit {
                input: Box::new(rel),
                offset: select.limit.offset.clone(),
                count: select.limit.count.clone(),
            };
        }
        Ok(rel)
    }

    fn sort(&self, input: Rel, keys: Vec<SortKey>, select: &BoundSelect<'_>) -> Result<Rel> {
        Ok(Rel::Sort {
            input: Box::new(input),
            keys,
            limit: self.rows_wanted(&select.limit)?,
        })
    }

    /// Rows are made distinct before they are ordered, so the order is by what they show. Without
    /// ONLY_FULL_GROUP_BY it may be by columns that they do not show: then by those of the first of the equal
    /// rows, as MySQL does.
    fn distinct(
        &self,
        rel: Rel,
        items: Vec<Expr>,
        order_by: Vec<SortKey>,
        select: &BoundSelect<'_>,
        width: usize,
    ) -> Result<Rel> {
        let shown = items.len();
        let mut hidden = Vec::new();
        let mut keys = Vec::with_capacity(order_by.len());
        for key in order_by {
            keys.push(SortKey {
                expr: over_items(&key.expr, &items, &mut hidden)?,
                descending: key.descending,
            });
        }
        if hidden.is_empty() {
            let rel = Rel::Distinct {
                input: Box::new(project(rel, items, width)),
            };
            return if keys.is_empty() {
                Ok(rel)
            } else {
                self.sort(rel, keys, select)
            };
        }
        let columns = items.iter().enumerate();
        let exprs = columns
            .map(|(index, item)| Expr::column(index, item.ty(), item.nullable()))
            .collect();
        let first_rows = Rel::Aggregate {
            input: Box::new(rel),
            keys: items,
            aggregates: self.first_of_rows(&hidden)?,
        };
        let sorted = self.sort(first_rows, keys, select)?;
        Ok(project(sorted, exprs, shown + hidden.len()))
    }

    fn first_of_rows(&self, columns: &[Expr]) -> Result<Vec<AggregateCall>> {
        let first = |column: &Expr| aggregate::bind("any_value", vec![column.clone()], false, &self.types);
        columns.iter().map(first).collect()
    }
}

/// Whether equal rows are ordered by columns that they do not show: which of them comes first matters then.
fn orders_by_hidden(select: &BoundSelect<'_>) -> bool {
    if !select.distinct || select.order_by.is_empty() {
        return false;
    }
    let items: Vec<Expr> = select.items.iter().map(|item| item.expr.clone()).collect();
    let mut hidden = Vec::new();
    let mut is_hidden =
        |key: &SortKey| over_items(&key.expr, &items, &mut hidden).is_err() || !hidden.is_empty();
    select.order_by.iter().any(&mut is_hidden)
}

/// A DECIMAL made by IF or CASE is sent with the digits of the branch. Where MySQL stores rows in a temporary
/// table before it sends them (DISTINCT, and what grouped queries have besides aggregates), it has the common
/// type of the branches.
fn show_branches(select: &BoundSelect<'_>, items: &mut [Expr]) {
    for (item, shown) in select.items.iter().zip(items) {
        let is_stored = select.distinct || !select.keys.is_empty() && !refers_to_aggregate(&item.expr);
        if let Some(text) = functions::bind::output_text(shown).filter(|_| !is_stored) {
            *shown = text;
        }
    }
}

/// The items alone; nothing where the input has just them already.
fn project(input: Rel, items: Vec<Expr>, width: usize) -> Rel {
    let is_same = items.len() == width
        && items
            .iter()
            .enumerate()
            .all(|(position, item)| matches!(item, Expr::Column { index, .. } if *index == position));
    if is_same {
        return input;
    }
    Rel::Project {
        input: Box::new(input),
        exprs: items,
    }
}

/// An expression over the columns of the items, instead of what they are made of. Columns that are in none of
/// them come behind the items, as `hidden` lists them.
fn over_items(expr: &Expr, items: &[Expr], hidden: &mut Vec<Expr>) -> Result<Expr> {
    if let Some(index) = items.iter().position(|item| item == expr) {
        return Ok(Expr::column(index, expr.ty(), expr.nullable()));
    }
    if matches!(expr, Expr::Column { .. }) {
        let index = match hidden.iter().position(|column| column == expr) {
            Some(index) => index,
            None => {
                hidden.push(expr.clone());
                hidden.len() - 1
            }
        };
        return Ok(Expr::column(items.len() + index, expr.ty(), expr.nullable()));
    }
    expr.of_parts(&mut |part| over_items(part, items, hidden))
}

/// Which executor a plan that only one of them can run goes to.
const ONLY_ROUTE: Route = Route::Transactional;
