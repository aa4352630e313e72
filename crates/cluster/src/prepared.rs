//! XA transactions (manual 13.3.8): which branches sessions of this process have begun, and the prepared
//! ones, which keep their row locks and metadata locks until they end. A restart reinstates them before
//! anything else uses the store.
//!
//! A prepared branch is stored under `Prepared` ([`crate::meta::keys`]), its writes and locks in parts beside
//! it. Its transaction deletes these keys with its end, whichever that is.
//!
//! Only where one process has the store to itself: a lease ends, and a prepared branch must not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kv::{Durability, Interrupt, Reader, Store, Transaction, TxnOptions};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use crate::TransactionLocks;
use crate::meta::record::Record;
use crate::meta::{Meta, keys, read_all};
use crate::metadata_lock::{MetadataLocks, Use};
use crate::wait::WaitLimit;

/// What the writes of a branch are cut into.
const PART_BYTES: usize = 1 << 20;

/// What identifies a branch of a global transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Xid {
    pub format: u64,
    pub global: Vec<u8>,
    pub branch: Vec<u8>,
}

impl Xid {
    /// Different for each.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.format.to_be_bytes().to_vec();
        bytes.push(u8::try_from(self.global.len()).unwrap_or(u8::MAX));
        bytes.extend(&self.global);
        bytes.extend(&self.branch);
        bytes
    }
}

/// A prepared branch, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct PreparedRecord {
    xid: Xid,
    /// How many parts its writes and locks are stored in.
    parts: u32,
    /// The ids of the tables that it uses, and whether it writes them.
    tables: Vec<(i64, bool)>,
}

impl Record for PreparedRecord {}

/// A branch that waits for its end.
struct Waiting {
    transaction: Transaction,
    parts: u32,
    /// Held until the branch ends.
    _tables: TransactionLocks,
}

/// The branches of a process.
pub struct XaBranches {
    store: Store,
    locks: Arc<MetadataLocks>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those that sessions have begun and not yet prepared.
    active: BTreeSet<Xid>,
    prepared: BTreeMap<Xid, Waiting>,
}

/// A branch that a session has begun. Dropping it frees its xid.
pub struct ActiveBranch {
    branches: Arc<XaBranches>,
    xid: Xid,
}

impl ActiveBranch {
    pub fn xid(&self) -> &Xid {
        &self.xid
    }
}

impl Drop for ActiveBranch {
    fn drop(&mut self) {
        self.branches.state.lock().active.remove(&self.xid);
    }
}

impl XaBranches {
    pub(crate) fn new(store: Store, locks: Arc<MetadataLocks>) -> Self {
        Self {
            store,
            locks,
            state: Mutex::default(),
        }
    }

    /// Loads the prepared branches from the store, with their locks, before anything else uses the store.
    ///
    /// # Errors
    /// 1105 for a record that is damaged; those of the store.
    pub(crate) fn reinstate(&self) -> Result<()> {
        let records: Vec<PreparedRecord> = read_all(
            &self.store.latest(),
            &keys::prepared_branches(),
            "prepared transaction",
        )?;
        for record in records {
            let waiting = self.read(&record)?;
            self.state.lock().prepared.insert(record.xid, waiting);
        }
        Ok(())
    }

    fn read(&self, record: &PreparedRecord) -> Result<Waiting> {
        let xid = record.xid.to_bytes();
        let reader = self.store.latest();
        let mut bytes = Vec::new();
        for part in 0..record.parts {
            let stored = reader.get(&keys::prepared_part(&xid, part))?;
            let stored =
                stored.ok_or_else(|| Error::internal("a part of a prepared transaction is missing"))?;
            bytes.extend(stored);
        }
        let transaction = self.store.reinstate(&bytes, TxnOptions::default())?;
        let mut tables = TransactionLocks::new(Arc::clone(&self.locks));
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: Duration::ZERO,
            interrupt: &interrupt,
        };
        for (table, writes) in &record.tables {
            let what = if *writes { Use::Write } else { Use::Read };
            tables.acquire(*table, what, &limit)?;
        }
        Ok(Waiting {
            transaction,
            parts: record.parts,
            _tables: tables,
        })
    }

    /// XA START.
    ///
    /// # Errors
    /// 1440 for an xid that is in use.
    pub fn begin(self: &Arc<Self>, xid: Xid) -> Result<ActiveBranch> {
        let mut state = self.state.lock();
        if state.prepared.contains_key(&xid) || !state.active.insert(xid.clone()) {
            return Err(Error::new(
                errno::ER_XAER_DUPID,
                "XAER_DUPID: The XID already exists",
            ));
        }
        drop(state);
        Ok(ActiveBranch {
            branches: Arc::clone(self),
            xid,
        })
    }

    /// XA PREPARE: from here on any session may end the branch, after a restart too. `tables`: the metadata
    /// locks of the transaction.
    ///
    /// # Errors
    /// 1235 if servers share the store; those of the store. The branch is rolled back, unless it is unknown
    /// whether it has been stored. Then it counts as prepared, and keeps its locks, until the next start
    /// finds out; the store takes no writes until then.
    pub fn prepare(
        &self,
        branch: ActiveBranch,
        mut transaction: Transaction,
        tables: TransactionLocks,
        durability: Durability,
    ) -> Result<()> {
        let bytes = transaction.prepare().map_err(|error| match error {
            kv::Error::NotPrepared => Error::not_supported(
                "XA PREPARE where servers share a store, or of an optimistic transaction",
                "use XA COMMIT ... ONE PHASE",
            ),
            error => error.into(),
        })?;
        let xid = branch.xid.clone();
        let name = xid.to_bytes();
        let parts = bytes.chunks(PART_BYTES);
        let record = PreparedRecord {
            xid: xid.clone(),
            parts: u32::try_from(parts.len()).map_err(Error::internal)?,
            tables: tables.uses().collect(),
        };
        let mut storing = Meta::begin(&self.store)?;
        for (number, part) in (0..).zip(parts) {
            storing.put(keys::prepared_part(&name, number), part.to_vec())?;
        }
        Meta::new(&mut storing).put(keys::prepared_branch(&name), &record)?;
        let stored = storing.commit(durability);
        match &stored {
            Ok(_) | Err(kv::Error::Undetermined(_)) => {}
            Err(_) => return Ok(stored.map(drop)?),
        }
        let waiting = Waiting {
            transaction,
            parts: record.parts,
            _tables: tables,
        };
        self.state.lock().prepared.insert(xid, waiting);
        Ok(stored.map(drop)?)
    }

    /// XA COMMIT and XA ROLLBACK of a prepared branch.
    ///
    /// # Errors
    /// 1397 for an xid that is not prepared; 1401 if the store fails: then the branch is as it was.
    pub fn end(self: &Arc<Self>, xid: &Xid, commit: bool, durability: Durability) -> Result<()> {
        let (waiting, _in_use) = self.take(xid)?;
        let name = xid.to_bytes();
        let stored = (0..waiting.parts)
            .map(|part| keys::prepared_part(&name, part))
            .chain([keys::prepared_branch(&name)]);
        let ended = waiting.transaction.end_prepared(commit, stored, durability);
        if let Err((error, transaction)) = ended {
            tracing::error!(%error, "a prepared XA transaction was not ended");
            if let Some(transaction) = transaction {
                let waiting = Waiting {
                    transaction: *transaction,
                    ..waiting
                };
                self.state.lock().prepared.insert(xid.clone(), waiting);
            }
            return Err(Error::new(
                errno::ER_XAER_RMERR,
                format!(
                    "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency ({error})"
                ),
            ));
        }
        Ok(())
    }

    /// Takes a prepared branch, whose xid stays in use.
    fn take(self: &Arc<Self>, xid: &Xid) -> Result<(Waiting, ActiveBranch)> {
        let mut state = self.state.lock();
        let Some(waiting) = state.prepared.remove(xid) else {
            return Err(Error::new(errno::ER_XAER_NOTA, "XAER_NOTA: Unknown XID"));
        };
        state.active.insert(xid.clone());
        let in_use = ActiveBranch {
            branches: Arc::clone(self),
            xid: xid.clone(),
        };
        Ok((waiting, in_use))
    }

    /// The prepared branches, for XA RECOVER.
    pub fn prepared(&self) -> Vec<Xid> {
        self.state.lock().prepared.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kv::{EmbeddedOptions, LockOptions};
    use testkit::{Fault, Faults, faulty_memory_store};

    fn branches(store: &Store) -> Arc<XaBranches> {
        Arc::new(XaBranches::new(store.clone(), Arc::default()))
    }

    fn xid(global: &str, branch: &str) -> Xid {
        Xid {
            format: 1,
            global: global.into(),
            branch: branch.into(),
        }
    }

    /// Prepares a branch that writes a key and uses table 7.
    fn prepare(branches: &Arc<XaBranches>, xid: Xid, key: &[u8], value: Vec<u8>) {
        let branch = branches.begin(xid).unwrap();
        let mut txn = branches.store.begin(TxnOptions::default()).unwrap();
        txn.put(key.to_vec(), value).unwrap();
        let mut tables = TransactionLocks::new(Arc::clone(&branches.locks));
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: Duration::ZERO,
            interrupt: &interrupt,
        };
        tables.acquire(7, Use::Write, &limit).unwrap();
        branches.prepare(branch, txn, tables, Durability::Sync).unwrap();
    }

    fn is_locked(store: &Store, key: &[u8]) -> bool {
        let mut txn = store.begin(TxnOptions::default()).unwrap();
        txn.lock(&[key.to_vec()], &LockOptions::exclusive(Duration::ZERO))
            .is_err()
    }

    #[test]
    fn branches_are_reinstated_with_their_locks() {
        let store = Store::memory();
        let first = branches(&store);
        // More than one part, and xids whose parts join to the same text.
        prepare(&first, xid("ab", "c"), b"long", vec![7; 3 * PART_BYTES]);
        prepare(&first, xid("a", "bc"), b"short", b"1".to_vec());
        assert_eq!(
            first.begin(xid("a", "bc")).map(drop).unwrap_err().code,
            errno::ER_XAER_DUPID
        );
        // As if the process had ended.
        drop(first);
        assert!(!is_locked(&store, b"long"));
        let second = branches(&store);
        second.reinstate().unwrap();
        assert_eq!(second.prepared(), [xid("a", "bc"), xid("ab", "c")]);
        assert!(is_locked(&store, b"long") && is_locked(&store, b"short"));
        assert!(
            !second.locks.table(7).is_empty(),
            "no definition changes meanwhile"
        );
        second.end(&xid("ab", "c"), true, Durability::Sync).unwrap();
        second.end(&xid("a", "bc"), false, Durability::Sync).unwrap();
        let now = store.latest();
        assert_eq!(now.get(b"long").unwrap(), Some(vec![7; 3 * PART_BYTES]));
        assert_eq!(now.get(b"short").unwrap(), None);
        assert!(second.locks.table(7).is_empty());
        let error = second.end(&xid("a", "bc"), true, Durability::Sync).unwrap_err();
        assert_eq!(error.code, errno::ER_XAER_NOTA);
        let third = branches(&store);
        third.reinstate().unwrap();
        assert_eq!(third.prepared(), []);
    }

    #[test]
    fn a_branch_whose_end_fails_keeps_its_locks_throughout() {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, EmbeddedOptions::default());
        let branches = branches(&store);
        prepare(&branches, xid("a", ""), b"key", b"1".to_vec());
        let waiting = store.clone();
        let waiter = std::thread::spawn(move || {
            let mut txn = waiting.begin(TxnOptions::default()).unwrap();
            let options = LockOptions::exclusive(Duration::from_secs(600));
            txn.lock_one(b"key", &options)
                .unwrap()
                .map(|value| value.to_vec())
        });
        while store.lock_stats().waiting == 0 {
            std::thread::yield_now();
        }
        for commit in [true, false] {
            faults.next_commit(Fault::Refused(kv::Error::DiskFull(String::new())));
            let failed = branches.end(&xid("a", ""), commit, Durability::Sync);
            assert_eq!(failed.unwrap_err().code, errno::ER_XAER_RMERR);
            assert_eq!(branches.prepared(), [xid("a", "")]);
            assert!(is_locked(&store, b"key"));
            assert!(!branches.locks.table(7).is_empty());
        }
        branches.end(&xid("a", ""), true, Durability::Sync).unwrap();
        assert_eq!(waiter.join().unwrap(), Some(b"1".to_vec()));
    }

    #[test]
    fn a_branch_that_may_be_stored_counts_as_prepared() {
        let faults = Faults::new();
        let store = faulty_memory_store(&faults, EmbeddedOptions::default());
        let branches = branches(&store);
        let begun = |name: &str| {
            let mut txn = store.begin(TxnOptions::default()).unwrap();
            txn.put(name.into(), b"1".to_vec()).unwrap();
            let tables = TransactionLocks::new(Arc::clone(&branches.locks));
            (branches.begin(xid(name, "")).unwrap(), txn, tables)
        };
        let (branch, txn, tables) = begun("refused");
        faults.next_commit(Fault::Refused(kv::Error::DiskFull(String::new())));
        branches
            .prepare(branch, txn, tables, Durability::Sync)
            .unwrap_err();
        assert_eq!(branches.prepared(), []);
        assert!(!is_locked(&store, b"refused"));
        let (branch, txn, tables) = begun("unknown");
        faults.next_commit(Fault::Arrived(kv::Error::DiskFull(String::new())));
        let error = branches
            .prepare(branch, txn, tables, Durability::Sync)
            .unwrap_err();
        assert_eq!(error.code, errno::ER_RESULT_UNDETERMINED);
        assert_eq!(branches.prepared(), [xid("unknown", "")]);
        assert!(is_locked(&store, b"unknown"));
        let error = branches
            .end(&xid("unknown", ""), false, Durability::Sync)
            .unwrap_err();
        assert_eq!(error.code, errno::ER_XAER_RMERR);
        assert!(is_locked(&store, b"unknown"));
    }
}
