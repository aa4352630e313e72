//! LOCK TABLES and FLUSH TABLES WITH READ LOCK hold on all servers of a cluster.

use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::Server;
use crate::{code, text};

const LOCK_WAIT_TIMEOUT: u16 = 1205;
const INTERRUPTED: u16 = 1317;
const READ_LOCKED: u16 = 1223;

/// On a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A statement has waited if it took at least this long.
const A_WHILE: Duration = Duration::from_millis(700);

const READS: [&str; 3] = [
    "SELECT v FROM t WHERE id = 1",
    "SELECT COUNT(*) FROM t",
    "SELECT t.v FROM u JOIN t ON t.id = u.id",
];
const WRITES: [&str; 4] = [
    "INSERT INTO t VALUES (2, 2)",
    "UPDATE t SET v = v + 1 WHERE id = 1",
    "DELETE FROM t WHERE id = 1",
    "SELECT v FROM t WHERE id = 1 FOR UPDATE",
];
const DEFINITIONS: [&str; 4] = [
    "ALTER TABLE t ADD COLUMN w INT",
    "TRUNCATE TABLE t",
    "DROP TABLE t",
    "RENAME TABLE t TO s",
];

pub fn check(cluster: &Cluster, one: &Server, two: &Server, report: &mut Report) {
    let checks: [(&str, Result<(), String>); 8] = [
        ("WRITE keeps all others out", write_lock(one, two)),
        ("READ keeps writers out", read_lock(one, two)),
        ("FLUSH TABLES WITH READ LOCK", flush(one, two)),
        ("a transaction elsewhere is waited for", waits(one, two)),
        ("KILL of the session unlocks", killed_session(one, two)),
        ("a wait that ends leaves nothing", ended_waits(one, two)),
        ("definitions and locks of two servers", no_deadlock(one, two)),
        ("a killed server's locks end", killed_server(cluster, two)),
    ];
    for (name, outcome) in checks {
        report.check(&format!("nodes: LOCK TABLES: {name}"), outcome);
    }
}

/// New tables `t` and `u` of one row, and a session on each server.
fn set_up(one: &Server, two: &Server) -> Result<(Conn, Conn), String> {
    let mut here = one.address.connect().map_err(text)?;
    new_database(&mut here, "locked")?;
    for statement in [
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1)",
        "INSERT INTO u VALUES (1, 1)",
    ] {
        run(&mut here, statement)?;
    }
    Ok((here, connect(two)?))
}

fn connect(server: &Server) -> Result<Conn, String> {
    let mut conn = server.address.connect_to("locked").map_err(text)?;
    run(&mut conn, "SET lock_wait_timeout = 60")?;
    Ok(conn)
}

fn run(conn: &mut Conn, statement: &str) -> Result<(), String> {
    conn.query_drop(statement)
        .map_err(|error| format!("{statement}: {error}"))
}

fn pass<'a>(conn: &mut Conn, statements: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    statements
        .into_iter()
        .try_for_each(|statement| run(conn, statement))
}

/// The statements wait, and fail after a `lock_wait_timeout` of 1 s.
fn wait<'a>(conn: &mut Conn, statements: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    run(conn, "SET lock_wait_timeout = 1")?;
    statements
        .into_iter()
        .try_for_each(|statement| fails(conn, statement, LOCK_WAIT_TIMEOUT))?;
    run(conn, "SET lock_wait_timeout = 60")
}

fn fails(conn: &mut Conn, statement: &str, wanted: u16) -> Result<(), String> {
    match conn.query_drop(statement) {
        Err(error) if code(&error) == wanted => Ok(()),
        other => Err(format!("{statement}: {other:?}, not {wanted}")),
    }
}

/// Runs `statement` elsewhere, which has to wait until `release` has run.
fn until_released(
    server: &Server,
    statement: &'static str,
    release: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let mut conn = connect(server)?;
    let begin = Instant::now();
    let waiter = thread::spawn(move || (run(&mut conn, statement), begin.elapsed()));
    thread::sleep(A_WHILE);
    let has_waited = !waiter.is_finished();
    release()?;
    let (outcome, took) = waiter.join().map_err(|_| "the client panicked".to_owned())?;
    outcome?;
    match has_waited {
        true if took < PATIENCE => Ok(()),
        true => Err(format!("{statement} took {took:?}")),
        false => Err(format!("{statement} did not wait")),
    }
}

fn write_lock(one: &Server, two: &Server) -> Result<(), String> {
    let (mut here, mut there) = set_up(one, two)?;
    let mut neighbour = connect(one)?;
    run(&mut here, "LOCK TABLES t WRITE, u READ")?;
    for other in [&mut there, &mut neighbour] {
        wait(other, READS.into_iter().chain(WRITES).chain(DEFINITIONS))?;
        run(other, "SELECT * FROM u")?;
        wait(other, ["INSERT INTO u VALUES (2, 2)"])?;
        wait(other, ["LOCK TABLES t READ", "LOCK TABLES u WRITE"])?;
    }
    pass(&mut here, ["UPDATE t SET v = 7", "SELECT * FROM u"])?;
    until_released(two, "INSERT INTO t VALUES (3, 3)", || {
        run(&mut here, "UNLOCK TABLES")
    })?;
    // What the session wrote under its lock is there for who waited.
    let seen: Option<u64> = there.query_first("SELECT SUM(v) FROM t").map_err(text)?;
    match seen {
        Some(10) => run(&mut there, "LOCK TABLES t WRITE"),
        other => Err(format!("{other:?}")),
    }?;
    // The end of the session unlocks, too.
    until_released(one, "INSERT INTO t VALUES (4, 4)", || {
        drop(there);
        Ok(())
    })
}

fn read_lock(one: &Server, two: &Server) -> Result<(), String> {
    let (mut here, mut there) = set_up(one, two)?;
    let mut neighbour = connect(one)?;
    run(&mut here, "LOCK TABLES t READ")?;
    for other in [&mut there, &mut neighbour] {
        pass(other, READS)?;
        wait(other, WRITES.into_iter().chain(DEFINITIONS))?;
    }
    // Several sessions can have it.
    pass(&mut there, ["LOCK TABLES t READ", "SELECT * FROM t"])?;
    run(&mut here, "UNLOCK TABLES")?;
    wait(&mut neighbour, WRITES)?;
    until_released(one, WRITES[0], || run(&mut there, "UNLOCK TABLES"))
}

fn flush(one: &Server, two: &Server) -> Result<(), String> {
    let (mut here, mut there) = set_up(one, two)?;
    run(&mut here, "FLUSH TABLES WITH READ LOCK")?;
    pass(&mut there, READS)?;
    wait(&mut there, WRITES.into_iter().chain(DEFINITIONS))?;
    wait(
        &mut there,
        ["INSERT INTO u VALUES (2, 2)", "DROP DATABASE locked"],
    )?;
    fails(&mut here, "INSERT INTO t VALUES (2, 2)", READ_LOCKED)?;
    pass(&mut there, ["FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"])?;
    until_released(two, "INSERT INTO t VALUES (2, 2)", || {
        run(&mut here, "UNLOCK TABLES")
    })?;
    run(&mut here, "FLUSH TABLES u WITH READ LOCK")?;
    run(&mut there, "INSERT INTO t VALUES (5, 5)")?;
    wait(&mut there, ["INSERT INTO u VALUES (2, 2)"])?;
    run(&mut here, "UNLOCK TABLES")
}

fn waits(one: &Server, two: &Server) -> Result<(), String> {
    let (_, mut there) = set_up(one, two)?;
    for (used, statement) in [
        ("UPDATE t SET v = 2", "LOCK TABLES t READ"),
        ("SELECT * FROM t", "LOCK TABLES t WRITE"),
        ("UPDATE t SET v = 3", "FLUSH TABLES WITH READ LOCK"),
    ] {
        pass(&mut there, ["BEGIN", used])?;
        until_released(one, statement, || run(&mut there, "COMMIT"))?;
    }
    // Readers are not waited for by READ.
    pass(&mut there, ["BEGIN", "SELECT * FROM t"])?;
    pass(&mut connect(one)?, ["LOCK TABLES t READ", "UNLOCK TABLES"])?;
    run(&mut there, "COMMIT")
}

fn killed_session(one: &Server, two: &Server) -> Result<(), String> {
    let (mut here, mut there) = set_up(one, two)?;
    run(&mut here, "LOCK TABLES t WRITE")?;
    let id = here.connection_id();
    until_released(two, "INSERT INTO t VALUES (2, 2)", || {
        run(&mut there, &format!("KILL {id}"))
    })
}

fn ended_waits(one: &Server, two: &Server) -> Result<(), String> {
    let (mut here, mut there) = set_up(one, two)?;
    pass(&mut there, ["BEGIN", "UPDATE t SET v = 2"])?;
    for statement in [
        "LOCK TABLES t READ",
        "LOCK TABLES u WRITE, t WRITE",
        "FLUSH TABLES WITH READ LOCK",
    ] {
        wait(&mut here, [statement])?;
    }
    let id = here.connection_id();
    let waiter = thread::spawn(move || here.query_drop("LOCK TABLES u WRITE, t WRITE"));
    thread::sleep(A_WHILE);
    run(&mut there, &format!("KILL QUERY {id}"))?;
    match waiter.join().map_err(|_| "the client panicked".to_owned())? {
        Err(error) if code(&error) == INTERRUPTED => {}
        other => return Err(format!("killed: {other:?}")),
    }
    run(&mut there, "COMMIT")?;
    for server in [one, two] {
        let mut other = connect(server)?;
        pass(&mut other, ["UPDATE t SET v = 5", "UPDATE u SET v = 5"])?;
    }
    Ok(())
}

/// The two servers lock two tables in different orders, and change them. Everything ends.
fn no_deadlock(one: &Server, two: &Server) -> Result<(), String> {
    set_up(one, two)?;
    let rounds = |server: &Server, tables: [&str; 2]| -> Result<(), String> {
        let mut conn = connect(server)?;
        let [first, second] = tables;
        for round in 0..4 {
            let (lock, alter) = (
                format!("LOCK TABLES {first} WRITE, {second} WRITE"),
                format!("ALTER TABLE {first} ADD COLUMN c{round}{first}{second} INT"),
            );
            let update = format!("UPDATE {first}, {second} SET {first}.v = {second}.v + 1");
            pass(
                &mut conn,
                [lock.as_str(), alter.as_str(), update.as_str(), "UNLOCK TABLES"],
            )?;
            pass(&mut conn, [update.as_str()])?;
            pass(&mut conn, [&alter.replace("COLUMN c", "COLUMN d")[..]])?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| rounds(two, ["u", "t"]));
        let here = rounds(one, ["t", "u"]);
        other
            .join()
            .map_err(|_| "a client panicked".to_owned())?
            .and(here)
    })
}

fn killed_server(cluster: &Cluster, two: &Server) -> Result<(), String> {
    let mut dying = Server::start(cluster.program(), &[])?;
    let (mut here, mut there) = set_up(&dying, two)?;
    run(&mut here, "LOCK TABLES t WRITE")?;
    wait(&mut there, ["INSERT INTO t VALUES (2, 2)"])?;
    until_released(two, "INSERT INTO t VALUES (2, 2)", || {
        dying.kill();
        Ok(())
    })
}
