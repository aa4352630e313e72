//! The tree of operators of a plan.

use planner::plan::{Locking, Rel};
use types::Result;

use super::{
    BoxOperator, aggregate, distinct, filter, limit, one_row, project, repeat, scan, sort, virtual_scan,
};
use crate::direct::aggregate::AggregateRows;
use crate::env::Env;

/// Makes the operators of `rel`. Expressions without columns (ranges, LIMIT) are evaluated here, once.
pub(crate) fn build<'p>(
    rel: &'p Rel,
    locking: Option<Locking>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    Ok(match rel {
        Rel::OneRow => Box::new(one_row::OneRow::default()),
        Rel::Scan(scan) => scan::open(scan, locking, false, env)?,
        Rel::Virtual(scan) => Box::new(virtual_scan::VirtualScan::open(scan)),
        Rel::Filter { input, predicate } => {
            let input = build(input, locking, env)?;
            Box::new(filter::Filter::new(input, predicate, env.eval()))
        }
        Rel::Project { input: source, exprs } => {
            let project = project::Project::new(build(source, locking, env)?, exprs);
            match locking {
                Some(_) => Box::new(project.locking(source)),
                None => Box::new(project),
            }
        }
        Rel::Aggregate {
            input,
            keys,
            aggregates,
        } => {
            if let Some(rows) = AggregateRows::of(input, keys, aggregates, locking)? {
                return Ok(Box::new(rows));
            }
            let input = build(input, locking, env)?;
            Box::new(aggregate::Aggregate::new(input, keys, aggregates)?)
        }
        Rel::Sort { input, keys, limit } => {
            let limit = limit::count_of(limit.as_ref(), env)?;
            match input.as_ref() {
                Rel::Distinct { input } if sort::covers_all_columns(keys, input) => {
                    let input = build(input, locking, env)?;
                    Box::new(sort::Sort::new(input, keys, limit)?.distinct())
                }
                _ => sort::sorted(build(input, locking, env)?, keys, limit)?,
            }
        }
        Rel::Limit { input, offset, count } => {
            let offset = limit::count_of(offset.as_ref(), env)?;
            let count = limit::count_of(count.as_ref(), env)?;
            Box::new(limit::Limit::new(
                build(input, locking, env)?,
                offset.unwrap_or(0),
                count,
            ))
        }
        Rel::Repeat { input, times } => {
            let types = input.output_types();
            Box::new(repeat::Repeat::new(build(input, locking, env)?, *times, types))
        }
        Rel::Distinct { input } => {
            let types = input.output_types();
            Box::new(distinct::Distinct::new(build(input, locking, env)?, types)?)
        }
    })
}
