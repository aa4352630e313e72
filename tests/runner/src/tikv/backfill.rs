//! Servers are killed while they fill an index or rewrite rows, while the same rows are changed. Another server
//! continues, and each index has exactly one entry for each row. A change that no writer works beside is undone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loadgen::random::Random;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::{Address, Server};
use crate::{code, text};

const DATABASE: &str = "backfill";
/// Many pages of a backfill.
const ROWS: u64 = 20_000;
const ROWS_PER_INSERT: u64 = 1_000;
/// The distance of unique values, so that each row has a range of its own.
const STRIDE: u64 = 1_000;
const WRITERS: u64 = 3;
/// How long another server may take to finish what the dead one began, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// What is changed, how that is undone, and the indexes in between.
struct Case {
    change: &'static str,
    back: &'static str,
    indexes: [&'static str; 3],
    /// The other server undoes it, because the rows were to get ids in their order.
    is_undone: bool,
}

const CASES: [Case; 4] = [
    Case {
        change: "ADD UNIQUE INDEX u (u), ADD INDEX v (v)",
        back: "DROP INDEX u, DROP INDEX v",
        indexes: ["PRIMARY", "u", "v"],
        is_undone: false,
    },
    Case {
        change: "DROP PRIMARY KEY, ADD UNIQUE INDEX p (id), ADD UNIQUE INDEX u (u), ADD INDEX v (v)",
        back: "DROP INDEX u, DROP INDEX v, DROP INDEX p, ADD PRIMARY KEY (id)",
        indexes: ["p", "u", "v"],
        is_undone: false,
    },
    Case {
        change: "DROP PRIMARY KEY, ADD PRIMARY KEY (v, id), ADD UNIQUE INDEX u (u), ADD INDEX v (v)",
        back: "DROP INDEX u, DROP INDEX v, DROP PRIMARY KEY, ADD PRIMARY KEY (id)",
        indexes: ["PRIMARY", "u", "v"],
        is_undone: false,
    },
    Case {
        change: "ADD COLUMN s INT AUTO_INCREMENT UNIQUE",
        back: "COMMENT ''",
        indexes: ["PRIMARY"; 3],
        is_undone: true,
    },
];

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, u BIGINT NOT NULL, v INT NOT NULL)";

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let stays = Server::start(cluster.program(), &[])?;
    let mut conn = stays.address.connect().map_err(text)?;
    new_database(&mut conn, DATABASE)?;
    fill(&mut conn).map_err(text)?;
    for (round, case) in (1..).zip(&CASES) {
        report.check(
            &format!("backfill: {}", case.change),
            one_round(cluster, &stays, &mut conn, (round, case)),
        );
    }
    Ok(())
}

fn fill(conn: &mut Conn) -> mysql::Result<()> {
    conn.query_drop(TABLE)?;
    for first in (0..ROWS).step_by(ROWS_PER_INSERT as usize) {
        let rows: Vec<String> = (first..first + ROWS_PER_INSERT)
            .map(|id| format!("({id}, {}, {})", id * STRIDE, id % 7))
            .collect();
        conn.query_drop(format!("INSERT INTO t VALUES {}", rows.join(", ")))?;
    }
    Ok(())
}

fn one_round(
    cluster: &Cluster,
    stays: &Server,
    conn: &mut Conn,
    (round, case): (u64, &Case),
) -> Result<(), String> {
    let mut dying = Server::start(cluster.program(), &[])?;
    let mut client = dying.address.connect_to(DATABASE).map_err(text)?;
    let (stop, changed) = (AtomicBool::new(false), AtomicU64::new(0));
    let altered = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (stop, changed) = (&stop, &changed);
                scope.spawn(move || change(&stays.address, round * 100 + writer, changed, stop))
            })
            .collect();
        let altering = scope.spawn(move || client.query_drop(format!("ALTER TABLE t {}", case.change)));
        let killed = patiently("rows are filled in", || Ok(rows_done(conn)? > 0)).map(|()| dying.kill());
        let done = killed.and_then(|()| patiently("the job is done", || Ok(jobs(conn)?.is_empty())));
        stop.store(true, Ordering::SeqCst);
        let wrote = writers
            .into_iter()
            .try_for_each(|writer| writer.join().map_err(|_| "a writer panicked".to_owned())?);
        let altered = altering.join().map_err(|_| "the client panicked".to_owned())?;
        done.and(wrote)?;
        Ok::<_, String>(altered)
    })?;
    if let Ok(()) | Err(mysql::Error::MySqlError(_)) = altered {
        return Err(format!("the server was not killed in the middle: {altered:?}"));
    }
    if changed.load(Ordering::SeqCst) == 0 {
        return Err("nobody changed a row meanwhile".to_owned());
    }
    verify(conn, case)?;
    conn.query_drop(format!("ALTER TABLE t {}", case.back))
        .map_err(text)
}

/// Changes rows' values, which stay unique, until stopped.
fn change(address: &Address, seed: u64, changed: &AtomicU64, stop: &AtomicBool) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut conn = address.connect_to(DATABASE).map_err(text)?;
    while !stop.load(Ordering::SeqCst) {
        let id = random.below(ROWS);
        let (u, v) = (id * STRIDE + random.below(STRIDE), random.below(7));
        match conn.exec_drop("UPDATE t SET u = ?, v = ? WHERE id = ?", (u, v, id)) {
            Ok(()) => changed.fetch_add(1, Ordering::Relaxed),
            // Lock wait, deadlock; a lost lease.
            Err(error) if matches!(code(&error), 1205 | 1213 | 8027) => 0,
            Err(error) => return Err(format!("a change: {error}")),
        };
    }
    Ok(())
}

fn verify(conn: &mut Conn, case: &Case) -> Result<(), String> {
    // Another server may have finished it, and this one has to learn of it.
    let indexes = "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics \
                   WHERE table_schema = 'backfill'";
    let expected = if case.is_undone { 1 } else { 3 };
    patiently("the indexes are known", || {
        let known: Option<u64> = conn.query_first(indexes).map_err(text)?;
        Ok(known == Some(expected))
    })?;
    conn.query_drop("ADMIN CHECK TABLE t").map_err(text)?;
    for index in case.indexes {
        let sql = format!("SELECT COUNT(*) FROM t FORCE INDEX ({index}) WHERE id >= 0 AND u >= 0 AND v >= 0");
        let count: Option<u64> = conn.query_first(&sql).map_err(text)?;
        if count != Some(ROWS) {
            return Err(format!("{sql}: {count:?}"));
        }
    }
    Ok(())
}

fn jobs(conn: &mut Conn) -> Result<Vec<Row>, String> {
    conn.query("ADMIN SHOW DDL JOBS 0").map_err(text)
}

/// The running job's count.
fn rows_done(conn: &mut Conn) -> Result<u64, String> {
    let rows = jobs(conn)?;
    Ok(rows
        .iter()
        .filter_map(|row| row.get("ROW_COUNT"))
        .max()
        .unwrap_or(0))
}

fn patiently(what: &str, mut is_so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let start = Instant::now();
    while !is_so()? {
        if start.elapsed() > PATIENCE {
            return Err(format!("{what}: not within {PATIENCE:?}"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
