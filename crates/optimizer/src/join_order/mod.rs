//! The order in which tables are joined.
//!
//! The joins of a query, inner and other, are taken apart into relations and the edges between them
//! ([`graph`]). Up to [`EXACT_MAX`] relations all orders without cross products are compared ([`dphyp`]:
//! Moerkotte and Neumann, "Dynamic Programming Strikes Back", 2008); beyond, or where there are too many, the
//! cheapest next join is taken again and again ([`greedy`]). The result is a tree of joins that says which
//! side is read first; how each runs is decided when it is built.

mod candidate;
mod dphyp;
mod graph;
mod greedy;
mod hinted;
mod implied;
mod relation;

use planner::logical::{ColumnId, Join, Logical};
use types::Result;

use crate::Rule;
use crate::physical::builder::Builder;

/// Relations whose orders are all compared.
const EXACT_MAX: usize = 12;

/// The same joins in the cheapest order, each with [`Join::straight`] set.
pub fn order_joins(builder: &Builder<'_>, join: Join, wanted: &[ColumnId]) -> Result<Logical> {
    if builder.env.assigns || !builder.env.applies(Rule::JoinOrder) {
        return Ok(as_written(join));
    }
    let written = join.clone();
    let graph = graph::JoinGraph::of(join, wanted, builder)?;
    let count = graph.relations.len();
    let hints = hinted::OrderHints::of(&graph.relations);
    let is_hinted = !hints.is_empty();
    let mut search = candidate::Search::new(builder, &graph, hints)?;
    let mut plan = search.best(count)?;
    if plan.is_none() && is_hinted {
        // No order follows the hints.
        search = candidate::Search::new(builder, &graph, hinted::OrderHints::default())?;
        plan = search.best(count)?;
    }
    match plan {
        Some(plan) => search.tree(&plan, builder.env),
        None => Ok(as_written(written)),
    }
}

impl candidate::Search<'_, '_> {
    /// The best plan of all relations, if they can be joined.
    fn best(&mut self, relations: usize) -> Result<Option<candidate::Plan>> {
        if relations <= EXACT_MAX
            && let Some(plan) = dphyp::best(self)?
        {
            return Ok(Some(plan));
        }
        greedy::best(self)
    }
}

fn as_written(mut join: Join) -> Logical {
    join.straight = true;
    for side in [&mut join.left, &mut join.right] {
        if let Logical::Join(below) = &mut **side
            && !below.straight
        {
            **side = as_written(below.clone());
        }
    }
    Logical::Join(join)
}
