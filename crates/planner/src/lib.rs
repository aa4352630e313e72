//! From a parsed statement ([`syntax::ast`]) to a logical plan.
//!
//! [`bind()`] finds what names mean and what types expressions have. It gives operators over columns with ids
//! ([`logical`]), a definition for `ddl`, or a [`command`]. `optimizer` makes a physical [`plan`] of the
//! operators. [`PlanCache`] saves both for statements that have been planned before.
//!
//! Where to go next: `bind`, whose module documentation says which file binds what, and [`logical`], which
//! has the operators.
//!
//! - [`foreign_key`]: the keys that a write has to obey.
//! - [`object_access`]: the privileges and locks that a plan needs.
//!
//! Not here: reading text (`syntax`), what functions there are and what types they have (`functions::bind`),
//! how a query is run best (`optimizer`), running anything (`executor`, `analytics`).

mod bind;
mod cache;
pub mod command;
mod conjuncts;
mod env;
pub mod errno;
mod execution_cache;
pub mod foreign_key;
pub mod logical;
pub mod object_access;
pub mod plan;
pub mod plan_traits;
mod row_check;

pub use bind::{
    GUESSED_CHARS, WIDEST_DECIMAL, bind, bind_filter, bind_list_query, check_new_constraint,
    check_partitions, collation_named, columns_of_check, default_text, deprecated_charset,
    deprecated_collation, expressions, view_columns, view_text,
};
pub use cache::{CachedPlan, PlanCache, PlanKey, TableKnowledge};
pub use command::Bound;
pub use conjuncts::conjuncts;
pub use env::{BindEnv, Calculation, MomentUse, Place, PlannedFor};
pub use row_check::{RowCheck, RowCondition};
pub use schema::temporary_tables::NO_TEMPORARY_TABLES;
