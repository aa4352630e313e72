//! Promises that must hold with many concurrent writers, one per file. MySQL keeps them too, and is checked
//! with the same tests.

mod answers;
mod bank;
mod claims;
mod deadlock;
pub mod definitions;
mod engine_status;
pub mod foreign_keys;
mod histories;
mod index_build;
pub mod kills;
mod lost_update;
pub mod partitions;
mod snapshot;
mod unique_race;

use std::thread;

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::report::Report;
use crate::server::Address;
use crate::{code, text};

const DATABASE: &str = "concurrency";

/// Runs every promise on a running server.
pub fn check(address: &Address, report: &mut Report) {
    if let Err(e) = set_up(address) {
        report.fail("concurrency set up", &e);
        return;
    }
    for (name, promise) in [
        (
            "no update is lost",
            (|address| lost_update::check(Mode::Pessimistic, address)) as fn(&Address) -> Result<(), String>,
        ),
        ("transfers keep the bank's sum", bank::check),
        ("a deadlock has one victim", deadlock::check),
        (
            "SHOW ENGINE INNODB STATUS names waits and deadlocks",
            engine_status::check,
        ),
        ("unique keys hold under races", unique_race::check),
        ("foreign keys hold", foreign_keys::check),
        ("rows stay while partitions change", partitions::check),
        ("no statement fails while definitions change", definitions::check),
        ("an index built beside writers is whole", index_build::check),
        ("jobs are claimed once", claims::check),
        ("a reader's snapshot never moves", snapshot::check),
        ("what an answer says is so", answers::check),
        ("one order explains all reads and commits", |address| {
            histories::check(Mode::Pessimistic, address)
        }),
    ] {
        report.check(&format!("concurrency: {name}"), promise(address));
    }
    for (name, promise) in [
        (
            "no update of optimistic transactions is lost",
            (|address| lost_update::check(Mode::Optimistic, address)) as fn(&Address) -> Result<(), String>,
        ),
        (
            "one order explains all reads and commits of optimistic transactions",
            |address| histories::check(Mode::Optimistic, address),
        ),
    ] {
        if address.stemdb {
            report.check(&format!("concurrency: {name}"), promise(address));
        }
    }
    kills::check(address, report);
}

fn set_up(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(text)?;
    conn.query_drop(format!("DROP DATABASE IF EXISTS {DATABASE}"))
        .map_err(text)?;
    conn.query_drop(format!("CREATE DATABASE {DATABASE}"))
        .map_err(text)
}

/// For load that another suite starts.
fn create_database(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(text)?;
    conn.query_drop(format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))
        .map_err(text)
}

fn connect(address: &Address) -> Result<Conn, String> {
    address.connect_to(DATABASE).map_err(text)
}

/// How transactions find that others have changed their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Pessimistic,
    Optimistic,
}

/// A connection whose transactions are of a mode.
fn connect_as(mode: Mode, address: &Address) -> Result<Conn, String> {
    let mut conn = connect(address)?;
    if mode == Mode::Optimistic {
        conn.query_drop("SET SESSION stemdb_transaction_mode = 'optimistic'")
            .map_err(text)?;
    }
    Ok(conn)
}

/// Whether a transaction is to be repeated: deadlock, lock wait time-out, or a conflict of an optimistic one.
fn try_again(error: &mysql::Error) -> bool {
    matches!(code(error), 1205 | 1213 | 9007)
}

/// Runs `work` on `count` threads, each with its number. Returns their results, or the first error.
fn threads<T: Send>(count: u64, work: impl Fn(u64) -> Result<T, String> + Sync) -> Result<Vec<T>, String> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..count)
            .map(|number| {
                let work = &work;
                scope.spawn(move || work(number))
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| "a thread panicked".to_string())?)
            .collect()
    })
}
