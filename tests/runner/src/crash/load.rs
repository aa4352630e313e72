//! `kill -9` at all steps of a bulk load into an empty table. Afterwards all rows are there or none, with
//! exactly their index entries. If the client was told that the load succeeded, all are there.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, LocalInfileHandler};

use super::DATABASE;
use super::kills::Kills;
use crate::server::{Address, Server};
use crate::{code, text};

const ROUNDS: u32 = 8;
const ROWS: u64 = 40_000;
/// Rows with the key of another row.
const DUPLICATES: u64 = 100;

const LOAD: &str = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE loaded FIELDS TERMINATED BY ','";

pub const LOADS: Kills = Kills {
    statement: "a bulk load",
    statements: "bulk loads",
    rounds: ROUNDS,
    set_up,
    whole: whole_load,
    // More kills near the end, where the files become part of the store.
    moment: |whole, round| whole * (2 * round + 5) / (2 * ROUNDS + 4),
    one_round,
};

fn set_up(address: &Address) -> Result<(), String> {
    let mut conn = address.connect().map_err(text)?;
    for sql in [
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
        "CREATE TABLE loaded (id INT PRIMARY KEY, u BIGINT NOT NULL, v INT NOT NULL, note VARCHAR(60) NOT NULL, \
         UNIQUE KEY u (u), KEY v (v), KEY note (note))"
            .to_owned(),
    ] {
        conn.query_drop(sql).map_err(text)?;
    }
    Ok(())
}

fn connect(address: &Address) -> Result<Conn, String> {
    let mut conn = address.connect_to(DATABASE).map_err(text)?;
    conn.query_drop("SET GLOBAL local_infile = ON").map_err(text)?;
    // The rows are in no index's order, and some are left out.
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(|_, file| {
        for n in 0..ROWS {
            let id = n * 7919 % ROWS;
            writeln!(file, "{id},{},{},note number {id} of the file", ROWS - id, id % 7)?;
            if id < DUPLICATES {
                writeln!(file, "{},{},8,left out", ROWS + id, ROWS - id)?;
            }
        }
        Ok(())
    })));
    Ok(conn)
}

/// Loads the file once, checks the result, and empties the table.
fn whole_load(address: &Address) -> Result<Duration, String> {
    let mut conn = connect(address)?;
    let start = Instant::now();
    conn.query_drop(LOAD).map_err(text)?;
    let whole = start.elapsed();
    let warnings = u64::from(conn.warnings());
    if warnings != DUPLICATES {
        return Err(format!("{warnings} warnings"));
    }
    verify(&mut conn, true)?;
    conn.query_drop("TRUNCATE loaded").map_err(text)?;
    Ok(whole)
}

fn one_round(server: &mut Server, _: u32, moment: Duration) -> Result<(), String> {
    let address = server.address.clone();
    let was_told = thread::scope(|scope| {
        let mut conn = connect(&address)?;
        let loading = scope.spawn(move || conn.query_drop(LOAD));
        thread::sleep(moment);
        server.kill();
        match loading.join().map_err(|_| "the client panicked".to_owned())? {
            Ok(()) => Ok(true),
            Err(error) if code(&error) != 0 => Err(format!("{LOAD}: {error}")),
            Err(_) => Ok(false),
        }
    })?;
    server.run()?;
    let mut conn = connect(&server.address)?;
    verify(&mut conn, was_told)?;
    conn.query_drop("TRUNCATE loaded").map_err(text)
}

fn verify(conn: &mut Conn, must_be_whole: bool) -> Result<(), String> {
    conn.query_drop("ADMIN CHECK TABLE loaded").map_err(text)?;
    let mut counts = Vec::new();
    for index in ["PRIMARY", "u", "v", "note"] {
        let sql = format!(
            "SELECT COUNT(*) FROM loaded FORCE INDEX ({index}) WHERE id >= 0 AND u >= 0 AND v < 7 AND note > ''"
        );
        let count: Option<u64> = conn.query_first(&sql).map_err(text)?;
        counts.push(count.unwrap_or_default());
    }
    let expected = match (must_be_whole, counts.first()) {
        (false, Some(0)) => 0,
        _ => ROWS,
    };
    match counts.iter().all(|count| *count == expected) {
        true => Ok(()),
        false => Err(format!("rows by each index: {counts:?}; expected {expected}")),
    }
}
