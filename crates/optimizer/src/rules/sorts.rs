//! An order that nothing above depends on is dropped.
//!
//! ```text
//! Aggregate by (a): count(*)      Aggregate by (a): count(*)
//!   Sort by b                 ->    Get t
//!     Get t
//! ```

use std::mem::replace;

use planner::logical::Logical;

/// `needed`: the order of the operator's rows is seen above.
pub fn remove(rel: &mut Logical, needed: bool) {
    while !needed && let Logical::Sort { input, .. } = rel {
        *rel = replace(&mut **input, Logical::OneRow);
    }
    match rel {
        // A window without an order of its own has that of its input.
        Logical::Limit { input, .. } | Logical::Window { input, .. } => remove(input, true),
        Logical::Filter { input, .. } | Logical::Project { input, .. } => remove(input, needed),
        Logical::Sort { input, .. } => remove(input, true),
        Logical::Apply(apply) => {
            remove(&mut apply.input, needed);
            remove(&mut apply.subquery, false);
        }
        Logical::With { definition, body, .. } => {
            remove(definition, false);
            remove(body, needed);
        }
        other => other
            .inputs_mut()
            .into_iter()
            .for_each(|input| remove(input, false)),
    }
}
