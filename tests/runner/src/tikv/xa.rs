//! XA transactions on several servers of a cluster: a prepared branch belongs to none of them. Servers are killed
//! at each step of XA PREPARE and XA COMMIT.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Row};

use super::cluster::Cluster;
use super::new_database;
use crate::report::Report;
use crate::server::Server;
use crate::sql::corpus::{self, Selection};
use crate::sql::play::{Route, Servers};
use crate::{code, text};

const LOCK_WAIT_TIMEOUT: u16 = 1205;
const NOTA: u16 = 1397;
const DUPID: u16 = 1440;
const ROLLED_BACK: [u16; 2] = [1402, 1614];

/// Short, so that the tests need not wait for 10 s.
const LEASE_SECONDS: u64 = 3;
/// On a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A statement has waited if it took at least this long.
const A_WHILE: Duration = Duration::from_millis(700);
/// A call to the stores that does not return while the test runs.
const STUCK_MS: u64 = 600_000;

/// Keys that begin so are the primaries of branches (`docs/format.md`).
const OUTCOMES: &str = "mXaOutcom";
/// Their records.
const BRANCHES: &str = "mXaBranch";

const BEFORE: &str = "1=1 2=2 3=3 4=4";
const AFTER: &str = "1=10 3=3 4=4 5=5";

pub fn check(cluster: &Cluster, report: &mut Report) -> Result<(), String> {
    let two = start(cluster)?;
    let suite = Suite { cluster, two };
    scripts(&suite, report)?;
    let checks: [(&str, Check<'_>); 12] = [
        ("a branch is ended elsewhere, its server is gone", Suite::survives),
        ("no two branches have one xid", Suite::one_xid),
        ("COMMIT and ROLLBACK at the same time", Suite::two_ends),
        ("COMMIT twice at the same time", Suite::two_commits),
        ("definitions wait for a branch", Suite::definitions),
        ("LOCK TABLES waits for a branch that writes", Suite::table_locks),
        ("garbage is collected beside a branch", Suite::garbage),
        ("killed before the record", Suite::killed_before_the_record),
        ("killed after the record", Suite::killed_after_the_record),
        ("killed after some rows", Suite::killed_after_some_rows),
        (
            "killed before it is prepared",
            Suite::killed_before_it_is_prepared,
        ),
        ("killed after the decision", Suite::killed_after_the_decision),
    ];
    for (name, check) in checks {
        // They need calls that get stuck.
        if cluster.is_real() && name.starts_with("killed ") {
            continue;
        }
        let outcome = check(&suite);
        if !cluster.is_real() {
            cluster.control("/clear")?;
        }
        report.check(&format!("xa: {name}"), outcome);
    }
    report.check("xa: killed at any time", suite.killed_at_any_time());
    Ok(())
}

type Check<'a> = fn(&Suite<'a>) -> Result<(), String>;

struct Suite<'a> {
    cluster: &'a Cluster,
    /// The server that lives.
    two: Server,
}

/// Those of one server hold over two. Deadlocks over two have other victims, so that script is left out.
fn scripts(suite: &Suite<'_>, report: &mut Report) -> Result<(), String> {
    let one = start(suite.cluster)?;
    let selection = Selection {
        directory: "tests/sql".into(),
        filters: vec!["transactions/xa_prepared".to_owned()],
    };
    let servers = Servers {
        main: one.address.opts(),
        named: suite.two.address.opts(),
    };
    report.set_place("over two nodes");
    corpus::check_on(&selection, &servers, true, &[Route::Planner], report);
    report.set_place("tikv");
    Ok(())
}

fn start(cluster: &Cluster) -> Result<Server, String> {
    let mut server = Server::prepare(cluster.program(), &[])?;
    let file = server.path("xa.toml");
    let text = format!("[cluster]\nlease_seconds = {LEASE_SECONDS}\n");
    fs::write(&file, text).map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    Ok(server)
}

fn connect(server: &Server) -> Result<Conn, String> {
    let mut conn = server.address.connect_to("xa").map_err(text)?;
    pass(
        &mut conn,
        &["SET lock_wait_timeout = 1", "SET innodb_lock_wait_timeout = 1"],
    )?;
    Ok(conn)
}

fn run(conn: &mut Conn, statement: &str) -> Result<(), String> {
    conn.query_drop(statement)
        .map_err(|error| format!("{statement}: {error}"))
}

fn pass(conn: &mut Conn, statements: &[&str]) -> Result<(), String> {
    statements.iter().try_for_each(|statement| run(conn, statement))
}

fn fails(conn: &mut Conn, statement: &str, wanted: u16) -> Result<(), String> {
    match conn.query_drop(statement) {
        Err(error) if code(&error) == wanted => Ok(()),
        other => Err(format!("{statement}: {other:?}, not {wanted}")),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}, not {expected:?}")),
    }
}

fn soon(what: &str, mut check: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let begin = Instant::now();
    while !check()? {
        if begin.elapsed() > PATIENCE {
            return Err(format!("not in time: {what}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A table whose rows, and those of its index, are in several regions.
fn set_up(server: &Server) -> Result<Conn, String> {
    let mut conn = server.address.connect().map_err(text)?;
    new_database(&mut conn, "xa")?;
    pass(
        &mut conn,
        &[
            "CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))",
            "SPLIT TABLE t BETWEEN (0) AND (6) REGIONS 3",
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
        ],
    )?;
    drop(conn);
    connect(server)
}

/// A branch that changes row 1, deletes 2, locks 3 and adds 5, up to XA END.
fn work(conn: &mut Conn, xid: &str) -> Result<(), String> {
    pass(
        conn,
        &[
            &format!("XA START '{xid}'"),
            "UPDATE t SET v = 10 WHERE id = 1",
            "DELETE FROM t WHERE id = 2",
            "SELECT * FROM t WHERE id = 3 FOR UPDATE",
            "INSERT INTO t VALUES (5, 5)",
            &format!("XA END '{xid}'"),
        ],
    )
}

fn prepare(conn: &mut Conn, xid: &str) -> Result<(), String> {
    work(conn, xid)?;
    run(conn, &format!("XA PREPARE '{xid}'"))
}

/// The rows, by the primary key and by the index, which have to agree.
fn rows(conn: &mut Conn) -> Result<String, String> {
    let mut read = |index| -> Result<String, String> {
        let sql = format!("SELECT id, v FROM t FORCE INDEX ({index}) WHERE v > -1 ORDER BY id");
        let rows: Vec<(i64, i64)> = conn.query(sql).map_err(text)?;
        let rows: Vec<String> = rows.iter().map(|(id, v)| format!("{id}={v}")).collect();
        Ok(rows.join(" "))
    };
    let (by_row, by_index) = (read("PRIMARY")?, read("v")?);
    same("by the index", &by_index, &by_row)?;
    Ok(by_row)
}

fn recovered(conn: &mut Conn) -> Result<Vec<String>, String> {
    let rows: Vec<(u64, u64, u64, String)> = conn.query("XA RECOVER").map_err(text)?;
    Ok(rows.into_iter().map(|(.., data)| data).collect())
}

/// Every row that the branch has locked, and no other one.
fn check_locked(conn: &mut Conn) -> Result<(), String> {
    for statement in [
        "UPDATE t SET v = 11 WHERE id = 1",
        "DELETE FROM t WHERE id = 2",
        "SELECT * FROM t WHERE id = 3 FOR UPDATE",
        "INSERT INTO t VALUES (5, 6)",
    ] {
        fails(conn, statement, LOCK_WAIT_TIMEOUT)?;
    }
    run(conn, "UPDATE t SET v = 4 WHERE id = 4")
}

/// Soon nothing is locked, nothing is prepared, and the rows are these.
fn check_ended(conn: &mut Conn, expected: &str) -> Result<(), String> {
    soon("the rows are free", || {
        let locked = conn.query_drop("SELECT * FROM t WHERE id <= 5 FOR UPDATE NOWAIT");
        Ok(locked.is_ok())
    })?;
    same("prepared branches", &recovered(conn)?, &Vec::new())?;
    same("the rows", &rows(conn)?, &expected.to_owned())?;
    // No branch is in the way of a definition.
    run(conn, "SET lock_wait_timeout = 60")?;
    run(conn, "ALTER TABLE t ADD COLUMN w INT")?;
    run(conn, "ALTER TABLE t DROP COLUMN w")?;
    let complaints: Vec<Row> = conn.query("ADMIN CHECK TABLE t").map_err(text)?;
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(format!("ADMIN CHECK TABLE: {complaints:?}")),
    }
}

impl Suite<'_> {
    /// A server that will be killed, with new tables, and a session on each server.
    fn dying(&self) -> Result<(Server, Conn, Conn), String> {
        let one = start(self.cluster)?;
        let here = set_up(&one)?;
        let there = connect(&self.two)?;
        Ok((one, here, there))
    }

    fn survives(&self) -> Result<(), String> {
        for (end, expected) in [("COMMIT", AFTER), ("ROLLBACK", BEFORE)] {
            let (mut one, mut here, mut there) = self.dying()?;
            prepare(&mut here, "branch")?;
            // The session goes on without it, and sees what is committed.
            same("rows here", &rows(&mut here)?, &BEFORE.to_owned())?;
            check_locked(&mut here)?;
            one.kill();
            // Longer than the server's lease, and than locks live without a heartbeat.
            if !self.cluster.is_real() {
                self.cluster.control("/advance?ms=60000")?;
            }
            same("rows there", &rows(&mut there)?, &BEFORE.to_owned())?;
            check_locked(&mut there)?;
            same("recovered", &recovered(&mut there)?, &vec!["branch".to_owned()])?;
            fails(&mut there, "XA START 'branch'", DUPID)?;
            let mut third = start(self.cluster)?;
            let mut conn = connect(&third)?;
            check_locked(&mut conn)?;
            run(&mut conn, &format!("XA {end} 'branch'"))?;
            fails(&mut there, &format!("XA {end} 'branch'"), NOTA)?;
            check_ended(&mut there, expected)?;
            third.kill();
        }
        Ok(())
    }

    fn one_xid(&self) -> Result<(), String> {
        let (_one, mut here, mut there) = self.dying()?;
        run(&mut there, "XA START 'twin'")?;
        run(&mut there, "UPDATE t SET v = 40 WHERE id = 4")?;
        prepare(&mut here, "twin")?;
        run(&mut there, "XA END 'twin'")?;
        // It began before the other one was prepared.
        fails(&mut there, "XA PREPARE 'twin'", DUPID)?;
        fails(&mut there, "XA START 'twin'", DUPID)?;
        run(&mut there, "UPDATE t SET v = 4 WHERE id = 4")?;
        run(&mut there, "XA COMMIT 'twin'")?;
        check_ended(&mut here, AFTER)
    }

    fn two_ends(&self) -> Result<(), String> {
        let (_one, mut here, mut there) = self.dying()?;
        for _ in 0..8 {
            run(&mut here, "DELETE FROM t")?;
            run(&mut here, "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)")?;
            prepare(&mut here, "branch")?;
            let (committed, rolled_back) = thread::scope(|scope| {
                let commit = scope.spawn(|| here.query_drop("XA COMMIT 'branch'"));
                let rollback = there.query_drop("XA ROLLBACK 'branch'");
                (commit.join(), rollback)
            });
            let committed = committed.map_err(|_| "the client panicked".to_owned())?;
            let expected = match (committed, rolled_back) {
                (Ok(()), Err(error)) if code(&error) == NOTA => AFTER,
                (Err(error), Ok(())) if code(&error) == NOTA => BEFORE,
                other => return Err(format!("COMMIT and ROLLBACK: {other:?}")),
            };
            same("rows", &rows(&mut there)?, &expected.to_owned())?;
            same("recovered", &recovered(&mut here)?, &Vec::new())?;
        }
        Ok(())
    }

    fn two_commits(&self) -> Result<(), String> {
        let (_one, mut here, mut there) = self.dying()?;
        prepare(&mut here, "branch")?;
        let ends = thread::scope(|scope| {
            let ends = [&mut here, &mut there]
                .map(|conn| scope.spawn(move || conn.query_drop("XA COMMIT 'branch'")));
            ends.map(|end| end.join().map_err(|_| "the client panicked".to_owned()))
        });
        let mut codes = Vec::new();
        for end in ends {
            codes.push(end?.err().map_or(0, |error| code(&error)));
        }
        codes.sort_unstable();
        same("the ends", &codes, &vec![0, NOTA])?;
        check_ended(&mut here, AFTER)
    }

    fn definitions(&self) -> Result<(), String> {
        for survives in [true, false] {
            let (mut one, mut here, mut there) = self.dying()?;
            prepare(&mut here, "branch")?;
            if !survives {
                one.kill();
            }
            for statement in [
                "ALTER TABLE t ADD COLUMN w INT",
                "ALTER TABLE t ADD INDEX w (id, v)",
                "TRUNCATE TABLE t",
                "RENAME TABLE t TO u",
                "DROP TABLE t",
                "DROP DATABASE xa",
            ] {
                fails(&mut there, statement, LOCK_WAIT_TIMEOUT)?;
            }
            // Other tables are not concerned.
            run(&mut there, "SET lock_wait_timeout = 60")?;
            run(&mut there, "CREATE TABLE other (id INT PRIMARY KEY)")?;
            run(&mut there, "ALTER TABLE other ADD COLUMN v INT")?;
            let mut waiting = connect(&self.two)?;
            run(&mut waiting, "SET lock_wait_timeout = 60")?;
            let waiter = thread::spawn(move || {
                run(&mut waiting, "ALTER TABLE t ADD INDEX w (v, id)").map(|()| waiting)
            });
            thread::sleep(A_WHILE);
            if waiter.is_finished() {
                return Err(format!("ADD INDEX did not wait: {:?}", waiter.join()));
            }
            run(&mut there, "XA COMMIT 'branch'")?;
            let mut conn = waiter.join().map_err(|_| "the client panicked".to_owned())??;
            let found: Vec<i64> = conn
                .query("SELECT id FROM t FORCE INDEX (w) WHERE v > 0 ORDER BY id")
                .map_err(text)?;
            same("the new index", &found, &vec![1, 3, 4, 5])?;
            check_ended(&mut there, AFTER)?;
        }
        Ok(())
    }

    fn table_locks(&self) -> Result<(), String> {
        let (mut one, mut here, mut there) = self.dying()?;
        prepare(&mut here, "branch")?;
        one.kill();
        for statement in ["LOCK TABLES t WRITE", "LOCK TABLES t READ"] {
            fails(&mut there, statement, LOCK_WAIT_TIMEOUT)?;
        }
        run(&mut there, "XA ROLLBACK 'branch'")?;
        pass(
            &mut there,
            &[
                "SET lock_wait_timeout = 60",
                "LOCK TABLES t WRITE",
                "UNLOCK TABLES",
            ],
        )?;
        check_ended(&mut there, BEFORE)
    }

    /// Versions that are replaced while the branch waits are collected no further than up to its start.
    fn garbage(&self) -> Result<(), String> {
        if self.cluster.is_real() {
            return Ok(());
        }
        let (mut one, mut here, mut there) = self.dying()?;
        run(&mut there, "SET GLOBAL stemdb_gc_age = 10")?;
        prepare(&mut here, "branch")?;
        one.kill();
        for round in 0..4 {
            self.cluster.control("/advance?ms=600000")?;
            run(&mut there, &format!("UPDATE t SET v = {round} WHERE id = 4"))?;
            same("recovered", &recovered(&mut there)?, &vec!["branch".to_owned()])?;
        }
        run(&mut there, "UPDATE t SET v = 4 WHERE id = 4")?;
        check_locked(&mut there)?;
        run(&mut there, "XA COMMIT 'branch'")?;
        run(&mut there, "SET GLOBAL stemdb_gc_age = DEFAULT")?;
        check_ended(&mut there, AFTER)
    }

    /// Kills a server in XA PREPARE or XA COMMIT, while a call that names a key with this prefix is stuck. The
    /// call is not executed.
    fn kill_at(
        &self,
        rpc: &str,
        hexkey: &str,
        statement: &'static str,
        prepared: bool,
    ) -> Result<Conn, String> {
        let (mut one, mut here, there) = self.dying()?;
        match prepared {
            true => prepare(&mut here, "branch")?,
            false => work(&mut here, "branch")?,
        }
        let most = 1_000;
        self.cluster.control(&format!(
            "/drop-next?rpc={rpc}&when=before&ms={STUCK_MS}&count={most}&hexkey={hexkey}"
        ))?;
        let client = thread::spawn(move || here.query_drop(statement));
        soon("the call is there", || {
            let status = self.cluster.control("/status")?;
            Ok(!status.contains(&format!("\"faults\": {most}")))
        })?;
        one.kill();
        if let Ok(Ok(())) = client.join() {
            return Err(format!("{statement} has ended"));
        }
        self.cluster.control("/clear")?;
        Ok(there)
    }

    fn killed_before_the_record(&self) -> Result<(), String> {
        let mut conn = self.kill_at("Prewrite", &hex(BRANCHES), "XA PREPARE 'branch'", false)?;
        fails(&mut conn, "XA COMMIT 'branch'", NOTA)?;
        self.cluster.control("/advance?ms=60000")?;
        check_ended(&mut conn, BEFORE)
    }

    fn killed_after_the_record(&self) -> Result<(), String> {
        let mut conn = self.kill_at("Prewrite", &hex(OUTCOMES), "XA PREPARE 'branch'", false)?;
        self.undone(&mut conn)
    }

    fn killed_after_some_rows(&self) -> Result<(), String> {
        // The rows of tables; the primary is prewritten before.
        let mut conn = self.kill_at("Prewrite", &hex("t"), "XA PREPARE 'branch'", false)?;
        self.undone(&mut conn)
    }

    fn killed_before_it_is_prepared(&self) -> Result<(), String> {
        let (mut one, mut here, mut conn) = self.dying()?;
        work(&mut here, "branch")?;
        // The second prewrite of the record is the one that says that everything is prewritten.
        self.cluster
            .control(&format!("/delay-next?rpc=Prewrite&ms=1&hexkey={}", hex(BRANCHES)))?;
        self.cluster.control(&format!(
            "/drop-next?rpc=Prewrite&when=before&ms={STUCK_MS}&count=1000&hexkey={}",
            hex(BRANCHES)
        ))?;
        let client = thread::spawn(move || here.query_drop("XA PREPARE 'branch'"));
        soon("the call is there", || {
            let status = self.cluster.control("/status")?;
            Ok(!status.contains("\"faults\": 1000") && !status.contains("\"faults\": 1001"))
        })?;
        one.kill();
        if let Ok(Ok(())) = client.join() {
            return Err("XA PREPARE has ended".to_owned());
        }
        self.cluster.control("/clear")?;
        self.undone(&mut conn)
    }

    /// Another server undoes what the killed one has begun.
    fn undone(&self, conn: &mut Conn) -> Result<(), String> {
        same("prepared branches", &recovered(conn)?, &Vec::new())?;
        fails(conn, "XA COMMIT 'branch'", NOTA)?;
        // The locks that were not prewritten yet expire.
        self.cluster.control("/advance?ms=60000")?;
        check_ended(conn, BEFORE)
    }

    fn killed_after_the_decision(&self) -> Result<(), String> {
        // The primary is committed, and no row is.
        let mut conn = self.kill_at("Commit", &hex("t"), "XA COMMIT 'branch'", true)?;
        same("prepared branches", &recovered(&mut conn)?, &Vec::new())?;
        same("rows", &rows(&mut conn)?, &AFTER.to_owned())?;
        // It cannot be rolled back any more.
        fails(&mut conn, "XA ROLLBACK 'branch'", NOTA)?;
        check_ended(&mut conn, AFTER)?;
        // The record is gone: the xid can be used again.
        soon("the xid is free", || {
            let free = conn.query_drop("XA START 'branch'").is_ok();
            Ok(free)
        })?;
        pass(&mut conn, &["XA END 'branch'", "XA ROLLBACK 'branch'"])
    }

    /// Servers are killed at random moments of XA PREPARE and XA COMMIT. What a client was told holds.
    fn killed_at_any_time(&self) -> Result<(), String> {
        for round in 0..6_u64 {
            let (mut one, mut here, mut there) = self.dying()?;
            let client = thread::spawn(move || {
                let mut done = 0;
                if work(&mut here, "branch").is_err() {
                    return Ok(done);
                }
                for statement in ["XA PREPARE 'branch'", "XA COMMIT 'branch'"] {
                    match here.query_drop(statement) {
                        Ok(()) => done += 1,
                        Err(mysql::Error::MySqlError(error)) if !ROLLED_BACK.contains(&error.code) => {
                            return Err(error.to_string());
                        }
                        Err(_) => break,
                    }
                }
                Ok(done)
            });
            thread::sleep(Duration::from_millis(15 + 9 * round));
            one.kill();
            let done = client.join().map_err(|_| "the client panicked".to_owned())??;
            if !self.cluster.is_real() {
                self.cluster.control("/advance?ms=60000")?;
            }
            // What is undone or finished by another server is seen to be that first.
            soon("the branch is prepared or ended", || {
                let is_prepared = !recovered(&mut there)?.is_empty();
                let is_free = there
                    .query_drop("SELECT * FROM t WHERE id <= 5 FOR UPDATE NOWAIT")
                    .is_ok();
                Ok(is_prepared || is_free)
            })?;
            let expected = match (done, recovered(&mut there)?.len()) {
                (2, 0) => AFTER,
                (1, 0) => AFTER,
                (0, 0) => BEFORE,
                (0 | 1, 1) => {
                    run(&mut there, "XA COMMIT 'branch'")?;
                    AFTER
                }
                other => return Err(format!("replies and prepared branches: {other:?}")),
            };
            check_ended(&mut there, expected)?;
        }
        Ok(())
    }
}

fn hex(prefix: &str) -> String {
    prefix.bytes().map(|byte| format!("{byte:02x}")).collect()
}
