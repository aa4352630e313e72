//! `stemdb import --from`, `replay` and `check-compat` between two servers. Only for StemDB, which is both
//! source and target, because a test machine need not have another server.
//! `crates/import/src/binlog/fixtures` has recorded logs of MySQL and MariaDB.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::report::Report;
use crate::server::{Program, Server};
use crate::text;

const SCHEMA: &[&str] = &[
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE child (id INT PRIMARY KEY, parent CHAR(2) CHARACTER SET latin1, \
     FOREIGN KEY (parent) REFERENCES parent (code))",
    "CREATE TABLE parent (code CHAR(2) CHARACTER SET latin1 PRIMARY KEY, name VARCHAR(30) CHARACTER SET latin1)",
    "CREATE TABLE kinds (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, e ENUM('a','b',''), s SET('x','y','z'), \
     bits BIT(64), f FLOAT, d DOUBLE, de DECIMAL(65,30), j JSON, y YEAR, bin BINARY(4), bl LONGBLOB, \
     dt DATETIME(6), ts TIMESTAMP(3) NULL, da DATE, ti TIME(2), \
     g INT AS (y + 1) VIRTUAL, st INT AS (y * 2) STORED, hidden INT DEFAULT 5 INVISIBLE) AUTO_INCREMENT = 100",
    "CREATE TABLE pairs (a INT, b VARCHAR(20), v INT, PRIMARY KEY (a, b))",
    "CREATE TABLE keyless (a INT, b VARCHAR(10))",
    "CREATE VIEW named AS SELECT id, name FROM child JOIN parent ON code = parent",
    "CREATE VIEW counted AS SELECT COUNT(*) AS n FROM named",
    "INSERT INTO parent VALUES ('ch', 'Schweiz'), ('fr', 'République française')",
    "INSERT INTO child VALUES (1, 'ch'), (2, 'fr'), (3, NULL)",
    "INSERT INTO kinds (e, s, bits, f, d, de, j, y, bin, bl, dt, ts, da, ti, hidden) VALUES \
     (0, 5, 18446744073709551615, 1.1, 0.1, -1.5, '{\"b\": 1.5, \"a\": [1, null]}', 0, x'01000000', x'ff00', \
      '0000-00-00', '2020-02-02 02:02:02.123', '2020-02-31', '-838:59:59', 7), \
     (3, 0, 0, -0.333333343, 1e300, 0, NULL, 2026, x'00', '', '2026-01-01', NULL, '0000-00-00', '00:00:00.01', NULL)",
    "INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (NULL, NULL)",
];

pub fn check(program: &Program, report: &mut Report) {
    let Program::StemDb { binary, .. } = program else {
        report.skip("moving", "only for StemDB");
        return;
    };
    crate::moving_files::check(program, binary.clone(), report);
    crate::moving_bulk::check(program, binary.clone(), report);
    crate::moving_follow::check(program, binary.clone(), report);
    match Move::prepare(program, binary.clone()) {
        Err(error) => report.fail("moving: start", &error),
        Ok(mut moving) => {
            report.check("moving: a copy is equal", moving.copies());
            report.check(
                "moving: a second run copies what has changed",
                moving.catches_up(),
            );
            report.check("moving: what is in the way is named", moving.refuses());
            report.check("moving: a source without a binary log", moving.no_log());
            report.check("moving: a log is replayed and compared", moving.replays());
            report.check(
                "moving: what will not work is listed",
                moving.checks_compatibility(),
            );
        }
    }
}

/// A source with tables of all kinds of columns, and an empty target.
pub struct Servers {
    binary: PathBuf,
    pub source: Server,
    pub target: Server,
}

impl Servers {
    /// Starts two servers. `pairs`: the rows of the table of that name.
    pub fn start(program: &Program, binary: PathBuf, pairs: &[String]) -> Result<Self, String> {
        let source = Server::start(program.clone(), &[])?;
        let target = Server::start(program.clone(), &[])?;
        let mut conn = source.address.connect().map_err(text)?;
        conn.query_drop("SET foreign_key_checks = 0, sql_mode = 'ALLOW_INVALID_DATES'")
            .map_err(text)?;
        for statement in SCHEMA {
            conn.query_drop(statement)
                .map_err(|error| format!("{statement}: {error}"))?;
        }
        conn.query_drop(format!("INSERT INTO pairs VALUES {}", pairs.join(", ")))
            .map_err(text)?;
        Ok(Self {
            binary,
            source,
            target,
        })
    }

    /// Runs `stemdb`. Returns whether it succeeded, and its output.
    pub fn stemdb(&self, arguments: &[&str], input: &[u8]) -> Result<(bool, String), String> {
        let mut child = Command::new(&self.binary)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(text)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that fails stops reading.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().map_err(text)?;
        let printed = [output.stdout, output.stderr].concat();
        Ok((
            output.status.success(),
            String::from_utf8_lossy(&printed).into_owned(),
        ))
    }
}

struct Move {
    servers: Servers,
}

impl Move {
    fn prepare(program: &Program, binary: PathBuf) -> Result<Self, String> {
        let pairs = (0..2000).map(|n| format!("({}, 'it''s {}', {})", n / 50, n % 50, n % 50));
        let pairs: Vec<String> = pairs.collect();
        Ok(Self {
            servers: Servers::start(program, binary, &pairs)?,
        })
    }

    fn stemdb(&self, arguments: &[&str]) -> Result<(bool, String), String> {
        self.servers.stemdb(arguments, b"")
    }

    fn import(&self, more: &[&str]) -> Result<(bool, String), String> {
        let from = format!("mysql://root@127.0.0.1:{}/shop", self.servers.source.address.port);
        let to = format!("mysql://root@127.0.0.1:{}", self.servers.target.address.port);
        let arguments = ["import", "--from", &from, "--to", &to, "--threads", "2"];
        self.stemdb(&[&arguments[..], more].concat())
    }

    fn connect(&self) -> Result<(Conn, Conn), String> {
        let source = self.servers.source.address.connect_to("shop").map_err(text)?;
        Ok((
            source,
            self.servers.target.address.connect_to("shop").map_err(text)?,
        ))
    }

    fn copies(&mut self) -> Result<(), String> {
        let (succeeded, printed) = self.import(&[])?;
        if !succeeded || !printed.contains("5 tables, 2010 rows") {
            return Err(printed);
        }
        let (mut source, mut target) = self.connect()?;
        for query in [
            "SELECT * FROM kinds",
            "SELECT id, hidden, e + 0, g, st FROM kinds",
            "SELECT * FROM counted",
            "SELECT * FROM pairs ORDER BY a, b",
            "SHOW CREATE TABLE kinds",
            "SHOW CREATE TABLE child",
            "SHOW CREATE VIEW named",
        ] {
            same(&mut source, &mut target, query)?;
        }
        Ok(())
    }

    /// Only chunks with rows that differ are copied again.
    fn catches_up(&mut self) -> Result<(), String> {
        let (mut source, mut target) = self.connect()?;
        for statement in [
            "INSERT INTO child VALUES (4, 'ch')",
            "SET foreign_key_checks = 0",
            "INSERT INTO child VALUES (5, 'xx')",
            "DELETE FROM keyless LIMIT 1",
            "UPDATE pairs SET v = -1 WHERE a = 7",
        ] {
            source.query_drop(statement).map_err(text)?;
        }
        target
            .query_drop("DELETE FROM kinds WHERE id = 101")
            .map_err(text)?;
        let (succeeded, printed) = self.import(&[])?;
        let expected = [
            "1 of them copied by an earlier run",
            "parent = xx has no row in shop.parent, as on the source",
        ];
        if !succeeded || !expected.iter().all(|text| printed.contains(text)) {
            return Err(printed);
        }
        for query in [
            "SELECT * FROM child",
            "SELECT * FROM kinds",
            "SELECT * FROM keyless",
            "SELECT SUM(v) FROM pairs",
        ] {
            same(&mut source, &mut target, query)?;
        }
        Ok(())
    }

    fn refuses(&mut self) -> Result<(), String> {
        let (mut source, mut target) = self.connect()?;
        target.query_drop("CREATE TABLE later (id INT)").map_err(text)?;
        source.query_drop("CREATE TABLE later (id INT)").map_err(text)?;
        let (succeeded, printed) = self.import(&[])?;
        source.query_drop("DROP TABLE later").map_err(text)?;
        expect(
            !succeeded && printed.contains("the target has a table shop.later"),
            &printed,
        )?;
        let (succeeded, printed) = self.stemdb(&["import", "--from", "mysql://root@127.0.0.1:1/shop"])?;
        expect(!succeeded && printed.contains("cannot connect to the"), &printed)
    }

    fn no_log(&mut self) -> Result<(), String> {
        let (succeeded, printed) = self.import(&["--follow"])?;
        expect(!succeeded && printed.contains("writes no binary log"), &printed)
    }

    fn replays(&mut self) -> Result<(), String> {
        let log = self.servers.source.path("general.log");
        let lines = [
            "1970-01-02T00:00:00.000000Z\t    8 Connect\troot@localhost on shop using Socket",
            "1970-01-02T00:00:00.010000Z\t    8 Query\tSELECT name\n  FROM parent WHERE code = 'fr'",
            "1970-01-02T00:00:00.020000Z\t    9 Connect\troot@localhost on shop using TCP/IP",
            "1970-01-02T00:00:00.020000Z\t    9 Execute\tINSERT INTO child VALUES (50, 'ch')",
            "1970-01-02T00:00:00.030000Z\t    8 Query\tSELECT * FROM nothing WHERE id = 5",
            "1970-01-02T00:00:00.040000Z\t    8 Query\tSELECT v FROM pairs WHERE a = 1",
            "1970-01-02T00:00:00.050000Z\t    8 Quit\t",
        ];
        fs::write(&log, lines.join("\n")).map_err(text)?;
        let (_, mut target) = self.connect()?;
        target
            .query_drop("UPDATE pairs SET v = 1000 WHERE a = 1 AND b = 'it''s 3'")
            .map_err(text)?;
        let page = self.servers.source.path("replay.html");
        let (log, page) = (log.display().to_string(), page.display().to_string());
        let source = format!("mysql://root@127.0.0.1:{}", self.servers.source.address.port);
        let target = format!("mysql://root@127.0.0.1:{}", self.servers.target.address.port);
        let arguments = [
            "replay",
            "--log",
            &log,
            "--to",
            &target,
            "--compare",
            &source,
            "--html",
            &page,
        ];
        let (succeeded, printed) = self.stemdb(&arguments)?;
        let expected = [
            "4 statements on 2 connections",
            "1 times, first on line 6: SELECT * FROM nothing WHERE id = ?",
            "4 results were compared, 1 differ",
            "1 times, first on line 7: SELECT v FROM pairs WHERE a = ?",
        ];
        expect(
            !succeeded && expected.iter().all(|text| printed.contains(text)),
            &printed,
        )?;
        let page = fs::read_to_string(page).map_err(text)?;
        expect(
            page.contains("</html>") && page.contains("<svg"),
            "the page is not whole",
        )
    }

    fn checks_compatibility(&mut self) -> Result<(), String> {
        let dump = self.servers.source.path("dump.sql");
        let statements = "-- a dump\nCREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\nDELIMITER ;;\n\
                          CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 1; END ;;\n\
                          DELIMITER ;\nCREATE TABLE f (a POINT NOT NULL, SPATIAL KEY (a));\n";
        fs::write(&dump, statements).map_err(text)?;
        let (succeeded, printed) = self.stemdb(&["check-compat", &dump.display().to_string()])?;
        let expected = [
            "line 5: ",
            "line 7: ",
            "POINT",
            "4 statements, 2 that will not work",
        ];
        expect(
            !succeeded && expected.iter().all(|text| printed.contains(text)),
            &printed,
        )?;
        self.checks_names()
    }

    /// What the grammar takes and the server does not. The tables of a dump are known in the log behind it.
    fn checks_names(&mut self) -> Result<(), String> {
        let dump = self.servers.source.path("names.sql");
        let statements = "/*!40101 SET NAMES utf8mb4 */;\nSET @@GLOBAL.GTID_PURGED='';\nCREATE TABLE `p` (a INT);\n\
                          CREATE TABLE q (a INT) DATA DIRECTORY='/x';\n\
                          CREATE TABLE r (b TEXT COLLATE no_such_ci);\nCREATE VIEW v AS SELECT a + 1 AS b FROM p;\n\
                          CREATE VIEW w AS SELECT ST_Distance(a, a) FROM p;\nINSERT INTO p VALUES (1),(2);\n\
                          INSERT INTO absent VALUES (1);\n";
        fs::write(&dump, statements).map_err(text)?;
        let log = self.servers.source.path("names.log");
        let lines = "/usr/sbin/mysqld, Version: 8.0.33 (MySQL Community Server - GPL). started with:\n\
                     Tcp port: 3306  Unix socket: /tmp/mysql.sock\nTime                 Id Command    Argument\n\
                     2026-11-28T10:00:00.000000Z\t    8 Query\tSELECT a FROM check_compat.p WHERE a = 5\n\
                     2026-11-28T10:00:01.000000Z\t    8 Query\tSELECT c FROM check_compat.p\n\
                     2026-11-28T10:00:02.000000Z\t    8 Query\tSELECT GTID_SUBSET('a', 'b')\n\
                     2026-11-28T10:00:03.000000Z\t    8 Query\tSET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE\n\
                     2026-11-28T10:00:04.000000Z\t    8 Query\tCALL p(1)\n\
                     2026-11-28T10:00:05.000000Z\t    8 Query\tSELECT x FROM nowhere.absent\n\
                     2026-11-28T10:00:06.000000Z\t    8 Query\tDELETE FROM check_compat.p\n";
        fs::write(&log, lines).map_err(text)?;
        let (succeeded, printed) = self.stemdb(&[
            "check-compat",
            &dump.display().to_string(),
            &log.display().to_string(),
        ])?;
        let expected = [
            "names.sql, line 4: ",
            "names.sql, line 5: Unknown collation: 'no_such_ci'",
            "names.sql, line 7: ",
            "names.log, line 5: Unknown column 'c' in 'field list'",
            "names.log, line 6: ",
            "names.log, line 7: ",
            "SERIALIZABLE",
            "names.log, line 8: ",
            "16 statements, 7 that will not work",
        ];
        expect(
            !succeeded && expected.iter().all(|text| printed.contains(text)),
            &printed,
        )
    }
}

pub fn expect(holds: bool, printed: &str) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(printed.to_owned()),
    }
}

pub fn same(source: &mut Conn, target: &mut Conn, query: &str) -> Result<(), String> {
    let theirs: Vec<mysql::Row> = source.query(query).map_err(text)?;
    let ours: Vec<mysql::Row> = target.query(query).map_err(text)?;
    let values = |rows: Vec<mysql::Row>| -> Vec<Vec<mysql::Value>> {
        rows.into_iter().map(mysql::Row::unwrap).collect()
    };
    let (theirs, ours) = (values(theirs), values(ours));
    match theirs == ours {
        true => Ok(()),
        false => Err(format!("{query}: {ours:?} instead of {theirs:?}")),
    }
}
