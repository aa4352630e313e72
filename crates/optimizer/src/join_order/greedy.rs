//! The join with the fewest rows first, then again among what is left. Source: Fegaras, "A New Heuristic for
//! Optimizing Large Queries", 1998.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use types::Result;

use super::candidate::{Plan, Search};
use super::graph::Set;

pub fn best(search: &mut Search<'_, '_>) -> Result<Option<Plan>> {
    let mut parts: Vec<Set> = (0..search.graph.relations.len())
        .map(|number| 1 << number)
        .collect();
    // A join changes nothing for the pairs of the other parts.
    let mut pairs: HashMap<(Set, Set), Option<Plan>> = HashMap::new();
    while parts.len() > 1 {
        let mut next: Option<&Plan> = None;
        for (position, &one) in parts.iter().enumerate() {
            for &other in parts.iter().skip(position + 1) {
                if let Entry::Vacant(unknown) = pairs.entry((one, other)) {
                    unknown.insert(search.joined(one, other)?);
                }
            }
        }
        for (position, &one) in parts.iter().enumerate() {
            for &other in parts.iter().skip(position + 1) {
                if let Some(Some(plan)) = pairs.get(&(one, other))
                    && next.is_none_or(|next| (plan.rows, plan.cost) < (next.rows, next.cost))
                {
                    next = Some(plan);
                }
            }
        }
        let Some(plan) = next.cloned() else {
            return Ok(None);
        };
        parts.retain(|part| part & plan.set == 0);
        parts.push(plan.set);
        pairs.retain(|(one, other), _| (one | other) & plan.set == 0);
        search.plans.insert(plan.set, plan);
    }
    Ok(parts.first().and_then(|set| search.plans.get(set)).cloned())
}
