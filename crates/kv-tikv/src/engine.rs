//! The engine: what [`kv::Store`] runs on.

use crate::background::Background;
use crate::cluster::Cluster;
use crate::commit::commit_secondaries;
use crate::gc::{self, Collector};
use crate::keeper::Keeper;
use crate::options::TikvOptions;
use crate::prober::{Prober, Txns};
use crate::sharing::Sharing;
use crate::transaction::TikvTransaction;
use kv::lock_table::{COLLECTOR, Owner};
use kv::{
    Engine, EngineTransaction, Error, GcReport, Interrupt, KeyRange, LATEST, Limits, LockStats, LockTable,
    Part, Pins, ReadAt, Region, Result, ScanRequest, SplitReport, Timestamp, TxnOptions, Visit, VisitBatch,
    timestamp_to_ms,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A commit is ahead of PD by one at most.
const TIMESTAMPS_TRIED: usize = 100;

/// PD's clock moves in steps of 50 ms (`tso-update-physical-interval`) and may be somewhat behind ours: what is no further
/// in its future than this has passed for whoever asks, as with AS OF TIMESTAMP NOW(), and PD's word for it is waited for.
const BEHIND_MAX: Duration = Duration::from_millis(500);
const BEHIND_POLL: Duration = Duration::from_millis(10);

/// What the engine, its transactions and its threads share.
pub struct Shared {
    pub cluster: Arc<Cluster>,
    pub locks: LockTable,
    pub sharing: Sharing,
    pub pins: Pins,
    pub keeper: Keeper,
    pub prober_txns: Txns,
    pub gc: gc::State,
    background: Background,
    next_owner: AtomicU64,
    /// The highest commit this node was told of.
    newest_commit: AtomicU64,
    commits: AtomicU64,
}

impl Shared {
    pub fn new_owner(&self) -> Owner {
        self.next_owner.fetch_add(1, Ordering::Relaxed)
    }

    /// A timestamp above all that this node has seen. (A store that commits in one phase chooses the next one itself,
    /// so PD may give the same a second time: to a snapshot, which sees the commit either way.)
    pub fn timestamp(&self, interrupt: Option<&Interrupt>) -> Result<Timestamp> {
        for _ in 0..TIMESTAMPS_TRIED {
            let ts = self.cluster.timestamp(interrupt)?;
            if ts > self.newest_commit.load(Ordering::SeqCst) {
                return Ok(ts);
            }
        }
        Err(Error::ClusterTimeout {
            part: Part::Oracle,
            reason: "a store has committed far ahead of its timestamps".into(),
        })
    }

    /// Returns when PD's clock has reached `ts`, unless it is far from it.
    fn await_timestamp(&self, ts: Timestamp) -> Result<()> {
        let ahead_max_ms = u64::try_from(BEHIND_MAX.as_millis()).unwrap_or(u64::MAX);
        let end = Instant::now() + BEHIND_MAX;
        loop {
            let now = self.timestamp(None)?;
            if ts <= now {
                return Ok(());
            }
            let ahead_ms = timestamp_to_ms(ts).saturating_sub(timestamp_to_ms(now));
            if ahead_ms > ahead_max_ms || Instant::now() >= end {
                return Err(Error::SnapshotInFuture { ts });
            }
            thread::sleep(BEHIND_POLL);
        }
    }

    /// Has work done that nobody waits for.
    pub fn in_background(&self, work: impl FnOnce() + Send + 'static) {
        self.background.run(work);
    }

    /// Takes note of a commit, and has its other keys committed by someone else.
    pub fn committed(
        &self,
        start_ts: Timestamp,
        commit_ts: Timestamp,
        secondaries: Vec<Vec<u8>>,
    ) -> Timestamp {
        self.newest_commit.fetch_max(commit_ts, Ordering::SeqCst);
        self.commits.fetch_add(1, Ordering::Relaxed);
        if !secondaries.is_empty() {
            let cluster = Arc::clone(&self.cluster);
            self.background.run(move || {
                if let Err(error) = commit_secondaries(&cluster, start_ts, commit_ts, secondaries) {
                    tracing::warn!(%error, "rows of a committed transaction are left to be resolved by readers");
                }
            });
        }
        commit_ts
    }

    /// Keeps what is seen at `ts`, unless PD may have been told already that nobody here reads it.
    fn pin(&self, ts: Timestamp) -> Result<()> {
        self.pins.pin(ts)?;
        let told = self.gc.check_told(ts);
        if told.is_err() {
            self.pins.unpin(ts);
        }
        told
    }

    /// Refuses to read what may have been collected because this node could not say that it still reads it.
    fn check_readable(&self, ts: Timestamp) -> Result<()> {
        if ts == LATEST {
            return Ok(());
        }
        self.gc.check_told(ts)?;
        self.gc.check_hold()
    }
}

/// See the module.
pub struct TikvEngine {
    /// Before `shared`, so that their threads end first.
    collector: Option<Collector>,
    prober: Option<Prober>,
    shared: Arc<Shared>,
}

impl TikvEngine {
    pub fn open(options: TikvOptions) -> Result<Self> {
        if options.endpoints.is_empty() {
            return Err(Error::Unavailable("no address of PD".into()));
        }
        let cluster = Cluster::connect(options)?;
        let safe_point = cluster
            .pd
            .gc_safe_point(Instant::now() + cluster.options.operation_timeout)?;
        let shared = Arc::new(Shared {
            locks: LockTable::new(),
            sharing: Sharing::default(),
            pins: Pins::new(Arc::new(AtomicU64::new(safe_point))),
            keeper: Keeper::start(&cluster),
            prober_txns: Txns::default(),
            gc: gc::State::new(&cluster.options),
            background: Background::start(),
            next_owner: AtomicU64::new(COLLECTOR + 1),
            newest_commit: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            cluster,
        });
        gc::look_around(&shared)?;
        let collector = match shared.cluster.options.background {
            true => Some(Collector::start(&shared)?),
            false => None,
        };
        let prober = Some(Prober::start(&shared));
        Ok(Self {
            collector,
            prober,
            shared,
        })
    }
}

impl Drop for TikvEngine {
    fn drop(&mut self) {
        drop(self.collector.take());
        drop(self.prober.take());
        gc::release_hold(&self.shared);
    }
}

impl TikvEngine {
    /// Several requests see one moment: of the newest state, this one.
    fn at_one_moment<T>(&self, at: ReadAt, read: impl FnOnce(ReadAt) -> Result<T>) -> Result<T> {
        if at.ts != LATEST {
            self.shared.check_readable(at.ts)?;
            return read(at);
        }
        let ts = self.pin_now(at.interrupt)?;
        let outcome = read(ReadAt { ts, ..at });
        self.unpin(ts);
        outcome
    }
}

impl Engine for TikvEngine {
    fn name(&self) -> &'static str {
        "tikv"
    }

    fn limits(&self) -> Limits {
        self.shared.cluster.options.effective_limits()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn current_ts(&self) -> Result<Timestamp> {
        self.shared.timestamp(None)
    }

    fn pin(&self, ts: Timestamp) -> Result<()> {
        // PD's word for it that the moment has passed; commits ask for a later one.
        if ts > self.shared.cluster.oracle.last() {
            self.shared.await_timestamp(ts)?;
        }
        self.shared.pin(ts)
    }

    fn unpin(&self, ts: Timestamp) {
        self.shared.pins.unpin(ts);
    }

    fn pin_now(&self, interrupt: Option<&Interrupt>) -> Result<Timestamp> {
        loop {
            let ts = self.shared.timestamp(interrupt)?;
            match self.shared.pin(ts) {
                Ok(()) => return Ok(ts),
                // A collection with an age of zero came in between.
                Err(Error::SnapshotTooOld { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn get_with(&self, key: &[u8], at: ReadAt, found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.shared.check_readable(at.ts)?;
        let value = self.shared.cluster.get(key, at)?;
        if let Some(value) = &value {
            found(value);
        }
        Ok(value.is_some())
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()> {
        self.shared.check_readable(at.ts)?;
        self.shared.cluster.batch_get(keys, at, visit)
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        let ScanRequest {
            range,
            ts,
            reverse,
            interrupt,
        } = request;
        self.at_one_moment(ReadAt { ts, interrupt }, |at| {
            self.shared.cluster.scan(range, at, reverse, visit)
        })
    }

    fn begin(&self, start_ts: Timestamp, options: &TxnOptions) -> Result<Box<dyn EngineTransaction>> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(TikvTransaction::new(shared, start_ts, options)?))
    }

    fn checks_late(&self) -> bool {
        true
    }

    fn checks_promises(&self) -> bool {
        self.shared.cluster.options.check_promises
    }

    fn split_range(&self, range: &KeyRange, parts: usize, at: ReadAt) -> Result<Vec<KeyRange>> {
        if parts <= 1 || range.is_empty() {
            return Ok(vec![range.clone()]);
        }
        self.at_one_moment(at, |at| self.shared.cluster.split_range(range, parts, at))
    }

    fn split_at(
        &self,
        keys: &[Vec<u8>],
        patience: Duration,
        interrupt: Option<&Interrupt>,
    ) -> Result<SplitReport> {
        self.shared.cluster.split_at(keys, patience, interrupt)
    }

    fn regions(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Region>> {
        self.shared.cluster.describe_regions(range, interrupt)
    }

    fn approximate_bytes(&self, range: &KeyRange, at: ReadAt) -> Result<u64> {
        if range.is_empty() {
            return Ok(0);
        }
        self.at_one_moment(at, |at| self.shared.cluster.approximate_bytes(range, at))
    }

    fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        self.shared.cluster.destroy_range(range)
    }

    fn safe_point(&self) -> Timestamp {
        self.shared.pins.safe_point()
    }

    fn set_gc_age(&self, age: Duration) {
        self.shared.gc.set_age(age);
    }

    fn collect_garbage(&self) -> Result<GcReport> {
        gc::collect(&self.shared)
    }

    /// Nothing to do: what is committed is on the disks of a majority.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let locks = self.lock_stats();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let asked = &self.shared.cluster.counters;
        let (snapshots, oldest) = self.shared.pins.live();
        let now_ms = timestamp_to_ms(self.shared.cluster.oracle.estimate());
        let oldest_age_ms = oldest.map_or(0, |ts| now_ms.saturating_sub(timestamp_to_ms(ts)));
        vec![
            ("commits_total", count(&self.shared.commits)),
            ("requests_total", count(&asked.requests)),
            ("requests_refused_total", count(&asked.refusals)),
            ("requests_unanswered_total", count(&asked.failures)),
            ("timestamps_total", count(&asked.timestamps)),
            ("locks_held", locks.held as f64),
            ("locks_waiting", locks.waiting as f64),
            ("lock_waits_total", locks.waits as f64),
            ("lock_timeouts_total", locks.timeouts as f64),
            ("deadlocks_total", locks.deadlocks as f64),
            ("snapshots_live", snapshots as f64),
            ("snapshot_oldest_age_seconds", oldest_age_ms as f64 / 1000.0),
            ("regions_known", self.shared.cluster.regions.len() as f64),
        ]
    }

    fn lock_stats(&self) -> LockStats {
        let here = self.shared.locks.stats();
        let cluster = &self.shared.cluster.lock_waits;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LockStats {
            held: here.held,
            waiting: here.waiting + count(&cluster.waiting),
            waits: here.waits + count(&cluster.waits),
            timeouts: here.timeouts + count(&cluster.timeouts),
            deadlocks: here.deadlocks + count(&cluster.deadlocks),
        }
    }
}
