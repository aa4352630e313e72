//! `stemdb import --from` into a server that takes the rows as sorted files: many chunks of a table are one LOAD DATA.

use std::path::PathBuf;

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::moving::{Servers, expect, same};
use crate::report::Report;
use crate::server::Program;
use crate::text;

/// Values that are not the same number or bytes when they are read as texts.
const MORE: &[&str] = &[
    "SET sql_mode = 'ALLOW_INVALID_DATES'",
    "CREATE TABLE more LIKE kinds",
    "INSERT INTO more (id, e, s, bits, f, d, de, j, y, bin, bl, dt, ts, da, ti, hidden) VALUES \
     (1, 3, 0, 18446744073709551615, 1.1, 0.1, -1.5, '\"\\\\t\"', 0, x'00090a5c', x'e209ff005c4e0a', '2020-02-31 00:00:00.000001', \
      NULL, '0000-00-00', '-838:59:59', 7), \
     (2, 1, 7, 48, -0.333333343, 1e300, 0, 'null', 2026, x'', '\\\\N', NULL, '2026-01-01 00:00:00.5', '2020-00-00', \
      '00:00:00.01', NULL), \
     (3, NULL, NULL, NULL, NULL, -0e0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "CREATE TABLE texts (id INT PRIMARY KEY, t TEXT, l VARCHAR(20) CHARACTER SET latin1, UNIQUE KEY (l))",
    "INSERT INTO texts VALUES (1, 'a\\tb\\nc\\\\', 'é'), (2, '\\\\N', 'NULL'), (3, '', ''), (4, 'N', NULL), (5, '\\0\u{1f600}', 'x')",
    "CREATE TABLE parted (a INT PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 3",
    "INSERT INTO parted VALUES (1), (2), (3), (4)",
    "CREATE TABLE nothing (a INT PRIMARY KEY)",
];
const QUERIES: &[&str] = &[
    "SELECT * FROM kinds",
    "SELECT id, hidden, e + 0, s + 0, HEX(bits), f * 1e0, d, g, st FROM kinds",
    "SELECT * FROM more",
    "SELECT id, hidden, e + 0, s + 0, HEX(bits), f * 1e0, d, HEX(bin), HEX(bl), g, st FROM more",
    "SELECT id, t, HEX(l) FROM texts",
    "SELECT * FROM parted ORDER BY a",
    "SELECT * FROM counted",
    "SELECT * FROM keyless",
    "SELECT * FROM pairs ORDER BY a, b",
];
const ROWS: &str = "9 tables, 4022 rows";

pub fn check(program: &Program, binary: PathBuf, report: &mut Report) {
    if !matches!(program, Program::StemDb { store: None, .. }) {
        report.skip("moving: in bulk", "only for StemDB with its own disk");
        return;
    }
    match Bulk::prepare(program, binary) {
        Err(error) => report.fail("moving: in bulk: start", &error),
        Ok(mut bulk) => {
            report.check("moving: in bulk: a copy is equal", bulk.copies());
            report.check(
                "moving: in bulk: rows that are there and not noted are left as they are",
                bulk.finds_what_is_loaded(),
            );
            report.check("moving: in bulk: missing rows are loaded", bulk.continues());
            report.check(
                "moving: in bulk: without local_infile rows are inserted",
                bulk.inserts(),
            );
        }
    }
}

struct Bulk {
    servers: Servers,
}

impl Bulk {
    fn prepare(program: &Program, binary: PathBuf) -> Result<Self, String> {
        let pairs = (0..4000).map(|n| format!("({}, 'it''s {}', {})", n / 50, n % 50, n % 50));
        let servers = Servers::start(program, binary, &pairs.collect::<Vec<_>>())?;
        let mut source = servers.source.address.connect_to("shop").map_err(text)?;
        for statement in MORE {
            source
                .query_drop(statement)
                .map_err(|error| format!("{statement}: {error}"))?;
        }
        let mut target = servers.target.address.connect().map_err(text)?;
        target
            .query_drop("SET GLOBAL local_infile = ON, GLOBAL stemdb_bulk_load_bytes = 0")
            .map_err(text)?;
        Ok(Self { servers })
    }

    fn connect(&self) -> Result<(Conn, Conn), String> {
        let source = self.servers.source.address.connect_to("shop").map_err(text)?;
        Ok((
            source,
            self.servers.target.address.connect_to("shop").map_err(text)?,
        ))
    }

    /// Runs the import. Returns its output.
    fn import(&self) -> Result<String, String> {
        let from = format!("mysql://root@127.0.0.1:{}/shop", self.servers.source.address.port);
        let to = format!("mysql://root@127.0.0.1:{}", self.servers.target.address.port);
        let arguments = ["import", "--from", &from, "--to", &to, "--threads", "3"];
        let (succeeded, printed) = self.servers.stemdb(&arguments, b"")?;
        expect(succeeded && printed.contains(ROWS), &printed)?;
        let (mut source, mut target) = self.connect()?;
        for query in QUERIES {
            same(&mut source, &mut target, query)?;
        }
        Ok(printed)
    }

    /// How many LOAD DATA the target has run.
    fn loads(&self) -> Result<u64, String> {
        let mut target = self.servers.target.address.connect().map_err(text)?;
        let row: Option<(String, u64)> = target
            .query_first("SHOW GLOBAL STATUS LIKE 'Com_load'")
            .map_err(text)?;
        row.map(|(_, count)| count)
            .ok_or_else(|| "no Com_load".to_owned())
    }

    fn run_on_target(&self, statements: &[&str]) -> Result<(), String> {
        let mut target = self.servers.target.address.connect_to("shop").map_err(text)?;
        statements
            .iter()
            .try_for_each(|statement| target.query_drop(statement).map_err(text))
    }

    fn copies(&mut self) -> Result<(), String> {
        let printed = self.import()?;
        let loads = self.loads()?;
        // All but the one with partitions.
        expect(loads >= 8, &format!("{loads} LOAD DATA: {printed}"))
    }

    /// As after a kill between the statement and the note of it.
    fn finds_what_is_loaded(&mut self) -> Result<(), String> {
        self.run_on_target(&["UPDATE stemdb_import.chunks SET copied = FALSE"])?;
        let before = self.loads()?;
        let printed = self.import()?;
        let loads = self.loads()? - before;
        // Of the table without rows there is nothing to be found.
        let expected = loads >= 1 && printed.contains("8 of them copied by an earlier run");
        expect(expected, &format!("{loads} LOAD DATA: {printed}"))
    }

    /// As after a kill before it.
    fn continues(&mut self) -> Result<(), String> {
        self.run_on_target(&[
            "DELETE FROM pairs",
            "DELETE FROM keyless",
            "UPDATE stemdb_import.chunks SET copied = FALSE WHERE table_name IN ('pairs', 'keyless')",
        ])?;
        let before = self.loads()?;
        let printed = self.import()?;
        let loads = self.loads()? - before;
        expect(loads >= 2, &format!("{loads} LOAD DATA: {printed}"))
    }

    fn inserts(&mut self) -> Result<(), String> {
        self.run_on_target(&[
            "SET GLOBAL local_infile = OFF",
            "DELETE FROM more",
            "UPDATE stemdb_import.chunks SET copied = FALSE WHERE table_name = 'more'",
        ])?;
        let before = self.loads()?;
        let printed = self.import()?;
        let loads = self.loads()? - before;
        let expected = loads == 0 && printed.contains("SET GLOBAL local_infile = ON there");
        expect(expected, &format!("{loads} LOAD DATA: {printed}"))
    }
}
