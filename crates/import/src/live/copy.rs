//! Copies rows, chunk by chunk, on several threads. Each thread reads with a connection that sees the
//! snapshot, writes with one of its own, and compares the chunk when it is written.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loadgen::progress::Progress;
use mysql::Value;

use super::check::{differences, summary};
use super::state::Move;
use crate::Result;
use crate::chunk::Chunk;
use crate::endpoint::{Client, quoted};
use crate::error::Error;
use crate::inventory::{Column, Table};

/// The largest number of rows, parameters and bytes of one INSERT.
const STATEMENT_ROWS: usize = 512;
const STATEMENT_PARAMETERS: usize = 32_000;
const STATEMENT_BYTES: usize = 1 << 20;
/// A transaction is committed when it has this size.
const TRANSACTION_BYTES: usize = 8 << 20;
/// Rows that are deleted in one transaction, before a chunk is copied again.
const DELETED_ROWS: u64 = 10_000;

/// A chunk to copy, or to compare if an earlier run has copied it.
pub(super) struct Job<'a> {
    pub(super) table: &'a Table,
    pub(super) chunk: Chunk,
    pub(super) was_copied: bool,
}

/// The work of all threads, and its results.
pub(super) struct Copying<'a> {
    pub(super) state: &'a Move,
    pub(super) progress: &'a Progress,
    jobs: Mutex<VecDeque<Job<'a>>>,
    /// Rows of an earlier run may be in the way.
    resumed: bool,
    stop: AtomicBool,
    done: AtomicU64,
    rows: AtomicU64,
    /// Chunks that an earlier run had copied and that still were equal.
    unchanged: AtomicU64,
    differences: Mutex<Vec<String>>,
}

/// The result of a copy.
pub(super) struct Copied {
    pub(super) rows: u64,
    pub(super) unchanged: u64,
    pub(super) differences: Vec<String>,
}

impl<'a> Copying<'a> {
    pub(super) fn new(state: &'a Move, progress: &'a Progress, jobs: Vec<Job<'a>>, resumed: bool) -> Self {
        Self {
            state,
            progress,
            jobs: Mutex::new(jobs.into()),
            resumed,
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            unchanged: AtomicU64::new(0),
            differences: Mutex::new(Vec::new()),
        }
    }

    /// Runs all jobs, one thread for each pair of connections.
    pub(super) fn run(self, readers: &mut [Client], writers: &mut [Client]) -> Result<Copied> {
        let failed = std::thread::scope(|scope| {
            let threads: Vec<_> = readers
                .iter_mut()
                .zip(writers)
                .map(|(reader, writer)| scope.spawn(|| self.work(reader, writer)))
                .collect();
            let results = threads.into_iter().map(|thread| thread.join());
            let results: Vec<Result<()>> = results.map(|done| done.unwrap_or(Err(Error::Thread))).collect();
            results.into_iter().find_map(Result::err)
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(Copied {
                rows: self.rows.into_inner(),
                unchanged: self.unchanged.into_inner(),
                differences: self.differences.into_inner().unwrap_or_default(),
            }),
        }
    }

    fn next(&self) -> Option<Job<'a>> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.jobs.lock().ok()?.pop_front()
    }

    fn work(&self, source: &mut Client, target: &mut Client) -> Result<()> {
        while let Some(job) = self.next() {
            let done = self.chunk(source, target, &job);
            if done.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            let copied = done?;
            let rows = self.rows.fetch_add(copied, Ordering::Relaxed) + copied;
            let chunks = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.progress
                .set(chunks, &format!("{rows} rows, {}", job.table.shown()));
        }
        Ok(())
    }

    /// Copies and compares a chunk. Returns its number of rows.
    fn chunk(&self, source: &mut Client, target: &mut Client, job: &Job<'_>) -> Result<u64> {
        let condition = job.chunk.condition(job.table);
        let was_copied = match self.resumed {
            true => self.state.lock_chunk(target, job.table, &job.chunk)?,
            false => job.was_copied,
        };
        if was_copied {
            let theirs = summary(source, job.table, &condition)?;
            if theirs == summary(target, job.table, &condition)? {
                self.unchanged.fetch_add(1, Ordering::Relaxed);
                return Ok(theirs.rows);
            }
            target.run(&self.state.copied_statement(job.table, &job.chunk, false))?;
        }
        if self.resumed {
            clear(target, job.table, &condition)?;
        }
        self.copy(source, target, job, &condition)?;
        let theirs = summary(source, job.table, &condition)?;
        if theirs != summary(target, job.table, &condition)? {
            let lines = differences(source, target, job.table, &condition)?;
            if let Ok(mut all) = self.differences.lock() {
                all.extend(lines);
            }
        }
        Ok(theirs.rows)
    }

    fn begin(&self, target: &mut Client, job: &Job<'_>) -> Result<()> {
        target.run("START TRANSACTION")?;
        self.state.lock_chunk(target, job.table, &job.chunk).map(drop)
    }

    /// Copies the rows of a chunk. That it is copied is stored in the transaction of the last of them.
    fn copy(&self, source: &mut Client, target: &mut Client, job: &Job<'_>, condition: &str) -> Result<()> {
        let columns: Vec<&Column> = job.table.written().collect();
        let read: Vec<String> = columns.iter().map(|column| as_read(column)).collect();
        let select = format!(
            "SELECT {} FROM {} WHERE {condition}",
            read.join(", "),
            job.table.quoted()
        );
        self.begin(target, job)?;
        let mut inserter = Inserter::new(target, job.table, &columns);
        source.stream(&select, |row| {
            if inserter.transaction_bytes > TRANSACTION_BYTES {
                inserter.flush()?;
                inserter.target.run("COMMIT")?;
                self.begin(inserter.target, job)?;
                inserter.transaction_bytes = 0;
            }
            inserter.add(row)
        })?;
        inserter.flush()?;
        target.run(&self.state.copied_statement(job.table, &job.chunk, true))?;
        target.run("COMMIT")
    }
}

/// Deletes the rows of a chunk, in several transactions.
fn clear(target: &mut Client, table: &Table, condition: &str) -> Result<()> {
    let sql = format!(
        "DELETE FROM {} WHERE {condition} LIMIT {DELETED_ROWS}",
        table.quoted()
    );
    loop {
        target.run(&sql)?;
        if target.affected_rows() < DELETED_ROWS {
            return Ok(());
        }
    }
}

/// How a column is selected. The index of an ENUM says more than its name: there can be two empty names.
fn as_read(column: &Column) -> String {
    let name = quoted(&column.name);
    match column.data_type.as_str() {
        "enum" | "set" | "bit" => format!("CAST({name} AS UNSIGNED)"),
        _ => name,
    }
}

/// Rows on their way to the target, several in a statement.
struct Inserter<'a> {
    target: &'a mut Client,
    head: String,
    row: String,
    columns: usize,
    most_rows: usize,
    values: Vec<Value>,
    rows: usize,
    bytes: usize,
    transaction_bytes: usize,
}

impl<'a> Inserter<'a> {
    fn new(target: &'a mut Client, table: &Table, columns: &[&Column]) -> Self {
        let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
        Self {
            target,
            head: format!("INSERT INTO {} ({}) VALUES ", table.quoted(), names.join(", ")),
            row: format!("({})", vec!["?"; columns.len()].join(",")),
            columns: columns.len(),
            most_rows: (STATEMENT_PARAMETERS / columns.len().max(1)).clamp(1, STATEMENT_ROWS),
            values: Vec::new(),
            rows: 0,
            bytes: 0,
            transaction_bytes: 0,
        }
    }

    fn add(&mut self, row: Vec<Value>) -> Result<()> {
        let bytes: usize = row.iter().map(Value::bin_len).map(|length| length as usize).sum();
        if self.rows > 0 && (self.rows == self.most_rows || self.bytes + bytes > STATEMENT_BYTES) {
            self.flush()?;
        }
        self.values.extend(row);
        self.rows += 1;
        self.bytes += bytes;
        self.transaction_bytes += bytes;
        Ok(())
    }

    /// Sends the rows. Statements have powers of two of rows, or the most, so that few are prepared.
    fn flush(&mut self) -> Result<()> {
        let mut values = std::mem::take(&mut self.values).into_iter();
        while self.rows > 0 {
            let rows = match self.rows == self.most_rows {
                true => self.rows,
                false => 1 << self.rows.ilog2(),
            };
            let sql = format!("{}{}", self.head, vec![self.row.as_str(); rows].join(","));
            let statement = self.target.prepare(&sql)?;
            let values: Vec<Value> = values.by_ref().take(rows * self.columns).collect();
            self.target.execute(&statement, &sql, values)?;
            self.rows -= rows;
        }
        self.bytes = 0;
        Ok(())
    }
}
