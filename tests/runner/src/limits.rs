//! More data than memory: results are streamed, and a statement that needs too much fails alone. Only for
//! StemDB.

use std::fs;
use std::thread;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::report::Report;
use crate::server::{Program, Server};
use crate::text;

/// Rows of about 1 kB each.
const ROWS: u64 = 150_000;
const BATCH: u64 = 1_000;
/// How much the server may grow while it sends all rows: a small part of their 150 MB.
const GROWTH_MAX: u64 = 96 << 20;
/// Too little memory to sort or group all rows.
const MEMORY_LIMIT: u64 = 8 << 20;
/// One value cannot be spilled.
const TOO_LARGE_A_VALUE: &str = "SELECT LENGTH(JSON_ARRAYAGG(pad)) FROM big";

/// Caches so small that they cannot be mistaken for a result held in memory.
const CONFIGURATION: &str =
    "[storage]\nblock_cache_bytes = 8388608\nrow_cache_bytes = 8388608\nwrite_buffer_bytes = 16777216\n";

pub fn check(program: &Program, report: &mut Report) {
    let server = match start(program.clone()) {
        Ok(server) => server,
        Err(e) => return report.fail("limits: set up", &e),
    };
    type Check = fn(&Server) -> Result<(), String>;
    let checks: [(&str, Check); 5] = [
        ("a result larger than memory streams", streams),
        ("rows stay in order when something is computed of them", ordered),
        ("a sort that needs more memory than there is spills", spills),
        ("a statement over its memory limit fails alone", fails_alone),
        ("a transaction over its limit fails alone", large_transaction),
    ];
    for (name, check) in checks {
        report.check(&format!("limits: {name}"), check(&server));
    }
}

fn start(program: Program) -> Result<Server, String> {
    let mut server = Server::prepare(program, &[])?;
    let file = server.path("small.toml");
    fs::write(&file, CONFIGURATION).map_err(|e| e.to_string())?;
    server.add_arguments(&["--config", &file.display().to_string()]);
    server.run()?;
    let mut conn = server.address.connect().map_err(text)?;
    conn.query_drop("DROP DATABASE IF EXISTS limits").map_err(text)?;
    conn.query_drop("CREATE DATABASE limits").map_err(text)?;
    conn.query_drop("USE limits").map_err(text)?;
    conn.query_drop("CREATE TABLE big (id INT PRIMARY KEY, pad VARCHAR(1100) NOT NULL)")
        .map_err(text)?;
    for id in 1..=BATCH {
        conn.exec_drop(
            "INSERT INTO big VALUES (?, CONCAT(?, REPEAT(MD5(?), 31)))",
            (id, id, id),
        )
        .map_err(text)?;
    }
    for batch in 1..ROWS / BATCH {
        conn.query_drop(format!(
            "INSERT INTO big SELECT id + {}, pad FROM big WHERE id <= {BATCH}",
            batch * BATCH
        ))
        .map_err(text)?;
    }
    Ok(server)
}

fn connect(server: &Server) -> Result<Conn, String> {
    server.address.connect_to("limits").map_err(text)
}

fn streams(server: &Server) -> Result<(), String> {
    for route in ["transactional", "analytical"] {
        let mut conn = connect(server)?;
        conn.query_drop(format!("SET stemdb_route = '{route}'"))
            .map_err(text)?;
        // One run to warm up caches.
        count(&mut conn, 0)?;
        let before = server.resident_bytes()?;
        // A client that stops reading for a while delays the server and does not fill its memory.
        let largest = count(&mut conn, 3).and_then(|()| server.resident_bytes())?;
        let growth = largest.saturating_sub(before);
        if growth > GROWTH_MAX {
            return Err(format!("{route}: {before} bytes before, {largest} after"));
        }
    }
    Ok(())
}

/// Reads all rows, pausing `pauses` times.
fn count(conn: &mut Conn, pauses: u64) -> Result<(), String> {
    let mut rows = 0;
    for row in conn.query_iter("SELECT * FROM big").map_err(text)? {
        let (id, pad): (u64, String) = mysql::from_row(row.map_err(text)?);
        if pad.len() < 992 || id == 0 {
            return Err(format!("row {id} has {} bytes", pad.len()));
        }
        rows += 1;
        if pauses > 0 && rows % (ROWS / (pauses + 1)) == 0 {
            thread::sleep(Duration::from_millis(700));
        }
    }
    if rows == ROWS {
        return Ok(());
    }
    Err(format!("{rows} rows of {ROWS}"))
}

fn ordered(server: &Server) -> Result<(), String> {
    for route in ["transactional", "analytical"] {
        let mut conn = connect(server)?;
        conn.query_drop(format!("SET stemdb_route = '{route}'"))
            .map_err(text)?;
        let query = "SELECT id + 1, LEFT(pad, 3) FROM big ORDER BY id DESC";
        let mut expected = ROWS + 1;
        for row in conn.query_iter(query).map_err(text)? {
            let (next, _): (u64, String) = mysql::from_row(row.map_err(text)?);
            if next != expected {
                return Err(format!("{route}: {next} where {expected} should be"));
            }
            expected -= 1;
        }
        if expected != 1 {
            return Err(format!("{route}: {} rows are missing", expected - 1));
        }
    }
    Ok(())
}

/// With every limit and every size of keys: the sorts of all partitions share the memory.
fn spills(server: &Server) -> Result<(), String> {
    const PART: u64 = 5;
    let mut conn = connect(server)?;
    for megabytes in [4, 8, 16, 32, 64] {
        conn.query_drop(format!(
            "SET stemdb_route = 'analytical', stemdb_memory_limit = {}",
            megabytes << 20
        ))
        .map_err(text)?;
        for order in ["id % 1000", "pad", "pad DESC, id"] {
            let context = |e: String| format!("{megabytes} MiB, ORDER BY {order}: {e}");
            let query = format!("SELECT id, pad FROM big WHERE id % {PART} = 0 ORDER BY {order}");
            let mut rows = 0;
            for row in conn.query_iter(&query).map_err(|e| context(text(e)))? {
                row.map_err(|e| context(text(e)))?;
                rows += 1;
            }
            if rows != ROWS / PART {
                return Err(context(format!("{rows} rows")));
            }
        }
    }
    Ok(())
}

fn fails_alone(server: &Server) -> Result<(), String> {
    for route in ["transactional", "analytical"] {
        for query in [
            "SELECT id FROM big ORDER BY CONCAT(pad, id) LIMIT 5 OFFSET 100000",
            "SELECT CONCAT(pad, id) AS k, COUNT(*) FROM big GROUP BY k ORDER BY k LIMIT 5 OFFSET 100000",
            "SELECT DISTINCT CONCAT(pad, id) AS k FROM big ORDER BY k LIMIT 5 OFFSET 100000",
            "SELECT CONCAT(LEFT(pad, 100), id) AS k, COUNT(*) FROM big GROUP BY k HAVING COUNT(*) > 1",
            TOO_LARGE_A_VALUE,
        ] {
            let mut conn = connect(server)?;
            conn.query_drop(format!(
                "SET stemdb_route = '{route}', stemdb_memory_limit = {MEMORY_LIMIT}"
            ))
            .map_err(text)?;
            match conn.query::<mysql::Row, _>(query) {
                // It has spilled to disk.
                Ok(_) if query != TOO_LARGE_A_VALUE => {}
                Err(mysql::Error::MySqlError(e)) if e.code == 8175 && query == TOO_LARGE_A_VALUE => {}
                other => return Err(format!("{route}: {query}: {other:?}")),
            }
            // The connection still works, and so do others.
            for conn in [&mut conn, &mut connect(server)?] {
                match conn.query_first::<u64, _>("SELECT COUNT(*) FROM big WHERE id < 10") {
                    Ok(Some(9)) => {}
                    other => return Err(format!("{route}: after {query}: {other:?}")),
                }
            }
        }
    }
    Ok(())
}

fn large_transaction(server: &Server) -> Result<(), String> {
    let mut conn = connect(server)?;
    conn.query_drop("CREATE TABLE copy LIKE big").map_err(text)?;
    match conn.query_drop("INSERT INTO copy SELECT * FROM big") {
        Ok(()) => {}
        Err(mysql::Error::MySqlError(e)) if matches!(e.code, 8004 | 8175 | 1038) => {}
        Err(e) => return Err(text(e)),
    }
    // Either all of it is written, or nothing.
    match conn
        .query_first::<u64, _>("SELECT COUNT(*) FROM copy")
        .map_err(text)?
    {
        Some(0 | ROWS) => Ok(()),
        other => Err(format!("{other:?} rows of {ROWS}")),
    }
}
