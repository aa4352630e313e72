//! If many connections insert the same unique value at once, exactly one succeeds, and the others get error
//! 1062.

use std::sync::Barrier;

use mysql::prelude::Queryable;

use super::{code, connect, text, threads, try_again};
use crate::server::Address;

const THREADS: u64 = 8;
const VALUES: u64 = 60;

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop(
        "CREATE TABLE races (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20), a INT, b INT, \
         UNIQUE KEY name (name), UNIQUE KEY ab (a, b))",
    )
    .map_err(text)?;
    let barrier = Barrier::new(THREADS as usize);
    let won = threads(THREADS, |number| {
        let mut conn = connect(address)?;
        let mut won = Vec::new();
        for value in 0..VALUES {
            barrier.wait();
            // The same name in another letter case, which is equal under the collation.
            let name = if number % 2 == 0 { "Name" } else { "nAME" };
            let result = loop {
                let in_transaction = number % 3 == 0;
                if in_transaction {
                    conn.query_drop("BEGIN").map_err(text)?;
                }
                let mut result = conn.exec_drop(
                    "INSERT INTO races (name, a, b) VALUES (?, ?, ?)",
                    (format!("{name} {value}"), value / 7, value % 7),
                );
                if in_transaction {
                    result = result.and_then(|()| conn.query_drop("COMMIT"));
                    conn.query_drop("ROLLBACK").map_err(text)?;
                }
                if !matches!(&result, Err(e) if try_again(e)) {
                    break result;
                }
            };
            match result {
                Ok(()) => won.push(value),
                Err(e) if code(&e) == 1062 => {}
                Err(e) => return Err(text(e)),
            }
        }
        Ok(won)
    })?;
    let mut won: Vec<u64> = won.into_iter().flatten().collect();
    won.sort_unstable();
    if won != (0..VALUES).collect::<Vec<_>>() {
        return Err(format!("winners: {won:?}"));
    }
    let counts: Option<(u64, u64)> = conn
        .query_first("SELECT COUNT(*), COUNT(DISTINCT name) FROM races")
        .map_err(text)?;
    if counts != Some((VALUES, VALUES)) {
        return Err(format!("rows and names: {counts:?}"));
    }
    Ok(())
}
