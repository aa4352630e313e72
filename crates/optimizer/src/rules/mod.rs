//! Rewrites of the logical plan, one a file, each with the plan before and after in its documentation.

use planner::logical::LogicalQuery;
use types::Result;

use crate::OptimizerEnv;

/// Applies all rules, each where it helps the next one.
pub fn apply_all(_query: &mut LogicalQuery, _env: &OptimizerEnv<'_>) -> Result<()> {
    Ok(())
}
