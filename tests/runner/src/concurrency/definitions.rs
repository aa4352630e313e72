//! Statements on a table whose definition changes get no error for that: they wait, and are planned for the definition that
//! they then find. No row and no change of one is lost meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loadgen::random::Random;
use mysql::prelude::Queryable;
use mysql::{Conn, Value};

use super::{connect, text, threads, try_again};
use crate::code;
use crate::server::Address;

const ROWS: u64 = 2_000;
const CLIENTS: u64 = 5;
const TIME: Duration = Duration::from_secs(8);

/// After all of them, the table is what it was.
const CHANGES: [&str; 24] = [
    "ALTER TABLE changed MODIFY v VARCHAR(20)",
    "ALTER TABLE changed MODIFY v INT",
    "ALTER TABLE changed MODIFY d VARCHAR(20)",
    "ALTER TABLE changed MODIFY d DATE",
    "ALTER TABLE changed DROP PRIMARY KEY, ADD UNIQUE INDEX id (id)",
    "ALTER TABLE changed DROP INDEX id, ADD PRIMARY KEY (id)",
    "ALTER TABLE changed ADD COLUMN s INT AUTO_INCREMENT, ADD INDEX s (s)",
    "ALTER TABLE changed DROP COLUMN s",
    "ALTER TABLE changed ADD COLUMN z INT FIRST",
    "ALTER TABLE changed DROP COLUMN z",
    "ALTER TABLE changed ADD INDEX f ((n + 1))",
    "ALTER TABLE changed MODIFY n BIGINT",
    "ALTER TABLE changed DROP INDEX f, MODIFY n INT",
    "ALTER TABLE changed ADD COLUMN y INT NOT NULL DEFAULT 3, ADD INDEX y (y, n)",
    "ALTER TABLE changed DROP INDEX y, DROP COLUMN y",
    "ALTER TABLE changed ADD COLUMN w INT AS (n + v) VIRTUAL, ADD UNIQUE INDEX w (w, id)",
    "ALTER TABLE changed DROP INDEX w, DROP COLUMN w",
    "ALTER TABLE changed ADD INDEX j ((CAST(j AS UNSIGNED ARRAY)))",
    "ALTER TABLE changed DROP INDEX j",
    "ALTER TABLE changed ADD CHECK (n > 0)",
    "ALTER TABLE changed DROP CHECK changed_chk_1",
    "ALTER TABLE changed ADD INDEX v (v), ADD INDEX d (d)",
    SWAP,
    "ALTER TABLE changed DROP INDEX v, DROP INDEX d",
];

const SWAP: &str = "RENAME TABLE changed TO aside, spare TO changed, changed TO spare, aside TO changed";

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    let rows: Vec<String> = (1..=ROWS)
        .map(|id| {
            format!(
                "({id}, {}, '2020-01-{:02}', {id}, '[{}, 7]')",
                id % 9,
                id % 28 + 1,
                id % 5
            )
        })
        .collect();
    for statement in [
        "CREATE TABLE changed (id INT PRIMARY KEY, v INT, d DATE, n INT, j JSON)",
        "CREATE TABLE spare LIKE changed",
        &format!("INSERT INTO changed VALUES {}", rows.join(", ")),
    ] {
        conn.query_drop(statement).map_err(text)?;
    }
    let stop = AtomicBool::new(false);
    let added = threads(CLIENTS + 1, |number| {
        let result = match number {
            0 => change(address).map(|()| 0),
            _ => run(address, number, &stop),
        };
        // The first that fails ends the others, too.
        if number == 0 || result.is_err() {
            stop.store(true, Ordering::SeqCst);
        }
        result
    })?;
    let sum = ROWS * (ROWS + 1) / 2 + added.iter().sum::<u64>();
    let found: Option<(u64, u64)> = conn
        .query_first("SELECT COUNT(*), CAST(SUM(n) AS UNSIGNED) FROM changed")
        .map_err(text)?;
    match found {
        found if found != Some((ROWS, sum)) => Err(format!("rows and sum: {found:?}, not {:?}", (ROWS, sum))),
        _ if sum == ROWS * (ROWS + 1) / 2 => Err("nothing was written".to_owned()),
        _ => conn.query_drop("DROP TABLE changed, spare").map_err(text),
    }
}

/// Changes the definition for some time, and each of its changes at least once.
fn change(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    let start = Instant::now();
    while start.elapsed() < TIME {
        for change in CHANGES {
            while let Err(error) = conn.query_drop(change) {
                if !try_again(&error) {
                    return Err(format!("{change}: {error}"));
                }
            }
            let checked: Vec<(String, String, String, String)> =
                conn.query("CHECK TABLE changed").map_err(text)?;
            if checked.last().is_none_or(|row| row.3 != "OK") {
                return Err(format!("after {change}: {checked:?}"));
            }
        }
    }
    Ok(())
}

/// Reads and writes until stopped. Returns by how much it has raised the sum of `n`.
fn run(address: &Address, number: u64, stop: &AtomicBool) -> Result<u64, String> {
    let mut conn = connect(address)?;
    let mut random = Random::new(number);
    let mut added = 0;
    while !stop.load(Ordering::SeqCst) {
        let id = random.below(ROWS) + 1;
        let reads = [
            ("SELECT n FROM changed WHERE id = ?", id.to_string()),
            (
                "SELECT COUNT(*) FROM changed WHERE v = ? AND id < 50",
                (id % 9).to_string(),
            ),
            (
                "SELECT COUNT(*) FROM changed WHERE d = ? AND id < 50",
                format!("'2020-01-{:02}'", id % 28 + 1),
            ),
            (
                "SELECT COUNT(*) FROM changed WHERE n + 1 = ? AND id < 50",
                id.to_string(),
            ),
        ];
        let raise = ("UPDATE changed SET n = n + 1, v = v WHERE id = ?", id.to_string());
        let all = match random.below(6) {
            at @ 0..4 => vec![reads[at as usize].clone()],
            4 => vec![raise],
            _ => vec![
                ("BEGIN", String::new()),
                raise,
                reads[random.below(4) as usize].clone(),
                ("COMMIT", String::new()),
            ],
        };
        let raises = u64::from(all.iter().any(|(statement, _)| statement.starts_with("UPDATE")));
        let is_prepared = random.below(2) == 0;
        match all
            .iter()
            .try_for_each(|one| execute(&mut conn, one, is_prepared))
        {
            Ok(()) => added += raises,
            // A transaction's snapshot is older than the definition.
            Err((_, error)) if try_again(&error) || all.len() > 1 && code(&error) == 1412 => {
                conn.query_drop("ROLLBACK").map_err(text)?
            }
            Err((statement, error)) => return Err(format!("{statement}: {error}")),
        }
    }
    Ok(added)
}

/// Runs a statement with its value as a parameter, or in its text.
fn execute(
    conn: &mut Conn,
    (statement, value): &(&str, String),
    is_prepared: bool,
) -> Result<(), (String, mysql::Error)> {
    let done = match is_prepared && !value.is_empty() {
        true => conn.exec_drop(*statement, (Value::from(value.trim_matches('\'')),)),
        false => conn.query_drop(statement.replace('?', value)),
    };
    done.map_err(|error| (statement.replace('?', value), error))
}
