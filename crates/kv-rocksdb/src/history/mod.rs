//! Superseded versions, which only readers of older timestamps see.
//!
//! A commit puts what it supersedes here before it changes `latest`. They lie in memory: nearly all are of no use before
//! anybody could have written them to a disk, and none is after a restart, when no snapshot of before is left. They are kept
//! by generations, each an eighth of a budget or less: looking for one means to look into each, and nothing is ever taken out of
//! one. Garbage collection drops the oldest ones, sooner than wanted if all together are over the budget. What a
//! snapshot that lives still needs while they are over it goes to disk ([`crate::spill`]).
//!
//! An entry also says whether what superseded it was a deletion, which is to be taken out of `latest` once the entry
//! has been collected. [`History::expire`] lists those.

mod entry;
mod generation;
#[cfg(test)]
mod tests;

pub(crate) use entry::Entry;

use crate::layout::Version;
use generation::{Generation, Place};
use hashbrown::DefaultHashBuilder;
use kv::{KeyRange, Timestamp};
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Of that many the newest is one.
const GENERATIONS: usize = 8;

/// A key of `latest` whose newest version, of this timestamp, is a deletion that nobody has to know of any more.
pub(crate) type Expired = (Timestamp, Box<[u8]>);

/// More of them are left where they are until they are met again.
const EXPIRED_MAX: usize = 1 << 20;

/// See the module.
pub(crate) struct History {
    /// Oldest first; the last one grows.
    generations: RwLock<VecDeque<Generation>>,
    /// Memory of all.
    bytes: AtomicUsize,
    budget_bytes: usize,
    /// Memory of a generation that has been dropped.
    spare: Mutex<Vec<Vec<u8>>>,
    expired: Mutex<VecDeque<Expired>>,
    hasher: DefaultHashBuilder,
    /// Versions superseded up to then may lie on disk.
    spilled_ts: AtomicU64,
    /// Deletions up to then may not be listed here.
    unlisted_ts: AtomicU64,
}

impl History {
    /// Of `budget_bytes`, for a store whose newest commit is of `newest_ts`: deletions up to then are not known.
    pub fn new(budget_bytes: u64, newest_ts: Timestamp) -> Self {
        Self {
            generations: RwLock::default(),
            bytes: AtomicUsize::new(0),
            budget_bytes: usize::try_from(budget_bytes).unwrap_or(usize::MAX),
            spare: Mutex::default(),
            expired: Mutex::default(),
            hasher: DefaultHashBuilder::default(),
            spilled_ts: AtomicU64::new(0),
            unlisted_ts: AtomicU64::new(newest_ts),
        }
    }

    /// Appends an entry for [`History::add`].
    pub fn push(&self, out: &mut Vec<u8>, key: &[u8], before: Version, by_deletion: bool) {
        entry::push(out, self.hasher.hash_one(key), key, before, by_deletion);
    }

    /// Adds what the commit at `superseded_ts` supersedes. One call at a time, in the order of timestamps.
    pub fn add<'a>(&self, entries: impl Iterator<Item = &'a [u8]>, superseded_ts: Timestamp) {
        let mut generations = self.generations.write();
        for entries in entries.filter(|entries| !entries.is_empty()) {
            let last = generations.back();
            if last.is_none_or(|last| last.bytes() >= self.generation_bytes()) {
                let memory = std::mem::take(&mut *self.spare.lock());
                // As many as the last one has; of a large transaction's many no more than there is room for.
                let count = last.map_or(0, Generation::count);
                let most = self.generation_bytes() / Entry::bytes_of(&[], None);
                let next = Generation::new(memory, count.min(most));
                generations.push_back(next);
            }
            if let Some(last) = generations.back_mut() {
                last.add(entries, superseded_ts);
                self.bytes.fetch_add(entries.len(), Ordering::Relaxed);
            }
        }
    }

    /// Lends the version of `key` that was there at `ts` and has been superseded since, if it is in memory.
    pub fn with<T>(&self, key: &[u8], ts: Timestamp, then: impl FnOnce(Entry<'_>) -> T) -> Option<T> {
        let hash = self.hasher.hash_one(key);
        let generations = self.generations.read();
        // Oldest first: of a key that changes all the time, all newer ones have many versions that are of no use.
        let mut later = generations
            .iter()
            .filter(|generation| generation.newest_ts() > ts);
        later
            .find_map(|generation| generation.find(hash, key, ts))
            .map(then)
    }

    fn generation_bytes(&self) -> usize {
        self.budget_bytes / GENERATIONS
    }

    /// Drops generations that no reader at or above `safe_point` sees any of, and returns how many entries that were.
    pub fn collect(&self, safe_point: Timestamp) -> u64 {
        let mut removed = 0;
        while let Some(generation) = self.take_oldest(safe_point) {
            removed += generation.count() as u64;
            for entry in generation.deletions() {
                self.expire((entry.superseded_ts, Box::from(entry.key)));
            }
            self.reuse(generation);
        }
        removed
    }

    /// The oldest generation, if all of it was superseded at or before `ts`.
    fn take_oldest(&self, ts: Timestamp) -> Option<Generation> {
        let mut generations = self.generations.write();
        let oldest = generations.front()?;
        if oldest.newest_ts() > ts {
            // One that is needed no longer than by what is added to it would never go.
            if generations.len() == 1 && oldest.oldest_ts() <= ts {
                generations.push_back(Generation::default());
            }
            return None;
        }
        let oldest = generations.pop_front();
        let bytes = oldest.as_ref().map_or(0, Generation::bytes);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        oldest
    }

    fn reuse(&self, generation: Generation) {
        *self.spare.lock() = generation.into_chunks(self.generation_bytes());
    }

    /// Lists a deletion that can be taken out of `latest`.
    pub fn expire(&self, deletion: Expired) {
        let mut expired = self.expired.lock();
        if expired.len() < EXPIRED_MAX {
            expired.push_back(deletion);
        } else {
            self.unlisted_ts.fetch_max(deletion.0, Ordering::Relaxed);
        }
    }

    /// Takes some of the listed deletions.
    pub fn take_expired(&self, count: usize) -> Vec<Expired> {
        let mut expired = self.expired.lock();
        let count = count.min(expired.len());
        expired.drain(..count).collect()
    }

    /// Whether a deletion of this timestamp may be one that is not listed.
    pub fn is_unlisted(&self, deleted_ts: Timestamp) -> bool {
        deleted_ts <= self.unlisted_ts.load(Ordering::Relaxed)
    }

    /// Up to when versions have to be collected for the rest to be within its budget; 0: it is.
    pub fn wanted_safe_point(&self) -> Timestamp {
        let mut left = self.bytes.load(Ordering::Relaxed);
        let generations = self.generations.read();
        let mut newest_ts = 0;
        for generation in generations.iter() {
            if left <= self.budget_bytes {
                break;
            }
            left = left.saturating_sub(generation.bytes());
            newest_ts = generation.newest_ts();
        }
        newest_ts
    }

    /// Whether all together are that many times over budget.
    pub fn exceeds_budget(&self, times: usize) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.budget_bytes.saturating_mul(times)
    }

    /// When the last of the oldest generation was superseded. Nothing is added to it from now on.
    pub fn seal_oldest(&self) -> Option<Timestamp> {
        let mut generations = self.generations.write();
        if generations.len() == 1 {
            generations.push_back(Generation::default());
        }
        generations.front().map(Generation::newest_ts)
    }

    /// Shows some entries of the oldest generation, oldest first, from 0 or what the last call returned: where the next one
    /// is. At most `count`, and no more once those shown have `bytes`.
    pub fn visit_oldest(
        &self,
        from: Place,
        (count, bytes): (usize, usize),
        visit: impl FnMut(Entry<'_>),
    ) -> Place {
        let generations = self.generations.read();
        let oldest = generations.front();
        oldest.map_or(from, |oldest| oldest.visit(from, count, bytes, visit))
    }

    /// Drops the oldest generation, superseded up to `ts`: all of it is on disk now. What of it was superseded by a
    /// deletion is not listed any more.
    pub fn spilled(&self, ts: Timestamp) {
        self.spilled_ts.fetch_max(ts, Ordering::SeqCst);
        self.unlisted_ts.fetch_max(ts, Ordering::Relaxed);
        if let Some(generation) = self.take_oldest(ts) {
            self.reuse(generation);
        }
    }

    /// Up to when versions may have been superseded that lie on disk; 0: there are none.
    pub fn spilled_ts(&self) -> Timestamp {
        self.spilled_ts.load(Ordering::SeqCst)
    }

    /// Nothing lies on disk any more.
    pub fn unspilled(&self) {
        self.spilled_ts.store(0, Ordering::SeqCst);
    }

    /// Forgets a range, which is gone from `latest`.
    pub fn destroy(&self, range: &KeyRange) {
        let mut generations = self.generations.write();
        generations
            .iter_mut()
            .for_each(|generation| generation.destroy(range));
    }

    /// Memory and number of superseded versions, and how many deletions wait to be taken out of `latest`.
    pub fn size(&self) -> (usize, usize, usize) {
        let generations = self.generations.read();
        let count = generations.iter().map(Generation::count).sum();
        let deletions: usize = generations.iter().map(Generation::deletion_count).sum();
        let waiting = deletions + self.expired.lock().len();
        (self.bytes.load(Ordering::Relaxed), count, waiting)
    }
}
