//! `kill -9` at all steps of index builds, while writers run. The restarted server completes the build, and
//! the indexes have exactly the rows' entries.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loadgen::random::Random;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::DATABASE;
use super::kills::Kills;
use crate::server::{Address, Server};
use crate::{code, text};

const ROUNDS: u32 = 6;
const ROWS: u64 = 60_000;
const ROWS_PER_INSERT: u64 = 2_000;
const WRITERS: u64 = 2;
/// The distance of unique values, so that each row has a range of its own.
const STRIDE: u64 = 1_000;
const PATIENCE: Duration = Duration::from_secs(120);

const BUILD: &str = "ALTER TABLE built ADD UNIQUE INDEX u (u), ADD INDEX v (v), ADD INDEX note (note)";

pub const BUILDS: Kills = Kills {
    statement: "the build of indexes",
    statements: "builds of indexes",
    rounds: ROUNDS,
    set_up: fill,
    whole: build,
    moment: |whole, round| whole * (2 * round + 1) / (2 * ROUNDS),
    one_round,
};

fn fill(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(text)?;
    conn.query_drop(format!("CREATE DATABASE {DATABASE}"))
        .map_err(text)?;
    conn.select_db(DATABASE).map_err(text)?;
    conn.query_drop(
        "CREATE TABLE built (id INT PRIMARY KEY, u BIGINT NOT NULL, v INT NOT NULL, note VARCHAR(60) NOT NULL)",
    )
    .map_err(text)?;
    for first in (0..ROWS).step_by(ROWS_PER_INSERT as usize) {
        let rows: Vec<String> = (first..first + ROWS_PER_INSERT)
            .map(|id| format!("({id}, {}, {}, 'note of {id}')", id * STRIDE, id % 7))
            .collect();
        conn.query_drop(format!("INSERT INTO built VALUES {}", rows.join(", ")))
            .map_err(text)?;
    }
    Ok(())
}

fn build(address: &Address) -> Result<Duration, String> {
    let mut conn = address.connect_to(DATABASE).map_err(text)?;
    let start = Instant::now();
    conn.query_drop(BUILD).map_err(text)?;
    let whole = start.elapsed();
    drop_indexes(&mut conn)?;
    Ok(whole)
}

fn drop_indexes(conn: &mut Conn) -> Result<(), String> {
    conn.query_drop("ALTER TABLE built DROP INDEX u, DROP INDEX v, DROP INDEX note")
        .map_err(text)
}

fn one_round(server: &mut Server, round: u32, moment: Duration) -> Result<(), String> {
    let killed = AtomicBool::new(false);
    let address = server.address.clone();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (address, killed) = (&address, &killed);
                scope.spawn(move || change(address, u64::from(round) * 100 + writer, killed))
            })
            .collect();
        let mut conn = address.connect_to(DATABASE).map_err(text)?;
        let building = scope.spawn(move || conn.query_drop(BUILD));
        thread::sleep(moment);
        killed.store(true, Ordering::SeqCst);
        server.kill();
        let built = building.join().map_err(|_| "the client panicked".to_owned())?;
        if let Err(mysql::Error::MySqlError(error)) = built {
            return Err(format!("{BUILD}: {error}"));
        }
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().map_err(|_| "a writer panicked".to_owned())?)
    })?;
    server.run()?;
    let mut conn = server.address.connect_to(DATABASE).map_err(text)?;
    complete(&mut conn)?;
    verify(&mut conn)?;
    drop_indexes(&mut conn)
}

/// Changes rows' values, which stay unique, until the server dies.
fn change(address: &Address, seed: u64, killed: &AtomicBool) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut conn = match address.connect_to(DATABASE) {
        Ok(conn) => conn,
        Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
        Err(error) => return Err(text(error)),
    };
    loop {
        let id = random.below(ROWS);
        let (u, v) = (id * STRIDE + random.below(STRIDE), random.below(7));
        let changed = match random.below(2) {
            0 => conn.exec_drop("UPDATE built SET u = ?, v = ? WHERE id = ?", (u, v, id)),
            _ => conn.exec_drop(
                "REPLACE INTO built VALUES (?, ?, ?, CONCAT('changed ', ?))",
                (id, u, v, u),
            ),
        };
        match changed {
            Ok(()) => {}
            Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
            Err(error) if matches!(code(&error), 1205 | 1213) => {}
            Err(error) => return Err(format!("a change: {error}")),
        }
    }
}

/// Waits until the build has ended, and starts it again if the kill came before its start.
fn complete(conn: &mut Conn) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let jobs: Vec<mysql::Row> = conn.query("ADMIN SHOW DDL JOBS 0").map_err(text)?;
        if jobs.is_empty() {
            break;
        }
        if start.elapsed() > PATIENCE {
            return Err(format!("the build is not completed: {jobs:?}"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    match conn.query_drop(BUILD) {
        Err(error) if code(&error) != 1061 => Err(text(error)),
        _ => Ok(()),
    }
}

fn verify(conn: &mut Conn) -> Result<(), String> {
    conn.query_drop("ADMIN CHECK TABLE built").map_err(text)?;
    for index in ["PRIMARY", "u", "v", "note"] {
        let sql = format!(
            "SELECT COUNT(*) FROM built FORCE INDEX ({index}) WHERE id >= 0 AND u >= 0 AND v >= 0 AND note > ''"
        );
        let count: Option<u64> = conn.query_first(&sql).map_err(text)?;
        if count != Some(ROWS) {
            return Err(format!("{sql}: {count:?}"));
        }
    }
    Ok(())
}
