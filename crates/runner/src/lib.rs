//! Runs one bound statement within a transaction and returns its outcome.
//!
//! The input is a plan (`planner::plan`), the locks it needs (`planner::object_access`), an [`Evaluation`]
//! with its parameters, a [`TransactionContext`] and a sink for rows. A [`Runner`] brings them together:
//!
//! 1. [`Runner::lock_tables`] takes the metadata locks, and says whether the plan still fits the schema
//!    ([`lock`]).
//! 2. [`Runner::statement`] opens a statement: what it writes stays as a whole or is undone as a whole
//!    ([`runner`]).
//! 3. Within it, [`Runner::query`] and [`Runner::read_row`] ([`read`]) or [`Runner::write`] ([`mod@write`])
//!    open or join the transaction ([`transaction`]), or take a snapshot and no more, and choose the executor
//!    ([`execution`]).
//! 4. The end of the statement commits it, where no transaction outlives it ([`commit`]).
//!
//! A statement may run inside another one, in its transaction and with a rollback of its own
//! ([`Runner::nested`]). Two kinds of failure make the caller run the same statement again ([`Retry`]).
//!
//! Not here: connections, packets, the text of statements, variables and privileges (`session`); definition
//! statements (`ddl`); plans (`planner`) and their operators (`executor`, `analytics`).
//!
//! Where to go next: [`Runner::statement_then`], then [`transaction`].

mod commit;
mod engine;
mod environment;
mod execution;
mod interruption;
mod lease;
mod lock;
mod query_shape;
mod read;
mod retry;
mod runner;
mod safe_update;
mod settings;
mod sinks;
mod transaction;
mod write;

pub use commit::CommitEnd;
pub use engine::{Counters, Engine, ReadOnly};
pub use environment::Environment;
pub use execution::{Evaluation, Outcome};
pub use interruption::{interruption, out_of_time};
pub use lease::await_lease_to_plan;
pub use lock::use_of;
pub use query_shape::joins_transaction;
pub use retry::Retry;
pub use runner::Runner;
pub use settings::{Isolation, Settings};
pub use sinks::Collected;
pub use transaction::{
    BeginOptions, Characteristics, TemporaryChanges, TransactionContext, TransactionEnds, TransactionUses,
    XaBranch, XaState,
};
