//! One connection that writes parts. Rows that the target does not take are found and set aside; all others
//! of the part are loaded.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use mysql::LocalInfileHandler;

use super::insert::{self, Parts};
use super::journal::{Journal, Loaded, Rejected};
use super::part::{Content, Part, Settings, Sql, Tally};
use super::records::{Format, Reader};
use crate::Result;
use crate::endpoint::{Client, Endpoint, TextRow};
use crate::error::Error;
use crate::inventory::columns_and_key;
use crate::retry::is_for_now;

/// A session's settings before those of a file. mysqldump's own settings override them.
const SESSION: &[&str] = &[
    "SET NAMES utf8mb4",
    "SET SESSION foreign_key_checks = 0, unique_checks = 0",
    "SET wait_timeout = 86400, net_read_timeout = 3600, net_write_timeout = 3600",
];

/// All warnings of a statement are reported, if the account may ask for so many.
const ALL_WARNINGS: &str = "SET SESSION max_error_count = 65535";
const ER_SPECIFIC_ACCESS_DENIED: u16 = 1227;

/// The file that LOAD DATA asks for if the part itself holds the records.
pub(super) const PART: &str = "stemdb-part";

const ER_GENERATED_VALUE: u16 = 3105;

pub(super) struct Writer<'a> {
    journal: Journal,
    tally: &'a Tally,
    /// A session has sent these statements of that file.
    settings: Option<(Arc<Settings>, usize)>,
    client: Option<Client>,
    /// The data for the server if it asks for a file.
    records: Arc<Mutex<Vec<u8>>>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(journal: Journal, tally: &'a Tally) -> Self {
        Self {
            journal,
            tally,
            settings: None,
            client: None,
            records: Arc::default(),
        }
    }

    pub(super) fn connect(&mut self, target: &Endpoint) -> Result<()> {
        let mut client = target.connect_raw(None)?;
        client.set_local_files(handler(&self.records));
        prepare(&mut client)?;
        self.client = Some(client);
        Ok(())
    }

    fn client(&mut self) -> Result<&mut Client> {
        self.client.as_mut().ok_or(Error::Thread)
    }

    /// Writes a part and says so in the journal, in one transaction.
    pub(super) fn write(&mut self, part: &Part) -> Result<()> {
        self.apply_settings(part)?;
        let tally = self.tally;
        let what = || format!("{}, behind byte {}", part.file, part.begins_at);
        let done = tally.turns.run(what, |_| {
            let done = self.attempt(part);
            if done.as_ref().is_err_and(|error| is_for_now(error.code())) {
                // What it holds may be what another connection waits for.
                self.client()?.run("ROLLBACK")?;
            }
            done
        })?;
        tally.rows.fetch_add(done.rows, Ordering::Relaxed);
        tally.rejected.fetch_add(done.rejected, Ordering::Relaxed);
        done.warnings.into_iter().for_each(|line| tally.warn(line));
        Ok(())
    }

    fn attempt(&mut self, part: &Part) -> Result<Outcome> {
        let mut done = Outcome::default();
        self.client()?.run("START TRANSACTION")?;
        match &part.content {
            Content::Inserts(statements) => {
                for sql in statements {
                    self.insert(part, sql, &mut done)?;
                }
            }
            Content::Records {
                load,
                format,
                first,
                bytes,
            } => self.records(part, (load, format), *first, bytes, &mut done)?,
        }
        let (journal, loaded) = (
            self.journal,
            Loaded {
                end: part.ends_at,
                checksum: part.checksum,
                is_begun: false,
            },
        );
        let client = self.client()?;
        journal.store(client, &part.file, part.begins_at, loaded)?;
        client.run("COMMIT")?;
        Ok(done)
    }

    fn apply_settings(&mut self, part: &Part) -> Result<()> {
        let applied = match &self.settings {
            Some((settings, count)) if Arc::ptr_eq(settings, &part.settings) => *count,
            // Another file: what an earlier one has set is forgotten.
            Some(_) => {
                let client = self.client()?;
                client.reset()?;
                prepare(client)?;
                0
            }
            None => 0,
        };
        for sql in part.settings.some(applied, part.settings_count) {
            self.client()?.run_bytes(&sql)?;
        }
        self.settings = Some((Arc::clone(&part.settings), part.settings_count));
        Ok(())
    }

    fn insert(&mut self, part: &Part, sql: &Sql, done: &mut Outcome) -> Result<()> {
        let client = self.client()?;
        match client.run_bytes(&sql.text) {
            // MariaDB's mysqldump writes the values of generated columns, which MySQL takes as DEFAULT only.
            Err(error) if error.code() == ER_GENERATED_VALUE => {
                match without_generated(client, &sql.text, &error)? {
                    Some(text) => {
                        let lines = sql.lines.clone();
                        self.insert(part, &Sql { text, lines }, done)
                    }
                    None => Err(at(part, sql.line_of(0), &error)),
                }
            }
            Ok(()) => {
                done.rows += client.affected_rows();
                for warning in client.warnings()? {
                    done.warn(&part.file, sql.line_of(0), &warning);
                }
                Ok(())
            }
            Err(error) if error.is_about_rows() => {
                let Some(parts) = Parts::of(&sql.text) else {
                    return Err(at(part, sql.line_of(0), &error));
                };
                self.some_rows(part, sql, &parts, 0..parts.count(), &error, done)
            }
            Err(error) if error.is_lost() || is_for_now(error.code()) => Err(error),
            Err(error) => Err(at(part, sql.line_of(0), &error)),
        }
    }

    /// Some of these rows are not taken: halves them until each of those is alone.
    fn some_rows(
        &mut self,
        part: &Part,
        sql: &Sql,
        parts: &Parts,
        rows: Range<usize>,
        error: &Error,
        done: &mut Outcome,
    ) -> Result<()> {
        if rows.len() <= 1 {
            done.rejected += 1;
            let rejected = Rejected {
                file: part.file.to_string(),
                line: sql.line_of(rows.start),
                reason: crate::live::reason(error),
                row: parts.with_rows(&sql.text, rows),
                is_sql: true,
            };
            let journal = self.journal;
            return journal.reject(self.client()?, &rejected);
        }
        let middle = rows.start + rows.len() / 2;
        for half in [rows.start..middle, middle..rows.end] {
            let client = self.client()?;
            match client.run_bytes(&parts.with_rows(&sql.text, half.clone())) {
                Ok(()) => done.rows += client.affected_rows(),
                Err(error) if error.is_about_rows() => {
                    self.some_rows(part, sql, parts, half, &error, done)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn records(
        &mut self,
        part: &Part,
        (load, format): (&str, &Format),
        first: u64,
        bytes: &[u8],
        done: &mut Outcome,
    ) -> Result<()> {
        if let Ok(mut records) = self.records.lock() {
            records.clear();
            records.extend_from_slice(bytes);
        }
        let client = self.client()?;
        client.run("SAVEPOINT part")?;
        client
            .run(load)
            .map_err(|error| match error.is_lost() || is_for_now(error.code()) {
                true => error,
                false => at(part, first, &error),
            })?;
        let rows = client.affected_rows();
        let warnings = client.warnings()?;
        // Rounding is only a note.
        let lossy = warnings.iter().find(|warning| warning.text(0) != "Note");
        let Some(lossy) = lossy else {
            done.rows += rows;
            return Ok(());
        };
        client.run("ROLLBACK TO SAVEPOINT part")?;
        let mut reader = Reader::new(bytes, format);
        let half = reader
            .next(bytes.len() / 2)
            .map_err(|error| unreadable(part, &error))?;
        let half = half
            .map(|records| (records.count, records.bytes))
            .unwrap_or_default();
        if half.1.len() >= bytes.len() && half.0 > 1 {
            // The last record is longer than all before it.
            let mut reader = Reader::new(bytes, format);
            let one = reader.next(1).map_err(|error| unreadable(part, &error))?;
            let length = one.map_or(0, |one| one.bytes.len());
            let (one, rest) = bytes.split_at(length);
            self.records(part, (load, format), first, one, done)?;
            return self.records(part, (load, format), first + 1, rest, done);
        }
        if half.1.len() < bytes.len() {
            let (count, front) = half;
            let rest = bytes.get(front.len()..).unwrap_or_default();
            self.records(part, (load, format), first, &front, done)?;
            return self.records(part, (load, format), first + count, rest, done);
        }
        done.rejected += 1;
        let rejected = Rejected {
            file: part.file.to_string(),
            line: first,
            reason: format!("{} ({})", lossy.text(2), lossy.text(1)),
            row: bytes.to_vec(),
            is_sql: false,
        };
        let journal = self.journal;
        journal.reject(self.client()?, &rejected)
    }
}

/// The statement with DEFAULT for generated columns. `None` if it has it already.
fn without_generated(client: &mut Client, sql: &[u8], error: &Error) -> Result<Option<Vec<u8>>> {
    // The message names the table: ... generated column 'c' in table 't' is not allowed.
    let message = crate::live::reason(error);
    let table = message
        .split(" in table '")
        .nth(1)
        .and_then(|rest| rest.split("' is not").next());
    let Some(table) = table else { return Ok(None) };
    let database = client.one("SELECT DATABASE()")?.unwrap_or_default();
    let (columns, _) = columns_and_key(client, &database, table)?;
    let is_generated = |name: &String| {
        columns
            .iter()
            .any(|column| column.name == *name && column.is_generated)
    };
    let names = insert::listed_columns(sql)
        .unwrap_or_else(|| columns.iter().map(|column| column.name.clone()).collect());
    let positions = names.iter().enumerate().filter(|(_, name)| is_generated(name));
    let positions: Vec<usize> = positions.map(|(position, _)| position).collect();
    let changed = insert::with_defaults(sql, &positions);
    Ok(changed.filter(|changed| changed != sql))
}

/// The outcome of a part.
#[derive(Debug, Default)]
struct Outcome {
    rows: u64,
    rejected: u64,
    warnings: Vec<String>,
}

impl Outcome {
    fn warn(&mut self, file: &str, line: u64, warning: &TextRow) {
        self.warnings.push(format!(
            "{file}, line {line}: {} ({})",
            warning.text(2),
            warning.text(1)
        ));
    }
}

/// A session of its own with these settings.
pub(super) fn session(target: &Endpoint, settings: &Settings) -> Result<Client> {
    let mut client = target.connect_raw(None)?;
    prepare(&mut client)?;
    for sql in settings.some(0, settings.len()) {
        client.run_bytes(&sql)?;
    }
    Ok(client)
}

pub(super) fn prepare(client: &mut Client) -> Result<()> {
    SESSION.iter().try_for_each(|statement| client.run(statement))?;
    match client.run(ALL_WARNINGS) {
        Err(error) if error.code() == ER_SPECIFIC_ACCESS_DENIED => Ok(()),
        done => done,
    }
}

fn at(part: &Part, line: u64, error: &Error) -> Error {
    Error::Input(format!("{}, line {line}: {error}", part.file))
}

fn unreadable(part: &Part, error: &io::Error) -> Error {
    Error::Input(format!("{}: {error}", part.file))
}

/// Sends the records of the part. No server gets a file.
fn handler(records: &Arc<Mutex<Vec<u8>>>) -> LocalInfileHandler {
    let records = Arc::clone(records);
    LocalInfileHandler::new(move |_, out| {
        let records = records
            .lock()
            .map_err(|_| io::Error::other("a thread panicked"))?;
        out.write_all(&records)
    })
}
