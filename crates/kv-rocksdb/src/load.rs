//! Loading pages of `latest` into memory; see [`crate::cache`].

use crate::cache::{BYTES_MAX, Loading, Page, Part};
use crate::failure::from_rocksdb;
use crate::layout::{LATEST, Version};
use crate::storage::RocksStorage;
use kv::{KeyRange, Result, Timestamp};
use rocksdb::{DBRawIterator, ReadOptions};
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

impl RocksStorage {
    /// Reads the page that starts at `start`, where there is none, up to `end` at most, and keeps it if nothing of it is
    /// written meanwhile. It is good for readers of `ts`. `None`: the first entry is too large for a page.
    pub(crate) fn load(&self, start: &[u8], end: &[u8], ts: Timestamp) -> Result<Option<Part>> {
        let loading = self.cache.begin_load(KeyRange::new(start, end));
        let mut iterator = self.iterator_over(&loading.range)?;
        iterator.seek_to_first();
        self.load_onwards(&loading, start, iterator, ts)
    }

    /// The same for the page that `key` is in. `None`: it is too large for one.
    pub(crate) fn load_around(&self, key: &[u8], ts: Timestamp) -> Result<Option<Part>> {
        let loading = self.cache.begin_load_around(key);
        let mut iterator = self.iterator_over(&loading.range)?;
        iterator.seek_for_prev(key);
        let mut start = key.to_vec();
        let (mut entries, mut bytes) = (0, 0);
        loop {
            let Some((key, stored)) = iterator.item() else {
                iterator.status().map_err(|error| from_rocksdb(&error))?;
                start.clone_from(&loading.range.start);
                break;
            };
            entries += 1;
            bytes += key.len() + stored.len();
            if entries > BEFORE_ENTRIES || bytes > BEFORE_BYTES {
                break;
            }
            start.clear();
            start.extend_from_slice(key);
            iterator.prev();
        }
        iterator.seek(&start);
        let part = self.load_onwards(&loading, &start, iterator, ts)?;
        Ok(part.filter(|part| part.end.is_empty() || key < part.end.as_slice()))
    }

    fn iterator_over(&self, range: &KeyRange) -> Result<DBRawIterator<'_>> {
        let mut options = ReadOptions::default();
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
