//! The engine behind [`kv::Store`].

use crate::cluster::Cluster;
use crate::coprocessor::Responses;
use crate::detached;
use crate::gc;
use crate::node::Node;
use crate::options::TikvOptions;
use crate::periodic::Periodic;
use crate::prober;
use crate::ranges;
use crate::read;
use crate::scan;
use crate::split;
use crate::transaction::TikvTransaction;
use kv::{
    CoprocessorRequest, CoprocessorResponses, DeadlockReport, Detached, DetachedEnd, Engine,
    EngineTransaction, Error, GcReport, Interrupt, KeyRange, LATEST, Limits, LockStats, LockedKey, ReadAt,
    Region, Result, ScanRequest, SplitReport, Timestamp, TxnOptions, Visit, VisitBatch, timestamp_to_ms,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// See the module.
pub struct TikvEngine {
    /// Declared before `node`, so that their threads end first.
    collector: Option<Periodic>,
    prober: Option<Periodic>,
    node: Arc<Node>,
}

impl TikvEngine {
    pub fn open(options: TikvOptions) -> Result<Self> {
        if options.endpoints.is_empty() {
            return Err(Error::Unavailable(
                "the store's URL has no address of PD (tikv://HOST:PORT)".into(),
            ));
        }
        let cluster = Cluster::connect(options)?;
        let safe_point = cluster
            .pd
            .gc_safe_point(Instant::now() + cluster.options.operation_timeout)?;
        let node = Arc::new(Node::new(cluster, safe_point));
        gc::check_for_tidb(&node)?;
        let collector = match node.cluster.options.background {
            true => Some(gc::start(&node)?),
            false => None,
        };
        let prober = prober::start(&node);
        Ok(Self {
            collector,
            prober,
            node,
        })
    }
}

impl Drop for TikvEngine {
    fn drop(&mut self) {
        drop(self.collector.take());
        drop(self.prober.take());
        gc::release_hold(&self.node);
    }
}

impl TikvEngine {
    /// Several requests must see one snapshot: for a read of the newest state, takes a timestamp for it.
    fn at_one_moment<T>(&self, at: ReadAt, read: impl FnOnce(ReadAt) -> Result<T>) -> Result<T> {
        if at.ts != LATEST {
            self.node.check_readable(at.ts)?;
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
        self.node.cluster.options.effective_limits()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn current_ts(&self) -> Result<Timestamp> {
        self.node.timestamp(None)
    }

    fn pin(&self, ts: Timestamp) -> Result<()> {
        // PD must confirm that this time has passed, so that later commits get later timestamps.
        if ts > self.node.cluster.oracle.last() {
            self.node.await_timestamp(ts)?;
        }
        self.node.pin(ts)
    }

    fn unpin(&self, ts: Timestamp) {
        self.node.pins.unpin(ts);
    }

    fn pin_now(&self, interrupt: Option<&Interrupt>) -> Result<Timestamp> {
        loop {
            let ts = self.node.timestamp(interrupt)?;
            match self.node.pin(ts) {
                Ok(()) => return Ok(ts),
                // A collection with an age of zero ran in between.
                Err(Error::SnapshotTooOld { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn get_with(&self, key: &[u8], at: ReadAt, found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.node.check_readable(at.ts)?;
        let value = read::get(&self.node.cluster, key, at)?;
        if let Some(value) = &value {
            found(value);
        }
        Ok(value.is_some())
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()> {
        self.node.check_readable(at.ts)?;
        read::batch_get(&self.node.cluster, keys, at, visit)
    }

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()> {
        let ScanRequest {
            range,
            ts,
            reverse,
            interrupt,
            fills_caches: _,
        } = request;
        self.at_one_moment(ReadAt { ts, interrupt }, |at| {
            scan::visit(&self.node.cluster, range, at, reverse, visit)
        })
    }

    /// A store finds a table's layout after the keyspace's prefix alone.
    fn has_coprocessor(&self) -> bool {
        self.node.cluster.options.key_prefix.is_empty()
    }

    fn coprocessor(
        &self,
        request: CoprocessorRequest,
        ts: Timestamp,
        interrupt: Option<Arc<Interrupt>>,
    ) -> Result<Option<Box<dyn CoprocessorResponses>>> {
        if !self.has_coprocessor() {
            return Ok(None);
        }
        self.node.check_readable(ts)?;
        let responses = Responses::new(&self.node, request, ts, interrupt);
        Ok(Some(Box::new(responses)))
    }

    fn begin(&self, start_ts: Timestamp, options: &TxnOptions) -> Result<Box<dyn EngineTransaction>> {
        let node = Arc::clone(&self.node);
        Ok(Box::new(TikvTransaction::new(node, start_ts, options)?))
    }

    fn end_detached(&self, detached: &Detached, commit: bool) -> Result<DetachedEnd> {
        detached::end(&self.node, detached, commit)
    }

    fn detached_end(&self, detached: &Detached) -> Result<Option<DetachedEnd>> {
        detached::status(&self.node, detached)
    }

    fn finish_detached(&self, detached: &Detached, end: DetachedEnd) -> Result<()> {
        detached::finish(&self.node, detached, end)
    }

    fn defers_duplicate_checks(&self) -> bool {
        true
    }

    fn checks_promises(&self) -> bool {
        self.node.cluster.options.check_promises
    }

    fn split_range(&self, range: &KeyRange, parts: usize, at: ReadAt) -> Result<Vec<KeyRange>> {
        if parts <= 1 || range.is_empty() {
            return Ok(vec![range.clone()]);
        }
        self.at_one_moment(at, |at| ranges::split(&self.node.cluster, range, parts, at))
    }

    fn split_at(
        &self,
        keys: &[Vec<u8>],
        patience: Duration,
        interrupt: Option<&Interrupt>,
    ) -> Result<SplitReport> {
        split::split_at(&self.node.cluster, keys, patience, interrupt)
    }

    fn regions(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Region>> {
        split::describe_all(&self.node.cluster, range, interrupt)
    }

    fn approximate_bytes(&self, range: &KeyRange, at: ReadAt) -> Result<u64> {
        if range.is_empty() {
            return Ok(0);
        }
        self.at_one_moment(at, |at| ranges::approximate_bytes(&self.node.cluster, range, at))
    }

    fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        ranges::destroy(&self.node.cluster, range)
    }

    fn safe_point(&self) -> Timestamp {
        self.node.pins.safe_point()
    }

    fn set_gc_age(&self, age: Duration) {
        self.node.gc.set_age(age);
    }

    fn collect_garbage(&self) -> Result<GcReport> {
        gc::collect(&self.node)
    }

    /// Does nothing: committed data is on the disks of a majority.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> Vec<(&'static str, f64)> {
        let locks = self.lock_stats();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let sent = &self.node.cluster.counters;
        let (snapshots, oldest) = self.node.pins.live();
        let now_ms = timestamp_to_ms(self.node.cluster.oracle.estimate());
        let oldest_age_ms = oldest.map_or(0, |ts| now_ms.saturating_sub(timestamp_to_ms(ts)));
        vec![
            ("commits_total", count(&self.node.commits)),
            ("requests_total", count(&sent.requests)),
            ("requests_refused_total", count(&sent.refusals)),
            ("requests_unanswered_total", count(&sent.failures)),
            ("requests_not_computed_total", count(&sent.not_computed)),
            ("timestamps_total", count(&sent.timestamps)),
            ("locks_held", locks.held as f64),
            ("locks_waiting", locks.waiting as f64),
            ("lock_waits_total", locks.waits as f64),
            ("lock_timeouts_total", locks.timeouts as f64),
            ("deadlocks_total", locks.deadlocks as f64),
            ("snapshots_live", snapshots as f64),
            ("snapshot_oldest_age_seconds", oldest_age_ms as f64 / 1000.0),
            ("regions_known", self.node.cluster.regions.len() as f64),
        ]
    }

    fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.node.locks.last_deadlock()
    }

    fn locked_keys(&self, most: usize) -> Vec<LockedKey> {
        self.node.locks.locked_keys(most)
    }

    fn lock_stats(&self) -> LockStats {
        let local = self.node.locks.stats();
        let cluster = &self.node.cluster.lock_waits;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LockStats {
            held: local.held,
            waiting: local.waiting + count(&cluster.waiting),
            waits: local.waits + count(&cluster.waits),
            waited_ms: local.waited_ms + count(&cluster.waited_us) / 1000,
            longest_ms: local.longest_ms.max(count(&cluster.longest_us) / 1000),
            timeouts: local.timeouts + count(&cluster.timeouts),
            deadlocks: local.deadlocks + count(&cluster.deadlocks),
        }
    }
}
