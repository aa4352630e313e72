//! From the text of MySQL's dialect to a bound, typed plan.
//!
//! A statement's way: [`parse`] (or [`normalize()`] and [`PlanCache`], which spare it) -> [`ast`] -> [`bind()`]: names, types, access paths
//! -> [`plan`], a definition for `catalog`, or a [`command`].
//!
//! - `syntax`: lexer and parser, MySQL's grammar. `bind`: what names mean. `access`: which index serves. `build`: the operators.
//! - [`object_access`]: the privileges and locks that a plan needs.
//! - [`explain`]: a plan for people; [`dump`]: a plan for tests.
//!
//! Not here: what functions there are and what types they have (`functions::bind`), running anything (`executor`,
//! `analytics`).

mod access;
mod bind;
mod build;
mod cache;
pub mod command;

pub mod dump;
mod env;
pub mod errno;
pub mod explain;

mod normalize;
pub mod object_access;
pub mod plan;
mod print;
mod stack;
mod syntax;
mod template;
#[cfg(test)]
mod testing;

pub use bind::{bind, bind_filter, collation_named, deprecated_charset, deprecated_collation};
pub use cache::{CachedPlan, PlanCache, PlanKey};
pub use env::{BindEnv, Bound};
pub use normalize::{Normalized, normalize};
pub use syntax::ast::Statement;
pub use syntax::{
    Parsed, ast, carry_bytes, parse, parse_expression, parse_one, parse_transaction_word, syntax_error,
    syntax_error_at_parameter,
};
pub use template::Template;
