//! The other ways in which a statement ends early: KILL of its connection, its time limit, and a client that goes away.

use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{BEFORE, PATIENCE, set_route, stillness, wait_until_it_runs};
use crate::concurrency::{DATABASE, code, connect, text};
use crate::report::Report;
use crate::server::Address;

/// Rows of which one takes some milliseconds, so that a batch of them takes seconds; and one long call.
const STATEMENTS: [&str; 3] = [
    "SELECT SUM(LENGTH(REPLACE(REPEAT(s, 200000), 'a', 'bb'))) FROM kills",
    "SELECT COUNT(*) FROM kills WHERE CRC32(REPEAT(s, 50000)) = 5",
    "SELECT LOCATE(CONCAT(REPEAT('a', 1000000), 'b'), REPEAT('a', 8000000))",
];

type Way = fn(&Address, &str, &str) -> Result<Duration, String>;

pub fn check(address: &Address, routes: &[&str], report: &mut Report) {
    let ways: [(&str, Way); 3] = [
        ("KILL of a connection", kill_connection),
        ("a time limit", time_limit),
        ("a closed client", close_client),
    ];
    for (way, end) in ways {
        for route in routes {
            let ended = STATEMENTS.iter().try_for_each(|statement| {
                let took = end(address, route, statement).map_err(|why| format!("{statement}: {why}"))?;
                report.note(&format!("{way} {route}: {} ms", took.as_millis()));
                Ok(())
            });
            let ended = ended.and_then(|()| stillness::wait(address));
            report.check(&format!("concurrency: {way} ends statements {route}"), ended);
        }
    }
}

fn kill_connection(address: &Address, route: &str, statement: &str) -> Result<Duration, String> {
    let (mut conn, mut killer) = (connect(address)?, connect(address)?);
    set_route(&mut conn, route)?;
    let (id, running) = (conn.connection_id(), statement.to_owned());
    let client = thread::spawn(move || (conn.query_drop(running), Instant::now()));
    wait_until_it_runs(&mut killer, id)?;
    let since = Instant::now();
    killer.query_drop(format!("KILL {id}")).map_err(text)?;
    gone(&mut killer, id, since)?;
    let (result, at) = client.join().map_err(|_| "the client panicked")?;
    match result {
        Err(_) => Ok(at.saturating_duration_since(since)),
        Ok(()) => Err("it was not ended".to_owned()),
    }
}

fn time_limit(address: &Address, route: &str, statement: &str) -> Result<Duration, String> {
    let mut conn = connect(address)?;
    set_route(&mut conn, route)?;
    let limit = BEFORE.as_millis();
    conn.query_drop(format!("SET max_execution_time = {limit}"))
        .map_err(text)?;
    let since = Instant::now();
    match conn.query_drop(statement) {
        Err(error) if code(&error) == 3024 => {}
        other => return Err(format!("{other:?}")),
    }
    match since.elapsed().saturating_sub(BEFORE) {
        late if late < PATIENCE => Ok(late),
        late => Err(format!("it ended {late:?} after its limit")),
    }
}

fn close_client(address: &Address, route: &str, statement: &str) -> Result<Duration, String> {
    let mut killer = connect(address)?;
    let patience = address
        .builder()
        .db_name(Some(DATABASE))
        .read_timeout(Some(BEFORE));
    let mut conn = eventually(|| {
        let mut conn = Conn::new(patience.clone()).map_err(text)?;
        set_route(&mut conn, route)?;
        Ok(conn)
    })?;
    let id = conn.connection_id();
    if conn.query_drop(statement).is_ok() {
        return Err("it was not ended".to_owned());
    }
    drop(conn);
    gone(&mut killer, id, Instant::now())
}

/// Repeats what a busy machine may not do in time.
fn eventually<T>(attempt: impl Fn() -> Result<T, String>) -> Result<T, String> {
    let since = Instant::now();
    loop {
        match attempt() {
            Err(_) if since.elapsed() < PATIENCE => {}
            done => return done,
        }
    }
}

/// Waits until a connection is no longer listed. Returns how long that took.
fn gone(conn: &mut Conn, id: u32, since: Instant) -> Result<Duration, String> {
    let listed = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
    loop {
        let count: Option<u64> = conn.query_first(&listed).map_err(text)?;
        if count == Some(0) {
            return Ok(since.elapsed());
        }
        if since.elapsed() > PATIENCE {
            return Err("its connection is still there".to_owned());
        }
        thread::sleep(Duration::from_millis(5));
    }
}
