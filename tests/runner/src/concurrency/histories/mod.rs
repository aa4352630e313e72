//! Random transactions append to lists and read them; afterwards it is checked that one order of all commits
//! and snapshots explains what they have seen ([`checker`]). The schedule differs from run to run, the verdict
//! does not: no schedule allows an anomaly.
//!
//! What is promised, and by MySQL too: a snapshot (of a REPEATABLE READ transaction, or of a statement under
//! READ COMMITTED) is one moment, and a commit with all that the transaction has read and locked is another.
//! Between the two, other transactions may commit: MySQL's locking reads and writes see the newest rows, not the
//! snapshot. So a transaction is up to two moments here, and as one it would not pass, on MySQL neither.

mod checker;
mod history;
mod load;
#[cfg(test)]
mod tests;

use mysql::prelude::Queryable;

use super::{Mode, connect, connect_as, text, threads};
use crate::server::Address;
use load::Client;

const THREADS: u64 = 6;
const TRANSACTIONS: u64 = 150;

/// Locking reads of optimistic transactions see the snapshot, which is the state at the commit too, or else the
/// transaction fails.
pub fn check(mode: Mode, address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    for table in 0..load::TABLES.len() {
        conn.query_drop(format!("DROP TABLE IF EXISTS lists{table}"))
            .map_err(text)?;
    }
    for table in load::TABLES {
        conn.query_drop(table).map_err(text)?;
    }
    let shared = load::Shared::default();
    threads(THREADS, |number| {
        let mut client = Client::new(connect_as(mode, address)?, number, mode, &shared);
        (0..TRANSACTIONS).try_for_each(|_| client.transaction())
    })?;
    Client::new(conn, THREADS, Mode::Pessimistic, &shared).read_everything()?;
    checker::check(&shared.into_history()?)
}
