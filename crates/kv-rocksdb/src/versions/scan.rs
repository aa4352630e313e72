//! Scanning a range, at any timestamp.
//!
//! A scan reads the range page by page ([`crate::latest::cache`]) where pages are in memory or worth loading.
//! What lies between them it reads by an iterator over `latest`; a reverse scan reads all by it from the first
//! page on that is missing. Each page, and the iterator, is as of a moment at or after the snapshot's
//! timestamp. Why it is correct to look for superseded versions later: [`super`].

use super::{Comparison, Versions};
use crate::failure::from_rocksdb;
use crate::latest::PageLoads;
use crate::latest::cache::{Lookup, Page, PageRange, Reads};
use crate::layout::Version;
use kv::{KeyRange, Result, ScanRequest, Visit};
use rocksdb::DBRawIterator;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Stored rows between two checks of the interrupt.
const ROWS_PER_CHECK: u32 = 256;

/// Pages that one scan loads where the cache has little room. A larger scan is not the kind that is repeated
/// often.
const LOADS_MAX: u32 = 8;

/// One scan.
pub(crate) struct Scan<'a> {
    versions: &'a Versions,
    request: ScanRequest<'a>,
    /// Pages loaded while the cache has little room.
    loads: u32,
    loading: Option<PageLoads<'a>>,
    /// Over what is stored in the range: opened where the first page is missing, and moved on for the next ones.
    stored: Option<DBRawIterator<'a>>,
    /// Stored rows since the last check of the interrupt.
    unchecked: u32,
}

impl<'a> Scan<'a> {
    pub fn new(versions: &'a Versions, request: ScanRequest<'a>) -> Self {
        Self {
            versions,
            request,
            loads: 0,
            loading: None,
            stored: None,
            unchecked: 0,
        }
    }

    /// Visits the pairs that a reader of the request's timestamp sees.
    pub fn run(mut self, visit: &mut Visit) -> Result<()> {
        if let Some(page) = self.only_page() {
            if let Some(interrupt) = self.request.interrupt {
                interrupt.check()?;
            }
            let KeyRange { start, end } = self.request.range;
            return self.visit_part(&page, start, end, visit).map(drop);
        }
        let mut rest = self.request.range.clone();
        while !rest.is_empty() {
            let Some(next) = self.next_page(&rest)? else {
                if self.request.reverse {
                    return self.scan_stored_reverse(&rest, visit);
                }
                let gap = self.versions.latest.cache().before_next_page(&rest);
                let flow = self.scan_stored(&gap, visit)?;
                if flow.is_break() || gap.end.is_empty() {
                    return Ok(());
                }
                rest.start = gap.end;
                continue;
            };
            if let Some(interrupt) = self.request.interrupt {
                interrupt.check()?;
            }
            if self.scan_page(&next, &rest, visit)?.is_break() {
                return Ok(());
            }
            if self.request.reverse {
                if next.start.is_empty() {
                    return Ok(());
                }
                rest.end = next.start;
            } else {
                if next.end.is_empty() {
                    return Ok(());
                }
                rest.start = next.end;
            }
        }
        Ok(())
    }

    /// The page that holds the whole range, as most short ranges have one. Such a scan copies no keys.
    fn only_page(&self) -> Option<Arc<Page>> {
        let ScanRequest { range, ts, .. } = self.request;
        match self.versions.compares {
            true => None,
            false => self.versions.latest.cache().page_of(range, ts),
        }
    }

    /// The page with which the scan of `rest` continues. Only a forward scan loads pages.
    fn next_page(&mut self, rest: &KeyRange) -> Result<Option<PageRange>> {
        let latest = &self.versions.latest;
        let ScanRequest {
            ts,
            reverse,
            fills_caches,
            ..
        } = self.request;
        let found = if reverse {
            latest.cache().before(&rest.end, ts)
        } else {
            latest.cache().from(&rest.start, ts)
        };
        match found {
            Lookup::Found(page) => Ok(Some(page)),
            // Rows that are read once do not displace others.
            Lookup::Missing if !reverse && (fills_caches || latest.cache().has_room()) => {
                self.load_page(rest)
            }
            Lookup::Missing | Lookup::TooOld => Ok(None),
        }
    }

    /// Loads the page with which a forward scan of `rest` continues, if it is worth it.
    fn load_page(&mut self, rest: &KeyRange) -> Result<Option<PageRange>> {
        let latest = &self.versions.latest;
        let has_room = latest.cache().has_room();
        if !has_room {
            self.loads += 1;
        }
        match &mut self.loading {
            Some(loading) if has_room && loading.is_at(&rest.start) => loading.load(self.request.ts),
            loading => {
                *loading = None;
                if self.loads > LOADS_MAX || !latest.cache().admits(Reads::Range) {
                    return Ok(None);
                }
                let begun = PageLoads::begin(latest, &rest.start, &rest.end, self.request.fills_caches)?;
                loading.insert(begun).load(self.request.ts)
            }
        }
    }

    /// Visits the part of a page that is within a range.
    fn scan_page(&self, page: &PageRange, range: &KeyRange, visit: &mut Visit) -> Result<ControlFlow<()>> {
        if self.versions.compares {
            Comparison::new(self.versions, self.request.ts).of_scan(page, range)?;
        }
        // A bound that is the page's own need not be searched for.
        let (mut start, mut end) = (&[][..], &[][..]);
        if range.start > page.start {
            start = &range.start;
        }
        if !range.end.is_empty() && (page.end.is_empty() || range.end < page.end) {
            end = &range.end;
        }
        self.visit_part(&page.page, start, end, visit)
    }

    /// Visits the entries of a page from `start` up to `end`; empty: no bound.
    fn visit_part(
        &self,
        page: &Page,
        start: &[u8],
        end: &[u8],
        visit: &mut Visit,
    ) -> Result<ControlFlow<()>> {
        let positions = page.positions(start, end);
        if let Some(values) = page.values(positions.clone(), self.request.ts) {
            return Ok(match self.request.reverse {
                false => visit_values(values, visit),
                true => visit_values(values.rev(), visit),
            });
        }
        let entries = positions.filter_map(|at| page.entry(at));
        match self.request.reverse {
            false => self.visit_entries(entries, visit),
            true => self.visit_entries(entries.rev(), visit),
        }
    }

    /// Visits a part of the range, behind those visited before, as it is stored in RocksDB.
    fn scan_stored(&mut self, part: &KeyRange, visit: &mut Visit) -> Result<ControlFlow<()>> {
        let mut iterator = match self.stored.take() {
            Some(opened) => opened,
            None => {
                let range = KeyRange::new(part.start.as_slice(), self.request.range.end.as_slice());
                self.iterate(&range)?
            }
        };
        iterator.seek(&part.start);
        while let Some((key, stored)) = iterator.item() {
            if !part.end.is_empty() && *key >= *part.end {
                break;
            }
            if self.visit_entry(key, stored, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            self.check_stored_row()?;
            iterator.next();
        }
        iterator.status().map_err(|error| from_rocksdb(&error))?;
        self.stored = Some(iterator);
        Ok(ControlFlow::Continue(()))
    }

    /// Visits the rest of a reverse scan as it is stored in RocksDB.
    fn scan_stored_reverse(&mut self, rest: &KeyRange, visit: &mut Visit) -> Result<()> {
        let mut iterator = self.iterate(rest)?;
        iterator.seek_to_last();
        while let Some((key, stored)) = iterator.item() {
            if self.visit_entry(key, stored, visit)?.is_break() {
                return Ok(());
            }
            self.check_stored_row()?;
            iterator.prev();
        }
        iterator.status().map_err(|error| from_rocksdb(&error))
    }

    fn iterate(&self, range: &KeyRange) -> Result<DBRawIterator<'a>> {
        self.versions.latest.iterate_for(range, self.request.fills_caches)
    }

    /// Counts a stored row, and checks the interrupt from time to time.
    #[inline]
    fn check_stored_row(&mut self) -> Result<()> {
        self.unchecked += 1;
        if self.unchecked == ROWS_PER_CHECK {
            self.unchecked = 0;
            if let Some(interrupt) = self.request.interrupt {
                interrupt.check()?;
            }
        }
        Ok(())
    }

    fn visit_entries<'e>(
        &self,
        entries: impl Iterator<Item = (&'e [u8], &'e [u8])>,
        visit: &mut Visit,
    ) -> Result<ControlFlow<()>> {
        for (key, stored) in entries {
            if self.visit_entry(key, stored, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits the version of an entry of `latest` that the scan sees, if there is one.
    #[inline]
    fn visit_entry(&self, key: &[u8], stored: &[u8], visit: &mut Visit) -> Result<ControlFlow<()>> {
        let version = Version::parse(stored)?;
        if version.ts > self.request.ts {
            let flow = self.versions.superseded.read(key, self.request.ts, |version| {
                version
                    .value
                    .map_or(ControlFlow::Continue(()), |value| visit(key, value))
            })?;
            return Ok(flow.unwrap_or(ControlFlow::Continue(())));
        }
        Ok(match version.value {
            Some(value) => visit(key, value),
            None => {
                let expired = self.versions.latest.expired();
                expired.push_if_unlisted(version.ts, key);
                ControlFlow::Continue(())
            }
        })
    }
}

fn visit_values<'e>(
    values: impl Iterator<Item = (&'e [u8], &'e [u8])>,
    visit: &mut Visit,
) -> ControlFlow<()> {
    for (key, value) in values {
        visit(key, value)?;
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use crate::latest::load_page_around;
    use crate::layout::{Version, push_version};
    use crate::{RocksOptions, RocksStorage, open};
    use kv::{Durability, KeyRange, Reader, ScanRequest, Storage, TxnOptions};
    use std::ops::ControlFlow;
    use std::sync::Arc;

    const CACHE_BYTES: u64 = 512 << 10;

    /// What is read once fills the row cache as far as it has room, and displaces nothing.
    #[test]
    fn a_scan_that_reads_once_fills_half_of_the_row_cache() {
        let dir = tempfile::tempdir().unwrap();
        let options = || RocksOptions {
            row_cache_bytes: CACHE_BYTES,
            ..RocksOptions::small()
        };
        {
            let store = open(dir.path(), options()).unwrap();
            let mut txn = store.begin(TxnOptions::default()).unwrap();
            for n in 0..5_000_u32 {
                txn.put(n.to_be_bytes().to_vec(), vec![7; 200]).unwrap();
            }
            txn.commit(Durability::Sync).unwrap();
        }
        // The writes are in no cache.
        let store = open(dir.path(), options()).unwrap();
        let cached = || {
            let stats = store.stats();
            let bytes = stats.iter().find(|(name, _)| *name == "row_cache_bytes");
            bytes.map_or(0, |(_, bytes)| *bytes as u64)
        };
        let half = CACHE_BYTES / 2;
        let snapshot = store.snapshot_now().unwrap();
        let mut rows = 0;
        let mut visit = |_: &[u8], _: &[u8]| {
            rows += 1;
            ControlFlow::Continue(())
        };
        assert!(cached() < half / 2);
        for _ in 0..3 {
            snapshot.scan_once(&KeyRange::all(), &mut visit).unwrap();
        }
        assert!((half..half + half / 2).contains(&cached()), "{}", cached());
        for _ in 0..3 {
            snapshot.scan(&KeyRange::all(), false, &mut visit).unwrap();
        }
        assert!(cached() > half + half / 2, "{}", cached());
        assert_eq!(rows, 6 * 5_000);
    }

    /// A scan that loads nothing reads the pages that are there, and RocksDB only between them.
    #[test]
    fn pages_behind_a_missing_one_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let options = RocksOptions {
            row_cache_bytes: 32 << 10,
            compare_cached_reads: false,
            ..RocksOptions::small()
        };
        let storage = RocksStorage::open(dir.path(), &options, &Arc::default()).unwrap();
        let latest = &storage.versions.latest;
        let key = |n: usize| format!("k{n:05}").into_bytes();
        let put = |n: usize, value: &[u8]| {
            let mut stored = Vec::new();
            let value = Some(value);
            push_version(&mut stored, Version { ts: 5, value });
            let (db, family) = latest.raw();
            db.put_cf(family, key(n), stored).unwrap();
        };
        (0..3_000).for_each(|n| put(n, b"as the page has it, forty bytes of value"));
        let mut is_cached = vec![false; 3_000];
        for around in (200..3_000).step_by(600) {
            let loaded = load_page_around(latest, &key(around), 9).unwrap().unwrap();
            for (n, is_cached) in is_cached.iter_mut().enumerate() {
                *is_cached |= loaded.page.get(&key(n)).is_some();
            }
        }
        assert!(!latest.cache().has_room());
        (0..3_000).for_each(|n| put(n, b"as RocksDB has it"));

        let mut found = Vec::new();
        let request = ScanRequest {
            range: &KeyRange::new(key(10), key(2_990)),
            ts: 9,
            reverse: false,
            interrupt: None,
            fills_caches: false,
        };
        let visit = &mut |key: &[u8], value: &[u8]| {
            found.push((key.to_vec(), value == b"as RocksDB has it"));
            ControlFlow::Continue(())
        };
        storage.scan(request, visit).unwrap();
        let expected: Vec<_> = (10..2_990).map(|n| (key(n), !is_cached[n])).collect();
        assert!(expected.iter().filter(|(_, stored)| !stored).count() > 100);
        assert!(found == expected);
    }
}
