//! Some connections move money between rows, and rows between partitions, while another one changes the
//! partitioning. No row is lost or duplicated, and the sum stays the same.

use std::sync::atomic::{AtomicBool, Ordering};

use loadgen::random::Random;
use mysql::Conn;
use mysql::prelude::Queryable;

use super::{code, connect, create_database, text, threads, try_again};
use crate::server::Address;

const WRITERS: u64 = 4;
const ROWS: u64 = 600;
const ROUNDS: u64 = 250;

/// The changes, repeated in this order.
const CHANGES: [&str; 12] = [
    "PARTITION BY HASH (place) PARTITIONS 3",
    "ADD PARTITION PARTITIONS 2",
    "COALESCE PARTITION 3",
    "PARTITION BY RANGE (place) (PARTITION a VALUES LESS THAN (30), PARTITION b VALUES LESS THAN (60), \
     PARTITION c VALUES LESS THAN MAXVALUE)",
    "REORGANIZE PARTITION a, b INTO (PARTITION d VALUES LESS THAN (10), PARTITION e VALUES LESS THAN (60))",
    "MODIFY amount DECIMAL(20, 2) NOT NULL",
    "REORGANIZE PARTITION c INTO (PARTITION f VALUES LESS THAN (80), PARTITION g VALUES LESS THAN MAXVALUE)",
    "MODIFY place BIGINT NOT NULL",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (place, id)",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (id, place) PARTITION BY KEY (id) PARTITIONS 4",
    "MODIFY amount BIGINT NOT NULL, MODIFY place INT NOT NULL",
    "REMOVE PARTITIONING",
];

pub fn check(address: &Address) -> Result<(), String> {
    hammer(&[address, address])
}

/// Half of the connections go to each of two servers.
pub fn check_over(one: &Address, two: &Address) -> Result<(), String> {
    create_database(one)?;
    hammer(&[one, two])
}

fn hammer(servers: &[&Address; 2]) -> Result<(), String> {
    let mut conn = connect(servers[0])?;
    conn.query_drop(
        "CREATE TABLE purses (id INT, place INT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (id, place), \
         KEY (amount))",
    )
    .map_err(text)?;
    let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, {}, 100)", id % 100)).collect();
    conn.query_drop(format!("INSERT INTO purses VALUES {}", rows.join(", ")))
        .map_err(text)?;
    let done = AtomicBool::new(false);
    let changed = threads(WRITERS + 1, |number| match number {
        WRITERS => change(&mut connect(servers[0])?, &done),
        number => {
            let written = write(&mut connect(servers[(number % 2) as usize])?, number);
            done.store(true, Ordering::SeqCst);
            written.map(|()| 0)
        }
    })?;
    let found: Option<(u64, u64, f64, u64)> = conn
        .query_first(
            "SELECT COUNT(*), COUNT(DISTINCT id), SUM(amount), \
             (SELECT COUNT(*) FROM purses FORCE INDEX (amount) WHERE amount > -100000000) FROM purses",
        )
        .map_err(text)?;
    if found != Some((ROWS, ROWS, ROWS as f64 * 100.0, ROWS)) {
        return Err(format!("rows, ids, sum, entries: {found:?}"));
    }
    let checked: Vec<(String, String, String, String)> = conn.query("CHECK TABLE purses").map_err(text)?;
    if checked.last().is_none_or(|row| row.3 != "OK") {
        return Err(format!("CHECK TABLE: {checked:?}"));
    }
    match changed.iter().sum::<u64>() {
        0 => Err("no change of the partitions was made".to_owned()),
        _ => conn.query_drop("DROP TABLE purses").map_err(text),
    }
}

fn change(conn: &mut Conn, done: &AtomicBool) -> Result<u64, String> {
    let mut changes = 0;
    for change in CHANGES.iter().cycle() {
        loop {
            match conn.query_drop(format!("ALTER TABLE purses {change}")) {
                Ok(()) => break,
                Err(e) if try_again(&e) => {}
                Err(e) => return Err(format!("{change}: {e}")),
            }
        }
        changes += 1;
        if done.load(Ordering::SeqCst) && changes >= CHANGES.len() as u64 {
            break;
        }
    }
    Ok(changes)
}

fn write(conn: &mut Conn, number: u64) -> Result<(), String> {
    let mut random = Random::new(number + 1);
    for _ in 0..ROUNDS {
        let (from, to, place) = (random.below(ROWS), random.below(ROWS), random.below(100));
        let statements = match random.below(4) {
            0 => vec![
                format!("UPDATE purses SET amount = amount - 7 WHERE id = {from}"),
                format!("UPDATE purses SET amount = amount + 7 WHERE id = {to}"),
            ],
            1 => vec![format!("UPDATE purses SET place = {place} WHERE id = {from}")],
            2 => vec![
                "SET @amount = NULL".to_owned(),
                format!("SELECT amount INTO @amount FROM purses WHERE id = {from} FOR UPDATE"),
                format!("DELETE FROM purses WHERE id = {from}"),
                format!("INSERT INTO purses (id, place, amount) VALUES ({from}, {place}, @amount)"),
            ],
            _ => vec![format!(
                "UPDATE purses SET place = (place + 31) % 100 WHERE id BETWEEN {from} AND {from} + 5"
            )],
        };
        transaction(conn, &statements)?;
    }
    Ok(())
}

/// Runs the statements as one transaction, until it commits.
fn transaction(conn: &mut Conn, statements: &[String]) -> Result<(), String> {
    loop {
        conn.query_drop("BEGIN").map_err(text)?;
        let mut all = statements.iter().map(String::as_str).chain(["COMMIT"]);
        match all.try_for_each(|statement| conn.query_drop(statement)) {
            Ok(()) => return Ok(()),
            // The definition has changed since the transaction began: 1412, or 8027 among nodes.
            Err(e) if try_again(&e) || matches!(code(&e), 1412 | 8027) => {
                conn.query_drop("ROLLBACK").map_err(text)?
            }
            Err(e) => return Err(format!("{statements:?}: {e}")),
        }
    }
}
