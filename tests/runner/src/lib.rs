//! Black-box tests: they talk to a running server as a client does, and use none of its internals.
//!
//! - [`sql`]: the corpus of scripts with the results of real MySQL 8.0.
//! - [`logic`]: the public sqllogictest corpus.
//! - [`rust_client`] and [`clients`]: checks by real clients.
//! - [`protocol`]: packets that no client sends.
//! - [`agree`]: random queries that must have the same results in both executors.
//! - [`concurrency`]: promises that hold with many writers; [`crash`]: promises that hold after `kill -9`.
//! - [`lifecycle`]: starting, stopping, configuration; [`limits`]: more data than memory; [`bulk_load`]:
//!   files into empty tables; [`server_files`]: which files LOAD_FILE() reads; [`memory`]: one memory budget for all concurrent statements.
//! - [`tikv`]: the suites that make sense on a cluster, and faults of a cluster.
//! - [`moving`]: `stemdb import --from`, `replay` and `check-compat`.
//! - [`workloads`]: workloads of `stemdb bench` with known results.
//! - [`server`]: starts, kills and finds servers; [`report`]: counts what passed.
//!
//! Not here: tests of one crate, which are in that crate. Where to go next: `tests/README.md`, which has the commands.

pub mod agree;
pub mod bulk_load;
mod character_sets;
pub mod clients;
pub mod concurrency;
pub mod crash;
mod frameworks;
pub mod lifecycle;
pub mod limits;
pub mod literal;
mod local_files;
pub mod logic;
pub mod memory;
pub mod moving;
mod moving_bulk;
mod moving_files;
mod moving_follow;
mod older;
pub mod protocol;
pub mod raw;
pub mod report;
pub mod rust_client;
pub mod server;
pub mod server_files;
pub mod sql;
pub mod tikv;
mod tracking;
mod transaction_flags;
pub mod workloads;

/// An error as text for a report.
fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The server's number of an error; 0 for an error of the client.
fn code(error: &mysql::Error) -> u16 {
    match error {
        mysql::Error::MySqlError(e) => e.code,
        _ => 0,
    }
}
