//! Many workers claim jobs, found by the column that a claim changes, with an index on it and without. Each
//! job is claimed once.

use mysql::prelude::Queryable;
use mysql::{Conn, TxOpts};

use super::{connect, text, threads, try_again};
use crate::server::Address;

const THREADS: u64 = 16;
const JOBS: u64 = 600;

/// Claims a job; returns the number of jobs claimed. `None`: no job is left.
type Claim = fn(&mut Conn) -> mysql::Result<Option<u64>>;

pub fn check(address: &Address) -> Result<(), String> {
    check_with(address, ", KEY state (state)")?;
    check_with(address, "")
}

fn check_with(address: &Address, key: &str) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop("DROP TABLE IF EXISTS jobs").map_err(text)?;
    conn.query_drop(format!(
        "CREATE TABLE jobs (id INT AUTO_INCREMENT PRIMARY KEY, state INT NOT NULL{key})"
    ))
    .map_err(text)?;
    let ways: [(&str, Claim); 2] = [("one statement", one_statement), ("read and skip", read_and_skip)];
    for level in ["REPEATABLE READ", "READ COMMITTED"] {
        for (way, claim) in ways {
            conn.query_drop("DELETE FROM jobs").map_err(text)?;
            let jobs = vec!["(0)"; JOBS as usize].join(",");
            conn.query_drop(format!("INSERT INTO jobs (state) VALUES {jobs}"))
                .map_err(text)?;
            let claimed = threads(THREADS, |_| {
                let mut conn = connect(address)?;
                conn.query_drop(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"))
                    .map_err(text)?;
                claim_all(&mut conn, claim)
            })?;
            let claimed: u64 = claimed.iter().sum();
            if claimed != JOBS {
                return Err(format!(
                    "{way}, {level}{key}: {JOBS} jobs were claimed {claimed} times"
                ));
            }
        }
    }
    Ok(())
}

fn claim_all(conn: &mut Conn, claim: Claim) -> Result<u64, String> {
    let mut claimed = 0;
    loop {
        match claim(conn) {
            Ok(Some(count)) => claimed += count,
            Ok(None) => return Ok(claimed),
            Err(e) if try_again(&e) => {}
            Err(e) => return Err(text(e)),
        }
    }
}

fn one_statement(conn: &mut Conn) -> mysql::Result<Option<u64>> {
    conn.query_drop("UPDATE jobs SET state = 1 WHERE state = 0 LIMIT 1")?;
    Ok(Some(conn.affected_rows()).filter(|count| *count > 0))
}

/// If all remaining jobs are locked, checks whether there are any.
fn read_and_skip(conn: &mut Conn) -> mysql::Result<Option<u64>> {
    let mut transaction = conn.start_transaction(TxOpts::default())?;
    let job: Option<(u64, u64)> = transaction.query_first(
        "SELECT id, state FROM jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
    )?;
    let Some((id, state)) = job else {
        transaction.rollback()?;
        let left: Option<u64> = conn.query_first("SELECT COUNT(*) FROM jobs WHERE state = 0")?;
        return Ok(left.filter(|left| *left > 0).map(|_| 0));
    };
    transaction.exec_drop("UPDATE jobs SET state = 1 WHERE id = ?", (id,))?;
    transaction.commit()?;
    // A job in another state was claimed by another worker.
    Ok(Some(if state == 0 { 1 } else { JOBS }))
}
