//! Scans in pages, region after region, either way; the next page is on its way while one is visited.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::failure;
use crate::proto::kvrpcpb::*;
use crate::resolve::Passed;
use kv::{KeyRange, ReadAt, Result, Timestamp, Visit};
use std::ops::ControlFlow;

/// Most scans end early: the first page is small.
const FIRST_PAGE_ROWS: u32 = 64;
const PAGE_ROWS_MAX: u32 = 1_024;
/// What a page should not exceed, judging by the page before.
const PAGE_BYTES: usize = 4 << 20;

/// What is left of a scan.
struct Cursor {
    rest: KeyRange,
    reverse: bool,
    key_only: bool,
    ts: Timestamp,
    rows: u32,
    passed: Passed,
}

/// A page on its way.
struct Page {
    sent: Sent<ScanRequest>,
    rows: u32,
}

impl Cluster {
    /// Visits keys (without their prefix) and values of a range.
    pub fn scan(&self, range: &KeyRange, at: ReadAt, reverse: bool, visit: &mut Visit) -> Result<()> {
        self.scan_pages(range, at, (reverse, false), visit)
    }

    /// Visits the keys of a range, with empty values.
    pub fn scan_keys(&self, range: &KeyRange, at: ReadAt, visit: &mut Visit) -> Result<()> {
        self.scan_pages(range, at, (false, true), visit)
    }

    fn scan_pages(
        &self,
        range: &KeyRange,
        ReadAt { ts, interrupt }: ReadAt,
        (reverse, key_only): (bool, bool),
        visit: &mut Visit,
    ) -> Result<()> {
        let mut cursor = Cursor {
            rest: self.keyspace.range(range),
            reverse,
            key_only,
            ts,
            rows: if key_only { PAGE_ROWS_MAX } else { FIRST_PAGE_ROWS },
            passed: Passed::default(),
        };
        let mut backoff = self.backoff(interrupt);
        let mut next = None;
        let mut is_first = true;
        while !cursor.rest.is_empty() || next.is_some() {
            if let Some(interrupt) = interrupt {
                interrupt.check()?;
            }
            let page = match next.take() {
                Some(page) => page,
                None => self.ask_page(&cursor, &mut backoff)?,
            };
            let pairs = self.take_page(&mut cursor, page, &mut backoff)?;
            if !pairs.is_empty() {
                // Progress; patience begins anew.
                backoff = self.backoff(interrupt);
            }
            // Whoever wants a second page seldom stops there.
            if !is_first && !cursor.rest.is_empty() {
                next = Some(self.ask_page(&cursor, &mut backoff)?);
            }
            is_first = false;
            for pair in pairs {
                let Some(key) = self.keyspace.strip(&pair.key) else {
                    return Err(kv::Error::Corrupt("a scan met a key of another keyspace".into()));
                };
                if visit(key, &pair.value).is_break() {
                    return Ok(());
                }
                if let Some(interrupt) = interrupt {
                    interrupt.check()?;
                }
            }
        }
        Ok(())
    }

    fn ask_page(&self, cursor: &Cursor, backoff: &mut Backoff) -> Result<Page> {
        let KeyRange { start, end } = &cursor.rest;
        let region = if cursor.reverse {
            self.region_below(end, backoff)?
        } else {
            self.region(start, backoff)?
        };
        // Bounds of one region; a reverse scan names the upper one first.
        let (start_key, end_key) = if cursor.reverse {
            (end.clone(), start.clone().max(region.start.clone()))
        } else if region.end.is_empty() || region.end > *end {
            (start.clone(), end.clone())
        } else {
            (start.clone(), region.end.clone())
        };
        let mut context = Context::default();
        cursor.passed.fill(&mut context);
        let command = ScanRequest {
            context: Some(context),
            start_key,
            end_key,
            limit: cursor.rows,
            version: cursor.ts,
            key_only: cursor.key_only,
            reverse: cursor.reverse,
        };
        let until = backoff.request(self.options.request_timeout);
        Ok(Page {
            sent: self.send(region, command, until)?,
            rows: cursor.rows,
        })
    }

    /// Waits for a page and moves the cursor behind it. Empty: nothing there, or to be asked again.
    fn take_page(&self, cursor: &mut Cursor, mut page: Page, backoff: &mut Backoff) -> Result<Vec<KvPair>> {
        let answer = match page.sent.wait(backoff.interrupt)? {
            Outcome::Answered(answer) => answer,
            Outcome::Refused(error) => {
                self.refused(&page.sent.region, &error, backoff)?;
                return Ok(Vec::new());
            }
            Outcome::Failed(error) => {
                // Maybe the answer was too large.
                cursor.rows = (page.rows / 16).max(1);
                self.failed(&page.sent.region, &error, backoff)?;
                return Ok(Vec::new());
            }
        };
        let mut pairs = answer.pairs;
        let locked_at = pairs.iter().position(|pair| pair.error.is_some());
        let error = match locked_at {
            Some(position) => pairs.get(position).and_then(|pair| pair.error.clone()),
            None => answer.error,
        };
        if let Some(error) = error {
            let Some(lock) = error.locked else {
                return Err(failure::of_key(&error, cursor.ts));
            };
            // What comes before the lock is good.
            pairs.truncate(locked_at.unwrap_or(0));
            cursor.move_behind(&pairs);
            self.resolve_for_read(&[lock], cursor.ts, &mut cursor.passed, backoff)?;
            return Ok(pairs);
        }
        let is_full = pairs.len() >= usize::try_from(page.rows).unwrap_or(usize::MAX);
        if is_full {
            cursor.move_behind(&pairs);
            cursor.grow(page.rows, &pairs);
        } else {
            cursor.leave_region(&page.sent.region.start, &page.sent.region.end);
        }
        Ok(pairs)
    }
}

impl Cursor {
    fn move_behind(&mut self, pairs: &[KvPair]) {
        let Some(last) = pairs.last() else { return };
        if self.reverse {
            self.rest.end = last.key.to_vec();
        } else {
            self.rest.start = last.key.to_vec();
            self.rest.start.push(0);
        }
        self.end_if_empty();
    }

    fn leave_region(&mut self, region_start: &[u8], region_end: &[u8]) {
        if self.reverse {
            self.rest.end = region_start.to_vec();
        } else if region_end.is_empty() {
            self.rest.start = self.rest.end.clone();
        } else {
            self.rest.start = region_end.to_vec();
        }
        self.end_if_empty();
    }

    /// An empty bound would mean none.
    fn end_if_empty(&mut self) {
        if self.rest.end.is_empty() || self.rest.start >= self.rest.end {
            self.rest = KeyRange::new([1], [1]);
        }
    }

    fn grow(&mut self, rows: u32, pairs: &[KvPair]) {
        let largest = pairs
            .iter()
            .map(|pair| pair.key.len() + pair.value.len())
            .max()
            .unwrap_or(0);
        let fitting = u32::try_from(PAGE_BYTES / largest.max(1)).unwrap_or(u32::MAX);
        self.rows = rows.saturating_mul(4).min(PAGE_ROWS_MAX).min(fitting).max(1);
    }
}

/// For scans that look at everything.
pub const GO_ON: ControlFlow<()> = ControlFlow::Continue(());
