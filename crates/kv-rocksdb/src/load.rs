//! Loading pages of `latest` into memory; see [`crate::latest::cache`].

use crate::failure::from_rocksdb;
use crate::latest::cache::{Entries, LOAD_BYTES, LOAD_ENTRIES, Loading, Part};
use crate::storage::RocksStorage;
use kv::{KeyRange, Result, Timestamp};
use rocksdb::{DBRawIterator, ErrorKind};

/// How far before the key that is read its page begins, if nothing ends it sooner. Pages that began at it would leave gaps
/// before them, ever smaller and ever less likely to be met.
const BEFORE_ENTRIES: usize = LOAD_ENTRIES / 2;
const BEFORE_BYTES: usize = LOAD_BYTES / 2;
const BEFORE_COLLECTED: u64 = 1024;

impl RocksStorage {
    /// Reads the page that starts at `start`, where there is none, up to `end` at most, and keeps it if nothing of it is
    /// written meanwhile. It is good for readers of `ts`. `None`: the first entry is too large for a page.
    pub(crate) fn load(&self, start: &[u8], end: &[u8], ts: Timestamp) -> Result<Option<Part>> {
        let loading = self.latest.cache().begin_load(KeyRange::new(start, end));
        let mut stored = self.latest.iterate(&loading.range)?;
        stored.seek_to_first();
        self.fill(&loading, start, stored, ts)
    }

    /// The same for the page that `key` is in. `None`: it is too large for one.
    pub(crate) fn load_around(&self, key: &[u8], ts: Timestamp) -> Result<Option<Part>> {
        let loading = self.latest.cache().begin_load_around(key);
        let start = self.start_before(key, &loading.range)?;
        let mut stored = self.latest.iterate(&loading.range)?;
        stored.seek(&start);
        let part = self.fill(&loading, &start, stored, ts)?;
        Ok(part.filter(|part| part.end.is_empty() || key < part.end.as_slice()))
    }

    fn fill(
        &self,
        loading: &Loading<'_>,
        start: &[u8],
        stored: DBRawIterator<'_>,
        ts: Timestamp,
    ) -> Result<Option<Part>> {
        let left_out = |deleted_ts, key: &[u8]| {
            if self.history.is_unlisted(deleted_ts) {
                self.history.expire((deleted_ts, Box::from(key)));
            }
        };
        self.latest.cache().fill(loading, start, stored, ts, left_out)
    }

    /// Where in `range` the page of `key` is to begin. What is not known for lack of steps is left to another page.
    fn start_before(&self, key: &[u8], range: &KeyRange) -> Result<Vec<u8>> {
        let mut iterator = self.latest.iterate_short_of(range, BEFORE_COLLECTED)?;
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
}

impl Entries for DBRawIterator<'_> {
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
    use crate::RocksOptions;
    use crate::latest::cache::BYTES_MAX;
    use crate::layout::{Version, push_version};
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
        let (db, latest) = storage.latest.behind_its_back();
        db.put_cf(latest, key(number), stored).unwrap();
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
        let (db, latest) = storage.latest.behind_its_back();
        for number in 1..gone {
            db.delete_cf(latest, key(number)).unwrap();
        }
        assert_eq!(load(&storage, gone), (key(gone), key(gone), 10));
        storage.latest.cache().forget(&KeyRange::all());
        assert_eq!(load(&storage, gone + 4).1, key(gone));
    }
}
