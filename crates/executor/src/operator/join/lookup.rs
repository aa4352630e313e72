//! Partners that are read from a table by keys which each left row has.

use std::collections::VecDeque;

use arrow::record_batch::RecordBatch;
use types::Result;

use super::page::{Found, Page};
use super::partners::Partners;
use crate::batch::{ALL_ROWS, BATCH_BYTES, batch_bytes};
use crate::env::Env;
use crate::memory::Held;
use crate::operator::BoxOperator;
use crate::operator::scan::Access;
use crate::operator::scan::lookup::{PointRows, TableLookup};

/// How many keys of a range are read at first, where one row may be enough; and how many rows there must be room for to gather
/// those of several left rows.
const FEW_KEYS: usize = 16;

/// Rows of ranges for which there is room from the start.
const ROWS_FIRST: usize = 32;

/// The most left rows whose ranges are opened at a time: what the store brings closer for them fits into the
/// processor's second cache.
const ROWS_AHEAD_MAX: usize = 32;

pub(in crate::operator) struct LookupPartners<'p> {
    table: TableLookup<'p>,
    left: Option<RecordBatch>,
    /// The left row to go on with.
    row: usize,
    /// What is open for the left row.
    open: Option<Open<'p>>,
    /// What that holds.
    held: Held,
    /// The ranges of the next left rows, and how many left rows may be opened together.
    ahead: VecDeque<Access>,
    rows_ahead: usize,
}

enum Open<'p> {
    /// The rows of several left rows. `next`: the next pair.
    Points {
        rows: PointRows,
        next: usize,
    },
    Ranges(Access),
    Locked(BoxOperator<'p>),
}

impl<'p> LookupPartners<'p> {
    pub fn new(table: TableLookup<'p>) -> Self {
        Self {
            table,
            left: None,
            row: 0,
            open: None,
            held: Held::default(),
            ahead: VecDeque::new(),
            rows_ahead: 1,
        }
    }

    /// Fills a page from points, or from rows that entries lead to, which are read for several left rows in one call.
    fn find_points(
        &mut self,
        page: &mut Page,
        found: &[Found],
        left: &RecordBatch,
        env: &Env<'_, '_>,
    ) -> Result<()> {
        let mut open = match self.open.take() {
            Some(Open::Points { rows, next }) => (rows, next),
            _ => {
                let rows = match self.table.is_by_points() {
                    true => self.table.points(left, self.row, env)?,
                    false => match self.gathered(page, left, env)? {
                        Some(rows) => rows,
                        None => return self.find_ranges(page, found, left, env),
                    },
                };
                self.held.resize(batch_bytes(&rows.batch), env.memory)?;
                (rows, 0)
            }
        };
        let (rows, next) = (&open.0, &mut open.1);
        let first = page.add_right(rows.batch.clone());
        let mut last = None;
        while let Some(pair) = rows.pairs.get(*next) {
            if page.is_full() {
                break;
            }
            let row = pair.row as usize;
            let is_settled = found.get(row).is_some_and(|found| page.is_settled(*found))
                || page.settles_at_once() && last == Some(row);
            if !is_settled {
                page.push(row, first + pair.position);
                page.count_bytes(pair.bytes);
                last = Some(row);
            }
            *next += 1;
        }
        match rows.pairs.get(*next) {
            Some(pair) => {
                self.row = pair.row as usize;
                let (rows, next) = open;
                self.open = Some(Open::Points { rows, next });
            }
            None => {
                self.row = rows.until;
                self.held.resize(0, env.memory)?;
            }
        }
        Ok(())
    }

    /// The rows that the entries of the next left rows lead to. `None`: those of the next left row alone are too many or
    /// too large, and have to be read page by page.
    fn gathered(&mut self, page: &Page, left: &RecordBatch, env: &Env<'_, '_>) -> Result<Option<PointRows>> {
        let first = self.row;
        let most = self.table.rows_at_once().min(page.room());
        let mut wanted: Vec<(Vec<u8>, u32)> = Vec::new();
        let mut until = first;
        while until < left.num_rows() && wanted.len() < most {
            self.row = until;
            let ranges = self.ranges(left, env);
            self.row = first;
            let mut ranges = match ranges {
                Ok(ranges) => ranges,
                Err(error) if until == first => return Err(error),
                // It is raised when it is the row's turn.
                Err(_) => break,
            };
            let keys = match ranges.goes_through_entries() {
                true => self
                    .table
                    .keys_of_entries(&mut ranges, most - wanted.len(), env)?,
                false => None,
            };
            let Some(keys) = keys else {
                // They are read again, when it is the row's turn.
                self.ahead.push_front(self.table.ranges(left, until, env)?);
                break;
            };
            let row = until as u32;
            wanted.extend(keys.into_iter().map(|key| (key, row)));
            until += 1;
        }
        env.check_interrupted()?;
        let rows = match until > first {
            true => self.table.gathered(wanted, until, env)?,
            false => None,
        };
        if rows.is_none() && until > first {
            self.ahead.clear();
        }
        Ok(rows)
    }

    /// Fills a page from the ranges of one left row after the other.
    fn find_ranges(
        &mut self,
        page: &mut Page,
        found: &[Found],
        left: &RecordBatch,
        env: &Env<'_, '_>,
    ) -> Result<()> {
        let (mut rows, mut bytes) = (Vec::with_capacity(page.room().min(ROWS_FIRST)), 0);
        while self.row < left.num_rows() && rows.len() < page.room() && bytes < BATCH_BYTES {
            let row = self.row;
            let is_settled = found.get(row).is_some_and(|found| page.is_settled(*found));
            let open = self.open.take();
            if is_settled {
                if open.is_none() {
                    self.ahead.pop_front();
                }
                self.row += 1;
                continue;
            }
            let mut access = match open {
                Some(Open::Ranges(access)) => access,
                _ => self.ranges(left, env)?,
            };
            let needs_one = page.settles_at_once() && !self.table.has_filter();
            let wanted = match page.one_is_enough() {
                _ if needs_one => 1,
                true => (page.room() - rows.len()).min(FEW_KEYS),
                false => page.room() - rows.len(),
            };
            let before = rows.len();
            let mut each = |size| {
                rows.push(row);
                bytes += size;
            };
            let read = self.table.read_ranges(&mut access, wanted, &mut each, env)?;
            self.held.resize(access.held_bytes(), env.memory)?;
            if read == 0 || needs_one && rows.len() > before {
                self.row += 1;
                continue;
            }
            self.open = Some(Open::Ranges(access));
            // What has been read decides whether more is needed.
            if page.one_is_enough() && read >= wanted {
                break;
            }
        }
        let (batch, mask) = self.table.take(env)?;
        let first = page.add_right(batch);
        for (position, row) in rows.into_iter().enumerate() {
            if mask.value(position) {
                page.push(row, first + position as u32);
            }
        }
        Ok(())
    }

    /// The ranges of the left row. Those of some rows after it are computed, too, and announced to the store.
    fn ranges(&mut self, left: &RecordBatch, env: &Env<'_, '_>) -> Result<Access> {
        if let Some(next) = self.ahead.pop_front() {
            return Ok(next);
        }
        // Before those after it: if it fails, none of them is opened.
        let first = self.table.ranges(left, self.row, env)?;
        let until = left.num_rows().min(self.row + self.rows_ahead);
        for row in self.row + 1..until {
            match self.table.ranges(left, row, env) {
                Ok(access) => self.ahead.push_back(access),
                // It is raised when it is the row's turn.
                Err(_) => break,
            }
        }
        self.rows_ahead = (self.rows_ahead * 2).min(ROWS_AHEAD_MAX);
        let all = std::iter::once(&first).chain(&self.ahead);
        self.table.will_read(all, env);
        Ok(first)
    }

    /// Whether the rows of several left rows are read in one call.
    fn reads_several(&self, page: &Page) -> bool {
        match &self.open {
            Some(Open::Points { .. }) => true,
            Some(_) => false,
            None if self.table.is_by_points() => true,
            // Under a small LIMIT the entries of one row may be more than it wants, and would be read twice.
            None => self.table.reads_entries() && !page.one_is_enough() && page.room() >= FEW_KEYS,
        }
    }

    /// Fills a page with rows that are locked.
    fn find_locked(
        &mut self,
        page: &mut Page,
        found: &[Found],
        left: &RecordBatch,
        env: &mut Env<'_, '_>,
    ) -> Result<()> {
        let row = self.row;
        if found.get(row).is_some_and(|found| page.is_settled(*found)) {
            self.open = None;
            self.row += 1;
            return Ok(());
        }
        let mut scan = match self.open.take() {
            Some(Open::Locked(scan)) => scan,
            _ => self.table.locked(left, row, env)?,
        };
        let wanted = match page.wanted {
            _ if page.settles_at_once() => 1,
            ALL_ROWS => ALL_ROWS,
            _ => page.room(),
        };
        match scan.next(env, wanted)? {
            Some(rows) => {
                page.push_rows(row, rows);
                match page.settles_at_once() {
                    true => self.row += 1,
                    false => self.open = Some(Open::Locked(scan)),
                }
            }
            None => self.row += 1,
        }
        Ok(())
    }
}

impl Partners for LookupPartners<'_> {
    fn begin(&mut self, left: &RecordBatch, env: &mut Env<'_, '_>) -> Result<bool> {
        self.left = Some(left.clone());
        (self.row, self.open) = (0, None);
        self.ahead.clear();
        self.held.resize(0, env.memory)?;
        Ok(true)
    }

    fn find(&mut self, page: &mut Page, found: &[Found], env: &mut Env<'_, '_>) -> Result<()> {
        let Some(left) = self.left.take() else {
            return Ok(());
        };
        while self.row < left.num_rows() && !page.is_full() && page.has_room_for_rows() {
            let before = (page.pairs(), self.row);
            match self.table.locking {
                Some(_) => self.find_locked(page, found, &left, env)?,
                None if self.reads_several(page) => self.find_points(page, found, &left, env)?,
                None => self.find_ranges(page, found, &left, env)?,
            }
            // The pairs so far decide whether a row needs more.
            if self.row == before.1 && (page.one_is_enough() || page.pairs() == before.0) {
                break;
            }
        }
        page.set_done(self.row);
        self.left = Some(left);
        Ok(())
    }
}
