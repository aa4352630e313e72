//! ADMIN SHOW DDL JOBS and ADMIN CANCEL DDL JOBS: definition statements that run, and those that finished
//! last.

use cluster::Cluster;
use cluster::meta::{Meta, keys, read_all};
use kv::{Durability, Store};
use schema::model::SchemaState;
use types::Result;

use crate::about::PastJob;
use crate::job::{Job, Progress, no_such_job};

/// A row of ADMIN SHOW DDL JOBS. Times are in microseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct DdlJob {
    pub id: i64,
    pub database: String,
    pub table: String,
    pub kind: String,
    pub schema_state: &'static str,
    pub database_id: i64,
    pub table_id: i64,
    pub rows: u64,
    pub created_us: i64,
    pub ended_us: Option<i64>,
    pub state: &'static str,
}

impl DdlJob {
    fn running(job: Job, database_id: i64, rows: u64) -> Self {
        let made = job.change.as_ref();
        let schema_state = match made.and_then(|made| made.state) {
            None => "none",
            Some(SchemaState::DeleteOnly) => "delete only",
            Some(SchemaState::WriteOnly) if rows > 0 => "write reorganization",
            Some(SchemaState::WriteOnly) => "write only",
            Some(SchemaState::Public) => "public",
        };
        let table_id = job.tables().first().copied().unwrap_or(0);
        Self {
            id: job.id,
            database: job.about.database,
            table: job.about.table,
            kind: job.about.kind,
            schema_state,
            database_id,
            table_id,
            rows,
            created_us: job.about.created_us,
            ended_us: None,
            state: if job.cancelled { "cancelling" } else { "running" },
        }
    }

    fn past(job: PastJob) -> Self {
        let is_dropped = job.about.kind.starts_with("drop");
        Self {
            id: job.id,
            database: job.about.database,
            table: job.about.table,
            kind: job.about.kind,
            schema_state: if is_dropped { "none" } else { "public" },
            database_id: job.database_id,
            table_id: job.table_id,
            rows: job.rows,
            created_us: job.about.created_us,
            ended_us: Some(job.ended_us),
            state: "synced",
        }
    }
}

/// The running definition statements of all nodes, and at most `past` finished ones, the newest first.
///
/// # Errors
/// Those of the store.
pub(crate) fn list(cluster: &Cluster, past: usize) -> Result<Vec<DdlJob>> {
    let seen = cluster.store().snapshot_now()?;
    let schema = cluster.schema();
    let mut jobs = Job::read_all(&seen)?;
    jobs.retain(|job| job.lock.is_none());
    jobs.sort_by_key(|job| -job.id);
    let mut rows = Vec::new();
    for job in jobs {
        let filled = Progress::read(&seen, job.id)?.rows;
        let database_id = schema.database(&job.about.database).map_or(0, |d| d.id);
        rows.push(DdlJob::running(job, database_id, filled));
    }
    let mut done: Vec<PastJob> = read_all(&seen, &keys::past_jobs(), "past job")?;
    done.sort_by_key(|job| (-job.ended_us, -job.id));
    rows.extend(done.into_iter().take(past).map(DdlJob::past));
    Ok(rows)
}

/// Cancels one job: the node that works on it stops and undoes it.
///
/// # Errors
/// 8224 if there is no such job, or it has finished; those of the store.
pub(crate) fn cancel(store: &Store, id: i64) -> Result<()> {
    let mut txn = Meta::begin(store)?;
    let mut meta = Meta::new(&mut txn);
    // A session's LOCK TABLES is no definition statement; KILL ends it.
    let stored = Job::lock(&mut meta, id)?.filter(|job| job.lock.is_none());
    let mut job = stored.ok_or_else(|| no_such_job(id))?;
    job.cancelled = true;
    job.put(&mut meta)?;
    txn.commit(Durability::Sync)?;
    Ok(())
}
