//! Some connections delete and move parent rows while others add child rows. At the end every child has its
//! parent. On a cluster the connections are to two nodes.

use mysql::prelude::Queryable;
use mysql::{Conn, Error};

use super::{code, connect, create_database, text, threads, try_again};
use crate::server::Address;

const THREADS: u64 = 8;
const ROUNDS: u64 = 120;
const PARENTS: u64 = 12;

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
    for table in [
        "CREATE TABLE fk_parent (id INT PRIMARY KEY, code INT NOT NULL, UNIQUE KEY (code))",
        "CREATE TABLE fk_strict (id BIGINT AUTO_INCREMENT PRIMARY KEY, parent INT, \
         FOREIGN KEY (parent) REFERENCES fk_parent (id))",
        "CREATE TABLE fk_owned (id BIGINT AUTO_INCREMENT PRIMARY KEY, parent INT, \
         FOREIGN KEY (parent) REFERENCES fk_parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE fk_by_code (id BIGINT AUTO_INCREMENT PRIMARY KEY, code INT, \
         FOREIGN KEY (code) REFERENCES fk_parent (code) ON DELETE SET NULL ON UPDATE CASCADE)",
        "CREATE TABLE fk_below (id BIGINT AUTO_INCREMENT PRIMARY KEY, owned BIGINT, \
         FOREIGN KEY (owned) REFERENCES fk_owned (id) ON DELETE CASCADE)",
    ] {
        conn.query_drop(table).map_err(text)?;
    }
    for id in 0..PARENTS {
        conn.query_drop(format!("INSERT INTO fk_parent VALUES ({id}, {id})"))
            .map_err(text)?;
    }
    let done: u64 = threads(THREADS, |number| {
        let mut conn = connect(servers[(number % 2) as usize])?;
        conn.query_drop("SET innodb_lock_wait_timeout = 5")
            .map_err(text)?;
        let mut done = 0;
        for round in 0..ROUNDS {
            done += u64::from(step(&mut conn, number, round)?);
        }
        Ok(done)
    })?
    .into_iter()
    .sum();
    if done < THREADS * ROUNDS / 8 {
        return Err(format!("only {done} statements have succeeded"));
    }
    for (table, column, parent, key) in [
        ("fk_strict", "parent", "fk_parent", "id"),
        ("fk_owned", "parent", "fk_parent", "id"),
        ("fk_by_code", "code", "fk_parent", "code"),
        ("fk_below", "owned", "fk_owned", "id"),
    ] {
        let orphans: Option<u64> = conn
            .query_first(format!(
                "SELECT COUNT(*) FROM {table} c LEFT JOIN {parent} p ON p.{key} = c.{column} \
                 WHERE c.{column} IS NOT NULL AND p.{key} IS NULL"
            ))
            .map_err(text)?;
        if orphans != Some(0) {
            return Err(format!("{orphans:?} rows of {table} have no parent"));
        }
    }
    for table in ["fk_below", "fk_by_code", "fk_owned", "fk_strict", "fk_parent"] {
        conn.query_drop(format!("DROP TABLE {table}")).map_err(text)?;
    }
    Ok(())
}

/// Runs one statement, or a transaction of two. Returns whether it succeeded.
fn step(conn: &mut Conn, number: u64, round: u64) -> Result<bool, String> {
    // Different for every thread and round, and the same in every run.
    let mixed = (number * 7919 + round * 104_729 + round * round * 31) % 1_000_003;
    let id = mixed % PARENTS;
    let statements = match (number + round) % 8 {
        0 => vec![format!("DELETE FROM fk_parent WHERE id = {id}")],
        1 => vec![format!("INSERT INTO fk_parent VALUES ({id}, {id})")],
        2 => vec![format!("INSERT INTO fk_strict (parent) VALUES ({id}), (NULL)")],
        3 => vec![
            format!("INSERT INTO fk_owned (parent) VALUES ({id})"),
            "INSERT INTO fk_below (owned) VALUES (LAST_INSERT_ID())".to_owned(),
        ],
        4 => vec![format!("INSERT INTO fk_by_code (code) VALUES ({id})")],
        5 => vec![
            format!("DELETE FROM fk_strict WHERE parent = {id}"),
            format!("DELETE FROM fk_parent WHERE id = {id}"),
        ],
        6 => vec![format!(
            "UPDATE fk_parent SET id = id + {PARENTS}, code = code + {PARENTS} WHERE id = {id}"
        )],
        _ => vec![format!("DELETE FROM fk_parent WHERE id = {}", id + PARENTS)],
    };
    let in_transaction = statements.len() > 1;
    if in_transaction {
        conn.query_drop("BEGIN").map_err(text)?;
    }
    for statement in &statements {
        if let Err(error) = conn.query_drop(statement) {
            let is_refused = matches!(code(&error), 1062 | 1451 | 1452);
            if in_transaction {
                conn.query_drop("ROLLBACK").map_err(text)?;
            }
            return match is_refused || try_again(&error) {
                true => Ok(false),
                false => Err(format!("{statement}: {error}")),
            };
        }
    }
    match in_transaction.then(|| conn.query_drop("COMMIT")) {
        Some(Err(error)) if refused_at_commit(&error) => Ok(false),
        Some(Err(error)) => Err(text(error)),
        _ => Ok(true),
    }
}

fn refused_at_commit(error: &Error) -> bool {
    try_again(error) || code(error) == 1062
}
