//! Counts what a statement has read, for `Handler_...`, rows examined, and others.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where rows are read or changed: a table, and one of its indexes, by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowPlace {
    pub table: i64,
    /// `None`: no index is used.
    pub index: Option<i64>,
}

/// What was done to rows of one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowUses {
    pub read: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

impl RowUses {
    pub fn add(&mut self, other: Self) {
        self.read += other.read;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

/// Which rows are counted by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ByPlace {
    /// None: nothing is measured.
    Not,
    /// The caller knows the plan's only place, but not those of its larger plan.
    OfLargerPlan,
    All,
}

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
    /// Merges of sorted rows in files.
    merges: AtomicU64,
    /// Sets of rows that an operator has moved to files.
    in_files: AtomicU64,
    /// The rows that were read by table and index, and the rows that statements on several tables change.
    places: Mutex<Vec<(RowPlace, RowUses)>>,
    /// Which rows are counted by place, too: a [`ByPlace`].
    by_place: AtomicU8,
    /// Whether there are any, so that a statement without them takes no lock.
    has_places: AtomicBool,
}

/// The values of [`ReadCounters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadCounts {
    pub keys: u64,
    pub next: u64,
    pub all: u64,
    pub sorted: u64,
    pub merges: u64,
    pub in_files: u64,
}

impl ReadCounts {
    pub fn add(&mut self, other: Self) {
        self.keys += other.keys;
        self.next += other.next;
        self.all += other.all;
        self.sorted += other.sorted;
        self.merges += other.merges;
        self.in_files += other.in_files;
    }

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

    /// `count` merges of sorted rows in files.
    pub fn merged(&self, count: usize) {
        self.merges.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// An operator has moved its rows to files, but not in order to sort them.
    pub fn moved_to_files(&self) {
        self.in_files.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters of a thread that works for the statement.
    pub fn for_thread(&self) -> Self {
        Self {
            by_place: AtomicU8::new(self.by_place.load(Ordering::Relaxed)),
            ..Self::default()
        }
    }

    /// Takes what a thread has counted.
    pub fn merge(&self, thread: &Self) {
        let counts = thread.take();
        let of = |counter: &AtomicU64, count| counter.fetch_add(count, Ordering::Relaxed);
        of(&self.keys, counts.keys);
        of(&self.next, counts.next);
        of(&self.all, counts.all);
        of(&self.sorted, counts.sorted);
        of(&self.merges, counts.merges);
        of(&self.in_files, counts.in_files);
        thread.take_places(|place, uses| self.used_at(place, uses));
    }

    /// Counts rows that were read at a place, beside one of the counts above.
    pub fn read_at(&self, place: impl FnOnce() -> RowPlace, count: usize) {
        if !self.counts_places() {
            return;
        }
        self.used_at(
            place(),
            RowUses {
                read: count as u64,
                ..RowUses::default()
            },
        );
    }

    /// Which rows [`ReadCounters::read_at`] counts from now on.
    pub fn set_by_place(&self, which: ByPlace) {
        self.by_place.store(which as u8, Ordering::Relaxed);
    }

    /// A query goes on with its larger plan.
    pub fn begin_larger_plan(&self) {
        if self.by_place.load(Ordering::Relaxed) == ByPlace::OfLargerPlan as u8 {
            self.set_by_place(ByPlace::All);
        }
    }

    fn counts_places(&self) -> bool {
        self.by_place.load(Ordering::Relaxed) == ByPlace::All as u8
    }

    pub fn used_at(&self, place: RowPlace, uses: RowUses) {
        if !self.counts_places() {
            return;
        }
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_places.store(true, Ordering::Relaxed);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, sum)) => sum.add(uses),
            None => places.push((place, uses)),
        }
    }

    /// What was counted by place since the last call.
    pub fn take_places(&self, mut each: impl FnMut(RowPlace, RowUses)) {
        if !self.has_places.load(Ordering::Relaxed) {
            return;
        }
        self.has_places.store(false, Ordering::Relaxed);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, uses) in places.drain(..) {
            each(place, uses);
        }
    }

    /// What has been counted so far.
    pub fn counts(&self) -> ReadCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReadCounts {
            keys: of(&self.keys),
            next: of(&self.next),
            all: of(&self.all),
            sorted: of(&self.sorted),
            merges: of(&self.merges),
            in_files: of(&self.in_files),
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
            merges: take(&self.merges),
            in_files: take(&self.in_files),
        }
    }
}
