//! The state of one connection, and the way of a query from command packet to reply packets.
//!
//! 1. **Packet.** `server` gives a command packet to [`Session::handle`], which decodes it ([`command`]).
//! 2. **Plan.** COM_QUERY's text goes to [`text`], COM_STMT_EXECUTE to [`prepared`]. Both use the plan of the
//!    previous execution ([`recent_texts`], or the prepared statement), or call [`compile`], which finds the
//!    plan in the plan cache of all connections or has `planner` make it.
//! 3. **Run.** [`execute`] calls [`lock`], which checks the account's privileges ([`privileges`]) and takes
//!    the metadata locks that the plan lists. If the schema has changed, the statement is planned again. Then
//!    [`query`], or [`execute`] itself for a write, passes the plan to `runner` with an evaluation context
//!    ([`evaluation`]) and a sink ([`result_set`]). `runner` opens or joins the transaction and calls an
//!    executor. During that time the session is borrowed in [`parts`].
//! 4. **Rows** leave while the query runs: [`result_set`] encodes them, or lends the client's buffer to the
//!    executor. Column definitions are encoded once per plan ([`attachment`]).
//! 5. **Reply.** [`reply`] has OK, errors, and the end of a result set. The OK of a commit may be left
//!    pending until the log is synced ([`commit`]).
//!
//! In step 3, a statement without a plan (SET, SHOW, definitions ...) goes to [`statement`], which has one
//! file for each kind.
//!
//! Not here: sockets, threads, authentication (`server`); bytes of packets (`wire`); transactions, locks and
//! retries (`runner`). To add a system variable, start at [`variables`]; to add a statement, at
//! [`statement`].

mod account_limits;
mod attachment;
pub mod catalog;
mod client;
mod client_charset;
mod columns;
mod command;
mod commit;
mod compile;
mod compiled;
mod counters;
mod diagnostics;
mod errors;
mod evaluation;
pub mod events;
mod execute;
mod hinted_variables;
mod init_connect;
mod instance_lock;
mod last_statement;
mod lifecycle;
mod listing;
mod lock;
mod other_nodes;
mod parts;
mod prepared;
mod privileges;
mod process;
mod profiles;
mod query;
mod recent_texts;
mod reply;
mod reply_context;
mod result_set;
mod server;
mod server_files;
mod session;
mod shared;
mod statement;
pub mod statistics;
mod status;
mod table_locks;
mod temporary_tables;
mod text;
mod tracking;
mod transaction_rules;
mod user_locks;
mod user_variables;
pub mod variables;
mod view;
mod views;
mod virtual_tables;
mod write_reply;

pub use process::{Activity, Process, ProcessList};
pub use session::Session;
pub use shared::{ConnectionLayer, Shared, VERSION};
