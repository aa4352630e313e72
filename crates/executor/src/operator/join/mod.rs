//! Joins, and what works like them: rows of a left side, and what a right side has for each of them.
//!
//! [`Pairing`] is the operator. It takes the left side batch by batch and asks its [`partners::Partners`] for
//! pairs of rows, a page at a time: [`hash`] finds them by keys, [`nested`] pairs each row with all of the
//! right side, [`lookup`] reads them from a table, and `super::apply` runs a subquery. It checks the join's
//! condition on each pair and makes the output of the join's kind from it. All rows come in the order of the
//! left side. A right side for which there is no memory is paired [`in_blocks`].

mod condition;
mod hash;
mod in_blocks;
mod lookup;
pub(super) mod nested;
pub(super) mod page;
pub(super) mod pairing;
pub(super) mod pairs;
pub(super) mod partners;
pub(super) mod right_side;

use std::sync::Arc;

use planner::plan;
use types::Result;

use self::hash::HashPartners;
use self::lookup::LookupPartners;
use self::nested::AllPartners;
use self::pairing::Pairing;
use self::pairs::{JoinShape, Pairs};
use self::right_side::{RightSide, RowsTaken};
use super::BoxOperator;
use super::measured::MeasuredPartners;
use super::scan::lookup::{KeyColumns, TableLookup};
use super::scope::Scope;
use crate::env::Env;

/// The operator of a join of two inputs.
pub(super) fn open<'p>(
    join: &'p plan::Join,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let types = (join.left.output_types(), join.right.output_types());
    let left = scope.build(&join.left, env)?;
    let right = RightSide::new(&join.right, &types.1, RowsTaken::All, scope);
    let (kind, residual, eval) = (join.kind, join.residual.as_ref(), env.eval());
    let shape = JoinShape::new(kind, types);
    if join.keys.is_empty() {
        let all = AllPartners::new(right);
        return Ok(Box::new(Pairing::InMemory(Pairs::new(
            left, all, kind, residual, shape, eval,
        ))));
    }
    let hash = HashPartners::new(right, &join.keys, kind)?;
    Ok(Box::new(Pairing::InMemory(Pairs::new(
        left, hash, kind, residual, shape, eval,
    ))))
}

/// The operator of a join with a table by its keys.
pub(super) fn open_lookup<'p>(
    join: &'p plan::LookupJoin,
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let layout = LookupLayout::of(join)?;
    let shape = Arc::clone(&layout.shape);
    let left = scope.build(&join.left, env)?;
    let lookup = LookupPartners::new(TableLookup::open(&join.right, &layout.keys, env)?);
    let (kind, residual, eval) = (join.kind, join.residual.as_ref(), env.eval());
    if let Some(measure) = &join.right.read {
        let partners = MeasuredPartners {
            partners: lookup,
            measure,
        };
        return Ok(Box::new(Pairing::InMemory(Pairs::new(
            left, partners, kind, residual, shape, eval,
        ))));
    }
    Ok(Box::new(Pairing::InMemory(Pairs::new(
        left, lookup, kind, residual, shape, eval,
    ))))
}

/// The columns of the left side that a lookup join's keys are made of.
pub(crate) fn lookup_keys(join: &plan::LookupJoin) -> Result<&KeyColumns> {
    LookupLayout::of(join).map(|layout| &layout.keys)
}

/// What a lookup join takes from its plan: made once for all executions.
struct LookupLayout {
    shape: Arc<JoinShape>,
    keys: KeyColumns,
}

impl LookupLayout {
    fn of(join: &plan::LookupJoin) -> Result<&Self> {
        join.execution_cache.get_or_make(|| {
            let types = (join.left.output_types(), join.right.output_types());
            Ok(Self {
                keys: KeyColumns::of(&join.right, &types.0),
                shape: JoinShape::new(join.kind, types),
            })
        })
    }
}
