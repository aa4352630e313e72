//! LOAD DATA of a file on the server's disk into an empty table, as a bulk load. It reports MySQL's errors,
//! in the order of the file's rows, and a failed load leaves nothing behind. `tests/sql/load` covers files
//! that the client sends (LOCAL).

use std::fs;
use std::io::Write;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

use crate::report::Report;
use crate::server::{Program, Server};
use crate::{code, text};

/// MySQL 8.0.33's results: the file, its error, and the output of SHOW WARNINGS with sql_mode ''.
const FILES: [(&str, &str); 4] = [
    (
        "1,1,a\n2,2,b\n3,1,c\n2,4,d\n5,x,e\n",
        "1062 Duplicate entry '1' for key 't.u'",
    ),
    (
        "1,1,a\n2,2,b\n5,x,e\n3,1,c\n2,4,d\n",
        "1366 Incorrect integer value: 'x' for column 'u' at row 3",
    ),
    (
        "1,1,a\n2,2,b\n2,1,c\n",
        "1062 Duplicate entry '2' for key 't.PRIMARY'",
    ),
    (
        "1,1,toolong\n2,2,b\n2,1,c\n3,3,toolong",
        "1406 Data too long for column 'v' at row 1",
    ),
];
const ROWS: u64 = 100_000;
const PATIENCE: Duration = Duration::from_secs(120);

pub fn check(program: &Program, report: &mut Report) {
    if !matches!(program, Program::StemDb { store: None, .. }) {
        return;
    }
    let server = match start(program.clone(), 400) {
        Ok(server) => server,
        Err(error) => return report.fail("bulk load: set up", &error),
    };
    type Check = fn(&Server) -> Result<(), String>;
    let checks: [(&str, Check); 6] = [
        (
            "the first error of the file is reported, and nothing stays",
            errors,
        ),
        (
            "others read the table as empty until all rows are there, and write it then",
            beside_others,
        ),
        ("KILL ends one, and nothing stays", killed),
        ("one waits for others that write the table", behind_a_writer),
        ("a read of the past does not change when the rows come", past),
        (
            "a file that one transaction cannot hold is refused with what to do",
            too_long_for_a_transaction,
        ),
    ];
    for (name, check) in checks {
        report.check(&format!("bulk load: {name}"), check(&server));
    }
}

/// One with so much memory, on which a transaction may write 64 MiB.
pub(crate) fn start(program: Program, memory_mib: u64) -> Result<Server, String> {
    let mut server = Server::prepare(program, &[])?;
    let file = server.path("bulk.toml");
    let directory = file.parent().ok_or("no directory")?.display().to_string();
    fs::write(
        &file,
        // A transaction may write so little that it could not hold the rows of these files with their index entries.
        format!(
            "[variables]\nsecure_file_priv = \"{directory}\"\nstemdb_bulk_load_bytes = 0\n\
             [memory]\nlimit_bytes = {}\n",
            memory_mib << 20
        ),
    )
    .map_err(text)?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    for sql in [
        "CREATE DATABASE bulk",
        "USE bulk",
        "CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, v VARCHAR(4), KEY (v))",
    ] {
        conn.query_drop(sql).map_err(text)?;
    }
    Ok(server)
}

fn connect(server: &Server) -> Result<Conn, String> {
    server.address.connect_to("bulk").map_err(text)
}

/// The statement that loads a file of these contents.
fn statement(server: &Server, contents: &str) -> Result<String, String> {
    let path = server.path("rows");
    fs::write(&path, contents).map_err(text)?;
    Ok(format!(
        "LOAD DATA INFILE '{}' INTO TABLE t FIELDS TERMINATED BY ','",
        path.display()
    ))
}

/// How many there have been since the start.
pub(crate) fn bulk_loads(server: &Server) -> Result<u64, String> {
    let (_, body) = server.get("/metrics").map_err(text)?;
    let value = body
        .lines()
        .find_map(|line| line.strip_prefix("stemdb_store_bulk_loads_total "));
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| "no metric of bulk loads".to_owned())
}

fn count(conn: &mut Conn) -> Result<u64, String> {
    let count: Option<u64> = conn.query_first("SELECT COUNT(*) FROM t").map_err(text)?;
    Ok(count.unwrap_or_default())
}

fn errors(server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    for (contents, expected) in FILES {
        let done = conn.query_drop(statement(server, contents)?);
        let found = match done {
            Err(mysql::Error::MySqlError(error)) => format!("{} {}", error.code, error.message),
            other => format!("{other:?}"),
        };
        if found != expected {
            return Err(format!("{contents:?}: {found}, expected {expected}"));
        }
        if count(&mut conn)? != 0 {
            return Err(format!("{contents:?}: rows are left"));
        }
    }
    // Rows after the one that fails have no warnings.
    conn.query_drop("SET sql_mode = ''").map_err(text)?;
    let load = statement(server, FILES[3].0)?;
    if !matches!(conn.query_drop(&load), Err(error) if code(&error) == 1062) {
        return Err("no duplicate with sql_mode ''".to_owned());
    }
    let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").map_err(text)?;
    let expected = [
        ("Warning", 1265, "Data truncated for column 'v' at row 1"),
        ("Error", 1062, "Duplicate entry '2' for key 't.PRIMARY'"),
    ]
    .map(|(level, code, message)| (level.to_owned(), code, message.to_owned()));
    if warnings != expected {
        return Err(format!("{warnings:?}"));
    }
    let before = bulk_loads(server)?;
    conn.query_drop(statement(server, "1,1,a\n2,2,b\n")?)
        .map_err(text)?;
    match (bulk_loads(server)? - before, count(&mut conn)?) {
        (1, 2) => {}
        other => return Err(format!("bulk loads and rows: {other:?}")),
    }
    conn.query_drop("ADMIN CHECK TABLE t").map_err(text)?;
    conn.query_drop("TRUNCATE t").map_err(text)
}

fn many_rows() -> String {
    (0..ROWS).map(|n| format!("{n},{n},{}\n", n % 1000)).collect()
}

fn beside_others(server: &Server) -> Result<(), String> {
    let load = statement(server, &many_rows())?;
    let mut conn = connect(server)?;
    let before = bulk_loads(server)?;
    let result = thread::scope(|scope| {
        let loading = scope.spawn(|| connect(server)?.query_drop(&load).map_err(text));
        let mut seen = Vec::new();
        while !loading.is_finished() {
            seen.push(count(&mut conn)?);
        }
        loading.join().map_err(|_| "the client panicked".to_owned())??;
        match seen.iter().find(|rows| ![0, ROWS].contains(rows)) {
            Some(rows) => Err(format!("{rows} of {ROWS} rows were seen")),
            None => Ok(()),
        }
    });
    result?;
    if bulk_loads(server)? != before + 1 {
        return Err("it was no bulk load".to_owned());
    }
    conn.query_drop("UPDATE t SET v = 'x' WHERE id < 10; ")
        .map_err(text)?;
    let found: Option<u64> = conn
        .query_first("SELECT COUNT(*) FROM t FORCE INDEX (v) WHERE v = 'x'")
        .map_err(text)?;
    if found != Some(10) || count(&mut conn)? != ROWS {
        return Err(format!("after an UPDATE: {found:?}"));
    }
    conn.query_drop("ADMIN CHECK TABLE t").map_err(text)?;
    conn.query_drop("TRUNCATE t").map_err(text)
}

const LOAD_LOCAL: &str = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t FIELDS TERMINATED BY ','";

/// A connection that stops in the middle of the file until the sender is dropped.
fn slow_loader(server: &Server) -> Result<(Conn, mpsc::Sender<()>), String> {
    let mut loader = connect(server)?;
    loader.query_drop("SET GLOBAL local_infile = ON").map_err(text)?;
    let (go_on, goes_on) = mpsc::channel::<()>();
    let goes_on = Mutex::new(goes_on);
    loader.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, file| {
        let rows = many_rows();
        let (first, rest) = rows.split_at(rows.len() / 2);
        file.write_all(first.as_bytes())?;
        file.flush()?;
        if let Ok(goes_on) = goes_on.lock() {
            // A send error means that the check has failed and ended.
            let _ = goes_on.recv();
        }
        file.write_all(rest.as_bytes())
    })));
    Ok((loader, go_on))
}

fn killed(server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    let before = bulk_loads(server)?;
    let (mut loader, go_on) = slow_loader(server)?;
    let id: u32 = loader
        .query_first("SELECT CONNECTION_ID()")
        .map_err(text)?
        .unwrap_or_default();
    let looked = thread::scope(|scope| {
        let loading = scope.spawn(move || loader.query_drop(LOAD_LOCAL));
        let looked = keeps_writers_out(server)
            .and_then(|()| conn.query_drop("BEGIN").map_err(text))
            .and_then(|()| count(&mut conn))
            .and_then(|_| conn.query_drop(format!("KILL QUERY {id}")).map_err(text));
        drop(go_on);
        let loaded = loading.join().map_err(|_| "the client panicked".to_owned())?;
        match loaded {
            Err(error) if code(&error) == 1317 => looked,
            other => Err(format!("after KILL: {other:?}; {looked:?}")),
        }
    });
    looked?;
    conn.query_drop("COMMIT").map_err(text)?;
    if bulk_loads(server)? != before || count(&mut conn)? != 0 {
        return Err("rows are left after KILL".to_owned());
    }
    conn.query_drop("INSERT INTO t VALUES (1, 1, '')").map_err(text)?;
    conn.query_drop("TRUNCATE t").map_err(text)
}

/// Waits until a bulk load blocks writers.
fn keeps_writers_out(server: &Server) -> Result<(), String> {
    let mut writer = connect(server)?;
    writer.query_drop("SET lock_wait_timeout = 1").map_err(text)?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match writer.query_drop("DELETE FROM t WHERE id = -1") {
            Err(error) if code(&error) == 1205 => return Ok(()),
            other => other.map_err(text)?,
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err("writers are not kept out".to_owned())
}

/// A transaction that has written the table and goes on does not make it another kind of load.
fn behind_a_writer(server: &Server) -> Result<(), String> {
    let before = bulk_loads(server)?;
    let mut writer = connect(server)?;
    for sql in ["BEGIN", "INSERT INTO t VALUES (-1, -1, 'w')"] {
        writer.query_drop(sql).map_err(text)?;
    }
    let load = statement(server, &many_rows())?;
    thread::scope(|scope| {
        let loading = scope.spawn(|| connect(server)?.query_drop(&load).map_err(text));
        // Longer than the patience of a load that has a choice.
        thread::sleep(Duration::from_millis(500));
        let waits = !loading.is_finished();
        writer.query_drop("COMMIT").map_err(text)?;
        loading.join().map_err(|_| "the client panicked".to_owned())??;
        match waits {
            true => Ok(()),
            false => Err("it did not wait".to_owned()),
        }
    })?;
    match (bulk_loads(server)? - before, count(&mut writer)?) {
        (1, rows) if rows == ROWS + 1 => {}
        other => return Err(format!("bulk loads and rows: {other:?}")),
    }
    writer.query_drop("ADMIN CHECK TABLE t").map_err(text)?;
    writer.query_drop("TRUNCATE t").map_err(text)
}

/// The rows count as committed before they are there. Whoever reads a moment between the two gets the same answer at
/// any time: none.
fn past(server: &Server) -> Result<(), String> {
    let (mut loader, go_on) = slow_loader(server)?;
    let mut reader = connect(server)?;
    let mut clock = connect(server)?;
    let moments = thread::scope(|scope| {
        let loading = scope.spawn(move || loader.query_drop(LOAD_LOCAL));
        let moments = keeps_writers_out(server).and_then(|()| {
            // The load waits for it at its end, when the files are written.
            reader.query_drop("BEGIN").map_err(text)?;
            let mut moments = match count(&mut reader)? {
                0 => Vec::new(),
                rows => return Err(format!("{rows} rows are there")),
            };
            drop(go_on);
            for _ in 0..60 {
                let now: Option<String> = clock.query_first("SELECT NOW(6)").map_err(text)?;
                moments.extend(now);
                thread::sleep(Duration::from_millis(20));
            }
            reader.query_drop("COMMIT").map_err(text)?;
            Ok(moments)
        });
        let loaded = loading.join().map_err(|_| "the client panicked".to_owned())?;
        loaded.map_err(text).and(moments)
    })?;
    for moment in moments {
        let sql = format!("SELECT COUNT(*) FROM t AS OF TIMESTAMP '{moment}'");
        let rows: Option<u64> = reader.query_first(sql).map_err(text)?;
        if rows != Some(0) {
            return Err(format!("{rows:?} rows at {moment}"));
        }
    }
    match count(&mut reader)? {
        ROWS => reader.query_drop("TRUNCATE t").map_err(text),
        rows => Err(format!("{rows} rows")),
    }
}

fn too_long_for_a_transaction(server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    let lines = (0..90).map(|id| format!("{id},{}\n", "x".repeat(1 << 20)));
    let load = statement(server, &lines.collect::<String>())?.replace("INTO TABLE t", "INTO TABLE wide");
    for sql in ["CREATE TABLE wide (id INT PRIMARY KEY, v MEDIUMTEXT)", "BEGIN"] {
        conn.query_drop(sql).map_err(text)?;
    }
    let loaded = conn.query_drop(&load);
    for sql in ["ROLLBACK", "DROP TABLE wide"] {
        conn.query_drop(sql).map_err(text)?;
    }
    fs::remove_file(server.path("rows")).map_err(text)?;
    match loaded {
        Err(mysql::Error::MySqlError(error))
            if matches!(error.code, 8004 | 8175) && error.message.contains("load it in pieces") =>
        {
            Ok(())
        }
        other => Err(format!("{other:?}")),
    }
}
