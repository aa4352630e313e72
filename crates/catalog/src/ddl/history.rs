//! What ADMIN SHOW DDL JOBS shows: definition statements that run, and the last that are done.

use kv::Durability;
use schema::definition::{AlterChange, Ddl, TableName};
use schema::model::SchemaState;
use serde::{Deserialize, Serialize};
use types::{Error, Result};

use super::job::{Job, Progress, no_such_job};
use crate::Catalog;
use crate::meta::{Meta, keys, read_all};

/// How many statements are remembered.
pub(crate) const HISTORY: u64 = 128;

/// A definition statement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// In TiDB's words.
    pub kind: String,
    pub database: String,
    /// Empty where it concerns a database; the first of several.
    pub table: String,
    /// When the statement began, in microseconds since 1970.
    pub created_us: i64,
}

/// A statement that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PastJob {
    pub id: i64,
    pub about: About,
    pub database_id: i64,
    pub table_id: i64,
    pub rows: u64,
    /// Microseconds since 1970.
    pub ended_us: i64,
}

/// A row of ADMIN SHOW DDL JOBS. Times in microseconds since 1970.
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

impl About {
    pub(super) fn of(ddl: &Ddl, created_us: i64) -> Self {
        let about = |kind: &str, database: &str, table: &str| Self {
            kind: kind.to_owned(),
            database: database.to_owned(),
            table: table.to_owned(),
            created_us,
        };
        let of_table = |kind: &str, name: &TableName| about(kind, &name.database, &name.name);
        let of_first = |kind: &str, names: Option<&TableName>| match names {
            Some(name) => of_table(kind, name),
            None => about(kind, "", ""),
        };
        match ddl {
            Ddl::CreateDatabase { name, .. } => about("create schema", name, ""),
            Ddl::AlterDatabase { name, .. } => about("modify schema charset and collate", name, ""),
            Ddl::DropDatabase { name, .. } => about("drop schema", name, ""),
            Ddl::CreateTable { name, .. } | Ddl::CreateTableLike { name, .. } => {
                of_table("create table", name)
            }
            Ddl::DropTable { names, .. } => of_first("drop table", names.first()),
            Ddl::TruncateTable { name } => of_table("truncate table", name),
            Ddl::RenameTable { renames } => {
                let kind = if renames.len() > 1 {
                    "rename tables"
                } else {
                    "rename table"
                };
                of_first(kind, renames.first().map(|(from, _)| from))
            }
            Ddl::AlterTable { name, changes, .. } => of_table(kind_of(changes), name),
        }
    }
}

fn kind_of(changes: &[AlterChange]) -> &'static str {
    let [change] = changes else {
        return "alter table multi-schema change";
    };
    match change {
        AlterChange::AddColumn { .. } => "add column",
        AlterChange::DropColumn { .. } => "drop column",
        AlterChange::AddIndex { .. } => "add index",
        AlterChange::DropIndex { .. } => "drop index",
        AlterChange::RenameIndex { .. } => "rename index",
        AlterChange::ModifyColumn { .. } | AlterChange::RenameColumn { .. } => "modify column",
        AlterChange::RenameTable { .. } => "rename table",
        AlterChange::SetDefault { .. } => "set default value",
        AlterChange::AutoIncrement(_) => "rebase auto_increment ID",
        AlterChange::AutoRandomBase(_) => "rebase auto_random ID",
        AlterChange::ShardRowIdBits(_) => "shard row ID",
        AlterChange::Comment(_) => "modify table comment",
        AlterChange::DefaultCollation(_) => "modify table charset and collate",
    }
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

impl Catalog {
    /// The definition statements that run, of all nodes, and the last that are done, at most `past` of these; the newest
    /// first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn ddl_jobs(&self, past: usize) -> Result<Vec<DdlJob>> {
        let seen = self.store().snapshot_now()?;
        let schema = self.schema();
        let mut jobs: Vec<Job> = read_all(&seen, &keys::jobs(), "job")?;
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

    /// ADMIN CANCEL DDL JOBS of one job: whoever works on it stops, and undoes it.
    ///
    /// # Errors
    /// 8224 when there is no such job, or it is done; those of the store.
    pub fn cancel_ddl_job(&self, id: i64) -> Result<()> {
        let mut txn = Meta::begin(self.store())?;
        let mut meta = Meta::new(&mut txn);
        let mut job = meta.lock_job(id)?.ok_or_else(|| no_such_job(id))?;
        job.cancelled = true;
        meta.put_job(&job)?;
        txn.commit(Durability::Sync).map_err(Error::from)?;
        Ok(())
    }
}
