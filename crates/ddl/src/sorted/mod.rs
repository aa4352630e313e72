//! New indexes that are built by sorting: where the store takes sorted files ([`kv::load`]).
//!
//! 1. Several threads read the rows at one snapshot, and sort the entries that they make of them
//!    ([`entries`]).
//! 2. All entries are merged and written to files, in the order of their keys ([`mod@fill`]). Of a unique
//!    index, two entries with one key are a duplicate.
//! 3. For a moment no other statement uses the table. The files become part of the store, and what writers
//!    have changed since the snapshot is put on top of them ([`complete`]).
//!
//! Writers maintain the index in all of that time (it is write-only), so they have written an entry, or
//! removed one, for every row that has changed since the snapshot. The files replace what they have written
//! under the same keys. So it is read before, and written again afterwards. It is found by its commit
//! timestamps, deletions too: the snapshot keeps those from being collected.
//!
//! A crash leaves the job, and it begins again, with empty ranges: after the third step has begun, the newest
//! entries may be lost, but not the rows that they are made of.

mod complete;
mod entries;
mod fill;
mod pace;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cluster::Cluster;
use cluster::meta::keys;
use kv::{Reader, Runs, Snapshot, Store};
use parking_lot::Mutex;
use schema::model::Table;
use types::{Error, Result};

use crate::change::ranges;
use crate::context::Watch;
use crate::job::Job;
use complete::Built;
use entries::sort_entries;
use fill::fill;
use pace::{Pace, put_progress};

const PAUSE: Duration = Duration::from_millis(20);

const THREADS_MAX: usize = 16;
const PARTS_PER_THREAD: usize = 4;
/// The value of `nice(2)` of these threads.
const NICE: i32 = 19;

/// Whether a job's indexes are built so. `conversion`: rows are rewritten, which takes another way.
pub(crate) fn applies(store: &Store, job: &Job) -> bool {
    let made = job.change.as_ref();
    store.loads_by_file()
        && made.is_some_and(|made| made.conversion.is_none() && !made.new_indexes.is_empty())
}

/// A build before it reads the first row.
pub(crate) struct Build<'a> {
    cluster: &'a Cluster,
    table: &'a Table,
    job: &'a Job,
    watch: Watch<'a>,
    snapshot: Snapshot,
    /// Positions in the table's indexes.
    indexes: Vec<usize>,
}

/// Whether an earlier attempt may have left entries.
pub(crate) fn has_begun(store: &Store, job: &Job) -> Result<bool> {
    Ok(store.latest().get(&keys::job_progress(job.id))?.is_some())
}

impl<'a> Build<'a> {
    /// Of indexes that `table` has in any state, and that writers maintain. Where an earlier attempt
    /// [`has_begun`], the caller keeps other statements from the table during this call.
    pub(crate) fn begin(
        cluster: &'a Cluster,
        table: &'a Table,
        job: &'a Job,
        watch: Watch<'a>,
    ) -> Result<Self> {
        planner::expressions(table)?;
        let store = cluster.store();
        let new: &[i64] = job.change.as_ref().map_or(&[], |made| &made.new_indexes);
        if has_begun(store, job)? {
            for range in ranges(table.ranges_of_indexes(new)) {
                store.destroy_range(&range)?;
            }
        }
        put_progress(store, job, 0)?;
        let is_new = |&at: &usize| new.contains(&table.indexes[at].id);
        Ok(Self {
            cluster,
            table,
            job,
            watch,
            snapshot: store.snapshot_for(watch.interrupt)?,
            indexes: (0..table.indexes.len()).filter(is_new).collect(),
        })
    }

    /// Reads the rows, and writes the entries to files.
    ///
    /// # Errors
    /// 1062 for a duplicate, 1317 when interrupted, 8214 when cancelled, those of the store.
    pub(crate) fn run(self) -> Result<Built<'a>> {
        let store = self.cluster.store();
        let pace = Pace::new(store, self.job, self.watch);
        let sorted = self.sort(&pace)?;
        let sorted = Mutex::new(self.indexes.iter().zip(sorted).collect::<Vec<_>>());
        let fill = || {
            let mut loads = Vec::new();
            loop {
                let Some((&index, runs)) = sorted.lock().pop() else {
                    return Ok(loads);
                };
                loads.extend(fill((store, &self.snapshot), (self.table, index), runs, &pace)?);
            }
        };
        let loads = in_parallel(threads().min(self.indexes.len()), &pace, fill)?;
        pace.look(true)?;
        // Otherwise it would be written while other statements wait.
        store.flush()?;
        Ok(Built {
            table: self.table,
            store,
            snapshot: self.snapshot,
            loads: loads.into_iter().flatten().collect(),
            rows: pace.rows.load(Ordering::Relaxed),
        })
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
        let sort = || sort_entries(source, self.table, &self.indexes, memory_each, &parts, pace);
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
    std::thread::scope(|scope| {
        let run = || {
            let _done = Done(&running);
            scheduling::Turns::Nicer(NICE).ask();
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
