//! What the catalog stores under `m` keys, and how: one [`Meta`] per key-value transaction.
//!
//! Keys: [`keys`]. Values: JSON with a format number ([`record`]). What a change does to the schema in memory is not
//! here: see [`crate::publish`].

pub(crate) mod keys;
pub(crate) mod record;

use std::ops::ControlFlow;
use std::time::Duration;

use kv::{LockOptions, Reader, Store, Transaction, TxnOptions};
use record::{DatabaseRecord, GlobalRecord, decode, encode};
use schema::model::Table;
use types::{Error, Result};

use crate::accounts::Account;
use crate::ddl::history::PastJob;
use crate::ddl::job::{Job, Progress};
use crate::gc_queue::Garbage;
use crate::mail::Letter;
use crate::nodes::NodeRecord;

/// Ids below it are for the server's own use.
const FIRST_ID: i64 = 100;
/// How long to wait for another node's change of the same key.
const LOCK_WAIT: Duration = Duration::from_secs(50);

/// A server that is killed within a change keeps the others from theirs for so long, where they share the store. It is shorter
/// than a lease, so that whoever takes over its work finds nothing locked.
const LOCK_TTL: Duration = Duration::from_secs(6);

/// Changes of what is stored, within one transaction.
pub(crate) struct Meta<'a> {
    txn: &'a mut Transaction,
}

impl<'a> Meta<'a> {
    pub(crate) fn new(txn: &'a mut Transaction) -> Self {
        Self { txn }
    }

    /// A transaction for changes.
    pub(crate) fn begin(store: &Store) -> Result<Transaction> {
        let options = TxnOptions {
            lock_ttl: Some(LOCK_TTL),
            ..TxnOptions::default()
        };
        Ok(store.begin(options)?)
    }

    /// Locks a key until the end of the transaction and reads its newest value.
    fn lock(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let answers = self
            .txn
            .lock(&[key.to_vec()], &LockOptions::exclusive(LOCK_WAIT))?;
        Ok(answers.into_iter().next().and_then(kv::Locked::into_value))
    }

    /// The stored schema version, which nobody else can change before the end of this transaction.
    pub(crate) fn lock_schema_version(&mut self) -> Result<u64> {
        let stored = self.lock(&keys::schema_version())?;
        decode_counter(stored.as_deref(), "schema version")
    }

    pub(crate) fn put_schema_version(&mut self, version: u64) -> Result<()> {
        Ok(self.txn.put(keys::schema_version(), encode_counter(version))?)
    }

    /// A new id for a database, a table or a job: never given before.
    pub(crate) fn next_id(&mut self) -> Result<i64> {
        let key = keys::next_id();
        let stored = self.lock(&key)?;
        let last = decode_counter(stored.as_deref(), "id counter")?.max(FIRST_ID as u64);
        let id = last + 1;
        self.txn.put(key, encode_counter(id))?;
        i64::try_from(id).map_err(|_| Error::internal("ids are used up"))
    }

    pub(crate) fn put_database(&mut self, database: &DatabaseRecord) -> Result<()> {
        Ok(self.txn.put(keys::database(database.id), encode(database)?)?)
    }

    pub(crate) fn delete_database(&mut self, id: i64) -> Result<()> {
        Ok(self.txn.delete(keys::database(id))?)
    }

    pub(crate) fn put_table(&mut self, database: i64, table: &Table) -> Result<()> {
        Ok(self.txn.put(keys::table(database, table.id), encode(table)?)?)
    }

    pub(crate) fn delete_table(&mut self, database: i64, table: i64) -> Result<()> {
        Ok(self.txn.delete(keys::table(database, table))?)
    }

    /// Whoever leaves something to be destroyed makes room, and must be able to on a full disk.
    pub(crate) fn put_garbage(&mut self, garbage: &Garbage) -> Result<()> {
        self.txn.use_reserve();
        Ok(self.txn.put(keys::garbage(garbage.id), encode(garbage)?)?)
    }

    pub(crate) fn delete_garbage(&mut self, id: i64) -> Result<()> {
        self.txn.use_reserve();
        Ok(self.txn.delete(keys::garbage(id))?)
    }

    pub(crate) fn put_job(&mut self, job: &Job) -> Result<()> {
        Ok(self.txn.put(keys::job(job.id), encode(job)?)?)
    }

    pub(crate) fn delete_job(&mut self, id: i64) -> Result<()> {
        self.txn.delete(keys::job(id))?;
        Ok(self.txn.delete(keys::job_progress(id))?)
    }

    /// A job as it is now, and stays to the end of this transaction; none that is finished or undone.
    pub(crate) fn lock_job(&mut self, id: i64) -> Result<Option<Job>> {
        let stored = self.lock(&keys::job(id))?;
        stored.map(|bytes| decode(&bytes, "job")).transpose()
    }

    pub(crate) fn progress(&self, job: i64) -> Result<Progress> {
        Progress::read(&self.txn.current(), job)
    }

    pub(crate) fn put_progress(&mut self, job: i64, progress: &Progress) -> Result<()> {
        Ok(self.txn.put(keys::job_progress(job), encode(progress)?)?)
    }

    /// All jobs. They stay as they are for whoever has locked the schema version, but for their owners and cancellations.
    pub(crate) fn jobs(&self) -> Result<Vec<Job>> {
        read_all(&self.txn.current(), &keys::jobs(), "job")
    }

    pub(crate) fn put_past_job(&mut self, slot: u64, job: &PastJob) -> Result<()> {
        Ok(self.txn.put(keys::past_job(slot), encode(job)?)?)
    }

    /// A node's record, which stays as it is to the end of this transaction.
    pub(crate) fn lock_node(&mut self, id: i64) -> Result<Option<NodeRecord>> {
        let stored = self.lock(&keys::node(id))?;
        stored.map(|bytes| decode(&bytes, "node")).transpose()
    }

    pub(crate) fn put_node(&mut self, node: &NodeRecord) -> Result<()> {
        Ok(self.txn.put(keys::node(node.id), encode(node)?)?)
    }

    /// Takes a node out, and with it the letters that it has not read.
    pub(crate) fn delete_node(&mut self, id: i64) -> Result<()> {
        let mut mail = vec![keys::mail_version(id)];
        self.txn.current().scan(&keys::mail(id), false, &mut |key, _| {
            mail.push(key.to_vec());
            ControlFlow::Continue(())
        })?;
        for key in mail {
            self.txn.delete(key)?;
        }
        Ok(self.txn.delete(keys::node(id))?)
    }

    /// The number that was given to a node last.
    pub(crate) fn last_node_number(&self) -> Result<u64> {
        Ok(read_counter(&self.txn.current(), &keys::last_node_number())?.unwrap_or(0))
    }

    /// The version of all accounts, which nobody else can change before the end of this transaction.
    pub(crate) fn lock_accounts_version(&mut self) -> Result<u64> {
        let stored = self.lock(&keys::accounts_version())?;
        decode_counter(stored.as_deref(), "version of accounts")
    }

    /// All accounts as they are now.
    pub(crate) fn accounts(&self) -> Result<Vec<Account>> {
        read_all(&self.txn.current(), &keys::accounts(), "account")
    }

    pub(crate) fn put_account(&mut self, account: &Account) -> Result<()> {
        let key = keys::account(&account.user, &account.host);
        Ok(self.txn.put(key, encode(account)?)?)
    }

    pub(crate) fn delete_account(&mut self, user: &str, host: &str) -> Result<()> {
        Ok(self.txn.delete(keys::account(user, host))?)
    }

    pub(crate) fn put_global(&mut self, record: &GlobalRecord) -> Result<()> {
        Ok(self
            .txn
            .put(keys::global_variable(&record.name), encode(record)?)?)
    }

    /// Sends letters to those nodes that are there.
    pub(crate) fn put_letters(&mut self, letters: &[Letter]) -> Result<()> {
        for letter in letters {
            let version = keys::mail_version(letter.to);
            if self.txn.current().get(&version)?.is_some() {
                self.txn.put(letter.key(), encode(letter)?)?;
                self.put_new_version(version)?;
            }
        }
        Ok(())
    }

    /// Gives a key that is watched a value that it never had. Without a lock: of those who do so at the same time, one is
    /// the last.
    pub(crate) fn put_new_version(&mut self, key: Vec<u8>) -> Result<()> {
        let version = self.txn.start_ts();
        self.put_counter(key, version)
    }

    /// Locks and reads one of [`keys`]' counters.
    pub(crate) fn lock_counter(&mut self, key: &[u8]) -> Result<Option<u64>> {
        match self.lock(key)? {
            None => Ok(None),
            stored => decode_counter(stored.as_deref(), "counter").map(Some),
        }
    }

    pub(crate) fn put_counter(&mut self, key: Vec<u8>, value: u64) -> Result<()> {
        Ok(self.txn.put(key, encode_counter(value))?)
    }

    pub(crate) fn delete_counter(&mut self, key: Vec<u8>) -> Result<()> {
        Ok(self.txn.delete(key)?)
    }
}

/// Reads all values of a hash, in the order of their fields.
pub(crate) fn read_all<T: serde::de::DeserializeOwned>(
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

/// Reads a counter without locking it; 0 where there is none.
pub(crate) fn read_counter(reader: &dyn Reader, key: &[u8]) -> Result<Option<u64>> {
    match reader.get(key)? {
        None => Ok(None),
        Some(bytes) => decode_counter(Some(&bytes), "counter").map(Some),
    }
}

/// Counters are decimal text, as TiDB has them.
fn encode_counter(value: u64) -> Vec<u8> {
    value.to_string().into_bytes()
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
