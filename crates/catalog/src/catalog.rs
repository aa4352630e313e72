//! The catalog itself: one per server process, shared by all sessions.
//!
//! Readers take [`Catalog::schema`], which never changes under them. Changes go through [`crate::publish`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use kv::{Durability, Reader, Store};
use parking_lot::{Mutex, MutexGuard};
use schema::model::{Database, Schema, Table};
use types::{Error, Result};

use crate::accounts::{Account, Accounts, CACHING_SHA2_PASSWORD, Privileges};
use crate::auto_increment::Counters;
use crate::background::Background;
use crate::ddl::job::PendingJob;
use crate::ddl::shared::LocalJobs;
use crate::mail::Mailbox;
use crate::meta::record::DatabaseRecord;
use crate::meta::{Meta, keys, read_all, read_counter};
use crate::metadata_lock::MetadataLocks;
use crate::nodes::Membership;
use crate::statistics::Statistics;
use crate::system;

/// Schemas, accounts, counters and metadata locks of one process.
pub struct Catalog {
    store: Store,
    schema: ArcSwap<Schema>,
    /// `schema`'s version, readable without touching its reference count.
    version: AtomicU64,
    locks: Arc<MetadataLocks>,
    publishing: Mutex<()>,
    accounts: ArcSwap<Accounts>,
    accounts_changing: Mutex<()>,
    pub(crate) passwords_required: AtomicBool,
    pub(crate) counters: Counters,
    pub(crate) statistics: Statistics,
    /// Schema changes that a crash or a failure left half done.
    pub(crate) pending_jobs: Mutex<Vec<PendingJob>>,
    pub(crate) background: Mutex<Option<Background>>,
    pub(crate) local_jobs: LocalJobs,
    /// Where other processes may use the same store.
    pub(crate) membership: Option<Membership>,
    pub(crate) mailbox: Mailbox,
}

impl Catalog {
    /// Reads the catalog of a store, and makes it first in an empty store: with `root@localhost`, who has no password. No
    /// other process may use the store meanwhile; where one may, [`Catalog::join`].
    ///
    /// # Errors
    /// 1105 with what is damaged when stored metadata make no sense; those of the store.
    pub fn open(store: Store) -> Result<Arc<Self>> {
        bootstrap(&store)?;
        let snapshot = store.snapshot_now()?;
        let catalog = Self::with(store, load_schema(&snapshot)?, None)?;
        catalog.adopt_jobs(&snapshot)?;
        Ok(catalog)
    }

    pub(crate) fn with(store: Store, schema: Schema, membership: Option<Membership>) -> Result<Arc<Self>> {
        let accounts: Vec<Account> = read_all(&store.latest(), &keys::accounts(), "account")?;
        Ok(Arc::new(Self {
            store,
            version: AtomicU64::new(schema.version),
            schema: ArcSwap::from_pointee(schema),
            locks: Arc::default(),
            publishing: Mutex::default(),
            accounts: ArcSwap::from_pointee(Accounts::new(accounts)),
            accounts_changing: Mutex::default(),
            passwords_required: AtomicBool::new(false),
            counters: Counters::default(),
            statistics: Statistics::default(),
            pending_jobs: Mutex::default(),
            background: Mutex::default(),
            local_jobs: LocalJobs::default(),
            mailbox: Mailbox::default(),
            membership,
        }))
    }

    /// Everything that is defined, at one version. Cheap; it never changes.
    pub fn schema(&self) -> Arc<Schema> {
        self.schema.load_full()
    }

    /// The version of [`Catalog::schema`]: one atomic load.
    pub fn schema_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// For [`crate::metadata_lock::TransactionLocks::new`].
    pub fn metadata_locks(&self) -> Arc<MetadataLocks> {
        Arc::clone(&self.locks)
    }

    pub(crate) fn locks(&self) -> &MetadataLocks {
        &self.locks
    }

    pub(crate) fn lock_publishing(&self) -> MutexGuard<'_, ()> {
        self.publishing.lock()
    }

    pub(crate) fn accounts_cell(&self) -> &ArcSwap<Accounts> {
        &self.accounts
    }

    /// Reads the accounts again: another node has changed them.
    pub(crate) fn reload_accounts(&self) -> Result<()> {
        let _one_at_a_time = self.lock_accounts();
        let accounts: Vec<Account> = read_all(&self.store.latest(), &keys::accounts(), "account")?;
        self.accounts.store(Arc::new(Accounts::new(accounts)));
        Ok(())
    }

    pub(crate) fn lock_accounts(&self) -> MutexGuard<'_, ()> {
        self.accounts_changing.lock()
    }

    /// Shows a schema to everybody.
    pub(crate) fn set_schema(&self, schema: Schema) {
        let version = schema.version;
        self.schema.store(Arc::new(schema));
        self.version.store(version, Ordering::Release);
    }

    /// Reads the schema again: a commit's outcome was unknown.
    pub(crate) fn reload(&self) -> Result<()> {
        self.set_schema(self.read_schema()?);
        Ok(())
    }

    /// The definitions as the store has them now.
    pub(crate) fn read_schema(&self) -> Result<Schema> {
        load_schema(&self.store.snapshot_now()?)
    }

    /// Clean shutdown: ends background work, and gives back the ids that were leased and not used, so that none is
    /// missing after a restart. Sessions must have ended.
    ///
    /// # Errors
    /// Those of the store; then some ids may be skipped later, nothing else.
    pub fn close(&self) -> Result<()> {
        self.stop_background();
        self.return_leased_ids()?;
        self.leave()
    }
}

/// Makes what an empty store needs.
pub(crate) fn bootstrap(store: &Store) -> Result<()> {
    let mut txn = Meta::begin(store)?;
    let mut meta = Meta::new(&mut txn);
    if meta.lock_schema_version()? > 0 {
        return Ok(());
    }
    meta.put_schema_version(1)?;
    meta.put_account(&Account {
        user: "root".to_owned(),
        host: "localhost".to_owned(),
        plugin: CACHING_SHA2_PASSWORD.to_owned(),
        authentication: String::new(),
        locked: false,
        password_changed_us: now_us(),
        privileges: Privileges {
            everything: true,
            grant_option: true,
            ..Privileges::default()
        },
    })?;
    txn.commit(Durability::Sync)?;
    Ok(())
}

/// Microseconds since 1970.
pub(crate) fn now_us() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()
        .and_then(|age| i64::try_from(age.as_micros()).ok())
        .unwrap_or(0)
}

/// Reads every definition at one moment, and refuses what no version of this program writes.
pub(crate) fn load_schema(reader: &dyn Reader) -> Result<Schema> {
    let version = read_counter(reader, &keys::schema_version())?.unwrap_or(0);
    let mut databases: BTreeMap<String, Arc<Database>> = system::databases()?
        .into_iter()
        .map(|d| (d.name.clone(), Arc::new(d)))
        .collect();
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
    Ok(Schema { version, databases })
}
