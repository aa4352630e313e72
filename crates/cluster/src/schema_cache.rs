//! The definitions that this process uses: one immutable [`Schema`], replaced as a whole by the next version.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use kv::Reader;
use parking_lot::RwLock;
use schema::model::{Database, Schema, Table};
use serde::Deserialize;
use serde::de::IgnoredAny;
use types::{Error, Result};

use crate::meta::record::DatabaseRecord;
use crate::meta::{keys, read_all, read_counter};
use crate::metadata_lock::ClosedTo;

type OnChange = Box<dyn Fn(i64) + Send + Sync>;

/// The installed schema version.
pub(crate) struct SchemaCache {
    /// The databases that the server itself provides (`information_schema` and others). They are part of
    /// every version and are not stored.
    system: Vec<Arc<Database>>,
    current: ArcSwap<Schema>,
    /// The version of `current`, readable without touching its reference count.
    version: AtomicU64,
    observers: RwLock<Vec<OnChange>>,
}

impl SchemaCache {
    /// With nothing installed.
    pub(crate) fn new(system: Vec<Arc<Database>>) -> Self {
        Self {
            system,
            current: ArcSwap::default(),
            version: AtomicU64::new(0),
            observers: RwLock::default(),
        }
    }

    pub(crate) fn current(&self) -> Arc<Schema> {
        self.current.load_full()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn install(&self, schema: Schema) {
        let version = schema.version;
        self.current.store(Arc::new(schema));
        self.version.store(version, Ordering::Release);
    }

    /// Registers a callback for [`SchemaCache::table_changed`].
    pub(crate) fn observe(&self, on_change: OnChange) {
        self.observers.write().push(on_change);
    }

    /// What is cached about a table is no longer valid: it has been changed or dropped.
    pub(crate) fn table_changed(&self, id: i64) {
        for on_change in &*self.observers.read() {
            on_change(id);
        }
    }

    /// Reads every definition at one moment. Definitions that no version of this program writes are refused.
    pub(crate) fn read(&self, reader: &dyn Reader) -> Result<Schema> {
        let version = read_counter(reader, &keys::schema_version())?.unwrap_or(0);
        let system = self.system.iter().map(|d| (d.name.clone(), Arc::clone(d)));
        let mut databases: BTreeMap<String, Arc<Database>> = system.collect();
        let records: Vec<DatabaseRecord> = read_all(reader, &keys::databases(), "database")?;
        for record in records {
            let mut tables = HashMap::new();
            for table in read_all::<Table>(reader, &keys::tables(record.id), "table")? {
                table.check().map_err(|problem| {
                    Error::internal(format!(
                        "the stored definition of table {}.{} is damaged: {problem}",
                        record.name, table.name
                    ))
                })?;
                tables.insert(table.name.clone(), Arc::new(table));
            }
            let database = Database {
                id: record.id,
                name: record.name,
                collation: record.collation,
                tables,
            };
            databases.insert(database.name.clone(), Arc::new(database));
        }
        Ok(Schema::new(version, databases))
    }
}

/// What a stored schema change says to the nodes that follow it; the rest of the record is read by `ddl`.
#[derive(Deserialize)]
struct StoredJob {
    #[serde(default)]
    frozen: Vec<i64>,
    #[serde(default)]
    read_only: Vec<i64>,
    /// It is a session's LOCK TABLES, which waits for nobody any more.
    #[serde(default)]
    lock: Option<IgnoredAny>,
}

/// A table, and whom it is closed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Closing {
    pub(crate) table: i64,
    pub(crate) to: ClosedTo,
}

impl Closing {
    pub(crate) fn to_all(table: i64) -> Self {
        let to = ClosedTo::All;
        Self { table, to }
    }
}

/// Tables that are closed in the stored version, because a schema change is about to publish their next
/// definition or changes their rows, or because a session has locked them by LOCK TABLES.
pub(crate) fn read_frozen(reader: &dyn Reader) -> Result<BTreeSet<Closing>> {
    let jobs: Vec<StoredJob> = read_all(reader, &keys::jobs(), "job")?;
    let closings = jobs.into_iter().flat_map(|job| {
        let to = match job.lock {
            Some(_) => ClosedTo::Writers,
            None => ClosedTo::WritersUntilAlone,
        };
        let all = job.frozen.into_iter().map(Closing::to_all);
        all.chain(job.read_only.into_iter().map(move |table| Closing { table, to }))
    });
    Ok(closings.collect())
}
