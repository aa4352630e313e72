//! New indexes that are built by sorting: where the store takes sorted files ([`kv::load`]).
//!
//! 1. Several threads read the rows at one snapshot, and sort the entries that they make of them
//!    ([`entries`]).
//! 2. All entries are merged and written to files, in the order of their keys, and the files become part of the store
//!    ([`mod@fill`]). Of a unique index, two entries with one key are a duplicate.
//! 3. What writers have changed since the snapshot follows, in several passes ([`delta`]). For the last one, no other
//!    statement uses the table, and the index is published before any does again.
//!
//! In all of that time the index is write-only, and writers maintain it under an id of its own, its *delta*. So nothing
//! reads or writes where the files go: they need no lock, and lie in the lowest level of the store, without anything
//! above them that would have to be merged with them. The newest version of each key of the delta is found by its commit
//! timestamp, deletions too: the snapshot of the pass before keeps those from being collected.
//!
//! A crash leaves the job, and the build begins again, with an empty index and the same delta.

mod delta;
pub(crate) mod entries;
mod fill;
mod pace;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cluster::Cluster;
use kv::{Runs, Snapshot, Store};
use parking_lot::Mutex;
use schema::model::{SchemaState, Table};
use types::{Error, Result};

use crate::change::ranges;
use crate::context::Watch;
use crate::job::{Job, TableChange};
use crate::page_work::Backfilled;
use delta::{Delta, DeltaPass};
use entries::sort_entries;
use fill::fill;
use pace::{Pace, put_progress};

const PAUSE: Duration = Duration::from_millis(20);

/// Changed entries that are brought in a moment, while other statements wait.
const FEW_CHANGES: usize = 1_000;
/// A build that waits for other transactions brings changes so often meanwhile.
const PASS_PERIOD: Duration = Duration::from_secs(1);
/// Passes beside writers. If each has as much to do as the one before, there is no use in more.
const PASSES_MAX: usize = 8;

const THREADS_MAX: usize = 16;
const PARTS_PER_THREAD: usize = 4;

/// Whether the new indexes of a change are complete in `table`.
pub(crate) fn is_built(table: &Table, made: &TableChange) -> bool {
    let new = made.new_indexes.iter();
    new.map(|&id| table.indexes.iter().find(|index| index.id == id))
        .all(|index| index.is_some_and(|index| index.state == SchemaState::Public))
}

/// A build before it reads the first row.
pub(crate) struct Build<'a> {
    cluster: &'a Cluster,
    job: &'a Job,
    watch: Watch<'a>,
    /// Has the new indexes under their own ids.
    table: Table,
    /// Positions in the table's indexes.
    indexes: Vec<usize>,
    /// None if no other statement uses the table.
    deltas: Vec<Delta>,
    snapshot: Snapshot,
}

impl<'a> Build<'a> {
    /// Of indexes that `table` has, in any state and as the job has published them.
    pub(crate) fn begin(
        cluster: &'a Cluster,
        published: &Table,
        job: &'a Job,
        watch: Watch<'a>,
    ) -> Result<Self> {
        let store = cluster.store();
        let made = job.change.as_ref();
        let made = made.ok_or_else(|| Error::internal("a job without a table"))?;
        let mut table = published.clone();
        for index in &mut table.indexes {
            let delta = made.delta_indexes.iter().position(|&id| id == index.id);
            if let Some(&id) = delta.and_then(|at| made.new_indexes.get(at)) {
                index.id = id;
            }
        }
        planner::expressions(&table)?;
        // What an earlier attempt has left.
        for range in ranges(table.ranges_of_indexes(&made.new_indexes)) {
            if !store.is_blank(&range)? {
                store.destroy_range(&range)?;
            }
        }
        put_progress(store, job, 0)?;
        let is_new = |&at: &usize| made.new_indexes.contains(&table.indexes[at].id);
        let indexes: Vec<usize> = (0..table.indexes.len()).filter(is_new).collect();
        Ok(Self {
            cluster,
            job,
            watch,
            deltas: deltas(published, &table, &indexes),
            table,
            indexes,
            snapshot: store.snapshot_for(watch.interrupt)?,
        })
    }

    /// Makes the indexes, as of a moment a little before it returns.
    ///
    /// # Errors
    /// 1062 for a duplicate, 1317 when interrupted, 8214 when cancelled, those of the store.
    pub(crate) fn run(self) -> Result<Built<'a>> {
        let store = self.cluster.store();
        let pace = Pace::new(store, self.job, self.watch);
        let sorted = self.sort(&pace)?;
        pace.look(true)?;
        let sorted = Mutex::new(self.indexes.iter().zip(sorted).collect::<Vec<_>>());
        let fill = || loop {
            let Some((&index, runs)) = sorted.lock().pop() else {
                return Ok(());
            };
            fill((store, &self.snapshot), (&self.table, index), runs, &pace)?;
        };
        in_parallel(threads().min(self.indexes.len()), &pace, fill)?;
        let mut built = Built {
            store,
            pace,
            table: self.table,
            deltas: self.deltas,
            snapshot: self.snapshot,
            passed: Instant::now(),
        };
        built.catch_up()?;
        Ok(built)
    }

    /// The sorted entries of each index.
    fn sort(&self, pace: &Pace<'_>) -> Result<Vec<Runs>> {
        let store = self.cluster.store();
        let threads = threads();
        let mut parts = Vec::new();
        for range in ranges(self.table.row_ranges()) {
            parts.extend(self.snapshot.split_range(&range, threads * PARTS_PER_THREAD)?);
        }
        let parts = Mutex::new(parts);
        let memory_each = kv::sort_memory(store) / threads / self.indexes.len().max(1);
        let source = (store, &self.snapshot);
        let mode = self.job.change.as_ref().and_then(|made| made.sql_mode);
        let what = (self.indexes.as_slice(), mode);
        let sort = || sort_entries(source, &self.table, what, memory_each, &parts, pace);
        let mut all = in_parallel(threads, pace, sort)?.into_iter();
        let mut sorted = all.next().unwrap_or_default();
        for others in all {
            sorted
                .iter_mut()
                .zip(others)
                .for_each(|(runs, other)| runs.append(other));
        }
        Ok(sorted)
    }
}

/// The deltas of new indexes, which `published` has under their ids.
fn deltas(published: &Table, table: &Table, indexes: &[usize]) -> Vec<Delta> {
    let has_delta = |&&at: &&usize| published.indexes[at].id != table.indexes[at].id;
    let of_index = |&index: &usize| {
        let written = ranges(published.index_ranges(index)).into_iter();
        let pairs = written.zip(ranges(table.index_ranges(index)));
        pairs.map(move |(written, range)| Delta {
            index,
            written,
            range,
            watch: None,
            pending: Vec::new(),
        })
    };
    indexes.iter().filter(has_delta).flat_map(of_index).collect()
}

/// Indexes that have the entries of all rows as they were at a snapshot.
pub(crate) struct Built<'a> {
    store: &'a Store,
    pace: Pace<'a>,
    table: Table,
    deltas: Vec<Delta>,
    snapshot: Snapshot,
    /// When the last pass ended.
    passed: Instant,
}

impl Built<'_> {
    /// Repeats passes until one has had little to do.
    fn catch_up(&mut self) -> Result<()> {
        for _ in 0..PASSES_MAX {
            if self.pass()? <= FEW_CHANGES {
                break;
            }
        }
        Ok(())
    }

    /// Brings what has changed since the last pass. Returns how many entries that were.
    fn pass(&mut self) -> Result<usize> {
        self.pace.look(true)?;
        if self.deltas.is_empty() {
            return Ok(0);
        }
        let next = self.store.snapshot_for(self.pace.interrupt())?;
        let mut brought = 0;
        for delta in &mut self.deltas {
            let pass = DeltaPass::new(self.store, &self.table, delta, &self.pace)?;
            brought += pass.run(&self.snapshot, &next)?;
        }
        self.snapshot = next;
        self.passed = Instant::now();
        Ok(brought)
    }

    /// Brings changes while the caller waits for other transactions, which may take long, so that few are left for
    /// the end.
    ///
    /// # Errors
    /// Those of [`Built::complete`].
    pub(crate) fn keep_up(&mut self) -> Result<()> {
        match self.passed.elapsed() < PASS_PERIOD {
            true => Ok(()),
            false => self.pass().map(drop),
        }
    }

    /// Brings the last changes. The caller keeps all other statements from the table, until it has published the
    /// indexes under their own ids.
    ///
    /// # Errors
    /// 1062 for a duplicate that came with a row changed meanwhile, 1317, 8214, those of the store.
    pub(crate) fn complete(mut self) -> Result<Backfilled> {
        self.pass()?;
        let warnings = Vec::new();
        Ok(Backfilled {
            rows: self.pace.rows.load(Ordering::Relaxed),
            warnings,
        })
    }
}

fn threads() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(THREADS_MAX)
}

/// Runs `work` on several threads with lower priority, and checks the job meanwhile. If the check or a thread
/// fails, the other threads stop.
fn in_parallel<T: Send>(
    threads: usize,
    pace: &Pace<'_>,
    work: impl Fn() -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let running = AtomicUsize::new(threads);
    let interrupt = Arc::clone(pace.interrupt());
    let interrupted: functions::Interrupted = Arc::new(move || interrupt.is_raised());
    std::thread::scope(|scope| {
        let run = || {
            let _done = Done(&running);
            // The expressions of functional indexes.
            let _works_for = functions::work_for(&interrupted);
            scheduling::background::begin();
            work().inspect_err(|_| pace.stop.store(true, Ordering::Relaxed))
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let mut looked = Ok(());
        while running.load(Ordering::Acquire) > 0 {
            std::thread::sleep(PAUSE);
            if looked.is_ok() {
                looked = pace.look(false);
                if looked.is_err() {
                    pace.stop.store(true, Ordering::Relaxed);
                }
            }
        }
        let join = |worker: std::thread::ScopedJoinHandle<'_, Result<T>>| {
            let failed = |_| Err(Error::internal("a thread that builds an index has failed"));
            worker.join().unwrap_or_else(failed)
        };
        let done: Vec<_> = workers.into_iter().map(join).collect();
        looked?;
        done.into_iter().collect()
    })
}

/// Counts a thread as done, also if it fails.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}
