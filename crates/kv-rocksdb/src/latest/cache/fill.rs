//! Making a page of what is stored.

use super::page::{BYTES_MAX, ENTRIES_MAX, Page};
use super::{Loading, Part, RowCache};
use crate::layout::Version;
use kv::{Result, Timestamp};
use std::sync::Arc;

/// Entries of a page at first: half of what it may grow to.
pub(crate) const LOAD_ENTRIES: usize = ENTRIES_MAX / 2;
pub(crate) const LOAD_BYTES: usize = BYTES_MAX / 2;

/// Deletions that one load passes over at most.
const DELETIONS_MAX: usize = 4096;

/// What is stored in a range, as it was at one moment, in key order.
pub(crate) trait Entries {
    /// Key and stored version.
    fn entry(&self) -> Option<(&[u8], &[u8])>;

    fn step(&mut self);

    /// Whether nothing but the end of the range has ended them.
    fn check(&self) -> Result<()>;
}

impl RowCache {
    /// Ends a load with a page of `stored`, which is at the first entry from `start` on and has been asked for after the load
    /// began. Keeps the page, which is good for readers of `ts`, if nothing of it has been written meanwhile. What the page leaves out, deletions that readers of `ts` need not know of, is
    /// told to `left_out`. `None`: the first entry is too large for a page.
    pub fn fill(
        &self,
        loading: &Loading<'_>,
        start: &[u8],
        mut stored: impl Entries,
        ts: Timestamp,
        mut left_out: impl FnMut(Timestamp, &[u8]),
    ) -> Result<Option<Part>> {
        let mut page = Page::default();
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
        let part = Part {
            page: Arc::new(page),
            start: start.to_vec(),
            end: cut.unwrap_or_else(|| loading.range.end.clone()),
        };
        self.end_load(loading, &part);
        Ok(Some(part))
    }
}
