//! Paths by several indexes: each part of an OR is served by an index of its own.
//!
//! `a = 1 OR b = 2`, with an index of `a` and one of `b`: the rows of both ranges, each row once. The OR
//! stays a filter. MySQL calls it "index merge, union" (manual 8.2.1.3).

use functions::Expr;
use planner::plan::Access;
use types::Result;

use super::choose::by_one_index;
use super::{Chosen, Request, RowLimit, partitions};
use crate::expr::into_conjuncts;

/// An OR of more parts is read by one index, or not by any.
const PARTS_MAX: usize = 8;

/// The cheapest union, if one is cheaper than `cost`.
pub fn of(request: &Request<'_>, cost: f64) -> Result<Option<Chosen>> {
    // An index that gives the wanted order ends early.
    let ends_early = !request.order.is_empty() && request.limit != RowLimit::All;
    if !request.unions || ends_early {
        return Ok(None);
    }
    let mut best: Option<(f64, Chosen)> = None;
    for (position, conjunct) in request.conjuncts.iter().enumerate() {
        let Some(parts) = parts_of(conjunct).filter(|parts| parts.len() <= PARTS_MAX) else {
            continue;
        };
        let least = best.as_ref().map_or(cost, |(least, _)| *least);
        best = of_parts(request, position, parts, least)?.or(best);
    }
    Ok(best.map(|(_, chosen)| chosen))
}

fn parts_of(conjunct: &Expr) -> Option<&[Expr]> {
    match conjunct {
        Expr::Call { function, args, .. } if function.name() == "or" => Some(args),
        _ => None,
    }
}

/// The union for the parts of the condition at `position`.
fn of_parts(
    request: &Request<'_>,
    position: usize,
    parts: &[Expr],
    least: f64,
) -> Result<Option<(f64, Chosen)>> {
    let others = request.conjuncts.iter().enumerate();
    let others: Vec<Expr> = others
        .filter(|(at, _)| *at != position)
        .map(|(_, other)| other.clone())
        .collect();
    let mut union = Chosen {
        access: Access::Full { reverse: false },
        residual: request.conjuncts.clone(),
        ordered: false,
        rows: 0.0,
        expected: 0.0,
        wide: false,
        points: false,
        possible_keys: Vec::new(),
        partitions: partitions::of(request, false),
    };
    let (mut total, mut accesses) = (0.0, Vec::with_capacity(parts.len()));
    for part in parts {
        let mut conjuncts = Vec::new();
        into_conjuncts(part.clone(), &mut conjuncts);
        conjuncts.extend(others.iter().cloned());
        let request = Request {
            conjuncts,
            order: Vec::new(),
            estimate: request.estimate.clone(),
            ..*request
        };
        let (cost, chosen) = by_one_index(&request)?;
        total += cost;
        if total >= least || !serves(&chosen.access) {
            return Ok(None);
        }
        union.rows += chosen.rows;
        union.expected += chosen.expected;
        union.possible_keys.extend(chosen.possible_keys);
        accesses.push(of_rows(chosen.access));
    }
    if accesses
        .windows(2)
        .all(|two| index_of(&two[0]) == index_of(&two[1]))
    {
        return Ok(None);
    }
    union.access = Access::Union { parts: accesses };
    Ok(Some((total, union)))
}

/// Whether a path reads a part of the table only.
fn serves(access: &Access) -> bool {
    match access {
        Access::Full { .. } | Access::GroupEnds { .. } | Access::Union { .. } => false,
        Access::PrimaryPoints { .. } | Access::UniquePoints { .. } => true,
        Access::PrimaryRanges { ranges, .. } | Access::IndexRanges { ranges, .. } => ranges
            .iter()
            .all(|range| !range.prefix.is_empty() || range.lower.is_some() || range.upper.is_some()),
    }
}

/// The path to whole rows.
fn of_rows(access: Access) -> Access {
    match access {
        Access::IndexRanges { index, ranges, .. } => Access::IndexRanges {
            index,
            ranges,
            reverse: false,
            covering: false,
        },
        Access::PrimaryRanges { ranges, .. } => Access::PrimaryRanges {
            ranges,
            reverse: false,
        },
        other => other,
    }
}

fn index_of(access: &Access) -> Option<usize> {
    match access {
        Access::UniquePoints { index, .. } | Access::IndexRanges { index, .. } => Some(*index),
        _ => None,
    }
}
