//! Schema changes that take more than one transaction, as the store remembers them.
//!
//! A job is stored with the first step of the change and deleted with the last. One that nobody works on is finished (an
//! index that was being filled beside running statements: the backfill goes on where it stopped) or undone (a change that
//! held its table for itself, or that has failed, or was cancelled). Where one process has the store, it finds such jobs
//! when it starts; one whose undoing failed waits for the background thread. Where several do: [`super::shared`].

use std::sync::Arc;

use kv::{Interrupt, KeyRange, Reader};
use schema::definition::TableName;
use schema::model::{Index, SchemaState, Table};
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use super::alter_plan::Altered;
use super::history::About;
use crate::Catalog;
use crate::meta::record::decode;
use crate::meta::{keys, read_all};
use crate::metadata_lock::{ChangeLocks, WaitLimit};
use crate::nodes::lease_is_over;
use crate::publish::{Change, Needs, Outcome};

const ER_CANCELLED_DDL_JOB: u16 = 8214;
const ER_DDL_JOB_NOT_FOUND: u16 = 8224;

/// A change in progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub id: i64,
    #[serde(default)]
    pub about: About,
    /// The node that works on it; 0 where one process has the store to itself.
    #[serde(default)]
    pub owner: i64,
    /// Whether it is to stop and to be undone.
    #[serde(default)]
    pub cancelled: bool,
    /// Tables that no other job may have meanwhile.
    #[serde(default)]
    pub tables: Vec<i64>,
    /// Those of them that nobody may use now, on any node.
    #[serde(default)]
    pub frozen: Vec<i64>,
    /// What is made of a table; nothing where the job is done in one step.
    #[serde(flatten, default)]
    pub change: Option<TableChange>,
}

/// What a job makes of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableChange {
    pub table: i64,
    /// The definition in the end, but for a new name.
    pub target: Table,
    pub rename: Option<TableName>,
    /// Indexes of `target` that are being built; those of the table as it is that will be gone.
    pub new_indexes: Vec<i64>,
    pub dropped_indexes: Vec<i64>,
    /// Whether the table is used meanwhile, its new indexes kept by writers.
    pub online: bool,
    /// What the table's new indexes are published as; none: not at all.
    #[serde(default)]
    pub state: Option<SchemaState>,
}

/// How far a job's backfill has come.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The last row key that was dealt with; empty before the first.
    pub done: Vec<u8>,
    pub rows: u64,
}

impl Progress {
    pub(crate) fn read(reader: &dyn Reader, job: i64) -> Result<Self> {
        match reader.get(&keys::job_progress(job))? {
            None => Ok(Self::default()),
            Some(bytes) => decode(&bytes, "progress of a job"),
        }
    }
}

/// A job that nobody works on, with the right to do so.
pub(crate) struct PendingJob {
    job: Job,
    locks: ChangeLocks,
    /// It has failed: only undoing is left.
    undo: bool,
}

/// How long a job at a time waits for transactions before others have their turn.
pub(super) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

impl TableChange {
    pub(super) fn of(base: &Table, altered: &Altered, online: bool) -> Self {
        Self {
            table: base.id,
            target: altered.table.clone(),
            rename: altered.rename.clone(),
            new_indexes: altered.new_indexes.clone(),
            dropped_indexes: altered.dropped_indexes.clone(),
            online,
            state: None,
        }
    }
}

impl Job {
    /// One of a statement, with nothing in it yet.
    pub(super) fn of(about: &About) -> Self {
        Self {
            about: about.clone(),
            ..Self::default()
        }
    }

    /// The tables it is about.
    pub(super) fn tables(&self) -> Vec<i64> {
        match &self.change {
            // Of a job that was stored before there were several nodes.
            Some(change) if self.tables.is_empty() => vec![change.table],
            _ => self.tables.clone(),
        }
    }

    /// What is to be done with one that nobody works on.
    pub(super) fn can_go_on(&self) -> bool {
        !self.cancelled && self.change.as_ref().is_some_and(|change| change.online)
    }
}

impl Catalog {
    /// At start: takes over the jobs that were left behind, before anybody can use their tables.
    pub(crate) fn adopt_jobs(&self, reader: &dyn Reader) -> Result<()> {
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: PATIENCE,
            interrupt: &interrupt,
        };
        for job in read_all::<Job>(reader, &keys::jobs(), "job")? {
            let locks = self.locks().lock_for_change(&job.tables(), &limit)?;
            let undo = !job.can_go_on();
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
        if self.membership.is_some() {
            if let Err(error) = self.resume_shared_jobs(interrupt) {
                tracing::warn!(%error, "schema changes that nobody works on could not be looked for");
            }
            return;
        }
        let pending = std::mem::take(&mut *self.pending_jobs.lock());
        for mut pending in pending {
            if interrupt.is_raised() {
                self.pending_jobs.lock().push(pending);
                continue;
            }
            if let Err(error) = self.resume(&mut pending, interrupt) {
                let job = pending.job.id;
                tracing::warn!(%error, job, "a schema change could not be ended; it is tried again");
                self.pending_jobs.lock().push(pending);
            }
        }
    }

    fn resume(&self, pending: &mut PendingJob, interrupt: &Arc<Interrupt>) -> Result<()> {
        let limit = WaitLimit {
            timeout: PATIENCE,
            interrupt,
        };
        if let (false, Some(change)) = (pending.undo, &pending.job.change) {
            let schema = self.schema();
            let finished = match schema.table_by_id(change.table) {
                Some(table) => self
                    .backfill(table, &pending.job, interrupt)
                    .and_then(|()| self.finish_job(&pending.job, &pending.locks, &limit)),
                None => Ok(()),
            };
            match finished {
                Err(error) if is_final(error.code) => {
                    tracing::warn!(%error, job = pending.job.id, "a resumed schema change failed and is undone");
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
        self.publish(limit, Needs::AllNodes, Some(&job.about), |change| {
            end_with_target(change, job)
        })
    }

    /// Takes the new indexes away again, and the job.
    pub(crate) fn undo_job(&self, job: &Job, locks: &ChangeLocks, limit: &WaitLimit) -> Result<()> {
        let _exclusive = locks.exclusive(limit)?;
        self.publish(limit, Needs::AllNodes, None, |change| end_undone(change, job))
    }
}

/// The job as it is now, for the one who works on it: others cannot change it before the end of this transaction. None:
/// it has ended.
///
/// # Errors
/// 8027 when another node has taken it over.
pub(super) fn own(change: &mut Change<'_>, job: &Job) -> Result<Option<Job>> {
    match change.meta.lock_job(job.id)? {
        Some(stored) if stored.owner != job.owner => Err(lease_is_over()),
        stored => Ok(stored),
    }
}

/// # Errors
/// 8214 once it is cancelled.
pub(super) fn check_not_cancelled(job: &Job) -> Result<()> {
    if job.cancelled {
        return Err(Error::new(ER_CANCELLED_DDL_JOB, "Cancelled DDL job"));
    }
    Ok(())
}

pub(super) fn no_such_job(id: i64) -> Error {
    Error::new(ER_DDL_JOB_NOT_FOUND, format!("DDL Job:{id} not found"))
}

/// Ends a job with what it was to make.
pub(super) fn end_with_target(change: &mut Change<'_>, job: &Job) -> Result<Outcome<()>> {
    let Some(job) = own(change, job)? else {
        return Ok(Outcome::Nothing(()));
    };
    check_not_cancelled(&job)?;
    end(change, &job)?;
    if let Some(made) = &job.change {
        let rename = made.rename.as_ref();
        super::alter::put_target(change, &made.target, rename, &made.dropped_indexes, true)?;
    }
    Ok(Outcome::Done(()))
}

/// Ends a job.
pub(super) fn end(change: &mut Change<'_>, job: &Job) -> Result<()> {
    change.ends = Some((job.id, change.meta.progress(job.id)?.rows));
    change.meta.delete_job(job.id)
}

/// Ends a job with the table as it was before.
pub(super) fn end_undone(change: &mut Change<'_>, job: &Job) -> Result<Outcome<()>> {
    let Some(job) = own(change, job)? else {
        return Ok(Outcome::Nothing(()));
    };
    change.meta.delete_job(job.id)?;
    if let Some(made) = &job.change
        && let Some(table) = change.schema.table_by_id(made.table)
    {
        let is_new = |index: &Index| made.new_indexes.contains(&index.id);
        let is_known = table.indexes.iter().any(is_new);
        if is_known {
            let mut table = Table::clone(table);
            table.indexes.retain(|index| !is_new(index));
            schema::indexes::normalize(&mut table)?;
            change.put_table(table)?;
        }
        if is_known || !made.online {
            change.discard(index_ranges(made.table, &made.new_indexes))?;
        }
    }
    Ok(Outcome::Done(()))
}

/// Errors that come again however often a backfill is repeated.
pub(super) fn is_final(code: u16) -> bool {
    matches!(
        code,
        errno::ER_DUP_ENTRY
            | errno::ER_TOO_LONG_KEY
            | errno::ER_TABLE_EXISTS_ERROR
            | errno::ER_BAD_DB_ERROR
            | ER_CANCELLED_DDL_JOB
    )
}

/// Where the entries of indexes are.
pub(crate) fn index_ranges(table: i64, indexes: &[i64]) -> Vec<KeyRange> {
    indexes
        .iter()
        .map(|&index| KeyRange::prefix(codec::key::index_prefix(table, index)))
        .collect()
}
