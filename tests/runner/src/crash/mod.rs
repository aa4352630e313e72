//! `kill -9` under concurrent writers, repeatedly: every acknowledged transaction is there, none is there in
//! part, and indexes agree with rows.
//!
//! Every other round, tables are changed while the writers run ([`alter`]). [`index`] kills during index
//! builds, [`load`] during bulk loads. The same for XA transactions ([`xa`]), for a disk that fails
//! ([`disk`]) and for a full one ([`room`], [`import`]).
//!
//! [`writer`] writes, and records acknowledged transactions in a [`model`]. [`verify`] compares the model
//! with the restarted server.

mod alter;
mod disk;
mod import;
mod index;
mod kills;
mod load;
mod model;
mod room;
mod verify;
mod writer;
mod xa;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loadgen::random::Random;
use mysql::prelude::Queryable;

use crate::report::Report;
use crate::server::{Address, Program, Server};
use crate::text;
use model::Model;

const DATABASE: &str = "crash";
const WRITERS: u64 = 8;
const ACCOUNTS: u64 = 40;
const START_BALANCE: i64 = 1000;
/// Fewest transactions per round.
const ENOUGH: u64 = 10;
/// Writers that need longer are stuck.
const PATIENCE: Duration = Duration::from_secs(120);

/// Two tables of orders that transactions change together, and a bank. They have unique, plain, composite and
/// prefix indexes.
const TABLES: [&str; 4] = [
    "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, writer INT NOT NULL, \
     version INT NOT NULL, note VARCHAR(200) NOT NULL, UNIQUE KEY name (name), KEY writer (writer, version), KEY note (note(20)))",
    "CREATE TABLE items (name VARCHAR(40) NOT NULL, n INT NOT NULL, version INT NOT NULL, payload VARBINARY(300) NOT NULL, \
     PRIMARY KEY (name, n), KEY payload (payload), KEY version (version))",
    "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY balance (balance))",
    "CREATE TABLE transfers (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, source INT NOT NULL, \
     target INT NOT NULL, amount BIGINT NOT NULL, UNIQUE KEY name (name), KEY source (source), KEY target (target))",
];

/// Runs `rounds` rounds: write, kill, restart, verify.
pub fn check(program: Program, rounds: u64, seed: u64, report: &mut Report) {
    let mut server = match kills::started(&program, set_up) {
        Ok(server) => server,
        Err(e) => return report.fail("crash set up", &e),
    };
    let mut random = Random::new(seed);
    let mut models: Vec<Model> = (0..WRITERS).map(Model::new).collect();
    let mut acknowledged = 0;
    for round in 1..=rounds {
        let name = format!("crash: round {round} of {rounds}");
        // Usually while all writers write, sometimes soon after their start.
        let moment = Moment {
            time: Duration::from_millis(50 + random.below(1500)),
            transactions: ENOUGH + random.below(50),
        };
        match one_round(&mut server, &mut models, round, &moment) {
            Ok(transactions) => {
                acknowledged += transactions;
                report.pass(&name);
            }
            Err(e) => return report.fail(&name, &format!("seed {seed}: {e}\n{}", server.log_tail())),
        }
    }
    let enough = (acknowledged >= rounds * ENOUGH)
        .then_some(())
        .ok_or_else(|| format!("only {acknowledged} transactions were acknowledged in {rounds} rounds"));
    report.check("crash: the rounds were worth it", enough);
    report.check(
        "crash: what the row cache answered is what is stored",
        server.check_log(),
    );
    drop(server);
    if matches!(program, Program::StemDb { store: None, .. }) {
        index::BUILDS.check(&program, report);
        load::LOADS.check(&program, report);
        xa::check(&program, seed, report);
        disk::check(&program, report);
        room::check(&program, report);
        import::check(&program, report);
    }
}

fn set_up(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(text)?;
    conn.query_drop(format!("DROP DATABASE IF EXISTS {DATABASE}"))
        .map_err(text)?;
    conn.query_drop(format!("CREATE DATABASE {DATABASE}"))
        .map_err(text)?;
    conn.select_db(DATABASE).map_err(text)?;
    for table in TABLES {
        conn.query_drop(table).map_err(text)?;
    }
    for id in 0..ACCOUNTS {
        conn.exec_drop("INSERT INTO accounts VALUES (?, ?)", (id, START_BALANCE))
            .map_err(text)?;
    }
    Ok(())
}

/// When to kill: both conditions must hold.
struct Moment {
    time: Duration,
    /// Acknowledged transactions, because a slow machine takes longer.
    transactions: u64,
}

impl Moment {
    /// `is_over`: all writers have ended.
    fn wait(&self, acknowledged: &AtomicU64, is_over: impl Fn() -> bool) {
        let start = Instant::now();
        let is_early = |elapsed| {
            let few = acknowledged.load(Ordering::SeqCst) < self.transactions;
            elapsed < self.time || (few && elapsed < PATIENCE)
        };
        while is_early(start.elapsed()) && !is_over() {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn one_round(server: &mut Server, models: &mut [Model], round: u64, moment: &Moment) -> Result<u64, String> {
    let (killed, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let address = server.address.clone();
    thread::scope(|scope| {
        let writers: Vec<_> = models
            .iter_mut()
            .map(|model| {
                let (address, killed, acknowledged) = (&address, &killed, &acknowledged);
                scope.spawn(move || writer::write(address, model, round, killed, acknowledged))
            })
            .collect();
        let changer = round.is_multiple_of(2).then(|| {
            let (address, killed) = (&address, &killed);
            scope.spawn(move || alter::change(address, round, killed))
        });
        moment.wait(&acknowledged, || writers.iter().all(|w| w.is_finished()));
        // Errors from here on are caused by the kill.
        killed.store(true, Ordering::SeqCst);
        server.kill();
        writers
            .into_iter()
            .chain(changer)
            .try_for_each(|writer| writer.join().map_err(|_| "a writer panicked".to_string())?)
    })?;
    let acknowledged = acknowledged.into_inner();
    server.run()?;
    verify::verify(&server.address, models)
        .map_err(|e| format!("after {acknowledged} acknowledged transactions: {e}"))?;
    Ok(acknowledged)
}
