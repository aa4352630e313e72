//! Counts what a statement has read, for `Handler_...`, rows examined, and others.

use std::sync::atomic::{AtomicU64, Ordering};

/// The executors count while a statement runs, once for each batch of rows. The counts are taken when it
/// ends.
#[derive(Debug, Default)]
pub struct ReadCounters {
    /// Rows, or index entries, that were read by their key.
    keys: AtomicU64,
    /// Those that followed in the order of an index.
    next: AtomicU64,
    /// Those that scans of whole tables read.
    all: AtomicU64,
    /// Rows that were sorted.
    sorted: AtomicU64,
}

/// The values of [`ReadCounters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadCounts {
    pub keys: u64,
    pub next: u64,
    pub all: u64,
    pub sorted: u64,
}

impl ReadCounts {
    /// Rows that the statement has looked at.
    pub fn examined(&self) -> u64 {
        self.keys + self.next + self.all
    }
}

impl ReadCounters {
    pub fn read_keys(&self, count: usize) {
        self.keys.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub fn read_next(&self, count: usize) {
        self.next.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Rows of a scan of a whole table.
    pub fn scanned(&self, count: usize) {
        self.all.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub fn sorted(&self, count: usize) {
        self.sorted.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// What another counter has counted.
    pub fn add(&self, counts: ReadCounts) {
        let of = |counter: &AtomicU64, count| counter.fetch_add(count, Ordering::Relaxed);
        of(&self.keys, counts.keys);
        of(&self.next, counts.next);
        of(&self.all, counts.all);
        of(&self.sorted, counts.sorted);
    }

    /// What has been counted so far.
    pub fn counts(&self) -> ReadCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReadCounts {
            keys: of(&self.keys),
            next: of(&self.next),
            all: of(&self.all),
            sorted: of(&self.sorted),
        }
    }

    /// What was counted since the last call.
    pub fn take(&self) -> ReadCounts {
        let take = |counter: &AtomicU64| match counter.load(Ordering::Relaxed) {
            0 => 0,
            _ => counter.swap(0, Ordering::Relaxed),
        };
        ReadCounts {
            keys: take(&self.keys),
            next: take(&self.next),
            all: take(&self.all),
            sorted: take(&self.sorted),
        }
    }
}
