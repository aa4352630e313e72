//! Joins, and what works like them: rows of a left side, and what a right side has for each of them.
//!
//! [`Pairing`] is the operator. It takes the left side batch by batch and asks its [`Partners`] for pairs of
//! rows, a page at a time: [`hash`] finds them by keys, [`nested`] pairs each row with all of the right side,
//! [`lookup`] reads them from a table, and `super::apply` runs a subquery. It checks the join's condition on
//! each pair and makes the output of the join's kind from it. All rows come in the order of the left side.

mod condition;
mod hash;
mod lookup;
pub(super) mod nested;
mod page;
mod pairing;
pub(super) mod right_side;

use arrow::record_batch::RecordBatch;
use planner::plan;
use types::Result;

pub(super) use self::page::Page;
pub(super) use self::pairing::Pairing;

use self::hash::HashPartners;
use self::lookup::LookupPartners;
use self::nested::AllPartners;
use self::right_side::{RightSide, RowsTaken};
use super::common_table::Scope;
use super::measured::MeasuredPartners;
use super::scan::lookup::TableLookup;
use super::{BoxOperator, tree};
use crate::env::Env;

/// The operator of a join of two inputs.
pub(super) fn open<'p>(
    join: &'p plan::Join,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let types = (join.left.output_types(), join.right.output_types());
    let left = tree::build(&join.left, scope, env)?;
    let right = RightSide::new(&join.right, &types.1, RowsTaken::All, scope);
    let (kind, residual, eval) = (join.kind, join.residual.as_ref(), env.eval());
    if join.keys.is_empty() {
        let all = AllPartners::new(right);
        return Ok(Box::new(Pairing::new(left, all, kind, residual, types, eval)));
    }
    let hash = HashPartners::new(right, &join.keys, kind)?;
    Ok(Box::new(Pairing::new(left, hash, kind, residual, types, eval)))
}

/// The operator of a join with a table by its keys.
pub(super) fn open_lookup<'p>(
    join: &'p plan::LookupJoin,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let types = (join.left.output_types(), join.right.output_types());
    let left = tree::build(&join.left, scope, env)?;
    let lookup = LookupPartners::new(TableLookup::open(&join.right, &types.0, env)?);
    let (kind, residual, eval) = (join.kind, join.residual.as_ref(), env.eval());
    if let Some(measure) = &join.right.read {
        let partners = MeasuredPartners {
            partners: lookup,
            measure,
        };
        return Ok(Box::new(Pairing::new(
            left, partners, kind, residual, types, eval,
        )));
    }
    Ok(Box::new(Pairing::new(left, lookup, kind, residual, types, eval)))
}

/// Finds the right side's rows that may go with the rows of the left side.
pub(super) trait Partners {
    /// Takes the next batch of the left side. `false`: no row of the left side has a partner.
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool>;

    /// Adds pairs to a page, in the order of the left rows, and advances [`Page::done`]. It stops when the page
    /// is full or all left rows are done. A row that [`Page::is_settled`] needs no more pairs. `found`: what
    /// the pages before have found for each left row.
    fn find(&mut self, page: &mut Page, found: &[Found], env: &mut Env<'_, '_>) -> Result<()>;

    /// About how many bytes a row of the right side has, if that is known.
    fn row_bytes(&self) -> usize {
        0
    }
}

/// What is known of a left row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// The comparison with some right row is NULL.
    Unknown,
    Partner,
}
