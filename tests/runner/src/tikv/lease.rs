//! A server that cannot renew its lease in the store. Other servers may change definitions meanwhile, so it
//! executes nothing until it has a lease again. Statements wait for that, and then use the current
//! definitions.

use std::fs;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::Server;
use crate::{code, text};

/// Short, so that the tests need not wait for 10 s.
const LEASE_SECONDS: u64 = 3;
/// On a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const INTERRUPTED: u16 = 1317;
const OUT_OF_TIME: u16 = 3024;
const SCHEMA_OUT_OF_DATE: u16 = 8027;

const POINT_READ: &str = "SELECT v FROM t WHERE id = 1";
/// Every kind of statement that a client may send.
const STATEMENTS: [&str; 6] = [
    POINT_READ,
    "SELECT v FROM t WHERE id IN (1, 2)",
    "SELECT COUNT(*) FROM t",
    "SELECT id FROM t WHERE v = 1 FOR UPDATE",
    "UPDATE t SET v = v + 1 WHERE id = 1",
    "INSERT INTO t VALUES (9, 9)",
];

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let server = start(cluster, 0)?;
    set_up(&server)?;
    report.check(
        "lease: without one nothing is served",
        nothing_is_served(cluster, &server),
    );
    drop(server);
    let server = start(cluster, PATIENCE.as_secs())?;
    set_up(&server)?;
    report.check(
        "lease: a cluster that pauses is waited for",
        pause_is_waited_for(cluster, &server),
    );
    report.check(
        "lease: a server that stood still begins with what is defined by then",
        plans_again(cluster, &server),
    );
    Ok(())
}

/// Starts a server. `lease_wait_seconds`: how long statements wait for a lease.
fn start(cluster: &Cluster, lease_wait_seconds: u64) -> Result<Server, String> {
    let mut server = Server::prepare(cluster.program(), &[])?;
    let file = server.path("lease.toml");
    // A server that waits for no lease must not wait for PD either.
    let operation = if lease_wait_seconds == 0 {
        2
    } else {
        lease_wait_seconds
    };
    let text = format!(
        "[cluster]\nlease_seconds = {LEASE_SECONDS}\nlease_wait_seconds = {lease_wait_seconds}\n\
         [tikv]\noperation_timeout_seconds = {operation}\n"
    );
    fs::write(&file, text).map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    Ok(server)
}

fn set_up(server: &Server) -> Result<(), String> {
    let mut conn = server.address.connect().map_err(text)?;
    new_database(&mut conn, "lease")?;
    for statement in [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, KEY v (v))",
        "INSERT INTO t VALUES (1, 1), (2, 1)",
        "CREATE TABLE u (id INT PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO u VALUES (1, 1)",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    Ok(())
}

fn connect(server: &Server) -> Result<Conn, String> {
    server.address.connect_to("lease").map_err(text)
}

fn nothing_is_served(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let (mut conn, mut open) = (connect(server)?, connect(server)?);
    open.query_drop("BEGIN").map_err(text)?;
    open.query_drop("UPDATE t SET v = 7 WHERE id = 2").map_err(text)?;
    // Without timestamps the lease cannot be renewed. A read by primary key needs none.
    cluster.control("/pd/stop")?;
    let refused = wait_for_refusal(&mut conn).and_then(|()| {
        STATEMENTS
            .iter()
            .try_for_each(|sql| refuses(&mut conn, sql, SCHEMA_OUT_OF_DATE))?;
        // A transaction of the lost lease is over.
        refuses(&mut open, "SELECT v FROM t WHERE id = 2", SCHEMA_OUT_OF_DATE)
    });
    cluster.control("/pd/start")?;
    refused?;
    wait_for_service(&mut conn)?;
    has_rows(&mut conn, &[(1, 1), (2, 1)])
}

/// PD is away for longer than a lease. Only transactions that have written fail, and statements whose time
/// runs out.
fn pause_is_waited_for(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut connections = (0..STATEMENTS.len())
        .map(|_| connect(server))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut killer, killed, mut limited) = (connect(server)?, connect(server)?, connect(server)?);
    let (mut written, mut has_read) = (connect(server)?, connect(server)?);
    let (early_update, early_insert) = (connect(server)?, connect(server)?);
    limited.query_drop("SET max_execution_time = 50").map_err(text)?;
    limited.query_drop("SET lock_wait_timeout = 1").map_err(text)?;
    for conn in [&mut written, &mut has_read] {
        conn.query_drop("BEGIN").map_err(text)?;
    }
    written
        .query_drop("UPDATE t SET v = 7 WHERE id = 2")
        .map_err(text)?;
    reads_one(&mut has_read)?;

    cluster.control("/pd/stop")?;
    let paused = (|| {
        // These start within the lease, and get their timestamps after it has ended.
        let mut running = vec![
            run(early_update, "UPDATE t SET v = v + 1 WHERE id = 1"),
            run(early_insert, "INSERT INTO t VALUES (-5, 5), (5, 5), (50, 5)"),
        ];
        thread::sleep(Duration::from_secs(LEASE_SECONDS));
        refuses(&mut limited, POINT_READ, OUT_OF_TIME)?;
        refuses(&mut limited, "UPDATE t SET v = 0", SCHEMA_OUT_OF_DATE)?;
        let id = killed.connection_id();
        let killed = run(killed, POINT_READ);
        running.extend(connections.drain(..).zip(STATEMENTS).map(|(c, sql)| run(c, sql)));
        thread::sleep(Duration::from_secs(1));
        killer.query_drop(format!("KILL QUERY {id}")).map_err(text)?;
        match killed.join().map_err(|_| "a thread panicked")? {
            Err(error) if code(&error) == INTERRUPTED => Ok(running),
            other => Err(format!("killed while it waited: {other:?}")),
        }
    })();
    cluster.control("/pd/start")?;
    // Other servers could have changed the definitions that this transaction wrote by. One of the statements
    // waits for its locks.
    refuses(&mut written, "SELECT v FROM t WHERE id = 2", SCHEMA_OUT_OF_DATE)?;
    for (number, statement) in paused?.into_iter().enumerate() {
        let outcome = statement.join().map_err(|_| "a thread panicked")?;
        outcome.map_err(|error| format!("statement {number}: {error}"))?;
    }
    written.query_drop("SELECT v FROM t WHERE id = 2").map_err(text)?;
    // The snapshot is still the same.
    reads_one(&mut has_read)?;
    has_read.query_drop("COMMIT").map_err(text)?;
    has_rows(&mut killer, &[(-5, 5), (1, 3), (2, 1), (5, 5), (9, 9), (50, 5)])?;
    killer.query_drop("ADMIN CHECK TABLE t").map_err(text)
}

/// While one server is stopped, another changes definitions.
fn plans_again(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let other = start(cluster, PATIENCE.as_secs())?;
    let mut there = connect(&other)?;
    let (mut conn, mut of_t, mut of_u) = (connect(server)?, connect(server)?, connect(server)?);
    let prepared = conn.prep("SELECT * FROM t WHERE id = ?").map_err(text)?;
    conn.exec_drop(&prepared, (1,)).map_err(text)?;
    for (open, table) in [(&mut of_t, "t"), (&mut of_u, "u")] {
        open.query_drop("BEGIN").map_err(text)?;
        open.query_drop(format!("SELECT v FROM {table} WHERE id = 1"))
            .map_err(text)?;
    }
    server.signal("STOP")?;
    let changed = there
        .query_drop("ALTER TABLE t ADD COLUMN w INT NOT NULL DEFAULT 4")
        .map_err(text);
    server.signal("CONT")?;
    changed?;
    let row: Option<(i64, i64, i64)> = conn.exec_first(&prepared, (1,)).map_err(text)?;
    if row.map(|row| row.2) != Some(4) {
        return Err(format!("{row:?}: the row as it was defined before"));
    }
    conn.query_drop("INSERT INTO t (id, v) VALUES (60, 6)")
        .map_err(text)?;
    // Of the transactions that have only read, those whose tables have changed cannot continue.
    refuses(&mut of_t, POINT_READ, SCHEMA_OUT_OF_DATE)?;
    of_u.query_drop("SELECT v FROM u WHERE id = 1").map_err(text)?;
    of_u.query_drop("UPDATE u SET v = 2 WHERE id = 1").map_err(text)?;
    of_u.query_drop("COMMIT").map_err(text)?;
    match there.query_first::<i64, _>("SELECT v FROM u").map_err(text)? {
        Some(2) => there.query_drop("ADMIN CHECK TABLE t, u").map_err(text),
        other => Err(format!("{other:?}: what was committed is not there")),
    }
}

fn run(mut conn: Conn, sql: &'static str) -> JoinHandle<mysql::Result<()>> {
    thread::spawn(move || conn.query_drop(sql))
}

fn reads_one(conn: &mut Conn) -> Result<(), String> {
    match conn.query_first::<i64, _>(POINT_READ).map_err(text)? {
        Some(1) => Ok(()),
        other => Err(format!("{POINT_READ}: {other:?}")),
    }
}

fn has_rows(conn: &mut Conn, wanted: &[(i64, i64)]) -> Result<(), String> {
    let rows: Vec<(i64, i64)> = conn.query("SELECT id, v FROM t ORDER BY id").map_err(text)?;
    match rows == wanted {
        true => Ok(()),
        false => Err(format!("{rows:?}, not {wanted:?}")),
    }
}

/// Reads continue as long as the lease lasts.
fn wait_for_refusal(conn: &mut Conn) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match conn.query_first::<i64, _>(POINT_READ) {
            Err(error) if code(&error) == SCHEMA_OUT_OF_DATE => return Ok(()),
            Ok(Some(1)) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(20)),
            other => return Err(format!("{POINT_READ}: {other:?} after {:?}", start.elapsed())),
        }
    }
}

fn refuses(conn: &mut Conn, sql: &str, refusal: u16) -> Result<(), String> {
    match conn.query_drop(sql) {
        Err(error) if code(&error) == refusal => Ok(()),
        other => Err(format!("{sql}: {other:?}")),
    }
}

fn wait_for_service(conn: &mut Conn) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match conn.query_drop("SELECT COUNT(*) FROM t") {
            Err(_) if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(50)),
            other => return other.map_err(|error| format!("afterwards: {error}")),
        }
    }
}
