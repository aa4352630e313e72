//! `stemdb export`, and `stemdb import` of files: exported data can be imported again, and bad input is
//! reported.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::bulk_load::{self, bulk_loads};
use crate::moving::{Servers, expect, same};
use crate::report::Report;
use crate::server::Program;
use crate::text;

/// Every row of every table, in an order.
const CONTENTS: &[&str] = &[
    "SELECT * FROM child ORDER BY id",
    "SELECT * FROM parent ORDER BY code",
    "SELECT *, hidden FROM kinds ORDER BY id",
    "SELECT * FROM pairs ORDER BY a, b",
    "SELECT * FROM keyless ORDER BY a, b",
    "SELECT * FROM counted",
];

pub fn check(program: &Program, binary: PathBuf, report: &mut Report) {
    match Files::prepare(program, binary) {
        Err(error) => report.fail("moving files: start", &error),
        Ok(mut files) => {
            report.check("moving: an export as a directory of SQL", files.directory());
            report.check("moving: an export as one file of SQL", files.one_file());
            report.check("moving: an export as CSV", files.csv());
            report.check("moving: an export as Parquet", files.parquet());
            report.check("moving: a dump that is cut off goes on", files.cut_off());
            report.check(
                "moving: a dump that is interrupted twice",
                files.interrupted_twice(),
            );
            report.check("moving: rows that are not taken", files.rejected());
            report.check("moving: lines and their options", files.lines());
            report.check("moving: files that are something else", files.junk());
            if matches!(program, Program::StemDb { store: None, .. }) {
                report.check("moving: a part without memory", files.without_memory());
                report.check("moving: a file that one statement loads", files.whole());
                report.check(
                    "moving: files beside the statements of a dump, of any length",
                    files.beside_statements(program),
                );
            }
        }
    }
}

struct Files {
    servers: Servers,
}

impl Files {
    fn prepare(program: &Program, binary: PathBuf) -> Result<Self, String> {
        let pairs: Vec<String> = (0..3000)
            .map(|number| format!("({}, 'it''s \\\\ \"{number}\",\\n', {number})", number % 7))
            .collect();
        let mut files = Self {
            servers: Servers::start(program, binary, &pairs)?,
        };
        files
            .target()?
            .query_drop("SET GLOBAL local_infile = ON")
            .map_err(text)?;
        Ok(files)
    }

    fn target(&mut self) -> Result<Conn, String> {
        self.servers.target.address.connect().map_err(text)
    }

    fn path(&self, name: &str) -> String {
        self.servers.source.path(name).display().to_string()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> Result<String, String> {
        let path = self.path(name);
        fs::write(&path, bytes).map_err(text)?;
        Ok(path)
    }

    fn run(&self, arguments: &[&str], input: &[u8]) -> Result<(bool, String), String> {
        self.servers.stemdb(arguments, input)
    }

    fn export(&self, to: &str, more: &[&str]) -> Result<(), String> {
        let from = format!("mysql://root@127.0.0.1:{}/shop", self.servers.source.address.port);
        let (succeeded, printed) = self.run(
            &[&["export", "--from", &from, "--threads", "2", to], more].concat(),
            b"",
        )?;
        expect(succeeded && printed.contains("5 tables, 3010 rows"), &printed)
    }

    fn import(&self, database: &str, more: &[&str], input: &[u8]) -> Result<(bool, String), String> {
        let to = format!(
            "mysql://root@127.0.0.1:{}/{database}",
            self.servers.target.address.port
        );
        let rejected = self.path("rejected");
        let arguments = ["import", "--to", &to, "--threads", "2", "--rejected", &rejected];
        self.run(&[&arguments[..], more].concat(), input)
    }

    fn is_loaded(&mut self, database: &str, queries: &[&str]) -> Result<(), String> {
        let mut source = self.servers.source.address.connect_to("shop").map_err(text)?;
        let mut target = self.servers.target.address.connect_to(database).map_err(text)?;
        queries
            .iter()
            .try_for_each(|query| same(&mut source, &mut target, query))
    }

    fn directory(&mut self) -> Result<(), String> {
        let directory = self.path("as-sql");
        self.export(&directory, &[])?;
        let mut target = self.servers.target.address.connect().map_err(text)?;
        target.query_drop("CREATE DATABASE shop").map_err(text)?;
        let (succeeded, printed) = self.import("", &[&directory], b"")?;
        expect(succeeded && printed.contains("3010 rows"), &printed)?;
        self.is_loaded("shop", CONTENTS)?;
        self.is_loaded(
            "shop",
            &[
                "SHOW CREATE TABLE kinds",
                "SHOW CREATE TABLE child",
                "SHOW CREATE VIEW named",
            ],
        )?;
        // An export does not mix with existing files, and an import does not load into existing tables.
        let (succeeded, printed) = self.run(
            &["export", "--from", "mysql://root@127.0.0.1:1/shop", &directory],
            b"",
        )?;
        expect(!succeeded && printed.contains("is not empty"), &printed)?;
        let (succeeded, printed) = self.import("", &[&directory], b"")?;
        expect(
            !succeeded && printed.contains("1050") && printed.contains("Drop it"),
            &printed,
        )?;
        fs::rename(
            PathBuf::from(&directory).join("metadata"),
            PathBuf::from(&directory).join("metadata.partial"),
        )
        .map_err(text)?;
        let (succeeded, printed) = self.import("", &[&directory], b"")?;
        expect(
            !succeeded && printed.contains("the dump was not finished"),
            &printed,
        )
    }

    fn one_file(&mut self) -> Result<(), String> {
        let file = self.path("whole.sql");
        self.export(&file, &["--file"])?;
        let dump = fs::read(&file).map_err(text)?;
        // Reads standard input, and replaces existing tables: the dump drops them first.
        self.target()?
            .query_drop("DELETE FROM shop.pairs")
            .map_err(text)?;
        let (succeeded, printed) = self.import("", &["-"], &dump)?;
        expect(succeeded && printed.contains("3010 rows"), &printed)?;
        self.is_loaded("shop", CONTENTS)
    }

    fn csv(&mut self) -> Result<(), String> {
        let directory = self.path("as-csv");
        self.export(&directory, &["--format", "csv"])?;
        self.target()?
            .query_drop("CREATE DATABASE of_csv")
            .map_err(text)?;
        let (succeeded, printed) = self.import("of_csv", &[&directory], b"")?;
        expect(succeeded && printed.contains("3010 rows"), &printed)?;
        self.is_loaded("of_csv", CONTENTS.get(..5).unwrap_or_default())
    }

    /// Parquet has no indexes. A date that no calendar has becomes NULL, and a DECIMAL with many digits
    /// becomes text.
    fn parquet(&mut self) -> Result<(), String> {
        let directory = self.path("as-parquet");
        self.export(&directory, &["--format", "parquet"])?;
        self.target()?
            .query_drop("CREATE DATABASE of_parquet")
            .map_err(text)?;
        const LOADED: &[&str] = &[
            "SELECT id, parent FROM child ORDER BY id",
            "SELECT a, b, v FROM pairs ORDER BY a, b",
            "SELECT id, e, s, CAST(bits AS UNSIGNED), f, d, CAST(de AS CHAR), JSON_EXTRACT(j, '$.b'), y + 0, HEX(bin), \
             HEX(bl), CAST(ts AS DATETIME(3)), CAST(ti AS TIME(2)), g, st FROM kinds ORDER BY id",
        ];
        let (succeeded, printed) = self.import("of_parquet", &[&directory], b"")?;
        expect(succeeded && printed.contains("3010 rows"), &printed)?;
        self.is_loaded("of_parquet", LOADED)?;
        // A server without the databases that the files name.
        self.target()?.query_drop("DROP DATABASE shop").map_err(text)?;
        let (succeeded, printed) = self.import("", &[&directory], b"")?;
        expect(succeeded && printed.contains("3010 rows"), &printed)?;
        self.is_loaded("shop", LOADED)
    }

    fn cut_off(&mut self) -> Result<(), String> {
        let inserts: Vec<String> = (0..300)
            .map(|number| {
                format!(
                    "INSERT INTO cut VALUES ({number}, REPEAT('x', 100)), (-{number} - 1, _binary 'a');\n"
                )
            })
            .collect();
        let dump = format!(
            "-- MySQL dump 10.13\n/*!40101 SET NAMES utf8mb4 */;\nDROP TABLE IF EXISTS cut;\n\
             CREATE TABLE cut (id INT PRIMARY KEY, v BLOB);\nLOCK TABLES cut WRITE;\n{}UNLOCK TABLES;\n-- Dump completed\n",
            inserts.concat()
        );
        self.target()?.query_drop("CREATE DATABASE cut").map_err(text)?;
        let path = self.write("cut.sql", &dump[..dump.len() / 2])?;
        let (succeeded, printed) = self.import("cut", &[&path], b"")?;
        expect(
            !succeeded && printed.contains("it is cut off") && printed.contains("goes on from there"),
            &printed,
        )?;
        // Only the last line is missing.
        self.write("cut.sql", dump.replace("-- Dump completed", "--"))?;
        let (succeeded, printed) = self.import("cut", &[&path], b"")?;
        expect(!succeeded && printed.contains("Dump completed"), &printed)?;
        self.write("cut.sql", &dump)?;
        let (succeeded, printed) = self.import("cut", &[&path], b"")?;
        expect(
            succeeded && printed.contains(" 0 rows") && printed.contains("by an earlier run"),
            &printed,
        )?;
        let mut target = self.target()?;
        let count: Option<u64> = target.query_first("SELECT COUNT(*) FROM cut.cut").map_err(text)?;
        expect(count == Some(600), &format!("{count:?} rows"))?;
        // An import does not continue with another file of the same name.
        self.write("cut.sql", &dump[..dump.len() / 2])?;
        self.import("cut", &[&path], b"")?;
        self.write("cut.sql", dump.replace("REPEAT('x', 100)", "REPEAT('y', 100)"))?;
        let (succeeded, printed) = self.import("cut", &[&path], b"")?;
        expect(!succeeded && printed.contains("is not the file"), &printed)
    }

    /// Which parts are loaded by then is chance, so the next run may load parts that begin and end elsewhere.
    fn interrupted_twice(&mut self) -> Result<(), String> {
        let mut target = self.target()?;
        for sql in [
            "CREATE DATABASE twice",
            "CREATE TABLE twice.t (id INT PRIMARY KEY, v BLOB)",
        ] {
            target.query_drop(sql).map_err(text)?;
        }
        let value = "x".repeat(1000);
        let insert = |ids: std::ops::Range<u32>| {
            let rows: Vec<String> = ids.map(|id| format!("({id},'{value}')")).collect();
            format!("INSERT INTO t VALUES {};\n", rows.join(","))
        };
        // The first and the third would fit into one part.
        let dump = [
            insert(0..2500),
            insert(2500..6000),
            insert(6000..7000),
            "CREATE VIEW w AS SELECT * FROM missing;\n".to_owned(),
        ];
        let dump = self.write("twice.sql", dump.concat())?;
        let fails = |run: (bool, String)| expect(!run.0 && run.1.contains("missing' doesn't exist"), &run.1);
        fails(self.import("twice", &[&dump], b"")?)?;
        let parts: Vec<u64> = target
            .query(
                "SELECT begins_at FROM stemdb_import.loaded_parts WHERE file = 'twice.sql' AND NOT is_begun \
                 ORDER BY begins_at",
            )
            .map_err(text)?;
        let [_, second, _] = parts[..] else {
            return Err(format!("parts: {parts:?}"));
        };
        for sql in [
            "DELETE FROM twice.t WHERE id < 2500 OR id >= 6000".to_owned(),
            format!(
                "DELETE FROM stemdb_import.loaded_parts WHERE file = 'twice.sql' AND NOT is_begun AND begins_at <> {second}"
            ),
        ] {
            target.query_drop(sql).map_err(text)?;
        }
        for _ in 0..2 {
            fails(self.import("twice", &[&dump], b"")?)?;
        }
        target
            .query_drop("CREATE TABLE twice.missing (id INT)")
            .map_err(text)?;
        let (succeeded, printed) = self.import("twice", &[&dump], b"")?;
        expect(succeeded, &printed)?;
        let rows: Option<u64> = target.query_first("SELECT COUNT(*) FROM twice.t").map_err(text)?;
        expect(rows == Some(7000), &format!("{rows:?} rows"))
    }

    fn rejected(&mut self) -> Result<(), String> {
        self.target()?
            .query_drop("CREATE DATABASE r; CREATE TABLE r.t (id INT PRIMARY KEY, v VARCHAR(3) NOT NULL, CHECK (id < 1000))")
            .map_err(text)?;
        let rows: Vec<String> = (0..100).map(|number| format!("({}, 'v')", number % 97)).collect();
        let dump = format!(
            "INSERT INTO t VALUES {};\nINSERT INTO t VALUES (200, 'long'), (201, NULL), (2000, 'x'), (202, 'ok');\n",
            rows.join(",")
        );
        let path = self.write("r.sql", dump)?;
        let (succeeded, printed) = self.import("r", &[&path], b"")?;
        let expected = [
            "98 rows in",
            "6 rows were not taken",
            "Duplicate entry '0'",
            "r.sql, line 2",
        ];
        expect(
            !succeeded && expected.iter().all(|text| printed.contains(text)),
            &printed,
        )?;
        let file = fs::read_to_string(self.path("rejected.sql")).map_err(text)?;
        expect(
            file.lines().count() == 6 && file.contains("INSERT INTO t VALUES(201, NULL);"),
            &file,
        )?;
        let log = fs::read_to_string(self.path("rejected.log")).map_err(text)?;
        expect(
            log.contains("'v' cannot be null") && log.contains("Check constraint"),
            &log,
        )
    }

    fn lines(&mut self) -> Result<(), String> {
        let mut target = self.target()?;
        for statement in [
            "CREATE DATABASE l",
            "CREATE TABLE l.t (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET utf8mb4, b VARBINARY(4), n INT)",
        ] {
            target.query_drop(statement).map_err(text)?;
        }
        let csv =
            "id,name,n\n1,\"a \"\"quoted\"\"\nline\",5\n2,C:\\new,NULL\nx,broken,1\n3,plain,-\n1,again,1\n";
        let path = self.write("l.t.csv", csv)?;
        let (succeeded, printed) = self.import("", &["--header", "--null", "-", &path], b"")?;
        expect(
            !succeeded && printed.contains("3 rows in") && printed.contains("2 rows were not taken"),
            &printed,
        )?;
        let file = fs::read_to_string(self.path("rejected.csv")).map_err(text)?;
        expect(file == "x,broken,1\n1,again,1\n", &file)?;
        let odd = b"ignored;\n>>10;'it\\'s \xe4';ff00|>>11;\\N;|";
        let path = self.write("odd.txt", odd)?;
        let arguments = [
            "--table",
            "l.t",
            "--fields-terminated-by",
            ";",
            "--fields-enclosed-by",
            "'",
            "--lines-starting-by",
            ">>",
            "--lines-terminated-by",
            "|",
            "--character-set",
            "latin1",
            "--columns",
            "id,name,@b",
            "--set",
            "b = UNHEX(@b)",
            &path,
        ];
        let (succeeded, printed) = self.import("", &arguments, b"")?;
        expect(succeeded && printed.contains("2 rows in"), &printed)?;
        type Row = (i32, Option<String>, Option<i32>, Option<String>);
        let rows: Vec<Row> = target
            .query("SELECT id, name, n, HEX(b) FROM l.t ORDER BY id")
            .map_err(text)?;
        let row = |id, name: Option<&str>, n, b: Option<&str>| {
            (id, name.map(str::to_owned), n, b.map(str::to_owned))
        };
        let expected = [
            row(1, Some("a \"quoted\"\nline"), Some(5), None),
            row(2, Some("C:\\new"), None, None),
            row(3, Some("plain"), None, None),
            row(10, Some("it's ä"), None, Some("FF00")),
            row(11, None, None, Some("")),
        ];
        expect(rows == expected, &format!("{rows:?}"))
    }

    /// A part that the server has no memory for waits; what the import says in the end tells what to do, and the
    /// next run continues.
    fn without_memory(&mut self) -> Result<(), String> {
        let mut target = self.target()?;
        for statement in [
            "CREATE DATABASE m",
            "CREATE TABLE m.t (id INT PRIMARY KEY, b MEDIUMTEXT)",
            "SET GLOBAL stemdb_memory_limit = 1048576",
            "SET GLOBAL stemdb_bulk_load_bytes = 18446744073709551615",
        ] {
            target.query_drop(statement).map_err(text)?;
        }
        let lines = (0..40).map(|id| format!("{id},{}\n", "x".repeat(60_000)));
        let path = self.write("m.t.csv", lines.collect::<String>())?;
        let first = self.import("", &[&path], b"");
        for name in ["stemdb_memory_limit", "stemdb_bulk_load_bytes"] {
            target
                .query_drop(format!("SET GLOBAL {name} = DEFAULT"))
                .map_err(text)?;
        }
        let (succeeded, printed) = first?;
        expect(
            !succeeded && printed.contains("8175") && printed.contains("not even for one at a time"),
            &printed,
        )?;
        let (succeeded, printed) = self.import("", &[&path], b"")?;
        expect(succeeded && printed.contains("40 rows"), &printed)
    }

    fn junk(&mut self) -> Result<(), String> {
        let junk: Vec<u8> = (0..100_000_u32)
            .map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8)
            .collect();
        for (name, wanted) in [
            ("junk.sql", "junk.sql, line 1"),
            ("junk.parquet", "is damaged, or no Parquet"),
            ("cut.sql.gz", "cut.sql.gz"),
            ("none.sql", "cannot read"),
            ("unknown.xyz", "--format"),
        ] {
            let path = match name {
                "none.sql" => self.path(name),
                "cut.sql.gz" => self.write(
                    name,
                    [&[0x1f, 0x8b, 8, 0][..], junk.get(..500).unwrap_or_default()].concat(),
                )?,
                _ => self.write(name, &junk)?,
            };
            let (succeeded, printed) = self.import("l", &[&path], b"")?;
            expect(
                !succeeded && printed.contains(wanted) && !printed.contains("panicked at crates"),
                &printed,
            )?;
        }
        Ok(())
    }

    /// Into an empty table, as a bulk load. With a row that is not taken it is loaded in parts. After an interruption
    /// the table says whether the statement was done.
    fn whole(&mut self) -> Result<(), String> {
        let mut target = self.target()?;
        for statement in [
            "SET GLOBAL stemdb_bulk_load_bytes = 10000",
            "CREATE DATABASE w",
            "CREATE TABLE w.good (id INT PRIMARY KEY, v VARCHAR(20) NOT NULL, KEY (v))",
            "CREATE TABLE w.bad LIKE w.good",
            "CREATE TABLE w.again LIKE w.good",
        ] {
            target.query_drop(statement).map_err(text)?;
        }
        let lines = |rows: std::ops::Range<u32>| -> String {
            rows.map(|n| format!("{},\"it's, {n}\"\n", n * 7919 % 5000))
                .collect()
        };
        let count = |target: &mut Conn, table: &str| -> Result<Option<(u32, u32)>, String> {
            let sql =
                format!("SELECT COUNT(*), COUNT(DISTINCT v) FROM w.{table} FORCE INDEX (v) WHERE v > ''");
            target.query_first(sql).map_err(text)
        };
        let before = bulk_loads(&self.servers.target)?;
        let good = self.write("w.good.csv", format!("id,v\n{}", lines(0..5000)))?;
        let (succeeded, printed) = self.import("", &["--header", &good], b"")?;
        expect(succeeded && printed.contains("5000 rows in"), &printed)?;
        expect(count(&mut target, "good")? == Some((5000, 5000)), "rows")?;
        expect(bulk_loads(&self.servers.target)? == before + 1, "no bulk load")?;

        let contents = [lines(0..2500).as_str(), "0,again\nx,broken\n", &lines(2500..5000)].concat();
        let bad = self.write("w.bad.csv", contents)?;
        let (succeeded, printed) = self.import("", &[&bad], b"")?;
        let expected = ["5000 rows in", "2 rows were not taken"];
        expect(
            !succeeded && expected.iter().all(|text| printed.contains(text)),
            &printed,
        )?;
        expect(count(&mut target, "bad")? == Some((5000, 5000)), "rows")?;
        let file = fs::read_to_string(self.path("rejected.csv")).map_err(text)?;
        expect(file.contains("0,again\nx,broken\n"), &file)?;

        // The second file has no table, so the journal stays; then it is as after a kill.
        let again = self.write("w.again.csv", lines(0..5000))?;
        let missing = self.write("w.missing.csv", "1,x\n")?;
        let arguments = [again.as_str(), missing.as_str()];
        let (succeeded, printed) = self.import("", &arguments, b"")?;
        expect(
            !succeeded && printed.contains("the same command goes on"),
            &printed,
        )?;
        let begun = "UPDATE stemdb_import.loaded_parts SET is_begun = TRUE WHERE file = 'w.again.csv'";
        for (state, loads) in [(begun, 0), ("TRUNCATE w.again", 1)] {
            target.query_drop(begun).map_err(text)?;
            target.query_drop(state).map_err(text)?;
            let before = bulk_loads(&self.servers.target)?;
            let (succeeded, printed) = self.import("", &arguments, b"")?;
            expect(!succeeded && printed.contains("w.missing"), &printed)?;
            expect(count(&mut target, "again")? == Some((5000, 5000)), state)?;
            expect(bulk_loads(&self.servers.target)? == before + loads, state)?;
        }
        self.behind_an_earlier_run(&mut target, &arguments)?;
        expect(count(&mut target, "again")? == Some((5000, 5000)), "behind a run")?;
        // Another file of that name.
        self.write("w.again.csv", lines(1..5000))?;
        let (succeeded, printed) = self.import("", &arguments, b"")?;
        expect(!succeeded && printed.contains("is not the file"), &printed)?;
        self.write("w.again.csv", lines(0..5000))?;
        target
            .query_drop("CREATE TABLE w.missing (id INT, v CHAR(1))")
            .map_err(text)?;
        let (succeeded, printed) = self.import("", &arguments, b"")?;
        expect(succeeded, &printed)?;
        expect(count(&mut target, "again")? == Some((5000, 5000)), "at the end")?;
        self.whole_tables(&mut target)?;
        target
            .query_drop("SET GLOBAL stemdb_bulk_load_bytes = DEFAULT")
            .map_err(text)
    }

    /// A run has been killed, and the server is still at its statement: the table is empty and does not stay so.
    fn behind_an_earlier_run(&self, target: &mut Conn, arguments: &[&str]) -> Result<(), String> {
        let mut earlier = self.servers.target.address.connect().map_err(text)?;
        for sql in [
            "UPDATE stemdb_import.loaded_parts SET is_begun = TRUE WHERE file = 'w.again.csv'",
            "TRUNCATE w.again",
        ] {
            target.query_drop(sql).map_err(text)?;
        }
        let lock = "SELECT GET_LOCK(CONCAT('stemdb_import.loads.', load_id), 0) FROM stemdb_import.loaded_parts \
                    WHERE file = 'w.again.csv'";
        expect(earlier.query_first(lock).map_err(text)? == Some(1), "a lock")?;
        let rows: Vec<String> = (0..5000_u32)
            .map(|n| format!("({}, 'it''s, {n}')", n * 7919 % 5000))
            .collect();
        let (succeeded, printed) = thread::scope(|scope| {
            let import = scope.spawn(|| self.import("", arguments, b""));
            let waits =
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT GET_LOCK%'";
            while target.query_first::<u32, _>(waits).map_err(text)? != Some(1) {
                if import.is_finished() {
                    break;
                }
                thread::sleep(Duration::from_millis(10));
            }
            let end = earlier.query_drop(format!("INSERT INTO w.again VALUES {}", rows.join(",")));
            drop(earlier);
            end.map_err(text)?;
            import.join().map_err(|_| "a thread panicked".to_owned())?
        })?;
        let expected = ["Waiting for the server", "w.missing"];
        expect(
            !succeeded && expected.iter().all(|text| printed.contains(text)),
            &printed,
        )
    }

    /// They are cut into parts where they are no bulk load: a transaction could not hold one of them.
    fn beside_statements(&self, program: &Program) -> Result<(), String> {
        let server = bulk_load::start(program.clone(), 768)?;
        let mut target = server.address.connect_to("bulk").map_err(text)?;
        target.query_drop("SET GLOBAL local_infile = ON").map_err(text)?;
        let directory = PathBuf::from(self.path("beside"));
        fs::create_dir(&directory).map_err(text)?;
        let write = |name: &str, contents: &[u8]| fs::write(directory.join(name), contents).map_err(text);
        let long = "x".repeat(16_000);
        let rows: String = (0..6_000).map(|n| format!("{n},\"{long}\"\n")).collect();
        write("bulk.big.csv", format!("\"id\",\"v\"\n{rows}").as_bytes())?;
        write(
            "bulk.big-schema.sql",
            b"CREATE TABLE big (id INT PRIMARY KEY, v TEXT);\n",
        )?;
        write(
            "bulk.big.sql",
            b"LOAD DATA LOCAL INFILE '/elsewhere/bulk.big.csv' INTO TABLE `big` CHARACTER SET utf8mb4 \
              FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' LINES TERMINATED BY '\\n' IGNORE 1 LINES \
              (`id`, @v) SET `v` = CONCAT(@v, '!');\n",
        )?;
        write(
            "bulk.pairs-schema.sql",
            b"CREATE TABLE pairs (id INT PRIMARY KEY, v CHAR(1));\n",
        )?;
        // mydumper's files set no mode.
        write(
            "bulk.zero-schema.sql",
            b"CREATE TABLE zero (id INT PRIMARY KEY AUTO_INCREMENT, d DATE DEFAULT '0000-00-00') AUTO_INCREMENT=1000;\n",
        )?;
        write(
            "bulk.zero.sql",
            b"/*!40101 SET NAMES binary*/;\nINSERT INTO `zero` VALUES(0,\"0000-00-00\"),(1,\"2024-02-29\");\n",
        )?;
        write("bulk.pairs.dat", b"1\ta\n2\tb\n1\tc\n")?;
        write(
            "bulk.pairs.sql",
            b"LOAD DATA LOCAL INFILE 'bulk.pairs.dat' REPLACE INTO TABLE bulk.pairs;\n",
        )?;
        let (directory, to) = (
            directory.display().to_string(),
            format!("mysql://root@127.0.0.1:{}/bulk", server.address.port),
        );
        for (bulk_bytes, loads) in [("18446744073709551615", 0), ("10000000", 1)] {
            for sql in [
                "DROP TABLE IF EXISTS big, pairs, zero".to_owned(),
                format!("SET GLOBAL stemdb_bulk_load_bytes = {bulk_bytes}"),
            ] {
                target.query_drop(sql).map_err(text)?;
            }
            let before = bulk_loads(&server)?;
            let (succeeded, printed) =
                self.run(&["import", "--threads", "2", "--to", &to, &directory], b"")?;
            expect(succeeded, &printed)?;
            let sql = "SELECT COUNT(*), SUM(id), SUM(LENGTH(v)) FROM big";
            let found: Option<(u64, u64, u64)> = target.query_first(sql).map_err(text)?;
            expect(
                found == Some((6_000, 17_997_000, 6_000 * 16_001)),
                &format!("{found:?}"),
            )?;
            let found: Vec<(u32, String)> = target.query("SELECT id, v FROM pairs").map_err(text)?;
            let expected = [(1, "c".to_owned()), (2, "b".to_owned())];
            expect(found == expected, &format!("{found:?}"))?;
            let found: Option<String> = target
                .query_first("SELECT GROUP_CONCAT(id, ' ', d ORDER BY id) FROM zero")
                .map_err(text)?;
            expect(
                found.as_deref() == Some("0 0000-00-00,1 2024-02-29"),
                &format!("{found:?}"),
            )?;
            expect(
                bulk_loads(&server)? == before + loads,
                &format!("{loads} bulk loads"),
            )?;
        }
        // A row that is not taken is set aside as any.
        target.query_drop("DROP TABLE big, pairs, zero").map_err(text)?;
        let rejected = self.path("beside-rejected");
        let parts = [rows.as_str(), "7,\"again\"\n"].concat();
        write("bulk.big.csv", format!("\"id\",\"v\"\n{parts}").as_bytes())?;
        let arguments = [
            "import",
            "--threads",
            "2",
            "--to",
            &to,
            "--rejected",
            &rejected,
            &directory,
        ];
        let (succeeded, printed) = self.run(&arguments, b"")?;
        expect(!succeeded && printed.contains("1 rows were not taken"), &printed)?;
        let file = fs::read_to_string(format!("{rejected}.csv")).map_err(text)?;
        expect(file == "7,\"again\"\n", &file)?;
        let count: Option<u64> = target.query_first("SELECT COUNT(*) FROM big").map_err(text)?;
        expect(count == Some(6_000), &format!("{count:?} rows"))
    }

    /// The same for the tables of a dump.
    fn whole_tables(&mut self, target: &mut Conn) -> Result<(), String> {
        let rows = |table: &str, ids: std::ops::Range<u32>| -> String {
            let row = |n: u32| format!("({},'it\\'s; ({n}),\\n',{n}.50,NULL)", n * 7919 % 5000);
            let rows: Vec<String> = ids.map(row).collect();
            let inserts = rows.chunks(400);
            inserts
                .map(|rows| format!("INSERT INTO `{table}` VALUES {};\n", rows.join(",")))
                .collect()
        };
        let create = |table: &str| {
            format!(
                "CREATE TABLE `{table}` (id INT PRIMARY KEY, v VARCHAR(30) NOT NULL, n DECIMAL(10,2), x DATETIME, KEY (v));\n"
            )
        };
        let count = |target: &mut Conn, table: &str| -> Result<Option<(u32, u32)>, String> {
            let sql =
                format!("SELECT COUNT(*), COUNT(DISTINCT v) FROM d.{table} FORCE INDEX (v) WHERE v > ''");
            target.query_first(sql).map_err(text)
        };
        target.query_drop("CREATE DATABASE d").map_err(text)?;
        let before = bulk_loads(&self.servers.target)?;
        let dump = [
            create("one"),
            rows("one", 0..5000),
            "CREATE TABLE two (id INT PRIMARY KEY, b VARBINARY(9));\nINSERT INTO two VALUES (1,_binary 'a\\0');\n"
                .to_owned(),
            "INSERT INTO `one` VALUES (6000,'late',1,NULL);\nINSERT INTO missing VALUES (1);\n".to_owned(),
        ]
        .concat();
        let dump = self.write("whole.sql", dump)?;
        let (succeeded, printed) = self.import("d", &[&dump], b"")?;
        expect(!succeeded && printed.contains("missing"), &printed)?;
        expect(count(target, "one")? == Some((5001, 5001)), "rows of one")?;
        expect(bulk_loads(&self.servers.target)? == before + 1, "no bulk load")?;
        let sum: Option<(String, u32)> = target
            .query_first(
                "SELECT SUM(n), SUM(v = CONCAT('it''s; (', FLOOR(n), '),\\n')) FROM d.one WHERE id < 6000",
            )
            .map_err(text)?;
        expect(sum == Some(("12500000.00".to_owned(), 5000)), &format!("{sum:?}"))?;
        // As after a kill before the end was stored.
        target
            .query_drop(
                "UPDATE stemdb_import.loaded_parts SET is_begun = TRUE WHERE file = 'whole.sql' AND ends_at > begins_at + 50000",
            )
            .map_err(text)?;
        expect(target.affected_rows() == 1, "the record of the table")?;
        target
            .query_drop("CREATE TABLE d.missing (id INT)")
            .map_err(text)?;
        let (succeeded, printed) = self.import("d", &[&dump], b"")?;
        expect(succeeded, &printed)?;
        expect(count(target, "one")? == Some((5001, 5001)), "rows of one again")?;

        let dump = [
            create("three"),
            rows("three", 0..5000),
            "INSERT INTO `three` VALUES (17,'again',1,NULL);\n".to_owned(),
            create("four"),
            rows("four", 0..5000),
        ]
        .concat();
        let dump = self.write("duplicate.sql", dump)?;
        let (succeeded, printed) = self.import("d", &[&dump], b"")?;
        expect(
            !succeeded
                && printed.contains("1 rows were not taken")
                && printed.contains("Duplicate entry '17'"),
            &printed,
        )?;
        for table in ["three", "four"] {
            expect(count(target, table)? == Some((5000, 5000)), table)?;
        }
        expect(bulk_loads(&self.servers.target)? == before + 2, "bulk loads")
    }
}
