//! Garbage collection: removing what no snapshot can see any more.
//!
//! Superseded versions go from memory ([`crate::history`]), and from the disk where they have been moved there
//! ([`crate::spill`]). What is left are newest versions that are deletions. The history's entries name them in the order
//! they expire, so no scan has to look for them; those of before a restart, which nobody lists any more, are dropped
//! when files are compacted ([`crate::options`]), or listed by the first who has to pass over them ([`crate::load`]). One
//! may only be removed under its key's lock: between the look that finds it still the newest and the removal, a commit
//! could put a value there, which would be removed instead. The lock is taken only if it is free.

use crate::history::Expired;
use crate::layout::TS_BYTES;
use crate::storage::RocksStorage;
use kv::{KeyGuard, Result, Timestamp};

/// Keys removed by one write: well below a millisecond of a writer's time.
const BATCH_KEYS: usize = 256;

impl RocksStorage {
    pub(crate) fn collect_garbage(
        &self,
        safe_point: Timestamp,
        thorough: bool,
        guard: &mut dyn KeyGuard,
    ) -> Result<u64> {
        let superseded = self.history.collect(safe_point);
        // What snapshots that live still need.
        self.spill().inspect_err(|error| {
            tracing::warn!(dir = %self.dir.display(), %error, "old versions for snapshots cannot be moved to disk");
        })?;
        let deletions = self.collect_deletions(safe_point, guard)?;
        let spilled = self.collect_spilled(safe_point, thorough)?;
        Ok(superseded + deletions + spilled)
    }

    fn collect_deletions(&self, safe_point: Timestamp, guard: &mut dyn KeyGuard) -> Result<u64> {
        let mut removed = 0;
        // For the next round.
        let mut kept = Vec::new();
        let outcome = loop {
            let expired = self.history.take_expired(BATCH_KEYS);
            if expired.is_empty() {
                break Ok(());
            }
            match self.remove_deletions(&expired, safe_point, guard, &mut kept) {
                Ok(count) => removed += count,
                Err(error) => {
                    kept.extend(expired);
                    break Err(error);
                }
            }
        };
        kept.into_iter()
            .for_each(|deletion| self.history.expire(deletion));
        outcome.map(|()| removed)
    }

    fn remove_deletions(
        &self,
        expired: &[Expired],
        safe_point: Timestamp,
        guard: &mut dyn KeyGuard,
        kept: &mut Vec<Expired>,
    ) -> Result<u64> {
        let (locked, others): (Vec<_>, Vec<_>) = expired
            .iter()
            .partition(|(deleted_ts, key)| *deleted_ts <= safe_point && guard.try_lock(key));
        let removed = self.latest.remove_deletions(locked.into_iter());
        guard.unlock_all();
        let removed = removed?;
        kept.extend(others.into_iter().cloned());
        Ok(removed)
    }
}

const _: () = assert!(TS_BYTES == size_of::<Timestamp>());
