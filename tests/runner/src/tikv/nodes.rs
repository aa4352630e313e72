//! Two servers on one cluster: what one does for both, what it requests from the other, and what it takes
//! over.

use std::collections::HashSet;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::cluster::Cluster;
use super::{new_database, table_locks};
use crate::concurrency::{foreign_keys, partitions};
use crate::report::Report;
use crate::server::Server;
use crate::sql::corpus::{self, Selection};
use crate::sql::play::{Route, Servers};

/// Changes reach the other node within this time, on a busy machine.
const SOON: Duration = Duration::from_secs(60);
const UNKNOWN_THREAD: u16 = 1094;
const TABLE_DENIED: u16 = 1142;
const NOT_OWNER: u16 = 1095;
/// The error when the other node has not responded in time.
const NO_ANSWER: u16 = 1105;
const INTERRUPTED: u16 = 1317;

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let one = Server::start(cluster.program(), &[])?;
    let two = Server::start(cluster.program(), &[])?;
    races(&one, &two, report);
    report.check(
        "nodes: SET GLOBAL reaches all and stays",
        globals(cluster, &one, &two),
    );
    report.check(
        "nodes: connections have numbers of their own",
        numbers(&one, &two),
    );
    report.check(
        "nodes: foreign keys hold over nodes",
        foreign_keys::check_over(&one.address, &two.address),
    );
    report.check(
        "nodes: rows stay while partitions change",
        partitions::check_over(&one.address, &two.address),
    );
    table_locks::check(cluster, &one, &two, report);
    report.check("nodes: KILL over nodes", kill(&one, &two));
    report.check("nodes: accounts are those of all", accounts(&one, &two));
    report.check("nodes: everybody's connections are listed", listed(&one, &two));
    report.check("nodes: ids are unique over nodes", ids(&one, &two));
    report.check("nodes: statistics are those of all", statistics(&one, &two));
    report.check(
        "nodes: an index that a killed node was adding is finished",
        takeover(cluster, &two),
    );
    report.check(
        "nodes: a server that cannot start is not waited for",
        false_start(cluster, &one),
    );
    Ok(())
}

/// Statements that wait for a lock of the other node, and what they read afterwards; LOCK TABLES and GET_LOCK
/// across nodes.
fn races(one: &Server, two: &Server, report: &mut Report) {
    let selection = Selection {
        directory: PathBuf::from("tests/sql"),
        filters: [
            "transactions/races_",
            "transactions/lock_tables_waits",
            "session/user_locks",
        ]
        .map(str::to_owned)
        .to_vec(),
    };
    let servers = Servers {
        main: one.address.opts(),
        named: two.address.opts(),
    };
    report.set_place("over two nodes");
    corpus::check_on(&selection, &servers, true, &[Route::Planner], report);
    report.set_place("tikv");
}

fn globals(cluster: &Cluster, one: &Server, two: &Server) -> Result<(), String> {
    let mut setter = connect(one)?;
    run(&mut setter, "SET GLOBAL wait_timeout = 12345")?;
    run(&mut setter, "SET GLOBAL max_connections = 77")?;
    run(&mut setter, "SET GLOBAL collation_server = utf8mb4_general_ci")?;
    let mut other = connect(two)?;
    soon("the other node has the value", || {
        let found: Option<(u64, String)> = other
            .query_first("SELECT @@global.wait_timeout, @@global.character_set_server")
            .map_err(text)?;
        Ok(found == Some((12345, "utf8mb4".to_owned())))
    })?;
    let own: Option<u64> = connect(two)?.query_first("SELECT @@wait_timeout").map_err(text)?;
    same("a new session's value", &own, &Some(12345))?;
    let connections: Option<u64> = other
        .query_first("SELECT @@global.max_connections")
        .map_err(text)?;
    if connections == Some(77) {
        return Err("max_connections is each node's own".to_owned());
    }
    let third = Server::start(cluster.program(), &[])?;
    let settings: Option<(u64, String)> = connect(&third)?
        .query_first("SELECT @@global.wait_timeout, @@global.collation_server")
        .map_err(text)?;
    same(
        "a later node's value",
        &settings,
        &Some((12345, "utf8mb4_general_ci".to_owned())),
    )?;
    // Restores the values of a new cluster.
    for name in ["wait_timeout", "max_connections", "collation_server"] {
        run(&mut setter, &format!("SET GLOBAL {name} = DEFAULT"))?;
    }
    Ok(())
}

fn numbers(one: &Server, two: &Server) -> Result<(), String> {
    let open = |server| (0..5).map(|_| connect(server)).collect::<Result<Vec<_>, _>>();
    let (here, there) = (open(one)?, open(two)?);
    let all: HashSet<u32> = here.iter().chain(&there).map(Conn::connection_id).collect();
    same("different numbers", &all.len(), &10)
}

fn kill(one: &Server, two: &Server) -> Result<(), String> {
    let mut killer = connect(two)?;
    for (statement, goes_on) in [("KILL QUERY", true), ("KILL", false)] {
        let mut victim = connect(one)?;
        let id = victim.connection_id();
        let sleeper = thread::spawn(move || {
            let slept: Result<Option<u64>, _> = victim.query_first("SELECT SLEEP(300)");
            let alive = victim.query_drop("SELECT 1").is_ok();
            (slept, alive)
        });
        let mut watcher = connect(one)?;
        soon("the statement runs", || {
            let sql = format!(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE '%SLEEP%'"
            );
            let running: Option<u64> = watcher.query_first(sql).map_err(text)?;
            Ok(running == Some(1))
        })?;
        kill_once(&mut killer, &format!("{statement} {id}"))?;
        let (slept, alive) = sleeper.join().map_err(|_| "the client panicked".to_owned())?;
        let is_over = match &slept {
            // The result of an interrupted SLEEP, unless another one is expected.
            Ok(answer) => *answer == Some(1),
            Err(mysql::Error::MySqlError(error)) => error.code == INTERRUPTED,
            Err(_) => !goes_on,
        };
        if !is_over || alive != goes_on {
            return Err(format!("{statement}: {slept:?}, alive: {alive}"));
        }
    }
    // Ids of a connection on no node, on a node that does not exist, on this node, and on the other one.
    let (own, others) = (killer.connection_id(), connect(one)?.connection_id());
    for id in [1, u32::MAX - 1, own ^ (1 << 20), others ^ (1 << 20)] {
        refused(&mut killer, &format!("KILL {id}"), UNKNOWN_THREAD)?;
    }
    Ok(())
}

/// Repeats until the other node has responded. If it took long, the first attempt may have worked.
fn kill_once(killer: &mut Conn, statement: &str) -> Result<(), String> {
    let mut may_be_done = false;
    soon(statement, || match code(killer.query_drop(statement))? {
        None => Ok(true),
        Some(UNKNOWN_THREAD) if may_be_done => Ok(true),
        Some(NO_ANSWER) => {
            may_be_done = true;
            Ok(false)
        }
        Some(other) => Err(format!("{statement}: {other}")),
    })
}

fn refused(conn: &mut Conn, statement: &str, wanted: u16) -> Result<(), String> {
    soon(statement, || match code(conn.query_drop(statement))? {
        Some(found) if found == wanted => Ok(true),
        Some(NO_ANSWER) => Ok(false),
        other => Err(format!("{statement}: {other:?}, not {wanted}")),
    })
}

/// The number of the server's error.
fn code(answer: mysql::Result<()>) -> Result<Option<u16>, String> {
    match answer {
        Ok(()) => Ok(None),
        Err(mysql::Error::MySqlError(error)) => Ok(Some(error.code)),
        Err(error) => Err(text(error)),
    }
}

fn accounts(one: &Server, two: &Server) -> Result<(), String> {
    let mut root = connect(one)?;
    new_database(&mut root, "kims")?;
    run(&mut root, "DROP USER IF EXISTS kim@localhost")?;
    run(&mut root, "CREATE USER kim@localhost")?;
    let as_kim = |server: &Server| Conn::new(server.address.builder().user(Some("kim")));
    // When the statement ends, a change of an account is effective on all nodes.
    as_kim(two).map_err(|error| format!("kim may connect to the other node: {error}"))?;
    let (mut here, there) = (as_kim(one).map_err(text)?, as_kim(two).map_err(text)?);
    let mut far = as_kim(two).map_err(text)?;
    run(&mut root, "CREATE TABLE kims.t (id INT PRIMARY KEY)")?;
    for _ in 0..3 {
        run(&mut root, "GRANT SELECT ON kims.* TO kim@localhost")?;
        far.query_drop("SELECT * FROM kims.t")
            .map_err(|error| format!("kim may read there: {error}"))?;
        run(&mut root, "REVOKE SELECT ON kims.* FROM kim@localhost")?;
        refused(&mut far, "SELECT * FROM kims.t", TABLE_DENIED)?;
    }
    refused(&mut far, &format!("KILL {}", root.connection_id()), NOT_OWNER)?;
    kill_once(&mut here, &format!("KILL {}", there.connection_id()))?;
    let mut seen = Vec::new();
    let listed = soon("kim sees no connections but kim's, on both nodes", || {
        let sql = "SELECT DISTINCT user, instance FROM information_schema.cluster_processlist";
        seen = here.query::<(String, String), _>(sql).map_err(text)?;
        Ok(seen.len() == 2 && seen.iter().all(|(user, _)| user == "kim"))
    });
    listed.map_err(|error| format!("{error}: {seen:?}"))?;
    run(&mut root, "DROP USER kim@localhost")?;
    match as_kim(two) {
        Ok(_) => Err("kim may connect there, though there is no such account any more".to_owned()),
        Err(_) => Ok(()),
    }
}

fn listed(one: &Server, two: &Server) -> Result<(), String> {
    let (here, mut there) = (connect(one)?, connect(two)?);
    let own: Vec<u32> = there
        .query("SELECT id FROM information_schema.processlist")
        .map_err(text)?;
    same(
        "the other's connection in PROCESSLIST",
        &own.contains(&here.connection_id()),
        &false,
    )?;
    // A node that has not responded in time is missing, with a warning.
    soon("both are listed", || {
        let all: Vec<(String, u32)> = there
            .query("SELECT instance, id FROM information_schema.cluster_processlist")
            .map_err(text)?;
        let is_listed = |(server, id): (&Server, u32)| {
            let port = format!(":{}", server.address.port);
            all.iter().any(|(at, found)| *found == id && at.ends_with(&port))
        };
        Ok([(one, here.connection_id()), (two, there.connection_id())]
            .into_iter()
            .all(is_listed))
    })
}

/// The definition cannot proceed while a transaction of the other node uses the table.
fn takeover(cluster: &Cluster, two: &Server) -> Result<(), String> {
    let mut dying = Server::start(cluster.program(), &[])?;
    let (mut holder, mut watcher) = (connect(two)?, connect(two)?);
    new_database(&mut holder, "jobs")?;
    run(&mut holder, "CREATE TABLE jobs.t (id INT PRIMARY KEY, v INT)")?;
    for id in 0..100 {
        run(
            &mut holder,
            &format!("INSERT INTO jobs.t VALUES ({id}, {id} % 7)"),
        )?;
    }
    run(&mut holder, "BEGIN")?;
    run(&mut holder, "SELECT * FROM jobs.t")?;
    let mut client = connect(&dying)?;
    let altering = thread::spawn(move || client.query_drop("ALTER TABLE jobs.t ADD INDEX v (v)"));
    let mut jobs = || -> Result<usize, String> {
        let rows: Vec<Row> = watcher.query("ADMIN SHOW DDL JOBS 0").map_err(text)?;
        Ok(rows.len())
    };
    soon("the job is there", || Ok(jobs()? == 1))?;
    dying.kill();
    let altered = altering.join().map_err(|_| "the client panicked".to_owned())?;
    if let Ok(()) | Err(mysql::Error::MySqlError(_)) = altered {
        return Err(format!("the server was not killed in the middle: {altered:?}"));
    }
    same("jobs left behind", &jobs()?, &1)?;
    run(&mut holder, "ROLLBACK")?;
    soon("the job is done", || Ok(jobs()? == 0))?;
    // Another node may have finished it, and this one has to learn of it.
    soon("the index is known here", || {
        let sql = "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = 'jobs' AND index_name = 'v'";
        let known: Option<u64> = holder.query_first(sql).map_err(text)?;
        Ok(known == Some(1))
    })?;
    let found: Option<u64> = holder
        .query_first("SELECT COUNT(*) FROM jobs.t USE INDEX (v) WHERE v = 3")
        .map_err(text)?;
    same("rows by the index", &found, &Some(14))?;
    run(&mut holder, "ADMIN CHECK TABLE jobs.t")
}

/// It has joined the other nodes, with a lease of an hour, before it finds that its port is taken.
fn false_start(cluster: &Cluster, one: &Server) -> Result<(), String> {
    let mut server = Server::prepare(cluster.program(), &[])?;
    let file = server.path("long.toml");
    fs::write(&file, "[cluster]\nlease_seconds = 3600\n").map_err(text)?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    let _taken = TcpListener::bind(("127.0.0.1", server.address.port)).map_err(text)?;
    let ended = server.command()?.status().map_err(text)?;
    if ended.success() {
        return Err("it has served on a port that was taken".to_owned());
    }
    let mut conn = connect(one)?;
    run(&mut conn, "SET lock_wait_timeout = 60")?;
    new_database(&mut conn, "false_start")?;
    run(&mut conn, "CREATE TABLE false_start.t (id INT PRIMARY KEY)")
}

fn ids(one: &Server, two: &Server) -> Result<(), String> {
    const EACH: usize = 300;
    let mut conn = connect(one)?;
    new_database(&mut conn, "ids")?;
    for (table, kind) in [("i", "AUTO_INCREMENT"), ("r", "AUTO_RANDOM")] {
        run(
            &mut conn,
            &format!("CREATE TABLE ids.{table} (id BIGINT PRIMARY KEY {kind}, v INT)"),
        )?;
    }
    thread::scope(|scope| {
        let workers: Vec<_> = [one, two, one, two]
            .into_iter()
            .map(|server| {
                scope.spawn(move || {
                    let mut conn = connect(server)?;
                    for v in 0..EACH {
                        run(&mut conn, &format!("INSERT INTO ids.i (v) VALUES ({v})"))?;
                        run(&mut conn, &format!("INSERT INTO ids.r (v) VALUES ({v})"))?;
                    }
                    Ok::<(), String>(())
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a client panicked".to_owned())?)
    })?;
    for table in ["i", "r"] {
        let count: Option<usize> = conn
            .query_first(format!("SELECT COUNT(*) FROM ids.{table}"))
            .map_err(text)?;
        same(table, &count, &Some(4 * EACH))?;
    }
    Ok(())
}

/// What ANALYZE finds on one node, the other one plans with. A table that only the second node knows is looked at again
/// there when it has grown, and the first node sees that.
fn statistics(one: &Server, two: &Server) -> Result<(), String> {
    let (mut here, mut there) = (connect(one)?, connect(two)?);
    new_database(&mut here, "shared_statistics")?;
    let of_t = "SELECT cardinality FROM information_schema.statistics \
                WHERE table_schema = 'shared_statistics' AND index_name = 'v'";
    let cardinality = |conn: &mut Conn| {
        run(conn, "SET information_schema_stats_expiry = 0")?;
        conn.query_first::<Option<u64>, _>(of_t).map_err(text)
    };
    let fill = |conn: &mut Conn, rows: std::ops::Range<u32>| {
        let values: Vec<String> = rows.map(|id| format!("({id}, {})", id / 10)).collect();
        run(
            conn,
            &format!("INSERT INTO shared_statistics.t VALUES {}", values.join(",")),
        )
    };
    run(
        &mut here,
        "CREATE TABLE shared_statistics.t (id INT PRIMARY KEY, v INT, KEY v (v)) STATS_AUTO_RECALC = 0",
    )?;
    fill(&mut here, 0..2_000)?;
    // The other node remembers that there are none.
    cardinality(&mut there)?;
    run(&mut here, "ANALYZE TABLE shared_statistics.t")?;
    soon("the other node has what ANALYZE has found", || {
        Ok(cardinality(&mut there)? == Some(Some(200)))
    })?;
    run(
        &mut there,
        "ALTER TABLE shared_statistics.t STATS_AUTO_RECALC = 1",
    )?;
    fill(&mut there, 2_000..9_000)?;
    soon("the statistics of the grown table are renewed", || {
        // A plan of this node depends on the size.
        let _: Vec<Row> = there
            .query("SELECT * FROM shared_statistics.t WHERE v = 3 AND id > 5")
            .map_err(text)?;
        Ok(cardinality(&mut there)?
            .flatten()
            .is_some_and(|found| found > 600))
    })?;
    soon("the first node has them, too", || {
        Ok(cardinality(&mut here)?.flatten().is_some_and(|found| found > 600))
    })
}

fn soon(what: &str, mut is_so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let end = Instant::now() + SOON;
    while !is_so()? {
        if Instant::now() > end {
            return Err(format!("{what}: not within {SOON:?}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, wanted: &T) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: {found:?}, not {wanted:?}"))
}

fn connect(server: &Server) -> Result<Conn, String> {
    server.address.connect().map_err(text)
}

fn run(conn: &mut Conn, statement: &str) -> Result<(), String> {
    conn.query_drop(statement)
        .map_err(|error| format!("{statement}: {error}"))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
