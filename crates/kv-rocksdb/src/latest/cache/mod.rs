//! The row cache: entries of `latest` in memory, in pages that hold all entries of a range of keys.
//!
//! RocksDB keeps each superseded state of a row in its write buffer, and deletions until they are collected.
//! A scan has to pass over them, and even without them takes some 900 instructions per row. A page has each
//! row once. A scan or a read of one key that finds no page loads one (`latest::load`), and so does a short
//! commit that has to know what it replaces. Commits change the pages of the keys they write.
//!
//! A page is correct for a reader if all commits at or below the reader's timestamp have been applied, which
//! its timestamp guarantees (`kv::oracle`). Entries that are too new for it lead to the superseded versions,
//! as those of RocksDB do. A commit changes pages after RocksDB has applied it and before it is published,
//! when no reader may see it yet. So it does not matter which of the two a reader reads, and when.
//!
//! A page may leave deletions out that its reader need not know of. It then turns away readers of older
//! timestamps, which read RocksDB.
//!
//! Readers hold locks only to find a page and to share it. They read it, and visitors run, without locks. A
//! commit that changes a page which a reader shares changes a copy. All readers write to two cache lines
//! that processors share: the directory's lock, and the page's reference count. That has been measured with
//! two processors only. If many processors contend here, one directory per hash of a key's first bytes, which
//! name its table, would separate them.
//!
//! Lock order: the directory, loads, a page.

mod directory;
mod fill;
mod page;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use fill::{LOAD_BYTES, LOAD_ENTRIES, StoredEntries};
#[cfg(test)]
pub(crate) use page::BYTES_MAX;
pub(crate) use page::Page;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, RwLock};
use directory::{Directory, Leaf};
use kv::{KeyRange, Timestamp};
use std::sync::Arc;

/// The size of a range of more pages is not added up.
const PAGES_COUNTED_MAX: usize = 1_024;

/// A load during which so many of its keys are committed keeps no further page.
const CHANGED_MAX: usize = 1_000;

/// For fewer keys, what their searches read is not asked for ahead.
const WARM_MIN: usize = 8;

/// Entries that a commit puts into pages before other threads may change the directory.
const UPDATE_ENTRIES: usize = 256;

/// The result of looking for a page.
pub(crate) enum Lookup<T> {
    Found(T),
    /// There is no page.
    Missing,
    /// There is a page, but without all that a reader of so old a timestamp needs.
    TooOld,
}

/// A page, and the range of keys of which it holds all entries. An empty end: no bound.
pub(crate) struct PageRange {
    pub page: Arc<Page>,
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

/// The kind of read that has not found a page.
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

/// A range of which pages are being loaded from RocksDB while commits go on.
struct Load {
    id: u64,
    range: KeyRange,
    /// Keys of the range that have been committed since the load began.
    changed: Vec<Vec<u8>>,
    /// The range has been dropped since the load began, or more keys have changed than are remembered.
    void: bool,
}

/// A load that is running, of one page or of several; it ends when this is dropped.
pub(crate) struct PageLoad<'a> {
    cache: &'a RowCache,
    id: u64,
    /// A range that has no page.
    pub range: KeyRange,
}

impl Load {
    fn change(&mut self, key: &[u8]) {
        self.void |= self.changed.len() == CHANGED_MAX;
        if !self.void {
            self.changed.push(key.to_vec());
        }
    }
}

impl Drop for PageLoad<'_> {
    fn drop(&mut self) {
        self.cache.loads.lock().retain(|load| load.id != self.id);
    }
}

/// The part of a range before the first page that starts behind the range's start.
fn up_to_next_page(directory: &Directory, mut range: KeyRange) -> KeyRange {
    if let Some(next) = directory.next_after(&range.start)
        && (range.end.is_empty() || *next < *range.end)
    {
        range.end = next.to_vec();
    }
    range
}

impl RowCache {
    /// With at most about `budget_bytes` of pages; 0: no pages.
    pub fn new(budget_bytes: u64) -> Self {
        Self {
            directory: RwLock::default(),
            loads: Mutex::default(),
            budget_bytes: usize::try_from(budget_bytes).unwrap_or(usize::MAX),
            misses: AtomicU64::new(0),
            next_load: AtomicU64::new(0),
        }
    }

    /// Bytes and number of all pages.
    pub fn size(&self) -> (usize, usize) {
        let directory = self.directory.read();
        (directory.bytes(), directory.len())
    }

    /// How many reads have not found the page that they looked for.
    pub fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    /// Bytes of a range's keys and stored versions, without deletions. `None`: not all of it is in memory, or
    /// it has many pages.
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

    /// The page whose range contains a key.
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

    /// The pages of some keys, by one look at the directory; `None` if there is none that can be used.
    /// What a search of each key in its page reads is then in the processor's cache.
    pub fn pages(&self, keys: &[&[u8]], ts: Timestamp) -> Vec<Option<Arc<Page>>> {
        let mut pages = Vec::with_capacity(keys.len());
        {
            let directory = self.directory.read();
            // Sorted keys that lie close to each other are in one page.
            let mut last: Option<(&[u8], &Leaf)> = None;
            for key in keys {
                let found = directory.at_behind(last, key);
                let at_same_place =
                    matches!((last, found), (Some((_, last)), Some((_, leaf))) if std::ptr::eq(last, leaf));
                last = found;
                let page = match (at_same_place, last) {
                    (true, _) => pages.last().cloned().flatten(),
                    (false, Some((_, leaf))) => {
                        Some(Arc::clone(&leaf.page.read())).filter(|page| page.is_complete_at(ts))
                    }
                    (false, None) => None,
                };
                pages.push(page);
            }
        }
        if keys.len() >= WARM_MIN {
            page::warm(&pages, keys);
        }
        pages
    }

    /// Brings what searches of some keys read into the processor's cache.
    pub fn warm(&self, keys: &[&[u8]], ts: Timestamp) {
        self.pages(keys, ts);
    }

    /// The page that contains all keys of a range, unless it has many deletions, which [`RowCache::from`] removes.
    pub fn page_of(&self, range: &KeyRange, ts: Timestamp) -> Option<Arc<Page>> {
        let directory = self.directory.read();
        let (_, leaf) = directory.at(&range.start)?;
        let has_all = leaf.end().is_empty() || (!range.end.is_empty() && *range.end <= *leaf.end());
        if !has_all {
            return None;
        }
        let page = Arc::clone(&leaf.page.read());
        (page.is_complete_at(ts) && !page.is_cluttered(ts)).then_some(page)
    }

    /// The page that contains the keys from `key` on.
    pub fn from(&self, key: &[u8], ts: Timestamp) -> Lookup<PageRange> {
        self.look_up(key, ts, Directory::at)
    }

    /// The page that contains the keys just before `end`; an empty `end`: no bound.
    pub fn before(&self, end: &[u8], ts: Timestamp) -> Lookup<PageRange> {
        self.look_up(end, ts, Directory::before)
    }

    /// The first page that overlaps a range. For callers that check pages and do not read rows: the page does
    /// not count as used.
    pub fn next_page(&self, range: &KeyRange) -> Option<PageRange> {
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
        Some(PageRange {
            page: Arc::clone(&leaf.page.read()),
            start: start.to_vec(),
            end: leaf.end().to_vec(),
        })
    }

    /// If the page has many deletions, removes them first.
    fn look_up(
        &self,
        key: &[u8],
        ts: Timestamp,
        find: impl for<'a> Fn(&'a Directory, &'a [u8]) -> Option<(&'a [u8], &'a Leaf)>,
    ) -> Lookup<PageRange> {
        let mut may_clear = true;
        loop {
            let cluttered = {
                let directory = self.directory.read();
                let Some((start, leaf)) = find(&directory, key) else {
                    return Lookup::Missing;
                };
                let page = Arc::clone(&leaf.page.read());
                if !page.is_complete_at(ts) {
                    return Lookup::TooOld;
                }
                if !(may_clear && page.is_cluttered(ts)) {
                    return Lookup::Found(PageRange {
                        page,
                        start: start.to_vec(),
                        end: leaf.end().to_vec(),
                    });
                }
                start.to_vec()
            };
            may_clear = false;
            self.directory.write().clear_deletions(&cluttered, ts);
        }
    }

    /// Whether a missing page should be loaded. One read of one key is not worth a page, and where memory is
    /// full only ranges that are read again and again are worth the place of another page.
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

    /// Whether there is room for pages of ranges that may be read once only. The rest is for what is read
    /// again and again.
    pub fn has_room(&self) -> bool {
        self.directory.read().bytes() < self.budget_bytes / 2
    }

    /// The part of a range that a scan which finds no page at its start reads elsewhere: up to the next page.
    pub fn before_next_page(&self, range: &KeyRange) -> KeyRange {
        up_to_next_page(&self.directory.read(), range.clone())
    }

    /// Begins to load pages from the start of `range`, if there is none, up to the next page or the end of
    /// `range`. The entries have to be read after this call.
    pub fn begin_load(&self, range: KeyRange) -> PageLoad<'_> {
        let directory = self.directory.read();
        self.begin_load_where_free(&directory, range)
    }

    /// [`RowCache::begin_load`] for the range between two pages that contains `key`.
    pub fn begin_load_around(&self, key: &[u8]) -> PageLoad<'_> {
        let directory = self.directory.read();
        let start = match directory.end_before(key) {
            None => &[],
            Some(end) if !end.is_empty() && end <= key => end,
            // Another reader has loaded the page in between: this load's page will not be kept.
            Some(_) => key,
        };
        self.begin_load_where_free(&directory, KeyRange::new(start, []))
    }

    fn begin_load_where_free(&self, directory: &Directory, range: KeyRange) -> PageLoad<'_> {
        let range = up_to_next_page(directory, range);
        let id = self.next_load.fetch_add(1, Ordering::Relaxed);
        self.loads.lock().push(Load {
            id,
            range: range.clone(),
            changed: Vec::new(),
            void: false,
        });
        PageLoad {
            cache: self,
            id,
            range,
        }
    }

    /// Whether no further page of a load will be kept.
    pub fn is_void(&self, load: &PageLoad<'_>) -> bool {
        let loads = self.loads.lock();
        loads.iter().any(|running| running.id == load.id && running.void)
    }

    /// Keeps a loaded page, unless a commit has changed its range since the load began. For the thread that
    /// loaded it the page is correct in any case.
    fn keep(&self, load: &PageLoad<'_>, part: &PageRange) {
        let range = KeyRange::new(part.start.as_slice(), part.end.as_slice());
        let mut directory = self.directory.write();
        let is_current = {
            let loads = self.loads.lock();
            loads
                .iter()
                .find(|running| running.id == load.id)
                .is_some_and(|load| !load.void && !load.changed.iter().any(|key| range.contains(key)))
        };
        if is_current && directory.is_free(&range) {
            directory.insert(range, Arc::clone(&part.page));
            directory.shrink(self.budget_bytes);
        }
    }

    /// Puts a commit's keys and stored versions into their pages. One call at a time, after RocksDB has
    /// applied the commit and before it is published.
    pub(super) fn update<'a>(&self, entries: impl Iterator<Item = (&'a [u8], &'a [u8])>) {
        let mut entries = entries.peekable();
        while entries.peek().is_some() {
            let mut large: Vec<Vec<u8>> = Vec::new();
            let directory = self.directory.read();
            {
                let mut loads = self.loads.lock();
                let mut last: Option<(&[u8], &Leaf)> = None;
                for (key, stored) in entries.by_ref().take(UPDATE_ENTRIES) {
                    for load in loads.iter_mut().filter(|load| load.range.contains(key)) {
                        load.change(key);
                    }
                    last = directory.at_behind(last, key);
                    if let Some((start, leaf)) = last
                        && directory.update(leaf, key, stored)
                        && large.last().is_none_or(|last| last != start)
                    {
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

    /// Drops the pages of a range that has been removed from `latest`, or may have been.
    pub fn forget(&self, range: &KeyRange) {
        let mut directory = self.directory.write();
        let mut loads = self.loads.lock();
        for load in loads.iter_mut() {
            load.void = true;
        }
        directory.remove(range);
    }
}
