//! Errors that clients get while the cluster does not serve: they have TiDB's numbers, come in time, and
//! leave connections open. Afterwards everything works again.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::cluster::Cluster;
use crate::report::Report;
use crate::server::{Server, free_port};
use crate::{code, text};

/// The operation timeout of the tested server, so that the tests need not wait for 40 s.
const PATIENCE_SECONDS: u64 = 2;
/// The time allowed for statements that must end within that timeout, on a busy machine.
const IN_TIME: Duration = Duration::from_secs(60);
/// The server recovers within this time.
const RECOVERY: Duration = Duration::from_secs(120);

const PD_TIMEOUT: u16 = 9001;
const STORE_TIMEOUT: u16 = 9002;
const REGION_UNAVAILABLE: u16 = 9005;
const UNDETERMINED: u16 = 8501;

type Check = fn(&Cluster, &Server) -> Result<(), String>;

const CHECKS: [(&str, Check); 7] = [
    ("PD is down", pd_is_down),
    ("all stores are down", stores_are_down),
    ("a commit that cannot be made is refused", commit_is_refused),
    ("an outcome that nobody knows is said to be so", undetermined),
    ("max_execution_time ends the wait for a store", time_limit),
    ("KILL QUERY ends the wait for a store", kill_query),
    (
        "a vanished leader is found again within the statement",
        leader_vanishes,
    ),
];

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let nobody = format!("tikv://127.0.0.1:{}", free_port()?);
    report.check(
        "errors: no PD at the start is one line",
        refused(cluster, &nobody, "PD server timeout"),
    );
    let keyspace = format!("{}/nowhere", cluster.url());
    report.check(
        "errors: an unknown keyspace is one line",
        refused(cluster, &keyspace, "nowhere"),
    );
    report.check(
        "errors: a wrong URL is one line",
        refused(cluster, "tikv://pd", "HOST:PORT"),
    );

    let server = impatient(cluster)?;
    let mut conn = server.address.connect().map_err(text)?;
    for statement in [
        "CREATE DATABASE errors",
        "CREATE TABLE errors.t (id INT PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO errors.t VALUES (1, 0), (2, 0), (3, 0)",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    drop(conn);
    for (name, check) in CHECKS {
        let outcome = check(cluster, &server);
        let mended = cluster.control("/clear").and_then(|_| recovers(&server));
        report.check(&format!("errors: {name}"), outcome.and(mended));
    }
    Ok(())
}

fn prepare(cluster: &Cluster) -> Result<Server, String> {
    let mut server = Server::prepare(cluster.program(), &[])?;
    let file = server.path("impatient.toml");
    fs::write(
        &file,
        format!("[tikv]\noperation_timeout_seconds = {PATIENCE_SECONDS}\n"),
    )
    .map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    Ok(server)
}

fn impatient(cluster: &Cluster) -> Result<Server, String> {
    let mut server = prepare(cluster)?;
    server.run()?;
    Ok(server)
}

/// Checks that the server ends with one line on standard error, which contains `why`.
fn refused(cluster: &Cluster, store: &str, why: &str) -> Result<(), String> {
    let server = prepare(cluster)?;
    let command = server.command()?;
    let own = cluster.url();
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    let arguments: Vec<String> = arguments
        .map(|a| if a == own { store.to_owned() } else { a })
        .collect();
    let start = Instant::now();
    let output = Command::new(command.get_program())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success()
        || said.trim().lines().count() != 1
        || !said.contains(why)
        || !said.contains(store)
    {
        return Err(format!("{}: {said}", output.status));
    }
    in_time(start)
}

fn pd_is_down(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    read(&mut conn)?;
    cluster.control("/pd/stop")?;
    let outcome = (|| {
        // A point read sends nothing to PD.
        read(&mut conn)?;
        expect(&mut conn, "SELECT COUNT(*) FROM t WHERE id < 3", &[PD_TIMEOUT])?;
        expect(&mut conn, "UPDATE t SET v = v + 1 WHERE id = 1", &[PD_TIMEOUT])
    })();
    cluster.control("/pd/start")?;
    outcome?;
    again(&mut conn)
}

fn stores_are_down(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    stores(cluster, "/stop?leaders=stay&store=")?;
    let outcome = expect(
        &mut conn,
        "SELECT v FROM t WHERE id = 1",
        &[STORE_TIMEOUT, REGION_UNAVAILABLE],
    );
    stores(cluster, "/start?store=")?;
    outcome?;
    again(&mut conn)
}

fn commit_is_refused(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    conn.query_drop("UPDATE t SET v = 0").map_err(text)?;
    conn.query_drop("BEGIN").map_err(text)?;
    conn.query_drop("UPDATE t SET v = 1 WHERE id = 2").map_err(text)?;
    // The responses are region errors, so it is certain that nothing was committed.
    cluster.control("/region-error-next?rpc=Prewrite&error=region-not-found&count=100000")?;
    // The time may run out while PD is asked for the region, or while a request waits to be sent.
    expect(
        &mut conn,
        "COMMIT",
        &[REGION_UNAVAILABLE, PD_TIMEOUT, STORE_TIMEOUT],
    )?;
    cluster.control("/clear")?;
    let value: Option<i64> = conn.query_first("SELECT v FROM t WHERE id = 2").map_err(text)?;
    if value != Some(0) {
        return Err(format!("after a commit that failed: {value:?}"));
    }
    // Its locks are gone, too.
    conn.query_drop("UPDATE t SET v = 2 WHERE id = 2").map_err(text)
}

fn undetermined(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    conn.query_drop("UPDATE t SET v = 0").map_err(text)?;
    // The commit succeeds. Its response is lost, and so is the response to every request for its outcome.
    cluster.control("/drop-next?rpc=Prewrite&when=after")?;
    cluster.control("/drop-next?rpc=CheckTxnStatus&when=before&count=100000")?;
    expect(&mut conn, "UPDATE t SET v = 7 WHERE id = 3", &[UNDETERMINED])?;
    cluster.control("/clear")?;
    // The connection stays open, and the whole transaction is there.
    let value: Option<i64> = conn.query_first("SELECT v FROM t WHERE id = 3").map_err(text)?;
    if value != Some(7) {
        return Err(format!("{value:?} in place of what was committed"));
    }
    again(&mut conn)
}

fn time_limit(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    conn.query_drop("SET max_execution_time = 300").map_err(text)?;
    stores(cluster, "/slow?ms=60000&store=")?;
    expect(&mut conn, "SELECT v FROM t WHERE id = 1", &[3024])?;
    expect(&mut conn, "SELECT COUNT(*) FROM t WHERE id < 3", &[3024])
}

fn kill_query(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut killer = connect(server)?;
    for sql in [
        "SELECT v FROM t WHERE id = 1",
        "UPDATE t SET v = v + 1 WHERE id = 1",
    ] {
        let mut conn = connect(server)?;
        stores(cluster, "/slow?ms=60000&store=")?;
        let id = conn.connection_id();
        let waiting = thread::spawn(move || {
            let start = Instant::now();
            let outcome = conn.query_drop(sql);
            (outcome, start.elapsed())
        });
        // A KILL that comes before the statement is forgotten, and one that comes after it finds no connection.
        while !waiting.is_finished() {
            thread::sleep(Duration::from_millis(50));
            let _ = killer.query_drop(format!("KILL QUERY {id}"));
        }
        let (outcome, took) = waiting.join().map_err(|_| "a thread panicked")?;
        cluster.control("/clear")?;
        match outcome {
            Err(error) if code(&error) == 1317 && took < IN_TIME => {}
            other => return Err(format!("{sql}: {other:?} after {took:?}")),
        }
    }
    Ok(())
}

fn leader_vanishes(cluster: &Cluster, server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    for store in 1..=3 {
        cluster.control(&format!("/stop?store={store}"))?;
        let outcome = again(&mut conn);
        cluster.control(&format!("/start?store={store}"))?;
        outcome?;
    }
    Ok(())
}

/// Sends a control command for each store.
fn stores(cluster: &Cluster, path: &str) -> Result<(), String> {
    (1..=3).try_for_each(|store| cluster.control(&format!("{path}{store}")).map(drop))
}

/// Checks that a statement fails in time, with one of these numbers.
fn expect(conn: &mut Conn, sql: &str, codes: &[u16]) -> Result<(), String> {
    let start = Instant::now();
    match conn.query_drop(sql) {
        Err(error) if codes.contains(&code(&error)) => in_time(start),
        other => Err(format!("{sql}: {other:?}, expected {codes:?}")),
    }
}

fn in_time(start: Instant) -> Result<(), String> {
    match start.elapsed() {
        took if took < IN_TIME => Ok(()),
        took => Err(format!("it took {took:?}")),
    }
}

fn read(conn: &mut Conn) -> Result<(), String> {
    match conn
        .query_first::<i64, _>("SELECT v FROM t WHERE id = 1")
        .map_err(text)?
    {
        Some(_) => Ok(()),
        None => Err("a row is gone".to_owned()),
    }
}

/// Checks that the same connection reads and writes again.
fn again(conn: &mut Conn) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let outcome = read(conn).and_then(|()| {
            conn.query_drop("UPDATE t SET v = v + 1 WHERE id = 1")
                .map_err(text)
        });
        match outcome {
            Err(_) if start.elapsed() < RECOVERY => thread::sleep(Duration::from_millis(50)),
            other => return other.map_err(|e| format!("afterwards: {e}")),
        }
    }
}

fn recovers(server: &Server) -> Result<(), String> {
    again(&mut connect(server)?)
}

fn connect(server: &Server) -> Result<Conn, String> {
    server.address.connect_to("errors").map_err(text)
}
