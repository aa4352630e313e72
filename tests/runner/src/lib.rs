//! Black-box tests: everything here talks to a running server as any client does, and knows nothing of its insides.
//!
//! - [`sql`]: the corpus of scripts with the answers of real MySQL 8.0.
//! - [`rust_client`] and [`clients`]: what real clients find.
//! - [`protocol`]: packets that no client sends.
//! - [`agree`]: random queries, which both executors must answer alike.
//! - [`concurrency`]: what holds while many write; [`crash`]: what holds after `kill -9`.
//! - [`lifecycle`]: starting, stopping, configuration; [`limits`]: more data than memory;
//!   [`memory`]: one budget for all that runs at once.
//! - [`tikv`]: all of that which makes sense on a cluster, and what can go wrong in one.
//! - [`server`]: starts, kills and finds servers; [`report`] counts what passed.

pub mod agree;
mod character_sets;
pub mod clients;
pub mod concurrency;
pub mod crash;
pub mod lifecycle;
pub mod limits;
pub mod literal;
pub mod memory;
pub mod protocol;
pub mod raw;
pub mod report;
pub mod rust_client;
pub mod server;
pub mod sql;
pub mod tikv;
mod tracking;
mod transaction_flags;

/// An error as a report shows it.
fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A server's number for an error; 0 for one of the client's own.
fn code(error: &mysql::Error) -> u16 {
    match error {
        mysql::Error::MySqlError(e) => e.code,
        _ => 0,
    }
}
