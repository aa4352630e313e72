//! From a logical plan to the cheapest physical plan.
//!
//! [`plan()`] rewrites the algebra that the binder has made ([`planner::logical`]) and chooses how each
//! operator runs ([`planner::plan`]). Columns have ids until then, and positions afterwards.
//!
//! - [`rules`]: rewrites that make any plan cheaper, one a file. `join_order`: which tables are joined first.
//!   [`Rule`] lists all that can be off.
//! - `physical`: operators. `access`: which index of a table serves. `route`: which executor.
//! - [`Estimates`]: what is known of tables.
//! - [`explain`]: EXPLAIN's formats; [`dump`]: a plan as the golden tests compare it.
//!
//! Not here: what names mean (`planner`), running anything (`executor`, `analytics`).
//!
//! Where to go next: [`plan()`], then the rules one by one: each shows a plan before and after. `tests/golden` has plans of
//! whole statements.

mod access;
mod conditions;
mod constant;
mod cost;
mod distinct_values;
pub mod dump;
mod estimates;
pub mod explain;
mod expr;
mod join_order;
mod limit;
mod physical;
mod print;
mod rules;
mod statement;
mod switches;

pub use estimates::{Estimates, RowCounts};
use functions::bind::TypeEnv;
use planner::Bound;
use planner::command::Command;
use planner::object_access::ObjectAccess;
use planner::plan::{Plan, Route};
use schema::definition::Ddl;
pub use switches::{Rule, Rules, Switches};
use types::Result;

/// The environment of a plan: what it depends on besides the statement.
pub(crate) struct OptimizerEnv<'a> {
    pub types: &'a TypeEnv,
    /// Overrides the choice of an executor, where both can run the plan.
    pub route: Option<Route>,
    pub switches: Switches,
    pub estimates: &'a dyn Estimates,
    /// The statement assigns to user variables, row by row.
    pub assigns: bool,
}

impl OptimizerEnv<'_> {
    /// Whether a rule is on.
    pub fn applies(&self, rule: Rule) -> bool {
        self.switches.rules.has(rule)
    }
}

/// The environment that decides the choice of a plan.
pub struct Surroundings<'a> {
    /// Overrides the choice of an executor, where both can run the plan.
    pub route: Option<Route>,
    pub switches: Switches,
    pub estimates: &'a dyn Estimates,
}

/// A statement that can be run.
// A value is made once per statement and matched at once: a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub enum Planned {
    Plan(PlannedStatement),
    Ddl(Ddl),
    Command(Command),
}

/// A physical plan, and what EXPLAIN reports about its choice.
#[derive(Debug)]
pub struct PlannedStatement {
    pub plan: Plan,
    /// The privileges and locks it needs, an entry for each table.
    pub accesses: Vec<ObjectAccess>,
    /// Whether the plan holds for other sessions and later executions too, with parameters of the same types,
    /// until the schema changes.
    pub cacheable: bool,
    /// Of each table, by its alias: the names of the indexes that could have served.
    pub possible_keys: Vec<(String, Vec<String>)>,
    /// The parameters that must be dates; see [`functions::bind::BindNotes`].
    pub date_params: Vec<usize>,
}

/// Makes the physical plan of a statement, if it is one that has a plan.
///
/// # Errors
/// 1176 for an index hint that names no index.
pub fn plan(bound: Bound, surroundings: &Surroundings<'_>) -> Result<Planned> {
    let (statement, types, assigns, accesses, cacheable, next_column) = match bound {
        Bound::Statement {
            statement,
            types,
            assigns,
            accesses,
            cacheable,
            next_column,
        } => (statement, types, assigns, accesses, cacheable, next_column),
        Bound::Ddl(ddl) => return Ok(Planned::Ddl(ddl)),
        Bound::Command(command) => return Ok(Planned::Command(command)),
    };
    let env = OptimizerEnv {
        types: &types,
        route: surroundings.route,
        switches: surroundings.switches,
        estimates: surroundings.estimates,
        assigns,
    };
    let builder = physical::builder::Builder::new(&env, next_column);
    Ok(Planned::Plan(PlannedStatement {
        plan: statement::build(&builder, statement)?,
        accesses,
        cacheable,
        possible_keys: builder.possible_keys.take(),
        date_params: types.notes.date_params.take(),
    }))
}
