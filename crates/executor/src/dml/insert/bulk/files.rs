//! The pairs of a bulk load, merged and written to files by several threads: one for each part at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use kv::{Interrupt, KeyRange, Load, LoadWriter, Reader, Runs, Store, Timestamp};
use parking_lot::Mutex;
use types::{Error, Result};

use super::duplicates::{Conflicts, EXISTING, Losers};
use super::gather::{Part, Sorted};
use crate::context::ExecContext;

/// Pairs between two looks at whether to stop.
const PAIRS_PER_LOOK: u64 = 4096;

/// So many pairs, or bytes, are looked up together.
const LOOKUP_PAIRS: usize = 256;
const LOOKUP_BYTES: usize = 1 << 20;

pub(super) struct Filler<'a> {
    store: &'a Store,
    interrupt: &'a Arc<Interrupt>,
    range: &'a KeyRange,
    /// Whether rows of the table may have keys of the file.
    looks_up: bool,
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
    pub(super) fn new(
        ctx: &'a ExecContext<'_>,
        (range, looks_up): (&'a KeyRange, bool),
        losers: Option<&'a Losers>,
    ) -> Self {
        Self {
            store: ctx.store,
            interrupt: ctx.interrupt,
            range,
            looks_up,
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
            let begin = |_| {
                thread::Builder::new()
                    .name("bulk-load".to_owned())
                    .spawn_scoped(scope, run)
            };
            // Without a further thread those that there are do all of it.
            let others: Vec<_> = (1..threads).map_while(|n| begin(n).ok()).collect();
            let mut result = run();
            for other in others {
                let failed = |_| Err(Error::internal("a thread of a bulk load has panicked"));
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
        let mut out = PartWriter {
            filler: self,
            place: &place,
            writer: load.map(|load| load.writer(place.range.clone())),
            conflicts: Conflicts::new(self.store),
            last_key: Vec::new(),
            last_row: 0,
            groups: EXISTING,
            in_group: false,
        };
        // Those that this finds are all known the second time.
        let mut lookup = (self.looks_up && place.is_unique && self.losers.is_none()).then(Lookup::default);
        let mut pairs = 0_u64;
        let mut merge = runs.merge(&|| self.interrupt.check())?;
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
            match &mut lookup {
                None => out.pair(key, value, row, false)?,
                Some(lookup) => {
                    lookup.push(key, value, row);
                    if lookup.is_full() {
                        lookup.give_all(self.store, &mut out)?;
                    }
                }
            }
        }
        if let Some(mut lookup) = lookup {
            lookup.give_all(self.store, &mut out)?;
        }
        let PartWriter {
            writer, conflicts, ..
        } = out;
        if let Some(writer) = writer {
            writer.close()?;
        }
        let runs = merge.into_runs();
        Ok((Sorted { place, runs }, conflicts.finish()?))
    }
}

/// Takes the pairs of a part in the order of their keys.
struct PartWriter<'f> {
    filler: &'f Filler<'f>,
    place: &'f Part,
    writer: Option<LoadWriter<'f>>,
    conflicts: Conflicts,
    last_key: Vec<u8>,
    last_row: u64,
    /// How many keys are shared.
    groups: u64,
    /// Whether the last key is one of them.
    in_group: bool,
}

impl PartWriter<'_> {
    /// `exists`: a row of the table has the key.
    fn pair(&mut self, key: &[u8], value: &[u8], row: u64, exists: bool) -> Result<()> {
        if exists {
            self.filler.writes.store(false, Ordering::Relaxed);
            return self.conflicts.push(row, self.place.order, EXISTING);
        }
        if key == self.last_key.as_slice() {
            if row == self.last_row {
                // A row without its number: rows with one key have one entry, and are found by their keys.
                return Ok(());
            }
            self.filler.writes.store(false, Ordering::Relaxed);
            if !std::mem::replace(&mut self.in_group, true) {
                self.groups += 1;
                self.conflicts
                    .push(self.last_row, self.place.order, self.groups)?;
            }
            return self.conflicts.push(row, self.place.order, self.groups);
        }
        if let Some(writer) = &mut self.writer
            && self.filler.writes.load(Ordering::Relaxed)
        {
            writer.put(key, value)?;
        }
        self.in_group = false;
        self.last_row = row;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }
}

/// Pairs whose keys are looked up in the table together.
#[derive(Default)]
struct Lookup {
    keys: Vec<Vec<u8>>,
    values: Vec<(Vec<u8>, u64)>,
    bytes: usize,
}

impl Lookup {
    fn push(&mut self, key: &[u8], value: &[u8], row: u64) {
        self.bytes += key.len() + value.len();
        self.keys.push(key.to_vec());
        self.values.push((value.to_vec(), row));
    }

    fn is_full(&self) -> bool {
        self.keys.len() >= LOOKUP_PAIRS || self.bytes >= LOOKUP_BYTES
    }

    fn give_all(&mut self, store: &Store, out: &mut PartWriter<'_>) -> Result<()> {
        let mut exists = vec![false; self.keys.len()];
        store.latest().batch_get_with(&self.keys, &mut |at, found| {
            if let Some(exists) = exists.get_mut(at) {
                *exists = found.is_some();
            }
        })?;
        self.bytes = 0;
        let pairs = self.keys.drain(..).zip(self.values.drain(..)).zip(exists);
        for ((key, (value, row)), exists) in pairs {
            out.pair(&key, &value, row, exists)?;
        }
        Ok(())
    }
}
