//! The pairs of a bulk load, merged and written to files by several threads: one for each part at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kv::{Interrupt, KeyRange, Load, Runs, Store, Timestamp};
use parking_lot::Mutex;
use types::{Error, Result};

use super::duplicates::{Conflicts, Losers};
use super::gather::Sorted;
use crate::context::ExecContext;

/// Pairs between two looks at whether to stop.
const PAIRS_PER_LOOK: u64 = 4096;

pub(super) struct Filler<'a> {
    store: &'a Store,
    interrupt: &'a Arc<Interrupt>,
    range: &'a KeyRange,
    /// Rows that are left out.
    losers: Option<&'a Losers>,
    /// Whether files are of any use: there are no duplicates.
    writes: AtomicBool,
    /// A thread has failed.
    stop: AtomicBool,
}

pub(super) struct Filled {
    /// `None`: nothing was to be written.
    pub(super) load: Option<Load>,
    /// The pairs, all of them, to be merged again.
    pub(super) sorted: Vec<Sorted>,
    /// The rows that share keys.
    pub(super) conflicts: Option<Runs>,
}

impl<'a> Filler<'a> {
    pub(super) fn new(ctx: &'a ExecContext<'_>, range: &'a KeyRange, losers: Option<&'a Losers>) -> Self {
        Self {
            store: ctx.store,
            interrupt: ctx.interrupt,
            range,
            losers,
            writes: AtomicBool::new(true),
            stop: AtomicBool::new(false),
        }
    }

    /// Writes all pairs to files, committed at `ts`, as long as no two have one key.
    pub(super) fn fill(self, sorted: Vec<Sorted>, ts: Timestamp) -> Result<Filled> {
        let load = self.store.begin_load_at(self.range, ts, self.interrupt);
        self.run(sorted, Some(load))
    }

    /// Only looks for pairs with one key.
    pub(super) fn check(self, sorted: Vec<Sorted>) -> Result<Filled> {
        self.writes.store(false, Ordering::Relaxed);
        self.run(sorted, None)
    }

    fn run(self, sorted: Vec<Sorted>, load: Option<Load>) -> Result<Filled> {
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(sorted.len());
        let waiting = Mutex::new(sorted);
        let done = Mutex::new(Filled {
            load: None,
            sorted: Vec::new(),
            conflicts: None,
        });
        let work = || -> Result<()> {
            loop {
                let Some(sorted) = waiting.lock().pop() else {
                    return Ok(());
                };
                let (sorted, conflicts) = self.part(sorted, load.as_ref())?;
                let mut done = done.lock();
                done.sorted.push(sorted);
                match (&mut done.conflicts, conflicts) {
                    (_, None) => {}
                    (Some(all), Some(more)) => all.append(more),
                    (none, some) => *none = some,
                }
            }
        };
        thread::scope(|scope| {
            let run = || work().inspect_err(|_| self.stop.store(true, Ordering::Relaxed));
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
            let mut result = run();
            for other in others {
                let failed = |_| Err(Error::internal("a thread of a bulk load has failed"));
                result = result.and(other.join().unwrap_or_else(failed));
            }
            result
        })?;
        let mut done = done.into_inner();
        done.load = load;
        Ok(done)
    }

    /// One part: its pairs go to files. Returns them, and the rows that share keys.
    fn part(&self, sorted: Sorted, load: Option<&Load>) -> Result<(Sorted, Option<Runs>)> {
        let Sorted { place, runs } = sorted;
        let mut writer = load.map(|load| load.writer(place.range.clone()));
        let mut conflicts = Conflicts::new(self.store);
        let (mut last_key, mut last_row, mut groups, mut in_group) = (Vec::new(), 0, 0_u64, false);
        let mut pairs = 0_u64;
        let mut merge = runs.merge()?;
        while let Some((key, stored)) = merge.next()? {
            pairs += 1;
            if pairs.is_multiple_of(PAIRS_PER_LOOK) {
                self.interrupt.check()?;
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
            }
            let (value, row) = place.untagged(stored)?;
            if self.losers.is_some_and(|losers| losers.has(row)) {
                continue;
            }
            if key == last_key.as_slice() {
                if row == last_row {
                    // A row without its number: rows with one key have one entry, and are found by their keys.
                    continue;
                }
                self.writes.store(false, Ordering::Relaxed);
                if !in_group {
                    in_group = true;
                    groups += 1;
                    conflicts.push(last_row, place.order, groups)?;
                }
                conflicts.push(row, place.order, groups)?;
                continue;
            }
            if let Some(writer) = &mut writer
                && self.writes.load(Ordering::Relaxed)
            {
                writer.put(key, value)?;
            }
            in_group = false;
            last_row = row;
            last_key.clear();
            last_key.extend_from_slice(key);
        }
        if let Some(writer) = writer {
            writer.close()?;
        }
        let sorted = Sorted {
            place,
            runs: merge.into_runs()?,
        };
        Ok((sorted, (!conflicts.is_empty).then(|| conflicts.finish())))
    }
}
