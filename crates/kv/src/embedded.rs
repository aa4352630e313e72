//! An engine within this process: any [`Storage`], with timestamps, row locks, group commit and garbage collection
//! around it.
//!
//! A commit's way: [`crate::embedded_transaction`] locks and prepares on the transaction's thread, [`crate::group_commit`]
//! queues it, [`crate::commit`] runs for a group of them. Threads that work by themselves: [`crate::background`].

use crate::background::Background;
use crate::commit::Member;
use crate::defect;
use crate::embedded_transaction::EmbeddedTransaction;
use crate::engine::{Damage, Engine, EngineTransaction, GcReport, ReadAt, ScanRequest};
use crate::error::{Error, Result};
use crate::group_commit::{self, GroupCommit};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::lock::{LockMode, LockStats, LockWait};
use crate::lock_table::{Acquired, COLLECTOR, HeldKey, LockTable, Request};
use crate::oracle::Oracle;
use crate::pending_commit::INTERRUPT_LOOK;
use crate::pins::Pins;
use crate::reader::{KeyRange, Visit, VisitBatch};
use crate::region::{Region, SplitReport};
use crate::storage::{KeyGuard, Pressure, Storage};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::thread::available_parallelism;
use crate::sync::{Mutex, MutexGuard};
use crate::timestamp::{Clock, LATEST, SystemClock, Timestamp, timestamp_from_ms};
use crate::transaction::TxnOptions;
use std::cell::Cell;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

/// How an embedded engine behaves.
#[derive(Clone)]
pub struct EmbeddedOptions {
    pub limits: Limits,
    /// How long superseded versions are kept, if the storage has room enough for them. What a snapshot that lives needs is
    /// kept in any case.
    pub gc_age: Duration,
    /// How often the background collects garbage, if it need not do so sooner.
    pub gc_interval: Duration,
    /// Whether to run background threads: garbage collection, and the log sync each second for commits that did not
    /// wait for one.
    pub background: bool,
    /// Whether each commit looks if promises about its writes were kept ([`crate::promise`]). For tests.
    pub check_promises: bool,
    pub clock: Arc<dyn Clock>,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            gc_age: Duration::from_secs(600),
            gc_interval: Duration::from_secs(30),
            background: true,
            check_promises: false,
            clock: Arc::new(SystemClock),
        }
    }
}

impl fmt::Debug for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedOptions")
            .field("limits", &self.limits)
            .field("gc_age", &self.gc_age)
            .field("gc_interval", &self.gc_interval)
            .field("background", &self.background)
            .field("check_promises", &self.check_promises)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub groups: AtomicU64,
    pub syncs: AtomicU64,
    pub conflicts: AtomicU64,
    pub collected: AtomicU64,
}

/// What the engine and its transactions share.
pub(crate) struct Shared<S: Storage> {
    pub storage: S,
    pub oracle: Oracle,
    pub locks: LockTable,
    pub counters: Counters,
    /// Transactions that have begun and not ended.
    pub open: AtomicUsize,
    cores: usize,
    pins: Pins,
    pub commits: GroupCommit<Member<S::Prepared>>,
    pub options: EmbeddedOptions,
    gc_age_ms: AtomicU64,
    /// One collection at a time.
    collecting: Mutex<()>,
    /// Something was applied without a sync since the last one.
    pub unsynced: AtomicBool,
    /// Why writes are refused, once they are.
    broken: Mutex<Option<String>>,
    is_broken: AtomicBool,
}

impl<S: Storage> Shared<S> {
    /// Fails once an earlier write has left the log in doubt: whatever were added to it might be lost.
    pub fn check_writable(&self) -> Result<()> {
        if !self.is_broken.load(Ordering::SeqCst) {
            return Ok(());
        }
        let reason = self.broken.lock().clone().unwrap_or_default();
        Err(Error::StoreReadOnly(reason))
    }

    /// Nobody knows what the log holds, or who holds which locks: nothing may be added to it.
    pub fn refuse_writes(&self, reason: &str) {
        let mut broken = self.broken.lock();
        if broken.is_none() {
            tracing::error!(reason, "the store refuses all writes from now on");
            *broken = Some(format!("{reason}; repair the cause and restart"));
        }
        self.is_broken.store(true, Ordering::SeqCst);
    }

    /// Commits what a transaction has prepared, as part of a group.
    pub fn commit(&self, member: group_commit::Member<Member<S::Prepared>>) {
        self.commits.submit(member, self.is_crowded(), &|group, sync| {
            self.commit_group(group, sync)
        });
    }

    /// Whether more transactions are open than there are processors.
    fn is_crowded(&self) -> bool {
        self.open.load(Ordering::Relaxed) > self.cores
    }

    /// The work of the thread that commits groups.
    pub fn serve_commits(&self) {
        self.commits.serve(&|group, sync| self.commit_group(group, sync));
    }

    /// Syncs what was committed without waiting for it. A failure refuses further writes.
    pub fn sync_log(&self) -> Result<()> {
        if !self.unsynced.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        self.check_writable()?;
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        let synced = defect::catch("syncing the log", || self.storage.sync_log())
            .unwrap_or_else(|message| Err(Error::Internal(message)));
        synced.inspect_err(|error| self.refuse_writes(&format!("a write to the log failed ({error})")))
    }

    /// Collects if superseded versions take too much memory, before a commit adds to them: on the thread of the connection that
    /// writes, never on the one that commits for all. Where another thread collects already, waits for that. What is added
    /// beyond the limit is so no more than the commits have that came this far at the same time.
    ///
    /// # Errors
    /// There is no place for what snapshots need: those of the collection. [`Error::Interrupted`].
    pub fn make_room(&self, interrupt: &Interrupt) -> Result<()> {
        while self.storage.pressure() == Pressure::TooHigh {
            let Some(collecting) = self.collecting.try_lock_for(INTERRUPT_LOOK) else {
                interrupt.check()?;
                continue;
            };
            if self.storage.pressure() < Pressure::TooHigh {
                break;
            }
            match self.collect(&collecting, false) {
                Err(error) if self.storage.pressure() == Pressure::TooHigh => return Err(error),
                _ => break,
            }
        }
        Ok(())
    }

    pub fn collect_garbage(&self, thorough: bool) -> Result<GcReport> {
        self.collect(&self.collecting.lock(), thorough)
    }

    fn collect(&self, _one_at_a_time: &MutexGuard<'_, ()>, thorough: bool) -> Result<GcReport> {
        let age_ms = self.gc_age_ms.load(Ordering::Relaxed);
        // Never beyond what has been given out: a commit may still come below "now". With no age at all, everything
        // up to there: timestamps may have run ahead of the clock.
        let mut wanted = self.oracle.last();
        if age_ms > 0 {
            let aged = timestamp_from_ms(self.oracle.now_ms().saturating_sub(age_ms));
            wanted = wanted.min(aged.max(self.storage.wanted_safe_point()));
        }
        let safe_point = self.pins.advance(wanted);
        self.check_writable()?;
        let mut guard = GcGuard {
            locks: &self.locks,
            held: Vec::new(),
            interrupt: Interrupt::default(),
        };
        let removed = self.storage.collect(safe_point, thorough, &mut guard)?;
        self.counters.collected.fetch_add(removed, Ordering::Relaxed);
        Ok(GcReport {
            safe_point,
            removed: Some(removed),
        })
    }
}

/// Locks keys for garbage collection, never waiting.
struct GcGuard<'a> {
    locks: &'a LockTable,
    held: Vec<HeldKey>,
    interrupt: Interrupt,
}

impl KeyGuard for GcGuard<'_> {
    fn try_lock(&mut self, key: &[u8]) -> bool {
        let request = Request {
            owner: COLLECTOR,
            locks_held: 0,
            key,
            mode: LockMode::Exclusive,
            wait: LockWait::SkipLocked,
            interrupt: &self.interrupt,
            has_waited: Cell::default(),
        };
        match self.locks.lock(&request) {
            Ok(Acquired::New(held) | Acquired::After(held, _)) => {
                self.held.push(held);
                true
            }
            Ok(Acquired::Held) => true,
            Ok(Acquired::Skipped) | Err(_) => false,
        }
    }

    fn unlock_all(&mut self) {
        for held in self.held.drain(..) {
            self.locks.unlock(COLLECTOR, &held);
        }
    }
}

impl Drop for GcGuard<'_> {
    fn drop(&mut self) {
        self.unlock_all();
    }
}

/// [`Engine`] for any [`Storage`].
pub struct EmbeddedEngine<S: Storage> {
    shared: Arc<Shared<S>>,
    background: Option<Background>,
}

impl<S: Storage> EmbeddedEngine<S> {
    /// `safe_point` is the one the storage looks at while it compacts, if it does; else a new one.
    pub fn new(storage: S, safe_point: Arc<AtomicU64>, options: EmbeddedOptions) -> Self {
        let shared = Arc::new(Shared {
            oracle: Oracle::new(storage.newest_commit_ts(), Arc::clone(&options.clock)),
            locks: LockTable::new(),
            counters: Counters::default(),
            open: AtomicUsize::new(0),
            cores: available_parallelism().map_or(1, NonZero::get),
            pins: Pins::new(safe_point),
            commits: GroupCommit::new(),
            gc_age_ms: AtomicU64::new(milliseconds(options.gc_age)),
            collecting: Mutex::new(()),
            unsynced: AtomicBool::new(false),
            broken: Mutex::new(None),
            is_broken: AtomicBool::new(false),
            storage,
            options,
        });
        let background = shared
            .options
            .background
            .then(|| Background::start(&shared, shared.options.gc_interval));
        Self { shared, background }
    }

    /// Reads of the newest state that look twice see one moment, and published commits only.
    fn at_this_moment<T>(&self, read: impl FnOnce(Timestamp) -> Result<T>) -> Result<T> {
        let ts = self.pin_now(None)?;
        let outcome = read(ts);
        self.unpin(ts);
        outcome
    }

    /// The storage below, for an engine's own figures and tests.
    pub fn storage(&self) -> &S {
        &self.shared.storage
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl<S: Storage> Drop for EmbeddedEngine<S> {
    fn drop(&mut self) {
        drop(self.background.take());
        // What was committed without a sync should not wait for the next start to reach the disk. Nobody is left to
        // tell about a failure, and nobody was promised it.
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
        self.shared.pins.pin(ts)
    }

    fn unpin(&self, ts: Timestamp) {
        self.shared.pins.unpin(ts);
    }

    /// Never waits, so there is nothing to interrupt.
    fn pin_now(&self, _: Option<&Interrupt>) -> Result<Timestamp> {
        loop {
            let ts = self.shared.oracle.current_ts();
            match self.shared.pins.pin(ts) {
                Ok(()) => return Ok(ts),
                // A collection with an age of zero came in between.
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
        // A version up to the last timestamp given is what a snapshot of this moment would see, without being one.
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
        self.shared.check_writable()?;
        if range.is_empty() {
            return Ok(());
        }
        self.shared.storage.destroy_range(range)
    }

    fn safe_point(&self) -> Timestamp {
        self.shared.pins.safe_point()
    }

    fn oldest_snapshot(&self) -> Timestamp {
        let (_, oldest) = self.shared.pins.live();
        oldest.unwrap_or_else(|| self.shared.oracle.last())
    }

    fn set_gc_age(&self, age: Duration) {
        self.shared.gc_age_ms.store(milliseconds(age), Ordering::Relaxed);
    }

    fn collect_garbage(&self) -> Result<GcReport> {
        self.shared.collect_garbage(true)
    }

    fn verify_cached(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Damage>> {
        self.at_this_moment(|ts| self.shared.storage.verify_cached(range, ts, interrupt))
    }

    fn flush(&self) -> Result<()> {
        self.shared.sync_log()?;
        self.shared.check_writable()?;
        self.shared.storage.flush()
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let counters = &self.shared.counters;
        let locks = self.shared.locks.stats();
        let (snapshots, oldest) = self.shared.pins.live();
        let now_ms = self.shared.oracle.now_ms();
        let oldest_age_ms = oldest.map_or(0, |ts| now_ms.saturating_sub(crate::timestamp_to_ms(ts)));
        let mut stats = vec![
            ("commits_total", count(&counters.commits)),
            ("commit_groups_total", count(&counters.groups)),
            ("log_syncs_total", count(&counters.syncs)),
            ("write_conflicts_total", count(&counters.conflicts)),
            ("gc_removed_versions_total", count(&counters.collected)),
            ("locks_held", locks.held as f64),
            ("locks_waiting", locks.waiting as f64),
            ("lock_waits_total", locks.waits as f64),
            ("lock_timeouts_total", locks.timeouts as f64),
            ("deadlocks_total", locks.deadlocks as f64),
            ("snapshots_live", snapshots as f64),
            ("snapshot_oldest_age_seconds", oldest_age_ms as f64 / 1000.0),
            (
                "store_read_only",
                f64::from(u8::from(self.shared.check_writable().is_err())),
            ),
        ];
        stats.extend(self.shared.storage.stats());
        stats
    }

    fn lock_stats(&self) -> LockStats {
        self.shared.locks.stats()
    }
}
