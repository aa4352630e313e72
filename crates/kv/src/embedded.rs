//! An engine within this process: any [`Storage`], with timestamps, row locks, group commit and garbage
//! collection.
//!
//! The way of a commit: [`crate::embedded_transaction`] locks and prepares on the transaction's own thread,
//! [`crate::group_commit`] queues it, [`crate::commit`] commits a group. `docs/commit.md` shows all of it.
//! The engine's own threads: [`crate::background`].

use crate::background::Background;
use crate::embedded_state::{Counters, EmbeddedOptions, Shared};
use crate::embedded_transaction::EmbeddedTransaction;
use crate::engine::{Damage, Engine, EngineTransaction, GcReport, ReadAt, ScanRequest, VisitNewer};
use crate::error::{Error, Result};
use crate::garbage::Garbage;
use crate::group_commit::GroupCommit;
use crate::health::LogHealth;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::lock::{DeadlockReport, LockStats, LockedKey};
use crate::lock_table::LockTable;
use crate::oracle::Oracle;
use crate::reader::{KeyRange, Visit, VisitBatch};
use crate::region::{Region, SplitReport};
use crate::sorted_pairs::{SortedFile, SortedPairs};
use crate::storage::{ApplyError, Storage};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::available_parallelism;
use crate::timestamp::{LATEST, Timestamp};
use crate::txn_options::TxnOptions;
use crate::watch::Watch;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

/// A bulk load waits at its end no longer for a collection of garbage. Readers of its table may wait for it.
const COLLECTION_MAX: Duration = Duration::from_secs(60);

/// [`Engine`] for any [`Storage`].
pub struct EmbeddedEngine<S: Storage> {
    shared: Arc<Shared<S>>,
    background: Option<Background>,
}

impl<S: Storage> EmbeddedEngine<S> {
    /// `safe_point`: the one that the storage's compactions read, or a new one.
    pub fn new(storage: S, safe_point: Arc<AtomicU64>, options: EmbeddedOptions) -> Self {
        let shared = Arc::new(Shared {
            oracle: Oracle::new(storage.newest_commit_ts(), Arc::clone(&options.clock)),
            locks: LockTable::new(),
            counters: Counters::default(),
            open: AtomicUsize::new(0),
            health: LogHealth::default(),
            processors: available_parallelism().map_or(1, NonZero::get),
            commits: GroupCommit::new(),
            garbage: Garbage::new(safe_point, options.gc_age),
            unsynced: AtomicBool::new(false),
            storage,
            options,
        });
        let background = shared
            .options
            .background
            .then(|| Background::start(&shared, shared.options.gc_interval));
        Self { shared, background }
    }

    /// For a read of the newest state that reads more than once: all of it sees one moment, and only
    /// published commits.
    fn at_this_moment<T>(&self, read: impl FnOnce(Timestamp) -> Result<T>) -> Result<T> {
        let ts = self.pin_now(None)?;
        let outcome = read(ts);
        self.unpin(ts);
        outcome
    }

    /// The storage, for an engine's own figures and tests.
    pub fn storage(&self) -> &S {
        &self.shared.storage
    }
}

impl<S: Storage> Drop for EmbeddedEngine<S> {
    fn drop(&mut self) {
        drop(self.background.take());
        // Syncs what was committed without a sync. An error cannot be reported any more, and those commits
        // were promised no sync.
        let _ = self.shared.sync_log();
    }
}

impl<S: Storage> Engine for EmbeddedEngine<S> {
    fn name(&self) -> &'static str {
        self.shared.storage.name()
    }

    fn limits(&self) -> Limits {
        self.shared.options.limits
    }

    fn current_ts(&self) -> Result<Timestamp> {
        Ok(self.shared.oracle.current_ts())
    }

    fn pin(&self, ts: Timestamp) -> Result<()> {
        self.shared.oracle.admit(ts)?;
        self.shared.garbage.pins.pin(ts)
    }

    fn unpin(&self, ts: Timestamp) {
        self.shared.garbage.pins.unpin(ts);
    }

    /// Never waits, so the interrupt is not needed.
    fn pin_now(&self, _: Option<&Interrupt>) -> Result<Timestamp> {
        loop {
            let ts = self.shared.oracle.current_ts();
            match self.shared.garbage.pins.pin(ts) {
                Ok(()) => return Ok(ts),
                // A collection with an age of zero has moved the safe point in between.
                Err(Error::SnapshotTooOld { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn get_with(&self, key: &[u8], at: ReadAt, found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let storage = &self.shared.storage;
        if at.ts != LATEST {
            return Ok(storage.get_with(key, at.ts, found)?.found);
        }
        // If the newest version is not newer than the last timestamp given, a snapshot taken now would see
        // it.
        if let Some(seen) = storage.get_settled_with(key, self.shared.oracle.last(), found)? {
            return Ok(seen.found);
        }
        self.at_this_moment(|ts| Ok(storage.get_with(key, ts, found)?.found))
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()> {
        if let [key] = keys {
            if !self.get_with(key, at, &mut |value| visit(0, Some(value)))? {
                visit(0, None);
            }
            return Ok(());
        }
        if at.ts == LATEST {
            return self.at_this_moment(|ts| self.batch_get_with(keys, ReadAt { ts, ..at }, visit));
        }
        self.shared
            .storage
            .batch_get_with(keys, at.ts, &mut |index, _, value| visit(index, value))
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        if request.ts != LATEST {
            return self.shared.storage.scan(request, visit);
        }
        self.at_this_moment(|ts| self.shared.storage.scan(ScanRequest { ts, ..request }, visit))
    }

    fn will_read(&self, keys: &[&[u8]], at: ReadAt) {
        self.shared.storage.will_read(keys, at.ts);
    }

    fn begin(&self, start_ts: Timestamp, options: &TxnOptions) -> Result<Box<dyn EngineTransaction>> {
        Ok(Box::new(EmbeddedTransaction::new(
            Arc::clone(&self.shared),
            start_ts,
            options.optimistic,
        )))
    }

    fn checks_promises(&self) -> bool {
        self.shared.options.check_promises
    }

    fn split_range(&self, range: &KeyRange, parts: usize, _: ReadAt) -> Result<Vec<KeyRange>> {
        if parts <= 1 || range.is_empty() {
            return Ok(vec![range.clone()]);
        }
        self.shared.storage.split_range(range, parts)
    }

    fn split_at(&self, _: &[Vec<u8>], _: Duration, _: Option<&Interrupt>) -> Result<SplitReport> {
        Ok(SplitReport::default())
    }

    fn regions(&self, _: &KeyRange, _: Option<&Interrupt>) -> Result<Vec<Region>> {
        Ok(vec![Region {
            id: 1,
            leader: 1,
            leader_store: 1,
            replicas: vec![1],
            approximate_bytes: Some(self.shared.storage.approximate_bytes(&KeyRange::all())?),
            ..Region::default()
        }])
    }

    fn approximate_bytes(&self, range: &KeyRange, _: ReadAt) -> Result<u64> {
        self.shared.storage.approximate_bytes(range)
    }

    fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        self.shared.health.check_writable()?;
        if range.is_empty() {
            return Ok(());
        }
        self.shared.storage.destroy_range(range)
    }

    fn loads_by_file(&self) -> bool {
        self.shared.storage.loads_by_file()
    }

    fn check_space(&self, bytes: usize) -> Result<()> {
        self.shared.storage.check_space(bytes)
    }

    fn scratch_file(&self) -> Result<std::fs::File> {
        self.shared.storage.scratch_file()
    }

    fn scan_newer(
        &self,
        range: &KeyRange,
        since: Timestamp,
        interrupt: Option<&Interrupt>,
        visit: &mut VisitNewer,
    ) -> Result<()> {
        self.shared.storage.scan_newer(range, since, interrupt, visit)
    }

    fn visit_newest(&self, keys: &[Vec<u8>], visit: &mut VisitNewer) -> Result<()> {
        self.shared.storage.visit_newest(keys, visit)
    }

    fn watch(&self, range: &KeyRange) -> Result<Watch> {
        self.shared.storage.watch(range)
    }

    fn is_blank(&self, range: &KeyRange) -> Result<bool> {
        self.shared.storage.is_blank(range)
    }

    fn write_sorted_file(&self, pairs: &SortedPairs, ts: Timestamp) -> Result<SortedFile> {
        self.shared.storage.write_sorted_file(pairs, ts)
    }

    fn ingest(&self, range: &KeyRange, files: Vec<SortedFile>, interrupt: Option<&Interrupt>) -> Result<()> {
        self.shared.health.check_writable()?;
        // A collection removes deletions that it has looked at before: what is added between would go with them.
        let _collecting = self.shared.garbage.begin_within(COLLECTION_MAX, interrupt)?;
        match self.shared.storage.ingest(range, files) {
            Ok(()) => {
                self.shared.counters.loads.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(ApplyError::NotApplied(error)) => Err(error),
            Err(ApplyError::Unknown(error)) => {
                let reason = format!("files of a bulk load may be part of the store, or not ({error})");
                self.shared.health.refuse_writes(&reason);
                Err(Error::Undetermined(error.to_string()))
            }
        }
    }

    fn safe_point(&self) -> Timestamp {
        self.shared.garbage.pins.safe_point()
    }

    fn oldest_snapshot(&self) -> Timestamp {
        let (_, oldest) = self.shared.garbage.pins.live();
        oldest.unwrap_or_else(|| self.shared.oracle.last())
    }

    fn set_gc_age(&self, age: Duration) {
        self.shared.garbage.set_age(age);
    }

    fn collect_garbage(&self) -> Result<GcReport> {
        self.shared.collect_garbage(true)
    }

    fn verify_cached(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Damage>> {
        self.at_this_moment(|ts| self.shared.storage.verify_cached(range, ts, interrupt))
    }

    fn flush(&self) -> Result<()> {
        self.shared.sync_log()?;
        self.shared.health.check_writable()?;
        self.shared.storage.flush()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let counters = &self.shared.counters;
        let locks = self.shared.locks.stats();
        let (snapshots, oldest) = self.shared.garbage.pins.live();
        let now_ms = self.shared.oracle.now_ms();
        let oldest_age_ms = oldest.map_or(0, |ts| now_ms.saturating_sub(crate::timestamp_to_ms(ts)));
        let mut stats = vec![
            ("commits_total", count(&counters.commits)),
            ("commit_groups_total", count(&counters.groups)),
            ("log_syncs_total", count(&counters.syncs)),
            ("write_conflicts_total", count(&counters.conflicts)),
            ("bulk_loads_total", count(&counters.loads)),
            ("gc_removed_versions_total", count(&self.shared.garbage.collected)),
            ("locks_held", locks.held as f64),
            ("locks_waiting", locks.waiting as f64),
            ("lock_waits_total", locks.waits as f64),
            ("lock_timeouts_total", locks.timeouts as f64),
            ("deadlocks_total", locks.deadlocks as f64),
            ("snapshots_live", snapshots as f64),
            ("snapshot_oldest_age_seconds", oldest_age_ms as f64 / 1000.0),
            (
                "store_read_only",
                f64::from(u8::from(self.shared.health.check_writable().is_err())),
            ),
        ];
        stats.extend(self.shared.storage.stats());
        stats
    }

    fn lock_stats(&self) -> LockStats {
        self.shared.locks.stats()
    }

    fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.shared.locks.last_deadlock()
    }

    fn locked_keys(&self, most: usize) -> Vec<LockedKey> {
        self.shared.locks.locked_keys(most)
    }
}
