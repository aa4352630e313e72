//! Superseded versions in memory.
//!
//! Most superseded versions are useless before they could be written to a disk, and all are after a restart,
//! which no snapshot survives. So they are kept in memory, in *generations* of at most an eighth of a budget.
//! A search looks into each generation, and no single version is ever taken out of one. Garbage collection
//! drops the oldest generations, earlier than their age asks for if all together exceed the budget. What a
//! live snapshot still needs beyond the budget is moved to disk ([`super::Spill`]).
//!
//! A superseded version also records whether the version that superseded it is a deletion. That deletion has
//! to be removed from `latest` once its generation has been dropped ([`ExpiredDeletions`]).

mod encoding;
mod generation;
#[cfg(test)]
mod tests;

pub(crate) use encoding::SupersededVersion;

use crate::latest::deletions::ExpiredDeletions;
use crate::layout::Version;
use generation::{Generation, Position};
use hashbrown::DefaultHashBuilder;
use kv::{KeyRange, Timestamp};
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The newest generation is full with this part of the budget.
const GENERATIONS: usize = 8;

/// The superseded versions that are in memory.
pub(crate) struct History {
    /// Oldest first; new versions are added to the last one.
    generations: RwLock<VecDeque<Generation>>,
    /// Memory of all generations.
    bytes: AtomicUsize,
    budget_bytes: usize,
    /// Memory of a generation that has been dropped, for the next one.
    spare: Mutex<Vec<Vec<u8>>>,
    hasher: DefaultHashBuilder,
    /// Versions superseded up to this timestamp may be on disk.
    spilled_ts: AtomicU64,
}

impl History {
    pub fn new(budget_bytes: u64) -> Self {
        Self {
            generations: RwLock::default(),
            bytes: AtomicUsize::new(0),
            budget_bytes: usize::try_from(budget_bytes).unwrap_or(usize::MAX),
            spare: Mutex::default(),
            hasher: DefaultHashBuilder::default(),
            spilled_ts: AtomicU64::new(0),
        }
    }

    /// Appends to `out` the version of `key` that a commit is going to supersede, for [`History::add`].
    pub fn encode(&self, out: &mut Vec<u8>, key: &[u8], before: Version, by_deletion: bool) {
        encoding::push(out, self.hasher.hash_one(key), key, before, by_deletion);
    }

    /// Adds what the commit at `superseded_ts` supersedes. One call at a time, in the order of timestamps.
    pub fn add<'a>(&self, encoded: impl Iterator<Item = &'a [u8]>, superseded_ts: Timestamp) {
        let mut generations = self.generations.write();
        for encoded in encoded.filter(|encoded| !encoded.is_empty()) {
            let last = generations.back();
            if last.is_none_or(|last| last.bytes() >= self.generation_bytes()) {
                let memory = std::mem::take(&mut *self.spare.lock());
                // Room for as many versions as the last one has; after a large transaction, for no more than
                // fit in.
                let count = last.map_or(0, Generation::count);
                let most = self.generation_bytes() / SupersededVersion::bytes_of(&[], None);
                let next = Generation::new(memory, count.min(most));
                generations.push_back(next);
            }
            if let Some(last) = generations.back_mut() {
                last.add(encoded, superseded_ts);
                self.bytes.fetch_add(encoded.len(), Ordering::Relaxed);
            }
        }
    }

    /// Calls `found` with the version of `key` that was the newest at `ts` and has been superseded since, if
    /// it is in memory.
    pub fn with<T>(
        &self,
        key: &[u8],
        ts: Timestamp,
        found: impl FnOnce(SupersededVersion<'_>) -> T,
    ) -> Option<T> {
        let hash = self.hasher.hash_one(key);
        let generations = self.generations.read();
        // Oldest first: of a key that changes often, each newer generation has many versions that are too
        // new.
        let mut later = generations
            .iter()
            .filter(|generation| generation.newest_ts() > ts);
        later
            .find_map(|generation| generation.find(hash, key, ts))
            .map(found)
    }

    fn generation_bytes(&self) -> usize {
        self.budget_bytes / GENERATIONS
    }

    /// Drops generations of which no reader at or above `safe_point` sees any version, and returns how many
    /// versions that were. Deletions that superseded them are queued in `expired`.
    pub fn collect(&self, safe_point: Timestamp, expired: &ExpiredDeletions) -> u64 {
        let mut removed = 0;
        while let Some(generation) = self.take_oldest(safe_point) {
            removed += generation.count() as u64;
            for version in generation.superseded_by_deletion() {
                expired.push((version.superseded_ts, Box::from(version.key)));
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
            // Were new versions added to a generation forever, it would never become old enough to be
            // dropped.
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

    /// The safe point that would bring the rest within its budget; 0: it is within its budget.
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

    /// Whether all generations together have more than `times` the budget.
    pub fn exceeds_budget(&self, times: usize) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.budget_bytes.saturating_mul(times)
    }

    /// Ends the oldest generation, to which nothing is added from now on. Returns when the last of its
    /// versions was superseded.
    pub fn seal_oldest(&self) -> Option<Timestamp> {
        let mut generations = self.generations.write();
        if generations.len() == 1 {
            generations.push_back(Generation::default());
        }
        generations.front().map(Generation::newest_ts)
    }

    /// Visits some versions of the oldest generation, oldest first, and returns the position after the last
    /// of them. Starts at `from`: 0, or what the last call returned. Visits at most `count`, and no more once
    /// those visited have `bytes`.
    pub fn visit_oldest(
        &self,
        from: Position,
        (count, bytes): (usize, usize),
        visit: impl FnMut(SupersededVersion<'_>),
    ) -> Position {
        let generations = self.generations.read();
        let oldest = generations.front();
        oldest.map_or(from, |oldest| oldest.visit(from, count, bytes, visit))
    }

    /// Drops the oldest generation, superseded up to `ts`, all of which has been written to disk.
    pub fn drop_spilled(&self, ts: Timestamp) {
        self.spilled_ts.fetch_max(ts, Ordering::SeqCst);
        if let Some(generation) = self.take_oldest(ts) {
            self.reuse(generation);
        }
    }

    /// Versions superseded up to this timestamp may be on disk; 0: none are.
    pub fn spilled_ts(&self) -> Timestamp {
        self.spilled_ts.load(Ordering::SeqCst)
    }

    /// Notes that nothing is on disk any more.
    pub fn note_nothing_spilled(&self) {
        self.spilled_ts.store(0, Ordering::SeqCst);
    }

    /// Forgets a range that has been removed from `latest`.
    pub fn destroy(&self, range: &KeyRange) {
        let mut generations = self.generations.write();
        generations
            .iter_mut()
            .for_each(|generation| generation.destroy(range));
    }

    /// Bytes and number of superseded versions, and how many of them a deletion superseded.
    pub fn size(&self) -> (usize, usize, usize) {
        let generations = self.generations.read();
        let count = generations.iter().map(Generation::count).sum();
        let deletions = generations.iter().map(Generation::deletion_count).sum();
        (self.bytes.load(Ordering::Relaxed), count, deletions)
    }
}
