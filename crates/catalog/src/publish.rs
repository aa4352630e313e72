//! Publishing: a change of definitions becomes stored and visible, in one transaction, as the next schema version.
//!
//! The stored version is locked first, so changes of all nodes are in one line; a node that has missed one reads the
//! schema again and says 8028, for the statement to be run again.

use std::sync::Arc;

use kv::{Durability, KeyRange, Timestamp, TxnOptions};
use types::{Error, Result, errno};

use crate::Catalog;
use crate::gc_queue::Garbage;
use crate::meta::record::DatabaseRecord;
use crate::meta::{Meta, keys};
use crate::model::{Database, Schema, Table};

/// A change in the making: the schema after it, and the transaction that stores it.
pub(crate) struct Change<'a> {
    pub(crate) schema: Schema,
    pub(crate) meta: Meta<'a>,
    /// Snapshots at or below this moment are older than the change.
    pub(crate) ts: Timestamp,
    /// Tables that are gone afterwards.
    gone: Vec<i64>,
    /// Tables whose id counter is set by this change.
    recounted: Vec<i64>,
}

/// What a change comes to.
pub(crate) enum Outcome<T> {
    Done(T),
    /// Nothing to do after all: nothing is stored, the version stays.
    Nothing(T),
}

impl Catalog {
    /// Makes one change. Where it concerns tables that exist, the caller holds their exclusive metadata locks.
    pub(crate) fn publish<T>(&self, make: impl FnOnce(&mut Change<'_>) -> Result<Outcome<T>>) -> Result<T> {
        let _one_at_a_time = self.lock_publishing();
        let base = self.schema();
        let mut txn = self.store().begin(TxnOptions::default())?;
        let mut meta = Meta::new(&mut txn);
        if meta.lock_schema_version()? != base.version {
            drop(txn);
            self.reload()?;
            return Err(Error::new(
                errno::ER_SCHEMA_CHANGED,
                "Information schema is changed during the execution of the statement. [try again later]",
            ));
        }
        let mut schema = Schema::clone(&base);
        schema.version += 1;
        let mut change = Change {
            schema,
            meta,
            ts: self.store().current_ts()?,
            gone: Vec::new(),
            recounted: Vec::new(),
        };
        let result = match make(&mut change)? {
            Outcome::Done(result) => result,
            Outcome::Nothing(result) => return Ok(result),
        };
        let Change {
            schema,
            mut meta,
            gone,
            recounted,
            ..
        } = change;
        meta.put_schema_version(schema.version)?;
        txn.commit(Durability::Sync)?;
        self.set_schema(schema);
        for table in gone {
            self.counters.forget(table);
            self.statistics.forget(table);
            self.locks().forget(table);
        }
        for table in recounted {
            self.counters.forget(table);
        }
        Ok(result)
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
        let database = self.database_mut(&table.database)?;
        let id = database.id;
        database
            .tables
            .insert(table.name.clone(), Arc::new(table.clone()));
        self.meta.put_table(id, &table)
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

    fn database_mut(&mut self, name: &str) -> Result<&mut Database> {
        let database = self
            .schema
            .databases
            .get_mut(name)
            .ok_or_else(|| crate::ddl::unknown_database(name))?;
        Ok(Arc::make_mut(database))
    }
}
