//! Rows of one stored table.
//!
//! [`access`] finds the rows, and [`rows`] decodes and filters them. [`locked`] and [`locked_keys`] lock them
//! for locking reads, UPDATE, DELETE and INSERT ... SELECT. [`lookup`] finds them for the rows of another
//! input. [`as_of`] reads the past.

mod access;
mod as_of;
pub(crate) mod counted;
mod group_ends;
mod layout;
mod locked;
mod locked_keys;
pub(crate) mod lookup;
mod merged;
mod pages;
mod partitions;
mod rows;
pub(crate) mod stored;

use std::time::Instant;

use arrow::record_batch::RecordBatch;
use functions::EvalContext;
use kv::{Reader, Snapshot};
use planner::plan::{self, Locking, Measure, TableScan};
use types::{Error, Result, Value, errno};

pub(crate) use self::access::Access;
pub(crate) use self::access::LOOKUP_ROWS;
use self::locked::LockedScan;
use self::locked_keys::LockedKeys;
pub(crate) use self::pages::{RangePages, Visit};
use self::rows::Rows;
use super::filter::split;
use super::{BoxOperator, Operator};
use crate::batch::{BATCH_ROWS, keep};
use crate::env::Env;
use crate::memory::Held;
use crate::row_checks::RowChecks;

/// Opens a scan: evaluates its keys and ranges. `with_keys` adds a column with the rows' keys, for statements
/// that change them.
pub(crate) fn open<'p>(
    scan: &'p TableScan,
    locking: Option<Locking>,
    with_keys: bool,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    open_for(scan, locking, with_keys, Vec::new(), env)
}

/// Opens a scan for one row of another input. `row`: the values of that row's columns.
fn open_for<'p>(
    scan: &'p TableScan,
    locking: Option<Locking>,
    with_keys: bool,
    row: Vec<Value>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let eval = env.eval();
    let past = past(scan, locking, env)?;
    let mut opened = access::open(scan, locking.is_some() || with_keys, &row, eval)?;
    let rows = Rows::new(scan, opened.covering, opened.index, with_keys, eval)?;
    Ok(match locking {
        Some(locking) => match opened.access.take_keys() {
            Some(keys) => Box::new(LockedKeys::new(keys, rows, locking, scan.place())),
            None => Box::new(LockedScan::new(
                (scan, row),
                with_keys,
                opened.access,
                rows,
                locking,
            )),
        },
        None => Box::new(Scan {
            access: opened.access,
            held: Held::default(),
            checks: match scan.access {
                plan::Access::Full { .. } => RowChecks::of_filter(scan, rows.constant_filter()),
                _ => RowChecks::default(),
            },
            rows,
            past,
            ask: 1,
            rest: None,
            measure: scan.read.as_ref().inspect(|measure| measure.begin_loop()),
            is_first: true,
        }),
    })
}

/// The moment that a scan reads, if it is not the statement's. Fails if the table had another definition then.
fn past(scan: &TableScan, locking: Option<Locking>, env: &Env<'_, '_>) -> Result<Option<Snapshot>> {
    let past = match &scan.as_of {
        Some(_) if locking.is_some() => {
            return Err(Error::new(
                errno::ER_WRONG_USAGE,
                "Incorrect usage of AS OF TIMESTAMP and locking or changing rows",
            ));
        }
        Some(moment) => Some(as_of::snapshot(moment, scan.table.id, env)?),
        None => None,
    };
    if locking.is_none() {
        let ts = past.as_ref().map_or_else(|| env.source.ts(), Snapshot::ts);
        scan.table.check_readable_at(ts)?;
    }
    Ok(past)
}

/// A scan's access path, for callers that read stored rows. Index entries always lead to their rows.
pub(crate) fn open_rows(scan: &TableScan, eval: &EvalContext) -> Result<Access> {
    access::open(scan, true, &[], eval).map(|opened| opened.access)
}

/// The rows of the next page of some of a scan's ranges, those that satisfy its filter; `None`: there are no more. For plain
/// reads of rows or of entries that hold all columns.
pub(crate) fn page(
    scan: &TableScan,
    pages: &mut RangePages,
    reader: &dyn Reader,
    eval: &EvalContext,
) -> Result<Option<RecordBatch>> {
    let covering = match scan.access {
        plan::Access::IndexRanges { index, .. } => Some(index),
        _ => None,
    };
    let mut rows = Rows::new(scan, covering, None, false, eval)?;
    let read = pages.next(reader, BATCH_ROWS, &mut |key, value| rows.push(key, value))?;
    if read == 0 {
        return Ok(None);
    }
    let batch = rows.take()?;
    match rows.has_filter() {
        true => keep(&batch, &rows.filter(&batch, eval)?).map(Some),
        false => Ok(Some(batch)),
    }
}

/// A plain read: takes no locks.
struct Scan<'p> {
    access: Access,
    held: Held,
    /// What of the filter is decided on a row's bytes, where all rows of a table are read.
    checks: RowChecks,
    rows: Rows<'p>,
    /// Set by AS OF TIMESTAMP: it is read instead of the statement's source.
    past: Option<Snapshot>,
    /// How many rows to read. It grows while few of them pass the filter.
    ask: usize,
    /// Rows that passed, beyond the number that was asked for.
    rest: Option<RecordBatch>,
    measure: Option<&'p Measure>,
    is_first: bool,
}

impl Operator for Scan<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.rest.take() {
                let (now, later) = split(batch, wanted);
                self.rest = later;
                return Ok(Some(now));
            }
            env.check_interrupted()?;
            self.ask = self.ask.max(wanted).min(BATCH_ROWS);
            let reader: &dyn Reader = match &self.past {
                Some(past) => past,
                None => env.source.reader(),
            };
            let consistent = self.past.is_some() || env.source.is_consistent();
            let (access, rows, checks) = (&mut self.access, &mut self.rows, &mut self.checks);
            let start = self.measure.map(|_| Instant::now());
            let read = access.next(reader, self.ask, consistent, &mut |key, value| match checks
                .may_hold(value)
            {
                true => rows.push(key, value),
                false => Ok(()),
            })?;
            counted::count(env.eval(), rows.scan(), read);
            if let (Some(measure), Some(start)) = (self.measure, start) {
                let is_first = std::mem::replace(&mut self.is_first, false);
                measure.called(start.elapsed(), read, is_first);
            }
            if read == 0 {
                return Ok(None);
            }
            self.held.resize(access.held_bytes(), env.memory)?;
            let mut batch = rows.take()?;
            if rows.has_filter() {
                self.ask *= if rows.filters_ahead() { 4 } else { 1 };
                batch = keep(&batch, &rows.filter(&batch, env.eval())?)?;
            }
            self.rest = (batch.num_rows() > 0).then_some(batch);
        }
    }
}
