//! A change of definitions in progress: the schema after it, and the transaction that stores it.

use std::sync::Arc;

use cluster::meta::record::DatabaseRecord;
use cluster::meta::{Meta, keys};
use cluster::now_us;
use kv::{KeyRange, Timestamp};
use schema::model::{Database, Schema, Table};
use types::{Error, Result};

use crate::about::{About, HISTORY, PastJob};
use crate::context::unknown_database;
use crate::garbage::Garbage;

/// The result of making a change.
pub(crate) enum Outcome<T> {
    /// Definitions have changed: a new schema version.
    Done(T),
    /// The transaction has changes, but none of a definition: the version stays.
    Stored(T),
    /// There is nothing to store.
    Nothing(T),
}

impl<T> Outcome<T> {
    pub(crate) fn map<U>(self, make: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Done(answer) => Outcome::Done(make(answer)),
            Self::Stored(answer) => Outcome::Stored(make(answer)),
            Self::Nothing(answer) => Outcome::Nothing(make(answer)),
        }
    }
}

pub(crate) struct Change<'a> {
    pub(crate) schema: Schema,
    pub(crate) meta: Meta<'a>,
    /// Snapshots at or below this timestamp are older than the change.
    pub(crate) ts: Timestamp,
    /// The id of the job that this change ends, and how many rows the job has backfilled.
    pub(crate) ends: Option<(i64, u64)>,
    dropped: Vec<i64>,
    /// Tables whose id counters are set by this change.
    recounted: Vec<i64>,
}

/// A change that is stored, but not visible yet.
pub(crate) struct StoredChange {
    pub(crate) schema: Schema,
    pub(crate) dropped: Vec<i64>,
    pub(crate) recounted: Vec<i64>,
}

impl<'a> Change<'a> {
    /// Begins the change from one schema version to the next.
    pub(crate) fn new(base: &Schema, meta: Meta<'a>, ts: Timestamp) -> Self {
        let mut schema = base.clone();
        schema.version += 1;
        Self {
            schema,
            meta,
            ts,
            ends: None,
            dropped: Vec::new(),
            recounted: Vec::new(),
        }
    }

    pub(crate) fn into_stored(self) -> StoredChange {
        StoredChange {
            schema: self.schema,
            dropped: self.dropped,
            recounted: self.recounted,
        }
    }

    /// A database by name; 1049 if there is none.
    pub(crate) fn database(&self, name: &str) -> Result<&Arc<Database>> {
        self.schema.require_database(name)
    }

    /// A table by name; 1049 or 1146 if there is none.
    pub(crate) fn table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.schema.require_table(database, name).cloned()
    }

    /// Creates or replaces a database's own definition.
    pub(crate) fn put_database(&mut self, database: Database) -> Result<()> {
        let record = DatabaseRecord {
            id: database.id,
            name: database.name.clone(),
            collation: database.collation,
        };
        self.meta.put(keys::database(database.id), &record)?;
        self.schema
            .databases
            .insert(database.name.clone(), Arc::new(database));
        Ok(())
    }

    /// Removes a database and all its tables.
    pub(crate) fn drop_database(&mut self, name: &str) -> Result<()> {
        let database = Arc::clone(self.database(name)?);
        for table in database.tables.values() {
            self.drop_table(table)?;
        }
        self.meta.delete(keys::database(database.id))?;
        self.schema.databases.remove(name);
        Ok(())
    }

    /// Stores a table under its name, as created or changed by this change.
    pub(crate) fn put_table(&mut self, mut table: Table) -> Result<()> {
        table.revision = self.schema.version;
        table.check().map_err(|problem| {
            Error::internal(format!("table {}.{}: {problem}", table.database, table.name))
        })?;
        self.put_table_back(&table)
    }

    /// Stores a table as it was before, its revision included.
    pub(crate) fn put_table_back(&mut self, table: &Table) -> Result<()> {
        let database = self.database_mut(&table.database)?;
        let id = database.id;
        database
            .tables
            .insert(table.name.clone(), Arc::new(table.clone()));
        self.meta.put(keys::table(id, table.id), table)
    }

    /// Removes a table from its database. Its rows stay, since the caller stores it under another name.
    pub(crate) fn detach_table(&mut self, table: &Table) -> Result<()> {
        let database = self.database_mut(&table.database)?;
        let id = database.id;
        database.tables.remove(&table.name);
        self.meta.delete(keys::table(id, table.id))
    }

    /// Removes a table and its rows.
    pub(crate) fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.detach_table(table)?;
        if table.view.is_some() {
            self.dropped.push(table.id);
            return Ok(());
        }
        self.meta.delete(keys::auto_increment(table.id))?;
        self.meta.delete(keys::row_id(table.id))?;
        self.meta.delete(keys::table_statistics(table.id))?;
        self.dropped.push(table.id);
        self.discard(ranges(table.data_ranges()))
    }

    /// Sets the next AUTO_INCREMENT value of a table.
    pub(crate) fn set_auto_increment(&mut self, table: i64, next: u64) -> Result<()> {
        self.recounted.push(table);
        self.meta.put_counter(keys::auto_increment(table), next)
    }

    /// Sets the next hidden id of both tables above all ids of the two.
    pub(crate) fn raise_row_ids(&mut self, tables: [i64; 2]) -> Result<()> {
        let mut next = 1;
        for table in tables {
            let stored = self.meta.lock_counter(&keys::row_id(table))?;
            next = next.max(stored.unwrap_or(1));
        }
        for table in tables {
            self.recounted.push(table);
            self.meta.put_counter(keys::row_id(table), next)?;
        }
        Ok(())
    }

    /// Has key ranges destroyed as soon as no snapshot can read them.
    pub(crate) fn discard(&mut self, ranges: Vec<KeyRange>) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        let garbage = Garbage {
            id: self.meta.next_id()?,
            dropped_ts: self.ts,
            ranges: ranges.into_iter().map(|r| (r.start, r.end)).collect(),
        };
        garbage.put(&mut self.meta)
    }

    /// Adds the statement to the history.
    pub(crate) fn record(&mut self, before: &Schema, about: &About) -> Result<()> {
        let (id, rows) = match self.ends {
            Some(job) => job,
            None => (self.meta.next_id()?, 0),
        };
        let of_database = |schema: &Schema| Some(schema.database(&about.database)?.id);
        let of_table = |schema: &Schema| Some(schema.table(&about.database, &about.table)?.id);
        let past = PastJob {
            id,
            about: about.clone(),
            database_id: of_database(before)
                .or_else(|| of_database(&self.schema))
                .unwrap_or(0),
            table_id: of_table(before).or_else(|| of_table(&self.schema)).unwrap_or(0),
            rows,
            ended_us: now_us(),
        };
        self.meta
            .put(keys::past_job(self.schema.version % HISTORY), &past)
    }

    fn database_mut(&mut self, name: &str) -> Result<&mut Database> {
        let database = self
            .schema
            .databases
            .get_mut(name)
            .ok_or_else(|| unknown_database(name))?;
        Ok(Arc::make_mut(database))
    }
}

/// Ranges of a table's data as the store takes them.
pub(crate) fn ranges(ranges: Vec<std::ops::Range<Vec<u8>>>) -> Vec<KeyRange> {
    ranges.into_iter().map(KeyRange::from).collect()
}
