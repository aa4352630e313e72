//! One connection's state and the way of one statement, from packet to packets.
//!
//! 1. [`Session::handle`] gets a command packet ([`command`]).
//! 2. COM_QUERY's text goes to [`text`], which looks for the plan of the text with its literals taken out; other commands
//!    that run statements to [`prepared`]. Both find plans through [`compile`]: in the cache all connections share, or
//!    by `planner`.
//! 3. A plan goes to [`run`]: metadata locks, the transaction or snapshot ([`transaction`]), then `executor` or
//!    `analytics`. A definition or a statement about the session goes to [`statement`], [`set`], [`show`], [`account`].
//! 4. Rows and OKs leave as packets through [`reply`].
//!
//! Not here: sockets, threads, authentication (`server`); bytes of packets (`wire`).

mod account;
pub mod catalog;
mod command;
mod compile;
mod ddl_jobs;
mod drop_absent;
mod errors;
mod evaluation;
mod implicit_commit;
mod kept;
mod known_texts;
mod late_check;
mod lease;
mod listing;
mod lock_tables;
mod other_collations;
mod other_nodes;
mod placed;
mod point;
mod prepared;
mod process;
mod reply;
mod run;
mod session;
mod set;
mod shared;
mod show;
mod sinks;
mod split;
mod statement;
pub mod statistics;
mod text;
mod track;
mod transaction;
mod user_locks;
pub mod variables;
mod virtual_tables;

pub use process::{Activity, Process, ProcessList};
pub use session::Session;
pub use shared::{Shared, VERSION};
