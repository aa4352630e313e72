//! The rows of one table that satisfy a condition.

use std::collections::BTreeSet;
use std::sync::Arc;

use functions::Expr;
use planner::logical::{ColumnId, Get};
use planner::plan::{ExecutionCache, Expected, Rel, Route, TableScan, VirtualScan};
use types::Result;

use super::builder::{Builder, Built, Want};
use super::route;
use crate::Rule;
use crate::access::{self, Chosen, Request, RowLimit};
use crate::constant::Gate;
use crate::estimates::TableEstimate;
use crate::expr::{ColumnList, all, positioned};
use crate::limit::{rows_if, unsigned};
use crate::{cost, estimates};

pub fn build(builder: &Builder<'_>, get: Get, filter: Option<Expr>, want: &Want) -> Result<Built> {
    if get.table.is_virtual() {
        virtual_table(&get, filter, want)
    } else {
        stored_table(builder, &get, filter, want)
    }
}

/// Its rows are filtered afterwards. Conditions on one column reach the table too, so that it makes fewer
/// rows. If any part of the filter can fail or warn, none does: then the filter must see all rows, as it
/// would in MySQL.
fn virtual_table(get: &Get, filter: Option<Expr>, want: &Want) -> Result<Built> {
    let layout: Vec<ColumnId> = (0..get.table.columns.len())
        .map(|offset| get.id(offset))
        .collect();
    let mut wanted = want.all_columns();
    filter.iter().for_each(|filter| wanted.add_all(filter));
    let filter = filter.map(|filter| positioned(filter, &layout)).transpose()?;
    let mut rel = Rel::Virtual(VirtualScan {
        database: get.table.database.clone(),
        table: Arc::clone(&get.table),
        wanted: offsets(get, &wanted.0),
        conditions: filter.as_ref().map_or_else(Vec::new, conditions_on_columns),
    });
    if let Some(predicate) = filter {
        rel = Rel::Filter {
            input: Box::new(rel),
            predicate,
        };
    }
    Ok(Built {
        rel,
        layout,
        ordered: false,
        rows: 100.0,
        cost: 1_000.0,
    })
}

fn stored_table(builder: &Builder<'_>, get: &Get, filter: Option<Expr>, want: &Want) -> Result<Built> {
    let gate = Gate::of(filter.as_ref());
    let conjuncts = over_offsets(gate.conjuncts, get);
    let columns = offsets(get, &want.all_columns().0);
    let mut request = request(builder, get, want, conjuncts, &columns);
    if let Some(chosen) = ends_of_groups(builder, get, want, &request, &gate.constant)? {
        return of_path(builder, get, want, chosen, Vec::new(), gate.closed);
    }
    let mut chosen = access::choose(&request)?;
    builder.note_keys(&get.alias, std::mem::take(&mut chosen.possible_keys));
    let sorts = want.sorts() && !chosen.ordered;
    let route = builder
        .route
        .get()
        .unwrap_or_else(|| route::of_table(want, &chosen, sorts));
    builder.route.set(Some(route));
    if route == Route::Analytical {
        // A parallel scan has no order: a query that needs one has to sort.
        request.order.clear();
        chosen = access::full(&request);
    }
    of_path(builder, get, want, chosen, gate.constant, gate.closed)
}

/// The ends of groups of rows, where no others are wanted.
fn ends_of_groups(
    builder: &Builder<'_>,
    get: &Get,
    want: &Want,
    request: &Request<'_>,
    constant: &[Expr],
) -> Result<Option<Chosen>> {
    let Some(groups) = &want.groups else {
        return Ok(None);
    };
    let is_plain = builder.is_query.get()
        && get.locking.is_none()
        && get.as_of.is_none()
        && get.table.partitioning.is_none()
        && builder.env.applies(Rule::GroupEnds);
    if !is_plain || !constant.is_empty() || builder.route.get() == Some(Route::Analytical) {
        return Ok(None);
    }
    // There, each end is a round trip, and the stores find the groups themselves.
    if builder.env.estimates.has_coprocessor(get.table.id) {
        return Ok(None);
    }
    let Some(groups) = groups.map(&|id| get.offset(id)) else {
        return Ok(None);
    };
    let mut chosen = access::ends_of_groups(request, &groups)?;
    if let Some(chosen) = &mut chosen {
        builder.note_keys(&get.alias, std::mem::take(&mut chosen.possible_keys));
        builder.route.set(Some(Route::Transactional));
    }
    Ok(chosen)
}

pub fn request<'r>(
    builder: &Builder<'r>,
    get: &'r Get,
    want: &Want,
    conjuncts: Vec<Expr>,
    columns: &'r [usize],
) -> Request<'r> {
    let offset = |(id, descending): &(ColumnId, bool)| Some((get.offset(*id)?, *descending));
    Request {
        table: &get.table,
        alias: &get.alias,
        conjuncts,
        columns,
        order: want
            .order
            .iter()
            .map(offset)
            .collect::<Option<_>>()
            .unwrap_or_default(),
        limit: match builder.env.applies(Rule::OrderingIndex) {
            true => want.limit,
            false => RowLimit::All,
        },
        hints: &get.hints,
        invisible: builder.env.switches.use_invisible_indexes,
        unions: builder.env.applies(Rule::IndexUnion),
        named_partitions: get.partitions.as_deref(),
        estimate: TableEstimate::new(&get.table, builder.env.estimates),
    }
}

/// The scan of what has been chosen.
pub fn of_path(
    builder: &Builder<'_>,
    get: &Get,
    want: &Want,
    mut chosen: Chosen,
    constant: Vec<Expr>,
    closed: bool,
) -> Result<Built> {
    let mut wanted = ColumnList(want.columns.clone());
    if !chosen.ordered {
        wanted = want.all_columns();
    }
    // If few rows are read, a constant condition can be a filter. A scan of many rows must not start at
    // all.
    let gated = if closed {
        Some(unsigned(0))
    } else if chosen.points {
        chosen.residual.extend(constant);
        None
    } else {
        rows_if(constant, None, builder.env.types)?
    };
    let mut columns = offsets(get, &wanted.0);
    for condition in &chosen.residual {
        condition.walk(&mut |e| {
            if let Expr::Column { index, .. } = e
                && !columns.contains(index)
            {
                columns.push(*index);
            }
        });
    }
    let expected = expected(&chosen, &TableEstimate::new(&get.table, builder.env.estimates));
    let selectivity = expected.rows / expected.read.max(f64::MIN_POSITIVE);
    let filter = all(chosen.residual, builder.env.types)?.map(|mut filter| {
        filter.map_columns(&|offset| columns.iter().position(|c| *c == offset).unwrap_or(offset));
        filter
    });
    let layout = columns.iter().map(|offset| get.id(*offset)).collect();
    let cost = cost::of_access(&chosen.access, chosen.rows);
    let mut rel = Rel::Scan(TableScan {
        table: Arc::clone(&get.table),
        alias: get.alias.clone(),
        columns,
        access: chosen.access,
        hints: get.hints.clone(),
        filter,
        as_of: get.as_of.clone(),
        locking: get.locking,
        expected,
        read: None,
        partitions: chosen.partitions,
        execution_cache: ExecutionCache::default(),
    });
    if let Some(count) = gated {
        rel = Rel::Limit {
            input: Box::new(rel),
            offset: None,
            count: Some(count),
        };
    }
    Ok(Built {
        rel,
        layout,
        ordered: chosen.ordered,
        cost: if closed { 0.0 } else { cost },
        rows: if closed {
            0.0
        } else {
            (chosen.rows * selectivity).max(1.0)
        },
    })
}

/// The conditions of which nothing is known, beyond which further ones change nothing.
const UNKNOWN_MAX: usize = 4;

/// EXPLAIN's estimates for a path.
pub fn expected(chosen: &Chosen, estimate: &TableEstimate<'_>) -> Expected {
    let read = chosen.expected.max(1.0);
    Expected {
        read,
        rows: read * selectivity(&chosen.residual, estimate),
        cost: cost::of_access(&chosen.access, read),
    }
}

/// The share of rows that satisfies conditions over a table's columns by offset.
pub fn selectivity(conditions: &[Expr], estimate: &TableEstimate<'_>) -> f64 {
    let (known, unknown) = estimate.share_of_all(conditions);
    known * estimates::UNKNOWN_CONDITION.powi(unknown.min(UNKNOWN_MAX) as i32)
}

/// Offsets of a table's columns.
pub fn offsets(get: &Get, columns: &[ColumnId]) -> Vec<usize> {
    let mut offsets: Vec<usize> = Vec::with_capacity(columns.len());
    for offset in columns.iter().filter_map(|id| get.offset(*id)) {
        if !offsets.contains(&offset) {
            offsets.push(offset);
        }
    }
    offsets
}

/// Conditions over a table's columns by offset, as access paths are chosen.
pub fn over_offsets(mut conditions: Vec<Expr>, get: &Get) -> Vec<Expr> {
    let first = get.first.0;
    for condition in &mut conditions {
        condition.map_columns(&|id| id.wrapping_sub(first));
    }
    access::with_generated_columns(conditions, &get.table)
}

/// The conjuncts of a filter that read exactly one column.
fn conditions_on_columns(filter: &Expr) -> Vec<Expr> {
    if functions::eval::is_fallible(filter) {
        return Vec::new();
    }
    let reads_one = |condition: &&Expr| {
        let mut columns = BTreeSet::new();
        condition.walk(&mut |e| {
            if let Expr::Column { index, .. } = e {
                columns.insert(*index);
            }
        });
        columns.len() == 1
    };
    let conjuncts = planner::conjuncts(Some(filter)).into_iter();
    conjuncts.filter(reads_one).cloned().collect()
}
