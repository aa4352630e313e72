//! `kill -9` while XA transactions are prepared and ended. After the restart each has the state that its
//! client was told; a prepared one still holds its locks. Then it is ended.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use loadgen::random::Random;
use mysql::Conn;
use mysql::prelude::Queryable;

use crate::report::Report;
use crate::server::{Address, Program, Server};
use crate::text;

const DATABASE: &str = "crash_xa";
const ROUNDS: u64 = 3;
const WRITERS: u64 = 4;
/// A writer that gets this far was not killed.
const MOST: u64 = 100_000;
const ER_LOCK_NOWAIT: u16 = 3572;

/// The state of a branch, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// XA PREPARE was sent, and there is no reply.
    Preparing,
    Prepared,
    /// XA COMMIT or XA ROLLBACK was sent, and there is no reply.
    Ending,
    Ended,
}

/// A writer's branches: number `n` writes the row `(writer, n)`, and the writer's row of `counters`.
struct Writer {
    number: u64,
    last: u64,
    progress: Progress,
    /// Numbers of committed branches.
    committed: BTreeSet<u64>,
}

/// Whether branch `n` is to be committed.
fn commits(n: u64) -> bool {
    !n.is_multiple_of(3)
}

pub fn check(program: &Program, seed: u64, report: &mut Report) {
    let mut writers: Vec<Writer> = (0..WRITERS)
        .map(|number| Writer {
            number,
            last: 0,
            progress: Progress::Ended,
            committed: BTreeSet::new(),
        })
        .collect();
    let started = Server::start(program.clone(), &[]).and_then(|server| {
        set_up(&server.address)?;
        Ok(server)
    });
    let mut server = match started {
        Ok(server) => server,
        Err(e) => return report.fail("crash xa: set up", &e),
    };
    let mut random = Random::new(seed);
    for round in 1..=ROUNDS {
        let result = one_round(
            &mut server,
            &mut writers,
            Duration::from_millis(50 + random.below(400)),
        );
        report.check(&format!("crash: XA, round {round} of {ROUNDS}"), result);
    }
}

fn set_up(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(text)?;
    for sql in [
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE t (writer BIGINT, n BIGINT, v VARCHAR(100), PRIMARY KEY (writer, n), KEY v (v))"
            .to_owned(),
        "CREATE TABLE counters (writer BIGINT PRIMARY KEY, n BIGINT NOT NULL)".to_owned(),
    ] {
        conn.query_drop(sql).map_err(text)?;
    }
    for writer in 0..WRITERS {
        conn.exec_drop("INSERT INTO counters VALUES (?, 0)", (writer,))
            .map_err(text)?;
    }
    Ok(())
}

fn one_round(server: &mut Server, writers: &mut [Writer], time: Duration) -> Result<(), String> {
    let killed = AtomicBool::new(false);
    let address = server.address.clone();
    thread::scope(|scope| {
        let running: Vec<_> = writers
            .iter_mut()
            .map(|writer| {
                let (address, killed) = (&address, &killed);
                scope.spawn(move || write(address, writer, killed))
            })
            .collect();
        thread::sleep(time);
        killed.store(true, Ordering::SeqCst);
        server.kill();
        running
            .into_iter()
            .try_for_each(|writer| writer.join().map_err(|_| "a writer panicked".to_owned())?)
    })?;
    server.run()?;
    let mut conn = server.address.connect_to(DATABASE).map_err(text)?;
    writers
        .iter_mut()
        .try_for_each(|writer| verify(&mut conn, writer))?;
    let left: Vec<mysql::Row> = conn.query("XA RECOVER").map_err(text)?;
    match left.is_empty() {
        true => Ok(()),
        false => Err(format!("left over: {left:?}")),
    }
}

/// Writes until the server is killed.
fn write(address: &Address, writer: &mut Writer, killed: &AtomicBool) -> Result<(), String> {
    let mut conn = match address.connect_to(DATABASE) {
        Ok(conn) => conn,
        Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
        Err(error) => return Err(text(error)),
    };
    loop {
        match branch(&mut conn, writer) {
            Ok(()) => {}
            Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
            Err(error) => return Err(format!("writer {}: {error}", writer.number)),
        }
        if writer.last > MOST {
            return Err("the server was not killed".to_owned());
        }
    }
}

fn branch(conn: &mut Conn, writer: &mut Writer) -> mysql::Result<()> {
    let (number, n) = (writer.number, writer.last + 1);
    let xid = xid(number, n);
    conn.query_drop(format!("XA START {xid}"))?;
    conn.exec_drop("INSERT INTO t VALUES (?, ?, REPEAT('x', 50))", (number, n))?;
    conn.exec_drop("UPDATE counters SET n = ? WHERE writer = ?", (n, number))?;
    conn.query_drop(format!("XA END {xid}"))?;
    (writer.last, writer.progress) = (n, Progress::Preparing);
    conn.query_drop(format!("XA PREPARE {xid}"))?;
    writer.progress = Progress::Prepared;
    // Pauses, so that some kills come here.
    if n.is_multiple_of(5) {
        thread::sleep(Duration::from_millis(20));
    }
    writer.progress = Progress::Ending;
    let end = if commits(n) { "COMMIT" } else { "ROLLBACK" };
    conn.query_drop(format!("XA {end} {xid}"))?;
    writer.progress = Progress::Ended;
    if commits(n) {
        writer.committed.insert(n);
    }
    Ok(())
}

fn xid(writer: u64, n: u64) -> String {
    format!("'crash-{writer}','{n}',7")
}

/// Checks the state of a writer's last branch, ends it if it is prepared, and compares all rows.
fn verify(conn: &mut Conn, writer: &mut Writer) -> Result<(), String> {
    let (number, n) = (writer.number, writer.last);
    let name = format!("crash-{number}{n}");
    let recovered: Vec<(u64, u64, u64, String)> = conn.query("XA RECOVER").map_err(text)?;
    let is_prepared = recovered.iter().any(|(.., data)| *data == name);
    let of_writer = recovered
        .iter()
        .filter(|(.., data)| data.starts_with(&format!("crash-{number}")));
    if of_writer.count() != usize::from(is_prepared) {
        return Err(format!("writer {number}, branch {n}: {recovered:?}"));
    }
    match (writer.progress, is_prepared) {
        (Progress::Prepared, false) => return Err(format!("branch {number}/{n} was prepared, and is lost")),
        (Progress::Ended, true) => return Err(format!("branch {number}/{n} was ended, and waits again")),
        _ => {}
    }
    if is_prepared {
        check_locked(conn, number)?;
        conn.query_drop(format!("XA COMMIT {}", xid(number, n)))
            .map_err(text)?;
        writer.committed.insert(n);
    } else if writer.progress == Progress::Ending && commits(n) {
        writer.committed.insert(n);
    }
    writer.progress = Progress::Ended;
    let rows: Vec<u64> = conn
        .exec("SELECT n FROM t WHERE writer = ? ORDER BY n", (number,))
        .map_err(text)?;
    let by_index: Vec<u64> = conn
        .exec(
            "SELECT n FROM t FORCE INDEX (v) WHERE v LIKE 'x%' AND writer = ? ORDER BY n",
            (number,),
        )
        .map_err(text)?;
    let expected: Vec<u64> = writer.committed.iter().copied().collect();
    if rows != expected || by_index != expected {
        return Err(format!(
            "writer {number}: {rows:?}, by the index {by_index:?}, expected {expected:?}"
        ));
    }
    let counter: Option<u64> = conn
        .exec_first(
            "SELECT n FROM counters WHERE writer = ? FOR UPDATE NOWAIT",
            (number,),
        )
        .map_err(text)?;
    let last = expected.last().copied().unwrap_or(0);
    match counter == Some(last) {
        true => Ok(()),
        false => Err(format!("writer {number}: counter {counter:?}, expected {last}")),
    }
}

fn check_locked(conn: &mut Conn, writer: u64) -> Result<(), String> {
    let locked = conn.exec_drop(
        "SELECT n FROM counters WHERE writer = ? FOR UPDATE NOWAIT",
        (writer,),
    );
    match locked {
        Err(mysql::Error::MySqlError(error)) if error.code == ER_LOCK_NOWAIT => Ok(()),
        other => Err(format!("the row of a prepared branch is not locked: {other:?}")),
    }
}
