//! How far the copy is, kept on the target: which tables were created, which chunks are copied, and up to
//! where the source's binary log has been applied. A later run continues from there.

use crate::Result;
use crate::chunk::{Bound, Chunk, chunks};
use crate::endpoint::{Client, literal};
use crate::inventory::Table;
use crate::snapshot::Position;

pub(crate) const DATABASE: &str = "stemdb_import";

/// How long a run waits for the statement of an earlier one.
const LOAD_SECONDS: u64 = 3600;

const TABLES: &[&str] = &[
    "CREATE DATABASE IF NOT EXISTS stemdb_import CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE IF NOT EXISTS stemdb_import.moves (
        id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
        source VARCHAR(500) NOT NULL UNIQUE,
        stage VARCHAR(20) NOT NULL,
        log_file VARCHAR(255) NULL,
        log_offset BIGINT UNSIGNED NULL,
        gtids MEDIUMTEXT NULL,
        definition MEDIUMTEXT NULL)",
    "CREATE TABLE IF NOT EXISTS stemdb_import.tables (
        move_id BIGINT NOT NULL,
        database_name VARCHAR(64) NOT NULL,
        table_name VARCHAR(64) NOT NULL,
        definition MEDIUMTEXT NOT NULL,
        planned BOOLEAN NOT NULL DEFAULT FALSE,
        PRIMARY KEY (move_id, database_name, table_name))",
    "CREATE TABLE IF NOT EXISTS stemdb_import.chunks (
        move_id BIGINT NOT NULL,
        database_name VARCHAR(64) NOT NULL,
        table_name VARCHAR(64) NOT NULL,
        number BIGINT NOT NULL,
        upper_bound MEDIUMTEXT NULL,
        copied BOOLEAN NOT NULL DEFAULT FALSE,
        PRIMARY KEY (move_id, database_name, table_name, number))",
];

/// The stage of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    New,
    /// Rows are being copied, or were copied, at a point of the source that may be another one now.
    Copying,
    /// Everything is copied and equal.
    Copied,
    /// The binary log is being applied.
    Following,
    /// Both sides were equal, and the source takes no more writes.
    CutOver,
}

impl Stage {
    const ALL: [(Stage, &str); 5] = [
        (Stage::New, "new"),
        (Stage::Copying, "copying"),
        (Stage::Copied, "copied"),
        (Stage::Following, "following"),
        (Stage::CutOver, "cut over"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(stage, _)| *stage == self)
            .map_or("new", |(_, name)| *name)
    }

    fn parse(name: &str) -> Self {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == name)
            .map_or(Self::New, |(stage, _)| *stage)
    }
}

/// One move, of some databases of one source.
#[derive(Debug, Clone)]
pub(super) struct Move {
    id: u64,
    pub(super) stage: Stage,
    pub(super) position: Option<Position>,
    /// A definition statement of the binary log that was begun, and perhaps not finished: `file:offset`.
    pub(super) definition: Option<String>,
}

/// A table that an earlier run has created.
#[derive(Debug, Clone)]
pub(super) struct KnownTable {
    pub(super) database: String,
    pub(super) name: String,
    pub(super) definition: String,
    pub(super) planned: bool,
}

impl Move {
    /// The state of this source's move. Creates it if there is none.
    pub(super) fn open(target: &mut Client, source: &str) -> Result<Self> {
        for statement in TABLES {
            target.run(statement)?;
        }
        target.run(&format!(
            "INSERT IGNORE INTO stemdb_import.moves (source, stage) VALUES ({}, 'new')",
            literal(source)
        ))?;
        Self::read(target, &format!("source = {}", literal(source)))
    }

    /// Reads it again. Waits until a transaction that applies the log has ended: the server may still be at
    /// the last statement of a run that was killed, or of a connection that was lost.
    pub(super) fn reload(&mut self, target: &mut Client) -> Result<()> {
        *self = Self::read(target, &format!("id = {} FOR UPDATE", self.id))?;
        Ok(())
    }

    fn read(target: &mut Client, condition: &str) -> Result<Self> {
        let rows = target.rows(&format!(
            "SELECT id, stage, log_file, log_offset, gtids, definition FROM stemdb_import.moves WHERE {condition}"
        ))?;
        let row = rows.into_iter().next();
        let row = row.ok_or_else(|| crate::Error::Source("the state of the move has vanished".to_owned()))?;
        Ok(Self {
            id: row.number(0),
            stage: Stage::parse(&row.text(1)),
            position: row.get(2).map(|file| Position {
                file,
                offset: row.number(3),
                gtids: row.text(4),
            }),
            definition: row.get(5),
        })
    }

    pub(super) fn set_stage(&mut self, target: &mut Client, stage: Stage) -> Result<()> {
        self.stage = stage;
        target.run(&format!(
            "UPDATE stemdb_import.moves SET stage = '{}' WHERE id = {}",
            stage.name(),
            self.id
        ))
    }

    /// The statement that stores a position, for the transaction of the rows that it stands for. It also
    /// says that no definition is under way.
    pub(super) fn position_statement(&self, position: &Position) -> String {
        format!(
            "UPDATE stemdb_import.moves SET log_file = {}, log_offset = {}, gtids = {}, definition = NULL WHERE id = {}",
            literal(&position.file),
            position.offset,
            literal(&position.gtids),
            self.id
        )
    }

    /// Begins a transaction that applies the log. It locks the position, so that two runs do not apply the
    /// same rows.
    pub(super) fn begin_applying(&self, target: &mut Client) -> Result<()> {
        target.run("START TRANSACTION")?;
        let stored = Self::read(target, &format!("id = {} FOR UPDATE", self.id))?;
        match stored.position == self.position {
            true => Ok(()),
            false => Err(crate::Error::Log(
                "another run of this move is applying it to the same target".to_owned(),
            )),
        }
    }

    /// The statement that says that the definition at this place is about to run. A definition commits by
    /// itself, so it cannot be in one transaction with its position.
    pub(super) fn definition_statement(&self, place: &str) -> String {
        format!(
            "UPDATE stemdb_import.moves SET definition = {} WHERE id = {}",
            literal(place),
            self.id
        )
    }

    pub(super) fn set_position(&mut self, target: &mut Client, position: Option<Position>) -> Result<()> {
        let sql = match &position {
            Some(position) => self.position_statement(position),
            None => format!(
                "UPDATE stemdb_import.moves SET log_file = NULL, log_offset = NULL, gtids = NULL WHERE id = {}",
                self.id
            ),
        };
        self.position = position;
        target.run(&sql)
    }

    pub(super) fn add_table(&self, target: &mut Client, table: &Table) -> Result<()> {
        target.run(&format!(
            "REPLACE INTO stemdb_import.tables (move_id, database_name, table_name, definition) \
             VALUES ({}, {}, {}, {})",
            self.id,
            literal(&table.database),
            literal(&table.name),
            literal(&table.create)
        ))
    }

    /// The statement that takes up the tables that the binary log has created, so that --restart drops them.
    pub(super) fn new_tables_statement(&self, database: &str) -> String {
        format!(
            "INSERT IGNORE INTO stemdb_import.tables (move_id, database_name, table_name, definition) \
             SELECT {}, TABLE_SCHEMA, TABLE_NAME, '' FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = {} AND TABLE_TYPE = 'BASE TABLE'",
            self.id,
            literal(database)
        )
    }

    pub(super) fn tables(&self, target: &mut Client) -> Result<Vec<KnownTable>> {
        let rows = target.rows(&format!(
            "SELECT database_name, table_name, definition, planned FROM stemdb_import.tables WHERE move_id = {}",
            self.id
        ))?;
        let table = |row: &crate::endpoint::TextRow| KnownTable {
            database: row.text(0),
            name: row.text(1),
            definition: row.text(2),
            planned: row.number(3) != 0,
        };
        Ok(rows.iter().map(table).collect())
    }

    fn of(&self, table: &Table) -> String {
        format!(
            "move_id = {} AND database_name = {} AND table_name = {}",
            self.id,
            literal(&table.database),
            literal(&table.name)
        )
    }

    /// Stores where a table's chunks end, all or none.
    pub(super) fn set_plan(
        &self,
        target: &mut Client,
        table: &Table,
        bounds: &[Bound],
    ) -> Result<Vec<Chunk>> {
        let chunks = chunks(bounds);
        target.run("START TRANSACTION")?;
        target.run(&format!(
            "DELETE FROM stemdb_import.chunks WHERE {}",
            self.of(table)
        ))?;
        for part in chunks.chunks(500) {
            let rows = part.iter().map(|chunk| {
                let upper = chunk.upper.as_ref();
                format!(
                    "({}, {}, {}, {}, {})",
                    self.id,
                    literal(&table.database),
                    literal(&table.name),
                    chunk.number,
                    upper.map_or_else(|| "NULL".to_owned(), |bound| literal(&bound.text()))
                )
            });
            target.run(&format!(
                "INSERT INTO stemdb_import.chunks (move_id, database_name, table_name, number, upper_bound) VALUES {}",
                rows.collect::<Vec<_>>().join(", ")
            ))?;
        }
        target.run(&format!(
            "UPDATE stemdb_import.tables SET planned = TRUE WHERE {}",
            self.of(table)
        ))?;
        target.run("COMMIT")?;
        Ok(chunks)
    }

    /// The chunks of a planned table, and whether each is copied.
    pub(super) fn plan(&self, target: &mut Client, table: &Table) -> Result<Vec<(Chunk, bool)>> {
        let rows = target.rows(&format!(
            "SELECT upper_bound, copied FROM stemdb_import.chunks WHERE {} ORDER BY number",
            self.of(table)
        ))?;
        let bounds: Vec<Bound> = rows
            .iter()
            .filter_map(|row| row.get(0))
            .map(|text| Bound::parse(&text))
            .collect();
        let copied = rows.iter().map(|row| row.number(1) != 0);
        Ok(chunks(&bounds).into_iter().zip(copied).collect())
    }

    /// Waits until no other transaction copies the chunk, and keeps others from it until this one ends: the
    /// server may still be at the last statement of a run that was killed. Returns whether it is copied.
    pub(super) fn lock_chunk(&self, target: &mut Client, table: &Table, chunk: &Chunk) -> Result<bool> {
        let copied = target.one(&format!(
            "SELECT copied FROM stemdb_import.chunks WHERE {} AND number = {} FOR UPDATE",
            self.of(table),
            chunk.number
        ))?;
        Ok(copied.is_some_and(|copied| copied == "1"))
    }

    /// Waits until no other session loads rows of the table by one statement, and keeps others from it until this session
    /// ends: the server may still be at the statement of a run that was killed.
    pub(super) fn lock_loads(&self, target: &mut Client, table: &Table) -> Result<()> {
        let name = self.name_of_lock(table);
        let is_taken = target.one(&format!("SELECT GET_LOCK('{name}', {LOAD_SECONDS})"))?;
        match is_taken.as_deref() {
            Some("1") => Ok(()),
            _ => Err(crate::Error::Source(format!(
                "another run of this move is loading {} on the target: wait until it has ended, and run this again",
                table.shown()
            ))),
        }
    }

    pub(super) fn unlock_loads(&self, target: &mut Client, table: &Table) -> Result<()> {
        target.run(&format!("DO RELEASE_LOCK('{}')", self.name_of_lock(table)))
    }

    /// The names of locks are short.
    fn name_of_lock(&self, table: &Table) -> String {
        format!(
            "{DATABASE} {} {:08x}",
            self.id,
            crc32fast::hash(table.quoted().as_bytes())
        )
    }

    /// The statement that says that some chunks are copied, for the transaction of their last rows.
    pub(super) fn copied_statement<'c>(
        &self,
        table: &Table,
        chunks: impl IntoIterator<Item = &'c Chunk>,
        copied: bool,
    ) -> String {
        let numbers: Vec<String> = chunks.into_iter().map(|chunk| chunk.number.to_string()).collect();
        format!(
            "UPDATE stemdb_import.chunks SET copied = {copied} WHERE {} AND number IN ({})",
            self.of(table),
            numbers.join(", ")
        )
    }

    /// Forgets the move.
    pub(super) fn forget(self, target: &mut Client) -> Result<()> {
        for (table, column) in [("chunks", "move_id"), ("tables", "move_id"), ("moves", "id")] {
            target.run(&format!(
                "DELETE FROM {DATABASE}.{table} WHERE {column} = {}",
                self.id
            ))?;
        }
        Ok(())
    }
}
