//! The tree of operators of a plan.

use functions::Expr;
use functions::aggregate::AggregateCall;
use planner::plan::{CommonTableId, Rel, SortKey};
use types::Result;
use types::stack::with_room;

use super::common_table;
use super::scope::Scope;
use super::{
    BoxOperator, aggregate, apply, distinct, filter, join, json_table, limit, measured, one_row, project,
    pushed, recursive, repeat, scan, set_operation, sort, values, virtual_scan, window,
};
use crate::direct::aggregate::AggregateRows;
use crate::env::Env;

/// Makes the operators of a whole plan.
pub(crate) fn open<'p>(plan: &'p Rel, env: &mut Env<'_, '_>) -> Result<BoxOperator<'p>> {
    open_rel(plan, &scope(), env)
}

/// The scope of a whole plan.
pub(super) fn scope<'p>() -> Scope<'p> {
    Scope::new(open_rel)
}

/// Makes the operators of a pipeline over an input, which the plan names `id`.
pub(crate) fn open_over<'p>(
    plan: &'p Rel,
    (id, input): (CommonTableId, BoxOperator<'p>),
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    open_rel(plan, &Scope::new(open_rel).given(id, input), env)
}

/// Makes the operators of `rel`. Expressions without columns (ranges, LIMIT) are evaluated here, once.
fn open_rel<'p>(rel: &'p Rel, scope: &Scope<'p>, env: &mut Env<'_, '_>) -> Result<BoxOperator<'p>> {
    Ok(match rel {
        Rel::OneRow => Box::new(one_row::OneRow::default()),
        Rel::Scan(scan) => scan::open(scan, env.locking_of(scan), scan.reads_key(), env)?,
        Rel::Measured { input, measure } => {
            Box::new(measured::Measured::new(open_rel(input, scope, env)?, measure))
        }
        Rel::Pushed { input } => match pushed::open(input, env)? {
            Some(rows) => rows,
            None => open_rel(input, scope, env)?,
        },
        Rel::Virtual(scan) => Box::new(virtual_scan::VirtualScan::open(scan)),
        Rel::Filter { input, predicate } => {
            let input = open_rel(input, scope, env)?;
            Box::new(filter::Filter::new(input, predicate, env.eval()))
        }
        Rel::Project { input, exprs } => open_project(input, exprs, scope, env)?,
        Rel::Aggregate {
            input,
            keys,
            aggregates,
        } => open_aggregate(input, keys, aggregates, scope, env)?,
        Rel::Sort { input, keys, limit } => open_sort(input, keys, limit.as_ref(), scope, env)?,
        Rel::Limit { input, offset, count } => {
            let offset = limit::count_of(offset.as_ref(), env)?.unwrap_or(0);
            let count = limit::count_of(count.as_ref(), env)?;
            Box::new(limit::Limit::new(open_rel(input, scope, env)?, offset, count))
        }
        Rel::Repeat { input, times } => {
            let types = input.output_types();
            Box::new(repeat::Repeat::new(open_rel(input, scope, env)?, *times, types))
        }
        Rel::Distinct { input } => {
            let types = input.output_types();
            Box::new(distinct::Distinct::new(open_rel(input, scope, env)?, types)?)
        }
        Rel::Values { columns, rows } => Box::new(values::Values::new(columns, rows)),
        Rel::JsonTable(scan) => Box::new(json_table::JsonTable::new(scan)),
        Rel::Join(join) => with_room(|| join::open(join, scope, env))?,
        Rel::LookupJoin(join) => with_room(|| join::open_lookup(join, scope, env))?,
        Rel::Apply(apply) => with_room(|| apply::open(apply, scope, env))?,
        Rel::SetOperation {
            operator,
            all,
            left,
            right,
        } => with_room(|| set_operation::open(*operator, *all, (left, right), scope, env))?,
        Rel::With { id, definition, body } => open_rel(body, &scope.with(*id, definition), env)?,
        Rel::Recursive {
            seed,
            step,
            distinct,
            columns,
        } => {
            let types = distinct.then(|| columns.iter().map(|column| column.ty).collect());
            Box::new(recursive::Recursive::open(seed, step, types, scope, env)?)
        }
        Rel::CommonTable { id, recursive, .. } => match scope.take_given(*id) {
            Some(input) => input,
            None => Box::new(common_table::CommonTable::new(*id, *recursive, scope)),
        },
        Rel::Window {
            input,
            partition_by,
            order_by,
            frame,
            calls,
        } => {
            let parts = window::WindowParts {
                partition_by,
                order_by,
                frame,
                calls,
            };
            let types = input.output_types();
            Box::new(window::Window::new(open_rel(input, scope, env)?, types, parts)?)
        }
    })
}

fn open_project<'p>(
    source: &'p Rel,
    exprs: &'p [Expr],
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let project = project::Project::new(open_rel(source, scope, env)?, exprs);
    Ok(match source.scan().and_then(|scan| env.locking_of(scan)) {
        Some(_) => Box::new(project.locking(source)),
        None => Box::new(project),
    })
}

/// Sums of whole ranges come from the stored bytes, unless the rows have to be locked.
fn open_aggregate<'p>(
    input: &'p Rel,
    keys: &'p [Expr],
    aggregates: &'p [AggregateCall],
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    if env.implied_locking.is_none()
        && let Some(rows) = AggregateRows::of(input, keys, aggregates)?
    {
        return Ok(Box::new(rows));
    }
    let input = open_rel(input, scope, env)?;
    Ok(Box::new(aggregate::Aggregate::new(input, keys, aggregates)?))
}

/// Distinct rows that are sorted by all their columns are made distinct by the sort.
fn open_sort<'p>(
    input: &'p Rel,
    keys: &'p [SortKey],
    limit: Option<&'p Expr>,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let limit = limit::count_of(limit, env)?;
    Ok(match input {
        Rel::Distinct { input } if sort::covers_all_columns(keys, input) => {
            let input = open_rel(input, scope, env)?;
            Box::new(sort::Sort::new(input, keys, limit)?.distinct())
        }
        _ => sort::sorted(open_rel(input, scope, env)?, keys, limit)?,
    })
}
