//! Key ranges of dropped tables and indexes: a queue in the store, so that a crash leaves none behind for
//! good.
//!
//! The transaction that drops something adds an entry, which is removed after its ranges are destroyed. They
//! are destroyed as soon as all snapshots from before the drop have ended. A snapshot of the past that is
//! opened later (`AS OF`) uses the current definitions, which name nothing that has been dropped.

use cluster::Cluster;
use cluster::meta::record::Record;
use cluster::meta::{Meta, keys, read_all};
use kv::{Durability, KeyRange, Store, Timestamp};
use serde::{Deserialize, Serialize};
use types::Result;

/// Key ranges to destroy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Garbage {
    pub id: i64,
    /// Snapshots at or below this timestamp may still read the ranges.
    pub dropped_ts: Timestamp,
    /// Start and end of each.
    pub ranges: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Record for Garbage {}

impl Garbage {
    /// Adds it to the queue. A statement that drops something frees space, so it must work on a full disk.
    pub(crate) fn put(&self, meta: &mut Meta<'_>) -> Result<()> {
        meta.use_reserve();
        meta.put(keys::garbage(self.id), self)
    }

    fn destroy(&self, store: &Store) -> Result<()> {
        for (start, end) in &self.ranges {
            store.destroy_range(&KeyRange::new(start.clone(), end.clone()))?;
        }
        let mut txn = Meta::begin(store)?;
        let mut meta = Meta::new(&mut txn);
        meta.use_reserve();
        meta.delete(keys::garbage(self.id))?;
        txn.commit(Durability::Os)?;
        Ok(())
    }
}

/// Destroys what no snapshot can read any more. Returns how many entries are done. Several callers at the
/// same time do no harm. Of several nodes, the one that joined first does it.
///
/// # Errors
/// Those of the store; the rest is tried again by the next call.
pub(crate) fn collect(cluster: &Cluster) -> Result<usize> {
    let store = cluster.store();
    let queue: Vec<Garbage> = read_all(&store.latest(), &keys::garbage_queue(), "garbage queue")?;
    if queue.is_empty() || !cluster.is_first_node()? {
        return Ok(0);
    }
    let mut done = 0;
    let mut outcome = Ok(());
    for garbage in queue {
        if garbage.dropped_ts >= store.oldest_snapshot() {
            continue;
        }
        match garbage.destroy(store) {
            Ok(()) => done += 1,
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    outcome.map(|()| done)
}
