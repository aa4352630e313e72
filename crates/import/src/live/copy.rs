//! Copies rows, chunk by chunk, on several threads. Each thread reads with a connection that sees the
//! snapshot, writes with one of its own, and compares what is written.
//!
//! If the target takes sorted files, many chunks of a table are one LOAD DATA ([`crate::whole`]). Otherwise, and where
//! such a statement does not take the rows, a chunk is copied by INSERTs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use loadgen::progress::Progress;

use super::check::{differences, summary};
use super::insert::Inserter;
use super::lines::{self, as_read};
use super::state::Move;
use crate::Result;
use crate::chunk::Chunk;
use crate::endpoint::{Client, Endpoint};
use crate::error::Error;
use crate::inventory::{Column, Table};
use crate::retry::{ER_MEMORY_EXCEEDED, Turns, is_for_now};
use crate::whole::Whole;

/// A transaction is committed when it has this size.
const TRANSACTION_BYTES: usize = 8 << 20;
/// Rows that are deleted in one transaction, before a chunk is copied again.
const DELETED_ROWS: u64 = 10_000;
/// As many chunks are loaded by one statement, which takes all of their rows or none: about 1 GiB.
const CHUNKS_AT_ONCE: usize = 128;
/// The target does not load them in bulk.
const ER_TXN_TOO_LARGE: u16 = 8004;
/// Lines that are sent together.
const PIECE_BYTES: usize = 256 << 10;

/// The target's session while it takes rows as they come.
const NO_CHECKS: &str = "SET SESSION foreign_key_checks = 0, unique_checks = 0";

pub(super) fn connect(target: &Endpoint) -> Result<Client> {
    let mut client = target.connect()?;
    client.run(NO_CHECKS)?;
    Ok(client)
}

/// A chunk to copy, or to compare if an earlier run has copied it.
pub(super) struct Job {
    pub(super) chunk: Chunk,
    pub(super) was_copied: bool,
}

/// Chunks of a table that one thread copies.
pub(super) struct Unit<'a> {
    table: &'a Table,
    jobs: Vec<Job>,
    /// By one statement.
    is_loaded: bool,
}

/// The units of a table. `loads`: whether its rows are loaded by few statements.
pub(super) fn units<'a>(table: &'a Table, jobs: Vec<Job>, loads: bool) -> Vec<Unit<'a>> {
    let mut units: Vec<Unit<'a>> = Vec::new();
    for job in jobs {
        let is_loaded = loads && !job.was_copied;
        match units.last_mut() {
            Some(last) if is_loaded && last.is_loaded && last.jobs.len() < CHUNKS_AT_ONCE => {
                last.jobs.push(job);
            }
            _ => units.push(Unit {
                table,
                jobs: vec![job],
                is_loaded,
            }),
        }
    }
    units
}

/// What waits, and the tables at work: whether one is being loaded.
struct Queue<'a> {
    waiting: VecDeque<Unit<'a>>,
    running: Vec<(&'a Table, bool)>,
    is_stopped: bool,
}

impl Queue<'_> {
    /// A statement that loads a table waits for all others that write it, so nothing else is begun beside it.
    fn may_run(&self, unit: &Unit<'_>) -> bool {
        let mut running = self.running.iter();
        !running.any(|(table, is_loaded)| std::ptr::eq(*table, unit.table) && (*is_loaded || unit.is_loaded))
    }
}

/// The work of all threads, and its results.
pub(super) struct Copying<'a> {
    pub(super) state: &'a Move,
    pub(super) progress: &'a Progress,
    pub(super) target: &'a Endpoint,
    queue: Mutex<Queue<'a>>,
    unit_ended: Condvar,
    turns: Turns,
    /// Rows of an earlier run may be in the way.
    resumed: bool,
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
    pub(super) fn new(
        state: &'a Move,
        progress: &'a Progress,
        target: &'a Endpoint,
        units: Vec<Unit<'a>>,
        resumed: bool,
    ) -> Self {
        Self {
            state,
            progress,
            target,
            queue: Mutex::new(Queue {
                waiting: units.into(),
                running: Vec::new(),
                is_stopped: false,
            }),
            unit_ended: Condvar::new(),
            turns: Turns::default(),
            resumed,
            done: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            unchanged: AtomicU64::new(0),
            differences: Mutex::new(Vec::new()),
        }
    }

    /// Copies all units, one thread for each pair of connections.
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

    fn queue(&self) -> Result<MutexGuard<'_, Queue<'a>>> {
        self.queue.lock().map_err(|_| Error::Thread)
    }

    /// The next unit that may run; waits if others have to end before. `None`: there are no more.
    fn next(&self) -> Result<Option<Unit<'a>>> {
        let mut queue = self.queue()?;
        loop {
            if queue.is_stopped || queue.waiting.is_empty() {
                return Ok(None);
            }
            let at = queue.waiting.iter().position(|unit| queue.may_run(unit));
            if let Some(unit) = at.and_then(|at| queue.waiting.remove(at)) {
                queue.running.push((unit.table, unit.is_loaded));
                return Ok(Some(unit));
            }
            queue = self.unit_ended.wait(queue).map_err(|_| Error::Thread)?;
        }
    }

    fn stop(&self) {
        if let Ok(mut queue) = self.queue.lock() {
            queue.is_stopped = true;
        }
        self.unit_ended.notify_all();
    }

    fn work(&self, source: &mut Client, target: &mut Client) -> Result<()> {
        while let Some(unit) = self.next()? {
            let done = self.unit(source, target, &unit);
            if done.is_err() {
                self.stop();
            }
            done?;
        }
        Ok(())
    }

    fn unit(&self, source: &mut Client, target: &mut Client, unit: &Unit<'a>) -> Result<()> {
        let running = Running { copying: self, unit };
        let table = unit.table;
        if unit.is_loaded && self.load(source, target, unit)? {
            // The next unit of the table is loaded while this one is compared.
            drop(running);
            return self.each(unit, |job| self.compare(source, target, table, job));
        }
        // A statement that has failed may have written the rows all the same.
        let is_again = self.resumed || unit.is_loaded;
        self.each(unit, |job| self.chunk(source, target, (table, job), is_again))
    }

    /// Does `work` with each chunk, which returns its number of rows.
    fn each(&self, unit: &Unit<'_>, mut work: impl FnMut(&Job) -> Result<u64>) -> Result<()> {
        for job in &unit.jobs {
            let copied = work(job)?;
            let rows = self.rows.fetch_add(copied, Ordering::Relaxed) + copied;
            let chunks = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            self.progress
                .set(chunks, &format!("{rows} rows, {}", unit.table.shown()));
        }
        Ok(())
    }

    /// Copies a unit by one statement. `false`: it has to be copied by chunks. The target does not take one of the rows,
    /// or an earlier run has written some of them.
    fn load(&self, source: &mut Client, target: &mut Client, unit: &Unit<'_>) -> Result<bool> {
        let done = self.turns.run(
            || unit.table.shown(),
            |failed| match self.load_once(source, target, unit, self.resumed || failed > 0) {
                // Transactions of a few rows need less.
                Err(error) if failed > 0 && error.code() == ER_MEMORY_EXCEEDED => Ok(false),
                done => done,
            },
        );
        match done {
            // The rows by themselves tell more than this error.
            Err(error) if error.is_about_rows() || error.code() == ER_TXN_TOO_LARGE => Ok(false),
            done => done,
        }
    }

    fn load_once(
        &self,
        source: &mut Client,
        target: &mut Client,
        unit: &Unit<'_>,
        is_again: bool,
    ) -> Result<bool> {
        let table = unit.table;
        let mut client = connect(self.target)?;
        self.state.lock_loads(&mut client, table)?;
        if is_again {
            for job in &unit.jobs {
                let condition = job.chunk.condition(table);
                let some = format!("SELECT 1 FROM {} WHERE {condition} LIMIT 1", table.quoted());
                if target.one(&some)?.is_some() {
                    return Ok(false);
                }
            }
        }
        let columns: Vec<&Column> = table.written().collect();
        let statement = Whole::begin(client, &lines::statement(table, &columns))?;
        let mut piece = Vec::new();
        let mut has_failed = false;
        for (position, job) in unit.jobs.iter().enumerate() {
            let note = format!(
                "loading {}, {position} of {} chunks",
                table.shown(),
                unit.jobs.len()
            );
            self.progress.set(self.done.load(Ordering::Relaxed), &note);
            let read = source.stream(&select(table, &columns, &job.chunk.condition(table)), |row| {
                lines::push(&mut piece, &row, &columns);
                if piece.len() >= PIECE_BYTES && !statement.give(std::mem::take(&mut piece)) {
                    has_failed = true;
                    return Err(Error::Thread);
                }
                Ok(())
            });
            if has_failed {
                break;
            }
            read?;
        }
        // If it has failed, its error tells why.
        statement.give(piece);
        statement.finish()?;
        let chunks = unit.jobs.iter().map(|job| &job.chunk);
        target.run(&self.state.copied_statement(table, chunks, true))?;
        Ok(true)
    }

    /// Copies and compares a chunk. Returns its number of rows.
    fn chunk(
        &self,
        source: &mut Client,
        target: &mut Client,
        (table, job): (&Table, &Job),
        is_again: bool,
    ) -> Result<u64> {
        let what = || format!("{}, chunk {}", table.shown(), job.chunk.number);
        self.turns.run(what, |failed| {
            let done = self.copy_chunk(source, target, (table, job), is_again || failed > 0);
            if done.as_ref().is_err_and(|error| is_for_now(error.code())) {
                // What it holds may be what another connection waits for.
                target.run("ROLLBACK")?;
            }
            done
        })
    }

    fn copy_chunk(
        &self,
        source: &mut Client,
        target: &mut Client,
        (table, job): (&Table, &Job),
        is_again: bool,
    ) -> Result<u64> {
        let chunk = &job.chunk;
        let condition = chunk.condition(table);
        if is_again {
            let was_copied = self.state.lock_chunk(target, table, chunk)?;
            let ours = summary(target, table, &condition)?;
            // What one statement has loaded may not be noted as copied.
            if was_copied || ours.rows > 0 {
                if ours == summary(source, table, &condition)? {
                    if !was_copied {
                        target.run(&self.state.copied_statement(table, [chunk], true))?;
                    }
                    self.unchanged.fetch_add(1, Ordering::Relaxed);
                    return Ok(ours.rows);
                }
                target.run(&self.state.copied_statement(table, [chunk], false))?;
                clear(target, table, &condition)?;
            }
        }
        self.insert(source, target, table, chunk)?;
        self.compare_once(source, target, table, chunk)
    }

    /// Compares a chunk that has been copied. Returns its number of rows.
    fn compare(&self, source: &mut Client, target: &mut Client, table: &Table, job: &Job) -> Result<u64> {
        let what = || format!("{}, chunk {}", table.shown(), job.chunk.number);
        self.turns
            .run(what, |_| self.compare_once(source, target, table, &job.chunk))
    }

    fn compare_once(
        &self,
        source: &mut Client,
        target: &mut Client,
        table: &Table,
        chunk: &Chunk,
    ) -> Result<u64> {
        let condition = chunk.condition(table);
        let theirs = summary(source, table, &condition)?;
        if theirs != summary(target, table, &condition)? {
            let lines = differences(source, target, table, &condition)?;
            if let Ok(mut all) = self.differences.lock() {
                all.extend(lines);
            }
        }
        Ok(theirs.rows)
    }

    fn begin(&self, target: &mut Client, table: &Table, chunk: &Chunk) -> Result<()> {
        target.run("START TRANSACTION")?;
        self.state.lock_chunk(target, table, chunk).map(drop)
    }

    /// Inserts the rows of a chunk. That it is copied is stored in the transaction of the last of them.
    fn insert(&self, source: &mut Client, target: &mut Client, table: &Table, chunk: &Chunk) -> Result<()> {
        let columns: Vec<&Column> = table.written().collect();
        self.begin(target, table, chunk)?;
        let mut inserter = Inserter::new(target, table, &columns);
        source.stream(&select(table, &columns, &chunk.condition(table)), |row| {
            if inserter.transaction_bytes > TRANSACTION_BYTES {
                inserter.flush()?;
                inserter.target.run("COMMIT")?;
                self.begin(inserter.target, table, chunk)?;
                inserter.transaction_bytes = 0;
            }
            inserter.add(row)
        })?;
        inserter.flush()?;
        target.run(&self.state.copied_statement(table, [chunk], true))?;
        target.run("COMMIT")
    }
}

/// A unit that is being written.
struct Running<'c, 'a> {
    copying: &'c Copying<'a>,
    unit: &'c Unit<'a>,
}

impl Drop for Running<'_, '_> {
    fn drop(&mut self) {
        if let Ok(mut queue) = self.copying.queue.lock() {
            let is_it = |(table, is_loaded): &(&Table, bool)| {
                std::ptr::eq(*table, self.unit.table) && *is_loaded == self.unit.is_loaded
            };
            if let Some(at) = queue.running.iter().position(is_it) {
                queue.running.swap_remove(at);
            }
        }
        self.copying.unit_ended.notify_all();
    }
}

fn select(table: &Table, columns: &[&Column], condition: &str) -> String {
    let columns: Vec<String> = columns.iter().map(|column| as_read(column)).collect();
    format!(
        "SELECT {} FROM {} WHERE {condition}",
        columns.join(", "),
        table.quoted()
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> Table {
        Table {
            database: "d".to_owned(),
            name: name.to_owned(),
            columns: Vec::new(),
            key: Vec::new(),
            create: String::new(),
            rows: 0,
            row_bytes: 0,
        }
    }

    fn jobs(count: u64, copied: &[u64]) -> Vec<Job> {
        let job = |number| Job {
            chunk: Chunk {
                number,
                lower: None,
                upper: None,
            },
            was_copied: copied.contains(&number),
        };
        (0..count).map(job).collect()
    }

    #[test]
    fn chunks_that_are_not_copied_are_loaded_together() {
        let table = table("t");
        let shape = |units: &[Unit<'_>]| -> Vec<(usize, bool)> {
            units
                .iter()
                .map(|unit| (unit.jobs.len(), unit.is_loaded))
                .collect()
        };
        assert_eq!(
            shape(&units(&table, jobs(130, &[1]), true)),
            [(1, true), (1, false), (128, true)]
        );
        assert_eq!(
            shape(&units(&table, jobs(129, &[]), true)),
            [(128, true), (1, true)]
        );
        assert_eq!(
            shape(&units(&table, jobs(2, &[]), false)),
            [(1, false), (1, false)]
        );
    }

    #[test]
    fn nothing_else_is_written_to_a_table_that_is_loaded() {
        let (first, second) = (table("a"), table("b"));
        let unit = |table, loads| units(table, jobs(1, &[]), loads).remove(0);
        let mut queue = Queue {
            waiting: VecDeque::new(),
            running: vec![(&first, false)],
            is_stopped: false,
        };
        assert!(queue.may_run(&unit(&first, false)) && queue.may_run(&unit(&second, true)));
        assert!(!queue.may_run(&unit(&first, true)));
        queue.running = vec![(&first, true)];
        assert!(!queue.may_run(&unit(&first, false)) && !queue.may_run(&unit(&first, true)));
        assert!(queue.may_run(&unit(&second, true)));
    }
}
