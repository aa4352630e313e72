//! Loading pages of `latest` into memory; see [`crate::cache`].

use crate::cache::{BYTES_MAX, Loading, Page, Part};
use crate::failure::from_rocksdb;
use crate::layout::{LATEST, Version};
use crate::storage::RocksStorage;
use kv::{KeyRange, Result, Timestamp};
use rocksdb::{DBRawIterator, ErrorKind, ReadOptions};
use std::sync::Arc;

/// Entries of a page at first: half of what it may grow to.
const LOAD_ENTRIES: usize = crate::cache::ENTRIES_MAX / 2;
const LOAD_BYTES: usize = BYTES_MAX / 2;

/// Deletions that one load passes over at most.
const DELETIONS_MAX: usize = 4096;

/// How far before the key that is read its page begins, if nothing ends it sooner. Pages that began at it would leave gaps
/// before them, ever smaller and ever less likely to be met.
const BEFORE_ENTRIES: usize = LOAD_ENTRIES / 2;
const BEFORE_BYTES: usize = LOAD_BYTES / 2;
const BEFORE_COLLECTED: u64 = 1024;

impl RocksStorage {
    /// Reads the page that starts at `start`, where there is none, up to `end` at most, and keeps it if nothing of it is
    /// written meanwhile. It is good for readers of `ts`. `None`: the first entry is too large for a page.
    pub(crate) fn load(&self, start: &[u8], end: &[u8], ts: Timestamp) -> Result<Option<Part>> {
        let loading = self.cache.begin_load(KeyRange::new(start, end));
        let mut iterator = self.iterator_over(&loading.range, None)?;
        iterator.seek_to_first();
        self.load_onwards(&loading, start, iterator, ts)
    }

    /// The same for the page that `key` is in. `None`: it is too large for one.
    pub(crate) fn load_around(&self, key: &[u8], ts: Timestamp) -> Result<Option<Part>> {
        let loading = self.cache.begin_load_around(key);
        let start = self.start_before(key, &loading.range)?;
        let mut iterator = self.iterator_over(&loading.range, None)?;
        iterator.seek(&start);
        let part = self.load_onwards(&loading, &start, iterator, ts)?;
        Ok(part.filter(|part| part.end.is_empty() || key < part.end.as_slice()))
    }

    /// Where in `range` the page of `key` is to begin. What is not known for lack of steps is left to another page.
    fn start_before(&self, key: &[u8], range: &KeyRange) -> Result<Vec<u8>> {
        let mut iterator = self.iterator_over(range, Some(BEFORE_COLLECTED))?;
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

    /// With an end of its own behind `collected` entries in a row that are gone and not compacted away yet, if given.
    fn iterator_over(&self, range: &KeyRange, collected: Option<u64>) -> Result<DBRawIterator<'_>> {
        let mut options = ReadOptions::default();
        options.set_max_skippable_internal_keys(collected.unwrap_or(0));
        options.set_iterate_lower_bound(range.start.as_slice());
        if !range.end.is_empty() {
            options.set_iterate_upper_bound(range.end.as_slice());
        }
        Ok(self.db.raw_iterator_cf_opt(self.family(LATEST)?, options))
    }

    /// A page of what `iterator`, which is at the first entry from `start` on, has to give.
    fn load_onwards(
        &self,
        loading: &Loading<'_>,
        start: &[u8],
        mut iterator: DBRawIterator<'_>,
        ts: Timestamp,
    ) -> Result<Option<Part>> {
        let mut page = Page::default();
        let mut deletions = 0;
        let mut cut = None;
        while let Some((key, stored)) = iterator.item() {
            let version = Version::parse(stored)?;
            let is_full = page.len() >= LOAD_ENTRIES
                || page.bytes() + key.len() + stored.len() > LOAD_BYTES && page.len() > 0;
            if is_full || deletions >= DELETIONS_MAX {
                cut = Some(key.to_vec());
                break;
            }
            if version.value.is_none() && version.ts <= ts {
                page.leave_out(version.ts);
                if self.history.is_unlisted(version.ts) {
                    self.history.expire((version.ts, Box::from(key)));
                }
                deletions += 1;
            } else if !page.push(key, stored) {
                if key == start {
                    return Ok(None);
                }
                cut = Some(key.to_vec());
                break;
            }
            iterator.next();
        }
        iterator.status().map_err(|error| from_rocksdb(&error))?;
        page.shrink_to_fit();
        let part = Part {
            page: Arc::new(page),
            start: start.to_vec(),
            end: cut.unwrap_or_else(|| loading.range.end.clone()),
        };
        self.cache.end_load(loading, &part);
        Ok(Some(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RocksOptions;
    use crate::layout::push_version;
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
        let latest = storage.family(LATEST).unwrap();
        storage.db.put_cf(latest, key(number), stored).unwrap();
    }

    /// The first entry of the page that is loaded around a key, where its range starts, and its length.
    fn load(storage: &RocksStorage, number: usize) -> (Vec<u8>, Vec<u8>, usize) {
        let part = storage.load_around(&key(number), 9).unwrap().unwrap();
        assert!(part.page.get(&key(number)).is_some());
        let (first, _) = part.page.entry(0).unwrap();
        (first.to_vec(), part.start.clone(), part.page.len())
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
        assert!(storage.load_around(&key(60), 9).unwrap().is_none());
        assert_eq!(load(&storage, 61).1, key(61));
    }

    /// A queue whose first entries were taken, collected, and not compacted away yet.
    #[test]
    fn what_is_gone_before_a_key_is_not_waded_through() {
        let dir = tempfile::tempdir().unwrap();
        let storage = storage(&dir);
        let gone = 3 * usize::try_from(BEFORE_COLLECTED).unwrap();
        for number in 0..gone + 10 {
            put(&storage, number, b"value");
        }
        let latest = storage.family(LATEST).unwrap();
        for number in 1..gone {
            storage.db.delete_cf(latest, key(number)).unwrap();
        }
        assert_eq!(load(&storage, gone), (key(gone), key(gone), 10));
        storage.cache.forget(&KeyRange::all());
        assert_eq!(load(&storage, gone + 4).1, key(gone));
    }
}
