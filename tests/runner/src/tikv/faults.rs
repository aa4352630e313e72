//! Regions split and move, stores stop and come back, responses get lost, and PD's leader changes, under a
//! load of transfers, counters and races for unique keys. After every round all acknowledged changes are
//! there, none is there in part or twice, and indexes agree with rows.

mod harm;
mod load;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use self::harm::Harm;
use self::load::Load;
use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::{Address, Server};
use crate::text;

const ROUNDS: u64 = 6;
const DATABASE: &str = "faults";
/// Transfers after a fault that show that the load continues, and how long they may take on a busy machine.
const PROGRESS: u64 = 5;
const PATIENCE: Duration = Duration::from_secs(120);

const TABLES: [&str; 3] = [
    "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY balance (balance))",
    "CREATE TABLE counters (id INT PRIMARY KEY, v BIGINT NOT NULL, KEY v (v))",
    "CREATE TABLE names (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, owner INT NOT NULL, \
     UNIQUE KEY name (name), KEY owner (owner, name))",
];

/// `harms`: shell commands that cause faults in a real cluster.
pub fn check(cluster: &Cluster, harms: &[String], report: &mut Report) -> Result<(), String> {
    let server = Server::start(cluster.program(), &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    new_database(&mut conn, DATABASE)?;
    for table in TABLES {
        conn.query_drop(table).map_err(text)?;
    }
    let load = Load::set_up(&mut conn)?;
    let mut harm = Harm::new(cluster, harms);
    for round in 1..=ROUNDS {
        let outcome = one_round(&mut harm, &server.address, &load, round);
        let is_over = outcome.is_err();
        report.check(&format!("faults: round {round} of {ROUNDS}"), outcome);
        if is_over {
            return Err(server.log_tail());
        }
    }
    report.check("faults: the rounds were worth it", load.was_worth_it(ROUNDS));
    Ok(())
}

fn one_round(harm: &mut Harm, address: &Address, load: &Load, round: u64) -> Result<(), String> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| load.run(address, round, &stop));
        let harmed = harm.round(address, round);
        let goal = load.transfers() + PROGRESS;
        let goes_on = patiently(|| match running.is_finished() || load.transfers() >= goal {
            true => Ok(()),
            false => Err("the load stands still"),
        });
        stop.store(true, Ordering::SeqCst);
        let ran = running.join().map_err(|_| "the load panicked".to_owned())?;
        harmed.and(ran).and(goes_on)
    })?;
    // After an outage the server may still be without a lease.
    let mut conn = address.connect_to(DATABASE).map_err(text)?;
    patiently(|| conn.query_drop("SELECT COUNT(*) FROM accounts"))?;
    load.verify(&mut conn)?;
    check_tables(&mut conn)
}

fn check_tables(conn: &mut Conn) -> Result<(), String> {
    ["accounts", "counters", "names"].iter().try_for_each(|table| {
        conn.query_drop(format!("ADMIN CHECK TABLE {table}"))
            .map_err(|error| format!("ADMIN CHECK TABLE {table}: {error}"))
    })
}

/// Repeats until it succeeds.
fn patiently<E: std::fmt::Display>(mut attempt: impl FnMut() -> Result<(), E>) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(_) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("for {PATIENCE:?}: {error}")),
        }
    }
}
