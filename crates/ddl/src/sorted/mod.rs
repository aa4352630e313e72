//! New indexes that are built by sorting: where the store takes sorted files ([`kv::load`]).
//!
//! 1. Several threads read the rows at one snapshot, and sort the entries that they make of them ([`entries`]).
//! 2. All entries are merged and written to files, in the order of their keys. Of a unique index, two entries with
//!    one key are a duplicate.
//! 3. For a moment no other statement uses the table. The files become part of the store, and what writers have
//!    changed since the snapshot is put on top of them ([`complete`]).
//!
//! Writers maintain the index in all of that time (it is write-only), so they have written an entry, or removed one,
//! for every row that has changed since the snapshot. The files replace what they have written under the same keys.
//! So it is read before, and written again afterwards. It is found by its commit timestamps, deletions too: the
//! snapshot keeps those from being collected.
//!
//! A crash leaves the job, and it begins anew, with empty ranges: after the third step has begun, the newest entries
//! may be lost, but not the rows that they are made of.

mod complete;
mod entries;
mod pace;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cluster::Cluster;
use cluster::meta::keys;
use kv::{Reader, Snapshot, Store};
use schema::model::Table;
use types::{Error, Result};

use crate::change::ranges;
use crate::context::Watch;
use crate::job::Job;
use complete::{Built, LoadedIndex};
use entries::{EntryMaker, sort_entries};
use pace::{Pace, put_progress};

const PAUSE: Duration = Duration::from_millis(20);

const THREADS_MAX: usize = 16;

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
        let mut loads = Vec::new();
        for (&index, runs) in self.indexes.iter().zip(sorted) {
            let maker = EntryMaker::new(self.table, &[index])?;
            let mut places = ranges(self.table.index_ranges(index));
            places.sort_by(|a, b| a.start.cmp(&b.start));
            let unique = self.table.indexes[index].unique || self.table.indexes[index].primary;
            let mut entries = entries::Merged::new(runs.merge()?, unique);
            for range in places {
                let load = store.begin_load(&range, Some(self.watch.interrupt));
                let mut writer = load.writer(range.clone());
                while entries.advance_within(&range, &pace)? {
                    if entries.is_duplicate() {
                        return Err(maker.duplicate(&self.snapshot, &entries));
                    }
                    let (key, value) = entries.current();
                    writer.put(key, value)?;
                }
                writer.close()?;
                loads.push(LoadedIndex { index, range, load });
            }
        }
        pace.look(true)?;
        // Otherwise it would be written while other statements wait.
        store.flush()?;
        Ok(Built {
            table: self.table,
            store,
            snapshot: self.snapshot,
            loads,
            rows: pace.rows.load(Ordering::Relaxed),
        })
    }

    /// The sorted entries of each index.
    fn sort(&self, pace: &Pace<'_>) -> Result<Vec<kv::Runs>> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(THREADS_MAX);
        let mut parts = Vec::new();
        for range in ranges(self.table.row_ranges()) {
            parts.extend(self.snapshot.split_range(&range, threads * 4)?);
        }
        let parts = parking_lot::Mutex::new(parts);
        let each = kv::sort_memory(self.cluster.store()) / threads / self.indexes.len().max(1);
        let running = AtomicU64::new(threads as u64);
        std::thread::scope(|scope| {
            let work = || {
                let _done = Done(&running);
                scheduling::Turns::Nicer(19).ask();
                sort_entries(
                    (self.cluster.store(), &self.snapshot),
                    self.table,
                    &self.indexes,
                    each,
                    &parts,
                    pace,
                )
            };
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
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
            let mut all: Option<Vec<kv::Runs>> = None;
            for worker in workers {
                let sorted = worker
                    .join()
                    .unwrap_or_else(|_| Err(Error::internal("a thread that builds an index has failed")));
                match (&mut all, looked.clone().and(sorted)?) {
                    (Some(all), sorted) => all
                        .iter_mut()
                        .zip(sorted)
                        .for_each(|(all, runs)| all.append(runs)),
                    (None, sorted) => all = Some(sorted),
                }
            }
            Ok(all.unwrap_or_default())
        })
    }
}

/// Counts a thread as done, also if it fails.
struct Done<'a>(&'a AtomicU64);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}
