//! The operators of a query, one per file, and the tree made of them.
//!
//! Pull-based: whoever wants rows calls [`Operator::next`] and says how many it can use, so that `LIMIT 1` reads one
//! row and a whole table is read in batches of a thousand. Not here: how expressions are computed (`functions`).

mod aggregate;
mod distinct;
mod filter;
pub(crate) mod limit;
mod one_row;
mod project;
mod repeat;
pub(crate) mod scan;
pub(crate) mod sort;
mod virtual_scan;

use arrow::record_batch::RecordBatch;
use planner::plan::{Locking, Rel};
use types::{Result, SqlType};

use crate::direct::aggregate::AggregateRows;
use crate::env::Env;

/// Makes a query's rows, batch by batch.
pub(crate) trait Operator {
    /// The next rows: at least one, at most `wanted` (which is at least one), and about a batch at most. `wanted` is how many
    /// the statement can use in all from now on, so that a scan that locks knows how many to lock. `None` once there are no
    /// more; not called again after that.
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>>;
}

pub(crate) type BoxOperator<'p> = Box<dyn Operator + 'p>;

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
                Rel::Distinct { input } if sort::tells_all(keys, input) => {
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
            let types = output_types(input);
            Box::new(repeat::Repeat::new(build(input, locking, env)?, *times, types))
        }
        Rel::Distinct { input } => {
            let types = output_types(input);
            Box::new(distinct::Distinct::new(build(input, locking, env)?, types)?)
        }
    })
}

/// The types of the columns that come out of `rel`.
pub(crate) fn output_types(rel: &Rel) -> Vec<SqlType> {
    match rel {
        Rel::OneRow => Vec::new(),
        Rel::Scan(scan) => scan
            .columns
            .iter()
            .filter_map(|&c| scan.table.columns.get(c))
            .map(|c| c.ty)
            .collect(),
        Rel::Virtual(scan) => scan.table.columns.iter().map(|c| c.ty).collect(),
        Rel::Project { exprs, .. } => exprs.iter().map(|e| e.ty()).collect(),
        Rel::Aggregate { keys, aggregates, .. } => keys
            .iter()
            .map(|e| e.ty())
            .chain(aggregates.iter().map(|a| a.ty))
            .collect(),
        Rel::Repeat { input, .. } => std::iter::once(SqlType::BIGINT)
            .chain(output_types(input))
            .collect(),
        Rel::Filter { input, .. }
        | Rel::Sort { input, .. }
        | Rel::Limit { input, .. }
        | Rel::Distinct { input } => output_types(input),
    }
}
