//! Garbage collection: removing what no snapshot can see any more.
//!
//! Superseded versions are dropped by RocksDB itself whenever it compacts their files (see
//! [`crate::options`]), which costs no writes. What is left are newest versions that are deletions: `deletions` lists
//! them in the order they expire, so no scan has to look for them. One may only be removed under its key's lock:
//! between the look that finds it still the newest and the removal, a commit could put a value there, which would be
//! removed instead. The lock is taken only if it is free.

use crate::failure::from_rocksdb;
use crate::layout::{DELETIONS, HISTORY, LATEST, TS_BYTES, Version, damaged, leading_ts};
use crate::storage::RocksStorage;
use kv::{KeyGuard, Result, Timestamp};
use rocksdb::{BottommostLevelCompaction, CompactOptions, FlushOptions, ReadOptions, WriteBatch};
use std::sync::atomic::Ordering;

/// Keys removed by one write: well below a millisecond of a writer's time.
const BATCH_KEYS: usize = 256;

/// Where the next round starts, so that it does not wade through what earlier rounds have removed.
#[derive(Debug, Default)]
pub(crate) struct DeletionsCursor(Vec<u8>);

impl RocksStorage {
    pub(crate) fn collect_garbage(
        &self,
        safe_point: Timestamp,
        thorough: bool,
        guard: &mut dyn KeyGuard,
    ) -> Result<u64> {
        let mut removed = self.collect_deletions(safe_point, guard)?;
        if thorough {
            removed += self.compact_history()?;
        }
        Ok(removed)
    }

    fn collect_deletions(&self, safe_point: Timestamp, guard: &mut dyn KeyGuard) -> Result<u64> {
        let mut cursor = self.deletions_cursor.lock();
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(cursor.0.as_slice());
        options.set_iterate_upper_bound(safe_point.saturating_add(1).to_be_bytes());
        let mut iterator = self.db.raw_iterator_cf_opt(self.family(DELETIONS)?, options);
        iterator.seek_to_first();
        let mut removed = 0;
        // The first entry left in place, if any.
        let mut kept = None;
        let mut entries = Vec::with_capacity(BATCH_KEYS);
        loop {
            entries.clear();
            while let Some(entry) = iterator.key()
                && entries.len() < BATCH_KEYS
            {
                entries.push(entry.to_vec());
                iterator.next();
            }
            iterator.status().map_err(|error| from_rocksdb(&error))?;
            let Some(last) = entries.last() else { break };
            let next = [last.as_slice(), &[0]].concat();
            removed += self.remove_deletions(&entries, guard, &mut kept)?;
            cursor.0 = kept.clone().unwrap_or(next);
        }
        Ok(removed)
    }

    fn remove_deletions(
        &self,
        entries: &[Vec<u8>],
        guard: &mut dyn KeyGuard,
        kept: &mut Option<Vec<u8>>,
    ) -> Result<u64> {
        let (latest, deletions) = (self.family(LATEST)?, self.family(DELETIONS)?);
        let mut batch = WriteBatch::default();
        let mut removed = 0;
        for entry in entries {
            let Some((deleted_ts, key)) = leading_ts(entry) else {
                return Err(damaged("a key of deletions", entry));
            };
            if !guard.try_lock(key) {
                kept.get_or_insert_with(|| entry.clone());
                continue;
            }
            let stored = self
                .db
                .get_pinned_cf_opt(latest, key, &self.read_options)
                .map_err(|error| from_rocksdb(&error))?;
            let newest = stored.as_deref().map(Version::parse).transpose()?;
            if newest.is_some_and(|newest| newest.value.is_none() && newest.ts == deleted_ts) {
                batch.delete_cf(latest, key);
                removed += 1;
            }
            batch.delete_cf(deletions, entry);
        }
        let written = self.write(batch, false);
        guard.unlock_all();
        written?;
        Ok(removed)
    }

    /// Passes all of `history` by the filter now.
    fn compact_history(&self) -> Result<u64> {
        let before = self.dropped.load(Ordering::Relaxed);
        let history = self.family(HISTORY)?;
        let mut flush = FlushOptions::default();
        flush.set_wait(true);
        self.db
            .flush_cf_opt(history, &flush)
            .map_err(|error| from_rocksdb(&error))?;
        let mut compact = CompactOptions::default();
        compact.set_exclusive_manual_compaction(false);
        compact.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        self.db
            .compact_range_cf_opt(history, None::<&[u8]>, None::<&[u8]>, &compact);
        Ok(self.dropped.load(Ordering::Relaxed).saturating_sub(before))
    }

    /// How many versions wait to be collected: superseded ones, and deletions. About.
    pub(crate) fn garbage_estimate(&self) -> (u64, u64) {
        let keys = |name: &str| {
            self.family(name)
                .ok()
                .and_then(|family| {
                    self.db
                        .property_int_value_cf(family, rocksdb::properties::ESTIMATE_NUM_KEYS)
                        .ok()
                        .flatten()
                })
                .unwrap_or(0)
        };
        (keys(HISTORY), keys(DELETIONS))
    }
}

const _: () = assert!(TS_BYTES == size_of::<Timestamp>());
