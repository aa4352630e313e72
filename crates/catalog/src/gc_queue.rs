//! What dropped tables and indexes leave behind: a queue in the store, so that a crash leaves no garbage for good.
//!
//! An entry is put in the transaction that drops something, and removed after its ranges are destroyed. Destroying
//! waits until all snapshots of before have ended, and no longer: one of the past that is opened later (`AS OF`) finds
//! tables by their definitions of now, which name nothing that has been dropped.

use kv::{Durability, KeyRange, Timestamp};
use serde::{Deserialize, Serialize};
use types::Result;

use crate::Catalog;
use crate::meta::{Meta, keys, read_all};

/// Key ranges to destroy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Garbage {
    pub id: i64,
    /// Snapshots at or below this that live may still read the ranges.
    pub dropped_ts: Timestamp,
    /// `(start, end)` of each.
    pub ranges: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Catalog {
    /// Destroys what has been dropped and cannot be read any more. Returns how many entries are done.
    ///
    /// Called in the background; calling it again, or from several places, does no harm. Of several nodes the one that
    /// joined first does it.
    ///
    /// # Errors
    /// Those of the store; what is left is tried again next time.
    pub fn run_gc_queue(&self) -> Result<usize> {
        let queue: Vec<Garbage> = read_all(&self.store().latest(), &keys::all_garbage(), "garbage queue")?;
        if queue.is_empty() || !self.is_first_node()? {
            return Ok(0);
        }
        let mut done = 0;
        let mut outcome = Ok(());
        for garbage in queue {
            if garbage.dropped_ts >= self.store().oldest_snapshot() {
                continue;
            }
            match self.destroy(&garbage) {
                Ok(()) => done += 1,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.map(|()| done)
    }

    fn destroy(&self, garbage: &Garbage) -> Result<()> {
        for (start, end) in &garbage.ranges {
            self.store()
                .destroy_range(&KeyRange::new(start.clone(), end.clone()))?;
        }
        let mut txn = Meta::begin(self.store())?;
        Meta::new(&mut txn).delete_garbage(garbage.id)?;
        txn.commit(Durability::Os)?;
        Ok(())
    }
}
