//! How far the files are loaded, on the target: in tables of the database `stemdb_import`. What is loaded is
//! stored in the transaction of the rows, so that no row is lost or loaded twice.

use std::collections::{BTreeMap, HashMap};

use mysql::Value;

use crate::Result;
use crate::endpoint::{Client, literal};
use crate::error::Error;
use crate::live::state::DATABASE;

/// A name on the target has at most so many characters.
const NAME_CHARACTERS: usize = 600;
const ER_DUP_ENTRY: u16 = 1062;
/// In seconds.
const LONGEST_WAIT: u32 = 24 * 60 * 60;

/// A part of a file that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loaded {
    pub(super) end: u64,
    /// Of its bytes, so that another file is not taken for the one that was interrupted.
    pub(super) checksum: u32,
    /// A definition, or rows that one statement loads, begun and perhaps not finished.
    pub(super) is_begun: bool,
}

/// A row that the target did not take.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) file: String,
    pub(super) line: u64,
    pub(super) reason: String,
    pub(super) row: Vec<u8>,
    /// A statement, or a record of CSV.
    pub(super) is_sql: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Journal {
    id: u64,
}

impl Journal {
    /// The journal of this import. Creates it if there is none.
    pub(super) fn open(target: &mut Client, name: &str, restart: bool) -> Result<Self> {
        for statement in [
            format!("CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"),
            format!(
                "CREATE TABLE IF NOT EXISTS {DATABASE}.loads (
                    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
                    name VARCHAR({NAME_CHARACTERS}) NOT NULL UNIQUE)"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS {DATABASE}.loaded_parts (
                    load_id BIGINT NOT NULL,
                    file VARCHAR(255) NOT NULL,
                    begins_at BIGINT UNSIGNED NOT NULL,
                    ends_at BIGINT UNSIGNED NOT NULL,
                    checksum INT UNSIGNED NOT NULL,
                    is_begun BOOLEAN NOT NULL,
                    PRIMARY KEY (load_id, file, begins_at))"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS {DATABASE}.rejected_rows (
                    load_id BIGINT NOT NULL,
                    number BIGINT NOT NULL AUTO_INCREMENT,
                    file VARCHAR(255) NOT NULL,
                    line BIGINT UNSIGNED NOT NULL,
                    reason TEXT NOT NULL,
                    row_text LONGBLOB NOT NULL,
                    is_sql BOOLEAN NOT NULL,
                    PRIMARY KEY (number), KEY (load_id))"
            ),
        ] {
            target.run(&statement)?;
        }
        // A long name ends in what tells it from others.
        let excess = name.chars().count().saturating_sub(NAME_CHARACTERS);
        let name: String = name.chars().skip(excess).collect();
        let name = literal(&name);
        target.run(&format!(
            "INSERT IGNORE INTO {DATABASE}.loads (name) VALUES ({name})"
        ))?;
        let id = target.one(&format!("SELECT id FROM {DATABASE}.loads WHERE name = {name}"))?;
        let id = id.and_then(|id| id.parse().ok());
        let journal = Self {
            id: id.ok_or_else(|| Error::Source("the state of the import has vanished".to_owned()))?,
        };
        journal.wait_for_whole(target)?;
        if restart {
            journal.forget_parts(target)?;
        }
        Ok(journal)
    }

    /// Has the connection keep others of this import from loading all rows of a table by one statement, as long as it
    /// lives on the server.
    pub(super) fn lock_whole(&self, target: &mut Client) -> Result<()> {
        self.get_lock(target, LONGEST_WAIT).map(drop)
    }

    /// Waits until no connection does that: the server may still be at such a statement of a run that was killed, and
    /// the table empty until it has ended.
    fn wait_for_whole(&self, target: &mut Client) -> Result<()> {
        if !self.get_lock(target, 0)? {
            eprintln!("Waiting for the server, which is still at a statement of an earlier run.");
            self.get_lock(target, LONGEST_WAIT)?;
        }
        target.run(&format!("DO RELEASE_LOCK({})", literal(&self.lock_name())))
    }

    fn get_lock(&self, target: &mut Client, seconds: u32) -> Result<bool> {
        let name = literal(&self.lock_name());
        let got = target.one(&format!("SELECT GET_LOCK({name}, {seconds})"))?;
        match got.as_deref() {
            Some("1") => Ok(true),
            _ if seconds == 0 => Ok(false),
            _ => Err(Error::Source(
                "another run of this import does not end".to_owned(),
            )),
        }
    }

    fn lock_name(&self) -> String {
        format!("{DATABASE}.loads.{}", self.id)
    }

    /// What earlier runs have loaded, by file and by where it begins.
    pub(super) fn loaded(&self, target: &mut Client) -> Result<HashMap<String, BTreeMap<u64, Loaded>>> {
        let rows = target.rows(&format!(
            "SELECT file, begins_at, ends_at, checksum, is_begun FROM {DATABASE}.loaded_parts WHERE load_id = {}",
            self.id
        ))?;
        let mut loaded: HashMap<String, BTreeMap<u64, Loaded>> = HashMap::new();
        for row in rows {
            loaded.entry(row.text(0)).or_default().insert(
                row.number(1),
                Loaded {
                    end: row.number(2),
                    checksum: row.number(3) as u32,
                    is_begun: row.number(4) != 0,
                },
            );
        }
        Ok(loaded)
    }

    /// Stores a part, in the transaction of its rows.
    pub(super) fn store(&self, target: &mut Client, file: &str, begins_at: u64, part: Loaded) -> Result<()> {
        let stored = target.run(&format!(
            "INSERT INTO {DATABASE}.loaded_parts VALUES ({}, {}, {begins_at}, {}, {}, {})",
            self.id,
            literal(file),
            part.end,
            part.checksum,
            part.is_begun
        ));
        match stored {
            Err(error) if error.code() == ER_DUP_ENTRY => Err(Error::Arguments(
                "another run loads the same files into the same target".to_owned(),
            )),
            other => other,
        }
    }

    /// Says that a definition is done.
    pub(super) fn finish(&self, target: &mut Client, file: &str, begins_at: u64) -> Result<()> {
        target.run(&format!(
            "UPDATE {DATABASE}.loaded_parts SET is_begun = FALSE WHERE load_id = {} AND file = {} AND begins_at = {begins_at}",
            self.id,
            literal(file)
        ))
    }

    /// Says that one statement has loaded what begins there.
    pub(super) fn finish_whole(
        &self,
        target: &mut Client,
        file: &str,
        begins_at: u64,
        loaded: Loaded,
    ) -> Result<()> {
        target.run(&format!(
            "UPDATE {DATABASE}.loaded_parts SET is_begun = FALSE, ends_at = {}, checksum = {} \
             WHERE load_id = {} AND file = {} AND begins_at = {begins_at}",
            loaded.end,
            loaded.checksum,
            self.id,
            literal(file)
        ))
    }

    pub(super) fn forget_part(&self, target: &mut Client, file: &str, begins_at: u64) -> Result<()> {
        target.run(&format!(
            "DELETE FROM {DATABASE}.loaded_parts WHERE load_id = {} AND file = {} AND begins_at = {begins_at}",
            self.id,
            literal(file)
        ))
    }

    pub(super) fn reject(&self, target: &mut Client, rejected: &Rejected) -> Result<()> {
        let sql = format!(
            "INSERT INTO {DATABASE}.rejected_rows (load_id, file, line, reason, row_text, is_sql) VALUES (?, ?, ?, ?, ?, ?)"
        );
        let statement = target.prepare(&sql)?;
        let values = vec![
            Value::UInt(self.id),
            Value::Bytes(rejected.file.clone().into_bytes()),
            Value::UInt(rejected.line),
            Value::Bytes(rejected.reason.clone().into_bytes()),
            Value::Bytes(rejected.row.clone()),
            Value::Int(i64::from(rejected.is_sql)),
        ];
        target.execute(&statement, &sql, values).map(drop)
    }

    /// The rejected rows of all runs, in the order of the files.
    pub(super) fn rejected(
        &self,
        target: &mut Client,
        mut visit: impl FnMut(Rejected) -> Result<()>,
    ) -> Result<()> {
        let sql = format!(
            "SELECT file, line, reason, row_text, is_sql FROM {DATABASE}.rejected_rows WHERE load_id = {} \
             ORDER BY file, line, number",
            self.id
        );
        target.stream(&sql, |values| {
            let mut values = values.into_iter();
            let mut bytes = || match values.next() {
                Some(Value::Bytes(bytes)) => bytes,
                Some(Value::Int(number)) => number.to_string().into_bytes(),
                Some(Value::UInt(number)) => number.to_string().into_bytes(),
                _ => Vec::new(),
            };
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            visit(Rejected {
                file: text(bytes()),
                line: text(bytes()).parse().unwrap_or(0),
                reason: text(bytes()),
                row: bytes(),
                is_sql: bytes() != b"0",
            })
        })
    }

    fn forget_parts(&self, target: &mut Client) -> Result<()> {
        for table in ["loaded_parts", "rejected_rows"] {
            target.run(&format!(
                "DELETE FROM {DATABASE}.{table} WHERE load_id = {}",
                self.id
            ))?;
        }
        Ok(())
    }

    /// Forgets an import that has ended.
    pub(super) fn forget(self, target: &mut Client) -> Result<()> {
        self.forget_parts(target)?;
        target.run(&format!("DELETE FROM {DATABASE}.loads WHERE id = {}", self.id))
    }
}
