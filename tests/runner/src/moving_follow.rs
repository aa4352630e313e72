//! `stemdb import --follow` and `--cut-over` of a real MariaDB, and of a real MySQL, if there is one: with bench's
//! peers, or in the directory that `STEMDB_MYSQL_HOME` names.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::moving::{expect, same};
use crate::report::Report;
use crate::server::{Program, Server};
use crate::text;

const PATIENCE: Duration = Duration::from_secs(60);

const SCHEMA: &[&str] = &[
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE parent (code CHAR(3) PRIMARY KEY, name VARCHAR(30))",
    "CREATE TABLE child (id INT PRIMARY KEY, code CHAR(3), FOREIGN KEY (code) REFERENCES parent (code) \
     ON UPDATE CASCADE ON DELETE SET NULL)",
    "CREATE TABLE part (id INT PRIMARY KEY, child INT NOT NULL, FOREIGN KEY (child) REFERENCES child (id) \
     ON DELETE CASCADE)",
    "CREATE TABLE film (id INT PRIMARY KEY, title VARCHAR(99), about TEXT, FULLTEXT about (title, about))",
    "CREATE TABLE numbers (id INT PRIMARY KEY, d DOUBLE, f FLOAT)",
    "CREATE TABLE keyless (a INT, b VARCHAR(9))",
    "CREATE VIEW of_dinosaurs AS SELECT id FROM film WHERE MATCH (title, about) AGAINST ('dinosaur')",
    "INSERT INTO parent VALUES ('ch', 'x'), ('fr', 'y'), ('it', 'z')",
    "INSERT INTO child VALUES (1, 'ch'), (2, 'ch'), (3, 'fr'), (4, 'it')",
    "INSERT INTO part VALUES (1, 1), (2, 1), (3, 2), (4, 3)",
    "INSERT INTO film VALUES (1, 'Academy Dinosaur', 'an epic drama'), (2, 'Ace', 'a dinosaur of a film')",
    "INSERT INTO numbers VALUES (1, -1.2345678901234567e-14, 1e30), (2, 1.7976931348623157e308, -1.1), \
     (3, 5e-324, 1.17549435e-38), (4, 4294967296, 0), (5, -1e25 / 7, 16777217), (6, 0.1, NULL)",
    "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, NULL)",
];

/// What the source does while it is followed. InnoDB does not log what foreign keys change.
const CHANGES: &[&str] = &[
    "UPDATE parent SET code = 'CH' WHERE code = 'ch'",
    "DELETE FROM child WHERE id = 1",
    "DELETE FROM parent WHERE code = 'it'",
    "SET foreign_key_checks = 0",
    "DELETE FROM parent WHERE code = 'fr'",
    "INSERT INTO child VALUES (9, 'zz')",
    "SET foreign_key_checks = 1",
    "SET binlog_row_image = MINIMAL",
    "UPDATE film SET about = 'another dinosaur' WHERE id = 1",
    "REPLACE INTO film VALUES (2, 'Ace', 'no more'), (3, 'Jurassic', 'a dinosaur')",
    "SET binlog_row_image = NOBLOB",
    "UPDATE film SET title = 'Dinosaur' WHERE id = 2",
    "UPDATE numbers SET d = d / 3, f = f / 3 WHERE d < 1e300",
    "DELETE FROM keyless WHERE a = 1 LIMIT 1",
    "ALTER TABLE film ADD FULLTEXT only (about), ADD COLUMN made DATE DEFAULT '2020-02-02'",
    "INSERT INTO film VALUES (4, 'Zoo', 'dinosaur', '2021-01-01')",
    "CREATE DATABASE elsewhere",
    "CREATE TABLE elsewhere.t (a INT)",
    "INSERT INTO elsewhere.t VALUES (1)",
    "CREATE TABLE later AS SELECT id, title FROM film",
];

pub fn check(program: &Program, binary: PathBuf, report: &mut Report) {
    let mysql = "moving: MySQL's log is followed until both are equal";
    match find_mysql() {
        Some(home) => report.check(mysql, follows(program, &binary, Program::Mysqld(home))),
        None => report.skip(mysql, "no MySQL: set STEMDB_MYSQL_HOME"),
    }
    let mariadb = "moving: MariaDB's log is followed until both are equal";
    match find_mariadb() {
        Some(server) => report.check(mariadb, follows(program, &binary, Program::Mariadbd(server))),
        None => report.skip(mariadb, "no mariadbd (Debian: mariadb-server-core)"),
    }
}

fn find_mysql() -> Option<PathBuf> {
    let cached = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/stemdb/peers/mysql-8.0.33"));
    let home = std::env::var_os("STEMDB_MYSQL_HOME")
        .map(PathBuf::from)
        .or_else(cached)?;
    home.join("bin/mysqld").is_file().then_some(home)
}

/// Debian has it beside the commands of users.
fn find_mariadb() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .map(|directory| directory.join("mariadbd"))
        .find(|program| program.is_file())
}

/// How the source writes a log that can be followed.
fn log_arguments(source: &Program) -> &'static [&'static str] {
    match source {
        Program::Mariadbd(_) => &["--log-bin", "--server-id=1", "--binlog-format=ROW"],
        _ => &[
            "--log-bin",
            "--server-id=1",
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
        ],
    }
}

fn follows(program: &Program, binary: &Path, source: Program) -> Result<(), String> {
    let log = log_arguments(&source);
    // MariaDB's own text of a definition differs from MySQL's, and so from ours.
    let same_definitions = matches!(source, Program::Mysqld(_));
    let source = Server::start(source, log)?;
    let target = Server::start(program.clone(), &[])?;
    let mut conn = source.address.connect().map_err(text)?;
    run(&mut conn, SCHEMA)?;
    let import = |last: &str| {
        let mut command = Command::new(binary);
        command
            .args(["import", "--from"])
            .arg(format!("mysql://root@127.0.0.1:{}/shop", source.address.port))
            .arg("--to")
            .arg(format!("mysql://root@127.0.0.1:{}", target.address.port))
            .arg(last)
            .stdin(Stdio::null());
        command
    };
    let follower = import("--follow")
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let mut follower = Follower(follower.map_err(text)?);
    // Views come last.
    follower.waits_for(&target, "SELECT COUNT(*) FROM shop.of_dinosaurs", 2)?;
    run(&mut conn, CHANGES)?;
    follower.waits_for(&target, "SELECT COUNT(*) FROM shop.later", 4)?;
    // Without a chance to end in order.
    drop(follower);
    run(&mut conn, &["UPDATE parent SET code = 'ch' WHERE code = 'CH'"])?;
    let output = import("--cut-over").output().map_err(text)?;
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    expect(output.status.success() && printed.contains("equal"), &printed)?;
    let mut copy = target.address.connect_to("shop").map_err(text)?;
    for query in [
        "SELECT * FROM child ORDER BY id",
        "SELECT * FROM part ORDER BY id",
        "SELECT * FROM of_dinosaurs ORDER BY id",
        "SELECT id FROM film WHERE MATCH (about) AGAINST ('dinosaur') ORDER BY id",
        "SELECT * FROM numbers ORDER BY id",
        "SELECT * FROM keyless ORDER BY a, b",
        "SELECT * FROM later ORDER BY id",
    ] {
        same(&mut conn, &mut copy, query)?;
    }
    let definitions = [
        "SHOW CREATE TABLE film",
        "SHOW CREATE TABLE later",
        "SHOW CREATE VIEW of_dinosaurs",
    ];
    for query in definitions.into_iter().filter(|_| same_definitions) {
        same(&mut conn, &mut copy, query)?;
    }
    Ok(())
}

fn run(conn: &mut Conn, statements: &[&str]) -> Result<(), String> {
    for statement in statements {
        conn.query_drop(statement)
            .map_err(|error| format!("{statement}: {error}"))?;
    }
    Ok(())
}

/// The program that follows. It is killed when it is dropped.
struct Follower(Child);

impl Follower {
    /// Waits until the target answers a query with a number.
    fn waits_for(&mut self, target: &Server, query: &str, expected: u64) -> Result<(), String> {
        let mut conn = target.address.connect().map_err(text)?;
        let start = Instant::now();
        while conn.query_first::<u64, _>(query).ok().flatten() != Some(expected) {
            if let Some(status) = self.0.try_wait().map_err(text)? {
                return Err(format!("import --follow ended: {status}"));
            }
            expect(
                start.elapsed() < PATIENCE,
                "import --follow does not come to the end",
            )?;
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
