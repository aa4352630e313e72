//! If transactions wait for each other, exactly one gets a deadlock error, at once, and the others continue.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use mysql::TxOpts;
use mysql::prelude::Queryable;

use super::{code, connect, text, threads};
use crate::server::Address;

/// Far below the lock wait time-out of 50 s, which must not end the deadlock.
const FOUND_WITHIN: Duration = Duration::from_secs(30);

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop("CREATE TABLE ring (id INT PRIMARY KEY, v INT NOT NULL)")
        .map_err(text)?;
    conn.query_drop("INSERT INTO ring VALUES (0, 0), (1, 0), (2, 0), (3, 0)")
        .map_err(text)?;
    for size in [2, 3, 4] {
        for _ in 0..3 {
            ring(address, size)?;
        }
    }
    Ok(())
}

/// Each of `size` transactions holds one row and then requests the next one's.
fn ring(address: &Address, size: u64) -> Result<(), String> {
    let before = total(address)?;
    let all_hold = Barrier::new(size as usize);
    let victims = threads(size, |number| {
        let held = (|| {
            let mut conn = connect(address)?;
            conn.query_drop("BEGIN").map_err(text)?;
            conn.exec_drop("UPDATE ring SET v = v + 1 WHERE id = ?", (number,))
                .map_err(text)?;
            Ok::<_, String>(conn)
        })();
        all_hold.wait();
        let mut conn = held?;
        let start = Instant::now();
        let asked = conn.exec_drop("UPDATE ring SET v = v + 1 WHERE id = ?", ((number + 1) % size,));
        if start.elapsed() > FOUND_WITHIN {
            return Err(format!("in a ring of {size}, a lock took {:?}", start.elapsed()));
        }
        match asked {
            Ok(()) => conn.query_drop("COMMIT").map_err(text).map(|()| false),
            Err(e) if code(&e) == 1213 => {
                // The whole transaction has been rolled back, not only the statement.
                conn.query_drop("COMMIT").map_err(text).map(|()| true)
            }
            Err(e) => Err(text(e)),
        }
    })?;
    let victims = victims.into_iter().filter(|victim| *victim).count() as u64;
    if victims != 1 {
        return Err(format!("{victims} victims in a ring of {size}"));
    }
    let added = total(address)? - before;
    if added != (size as i64 - 1) * 2 {
        return Err(format!("a ring of {size} left {added} of its updates"));
    }
    Ok(())
}

fn total(address: &Address) -> Result<i64, String> {
    let mut conn = connect(address)?;
    let mut transaction = conn.start_transaction(TxOpts::default()).map_err(text)?;
    let total: Option<i64> = transaction
        .query_first("SELECT CAST(SUM(v) AS SIGNED) FROM ring")
        .map_err(text)?;
    transaction.commit().map_err(text)?;
    total.ok_or_else(|| "no rows".to_string())
}
