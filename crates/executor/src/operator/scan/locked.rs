//! Locking reads: `FOR UPDATE`, `FOR SHARE`, and the rows that UPDATE and DELETE change.
//!
//! Rows are looked for in the newest committed state (and the transaction's own writes), those that pass the filter are
//! locked, and what the lock hands back, the row as nobody else can change it any more, is checked once again: it may
//! have changed between the search and the lock. Rows that do not match are not locked, as under READ COMMITTED; gaps
//! between rows never are.

use std::collections::{HashSet, VecDeque};

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use kv::{LockMode, LockOptions, LockWait, Locked};
use planner::plan::{Locking, LockingWait};
use types::Result;

use super::access::{Access, Path};
use super::rows::Rows;
use crate::batch::{BATCH_ROWS, keep};
use crate::context::ExecContext;
use crate::env::Env;
use crate::operator::Operator;

/// How often a unique key is looked up again because its row was changed while we waited for the lock.
const LOOKUPS: usize = 16;

pub(super) struct LockedScan<'p> {
    access: Access,
    rows: Rows<'p>,
    locking: Locking,
    /// Rows found and not locked yet.
    candidates: VecDeque<Candidate>,
    /// Rows that came by a unique index: one that is moved to another of the keys while we wait must not come twice.
    given: HashSet<Vec<u8>>,
    ask: usize,
}

struct Candidate {
    row_key: Vec<u8>,
    /// The row as it was found; `None` where it was not read before the lock.
    value: Option<Vec<u8>>,
    /// The unique index's entry that led here.
    entry: Option<UniqueEntry>,
}

/// To be looked up again should its row turn out to be another.
struct UniqueEntry {
    key: Vec<u8>,
    /// How often that may still be done.
    lookups: usize,
}

impl UniqueEntry {
    fn again(self) -> Option<Self> {
        let lookups = self.lookups.checked_sub(1)?;
        Some(Self { lookups, ..self })
    }
}

impl<'p> LockedScan<'p> {
    pub fn new(access: Access, rows: Rows<'p>, locking: Locking) -> Self {
        Self {
            access,
            rows,
            locking,
            candidates: VecDeque::new(),
            given: HashSet::new(),
            ask: 1,
        }
    }

    /// Looks for up to `wanted` more rows; false: there are none left to look at.
    fn find(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<bool> {
        match &mut self.access.path {
            Path::Points(keys) => {
                self.candidates.extend(keys.take(wanted).map(|row_key| Candidate {
                    row_key,
                    value: None,
                    entry: None,
                }));
                Ok(!self.candidates.is_empty())
            }
            Path::UniquePoints { keys, .. } => {
                let entries = keys.take(wanted).map(|key| UniqueEntry {
                    key,
                    lookups: LOOKUPS,
                });
                let entries: Vec<_> = entries.collect();
                let any = !entries.is_empty();
                self.look_up(entries, env)?;
                Ok(any)
            }
            Path::Pages(_) | Path::Entries { .. } => self.search(env, wanted),
        }
    }

    /// Follows entries of a unique index to their rows.
    fn look_up(&mut self, entries: Vec<UniqueEntry>, env: &mut Env<'_, '_>) -> Result<()> {
        let Path::UniquePoints { lookup, .. } = &self.access.path else {
            return Ok(());
        };
        if entries.is_empty() {
            return Ok(());
        }
        let keys: Vec<Vec<u8>> = entries.iter().map(|entry| entry.key.clone()).collect();
        let row_keys = lookup.find(&env.source.transaction()?.current(), &keys)?;
        for (entry, row_key) in entries.into_iter().zip(row_keys) {
            if let Some(row_key) = row_key {
                self.candidates.push_back(Candidate {
                    row_key,
                    value: None,
                    entry: Some(entry),
                });
            }
        }
        Ok(())
    }

    /// Reads a page of the newest state and keeps the rows that pass the filter.
    fn search(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<bool> {
        self.ask = self.ask.max(wanted).min(BATCH_ROWS);
        let mut found = Vec::new();
        let eval = env.eval();
        let current = env.source.transaction()?.current();
        let rows = &mut self.rows;
        let filtered = rows.has_filter();
        let read = self.access.next(&current, self.ask, false, &mut |key, value| {
            found.push(Candidate {
                row_key: key.to_vec(),
                value: Some(value.to_vec()),
                entry: None,
            });
            if filtered { rows.push(key, value) } else { Ok(()) }
        })?;
        if filtered {
            self.ask *= 4;
            let batch = rows.take()?;
            let mask = rows.filter(&batch, eval)?;
            let mut passes = mask.iter().map(|pass| pass == Some(true));
            found.retain(|_| passes.next().unwrap_or(false));
        }
        self.candidates.extend(found);
        Ok(read > 0)
    }

    /// Locks the next candidates. Answers with the rows as they are now, those that are no longer meant left out.
    fn lock(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<RecordBatch> {
        let count = self.candidates.len().min(wanted);
        let candidates: Vec<Candidate> = self.candidates.drain(..count).collect();
        let keys: Vec<Vec<u8>> = candidates.iter().map(|c| c.row_key.clone()).collect();
        let options = lock_options(self.locking, env.ctx);
        let locked = env.source.transaction()?.lock(&keys, &options)?;
        let mut unchanged = Vec::with_capacity(count);
        let mut again = Vec::new();
        for (candidate, locked) in candidates.into_iter().zip(locked) {
            let Locked::Value(value) = locked else {
                continue;
            };
            let same = value.is_some() && candidate.value == value;
            // The same row as it was read is not for that the one its entry led to: that was read before.
            let belongs = match &value {
                Some(value) => self.rows.belongs(&candidate.row_key, value)?,
                None => false,
            };
            let Some(value) = value.filter(|_| belongs) else {
                // The row is another by now; the key it had may belong to a third.
                again.extend(candidate.entry.and_then(UniqueEntry::again));
                continue;
            };
            if candidate.entry.is_none() || self.given.insert(candidate.row_key.clone()) {
                self.rows.push(&candidate.row_key, &value)?;
                unchanged.push(same);
            }
        }
        self.look_up(again, env)?;
        let batch = self.rows.take()?;
        if !self.rows.has_filter() || unchanged.iter().all(|u| *u) {
            return Ok(batch);
        }
        let passes = self.rows.filter(&batch, env.eval())?;
        let mask: BooleanArray = passes
            .iter()
            .zip(unchanged)
            .map(|(passes, unchanged)| Some(unchanged || passes == Some(true)))
            .collect();
        keep(&batch, &mask)
    }
}

impl Operator for LockedScan<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        let wanted = wanted.min(BATCH_ROWS);
        loop {
            env.check_interrupted()?;
            while self.candidates.is_empty() {
                env.check_interrupted()?;
                if !self.find(env, wanted)? {
                    return Ok(None);
                }
            }
            let batch = self.lock(env, wanted)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
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
