//! Indexes that are built while other connections write have the entries of all rows and no others. The
//! writers exchange unique values between rows, delete rows, and insert others with the same values. So an
//! entry of a row's earlier state often belongs to another row at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use loadgen::random::Random;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::{connect, text, try_again};
use crate::code;
use crate::server::Address;

const ROWS: u64 = 20_000;
const ROWS_PER_INSERT: u64 = 1_000;
const WRITERS: u64 = 3;
const TIME: Duration = Duration::from_secs(8);
const ROUNDS_MIN: u32 = 3;

const BUILDS: [&str; 3] = [
    "ALTER TABLE built ADD UNIQUE INDEX u (u), ADD INDEX v (v), ADD INDEX name (name)",
    "ALTER TABLE built ADD INDEX v (v, u), ADD UNIQUE INDEX u (u, v), ADD INDEX name (name(3))",
    "ALTER TABLE built ADD UNIQUE INDEX u (u), ADD UNIQUE INDEX v (v, id), ADD UNIQUE INDEX name (name)",
];

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop(
        "CREATE TABLE built (id INT PRIMARY KEY, u BIGINT NOT NULL, v INT, name VARCHAR(40) NOT NULL)",
    )
    .map_err(text)?;
    for first in (0..ROWS).step_by(ROWS_PER_INSERT as usize) {
        let rows: Vec<String> = (first..first + ROWS_PER_INSERT)
            .map(|id| format!("({id}, {id}, {}, 'Name {id}')", id % 7))
            .collect();
        conn.query_drop(format!("INSERT INTO built VALUES {}", rows.join(", ")))
            .map_err(text)?;
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let stop = &stop;
                scope.spawn(move || write(address, number, stop))
            })
            .collect();
        let built = build(&mut conn);
        stop.store(true, Ordering::Relaxed);
        let mut writes = 0;
        for writer in writers {
            writes += writer.join().map_err(|_| "a writer panicked".to_string())??;
        }
        built?;
        match writes {
            0 => Err("nothing was written".to_string()),
            _ => Ok(()),
        }
    })
}

fn build(conn: &mut Conn) -> Result<(), String> {
    let start = Instant::now();
    for round in 0.. {
        let build = BUILDS[round as usize % BUILDS.len()];
        conn.query_drop(build)
            .map_err(|error| format!("{build}: {error}"))?;
        verify(conn).map_err(|error| format!("round {round}, {build}: {error}"))?;
        if start.elapsed() > TIME && round >= ROUNDS_MIN {
            break;
        }
        let dropped = "ALTER TABLE built DROP INDEX u, DROP INDEX v, DROP INDEX name";
        conn.query_drop(dropped).map_err(text)?;
    }
    Ok(())
}

fn verify(conn: &mut Conn) -> Result<(), String> {
    match conn.query_drop("ADMIN CHECK TABLE built") {
        // MySQL does not know the statement.
        Err(error) if code(&error) == 1064 => {}
        checked => checked.map_err(text)?,
    }
    conn.query_drop("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        .map_err(text)?;
    let mut sums = Vec::new();
    for index in ["PRIMARY", "u", "v", "name"] {
        let sql = format!(
            "SELECT COUNT(*), CAST(SUM(id) AS UNSIGNED), CAST(SUM(u) AS UNSIGNED) FROM built FORCE INDEX ({index}) \
             WHERE id >= 0 AND u >= 0 AND (v >= 0 OR v IS NULL) AND name >= ''"
        );
        let sum: Option<(u64, u64, u64)> = conn.query_first(&sql).map_err(text)?;
        sums.push((index, sum));
    }
    conn.query_drop("COMMIT").map_err(text)?;
    match sums.iter().all(|(_, sum)| *sum == sums[0].1) {
        true => Ok(()),
        false => Err(format!("{sums:?}")),
    }
}

/// Changes rows until stopped. `u` and `name` stay unique, as each writer only moves values between rows of
/// its own.
fn write(address: &Address, number: u64, stop: &AtomicBool) -> Result<u64, String> {
    let mut random = Random::new(number + 1);
    let mut conn = connect(address)?;
    let mut writes = 0;
    while !stop.load(Ordering::Relaxed) {
        let own = |random: &mut Random| random.below(ROWS / WRITERS) * WRITERS + number;
        let (a, b) = (own(&mut random), own(&mut random));
        if a == b {
            continue;
        }
        match exchange(&mut conn, &mut random, a, b) {
            Ok(()) => writes += 1,
            Err(error) if try_again(&error) => conn.query_drop("ROLLBACK").map_err(text)?,
            Err(error) => return Err(format!("rows {a} and {b}: {error}")),
        }
    }
    Ok(writes)
}

fn exchange(conn: &mut Conn, random: &mut Random, a: u64, b: u64) -> mysql::Result<()> {
    let v = match random.below(8) {
        7 => None,
        v => Some(v),
    };
    if random.below(3) == 0 {
        return conn.exec_drop("UPDATE built SET v = ? WHERE id = ?", (v, a));
    }
    conn.query_drop("BEGIN")?;
    let rows: Vec<(u64, u64, String)> = conn.exec(
        "SELECT id, u, name FROM built WHERE id IN (?, ?) ORDER BY id FOR UPDATE",
        (a, b),
    )?;
    if let [(first, u, name), (second, other_u, other_name)] = rows.as_slice() {
        conn.exec_drop("DELETE FROM built WHERE id = ?", (first,))?;
        // In another letter case, which is equal under the collation.
        let swapped = match random.below(2) {
            0 => name.to_uppercase(),
            _ => name.to_lowercase(),
        };
        conn.exec_drop(
            "UPDATE built SET u = ?, name = ?, v = ? WHERE id = ?",
            (u, swapped, v, second),
        )?;
        conn.exec_drop(
            "INSERT INTO built VALUES (?, ?, ?, ?)",
            (first, other_u, v, other_name),
        )?;
    }
    conn.query_drop(if random.below(5) == 0 {
        "ROLLBACK"
    } else {
        "COMMIT"
    })
}
