//! A server that cannot renew its lease in the store: others may change definitions then, so it serves nothing until it can.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::cluster::Cluster;
use crate::report::Report;
use crate::server::Server;
use crate::{code, text};

/// Short, so that nobody has to wait for 10 s.
const LEASE_SECONDS: u64 = 3;
/// On a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA_OUT_OF_DATE: u16 = 8027;

const POINT_READ: &str = "SELECT v FROM t WHERE id = 1";
/// All of what a client does.
const STATEMENTS: [&str; 6] = [
    POINT_READ,
    "SELECT v FROM t WHERE id IN (1, 2)",
    "SELECT COUNT(*) FROM t",
    "SELECT id FROM t WHERE v = 1 FOR UPDATE",
    "UPDATE t SET v = v + 1 WHERE id = 1",
    "INSERT INTO t VALUES (9, 9)",
];

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let server = start(cluster)?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "CREATE DATABASE lease",
        "CREATE TABLE lease.t (id INT PRIMARY KEY, v INT NOT NULL, KEY v (v))",
        "INSERT INTO lease.t VALUES (1, 1), (2, 1)",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    report.check(
        "lease: without one nothing is served",
        nothing_is_served(cluster, &server),
    );
    Ok(())
}

fn start(cluster: &Cluster) -> Result<Server, String> {
    let mut server = Server::prepare(cluster.program(), &[])?;
    let file = server.path("lease.toml");
    let text = format!("[cluster]\nlease_seconds = {LEASE_SECONDS}\n[tikv]\noperation_timeout_seconds = 2\n");
    fs::write(&file, text).map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    Ok(server)
}

fn nothing_is_served(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let connect = || server.address.connect_to("lease").map_err(text);
    let (mut conn, mut open) = (connect()?, connect()?);
    open.query_drop("BEGIN").map_err(text)?;
    open.query_drop("UPDATE t SET v = 7 WHERE id = 2").map_err(text)?;
    // Without timestamps the lease cannot be renewed; a read by primary key needs none.
    cluster.tell("/pd/stop")?;
    let refused = wait_for_refusal(&mut conn).and_then(|()| {
        STATEMENTS.iter().try_for_each(|sql| refuses(&mut conn, sql))?;
        // What was begun under the lease is over with it.
        refuses(&mut open, "SELECT v FROM t WHERE id = 2")
    });
    cluster.tell("/pd/start")?;
    refused?;
    wait_for_service(&mut conn)?;
    let rows: Vec<(i64, i64)> = conn.query("SELECT id, v FROM t ORDER BY id").map_err(text)?;
    match rows.as_slice() {
        [(1, 1), (2, 1)] => Ok(()),
        rows => Err(format!("{rows:?}: something of what was refused is there")),
    }
}

/// Reads go on for as long as the lease lasts.
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

fn refuses(conn: &mut Conn, sql: &str) -> Result<(), String> {
    match conn.query_drop(sql) {
        Err(error) if code(&error) == SCHEMA_OUT_OF_DATE => Ok(()),
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
