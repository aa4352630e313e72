//! Loading pages of `latest` into the row cache ([`super::cache`]).

use super::Latest;
use super::cache::{LOAD_BYTES, LOAD_ENTRIES, PageLoad, PageRange, StoredEntries};
use crate::failure::from_rocksdb;
use kv::{KeyRange, Result, Timestamp};
use rocksdb::{DBRawIterator, ErrorKind};

/// How far before the key that is read its page starts, if nothing ends it sooner. Were each page to start at
/// the key that is read, gaps would remain before the pages, smaller and smaller, and less and less likely to
/// be read.
const BEFORE_ENTRIES: usize = LOAD_ENTRIES / 2;
const BEFORE_BYTES: usize = LOAD_BYTES / 2;
const BEFORE_REMOVED: u64 = 1024;

/// Loads pages of a range one after the other. One iterator reads all of them: to open and place one takes as
/// long as to read ten rows.
pub(crate) struct PageLoads<'a> {
    latest: &'a Latest,
    load: PageLoad<'a>,
    stored: DBRawIterator<'a>,
    /// Where the next page starts.
    next: Vec<u8>,
}

impl<'a> PageLoads<'a> {
    /// From `start`, if there is no page, to the next page, and up to `end` at most.
    pub fn begin(latest: &'a Latest, start: &[u8], end: &[u8], fills_blocks: bool) -> Result<Self> {
        let load = latest.cache().begin_load(KeyRange::new(start, end));
        let mut stored = latest.iterate_for(&load.range, fills_blocks)?;
        stored.seek_to_first();
        Ok(Self {
            latest,
            load,
            stored,
            next: start.to_vec(),
        })
    }

    /// Whether the next page starts at a key, and may be kept.
    pub fn is_at(&self, key: &[u8]) -> bool {
        self.next == key && self.load.range.contains(key) && !self.latest.cache().is_void(&self.load)
    }

    /// Loads the next page. Keeps it if nothing in it has been written since the first one began. It is
    /// complete for readers of `ts`. `None`: its first entry is too large for a page.
    pub fn load(&mut self, ts: Timestamp) -> Result<Option<PageRange>> {
        let loaded = fill(self.latest, &self.load, &self.next, &mut self.stored, ts)?;
        if let Some(loaded) = &loaded {
            self.next.clone_from(&loaded.end);
        }
        Ok(loaded)
    }
}

/// Loads the page that contains `key`, if there is none. Keeps it if nothing in it is written meanwhile.
/// It is complete for readers of `ts`. `None`: the key's entry is too large for a page.
pub(crate) fn load_page_around(latest: &Latest, key: &[u8], ts: Timestamp) -> Result<Option<PageRange>> {
    let load = latest.cache().begin_load_around(key);
    let start = start_before(latest, key, &load.range)?;
    let mut stored = latest.iterate(&load.range)?;
    stored.seek(&start);
    let loaded = fill(latest, &load, &start, &mut stored, ts)?;
    Ok(loaded.filter(|loaded| loaded.end.is_empty() || key < loaded.end.as_slice()))
}

fn fill(
    latest: &Latest,
    load: &PageLoad<'_>,
    start: &[u8],
    stored: &mut DBRawIterator<'_>,
    ts: Timestamp,
) -> Result<Option<PageRange>> {
    let left_out = |deleted_ts, key: &[u8]| latest.expired().push_if_unlisted(deleted_ts, key);
    latest.cache().fill(load, start, stored, ts, left_out)
}

/// Where in `range` the page of `key` starts. Looks back a bounded number of entries.
fn start_before(latest: &Latest, key: &[u8], range: &KeyRange) -> Result<Vec<u8>> {
    let mut iterator = latest.iterate_past(range, BEFORE_REMOVED)?;
    iterator.seek_for_prev(key);
    let mut start = key.to_vec();
    let (mut entries, mut bytes) = (0, 0);
    while let Some((key, stored)) = iterator.item() {
        entries += 1;
        bytes += key.len() + stored.len();
        if entries > BEFORE_ENTRIES || bytes > BEFORE_BYTES {
            return Ok(start);
        }
        start.clear();
        start.extend_from_slice(key);
        iterator.prev();
    }
    match iterator.status() {
        Ok(()) => Ok(range.start.clone()),
        Err(error) if error.kind() == ErrorKind::Incomplete => Ok(start),
        Err(error) => Err(from_rocksdb(&error)),
    }
}

impl StoredEntries for DBRawIterator<'_> {
    fn entry(&self) -> Option<(&[u8], &[u8])> {
        self.item()
    }

    fn step(&mut self) {
        self.next();
    }

    fn check(&self) -> Result<()> {
        self.status().map_err(|error| from_rocksdb(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latest::cache::BYTES_MAX;
    use crate::layout::{Version, push_version};
    use crate::{RocksOptions, RocksStorage};
    use std::sync::Arc;
    use tempfile::TempDir;

    fn storage(dir: &TempDir) -> RocksStorage {
        RocksStorage::open(dir.path(), &RocksOptions::small(), &Arc::default()).unwrap()
    }

    fn key(number: usize) -> Vec<u8> {
        format!("k{number:05}").into_bytes()
    }

    fn put(storage: &RocksStorage, number: usize, value: &[u8]) {
        let mut stored = Vec::new();
        let value = Some(value);
        push_version(&mut stored, Version { ts: 5, value });
        let (db, latest) = storage.versions.latest.raw();
        db.put_cf(latest, key(number), stored).unwrap();
    }

    /// The first entry of the page that is loaded around a key, where its range starts, and its length.
    fn load(storage: &RocksStorage, number: usize) -> (Vec<u8>, Vec<u8>, usize) {
        let loaded = load_page_around(&storage.versions.latest, &key(number), 9)
            .unwrap()
            .unwrap();
        assert!(loaded.page.get(&key(number)).is_some());
        let (first, _) = loaded.page.entry(0).unwrap();
        (first.to_vec(), loaded.start.clone(), loaded.page.len())
    }

    #[test]
    fn a_page_reaches_back_to_the_one_before_or_a_few_entries() {
        let dir = tempfile::tempdir().unwrap();
        let storage = storage(&dir);
        for number in 0..500 {
            put(&storage, number, b"value");
        }
        let before = BEFORE_ENTRIES - 1;
        assert_eq!(
            load(&storage, 100),
            (key(100 - before), key(100 - before), LOAD_ENTRIES)
        );
        let end = 100 - before + LOAD_ENTRIES;
        assert_eq!(load(&storage, end + 7), (key(end), key(end), LOAD_ENTRIES));
        // The first of all, and what comes before it.
        assert_eq!(load(&storage, 20), (key(0), Vec::new(), LOAD_ENTRIES));
        // A gap between two pages is filled by one read of it.
        let gap = LOAD_ENTRIES..100 - before;
        assert_eq!(
            load(&storage, gap.start + 1),
            (key(gap.start), key(gap.start), gap.len())
        );
    }

    #[test]
    fn pages_are_loaded_one_after_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let storage = storage(&dir);
        for number in 0..5 * LOAD_ENTRIES {
            put(&storage, number, b"value");
        }
        let latest = &storage.versions.latest;
        let mut loads = PageLoads::begin(latest, b"", b"", true).unwrap();
        let mut next = Vec::new();
        for page in 0..5 {
            assert!(loads.is_at(&next) && !loads.is_at(b"x"));
            if page == 2 {
                // Of the page that comes.
                let (key, stored) = (key(page * LOAD_ENTRIES + 1), 9_u64.to_be_bytes());
                latest
                    .cache()
                    .update([(key.as_slice(), [&stored[..], &[1]].concat().as_slice())].into_iter());
            }
            let loaded = loads.load(9).unwrap().unwrap();
            assert_eq!(
                (&loaded.start, loaded.page.len()),
                (&next, LOAD_ENTRIES),
                "of page {page}"
            );
            next = loaded.end;
        }
        assert!(next.is_empty());
        let is_kept = |page: usize| {
            let key = key(page * LOAD_ENTRIES + 1);
            latest.cache().next_page(&KeyRange::key(key)).is_some()
        };
        let kept: Vec<bool> = (0..5).map(is_kept).collect();
        assert_eq!(kept, [true, true, false, true, true]);
    }

    #[test]
    fn large_entries_before_a_key_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let storage = storage(&dir);
        for number in 0..100 {
            put(&storage, number, &vec![b'x'; BEFORE_BYTES / 3]);
        }
        put(&storage, 50, b"small");
        let (first, start, _) = load(&storage, 50);
        assert_eq!((first, start), (key(48), key(48)));
        put(&storage, 60, &vec![b'x'; BYTES_MAX + 1]);
        assert!(
            load_page_around(&storage.versions.latest, &key(60), 9)
                .unwrap()
                .is_none()
        );
        assert_eq!(load(&storage, 61).1, key(61));
    }

    /// A queue whose first entries were taken, collected, and not compacted away yet.
    #[test]
    fn what_is_gone_before_a_key_is_not_waded_through() {
        let dir = tempfile::tempdir().unwrap();
        let storage = storage(&dir);
        let gone = 3 * usize::try_from(BEFORE_REMOVED).unwrap();
        for number in 0..gone + 10 {
            put(&storage, number, b"value");
        }
        let (db, latest) = storage.versions.latest.raw();
        for number in 1..gone {
            db.delete_cf(latest, key(number)).unwrap();
        }
        assert_eq!(load(&storage, gone), (key(gone), key(gone), 10));
        storage.versions.latest.cache().forget(&KeyRange::all());
        assert_eq!(load(&storage, gone + 4).1, key(gone));
    }
}
