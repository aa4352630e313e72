//! Loading pages of `latest` into memory; see [`crate::cache`].

use crate::cache::{BYTES_MAX, Page, Part};
use crate::failure::from_rocksdb;
use crate::layout::{LATEST, Version};
use crate::storage::RocksStorage;
use kv::{Result, Timestamp};
use rocksdb::ReadOptions;
use std::sync::Arc;

/// Entries of a page at first: half of what it may grow to.
const LOAD_ENTRIES: usize = crate::cache::ENTRIES_MAX / 2;
const LOAD_BYTES: usize = BYTES_MAX / 2;

/// Deletions that one load passes over at most.
const DELETIONS_MAX: usize = 4096;

impl RocksStorage {
    /// Reads the page that starts at `start`, where there is none, up to `end` at most, and keeps it if nothing of it is
    /// written meanwhile. It is good for readers of `ts`. `None`: the first entry is too large for a page.
    pub(crate) fn load(&self, start: &[u8], end: &[u8], ts: Timestamp) -> Result<Option<Part>> {
        let loading = self.cache.begin_load(start, end);
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(start);
        if !loading.range.end.is_empty() {
            options.set_iterate_upper_bound(loading.range.end.as_slice());
        }
        let mut iterator = self.db.raw_iterator_cf_opt(self.family(LATEST)?, options);
        iterator.seek_to_first();
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
        self.cache.end_load(&loading, &part.page, &part.end);
        Ok(Some(part))
    }
}
