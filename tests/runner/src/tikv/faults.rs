//! Regions split and move, stores stop and come back, answers get lost, PD's leader changes: under a load of transfers,
//! counters and races for unique keys. After every round, nothing that was acknowledged is missing, nothing is there by
//! halves or twice, and indexes agree with rows.

mod load;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use loadgen::random::Random;
use mysql::prelude::Queryable;

use self::load::Load;
use super::cluster::{Cluster, FIRST_ID, row_key, table_key};
use crate::report::Report;
use crate::server::{Address, Server};
use crate::text;

const ROUNDS: u64 = 6;
const DATABASE: &str = "faults";
/// The tables have one of these ids.
const IDS: u64 = 30;
/// Faults in one round, with a pause after each.
const FAULTS: u64 = 12;
const PAUSE: Duration = Duration::from_millis(150);

const TABLES: [&str; 3] = [
    "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY balance (balance))",
    "CREATE TABLE counters (id INT PRIMARY KEY, v BIGINT NOT NULL, KEY v (v))",
    "CREATE TABLE names (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL, owner INT NOT NULL, \
     UNIQUE KEY name (name), KEY owner (owner, name))",
];

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let server = Server::start(cluster.program(), &[])?;
    let mut conn = server.address.connect().map_err(text)?;
    conn.query_drop(format!("CREATE DATABASE {DATABASE}"))
        .map_err(text)?;
    conn.select_db(DATABASE).map_err(text)?;
    for table in TABLES {
        conn.query_drop(table).map_err(text)?;
    }
    let load = Load::set_up(&mut conn)?;
    let mut random = Random::new(1);
    for round in 1..=ROUNDS {
        let outcome = one_round(cluster, &server.address, &load, round, &mut random);
        let is_over = outcome.is_err();
        report.check(&format!("faults: round {round} of {ROUNDS}"), outcome);
        if is_over {
            return Err(server.log_tail());
        }
    }
    report.check("faults: the rounds were worth it", load.was_worth_it(ROUNDS));
    Ok(())
}

fn one_round(
    cluster: &Cluster,
    address: &Address,
    load: &Load,
    round: u64,
    random: &mut Random,
) -> Result<(), String> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| load.run(address, round, &stop));
        let disturbed = (0..FAULTS).try_for_each(|_| {
            let done = disturb(cluster, random);
            thread::sleep(PAUSE);
            done
        });
        let mended = mend(cluster);
        stop.store(true, Ordering::SeqCst);
        let ran = running.join().map_err(|_| "the load panicked".to_owned())?;
        disturbed.and(mended).and(ran)
    })?;
    let mut conn = address.connect_to(DATABASE).map_err(text)?;
    load.verify(&mut conn)?;
    for table in ["accounts", "counters", "names"] {
        conn.query_drop(format!("ADMIN CHECK TABLE {table}"))
            .map_err(|error| format!("ADMIN CHECK TABLE {table}: {error}"))?;
    }
    Ok(())
}

/// Does one harm, small or large.
fn disturb(cluster: &Cluster, random: &mut Random) -> Result<(), String> {
    let key = somewhere(random);
    let store = random.below(3) + 1;
    let lost = [
        "Prewrite",
        "Commit",
        "PessimisticLock",
        "Get",
        "BatchGet",
        "Scan",
        "CheckTxnStatus",
    ];
    let lost = lost[random.below(lost.len() as u64) as usize];
    let tell = |path: String| cluster.tell(&path).map(drop);
    match random.below(10) {
        0..3 => cluster.split(&key),
        // There may be no such store now.
        3..5 => cluster.move_leader(&key, store).or(Ok(())),
        5 => {
            tell(format!("/stop?store={store}"))?;
            thread::sleep(PAUSE);
            tell(format!("/start?store={store}"))
        }
        6 => {
            // Nobody has noticed for a while.
            tell(format!("/stop?store={store}&leaders=stay"))?;
            thread::sleep(PAUSE);
            tell("/elect".to_owned())?;
            tell(format!("/start?store={store}"))
        }
        7 => tell(format!("/drop-next?rpc={lost}&count={}", random.below(3) + 1)),
        8 => {
            let errors = ["not-leader", "epoch-not-match", "server-is-busy", "stale-command"];
            let error = errors[random.below(errors.len() as u64) as usize];
            tell(format!("/region-error-next?rpc={lost}&error={error}&count=3"))
        }
        _ => {
            tell("/pd/stop".to_owned())?;
            thread::sleep(PAUSE);
            tell("/pd/start".to_owned())
        }
    }
}

/// Ends whatever goes wrong.
fn mend(cluster: &Cluster) -> Result<(), String> {
    cluster.tell("/clear").map(drop)
}

/// A key among those of the tables: of a row, or of an entry in one of the first indexes.
fn somewhere(random: &mut Random) -> Vec<u8> {
    let table = FIRST_ID + random.below(IDS) as i64;
    if random.below(2) == 0 {
        return row_key(table, random.below(300) as i64);
    }
    let mut rest = b"_i\x80\0\0\0\0\0\0".to_vec();
    rest.push(random.below(4) as u8);
    rest.push(random.below(256) as u8);
    table_key(table, &rest)
}
