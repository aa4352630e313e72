//! Range scans in pages, region after region, in either direction. The next page is requested while one is
//! visited.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::failure;
use crate::proto::kvrpcpb::*;
use crate::resolve::{self, BypassedLocks};
use kv::{KeyRange, ReadAt, Result, Timestamp, Visit};
use std::ops::ControlFlow;

/// Most scans end early, so the first page is small.
const FIRST_PAGE_ROWS: u32 = 64;
const PAGE_ROWS_MAX: u32 = 1_024;
/// The size a page should not exceed, estimated from the page before.
const PAGE_BYTES: usize = 4 << 20;

/// The rest of a scan.
struct Cursor {
    rest: KeyRange,
    reverse: bool,
    key_only: bool,
    ts: Timestamp,
    rows: u32,
    bypassed: BypassedLocks,
}

/// A page that has been requested.
struct Page {
    sent: Sent<ScanRequest>,
    rows: u32,
}

/// Visits the keys (without their prefix) and values of a range.
pub fn visit(
    cluster: &Cluster,
    range: &KeyRange,
    at: ReadAt,
    reverse: bool,
    visit: &mut Visit,
) -> Result<()> {
    visit_pages(cluster, range, at, (reverse, false), visit)
}

/// Visits the keys of a range, with empty values.
pub fn visit_keys(cluster: &Cluster, range: &KeyRange, at: ReadAt, visit: &mut Visit) -> Result<()> {
    visit_pages(cluster, range, at, (false, true), visit)
}

fn visit_pages(
    cluster: &Cluster,
    range: &KeyRange,
    ReadAt { ts, interrupt }: ReadAt,
    (reverse, key_only): (bool, bool),
    visit: &mut Visit,
) -> Result<()> {
    let mut cursor = Cursor {
        rest: cluster.keyspace.range(range),
        reverse,
        key_only,
        ts,
        rows: if key_only { PAGE_ROWS_MAX } else { FIRST_PAGE_ROWS },
        bypassed: BypassedLocks::default(),
    };
    let mut backoff = cluster.backoff(interrupt);
    let mut next = None;
    let mut is_first = true;
    while !cursor.rest.is_empty() || next.is_some() {
        if let Some(interrupt) = interrupt {
            interrupt.check()?;
        }
        let page = match next.take() {
            Some(page) => page,
            None => ask_page(cluster, &cursor, &mut backoff)?,
        };
        let pairs = take_page(cluster, &mut cursor, page, &mut backoff)?;
        if !pairs.is_empty() {
            // There was progress, so the retry budget starts again.
            backoff = cluster.backoff(interrupt);
        }
        // A scan that needs a second page usually needs more.
        if !is_first && !cursor.rest.is_empty() {
            next = Some(ask_page(cluster, &cursor, &mut backoff)?);
        }
        is_first = false;
        for pair in pairs {
            let Some(key) = cluster.keyspace.strip(&pair.key) else {
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

fn ask_page(cluster: &Cluster, cursor: &Cursor, backoff: &mut Backoff) -> Result<Page> {
    let KeyRange { start, end } = &cursor.rest;
    let region = if cursor.reverse {
        cluster.region_below(end, backoff)?
    } else {
        cluster.region(start, backoff)?
    };
    // The bounds within one region. A reverse scan sends the upper bound first.
    let (start_key, end_key) = if cursor.reverse {
        (end.clone(), start.clone().max(region.start.clone()))
    } else if region.end.is_empty() || region.end > *end {
        (start.clone(), end.clone())
    } else {
        (start.clone(), region.end.clone())
    };
    let mut context = Context::default();
    cursor.bypassed.fill(&mut context);
    let command = ScanRequest {
        context: Some(context),
        start_key,
        end_key,
        limit: cursor.rows,
        version: cursor.ts,
        key_only: cursor.key_only,
        reverse: cursor.reverse,
    };
    let until = backoff.request(cluster.options.request_timeout);
    Ok(Page {
        sent: cluster.send(region, command, until)?,
        rows: cursor.rows,
    })
}

/// Waits for a page and moves the cursor behind it. An empty page: the range is empty, or the page has
/// to be requested again.
fn take_page(
    cluster: &Cluster,
    cursor: &mut Cursor,
    mut page: Page,
    backoff: &mut Backoff,
) -> Result<Vec<KvPair>> {
    let answer = match page.sent.wait(backoff.interrupt)? {
        Outcome::Answered(answer) => answer,
        Outcome::Refused(error) => {
            cluster.refused(&page.sent.region, &error, backoff)?;
            return Ok(Vec::new());
        }
        Outcome::Failed(error) => {
            // The response may have been too large.
            cursor.rows = (page.rows / 16).max(1);
            cluster.failed(&page.sent.region, &error, backoff)?;
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
        // The pairs before the lock are valid.
        pairs.truncate(locked_at.unwrap_or(0));
        cursor.move_behind(&pairs);
        resolve::for_read(cluster, &[lock], cursor.ts, &mut cursor.bypassed, backoff)?;
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

    /// An empty bound would mean no bound.
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

/// For visitors that read the whole range.
pub const GO_ON: ControlFlow<()> = ControlFlow::Continue(());
