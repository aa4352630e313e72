//! The stored records of schema changes that take more than one transaction.
//!
//! A job is stored by the first step of the change and deleted by the last. A job that no process works on is
//! finished or undone. An index that was being built while other statements ran is finished: the backfill
//! continues where it stopped. A change that held the exclusive lock of its table, that has failed or that
//! was cancelled is undone. See [`crate::local`] and [`crate::shared`].

use std::collections::HashSet;
use std::time::Duration;

use cluster::meta::record::{Record, decode};
use cluster::meta::{Meta, keys, read_all};
use kv::{Reader, Store};
use schema::definition::TableName;
use schema::model::{Column, SchemaState, Table};
use schema::shadow::Conversion;
use serde::{Deserialize, Serialize};
use types::{Error, Result, SqlMode, errno};

use crate::about::About;
use crate::altered::Altered;

/// How long undoing or resuming a job waits for transactions before other jobs get their turn.
pub(crate) const RESUME_WAIT: Duration = Duration::from_secs(10);

const ER_CANCELLED_DDL_JOB: u16 = 8214;
const ER_DDL_JOB_NOT_FOUND: u16 = 8224;
const ER_DISK_FULL: u16 = 1021;
const ER_GET_ERRNO: u16 = 1030;

/// A change in progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub id: i64,
    #[serde(default)]
    pub about: About,
    /// The id of the node that works on it; 0 if the store is not shared.
    #[serde(default)]
    pub owner: i64,
    /// Whether it must stop and be undone.
    #[serde(default)]
    pub cancelled: bool,
    /// Tables that no other job may change meanwhile.
    #[serde(default)]
    pub tables: Vec<i64>,
    /// The tables that at present no transaction on any node may use.
    #[serde(default)]
    pub frozen: Vec<i64>,
    /// The tables that at present no transaction on any node may write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<i64>,
    /// Set for LOCK TABLES: a job that does nothing, and lasts as long as its session wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<SessionLock>,
    /// Key ranges that it fills before its last step. They are destroyed if the job is undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fills: Vec<(Vec<u8>, Vec<u8>)>,
    /// How it changes a table; `None` if the job has only one step.
    #[serde(flatten, default)]
    pub change: Option<TableChange>,
}

/// What a session has locked by LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionLock {
    /// Those of the job's tables that others may read, too, in ascending order.
    pub shared: Vec<i64>,
    /// The lease of the session's node. The session loses its locks with it.
    pub term: u64,
}

impl SessionLock {
    fn shares(&self, table: i64) -> bool {
        self.shared.binary_search(&table).is_ok()
    }
}

/// How a job changes a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TableChange {
    pub table: i64,
    /// The definition after the change, except for a new name.
    pub target: Table,
    pub rename: Option<TableName>,
    /// Ids of the indexes of `target` that are being built, and of the indexes that the job removes.
    pub new_indexes: Vec<i64>,
    pub dropped_indexes: Vec<i64>,
    /// For each new index that is built by sorting beside writers, the id of its *delta*: an index in which writers
    /// have the entries until the new one is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delta_indexes: Vec<i64>,
    /// Ids of the columns of `target` that the table does not have yet, if new indexes need one of them. They are published
    /// with these indexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_columns: Vec<i64>,
    /// Whether other statements use the table meanwhile and maintain the new indexes.
    pub online: bool,
    /// The mode in which virtual columns of new indexes are computed. `None` in jobs of older releases, which did not
    /// refuse values that do not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_mode: Option<SqlMode>,
    /// The state in which the new indexes are published; `None` if they are not published.
    #[serde(default)]
    pub state: Option<SchemaState>,
    /// Set if the rows are rewritten: `target` then has the id of the shadow table.
    #[serde(default)]
    pub conversion: Option<Conversion>,
    /// The names of constraints that writers obey while existing rows are checked.
    #[serde(default)]
    pub new_checks: Vec<String>,
    #[serde(default)]
    pub new_keys: Vec<String>,
    /// Existing rows are not checked for the new foreign keys.
    #[serde(default)]
    pub keys_unchecked: bool,
}

/// The progress of a job's backfill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The last row key that has been processed; empty before the first.
    pub done: Vec<u8>,
    pub rows: u64,
}

impl Record for Progress {}

impl Progress {
    pub(crate) fn read(reader: &dyn Reader, job: i64) -> Result<Self> {
        match reader.get(&keys::job_progress(job))? {
            None => Ok(Self::default()),
            Some(bytes) => decode(&bytes, "progress of a job"),
        }
    }
}

impl TableChange {
    /// Whether existing rows are checked while writers already obey new constraints. Rows that are rewritten
    /// are checked during the rewrite instead.
    pub(crate) fn validates(&self) -> bool {
        self.conversion.is_none() && !(self.new_checks.is_empty() && self.new_keys.is_empty())
    }

    /// Whether the new indexes are built by sorting ([`crate::sorted`]). Rows that are rewritten take another way.
    pub(crate) fn sorts(&self, store: &Store) -> bool {
        store.loads_by_file() && self.conversion.is_none() && !self.new_indexes.is_empty()
    }

    /// The same with a delta for each new index.
    pub(crate) fn with_deltas(mut self) -> Self {
        let first = self.target.max_index_id + 1;
        self.delta_indexes = (first..).take(self.new_indexes.len()).collect();
        self.target.max_index_id += self.delta_indexes.len() as i64;
        self
    }

    /// No later column of the table gets the id of one of the new columns, which rows may have values of.
    pub(crate) fn reserve_columns(&self, table: &mut Table) {
        if !self.new_columns.is_empty() {
            table.max_column_id = table.max_column_id.max(self.target.max_column_id);
        }
    }

    /// The id under which writers have the entries of an index in a state.
    pub(crate) fn written_id(&self, index: i64, state: SchemaState) -> i64 {
        let at = self.new_indexes.iter().position(|&id| id == index);
        let delta = at.and_then(|at| self.delta_indexes.get(at));
        match delta {
            Some(&delta) if state < SchemaState::Public => delta,
            _ => index,
        }
    }

    /// The ids of the new indexes and of their deltas.
    pub(crate) fn made_indexes(&self) -> Vec<i64> {
        [&self.new_indexes[..], &self.delta_indexes].concat()
    }

    pub(crate) fn of(base: &Table, altered: &Altered, online: bool) -> Self {
        Self {
            table: base.id,
            target: altered.table.clone(),
            rename: altered.rename.clone(),
            new_indexes: altered.new_indexes.clone(),
            dropped_indexes: altered.dropped_indexes.clone(),
            delta_indexes: Vec::new(),
            new_columns: columns_of_indexes(base, altered),
            online,
            sql_mode: Some(altered.sql_mode),
            state: None,
            conversion: altered.conversion.clone(),
            new_checks: altered.new_checks.clone(),
            new_keys: altered.new_keys.iter().map(|key| key.name.clone()).collect(),
            keys_unchecked: altered.keys_unchecked,
        }
    }
}

/// The columns that the statement adds, if its new indexes need one of them. An expression may read another.
fn columns_of_indexes(base: &Table, altered: &Altered) -> Vec<i64> {
    let target = &altered.table;
    let is_added = |column: &&Column| base.columns.iter().all(|before| before.id != column.id);
    let new = target.indexes.iter();
    let new = new.filter(|index| altered.new_indexes.contains(&index.id));
    let mut parts = new.flat_map(|index| &index.parts);
    let needs = parts.any(|part| {
        target
            .columns
            .get(part.column)
            .is_some_and(|column| is_added(&column))
    });
    let added = target.columns.iter().filter(is_added).filter(|_| needs);
    added.map(|column| column.id).collect()
}

impl Record for Job {
    fn format(&self) -> u32 {
        let change = self.change.as_ref();
        let gives_ids = change.is_some_and(|made| {
            let conversion = made.conversion.as_ref();
            conversion.is_some_and(Conversion::is_of_format_6)
        });
        match change {
            _ if gives_ids => 6,
            // Another reader would not remove the columns if it undid the job.
            Some(made) if !made.new_columns.is_empty() => 5,
            // Another reader would not find the indexes that are to be filled, and publish them empty.
            Some(made) if !made.delta_indexes.is_empty() => 4,
            // A reader of format 1 would end the job and leave what has been filled.
            _ if !self.fills.is_empty() => 2,
            _ => change.map_or(1, |made| made.target.format()),
        }
    }
}

impl Job {
    /// The present record of a job, locked until the end of the transaction; `None` after the job has ended.
    pub(crate) fn lock(meta: &mut Meta<'_>, id: i64) -> Result<Option<Self>> {
        meta.lock_value(&keys::job(id), "job")
    }

    pub(crate) fn read(reader: &dyn Reader, id: i64) -> Result<Option<Self>> {
        let stored = reader.get(&keys::job(id))?;
        stored.map(|bytes| decode(&bytes, "job")).transpose()
    }

    pub(crate) fn read_all(reader: &dyn Reader) -> Result<Vec<Self>> {
        read_all(reader, &keys::jobs(), "job")
    }

    pub(crate) fn put(&self, meta: &mut Meta<'_>) -> Result<()> {
        meta.put(keys::job(self.id), self)
    }

    pub(crate) fn delete(&self, meta: &mut Meta<'_>) -> Result<()> {
        meta.delete(keys::job(self.id))?;
        meta.delete(keys::job_progress(self.id))
    }

    /// A job for a statement, without tables yet.
    pub(crate) fn of(about: &About) -> Self {
        Self {
            about: about.clone(),
            ..Self::default()
        }
    }

    /// The job with a new id. Rewritten rows are stored under this id, too, unless they have partitions.
    pub(crate) fn with_id(mut self, meta: &mut Meta<'_>) -> Result<Self> {
        self.id = meta.next_id()?;
        if let Some(made) = &mut self.change
            && let Some(conversion) = &mut made.conversion
        {
            conversion.place_handles(self.id);
            made.target.place_rewritten(self.id, || meta.next_id())?;
        }
        Ok(self)
    }

    /// The tables that it changes.
    pub(crate) fn tables(&self) -> Vec<i64> {
        match &self.change {
            // The job was stored by a release that did not support several nodes.
            Some(change) if self.tables.is_empty() => vec![change.table],
            _ => self.tables.clone(),
        }
    }

    /// Closes its tables from the next version on. Those that are closed to writers stay so: a transaction that the table
    /// waits for could write it otherwise.
    pub(crate) fn close(&mut self) {
        match &self.lock {
            Some(lock) => {
                let all = self.tables().into_iter();
                (self.read_only, self.frozen) = all.partition(|table| lock.shares(*table));
            }
            None => self.frozen = self.tables(),
        }
    }

    /// Closes its tables to writers from the next version on.
    pub(crate) fn stop_writers(&mut self) {
        self.read_only = self.tables();
    }

    /// Takes back [`Job::close`].
    pub(crate) fn open(&mut self) {
        self.frozen.clear();
        if self.lock.is_some() {
            self.read_only.clear();
        }
    }

    /// Takes back [`Job::stop_writers`].
    pub(crate) fn admit_writers(&mut self) {
        self.read_only.clear();
    }

    /// Whether only one of two jobs can have its tables.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        let own: HashSet<i64> = self.tables().into_iter().collect();
        let are_shared = |table: i64| {
            let locks = [&self.lock, &other.lock];
            locks
                .into_iter()
                .all(|lock| lock.as_ref().is_some_and(|lock| lock.shares(table)))
        };
        let others = other.tables().into_iter();
        others
            .filter(|table| own.contains(table))
            .any(|table| !are_shared(table))
    }

    /// Whether a job that no process works on is continued. Otherwise it is undone.
    pub(crate) fn can_go_on(&self, store: &Store) -> bool {
        // A release without deltas has stored it, or the data were copied here from another kind of store: which of
        // the entries are old is not known.
        let fits = |made: &TableChange| made.sorts(store) != made.delta_indexes.is_empty();
        let change = self.change.as_ref();
        !self.cancelled && change.is_some_and(|made| made.online && fits(made))
    }
}

/// # Errors
/// 8214 if it is cancelled.
pub(crate) fn check_not_cancelled(job: &Job) -> Result<()> {
    if job.cancelled {
        return Err(Error::new(ER_CANCELLED_DDL_JOB, "Cancelled DDL job"));
    }
    Ok(())
}

pub(crate) fn no_such_job(id: i64) -> Error {
    Error::new(ER_DDL_JOB_NOT_FOUND, format!("DDL Job:{id} not found"))
}

/// Whether repeating a backfill would give the error again: MySQL's own errors, which are caused by rows and
/// definitions, but not those of waits, crashes and full disks.
pub(crate) fn is_final(code: u16) -> bool {
    let may_pass = matches!(
        code,
        errno::ER_UNKNOWN_ERROR
            | errno::ER_LOCK_WAIT_TIMEOUT
            | errno::ER_LOCK_DEADLOCK
            | errno::ER_QUERY_INTERRUPTED
            | ER_DISK_FULL
            | ER_GET_ERRNO
            | errno::ER_RECORD_FILE_FULL
    );
    code == ER_CANCELLED_DDL_JOB || (1000..8000).contains(&code) && !may_pass
}
