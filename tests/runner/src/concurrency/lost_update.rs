//! Many connections increment counters at once, in every way that SQL offers. The counters end at the number
//! of increments.

use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};

use super::{Mode, connect, connect_as, text, threads, try_again};
use crate::server::Address;

const THREADS: u64 = 8;
const INCREMENTS: u64 = 50;

pub fn check(mode: Mode, address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop("DROP TABLE IF EXISTS counters").map_err(text)?;
    conn.query_drop("CREATE TABLE counters (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL, KEY w (w))")
        .map_err(text)?;
    conn.query_drop("INSERT INTO counters VALUES (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0), (5, 0, 0)")
        .map_err(text)?;
    for level in ["REPEATABLE READ", "READ COMMITTED"] {
        conn.query_drop("UPDATE counters SET v = 0, w = 0")
            .map_err(text)?;
        threads(THREADS, |_| {
            let mut conn = connect_as(mode, address)?;
            conn.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))
                .map_err(text)?;
            for _ in 0..INCREMENTS {
                one_statement(&mut conn)?;
                read_for_update(&mut conn)?;
                read_then_lock(&mut conn)?;
                insert_or_update(&mut conn)?;
                by_secondary_index(&mut conn)?;
            }
            Ok(())
        })?;
        let values: Vec<(u64, u64)> = conn
            .query("SELECT v, w FROM counters ORDER BY id")
            .map_err(text)?;
        let all = THREADS * INCREMENTS;
        let expected = [(all, 0), (all, 0), (all, 0), (0, all), (all, 0)];
        if values != expected {
            return Err(format!("{level}: {values:?}, expected {expected:?}"));
        }
    }
    Ok(())
}

fn retry(conn: &mut Conn, mut action: impl FnMut(&mut Conn) -> mysql::Result<()>) -> Result<(), String> {
    loop {
        match action(conn) {
            Err(e) if try_again(&e) => {}
            other => return other.map_err(text),
        }
    }
}

fn one_statement(conn: &mut Conn) -> Result<(), String> {
    retry(conn, |conn| {
        conn.exec_drop("UPDATE counters SET v = v + 1 WHERE id = ?", (1,))
    })
}

/// Read, add in the program, write: correct because the read locks.
fn read_for_update(conn: &mut Conn) -> Result<(), String> {
    retry(conn, |conn| {
        let mut transaction = conn.start_transaction(TxOpts::default())?;
        let value: Option<u64> =
            transaction.exec_first("SELECT v FROM counters WHERE id = ? FOR UPDATE", (2,))?;
        // A missing counter stays at zero, and the sum at the end shows it.
        let value = value.unwrap_or(0);
        transaction.exec_drop("UPDATE counters SET v = ? WHERE id = ?", (value + 1, 2))?;
        transaction.commit()
    })
}

/// The row may change between the snapshot and the lock, and the server adds.
fn read_then_lock(conn: &mut Conn) -> Result<(), String> {
    retry(conn, |conn| {
        let mut transaction = conn.start_transaction(TxOpts::default())?;
        transaction.query_drop("SELECT v FROM counters WHERE id = 5")?;
        let locked: Option<u64> = transaction.query_first("SELECT v FROM counters WHERE id = 5 FOR SHARE")?;
        let condition = format!("id = 5 AND v = {}", locked.unwrap_or(0));
        transaction.query_drop(format!("UPDATE counters SET v = v + 1 WHERE {condition}"))?;
        transaction.commit()
    })
}

fn insert_or_update(conn: &mut Conn) -> Result<(), String> {
    retry(conn, |conn| {
        conn.query_drop("INSERT INTO counters VALUES (3, 1, 0) ON DUPLICATE KEY UPDATE v = v + 1")
    })
}

/// The condition is read from a secondary index and must still hold once the row is locked.
fn by_secondary_index(conn: &mut Conn) -> Result<(), String> {
    loop {
        let value: Option<u64> = conn
            .query_first("SELECT w FROM counters WHERE id = 4")
            .map_err(text)?;
        let value = value.ok_or("the counter is gone")?;
        let result = conn.exec_drop("UPDATE counters SET w = w + 1 WHERE w = ? AND id = 4", (value,));
        match result {
            Err(e) if try_again(&e) => continue,
            Err(e) => return Err(text(e)),
            Ok(()) if conn.affected_rows() == 1 => return Ok(()),
            Ok(()) => continue,
        }
    }
}
