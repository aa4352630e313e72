//! Prepared branches of a store that one process has to itself: the process holds their transactions, with
//! their locks. A restart reinstates them before anything else uses the store.
//!
//! A prepared branch is stored under `Prepared` ([`crate::meta::keys`]), its writes and locks in parts beside
//! it. Its transaction deletes these keys with its end, whichever that is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kv::{Durability, Interrupt, Reader, Store, Transaction, TxnOptions};
use parking_lot::Mutex;
use schema::model::Schema;
use serde::{Deserialize, Serialize};
use types::{Error, Result};

use super::{PART_BYTES, PreparedBranches, Preparing, Xid, not_ended, not_prepared, unknown_xid};
use crate::TransactionLocks;
use crate::meta::record::Record;
use crate::meta::{Meta, keys, read_all};
use crate::metadata_lock::{MetadataLocks, Use};
use crate::schema_cache::Closing;
use crate::wait::WaitLimit;

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

/// See the module.
pub(super) struct HeldBranches {
    store: Store,
    locks: Arc<MetadataLocks>,
    waiting: Mutex<BTreeMap<Xid, Waiting>>,
}

impl HeldBranches {
    pub(super) fn new(store: Store, locks: Arc<MetadataLocks>) -> Self {
        Self {
            store,
            locks,
            waiting: Mutex::default(),
        }
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
}

impl PreparedBranches for HeldBranches {
    fn reinstate(&self) -> Result<()> {
        let records: Vec<PreparedRecord> = read_all(
            &self.store.latest(),
            &keys::prepared_branches(),
            "prepared transaction",
        )?;
        for record in records {
            let waiting = self.read(&record)?;
            self.waiting.lock().insert(record.xid, waiting);
        }
        Ok(())
    }

    fn contains(&self, xid: &Xid) -> Result<bool> {
        Ok(self.waiting.lock().contains_key(xid))
    }

    fn prepare(&self, branch: Preparing<'_>) -> Result<()> {
        let Preparing {
            xid,
            mut transaction,
            tables,
            durability,
            schema: _,
        } = branch;
        let bytes = transaction.prepare().map_err(not_prepared)?;
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
        // One whose record may be stored counts as prepared, and keeps its locks, until the next start.
        self.waiting.lock().insert(xid.clone(), waiting);
        Ok(stored.map(drop)?)
    }

    fn end(&self, xid: &Xid, commit: bool, durability: Durability) -> Result<()> {
        let waiting = self.waiting.lock().remove(xid).ok_or_else(unknown_xid)?;
        let name = xid.to_bytes();
        let stored = (0..waiting.parts)
            .map(|part| keys::prepared_part(&name, part))
            .chain([keys::prepared_branch(&name)]);
        let Err((error, transaction)) = waiting.transaction.end_prepared(commit, stored, durability) else {
            return Ok(());
        };
        if let Some(transaction) = transaction {
            let waiting = Waiting {
                transaction: *transaction,
                ..waiting
            };
            self.waiting.lock().insert(xid.clone(), waiting);
        }
        Err(not_ended(&error))
    }

    fn list(&self) -> Result<Vec<Xid>> {
        Ok(self.waiting.lock().keys().cloned().collect())
    }

    /// They hold metadata locks.
    fn permit(&self, _: &Schema, _: &dyn Fn() -> Result<BTreeSet<Closing>>) -> Result<bool> {
        Ok(true)
    }

    fn clear(&self, _: &dyn Fn(i64) -> bool) -> Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepared::XaBranches;
    use kv::{EmbeddedOptions, LockOptions};
    use testkit::{Fault, Faults, faulty_memory_store};
    use types::errno;

    /// The branches of a process, and what they share with its sessions.
    struct Process {
        store: Store,
        locks: Arc<MetadataLocks>,
        xa: Arc<XaBranches>,
    }

    impl Process {
        fn prepare(
            &self,
            branch: &crate::prepared::ActiveBranch,
            transaction: Transaction,
            tables: TransactionLocks,
        ) -> Result<()> {
            self.xa
                .prepare(branch, transaction, tables, &Schema::default(), Durability::Sync)
        }

        fn end(&self, xid: &Xid, commit: bool) -> Result<()> {
            self.xa.end(xid, commit, Durability::Sync)
        }

        fn prepared(&self) -> Vec<Xid> {
            self.xa.prepared().unwrap()
        }
    }

    fn branches(store: &Store) -> Process {
        let locks = Arc::<MetadataLocks>::default();
        Process {
            store: store.clone(),
            xa: Arc::new(XaBranches::new(store.clone(), Arc::clone(&locks), None)),
            locks,
        }
    }

    fn xid(global: &str, branch: &str) -> Xid {
        Xid {
            format: 1,
            global: global.into(),
            branch: branch.into(),
        }
    }

    /// Prepares a branch that writes a key and uses table 7.
    fn prepare(branches: &Process, xid: Xid, key: &[u8], value: Vec<u8>) {
        let branch = branches.xa.begin(xid).unwrap();
        let mut txn = branches.store.begin(TxnOptions::default()).unwrap();
        txn.put(key.to_vec(), value).unwrap();
        let mut tables = TransactionLocks::new(Arc::clone(&branches.locks));
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: Duration::ZERO,
            interrupt: &interrupt,
        };
        tables.acquire(7, Use::Write, &limit).unwrap();
        branches.prepare(&branch, txn, tables).unwrap();
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
            first.xa.begin(xid("a", "bc")).map(drop).unwrap_err().code,
            errno::ER_XAER_DUPID
        );
        // As if the process had ended.
        drop(first);
        assert!(!is_locked(&store, b"long"));
        let second = branches(&store);
        second.xa.reinstate().unwrap();
        assert_eq!(second.prepared(), [xid("a", "bc"), xid("ab", "c")]);
        assert!(is_locked(&store, b"long") && is_locked(&store, b"short"));
        assert!(
            !second.locks.table(7).is_empty(),
            "no definition changes meanwhile"
        );
        second.end(&xid("ab", "c"), true).unwrap();
        second.end(&xid("a", "bc"), false).unwrap();
        let now = store.latest();
        assert_eq!(now.get(b"long").unwrap(), Some(vec![7; 3 * PART_BYTES]));
        assert_eq!(now.get(b"short").unwrap(), None);
        assert!(second.locks.table(7).is_empty());
        let error = second.end(&xid("a", "bc"), true).unwrap_err();
        assert_eq!(error.code, errno::ER_XAER_NOTA);
        let third = branches(&store);
        third.xa.reinstate().unwrap();
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
            let failed = branches.end(&xid("a", ""), commit);
            assert_eq!(failed.unwrap_err().code, errno::ER_XAER_RMERR);
            assert_eq!(branches.prepared(), [xid("a", "")]);
            assert!(is_locked(&store, b"key"));
            assert!(!branches.locks.table(7).is_empty());
        }
        branches.end(&xid("a", ""), true).unwrap();
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
            (branches.xa.begin(xid(name, "")).unwrap(), txn, tables)
        };
        let (branch, txn, tables) = begun("refused");
        faults.next_commit(Fault::Refused(kv::Error::DiskFull(String::new())));
        branches.prepare(&branch, txn, tables).unwrap_err();
        drop(branch);
        assert_eq!(branches.prepared(), []);
        assert!(!is_locked(&store, b"refused"));
        let (branch, txn, tables) = begun("unknown");
        faults.next_commit(Fault::Arrived(kv::Error::DiskFull(String::new())));
        let error = branches.prepare(&branch, txn, tables).unwrap_err();
        assert_eq!(error.code, errno::ER_RESULT_UNDETERMINED);
        assert_eq!(branches.prepared(), [xid("unknown", "")]);
        assert!(is_locked(&store, b"unknown"));
        let error = branches.end(&xid("unknown", ""), false).unwrap_err();
        assert_eq!(error.code, errno::ER_XAER_RMERR);
        assert!(is_locked(&store, b"unknown"));
    }
}
