//! Rewrites of the logical plan, one a file, each with the plan before and after in its documentation.

mod common_tables;
mod conditions;
mod derived_tables;
mod disjunctions;
mod infer;
mod null_rejection;
mod outer_join;
mod push_filters;
mod scalar_aggregate;
mod semi_join;
mod sorts;

pub use conditions::filtered;
pub use push_filters::push_down;
pub use scalar_aggregate::{Unnested, unnested};

use planner::logical::LogicalQuery;
use types::Result;

use crate::OptimizerEnv;

/// Applies all rules, each where it helps the next one.
pub fn apply_all(query: &mut LogicalQuery, env: &OptimizerEnv<'_>) -> Result<()> {
    common_tables::inline(&mut query.root);
    if !env.assigns {
        sorts::remove(&mut query.root, true);
        disjunctions::split(&mut query.root, env)?;
        push_filters::apply(query, env)?;
        // Tables that were in queries of their own are now beside those around them.
        if env.switches.derived_merge && derived_tables::merge(&mut query.root) {
            push_filters::apply(query, env)?;
        }
    }
    Ok(())
}
