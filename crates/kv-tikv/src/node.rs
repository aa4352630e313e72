//! The state of this SQL node on the cluster.

use crate::background::Background;
use crate::cluster::Cluster;
use crate::commit::commit_secondaries;
use crate::heartbeat::Heartbeats;
use crate::read_report::ReadReport;
use crate::sharing::Sharing;
use kv::lock::Owner;
use kv::lock_table::COLLECTOR;
use kv::{Error, Interrupt, LATEST, LockTable, Part, Pins, Result, Timestamp, timestamp_to_ms};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A commit's timestamp is at most one ahead of PD.
const TIMESTAMPS_TRIED: usize = 100;

/// PD's clock advances in steps of 50 ms (`tso-update-physical-interval`) and may lag behind ours. A
/// timestamp no further in its future than this counts as past, as in AS OF TIMESTAMP NOW(): the caller
/// waits until PD's clock has reached it.
const BEHIND_MAX: Duration = Duration::from_millis(500);
const BEHIND_POLL: Duration = Duration::from_millis(10);

/// The state of this SQL node: what the engine, its transactions and its threads share.
pub struct Node {
    pub cluster: Arc<Cluster>,
    pub locks: LockTable,
    pub sharing: Sharing,
    pub pins: Pins,
    pub heartbeats: Heartbeats,
    pub lock_holders: LockHolders,
    pub gc: ReadReport,
    background: Background,
    next_owner: AtomicU64,
    /// The highest commit timestamp this node has seen.
    newest_commit: AtomicU64,
    pub commits: AtomicU64,
}

impl Node {
    pub fn new(cluster: Arc<Cluster>, safe_point: Timestamp) -> Self {
        Self {
            locks: LockTable::new(),
            sharing: Sharing::default(),
            pins: Pins::new(Arc::new(AtomicU64::new(safe_point))),
            heartbeats: Heartbeats::start(&cluster),
            lock_holders: LockHolders::default(),
            gc: ReadReport::new(&cluster.options),
            background: Background::start(),
            next_owner: AtomicU64::new(COLLECTOR + 1),
            newest_commit: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            cluster,
        }
    }

    pub fn new_owner(&self) -> Owner {
        self.next_owner.fetch_add(1, Ordering::Relaxed)
    }

    /// A timestamp above all that this node has seen. A store that commits in one phase takes the next
    /// timestamp itself. PD may then hand out the same one a second time, to a snapshot, which sees the
    /// commit either way.
    pub fn timestamp(&self, interrupt: Option<&Interrupt>) -> Result<Timestamp> {
        for _ in 0..TIMESTAMPS_TRIED {
            let ts = self.cluster.timestamp(interrupt)?;
            if ts > self.newest_commit.load(Ordering::SeqCst) {
                return Ok(ts);
            }
        }
        Err(Error::ClusterTimeout {
            part: Part::Oracle,
            reason: "a store has committed far ahead of PD".into(),
        })
    }

    /// Waits until PD's clock has reached `ts`. Fails if `ts` is far in PD's future.
    pub fn await_timestamp(&self, ts: Timestamp) -> Result<()> {
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

    /// Runs work that no client waits for.
    pub fn in_background(&self, work: impl FnOnce() + Send + 'static) {
        self.background.run(work);
    }

    /// Records a commit, and has its secondary keys committed in the background.
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
                    tracing::warn!(%error, "rows of a committed transaction are left for readers to resolve");
                }
            });
        }
        commit_ts
    }

    /// Pins the versions visible at `ts`. Fails if this node may already have reported to PD that it does
    /// not need them.
    pub fn pin(&self, ts: Timestamp) -> Result<()> {
        self.pins.pin(ts)?;
        let reported = self.gc.check_reported(ts);
        if reported.is_err() {
            self.pins.unpin(ts);
        }
        reported
    }

    /// Refuses to read versions that may have been collected because this node could not renew its report
    /// to PD.
    pub fn check_readable(&self, ts: Timestamp) -> Result<()> {
        if ts == LATEST {
            return Ok(());
        }
        self.gc.check_reported(ts)?;
        self.gc.check_hold()
    }
}

/// A transaction that holds locks in the cluster.
pub struct LockHolder {
    pub start_ts: Timestamp,
    pub primary: Vec<u8>,
}

/// The transactions that hold locks in the cluster, for [`crate::prober`].
#[derive(Default)]
pub struct LockHolders {
    pub by_owner: Mutex<HashMap<Owner, LockHolder>>,
}

impl LockHolders {
    pub fn insert(&self, owner: Owner, start_ts: Timestamp, primary: Vec<u8>) {
        self.by_owner
            .lock()
            .insert(owner, LockHolder { start_ts, primary });
    }

    pub fn remove(&self, owner: Owner) {
        self.by_owner.lock().remove(&owner);
    }
}
