//! Measures the client's CPU time per prepared point select, with our own client and with the `mysql`
//! crate. It shows why we have our own.
//!
//! `stemdb bench prepare sysbench-point-select --dsn DSN`, then `cargo run --release -p stemdb-loadgen
//! --example drivers -- DSN`. Each client runs three times, with eight connections for three seconds. For
//! real sysbench, divide `user` plus `sys` of `time sysbench oltp_point_select ...` by the number of its
//! queries.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use loadgen::client::Connection;
use loadgen::random::Random;
use loadgen::runner::Process;
use loadgen::target::Target;
use mysql::prelude::Queryable;

const CONNECTIONS: u64 = 8;
const TIME: Duration = Duration::from_secs(3);
const SQL: &str = "SELECT c FROM sbtest1 WHERE id=?";
const ROWS: u64 = 10_000;

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let Some(dsn) = std::env::args().nth(1) else {
        eprintln!("which server? mysql://root@127.0.0.1:4000/stemdb_bench");
        return ExitCode::FAILURE;
    };
    for _ in 0..3 {
        for (name, work) in [
            ("ours", ours as fn(&str, &Turn) -> Outcome),
            ("mysql crate", theirs),
        ] {
            let turn = Turn::default();
            let before = cpu();
            let failed = thread::scope(|scope| {
                let workers: Vec<_> = (0..CONNECTIONS)
                    .map(|_| scope.spawn(|| work(&dsn, &turn)))
                    .collect();
                thread::sleep(TIME);
                turn.over.store(true, Ordering::Relaxed);
                let results = workers.into_iter().filter_map(|worker| worker.join().ok());
                results.filter_map(Result::err).next()
            });
            if let Some(error) = failed {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
            let selects = turn.selects.load(Ordering::Relaxed).max(1);
            let each_us = cpu().saturating_sub(before).as_secs_f64() * 1e6 / selects as f64;
            let rate = selects as f64 / TIME.as_secs_f64();
            println!("{name:<12} {each_us:6.2} us of client CPU a select, {rate:9.0} selects/s");
        }
    }
    ExitCode::SUCCESS
}

#[derive(Default)]
struct Turn {
    over: AtomicBool,
    selects: AtomicU64,
}

impl Turn {
    /// Runs `select` until the time is over.
    fn repeat(&self, mut select: impl FnMut(u64) -> Outcome) -> Outcome {
        let mut random = Random::new(1);
        let mut count = 0;
        while !self.over.load(Ordering::Relaxed) {
            select(random.below(ROWS) + 1)?;
            count += 1;
        }
        self.selects.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }
}

fn ours(dsn: &str, turn: &Turn) -> Outcome {
    let mut connection = Connection::open(&Target::parse(dsn, "stemdb_bench")?)?;
    let statement = connection.prepare(SQL)?;
    turn.repeat(|id| {
        connection.execute(statement, &[(id as i64).into()])?;
        Ok(())
    })
}

fn theirs(dsn: &str, turn: &Turn) -> Outcome {
    let opts = mysql::OptsBuilder::from_opts(mysql::Opts::from_url(dsn)?).prefer_socket(false);
    let mut connection = mysql::Conn::new(opts)?;
    let statement = connection.prep(SQL)?;
    turn.repeat(|id| {
        let rows: Vec<mysql::Row> = connection.exec(&statement, (id,))?;
        if rows.is_empty() {
            return Err("no row".into());
        }
        Ok(())
    })
}

fn cpu() -> Duration {
    Process::own()
        .usage()
        .map(|usage| usage.user + usage.system)
        .unwrap_or_default()
}
