//! SHOW ENGINE INNODB STATUS names the row that a transaction waits for, and the last deadlock.

use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{code, connect, text};
use crate::server::Address;

const PATIENCE: Duration = Duration::from_secs(30);

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    for statement in [
        "CREATE TABLE reported (id INT PRIMARY KEY, v INT NOT NULL)",
        "INSERT INTO reported VALUES (1, 0), (2, 0)",
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    let holder = holding(address, 1)?;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let mut conn = holding(address, 2)?;
            conn.query_drop("UPDATE reported SET v = 7 WHERE id = 1")
                .map_err(text)?;
            Ok::<_, String>(conn)
        });
        let waits = expect(
            &mut conn,
            &[
                "LOCK WAIT",
                "TRX HAS BEEN WAITING",
                "index PRIMARY of table `concurrency`.`reported`",
                "lock_mode X locks rec but not gap",
                "UPDATE reported SET v = 7 WHERE id = 1",
            ],
        );
        // The waiting transaction holds the lock that the other one now requests.
        let mut holder = holder;
        let first = holder.query_drop("UPDATE reported SET v = 8 WHERE id = 2");
        drop(holder);
        let second = waiter.join().map_err(|_| "the waiter panicked")?;
        waits?;
        match (first, second) {
            (Err(error), Ok(_)) if code(&error) == 1213 => Ok(()),
            (Ok(()), Err(_)) => Ok(()),
            other => Err(format!("not one victim: {other:?}")),
        }
    })?;
    expect(
        &mut conn,
        &[
            "LATEST DETECTED DEADLOCK",
            "*** (1) TRANSACTION:",
            "*** (2) WAITING FOR THIS LOCK TO BE GRANTED:",
            "*** WE ROLL BACK TRANSACTION (",
            "END OF INNODB MONITOR OUTPUT",
        ],
    )
}

/// A transaction that has locked a row.
fn holding(address: &Address, id: u32) -> Result<Conn, String> {
    let mut conn = connect(address)?;
    conn.query_drop("BEGIN").map_err(text)?;
    conn.exec_drop("UPDATE reported SET v = v + 1 WHERE id = ?", (id,))
        .map_err(text)?;
    Ok(conn)
}

/// Waits until the report contains all of these.
fn expect(conn: &mut Conn, parts: &[&str]) -> Result<(), String> {
    let since = Instant::now();
    loop {
        let row: Option<(String, String, String)> =
            conn.query_first("SHOW ENGINE INNODB STATUS").map_err(text)?;
        let (kind, _, report) = row.ok_or("no report")?;
        let missing = parts.iter().find(|part| !report.contains(**part));
        match missing {
            None if kind == "InnoDB" => return Ok(()),
            _ if since.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(20)),
            missing => return Err(format!("{kind}, without {missing:?}: {report}")),
        }
    }
}
