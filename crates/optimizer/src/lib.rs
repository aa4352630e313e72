//! From a logical plan to the cheapest physical plan.
//!
//! [`optimize()`] rewrites the algebra that the binder has made ([`planner::logical`]) and chooses how each
//! operator runs ([`planner::plan`]). Columns have ids until then, and positions afterwards.
//!
//! - [`rules`]: rewrites that make any plan cheaper, one a file. `join_order`: which tables are joined first.
//! - `physical`: operators. `access`: which index of a table serves. `route`: which executor.
//! - [`dump`]: a plan for tests.
//!
//! Not here: what names mean (`planner`), running anything (`executor`, `analytics`).

mod access;
mod constant;
pub mod dump;
mod expr;
mod limit;
mod physical;
mod print;
mod route;
mod rules;
mod statement;

use functions::bind::TypeEnv;
use planner::logical::LogicalStatement;
use planner::plan::{Plan, Route};
use types::Result;

/// What a plan depends on besides the statement.
pub struct OptimizerEnv<'a> {
    pub types: &'a TypeEnv,
    /// Overrides the choice of an executor, where both can run the plan.
    pub route: Option<Route>,
    /// About how many rows a table has, by its id.
    pub row_estimate: &'a dyn Fn(i64) -> u64,
    /// The statement assigns to user variables, row by row.
    pub assigns: bool,
}

/// A physical plan, and what EXPLAIN says of the way to it.
#[derive(Debug)]
pub struct Optimized {
    pub plan: Plan,
    /// Names of the indexes that could have served the table that was chosen last.
    pub possible_keys: Vec<String>,
}

/// Makes the physical plan of a statement.
///
/// # Errors
/// 1176 for an index hint that names no index.
pub fn optimize(statement: LogicalStatement, env: &OptimizerEnv<'_>) -> Result<Optimized> {
    let builder = physical::Builder::new(env);
    let plan = builder.statement(statement)?;
    Ok(Optimized {
        plan,
        possible_keys: builder.possible_keys.take(),
    })
}
