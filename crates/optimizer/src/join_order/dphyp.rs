//! Dynamic programming over the connected parts of a hypergraph. Source: Moerkotte and Neumann, "Dynamic
//! Programming Strikes Back", SIGMOD 2008, whose names of functions these are.

use types::Result;

use super::candidate::{Plan, Search};
use super::graph::{Set, members};

/// Pairs that are compared before the search is given up: a few milliseconds.
const PAIRS_MAX: usize = 10_000;

/// The cheapest plan of all relations; `None` if the search has been given up, or found none.
pub fn best(search: &mut Search<'_, '_>) -> Result<Option<Plan>> {
    let count = search.graph.relations.len();
    for number in (0..count).rev() {
        let set = 1 << number;
        emit_csg(search, set)?;
        enumerate_csg_rec(search, set, up_to(number))?;
        if search.pairs > PAIRS_MAX {
            return Ok(None);
        }
    }
    Ok(search.plans.get(&search.graph.all()).cloned())
}

/// The relations up to and with this one.
fn up_to(number: usize) -> Set {
    (2 << number) - 1
}

fn emit_csg(search: &mut Search<'_, '_>, one: Set) -> Result<()> {
    let excluded = one | up_to(one.trailing_zeros() as usize);
    let neighbours = neighbourhood(search, one, excluded);
    let mut seen: Vec<usize> = members(neighbours).collect();
    seen.reverse();
    for number in seen {
        let other = 1 << number;
        if connects(search, one, other) {
            emit_pair(search, one, other)?;
        }
        enumerate_cmp_rec(search, one, other, excluded | up_to(number) & neighbours)?;
    }
    Ok(())
}

fn enumerate_csg_rec(search: &mut Search<'_, '_>, set: Set, excluded: Set) -> Result<()> {
    let neighbours = neighbourhood(search, set, excluded);
    if search.pairs > PAIRS_MAX {
        return Ok(());
    }
    for more in subsets(neighbours) {
        if search.plans.contains_key(&(set | more)) {
            emit_csg(search, set | more)?;
        }
    }
    for more in subsets(neighbours) {
        enumerate_csg_rec(search, set | more, excluded | neighbours)?;
    }
    Ok(())
}

fn enumerate_cmp_rec(search: &mut Search<'_, '_>, one: Set, other: Set, excluded: Set) -> Result<()> {
    let neighbours = neighbourhood(search, other, excluded);
    if search.pairs > PAIRS_MAX {
        return Ok(());
    }
    for more in subsets(neighbours) {
        let grown = other | more;
        if search.plans.contains_key(&grown) && connects(search, one, grown) {
            emit_pair(search, one, grown)?;
        }
    }
    for more in subsets(neighbours) {
        enumerate_cmp_rec(search, one, other | more, excluded | neighbours)?;
    }
    Ok(())
}

fn emit_pair(search: &mut Search<'_, '_>, one: Set, other: Set) -> Result<()> {
    if let Some(plan) = search.joined(one, other)? {
        search.offer(plan);
    }
    Ok(())
}

fn connects(search: &Search<'_, '_>, one: Set, other: Set) -> bool {
    search.graph.edges.iter().any(|edge| {
        edge.left & !one == 0 && edge.right & !other == 0 || edge.left & !other == 0 && edge.right & !one == 0
    })
}

/// One relation for each edge that leads out of the set: the first of those that it leads to.
fn neighbourhood(search: &Search<'_, '_>, set: Set, excluded: Set) -> Set {
    let mut found = 0;
    for edge in &search.graph.edges {
        for (from, to) in [(edge.left, edge.right), (edge.right, edge.left)] {
            if from & !set == 0 && to & (set | excluded) == 0 {
                found |= 1 << to.trailing_zeros();
            }
        }
    }
    found
}

/// All subsets but the empty one, small ones first.
fn subsets(set: Set) -> impl Iterator<Item = Set> {
    let mut next: Set = 0;
    std::iter::from_fn(move || {
        next = next.wrapping_sub(set) & set;
        (next != 0).then_some(next)
    })
}
