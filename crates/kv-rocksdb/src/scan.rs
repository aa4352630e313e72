//! Scanning a range, at any timestamp.
//!
//! A range is read page by page ([`crate::latest::cache`]) for as long as pages are there or worth loading, and from then on by an
//! iterator over `latest`. Each page, and the iterator, shows a moment at or after the snapshot's timestamp; see
//! [`crate::read`] for why looking for superseded versions later is sound.

use crate::failure::from_rocksdb;
use crate::latest::cache::{Lookup, Part, Reads};
use crate::layout::Version;
use crate::storage::RocksStorage;
use kv::{KeyRange, Result, ScanRequest, Visit};
use std::ops::ControlFlow;

/// How many stored rows to pass between looks at the interrupt.
const ROWS_PER_CHECK: u32 = 256;

/// Pages that one scan loads: one that needs more is not the kind that comes again and again.
const LOADS_MAX: u32 = 8;

impl RocksStorage {
    pub(crate) fn scan_range(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        let mut rest = request.range.clone();
        let mut loads = 0;
        while !rest.is_empty() {
            let Some(part) = self.next_part(&rest, &request, &mut loads)? else {
                let request = ScanRequest {
                    range: &rest,
                    ..request
                };
                return self.scan_stored(request, visit);
            };
            if let Some(interrupt) = request.interrupt {
                interrupt.check()?;
            }
            if self.scan_part(&part, &rest, &request, visit)?.is_break() {
                return Ok(());
            }
            if request.reverse {
                if part.start.is_empty() {
                    return Ok(());
                }
                rest.end = part.start;
            } else {
                if part.end.is_empty() {
                    return Ok(());
                }
                rest.start = part.end;
            }
        }
        Ok(())
    }

    /// The page that the scan of `rest` goes on with. Pages are loaded forwards only.
    fn next_part(&self, rest: &KeyRange, request: &ScanRequest, loads: &mut u32) -> Result<Option<Part>> {
        let found = if request.reverse {
            self.latest.cache().before(&rest.end, request.ts)
        } else {
            self.latest.cache().from(&rest.start, request.ts)
        };
        match found {
            Lookup::Found(part) => Ok(Some(part)),
            Lookup::Missing
                if !request.reverse && *loads < LOADS_MAX && self.latest.cache().admits(Reads::Range) =>
            {
                *loads += 1;
                self.load(&rest.start, &rest.end, request.ts)
            }
            Lookup::Missing | Lookup::TooOld => Ok(None),
        }
    }

    /// Visits what a page has of a range.
    fn scan_part(
        &self,
        part: &Part,
        range: &KeyRange,
        request: &ScanRequest,
        visit: &mut Visit,
    ) -> Result<ControlFlow<()>> {
        if self.compares {
            self.compare_scan(part, range, request.ts)?;
        }
        // What is not the page's own bound already has to be searched for.
        let (mut start, mut end) = (&[][..], &[][..]);
        if range.start > part.start {
            start = &range.start;
        }
        if !range.end.is_empty() && (part.end.is_empty() || range.end < part.end) {
            end = &range.end;
        }
        let positions = part.page.positions(start, end);
        let entries = positions.filter_map(|at| part.page.entry(at));
        match request.reverse {
            false => self.visit_entries(entries, request, visit),
            true => self.visit_entries(entries.rev(), request, visit),
        }
    }

    fn scan_stored(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        let mut iterator = self.latest.iterate(request.range)?;
        if request.reverse {
            iterator.seek_to_last();
        } else {
            iterator.seek_to_first();
        }
        let mut rows = 0_u32;
        while let Some((key, stored)) = iterator.item() {
            if self.visit_entry(key, stored, &request, visit)?.is_break() {
                return Ok(());
            }
            rows += 1;
            if rows == ROWS_PER_CHECK {
                rows = 0;
                if let Some(interrupt) = request.interrupt {
                    interrupt.check()?;
                }
            }
            if request.reverse {
                iterator.prev();
            } else {
                iterator.next();
            }
        }
        iterator.status().map_err(|error| from_rocksdb(&error))
    }

    fn visit_entries<'a>(
        &self,
        entries: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        request: &ScanRequest,
        visit: &mut Visit,
    ) -> Result<ControlFlow<()>> {
        for (key, stored) in entries {
            if self.visit_entry(key, stored, request, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits the version that the request sees of an entry of `latest`, if there is one.
    #[inline]
    fn visit_entry(
        &self,
        key: &[u8],
        stored: &[u8],
        request: &ScanRequest,
        visit: &mut Visit,
    ) -> Result<ControlFlow<()>> {
        let version = Version::parse(stored)?;
        let mut flow = ControlFlow::Continue(());
        if version.ts > request.ts {
            self.read_superseded(key, request.ts, &mut |value| flow = visit(key, value))?;
        } else if let Some(value) = version.value {
            flow = visit(key, value);
        } else if self.history.is_unlisted(version.ts) {
            self.history.expire((version.ts, Box::from(key)));
        }
        Ok(flow)
    }
}
