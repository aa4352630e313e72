//! What is in `latest`, in memory: the entries of ranges of keys, whole, as pages.
//!
//! RocksDB keeps each superseded state of a row in its write buffer, and deletions until they are collected: a scan has to
//! pass over them, and even without them takes some 900 instructions a row. A page has each row once. A scan or a read
//! of one key that finds no page loads one (`crate::load`), and so does a short commit that has to know what it replaces;
//! commits change the pages of the keys they write.
//!
//! A page is right for a reader whose commits are all applied, which is what its timestamp promises
//! (`kv::oracle`): entries that are too new for it lead to [`crate::history`], as those of RocksDB do. A commit changes pages after
//! RocksDB has applied it and before it is published, when no reader is meant to see it yet. So it does not matter
//! which of the two a reader looks at, and when.
//!
//! A page may leave deletions out that its reader need not know of; it then turns away readers of older timestamps,
//! which go to RocksDB.
//!
//! Readers hold locks only to find a page and to share it: they read it, and visitors run, without. A commit that
//! changes a page somebody is reading changes a copy. What all readers write to, the directory's lock and the count of a
//! page's owners, are cache lines that cores share: measured with two of them only. Where many cores wait for each
//! other here, a directory for each hash of a key's first bytes, which name its table, would part them.
//!
//! Lock order: the directory, loads, a page.

mod directory;
mod fill;
mod page;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use fill::{Entries, LOAD_BYTES, LOAD_ENTRIES};
#[cfg(test)]
pub(crate) use page::BYTES_MAX;
pub(crate) use page::Page;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, RwLock};
use directory::{Directory, Leaf};
use kv::{KeyRange, Timestamp};
use std::sync::Arc;

/// A range of more pages is not added up: it is large.
const PAGES_COUNTED_MAX: usize = 1_024;

/// Entries of a commit put into pages before others may change the directory.
const UPDATE_ENTRIES: usize = 256;

/// What a reader finds.
pub(crate) enum Lookup<T> {
    Found(T),
    /// Not in memory.
    Missing,
    /// In memory, but not with all that a reader of so old a timestamp needs.
    TooOld,
}

/// A page, and the range of which it holds everything. An empty end: up to the last key there is.
pub(crate) struct Part {
    pub page: Arc<Page>,
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

/// Who asks for a page that is not there.
#[derive(Clone, Copy)]
pub(crate) enum Reads {
    OneKey,
    Range,
}

/// Entries of `latest` in memory.
pub(crate) struct RowCache {
    directory: RwLock<Directory>,
    loads: Mutex<Vec<Load>>,
    budget_bytes: usize,
    misses: AtomicU64,
    next_load: AtomicU64,
}

/// A page being made of what RocksDB holds, while commits go on.
struct Load {
    id: u64,
    range: KeyRange,
    /// Keys of the range that have been committed meanwhile.
    changed: Vec<Vec<u8>>,
    /// The range has been dropped meanwhile.
    void: bool,
}

/// The right to put a page in, until dropped.
pub(crate) struct Loading<'a> {
    cache: &'a RowCache,
    id: u64,
    /// Where no page is yet.
    pub range: KeyRange,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.cache.loads.lock().retain(|load| load.id != self.id);
    }
}

impl RowCache {
    /// Of about `budget_bytes` at most; none: nothing is kept.
    pub fn new(budget_bytes: u64) -> Self {
        Self {
            directory: RwLock::default(),
            loads: Mutex::default(),
            budget_bytes: usize::try_from(budget_bytes).unwrap_or(usize::MAX),
            misses: AtomicU64::new(0),
            next_load: AtomicU64::new(0),
        }
    }

    /// Memory of all pages, and their number.
    pub fn size(&self) -> (usize, usize) {
        let directory = self.directory.read();
        (directory.bytes(), directory.len())
    }

    /// Bytes of a range's keys, and what is stored there, without deletions. `None`: not all of it is in memory, or it is
    /// large.
    pub fn bytes_of(&self, range: &KeyRange) -> Option<u64> {
        let directory = self.directory.read();
        let mut start = range.start.as_slice();
        let mut bytes = 0;
        for _ in 0..PAGES_COUNTED_MAX {
            let (_, leaf) = directory.find(start)?;
            let page = leaf.page.read();
            if !page.is_complete_at(Timestamp::MAX) {
                return None;
            }
            bytes += page.bytes_of(start, &range.end) as u64;
            let is_last = leaf.end().is_empty() || (!range.end.is_empty() && leaf.end() >= &*range.end);
            if is_last {
                return Some(bytes);
            }
            start = leaf.end();
        }
        None
    }

    /// The page that a key is in, or would be.
    #[inline]
    pub fn page(&self, key: &[u8], ts: Timestamp) -> Lookup<Arc<Page>> {
        let directory = self.directory.read();
        let Some((_, leaf)) = directory.at(key) else {
            return Lookup::Missing;
        };
        let page = Arc::clone(&leaf.page.read());
        if page.is_complete_at(ts) {
            Lookup::Found(page)
        } else {
            Lookup::TooOld
        }
    }

    /// The page that the keys from `key` on are in.
    pub fn from(&self, key: &[u8], ts: Timestamp) -> Lookup<Part> {
        self.look_up(key, ts, Directory::at)
    }

    /// The page that the keys before `end` are in; an empty `end` is none.
    pub fn before(&self, end: &[u8], ts: Timestamp) -> Lookup<Part> {
        self.look_up(end, ts, Directory::before)
    }

    /// The first page that has a part of a range, for who looks at pages, not at rows: it does not count as read.
    pub fn next_part(&self, range: &KeyRange) -> Option<Part> {
        if range.is_empty() {
            return None;
        }
        let directory = self.directory.read();
        let start = match directory.find(&range.start) {
            Some((start, _)) => start,
            None => directory
                .next_after(&range.start)
                .filter(|next| range.contains(next))?,
        };
        let (start, leaf) = directory.find(start)?;
        Some(Part {
            page: Arc::clone(&leaf.page.read()),
            start: start.to_vec(),
            end: leaf.end().to_vec(),
        })
    }

    /// Clears the page of deletions first if it has many.
    fn look_up(
        &self,
        key: &[u8],
        ts: Timestamp,
        find: impl for<'a> Fn(&'a Directory, &'a [u8]) -> Option<(&'a [u8], &'a Leaf)>,
    ) -> Lookup<Part> {
        let mut may_clear = true;
        loop {
            let littered = {
                let directory = self.directory.read();
                let Some((start, leaf)) = find(&directory, key) else {
                    return Lookup::Missing;
                };
                let page = Arc::clone(&leaf.page.read());
                if !page.is_complete_at(ts) {
                    return Lookup::TooOld;
                }
                if !(may_clear && page.is_littered(ts)) {
                    return Lookup::Found(Part {
                        page,
                        start: start.to_vec(),
                        end: leaf.end().to_vec(),
                    });
                }
                start.to_vec()
            };
            may_clear = false;
            self.directory.write().clear_deletions(&littered, ts);
        }
    }

    /// Whether a page that is not there should be loaded: one key is not worth a page at once, and where memory is full
    /// only what is read again and again is worth another page's place.
    pub fn admits(&self, reads: Reads) -> bool {
        if self.budget_bytes == 0 {
            return false;
        }
        let is_full = self.directory.read().bytes() > self.budget_bytes / 8 * 7;
        let one_in = match (reads, is_full) {
            (Reads::OneKey, false) => 4,
            (Reads::OneKey, true) => 64,
            (Reads::Range, false) => 1,
            (Reads::Range, true) => 16,
        };
        self.misses.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in)
    }

    /// Begins to load a page at the start of `range`, where there is none, up to the next one or the end of `range`. What the
    /// page is made of has to be read after this.
    pub fn begin_load(&self, range: KeyRange) -> Loading<'_> {
        let directory = self.directory.read();
        self.begin_load_where_free(&directory, range)
    }

    /// The same, between the pages around `key`, which is in none.
    pub fn begin_load_around(&self, key: &[u8]) -> Loading<'_> {
        let directory = self.directory.read();
        let start = match directory.end_before(key) {
            None => &[],
            Some(end) if !end.is_empty() && end <= key => end,
            // Another reader has loaded it meanwhile: what is read here will not be kept.
            Some(_) => key,
        };
        self.begin_load_where_free(&directory, KeyRange::new(start, []))
    }

    fn begin_load_where_free(&self, directory: &Directory, mut range: KeyRange) -> Loading<'_> {
        if let Some(next) = directory.next_after(&range.start)
            && (range.end.is_empty() || *next < *range.end)
        {
            range.end = next.to_vec();
        }
        let id = self.next_load.fetch_add(1, Ordering::Relaxed);
        self.loads.lock().push(Load {
            id,
            range: range.clone(),
            changed: Vec::new(),
            void: false,
        });
        Loading {
            cache: self,
            id,
            range,
        }
    }

    /// Keeps a page that holds all of a part of the loading's range, unless it has become another meanwhile. For its loader it
    /// is good in any case.
    fn end_load(&self, loading: &Loading<'_>, part: &Part) {
        let range = KeyRange::new(part.start.as_slice(), part.end.as_slice());
        let mut directory = self.directory.write();
        let is_current = {
            let mut loads = self.loads.lock();
            let at = loads.iter().position(|load| load.id == loading.id);
            at.map(|at| loads.swap_remove(at))
                .is_some_and(|load| !load.void && !load.changed.iter().any(|key| range.contains(key)))
        };
        if is_current && directory.is_free(&range) {
            directory.insert(range, Arc::clone(&part.page));
            directory.shrink(self.budget_bytes);
        }
    }

    /// What a commit has put into `latest`: keys, and what is stored. One call at a time, after RocksDB has applied
    /// it and before it is published.
    pub(super) fn update<'a>(&self, entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) {
        let mut entries = entries.peekable();
        while entries.peek().is_some() {
            let mut large = Vec::new();
            let directory = self.directory.read();
            {
                let mut loads = self.loads.lock();
                for (key, stored) in entries.by_ref().take(UPDATE_ENTRIES) {
                    for load in loads.iter_mut().filter(|load| load.range.contains(key)) {
                        load.changed.push(key.to_vec());
                    }
                    if let Some(start) = directory.update(key, stored) {
                        large.push(start.to_vec());
                    }
                }
            }
            let is_full = directory.bytes() > self.budget_bytes;
            drop(directory);
            if is_full || !large.is_empty() {
                let mut directory = self.directory.write();
                large.iter().for_each(|start| directory.split(start));
                directory.shrink(self.budget_bytes);
            }
        }
    }

    /// Forgets a range, which is gone from `latest`, or may be.
    pub fn forget(&self, range: &KeyRange) {
        let mut directory = self.directory.write();
        let mut loads = self.loads.lock();
        for load in loads.iter_mut() {
            load.void = true;
        }
        directory.remove(range);
    }
}
