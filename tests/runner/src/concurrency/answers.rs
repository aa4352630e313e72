//! The effect of a statement is visible as soon as its reply arrives: to its own connection, to others, and
//! to a change of the table. Replies come in the order of their commands, even if a client sends several
//! commands before it reads.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{DATABASE, connect, text, threads};
use crate::raw::Raw;
use crate::server::Address;

const WRITERS: u64 = 16;
const ROUNDS: u64 = 24;
/// Few enough for ids of one byte.
const SENT_AHEAD: u8 = 100;

pub fn check(address: &Address) -> Result<(), String> {
    let mut conn = connect(address)?;
    conn.query_drop(
        "CREATE TABLE answers (id BIGINT AUTO_INCREMENT PRIMARY KEY, writer INT, v INT, small TINYINT, KEY writer (writer))",
    )
    .map_err(text)?;
    threads(WRITERS, |number| {
        let mut writer = Writer {
            number,
            conn: connect(address)?,
            other: connect(address)?,
        };
        // Values out of range are warnings.
        writer.conn.query_drop("SET sql_mode = ''").map_err(text)?;
        writer
            .other
            .query_drop("SET lock_wait_timeout = 120")
            .map_err(text)?;
        (0..ROUNDS).try_for_each(|round| {
            let result = writer.round(round);
            result.map_err(|e| format!("writer {number}, round {round}: {e}"))
        })?;
        sends_ahead(address, number)
    })?;
    let rows: Option<u64> = conn.query_first("SELECT COUNT(*) FROM answers").map_err(text)?;
    same("rows", rows, Some(WRITERS * ROUNDS))
}

struct Writer {
    number: u64,
    conn: Conn,
    other: Conn,
}

impl Writer {
    fn round(&mut self, round: u64) -> Result<(), String> {
        let in_transaction = round % 3 == 2;
        if in_transaction {
            self.conn.query_drop("BEGIN").map_err(text)?;
        }
        let id = self.insert(round)?;
        if in_transaction {
            self.conn.query_drop("COMMIT").map_err(text)?;
            let counted: Option<i64> = self.conn.query_first("SELECT ROW_COUNT()").map_err(text)?;
            same("ROW_COUNT() after COMMIT", counted, Some(0))?;
        }
        // Another connection sees it, and can lock it at once.
        let seen: Option<(u64, u64, i64)> = self
            .other
            .exec_first(
                "SELECT writer, v, small FROM answers WHERE id = ? FOR UPDATE NOWAIT",
                (id,),
            )
            .map_err(text)?;
        same("the row", seen, Some((self.number, round, 127)))?;
        self.update(id, round)?;
        self.change_table(round)
    }

    /// A row with a warning.
    fn insert(&mut self, round: u64) -> Result<u64, String> {
        let (number, conn) = (self.number, &mut self.conn);
        let insert = "INSERT INTO answers (writer, v, small) VALUES";
        if round.is_multiple_of(2) {
            conn.query_drop(format!("{insert} ({number}, {round}, 300)"))
        } else {
            conn.exec_drop(format!("{insert} (?, ?, 300)"), (number, round))
        }
        .map_err(text)?;
        let id = conn.last_insert_id();
        same(
            "rows inserted and warnings",
            (conn.affected_rows(), conn.warnings()),
            (1, 1),
        )?;
        if round % 4 < 2 {
            let warnings: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS").map_err(text)?;
            let codes: Vec<u16> = warnings.iter().map(|warning| warning.1).collect();
            same("SHOW WARNINGS", codes, vec![1264])?;
        } else {
            let reported: Option<(i64, u64)> = conn
                .query_first("SELECT ROW_COUNT(), LAST_INSERT_ID()")
                .map_err(text)?;
            same("ROW_COUNT(), LAST_INSERT_ID()", reported, Some((1, id)))?;
        }
        Ok(id)
    }

    fn update(&mut self, id: u64, round: u64) -> Result<(), String> {
        let update = "UPDATE answers SET small = 1 WHERE id IN (?, 0)";
        self.conn.exec_drop(update, (id,)).map_err(text)?;
        same("rows updated", self.conn.affected_rows(), 1)?;
        same(
            "what UPDATE says",
            self.conn.info_str().into_owned(),
            "Rows matched: 1  Changed: 1  Warnings: 0".to_owned(),
        )?;
        let query = "SELECT v, small FROM answers WHERE id = ?";
        let seen: Option<(u64, i64)> = self.other.exec_first(query, (id,)).map_err(text)?;
        same("the updated row", seen, Some((round, 1)))
    }

    /// When a write has been replied to, the table is free to be changed.
    fn change_table(&mut self, round: u64) -> Result<(), String> {
        let table = format!("answers_of_{}", self.number);
        if round == 0 {
            let create = format!("CREATE TABLE {table} (id INT PRIMARY KEY)");
            return self.other.query_drop(create).map_err(text);
        }
        if !round.is_multiple_of(6) {
            return Ok(());
        }
        let write = format!("INSERT INTO {table} (id) VALUES ({round})");
        self.conn.query_drop(write).map_err(text)?;
        let change = format!("ALTER TABLE {table} ADD COLUMN c{round} INT NOT NULL DEFAULT {round}");
        self.other.query_drop(change).map_err(text)?;
        let query = format!("SELECT c{round} FROM {table} WHERE id = {round}");
        let seen: Option<u64> = self.conn.query_first(query).map_err(text)?;
        same("the new column", seen, Some(round))
    }
}

/// Sends all commands before it reads: inserts, an error at intervals, a transaction.
fn sends_ahead(address: &Address, number: u64) -> Result<(), String> {
    let mut raw = Raw::login(address).map_err(text)?;
    let table = format!("{DATABASE}.ahead_{number}");
    let mut say = |query: String| {
        raw.sequence = 0;
        raw.write(format!("\x03{query}").as_bytes()).map_err(text)
    };
    say(format!(
        "CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, v INT UNIQUE)"
    ))?;
    for n in 0..SENT_AHEAD {
        match n % 10 {
            0 => say("BEGIN".to_owned())?,
            3 => say("COMMIT".to_owned())?,
            7 => say(format!("INSERT INTO {table} (id, v) VALUES (200, {})", n - 1))?,
            _ => say(format!("INSERT INTO {table} (id, v) VALUES ({}, {n})", n + 1))?,
        }
    }
    for n in 0..=SENT_AHEAD {
        let packet = raw
            .read()
            .map_err(|e| format!("the answer to command {n}: {e}"))?;
        same("the number of an answer", raw.sequence, 2)?;
        let expected: &[u8] = match n.checked_sub(1).map(|n| n % 10) {
            None | Some(0 | 3) => &[0, 0, 0],
            Some(7) => &[0xff, 0x26, 0x04],
            // One row.
            Some(_) => &[0, 1],
        };
        if !packet.starts_with(expected) {
            return Err(format!("the answer to command {n}: {packet:?}"));
        }
    }
    let mut conn = connect(address)?;
    let found: Option<u8> = conn
        .query_first(format!("SELECT COUNT(*) FROM {table}"))
        .map_err(text)?;
    same("rows sent ahead", found, Some(SENT_AHEAD / 10 * 7))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    Err(format!("{what}: {got:?}, expected {expected:?}"))
}
