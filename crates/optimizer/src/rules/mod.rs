//! Rewrites of the logical plan, one a file, each with the plan before and after in its documentation.

mod common_tables;
mod derived_tables;
mod disjunctions;
mod infer;
mod outer_join;
mod push_filters;
mod scalar_aggregate;
mod semi_join;
mod sorts;

pub use push_filters::push_down;
pub use scalar_aggregate::{Unnested, unnested};

use planner::logical::LogicalQuery;
use types::Result;

use crate::{OptimizerEnv, Rule};

/// Applies all rules that are on, each where it helps the next one.
pub fn apply_all(query: &mut LogicalQuery, env: &OptimizerEnv<'_>) -> Result<()> {
    if env.applies(Rule::CommonTables) {
        common_tables::inline(&mut query.root);
    }
    // Each row assigns, so none may be left out, and none may come earlier.
    if env.assigns {
        return Ok(());
    }
    if env.applies(Rule::Sorts) {
        sorts::remove(&mut query.root, true);
    }
    if env.applies(Rule::Disjunctions) {
        disjunctions::split(&mut query.root, env)?;
    }
    push_filters::apply(query, env)?;
    // Tables that were in queries of their own are now beside those around them.
    if env.applies(Rule::DerivedTables) && derived_tables::merge(&mut query.root) {
        push_filters::apply(query, env)?;
    }
    Ok(())
}
