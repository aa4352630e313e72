//! Work on all rows of a table, in small transactions while other statements run.
//!
//! Each transaction locks a page of rows and reads their newest values. The progress is stored with each
//! page, so a restart continues there. What is made of the rows: [`IndexFiller`], [`RowCopier`]. Where the
//! store takes sorted files, indexes are built in another way ([`sorted`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cluster::Cluster;
use cluster::lease::lease_is_over;
use cluster::meta::{Meta, keys};
use cluster::wait::{Deadline, WaitLimit};
use kv::{Durability, KeyRange, LockMode, LockOptions, LockWait, Reader, Store};
use schema::model::Table;
use types::Result;

use crate::change::ranges;
use crate::context::Watch;
use crate::copy_rows::RowCopier;
use crate::fill_indexes::IndexFiller;
use crate::job::{Job, Progress, check_not_cancelled};
use crate::page_work::{Backfilled, LockedRow, PageError, PageWork};
use crate::sorted;

/// Rows of one transaction, if no other transaction has locked any of them.
const PAGE_ROWS: usize = 512;
/// Bytes of rows after which a transaction takes no more.
const PAGE_BYTES: usize = 1 << 20;
/// How long one transaction waits for a locked row before the page is tried again.
const LOCK_WAIT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Writes what `job` adds for the rows of `table`: entries of new indexes, which `table` has in any state, or
/// rewritten rows.
///
/// # Errors
/// 1062 for a duplicate, those of conversions, 1317 when interrupted, 8027 when another node has taken over
/// the job, those of the store. What has been written so far stays.
pub(crate) fn backfill(cluster: &Cluster, table: &Table, job: &Job, watch: Watch<'_>) -> Result<Backfilled> {
    planner::expressions(table)?;
    let pages = Pages {
        store: cluster.store(),
        job,
        watch,
    };
    let Some(made) = &job.change else {
        return Ok(Backfilled::default());
    };
    match &made.conversion {
        None if made.new_indexes.is_empty() => Ok(Backfilled::default()),
        None if made.sorts(cluster.store()) && !made.online => {
            sorted::Build::begin(cluster, table, job, watch)?
                .run()?
                .complete()
        }
        None => {
            let rows = pages.all(
                table.row_ranges(),
                &mut IndexFiller::new(table, &made.new_indexes, made.sql_mode)?,
            )?;
            let warnings = Vec::new();
            Ok(Backfilled { rows, warnings })
        }
        Some(conversion) => {
            planner::expressions(&made.target)?;
            let mut copier = RowCopier::new(table, &made.target, conversion, cluster.ids())?;
            let rows = pages.all(table.row_ranges_outside(&made.target), &mut copier);
            let warnings = copier.into_warnings();
            match (rows, watch.warned) {
                (Err(error), Some(warned)) => {
                    warnings.into_iter().for_each(|warning| warned.push(warning));
                    Err(error)
                }
                (rows, _) => Ok(Backfilled {
                    rows: rows?,
                    warnings,
                }),
            }
        }
    }
}

struct Pages<'a> {
    store: &'a Store,
    job: &'a Job,
    watch: Watch<'a>,
}

impl Pages<'_> {
    /// Returns the number of all rows in some ranges.
    fn all(&self, rows: Vec<std::ops::Range<Vec<u8>>>, work: &mut dyn PageWork) -> Result<u64> {
        let mut progress = Progress::read(&self.store.latest(), self.job.id)?;
        let mut ranges = ranges(rows);
        ranges.sort_by(|a, b| a.start.cmp(&b.start));
        for range in ranges {
            if range.end > progress.done {
                self.range(range, &mut progress, work)?;
            }
        }
        Ok(progress.rows)
    }

    /// Processes the rest of a range of rows.
    fn range(&self, mut range: KeyRange, progress: &mut Progress, work: &mut dyn PageWork) -> Result<()> {
        if progress.done >= range.start {
            range.start = after(&progress.done);
        }
        let mut rows = PAGE_ROWS;
        // Since the last page that was committed.
        let mut wait: Option<Deadline<'_>> = None;
        loop {
            self.watch.interrupt.check()?;
            if let Some(shown) = self.watch.progress {
                shown.store(progress.rows, Ordering::Relaxed);
            }
            match self.page(progress, &range, rows, work) {
                Ok(true) => {
                    range.start = after(&progress.done);
                    rows = (rows * 2).min(PAGE_ROWS);
                    wait = None;
                }
                Ok(false) => return Ok(()),
                // Another transaction works on the same rows: a smaller page locks fewer of them.
                Err(PageError::Busy) => {
                    rows = (rows / 4).max(1);
                    let limit = WaitLimit {
                        timeout: self.watch.row_wait.unwrap_or(Duration::MAX),
                        interrupt: self.watch.interrupt,
                    };
                    wait.get_or_insert_with(|| Deadline::new(&limit)).sleep(PAUSE)?;
                }
                Err(PageError::Failed(error)) => return Err(error),
            }
        }
    }

    /// Processes the next rows of a range; false when there are no more. It locks the job first: a node that
    /// takes the job over or cancels it waits for this page, and there is no other page after it.
    fn page(
        &self,
        progress: &mut Progress,
        range: &KeyRange,
        rows: usize,
        work: &mut dyn PageWork,
    ) -> Result<bool, PageError> {
        let keys = self.next_keys(range, rows)?;
        let Some(last) = keys.last().cloned() else {
            return Ok(false);
        };
        let options = LockOptions {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(LOCK_WAIT),
            interrupt: Arc::clone(self.watch.interrupt),
        };
        let mut txn = Meta::begin(self.store)?;
        match Job::lock(&mut Meta::new(&mut txn), self.job.id)? {
            Some(stored) if stored.owner == self.job.owner => check_not_cancelled(&stored)?,
            _ => return Err(lease_is_over().into()),
        }
        let locked = txn.lock(&keys, &options)?;
        // Not those that have been deleted since.
        let page: Vec<LockedRow> = keys
            .into_iter()
            .zip(locked)
            .filter_map(|(key, locked)| {
                Some(LockedRow {
                    key,
                    value: locked.into_value()?,
                })
            })
            .collect();
        work.page(&mut txn, &options, &page, progress.rows)?;
        let filled = Progress {
            done: last,
            rows: progress.rows + page.len() as u64,
        };
        Meta::new(&mut txn).put(keys::job_progress(self.job.id), &filled)?;
        txn.commit(Durability::Os)?;
        work.committed();
        *progress = filled;
        Ok(true)
    }

    fn next_keys(&self, range: &KeyRange, rows: usize) -> Result<Vec<Vec<u8>>, PageError> {
        let page = self.store.latest().scan_page(range, rows, false)?;
        let mut bytes = 0;
        let fits = |(_, value): &(Vec<u8>, Vec<u8>)| {
            let is_first = bytes == 0;
            bytes += value.len().max(1);
            is_first || bytes <= PAGE_BYTES
        };
        Ok(page.into_iter().take_while(fits).map(|(key, _)| key).collect())
    }
}

/// The first key after `key`.
fn after(key: &[u8]) -> Vec<u8> {
    let mut next = key.to_vec();
    next.push(0);
    next
}
