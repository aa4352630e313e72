//! Key ranges of dropped tables and indexes. They are queued in the store, so that they are destroyed even
//! after a crash.
//!
//! The transaction that drops something adds an entry. The ranges are destroyed as soon as all snapshots from
//! before the drop have ended, and then the entry is removed. A snapshot of the past that is opened later
//! (`AS OF`) uses the current definitions, which do not refer to dropped data.

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
    /// The start and end of each range.
    pub ranges: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Record for Garbage {}

impl Garbage {
    /// Adds an entry to the queue. This must also work on a full disk, because a statement that drops
    /// something frees space.
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

/// Destroys ranges that no snapshot can read any more. Returns how many entries were processed. Concurrent
/// calls are safe. Of several nodes, the one that joined first does it.
///
/// # Errors
/// Those of the store. The next call tries the remaining entries again.
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
