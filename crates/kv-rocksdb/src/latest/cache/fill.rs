//! Building a page from what is stored.

use super::page::{BYTES_MAX, ENTRIES_MAX, Page};
use super::{PageLoad, PageRange, RowCache};
use crate::layout::Version;
use kv::{Result, Timestamp};
use std::sync::Arc;

/// Entries of a new page: half of what it may grow to.
pub(crate) const LOAD_ENTRIES: usize = ENTRIES_MAX / 2;
pub(crate) const LOAD_BYTES: usize = BYTES_MAX / 2;

/// The most deletions that one load passes over.
const DELETIONS_MAX: usize = 4096;

/// The stored entries of a range as of one moment, in key order.
pub(crate) trait StoredEntries {
    /// The current key and stored version. `None`: the end.
    fn entry(&self) -> Option<(&[u8], &[u8])>;

    fn step(&mut self);

    /// Fails if anything but the end of the range has ended the iteration.
    fn check(&self) -> Result<()>;
}

impl RowCache {
    /// Builds a page of a load from `stored`, which is at the first entry from `start` on and was opened
    /// after the load began. Keeps the page if nothing in it has been written meanwhile. It is complete for
    /// readers of `ts`: deletions that they need not know of are left out, and passed to `left_out`. `None`:
    /// the first entry is too large for a page.
    pub fn fill(
        &self,
        load: &PageLoad<'_>,
        start: &[u8],
        stored: &mut impl StoredEntries,
        ts: Timestamp,
        mut left_out: impl FnMut(Timestamp, &[u8]),
    ) -> Result<Option<PageRange>> {
        let mut page = Page::for_entries(LOAD_ENTRIES);
        let mut deletions = 0;
        let mut cut = None;
        while let Some((key, bytes)) = stored.entry() {
            let version = Version::parse(bytes)?;
            let is_full = page.len() >= LOAD_ENTRIES
                || page.bytes() + key.len() + bytes.len() > LOAD_BYTES && page.len() > 0;
            if is_full || deletions >= DELETIONS_MAX {
                cut = Some(key.to_vec());
                break;
            }
            if version.value.is_none() && version.ts <= ts {
                page.leave_out(version.ts);
                left_out(version.ts, key);
                deletions += 1;
            } else if !page.push(key, bytes) {
                if key == start {
                    return Ok(None);
                }
                cut = Some(key.to_vec());
                break;
            }
            stored.step();
        }
        stored.check()?;
        page.shrink_to_fit();
        let part = PageRange {
            page: Arc::new(page),
            start: start.to_vec(),
            end: cut.unwrap_or_else(|| load.range.end.clone()),
        };
        self.keep(load, &part);
        Ok(Some(part))
    }
}
