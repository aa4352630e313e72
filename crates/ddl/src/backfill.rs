//! Entries of new indexes for the rows that exist, written in small transactions while other statements run.
//!
//! Each transaction locks a page of rows, reads their newest values and writes their entries. Writers
//! maintain the index by that time, so the later of the two writes the right entry. The progress is stored
//! with each page, so a restart continues there. A duplicate in a unique index is found as any writer finds
//! it: by locking the entry's key and finding another row.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::lease::lease_is_over;
use cluster::meta::{Meta, keys};
use functions::TimeZone;
use kv::{Durability, Interrupt, KeyRange, LockMode, LockOptions, LockWait, Reader, Store};
use schema::duplicate::duplicate_entry;
use schema::layout::{IndexEntry, IndexLayout, RowEncoder, TableLayout};
use schema::model::Table;
use types::{Result, Value};

use crate::change::ranges;
use crate::job::{Job, Progress, check_not_cancelled};

/// Rows of one transaction, if no other transaction has locked any of them.
const PAGE_ROWS: usize = 512;
/// How long one transaction waits for a locked row before the page is tried again.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// One backfill.
struct Filler<'a> {
    store: &'a Store,
    table: &'a Table,
    layout: TableLayout,
    encoder: RowEncoder,
    /// Positions in the table's indexes.
    indexes: Vec<usize>,
}

/// An entry to write.
struct NewEntry {
    index: usize,
    /// Position among the page's rows.
    row: usize,
    entry: IndexEntry,
}

/// Fills the indexes that `job` builds. `table` has them, in any state.
///
/// # Errors
/// 1062 for a duplicate, 1317 when interrupted, 8027 when another node has taken over the job, those of the
/// store. Entries written so far stay.
pub(crate) fn backfill(store: &Store, table: &Table, job: &Job, interrupt: &Arc<Interrupt>) -> Result<()> {
    planner::expressions(table)?;
    let new_indexes = job.change.as_ref().map_or(&[][..], |made| &made.new_indexes);
    let filler = Filler {
        store,
        table,
        layout: TableLayout::new(table, &(0..table.columns.len()).collect::<Vec<_>>())?,
        encoder: RowEncoder::new(table)?,
        indexes: (0..table.indexes.len())
            .filter(|&at| new_indexes.contains(&table.indexes[at].id))
            .collect(),
    };
    let mut progress = Progress::read(&store.latest(), job.id)?;
    let mut ranges = ranges(table.row_ranges());
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    for range in ranges {
        if range.end > progress.done {
            filler.fill(range, &mut progress, job, interrupt)?;
        }
    }
    Ok(())
}

impl Filler<'_> {
    /// Processes the rest of a range of rows.
    fn fill(
        &self,
        mut range: KeyRange,
        progress: &mut Progress,
        job: &Job,
        interrupt: &Arc<Interrupt>,
    ) -> Result<()> {
        if progress.done >= range.start {
            range.start = after(&progress.done);
        }
        let mut rows = PAGE_ROWS;
        loop {
            interrupt.check()?;
            match self.fill_page(job, progress, &range, rows, interrupt) {
                Ok(true) => {
                    range.start = after(&progress.done);
                    rows = (rows * 2).min(PAGE_ROWS);
                }
                Ok(false) => return Ok(()),
                // Another transaction works on the same rows: a smaller page locks fewer of them.
                Err(PageError::Busy) => {
                    rows = (rows / 4).max(1);
                    std::thread::sleep(PAUSE);
                }
                Err(PageError::Failed(error)) => return Err(error),
            }
        }
    }

    /// Processes the next rows of a range; false when there are no more. It locks the job first: a node that
    /// takes the job over or cancels it waits for this page, and there is no other page after it.
    fn fill_page(
        &self,
        job: &Job,
        progress: &mut Progress,
        range: &KeyRange,
        rows: usize,
        interrupt: &Arc<Interrupt>,
    ) -> Result<bool, PageError> {
        let page = self.store.latest().scan_page(range, rows, false)?;
        let Some((last, _)) = page.last() else {
            return Ok(false);
        };
        let last = last.clone();
        let keys: Vec<Vec<u8>> = page.into_iter().map(|(key, _)| key).collect();
        let options = LockOptions {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(LOCK_WAIT),
            interrupt: Arc::clone(interrupt),
        };
        let mut txn = Meta::begin(self.store)?;
        match Job::lock(&mut Meta::new(&mut txn), job.id)? {
            Some(stored) if stored.owner == job.owner => check_not_cancelled(&stored)?,
            _ => return Err(lease_is_over().into()),
        }
        let mut values = Vec::new();
        let mut entries = Vec::new();
        let mut guards = Vec::new();
        for (key, locked) in keys.iter().zip(txn.lock(&keys, &options)?) {
            // The row has been deleted since.
            let Some(bytes) = locked.into_value() else {
                continue;
            };
            guards.push(txn.guard(key)?);
            self.entries(key, &bytes, &mut values, &mut entries)?;
        }
        self.check_unique(&mut txn, &options, &values, &entries)?;
        for NewEntry { entry, row, .. } in entries {
            match entry.distinct {
                true => txn.put(entry.key, entry.value)?,
                // The row's lock guards it: no other row can have this key.
                false => txn.put_guarded(guards[row], entry.key, entry.value)?,
            }
        }
        let filled = Progress {
            done: last,
            rows: progress.rows + values.len() as u64,
        };
        Meta::new(&mut txn).put(keys::job_progress(job.id), &filled)?;
        txn.commit(Durability::Os)?;
        *progress = filled;
        Ok(true)
    }

    /// Makes a row's entries.
    fn entries(
        &self,
        key: &[u8],
        value: &[u8],
        rows: &mut Vec<Vec<Value>>,
        entries: &mut Vec<NewEntry>,
    ) -> Result<()> {
        let row = self.layout.decode_row_values(key, value, TimeZone::UTC)?;
        let handle = self.layout.handle_of_row_key(key)?;
        for &index in &self.indexes {
            let entry = self
                .encoder
                .index_entry_of(index, &row, (key, &handle), TimeZone::UTC)?;
            entries.push(NewEntry {
                index,
                row: rows.len(),
                entry,
            });
        }
        rows.push(row);
        Ok(())
    }

    /// Locks the keys that must be unique, and fails if one belongs to another row.
    fn check_unique(
        &self,
        txn: &mut kv::Transaction,
        options: &LockOptions,
        rows: &[Vec<Value>],
        entries: &[NewEntry],
    ) -> Result<(), PageError> {
        let distinct: Vec<&NewEntry> = entries.iter().filter(|e| e.entry.distinct).collect();
        if distinct.is_empty() {
            return Ok(());
        }
        let keys: Vec<Vec<u8>> = distinct.iter().map(|e| e.entry.key.clone()).collect();
        let stored = txn.lock(&keys, options)?;
        let mut in_page: HashMap<&[u8], usize> = HashMap::new();
        for (new, stored) in distinct.iter().zip(stored) {
            let other = stored.into_value().filter(|value| *value != new.entry.value);
            let earlier = in_page.insert(&new.entry.key, new.row);
            if other.is_none() && earlier.is_none() {
                continue;
            }
            // MySQL reports the value of the row that had it first: an equal value may be written
            // differently.
            let first = match (earlier, other) {
                (Some(row), _) => Some(rows[row].clone()),
                (None, Some(value)) => self.row_of(txn, new.index, &new.entry.key, &value)?,
                (None, None) => None,
            };
            let row = first.unwrap_or_else(|| rows[new.row].clone());
            return Err(duplicate_entry(self.table, &self.table.indexes[new.index], &row).into());
        }
        Ok(())
    }

    /// The newest values of the row that an entry of a unique index belongs to.
    fn row_of(
        &self,
        txn: &kv::Transaction,
        index: usize,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Vec<Value>>, PageError> {
        let entries = IndexLayout::new(self.table, index, &[])?;
        let row_key = entries.row_key(key, value)?;
        match txn.current().get(&row_key)? {
            Some(row) => Ok(Some(self.layout.decode_row_values(
                &row_key,
                &row,
                TimeZone::UTC,
            )?)),
            None => Ok(None),
        }
    }
}

/// The first key behind `key`.
fn after(key: &[u8]) -> Vec<u8> {
    let mut next = key.to_vec();
    next.push(0);
    next
}

enum PageError {
    /// A row is locked: the page can be tried again.
    Busy,
    Failed(types::Error),
}

impl From<kv::Error> for PageError {
    fn from(error: kv::Error) -> Self {
        if error.is_retryable() {
            Self::Busy
        } else {
            Self::Failed(error.into())
        }
    }
}

impl From<types::Error> for PageError {
    fn from(error: types::Error) -> Self {
        Self::Failed(error)
    }
}
