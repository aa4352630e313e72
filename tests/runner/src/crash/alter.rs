//! ALTER TABLE while writers run, repeatedly: changes that rewrite all rows, build indexes or check rows. A
//! later change undoes each of them.

use std::sync::atomic::{AtomicBool, Ordering};

use loadgen::random::Random;
use mysql::prelude::Queryable;

use super::{DATABASE, text};
use crate::server::Address;

/// After each change, the writers and the model must read the same values as before.
const CHANGES: [&str; 34] = [
    "ALTER TABLE accounts MODIFY balance INT NOT NULL",
    "ALTER TABLE accounts MODIFY balance DECIMAL(20) NOT NULL",
    "ALTER TABLE accounts MODIFY balance BIGINT NOT NULL",
    "ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY (n, name)",
    "ALTER TABLE items DROP PRIMARY KEY, ADD PRIMARY KEY (name, n)",
    "ALTER TABLE items DROP PRIMARY KEY, ADD UNIQUE KEY pair (name, n)",
    "ALTER TABLE items DROP KEY pair, ADD PRIMARY KEY (name, n)",
    "ALTER TABLE accounts ADD COLUMN seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, ADD KEY seq (seq)",
    "ALTER TABLE accounts DROP COLUMN seq",
    "ALTER TABLE orders MODIFY note VARCHAR(200) COLLATE utf8mb4_bin NOT NULL, MODIFY version SMALLINT NOT NULL",
    "ALTER TABLE orders MODIFY note VARCHAR(200) COLLATE utf8mb4_0900_ai_ci NOT NULL, MODIFY version INT NOT NULL",
    "ALTER TABLE transfers MODIFY name VARCHAR(40) COLLATE utf8mb4_bin NOT NULL, ADD CONSTRAINT positive CHECK (amount > -1000000)",
    "ALTER TABLE transfers MODIFY name VARCHAR(40) COLLATE utf8mb4_0900_ai_ci NOT NULL, DROP CHECK positive",
    "ALTER TABLE transfers DROP KEY name, ADD UNIQUE KEY name (name)",
    "ALTER TABLE accounts PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (3), PARTITION b VALUES LESS THAN MAXVALUE)",
    "ALTER TABLE accounts REORGANIZE PARTITION a INTO (PARTITION a VALUES LESS THAN (1), PARTITION c VALUES LESS THAN (3))",
    "ALTER TABLE accounts REMOVE PARTITIONING",
    "ALTER TABLE items PARTITION BY KEY (name) PARTITIONS 3",
    "ALTER TABLE items COALESCE PARTITION 1",
    "ALTER TABLE items REMOVE PARTITIONING",
    "ALTER TABLE orders ADD COLUMN twice BIGINT AS (version * 2) STORED AFTER name, ADD KEY twice (twice)",
    "ALTER TABLE orders DROP COLUMN twice",
    "ALTER TABLE orders ADD KEY half ((version DIV 2))",
    "ALTER TABLE orders DROP KEY half",
    "ALTER TABLE orders ADD FULLTEXT KEY words (note)",
    "ALTER TABLE orders DROP KEY words",
    "ALTER TABLE orders ADD COLUMN more INT NOT NULL DEFAULT 5 FIRST, ADD KEY more (more, version)",
    "ALTER TABLE orders DROP KEY more, DROP COLUMN more",
    "ALTER TABLE orders ADD COLUMN next BIGINT AS (version + 1) AFTER name, ADD UNIQUE KEY next (next, name)",
    "ALTER TABLE orders DROP KEY next, DROP COLUMN next",
    "ALTER TABLE transfers CONVERT TO CHARACTER SET latin1",
    "ALTER TABLE transfers CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
    "ALTER TABLE transfers ADD CONSTRAINT of_account FOREIGN KEY (source) REFERENCES accounts (id)",
    "ALTER TABLE transfers DROP FOREIGN KEY of_account, DROP KEY of_account",
];

/// Errors that a change may fail with: a lock that it did not get, a server that shuts down, names or partitions that an
/// earlier change has already added or removed, and partitions of a table with foreign keys.
const EXPECTED: [u16; 15] = [
    1053, 1060, 1061, 1091, 1205, 1213, 1505, 1506, 1507, 1508, 1520, 1826, 3821, 3822, 8501,
];

/// Changes tables until the server dies, which must not happen before `killed`.
pub fn change(address: &Address, seed: u64, killed: &AtomicBool) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut conn = match address.connect_to(DATABASE) {
        Ok(conn) => conn,
        Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
        Err(e) => return Err(text(e)),
    };
    loop {
        let change = CHANGES[random.below(CHANGES.len() as u64) as usize];
        match conn.query_drop(change) {
            Ok(()) => {}
            Err(_) if killed.load(Ordering::SeqCst) => return Ok(()),
            Err(mysql::Error::MySqlError(e)) if EXPECTED.contains(&e.code) => {}
            Err(e) => return Err(format!("{change}: {e}")),
        }
    }
}
