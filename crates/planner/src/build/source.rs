//! The source of a query's rows: a scan with its filter, a virtual table, or one row without columns.

use std::sync::Arc;

use functions::Expr;
use types::Result;

use super::columns::Columns;
use super::constant::Gate;
use super::{ONLY_ROUTE, Upper, route};
use crate::access::{self, Chosen, Request, RowLimit};
use crate::bind::{AGGREGATE_BASE, Binder, BoundSelect, TableBinding, literal_count, unsigned};
use crate::plan::{Locking, Rel, Route, SortKey, TableScan, VirtualScan};

/// The lowest operators of a query.
pub struct Source {
    pub rel: Rel,
    /// Position in the output of each column of the table that is there.
    pub map: Vec<Option<usize>>,
    /// Number of columns of the output.
    pub width: usize,
    /// Rows come in the query's order.
    pub ordered: bool,
    pub route: Route,
}

/// The rows of a derived table.
fn derived_rows(select: &BoundSelect<'_>, mut rows: Rel, width: usize) -> Source {
    lock_rows(&mut rows, select.locking);
    Source {
        rel: filtered(rows, select.filter.clone()),
        map: (0..width).map(Some).collect(),
        width,
        ordered: false,
        route: ONLY_ROUTE,
    }
}

/// Makes the scan below lock its rows.
fn lock_rows(rel: &mut Rel, locking: Option<Locking>) {
    match rel {
        Rel::Scan(scan) => scan.locking = scan.locking.or(locking),
        Rel::Filter { input, .. }
        | Rel::Project { input, .. }
        | Rel::Aggregate { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Limit { input, .. }
        | Rel::Repeat { input, .. }
        | Rel::Distinct { input } => lock_rows(input, locking),
        _ => {}
    }
}

impl Binder<'_> {
    pub(super) fn source(&self, select: &BoundSelect<'_>, upper: &Upper, free: bool) -> Result<Source> {
        match &select.table {
            None => Ok(written_rows(select)),
            Some(TableBinding {
                table,
                rows: Some(rows),
                ..
            }) => Ok(derived_rows(select, Rel::clone(rows), table.columns.len())),
            Some(table) if table.table.is_virtual() => self.virtual_table(select, upper, table),
            Some(table) => self.stored_table(select, upper, table, free),
        }
    }

    /// Its rows are filtered afterwards. Conditions on one column reach the table too, so that it makes fewer
    /// rows. If any part of the filter can fail or warn, none does: then the filter must see all rows, as it
    /// would in MySQL.
    fn virtual_table(&self, select: &BoundSelect<'_>, upper: &Upper, table: &TableBinding) -> Result<Source> {
        let width = table.table.columns.len();
        let mut wanted = Columns::of(select, upper, true);
        select.filter.iter().for_each(|filter| wanted.add_all(filter));
        let rel = Rel::Virtual(VirtualScan {
            database: table.table.database.clone(),
            table: Arc::clone(&table.table),
            wanted: wanted.offsets,
            conditions: select
                .filter
                .as_ref()
                .map_or_else(Vec::new, conditions_on_columns),
        });
        Ok(Source {
            rel: filtered(rel, select.filter.clone()),
            map: (0..width).map(Some).collect(),
            width,
            ordered: false,
            route: ONLY_ROUTE,
        })
    }

    fn stored_table(
        &self,
        select: &BoundSelect<'_>,
        upper: &Upper,
        table: &TableBinding,
        free: bool,
    ) -> Result<Source> {
        let gate = Gate::of(select.filter.as_ref());
        let columns = Columns::of(select, upper, true);
        let order = if select.distinct {
            Vec::new()
        } else {
            plain_order(&upper.order_by, select.grouped)
        };
        let mut request = Request {
            table: &table.table,
            conjuncts: gate.conjuncts,
            columns: &columns.offsets,
            order,
            limit: row_limit(select),
            hints: select.hints,
            rows: (self.env.row_estimate)(table.table.id),
        };
        if let Some(source) = self.extreme(select, upper, table, &mut request, &gate.constant, gate.closed)? {
            return Ok(source);
        }
        let mut chosen = access::choose(&request)?;
        self.possible_keys
            .replace(std::mem::take(&mut chosen.possible_keys));
        let sorts = !upper.order_by.is_empty() && !chosen.ordered;
        let free =
            free && select.locking.is_none() && table.as_of.is_none() && !select.rollup && !self.assigns;
        let route = match self.env.route {
            _ if !free => ONLY_ROUTE,
            Some(route) => route,
            None => route::of(select, &chosen, sorts),
        };
        if route == Route::Analytical {
            // A parallel scan has no order: a query that needs one has to sort.
            request.order.clear();
            chosen = access::full(&request);
            chosen.ordered = upper.order_by.is_empty();
        }
        let columns = Columns::of(select, upper, !chosen.ordered || select.distinct);
        let mut source = self.scan(table, columns, chosen, gate.constant, gate.closed, route)?;
        lock_rows(&mut source.rel, select.locking);
        Ok(source)
    }

    /// The scan of what has been chosen, its expressions over its own output.
    pub(super) fn scan(
        &self,
        table: &TableBinding,
        mut columns: Columns,
        mut chosen: Chosen,
        constant: Vec<Expr>,
        closed: bool,
        route: Route,
    ) -> Result<Source> {
        // If few rows are read, a constant condition can be a filter. A scan of many rows must not start at
        // all.
        let gated = if closed {
            Some(unsigned(0))
        } else if chosen.points {
            chosen.residual.extend(constant);
            None
        } else {
            self.rows_if(constant, None)?
        };
        chosen
            .residual
            .iter()
            .for_each(|condition| columns.add_all(condition));
        let map = columns.map(table.table.columns.len());
        let filter = self.all(chosen.residual)?.map(|mut filter| {
            filter.map_columns(&|column| map.get(column).copied().flatten().unwrap_or(column));
            filter
        });
        let width = columns.offsets.len();
        let mut rel = Rel::Scan(TableScan {
            table: Arc::clone(&table.table),
            alias: table.alias.clone(),
            columns: columns.offsets,
            access: chosen.access,
            filter,
            as_of: table.as_of.clone(),
            locking: None,
        });
        if let Some(count) = gated {
            rel = Rel::Limit {
                input: Box::new(rel),
                offset: None,
                count: Some(count),
            };
        }
        Ok(Source {
            rel,
            map,
            width,
            ordered: chosen.ordered,
            route,
        })
    }
}

/// One row, without columns; or the numbers of the rows of VALUES.
fn written_rows(select: &BoundSelect<'_>) -> Source {
    let one = filtered(Rel::OneRow, select.filter.clone());
    let (rel, width) = match select.values {
        None => (one, 0),
        Some(rows) => {
            let numbers = Rel::Repeat {
                input: Box::new(one),
                times: u32::try_from(rows).unwrap_or(u32::MAX),
            };
            (numbers, 1)
        }
    };
    Source {
        rel,
        map: (0..width).map(Some).collect(),
        width,
        ordered: select.values.is_none_or(|rows| rows <= 1),
        route: ONLY_ROUTE,
    }
}

fn filtered(input: Rel, predicate: Option<Expr>) -> Rel {
    match predicate {
        None => input,
        Some(predicate) => Rel::Filter {
            input: Box::new(input),
            predicate,
        },
    }
}

/// The order, if it is one of columns alone.
pub(super) fn plain_order(order_by: &[SortKey], grouped: bool) -> Vec<(usize, bool)> {
    if grouped {
        return Vec::new();
    }
    let column = |key: &SortKey| match key.expr {
        Expr::Column { index, .. } if index < AGGREGATE_BASE => Some((index, key.descending)),
        _ => None,
    };
    order_by
        .iter()
        .map(column)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// The number of the table's rows that are wanted, where LIMIT gives it.
fn row_limit(select: &BoundSelect<'_>) -> RowLimit {
    let Some(count) = &select.limit.count else {
        return RowLimit::All;
    };
    if select.grouped || select.distinct {
        return RowLimit::All;
    }
    let offset = select.limit.offset.as_ref().map_or(Some(0), literal_count);
    match (literal_count(count), offset) {
        (Some(count), Some(offset)) => RowLimit::AtMost(count.saturating_add(offset)),
        _ => RowLimit::Some,
    }
}

/// The conjuncts of a filter that read exactly one column.
fn conditions_on_columns(filter: &Expr) -> Vec<Expr> {
    if functions::eval::is_fallible(filter) {
        return Vec::new();
    }
    let reads_one = |condition: &&Expr| {
        let mut columns = std::collections::BTreeSet::new();
        condition.walk(&mut |e| {
            if let Expr::Column { index, .. } = e {
                columns.insert(*index);
            }
        });
        columns.len() == 1
    };
    let conjuncts = access::conjuncts(Some(filter)).into_iter();
    conjuncts.filter(reads_one).cloned().collect()
}
