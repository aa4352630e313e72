//! Publishing: a change of definitions becomes stored and visible, in one transaction, as the next schema version.
//!
//! The stored version is locked first, so changes of all nodes are in one line. A node whose own version is an older one
//! makes its change of the stored definitions, once all nodes have them ([`crate::nodes`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Durability, KeyRange, Timestamp};
use schema::model::{Database, Schema, Table};
use types::{Error, Result, errno};

use crate::Catalog;
use crate::catalog::now_us;
use crate::ddl::history::{About, HISTORY, PastJob};
use crate::ddl::shared::ROUND;
use crate::gc_queue::Garbage;
use crate::meta::record::DatabaseRecord;
use crate::meta::{Meta, keys};
use crate::metadata_lock::{Deadline, WaitLimit};

/// How often to look whether the other nodes have followed.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A change in the making: the schema after it, and the transaction that stores it.
pub(crate) struct Change<'a> {
    pub(crate) schema: Schema,
    pub(crate) meta: Meta<'a>,
    /// Snapshots at or below this moment are older than the change.
    pub(crate) ts: Timestamp,
    /// The job that ends with this change, and how many rows it has filled in.
    pub(crate) ends: Option<(i64, u64)>,
    /// Tables that are gone afterwards.
    gone: Vec<i64>,
    /// Tables whose id counter is set by this change.
    recounted: Vec<i64>,
}

/// What a change comes to.
pub(crate) enum Outcome<T> {
    Done(T),
    /// Something is stored that defines nothing: the version stays.
    Stored(T),
    /// Nothing to do after all: nothing is stored, the version stays.
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

/// Which nodes must have the version before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// All that live: the change is one between neighbours.
    AllNodes,
    /// None: the change takes back what a version did that some have not followed, and need not.
    Nobody,
}

impl Catalog {
    /// Makes one change. Where it concerns tables that exist, the caller has them to itself. `about`: the statement that
    /// is done with it, to be remembered.
    ///
    /// # Errors
    /// What `make` fails with. Where several processes share the store also 1205 when the others do not follow in time,
    /// and 1317.
    pub(crate) fn publish<T>(
        &self,
        limit: &WaitLimit,
        needs: Needs,
        about: Option<&About>,
        make: impl FnOnce(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        let _one_at_a_time = self.membership.is_none().then(|| self.lock_publishing());
        let deadline = Deadline::new(limit);
        loop {
            let mut txn = Meta::begin(self.store())?;
            let mut meta = Meta::new(&mut txn);
            let stored = meta.lock_schema_version()?;
            if needs == Needs::AllNodes && !self.have_all_nodes(stored, &mut meta)? {
                drop(txn);
                let until = Instant::now() + ROUND;
                self.wait_for_nodes(stored, None, &deadline, Some(until))?;
                continue;
            }
            let base = self.schema_at(stored)?;
            let mut change = Change {
                schema: Schema::clone(&base),
                meta,
                ts: self.store().current_ts()?,
                ends: None,
                gone: Vec::new(),
                recounted: Vec::new(),
            };
            change.schema.version += 1;
            let result = match make(&mut change)? {
                Outcome::Done(result) => result,
                Outcome::Nothing(result) => return Ok(result),
                Outcome::Stored(result) => {
                    txn.commit(Durability::Sync)?;
                    return Ok(result);
                }
            };
            change.meta.put_schema_version(change.schema.version)?;
            if let Some(about) = about {
                change.remember(&base, about)?;
            }
            let Change {
                schema,
                gone,
                recounted,
                ..
            } = change;
            txn.commit(Durability::Sync)?;
            self.show(schema, gone, recounted);
            return Ok(result);
        }
    }

    /// The definitions of the stored version, which the caller has locked.
    fn schema_at(&self, stored: u64) -> Result<Arc<Schema>> {
        let installed = self.schema();
        if installed.version == stored {
            return Ok(installed);
        }
        if self.membership.is_some() {
            return Ok(Arc::new(self.read_schema()?));
        }
        self.reload()?;
        Err(Error::new(
            errno::ER_SCHEMA_CHANGED,
            "Information schema is changed during the execution of the statement. [try again later]",
        ))
    }

    /// Shows a change that is stored. One of several nodes does so as all of them do, by following.
    fn show(&self, schema: Schema, gone: Vec<i64>, recounted: Vec<i64>) {
        if self.membership.is_some() {
            // The change is made. If the store cannot be asked now, it is with the next look.
            if let Err(error) = self.follow() {
                tracing::warn!(%error, "a change of definitions is not seen here yet");
            }
            return;
        }
        self.set_schema(schema);
        for table in gone {
            self.counters.forget(table);
            self.statistics.forget(table);
            self.locks().forget(table);
        }
        for table in recounted {
            self.counters.forget(table);
        }
    }
}

impl Change<'_> {
    /// A database by name; 1049 where there is none.
    pub(crate) fn database(&self, name: &str) -> Result<&Arc<Database>> {
        self.schema.require_database(name)
    }

    /// A table by name; 1049 or 1146 where there is none.
    pub(crate) fn table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        self.schema.require_table(database, name).cloned()
    }

    /// Creates or replaces a database's own definition.
    pub(crate) fn put_database(&mut self, database: Database) -> Result<()> {
        self.meta.put_database(&DatabaseRecord {
            id: database.id,
            name: database.name.clone(),
            collation: database.collation,
        })?;
        self.schema
            .databases
            .insert(database.name.clone(), Arc::new(database));
        Ok(())
    }

    /// Removes a database and everything in it.
    pub(crate) fn drop_database(&mut self, name: &str) -> Result<()> {
        let database = Arc::clone(self.database(name)?);
        for table in database.tables.values() {
            self.drop_table(table)?;
        }
        self.meta.delete_database(database.id)?;
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
        self.meta.put_table(id, table)
    }

    /// Takes a table out of its database; what it holds stays, for it to be put elsewhere.
    pub(crate) fn detach_table(&mut self, table: &Table) -> Result<()> {
        let database = self.database_mut(&table.database)?;
        let id = database.id;
        database.tables.remove(&table.name);
        self.meta.delete_table(id, table.id)
    }

    /// Removes a table for good.
    pub(crate) fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.detach_table(table)?;
        self.meta.delete_counter(keys::auto_increment(table.id))?;
        self.meta.delete_counter(keys::row_id(table.id))?;
        self.gone.push(table.id);
        self.discard(vec![KeyRange::prefix(codec::key::table_prefix(table.id))])
    }

    /// Sets the next AUTO_INCREMENT value of a table.
    pub(crate) fn set_auto_increment(&mut self, table: i64, next: u64) -> Result<()> {
        self.recounted.push(table);
        self.meta.put_counter(keys::auto_increment(table), next)
    }

    /// Has ranges destroyed once no snapshot can read them any more.
    pub(crate) fn discard(&mut self, ranges: Vec<KeyRange>) -> Result<()> {
        if ranges.is_empty() {
            return Ok(());
        }
        let id = self.meta.next_id()?;
        self.meta.put_garbage(&Garbage {
            id,
            dropped_ts: self.ts,
            ranges: ranges.into_iter().map(|r| (r.start, r.end)).collect(),
        })
    }

    /// Puts the statement into the history.
    fn remember(&mut self, before: &Schema, about: &About) -> Result<()> {
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
        self.meta.put_past_job(self.schema.version % HISTORY, &past)
    }

    fn database_mut(&mut self, name: &str) -> Result<&mut Database> {
        let database = self
            .schema
            .databases
            .get_mut(name)
            .ok_or_else(|| crate::ddl::unknown_database(name))?;
        Ok(Arc::make_mut(database))
    }
}
