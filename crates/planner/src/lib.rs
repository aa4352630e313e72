//! From a parsed statement ([`syntax::ast`]) to a bound, typed plan.
//!
//! [`bind()`] finds what names mean, what types expressions have and how tables are read. It gives a
//! [`plan`], a definition for `ddl`, or a [`command`]. [`PlanCache`] spares it for statements that have
//! been planned before.
//!
//! - `bind`: what names mean. `access`: which index serves. `build`: the operators.
//! - [`object_access`]: the privileges and locks that a plan needs.
//! - [`explain`]: a plan for people; [`dump`]: a plan for tests.
//!
//! Not here: reading text (`syntax`), what functions there are and what types they have (`functions::bind`),
//! running anything (`executor`, `analytics`).

mod bind;
mod cache;
pub mod command;
mod conjuncts;
mod env;
pub mod errno;
pub mod logical;
pub mod object_access;
pub mod plan;

pub use bind::{bind, bind_filter, collation_named, deprecated_charset, deprecated_collation};
pub use cache::{CachedPlan, PlanCache, PlanKey};
pub use env::{BindEnv, Bound};
