//! Locking reads of ranges: `FOR UPDATE`, `FOR SHARE`, the rows that UPDATE and DELETE change, and those that
//! INSERT ... SELECT reads.
//!
//! All rows that a statement needs are locked before the first is returned, in passes. A pass reads one
//! moment (and the transaction's own writes) and locks the rows that pass the filter. If a lock had to wait,
//! or a row has changed since it was read, rows that the pass left out may match now: the next pass reads the
//! whole range at a new moment and keeps the locks. This ends, since every such pass locks at least one more
//! row, which no other transaction changes any longer. So the returned rows are all that match at one moment,
//! in order, and no other transaction has changed them since.
//!
//! An optimistic transaction searches its own snapshot, as its writes do. A row that has changed since fails with
//! 9007.
//!
//! Rows that do not match are not locked, as under READ COMMITTED. Gaps between rows are never locked. The
//! statement's own search does not see what the statement writes.

use std::collections::{HashSet, VecDeque};

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use functions::EvalContext;
use kv::{LockMode, LockOptions, LockWait, Locked, Snapshot, View};
use planner::plan::{Locking, LockingWait, TableScan};
use types::{Error, Result, Value};

use super::super::filter::split;
use super::access::{self, Access};
use super::rows::Rows;
use crate::batch::{ALL_ROWS, BATCH_BYTES, BATCH_ROWS, batch_bytes, keep};
use crate::context::ExecContext;
use crate::env::Env;
use crate::memory::{Held, KEY_ENTRY_BYTES};
use crate::operator::Operator;

/// This many passes end at the first change that they meet. Later passes go on to the end of the range and
/// lock what they find; otherwise a statement among many writers might never end.
const SHORT_PASSES: usize = 3;

pub(super) struct LockedScan<'p> {
    scan: &'p TableScan,
    /// The values of the columns that the scan's keys and ranges name; empty if they name none.
    row: Vec<Value>,
    with_keys: bool,
    locking: Locking,
    rows: Rows<'p>,
    /// The position of this pass.
    access: Access,
    /// The moment that this pass reads; `None` before the first.
    moment: Option<Snapshot>,
    passes: usize,
    /// The rows of this pass that have been found and are not locked yet.
    candidates: VecDeque<Candidate>,
    ask: usize,
    /// Rows that are locked and have not been returned yet.
    ready: VecDeque<RecordBatch>,
    /// Whether reading the rows again would return the same rows.
    is_repeatable: bool,
    /// Reads the rows that were locked but not held in memory.
    second: Option<SecondRead<'p>>,
    /// Rows that must not be returned: those that have been returned, and, with SKIP LOCKED, those that other
    /// transactions have locked.
    excluded: HashSet<Vec<u8>>,
    excluded_bytes: usize,
    /// What is counted: the keys that are held of rows, beside the rows themselves.
    held: Held,
    has_ended: bool,
}

/// A row as the pass has read it.
struct Candidate {
    key: Vec<u8>,
    value: Vec<u8>,
}

/// The rows that one call has locked.
#[derive(Default)]
struct Taken {
    batches: VecDeque<RecordBatch>,
    /// The keys of all of them, if more rows may be asked for later.
    keys: Vec<Vec<u8>>,
    key_bytes: usize,
    has_limit: bool,
    rows: usize,
    bytes: usize,
    /// Set if not all of them are held in memory, so that they must be read again.
    is_partial: bool,
}

impl<'p> LockedScan<'p> {
    pub fn new(
        (scan, row): (&'p TableScan, Vec<Value>),
        with_keys: bool,
        access: Access,
        rows: Rows<'p>,
        locking: Locking,
    ) -> Self {
        Self {
            scan,
            row,
            with_keys,
            locking,
            rows,
            access,
            moment: None,
            passes: 0,
            candidates: VecDeque::new(),
            ask: 1,
            ready: VecDeque::new(),
            is_repeatable: scan.filter.as_ref().is_none_or(functions::is_deterministic),
            second: None,
            excluded: HashSet::new(),
            excluded_bytes: 0,
            held: Held::default(),
            has_ended: false,
        }
    }

    /// Locks the next `wanted` rows, or all that remain.
    fn take(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<()> {
        let warned = env.eval().warnings.count();
        let mut taken = Taken::new(wanted);
        let mut view = self.view(env)?;
        let mut is_disturbed = false;
        while taken.rows < wanted {
            env.check_interrupted()?;
            let has_more =
                !self.candidates.is_empty() || self.find(&view, wanted - taken.rows, env.eval())?;
            if has_more {
                is_disturbed |= self.lock(wanted - taken.rows, &mut taken, env)?;
            }
            let is_over = !has_more || taken.rows >= wanted;
            if is_disturbed && (is_over || self.passes <= SHORT_PASSES) {
                self.begin_pass(env)?;
                view = self.view(env)?;
                taken = Taken::new(wanted);
                drop(env.eval().warnings.take_back(warned));
                is_disturbed = false;
            } else if !has_more {
                self.has_ended = true;
                break;
            }
        }
        if taken.is_partial {
            self.second = Some(SecondRead {
                access: access::open(self.scan, true, &self.row, env.eval())?.access,
                rows: Rows::new(self.scan, None, None, self.with_keys, env.eval())?,
                view,
                left: taken.rows,
                excluded: self.excluded.clone(),
                rest: None,
            });
            // The second read evaluates the filter again, which warns again.
            drop(env.eval().warnings.take_back(warned));
        }
        self.ready = taken.batches;
        if !self.has_ended {
            for key in taken.keys {
                self.exclude(key);
            }
        }
        // The second read has a copy.
        let copies = if self.second.is_some() { 2 } else { 1 };
        self.held.resize(self.excluded_bytes * copies, env.memory)
    }

    /// What a pass sees: the data at its moment, and the transaction's writes.
    fn view(&mut self, env: &mut Env<'_, '_>) -> Result<View> {
        let txn = env.source.transaction()?;
        let moment = match &self.moment {
            Some(moment) => moment.clone(),
            None => txn.locking_snapshot()?,
        };
        self.passes = self.passes.max(1);
        Ok(txn.view_at(self.moment.insert(moment).clone()))
    }

    fn exclude(&mut self, key: Vec<u8>) {
        let bytes = key.len() + KEY_ENTRY_BYTES;
        if self.excluded.insert(key) {
            self.excluded_bytes += bytes;
        }
    }

    fn begin_pass(&mut self, env: &mut Env<'_, '_>) -> Result<()> {
        self.moment = Some(env.source.transaction()?.newest_snapshot()?);
        self.passes += 1;
        self.access = access::open(self.scan, true, &self.row, env.eval())?.access;
        self.candidates.clear();
        self.ask = 1;
        Ok(())
    }

    /// Reads a page and collects the rows that pass the filter; `false` if the range is finished.
    fn find(&mut self, view: &View, wanted: usize, eval: &EvalContext) -> Result<bool> {
        self.ask = self.ask.max(wanted).min(BATCH_ROWS);
        loop {
            let (rows, candidates) = (&mut self.rows, &mut self.candidates);
            let has_filter = rows.has_filter();
            let read = self.access.next(view, self.ask, true, &mut |key, value| {
                candidates.push_back(Candidate {
                    key: key.to_vec(),
                    value: value.to_vec(),
                });
                if has_filter { rows.push(key, value) } else { Ok(()) }
            })?;
            super::counted::count(eval, self.scan, read);
            if read == 0 {
                return Ok(false);
            }
            if has_filter {
                let factor = if rows.filters_ahead() { 4 } else { 1 };
                self.ask = (self.ask * factor).min(BATCH_ROWS);
                let batch = rows.take()?;
                let mask = rows.filter(&batch, eval)?;
                let mut passes = mask.iter().map(|pass| pass == Some(true));
                candidates.retain(|_| passes.next().unwrap_or(false));
            }
            if !candidates.is_empty() {
                return Ok(true);
            }
            eval.check_interrupted()?;
        }
    }

    /// Locks the next candidates; `true` if a lock had to wait, or if one of them has changed since it was
    /// read.
    fn lock(&mut self, wanted: usize, taken: &mut Taken, env: &mut Env<'_, '_>) -> Result<bool> {
        let count = self.candidates.len().min(wanted).min(BATCH_ROWS);
        let mut keys = Vec::with_capacity(count);
        let mut values = Vec::with_capacity(count);
        for Candidate { key, value } in self.candidates.drain(..count) {
            if !self.excluded.contains(&key) {
                keys.push(key);
                values.push(value);
            }
        }
        let options = lock_options(self.locking, env.ctx);
        let txn = env.source.transaction()?;
        let waits = txn.lock_waits();
        let locked = txn.lock(&keys, &options)?;
        // A skipped row has not been waited for. An optimistic transaction reads one moment only.
        let is_optimistic = txn.is_optimistic();
        let has_one_pass = is_optimistic || self.locking.wait == LockingWait::SkipLocked;
        let mut is_disturbed = !has_one_pass && txn.lock_waits() != waits;
        for ((key, read), locked) in keys.into_iter().zip(values).zip(locked) {
            match locked {
                Locked::Value(Some(value)) if value == read => {
                    taken.rows += 1;
                    if !taken.is_partial {
                        self.rows.push(&key, &value)?;
                    }
                    if taken.has_limit {
                        taken.key_bytes += key.len() + size_of::<Vec<u8>>();
                        taken.keys.push(key);
                    }
                }
                Locked::Value(_) if is_optimistic => return Err(kv::Error::LockedHasChanged.into()),
                Locked::Value(_) => is_disturbed = true,
                Locked::Skipped => self.exclude(key),
            }
        }
        let keys = self.excluded_bytes + taken.key_bytes + self.access.held_bytes();
        self.held.resize(keys, env.memory)?;
        let batch = self.rows.take()?;
        if batch.num_rows() > 0 {
            match self.is_repeatable {
                true => taken.keep(batch),
                false => {
                    env.memory.grow(batch_bytes(&batch))?;
                    taken.batches.push_back(batch);
                }
            }
        }
        Ok(is_disturbed)
    }
}

impl Taken {
    fn new(wanted: usize) -> Self {
        Self {
            has_limit: wanted != ALL_ROWS,
            ..Self::default()
        }
    }

    fn keep(&mut self, batch: RecordBatch) {
        self.bytes += batch_bytes(&batch);
        self.is_partial = self.bytes > BATCH_BYTES && !self.batches.is_empty();
        match self.is_partial {
            true => self.batches.clear(),
            false => self.batches.push_back(batch),
        }
    }
}

impl Operator for LockedScan<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                let (now, later) = split(batch, wanted);
                if let Some(later) = later {
                    self.ready.push_front(later);
                }
                return Ok(Some(now));
            }
            if let Some(second) = &mut self.second {
                if let Some(batch) = second.next(env, wanted)? {
                    return Ok(Some(batch));
                }
                self.second = None;
            }
            if self.has_ended {
                return Ok(None);
            }
            self.take(env, wanted)?;
        }
    }
}

/// Reads locked rows that were too many to hold in memory, as the last pass saw them.
struct SecondRead<'p> {
    view: View,
    access: Access,
    rows: Rows<'p>,
    left: usize,
    excluded: HashSet<Vec<u8>>,
    rest: Option<RecordBatch>,
}

impl SecondRead<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            env.check_interrupted()?;
            let batch = match self.rest.take() {
                Some(batch) => batch,
                None => match self.read(env.eval())? {
                    Some(batch) => batch,
                    None => return Err(Error::internal("locked rows have disappeared")),
                },
            };
            let (now, later) = split(batch, wanted.min(self.left));
            self.rest = later;
            self.left -= now.num_rows();
            if now.num_rows() > 0 {
                return Ok(Some(now));
            }
        }
        Ok(None)
    }

    fn read(&mut self, eval: &EvalContext) -> Result<Option<RecordBatch>> {
        let (rows, excluded) = (&mut self.rows, &self.excluded);
        let read = self
            .access
            .next(&self.view, BATCH_ROWS, true, &mut |key, value| {
                if excluded.contains(key) {
                    Ok(())
                } else {
                    rows.push(key, value)
                }
            })?;
        if read == 0 {
            return Ok(None);
        }
        let batch = rows.take()?;
        let mask: BooleanArray = rows.filter(&batch, eval)?;
        keep(&batch, &mask).map(Some)
    }
}

pub(crate) fn lock_options(locking: Locking, ctx: &ExecContext<'_>) -> LockOptions {
    LockOptions {
        mode: if locking.exclusive {
            LockMode::Exclusive
        } else {
            LockMode::Shared
        },
        wait: match locking.wait {
            LockingWait::Wait => LockWait::Timeout(ctx.lock_wait),
            LockingWait::NoWait => LockWait::NoWait,
            LockingWait::SkipLocked => LockWait::SkipLocked,
        },
        interrupt: ctx.interrupt.clone(),
    }
}
