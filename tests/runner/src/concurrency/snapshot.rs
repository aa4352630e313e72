//! A REPEATABLE READ transaction that reads again gets the same rows, by every access path, whatever other
//! connections commit meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};

use super::{connect, text, try_again};
use crate::server::Address;
use loadgen::random::Random;

const ROWS: u64 = 200;
const TIME: Duration = Duration::from_secs(3);

const QUERIES: [&str; 6] = [
    "SELECT COUNT(*), SUM(v), SUM(k), MIN(id), MAX(id) FROM snapshots",
    "SELECT id, k, v FROM snapshots ORDER BY id",
    "SELECT id, k, v FROM snapshots WHERE k BETWEEN 20 AND 60 ORDER BY k, id",
    "SELECT id FROM snapshots WHERE k = 7 ORDER BY id",
    "SELECT id, v FROM snapshots WHERE id = 5",
    "SELECT k, COUNT(*) FROM snapshots GROUP BY k ORDER BY k",
];

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop("CREATE TABLE snapshots (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY k (k))")
        .map_err(text)?;
    for id in 0..ROWS {
        conn.exec_drop("INSERT INTO snapshots VALUES (?, ?, ?)", (id, id % 100, 0))
            .map_err(text)?;
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|number| {
                let stop = &stop;
                scope.spawn(move || write(address, number, stop))
            })
            .collect();
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(|| read(address))).collect();
        let mut result = Ok(());
        for reader in readers {
            let one = reader.join().map_err(|_| "a reader panicked".to_string())?;
            result = result.and(one);
        }
        stop.store(true, Ordering::Relaxed);
        let mut writes = 0;
        for writer in writers {
            writes += writer.join().map_err(|_| "a writer panicked".to_string())??;
        }
        if writes == 0 {
            return Err("nothing was written".to_string());
        }
        result
    })
}

fn write(address: &Address, number: u64, stop: &AtomicBool) -> Result<u64, String> {
    let mut conn = connect(address)?;
    let mut random = Random::new(number);
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let id = random.below(ROWS);
        let result = match random.below(4) {
            0 => conn.exec_drop("UPDATE snapshots SET v = v + 1 WHERE id = ?", (id,)),
            1 => conn.exec_drop("UPDATE snapshots SET k = ? WHERE id = ?", (random.below(100), id)),
            2 => conn.exec_drop("DELETE FROM snapshots WHERE id = ?", (id,)),
            _ => conn.exec_drop("REPLACE INTO snapshots VALUES (?, ?, 1)", (id, random.below(100))),
        };
        match result {
            Err(e) if try_again(&e) => {}
            Err(e) => return Err(text(e)),
            Ok(()) => count += 1,
        }
    }
    Ok(count)
}

fn read(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    let start = Instant::now();
    while start.elapsed() < TIME {
        let mut transaction = conn
            .start_transaction(TxOpts::default().set_with_consistent_snapshot(true))
            .map_err(text)?;
        let first = QUERIES.map(|query| answers(&mut transaction, query));
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(10));
            for (query, first) in QUERIES.iter().zip(&first) {
                let again = answers(&mut transaction, query)?;
                if Ok(&again) != first.as_ref() {
                    return Err(format!("{query} gave another answer in the same transaction"));
                }
            }
        }
        transaction.commit().map_err(text)?;
    }
    consistent(&mut conn)
}

fn answers(conn: &mut impl Queryable, query: &str) -> Result<Vec<String>, String> {
    let rows: Vec<mysql::Row> = conn.query(query).map_err(text)?;
    Ok(rows
        .into_iter()
        .map(|row| format!("{:?}", row.unwrap()))
        .collect())
}

/// Within one statement, the index and the rows must be of one snapshot.
fn consistent(conn: &mut Conn) -> Result<(), String> {
    let rows: Vec<(u64, u64)> = conn
        .query("SELECT id, k FROM snapshots WHERE k < 50 ORDER BY k, id")
        .map_err(text)?;
    let mut ids: Vec<u64> = rows.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() != rows.len() || rows.iter().any(|(_, k)| *k >= 50) {
        return Err("one statement saw rows of two moments".to_string());
    }
    Ok(())
}
