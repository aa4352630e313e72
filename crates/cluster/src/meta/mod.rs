//! What is stored under `m` keys: definitions, nodes, accounts, settings, schema changes and counters.
//!
//! [`Meta`] changes them within one transaction. The keys are in [`keys`]. Values are JSON with a format
//! number ([`record`]); counters are decimal text, as in TiDB.

pub mod keys;
pub mod record;

use std::ops::ControlFlow;
use std::time::Duration;

use kv::{LockOptions, Reader, Store, Transaction, TxnOptions};
use record::{Record, decode, encode};
use serde::de::DeserializeOwned;
use types::{Error, Result};

/// Ids up to this one are reserved for the server.
const FIRST_ID: i64 = 100;
/// How long to wait for another node's change of the same key.
const LOCK_WAIT: Duration = Duration::from_secs(50);

/// How long the locks of a crashed server stay in a shared store. It is shorter than a lease, so that a node
/// that takes over the crashed server's work finds nothing locked.
const LOCK_TTL: Duration = Duration::from_secs(6);

/// Reads and changes within one transaction.
pub struct Meta<'a> {
    txn: &'a mut Transaction,
}

impl<'a> Meta<'a> {
    pub fn new(txn: &'a mut Transaction) -> Self {
        Self { txn }
    }

    /// Begins a transaction for changes.
    ///
    /// # Errors
    /// Those of the store, as of all methods here.
    pub fn begin(store: &Store) -> Result<Transaction> {
        let options = TxnOptions {
            lock_ttl: Some(LOCK_TTL),
            ..TxnOptions::default()
        };
        Ok(store.begin(options)?)
    }

    /// The newest committed state with this transaction's own changes.
    pub fn reader(&self) -> impl Reader + '_ {
        self.txn.current()
    }

    /// Locks a key until the end of the transaction and reads its newest value.
    fn lock(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let answers = self
            .txn
            .lock(&[key.to_vec()], &LockOptions::exclusive(LOCK_WAIT))?;
        Ok(answers.into_iter().next().and_then(kv::Locked::into_value))
    }

    /// Locks a value until the end of the transaction and reads it. `what` names it in errors.
    pub fn lock_value<T: DeserializeOwned>(&mut self, key: &[u8], what: &str) -> Result<Option<T>> {
        let stored = self.lock(key)?;
        stored.map(|bytes| decode(&bytes, what)).transpose()
    }

    pub fn put<T: Record>(&mut self, key: Vec<u8>, value: &T) -> Result<()> {
        Ok(self.txn.put(key, encode(value)?)?)
    }

    pub fn delete(&mut self, key: Vec<u8>) -> Result<()> {
        Ok(self.txn.delete(key)?)
    }

    /// Permits the transaction to use the disk space that is reserved for changes that free space.
    pub fn use_reserve(&mut self) {
        self.txn.use_reserve();
    }

    /// Locks the stored schema version until the end of the transaction and reads it; 0 in an empty store.
    pub fn lock_schema_version(&mut self) -> Result<u64> {
        let stored = self.lock(&keys::schema_version())?;
        decode_counter(stored.as_deref(), "schema version")
    }

    pub fn put_schema_version(&mut self, version: u64) -> Result<()> {
        self.put_counter(keys::schema_version(), version)
    }

    /// A new id for a database, a table, a job or a node. No id is given twice.
    pub fn next_id(&mut self) -> Result<i64> {
        let key = keys::next_id();
        let stored = self.lock(&key)?;
        let last = decode_counter(stored.as_deref(), "id counter")?.max(FIRST_ID as u64);
        let id = last + 1;
        self.put_counter(key, id)?;
        i64::try_from(id).map_err(|_| Error::internal("ids are used up"))
    }

    /// Gives a watched key a value that it never had. It takes no lock: if several transactions do so at the
    /// same time, the last commit decides the value, and each watcher sees a new one.
    pub fn put_new_version(&mut self, key: Vec<u8>) -> Result<()> {
        let version = self.txn.start_ts();
        self.put_counter(key, version)
    }

    /// Locks and reads a counter.
    pub fn lock_counter(&mut self, key: &[u8]) -> Result<Option<u64>> {
        match self.lock(key)? {
            None => Ok(None),
            stored => decode_counter(stored.as_deref(), "counter").map(Some),
        }
    }

    pub fn read_counter(&self, key: &[u8]) -> Result<Option<u64>> {
        read_counter(&self.reader(), key)
    }

    pub fn put_counter(&mut self, key: Vec<u8>, value: u64) -> Result<()> {
        Ok(self.txn.put(key, value.to_string().into_bytes())?)
    }
}

/// Reads all values of a range, in the order of their keys. `what` names them in errors.
///
/// # Errors
/// 1105 for a value that is damaged or of another format; those of the store.
pub fn read_all<T: DeserializeOwned>(
    reader: &dyn Reader,
    range: &kv::KeyRange,
    what: &str,
) -> Result<Vec<T>> {
    let mut values = Vec::new();
    let mut failure = None;
    reader.scan(range, false, &mut |_, value| match decode(value, what) {
        Ok(value) => {
            values.push(value);
            ControlFlow::Continue(())
        }
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failure.map_or(Ok(values), Err)
}

/// Reads a counter without a lock.
///
/// # Errors
/// 1105 for one that is no number; those of the store.
pub fn read_counter(reader: &dyn Reader, key: &[u8]) -> Result<Option<u64>> {
    match reader.get(key)? {
        None => Ok(None),
        Some(bytes) => decode_counter(Some(&bytes), "counter").map(Some),
    }
}

pub(crate) fn decode_counter(stored: Option<&[u8]>, what: &str) -> Result<u64> {
    let Some(bytes) = stored else { return Ok(0) };
    std::str::from_utf8(bytes)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| {
            Error::internal(format!(
                "the stored {what} is damaged: {:?}",
                String::from_utf8_lossy(bytes)
            ))
        })
}
