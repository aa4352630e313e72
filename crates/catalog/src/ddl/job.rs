//! Schema changes that take more than one transaction, as the store remembers them.
//!
//! A job is stored with the first step of the change and deleted with the last. One that is found at start is finished
//! (an index that was being filled beside running statements: the backfill goes on where it stopped) or undone (a change
//! that held its table for itself). One whose undoing failed waits for the background thread.

use std::sync::Arc;

use kv::{Interrupt, KeyRange, Reader};
use serde::{Deserialize, Serialize};
use types::{Result, errno};

use crate::Catalog;
use crate::definition::TableName;
use crate::meta::{keys, read_all};
use crate::metadata_lock::{ChangeLocks, WaitLimit};
use crate::model::Table;
use crate::publish::Outcome;

/// A change in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub id: i64,
    pub table: i64,
    /// The definition in the end, but for a new name.
    pub target: Table,
    pub rename: Option<TableName>,
    /// Indexes of `target` that are being built; those of the table as it is that will be gone.
    pub new_indexes: Vec<i64>,
    pub dropped_indexes: Vec<i64>,
    /// Whether the table is used meanwhile, its new indexes published as write-only.
    pub online: bool,
}

/// A job that nobody works on, with the right to do so.
pub(crate) struct PendingJob {
    job: Job,
    locks: ChangeLocks,
    /// It has failed: only undoing is left.
    undo: bool,
}

/// How long a job at a time waits for transactions before others have their turn.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

impl Catalog {
    /// At start: takes over the jobs that were left behind, before anybody can use their tables.
    pub(crate) fn adopt_jobs(&self, reader: &dyn Reader) -> Result<()> {
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: PATIENCE,
            interrupt: &interrupt,
        };
        for job in read_all::<Job>(reader, &keys::jobs(), "job")? {
            let locks = self.locks().lock_for_change(&[job.table], &limit)?;
            let undo = !job.online;
            self.leave_job(job, locks, undo);
        }
        Ok(())
    }

    /// Leaves a job to the background thread.
    pub(crate) fn leave_job(&self, job: Job, locks: ChangeLocks, undo: bool) {
        self.pending_jobs.lock().push(PendingJob { job, locks, undo });
    }

    /// Works on the jobs that nobody works on. What fails for want of time or of the store is left for the next time.
    pub(crate) fn resume_jobs(&self, interrupt: &Arc<Interrupt>) {
        let pending = std::mem::take(&mut *self.pending_jobs.lock());
        for mut pending in pending {
            if interrupt.is_raised() {
                self.pending_jobs.lock().push(pending);
                continue;
            }
            if let Err(error) = self.resume(&mut pending, interrupt) {
                let table = pending.job.table;
                tracing::warn!(%error, table, "a schema change could not be ended; it is tried again");
                self.pending_jobs.lock().push(pending);
            }
        }
    }

    fn resume(&self, pending: &mut PendingJob, interrupt: &Arc<Interrupt>) -> Result<()> {
        let limit = WaitLimit {
            timeout: PATIENCE,
            interrupt,
        };
        if !pending.undo {
            let schema = self.schema();
            let finished = match schema.table_by_id(pending.job.table) {
                Some(table) => self
                    .backfill(table, &pending.job, interrupt)
                    .and_then(|()| self.finish_job(&pending.job, &pending.locks, &limit)),
                None => Ok(()),
            };
            match finished {
                Err(error) if is_final(error.code) => {
                    tracing::warn!(%error, table = pending.job.table, "a resumed schema change failed and is undone");
                    pending.undo = true;
                }
                other => return other,
            }
        }
        self.undo_job(&pending.job, &pending.locks, &limit)
    }

    /// The last step: the target is published, the job is gone.
    pub(crate) fn finish_job(&self, job: &Job, locks: &ChangeLocks, limit: &WaitLimit) -> Result<()> {
        let _exclusive = locks.exclusive(limit)?;
        self.publish(|change| {
            if !change.meta.has_job(job.id)? {
                return Ok(Outcome::Nothing(()));
            }
            change.meta.delete_job(job.id)?;
            super::alter::put_target(
                change,
                &job.target,
                job.rename.as_ref(),
                &job.dropped_indexes,
                true,
            )?;
            Ok(Outcome::Done(()))
        })
    }

    /// Takes the new indexes away again, and the job.
    pub(crate) fn undo_job(&self, job: &Job, locks: &ChangeLocks, limit: &WaitLimit) -> Result<()> {
        let _exclusive = locks.exclusive(limit)?;
        self.publish(|change| {
            if !change.meta.has_job(job.id)? {
                return Ok(Outcome::Nothing(()));
            }
            change.meta.delete_job(job.id)?;
            if let Some(table) = change.schema.table_by_id(job.table) {
                let mut table = Table::clone(table);
                table.indexes.retain(|i| !job.new_indexes.contains(&i.id));
                super::indexes::settle(&mut table)?;
                change.put_table(table)?;
                change.discard(index_ranges(job.table, &job.new_indexes))?;
            }
            Ok(Outcome::Done(()))
        })
    }
}

/// Errors that come again however often a backfill is repeated.
fn is_final(code: u16) -> bool {
    matches!(
        code,
        errno::ER_DUP_ENTRY | errno::ER_TOO_LONG_KEY | errno::ER_TABLE_EXISTS_ERROR | errno::ER_BAD_DB_ERROR
    )
}

/// Where the entries of indexes are.
pub(crate) fn index_ranges(table: i64, indexes: &[i64]) -> Vec<KeyRange> {
    indexes
        .iter()
        .map(|&index| KeyRange::prefix(codec::key::index_prefix(table, index)))
        .collect()
}
