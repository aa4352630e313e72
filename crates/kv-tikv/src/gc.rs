//! Garbage collection: the stores remove old versions by themselves, below a safe point that PD keeps; this moves it.
//!
//! Every node tells PD the oldest moment it still reads, for a limited time, and tells it again before that is over. A
//! node that cannot stops reading at old moments, and no node reads below what it has told. A transaction that is longer
//! than the limit (`gc_hold_max`) is not told of any more, and its reads fail. Any node may move the safe point, up to the
//! oldest of those moments; in the background, whoever finds it due does, which elects one without a lease to hold: the
//! safe point is the lease.
//!
//! # Beside a TiDB
//!
//! The cluster has one safe point, and TiDB's collector knows of its own transactions by other ways than PD. So where a TiDB
//! server lives, we leave the safe point to it: it asks PD what we still read, as we do. It resolves locks before it moves the safe
//! point; ours we resolve ourselves before we say that we read no longer what is older than they are.

use crate::engine::Shared;
use crate::options::TikvOptions;
use kv::{Error, GcReport, Result, Timestamp, defect, timestamp_from_ms, timestamp_to_ms};
use parking_lot::{Condvar, Mutex};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A node is believed for so many intervals.
const HOLD_INTERVALS: u32 = 5;

/// What the node has told PD.
pub struct State {
    service: String,
    age_ms: AtomicU64,
    hold_ttl: Duration,
    /// The oldest moment it has told of, or is about to.
    told: AtomicU64,
    /// One report at a time: what it is about to tell may be taken back until it has told it.
    telling: Mutex<()>,
    /// Until when PD believes it; `None`: nothing was told, and nobody is expected to.
    held_until: Mutex<Option<Instant>>,
    /// One collection at a time.
    collecting: Mutex<()>,
    /// TiDB servers use the cluster, too: the safe point is theirs to move.
    is_left_to_others: AtomicBool,
    /// Then: all locks of ours that are older are resolved. The largest: whoever moves the safe point sees to them.
    resolved: AtomicU64,
}

impl State {
    pub fn new(options: &TikvOptions) -> Self {
        let random = RandomState::new();
        Self {
            service: format!("stemdb-{:016x}", random.hash_one(std::process::id())),
            age_ms: AtomicU64::new(milliseconds(options.gc_age)),
            hold_ttl: options.gc_interval * HOLD_INTERVALS,
            told: AtomicU64::new(0),
            telling: Mutex::new(()),
            held_until: Mutex::new(None),
            collecting: Mutex::new(()),
            is_left_to_others: AtomicBool::new(false),
            resolved: AtomicU64::new(Timestamp::MAX),
        }
    }

    pub fn set_age(&self, age: Duration) {
        self.age_ms.store(milliseconds(age), Ordering::Relaxed);
    }

    /// Refuses what PD has not been told of: anybody may collect it. Newer pins are told of before the safe point moves.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`].
    pub fn check_told(&self, ts: Timestamp) -> Result<()> {
        let told = self.told.load(Ordering::SeqCst);
        if ts < told {
            return Err(Error::SnapshotTooOld { ts, safe_point: told });
        }
        Ok(())
    }

    /// Has PD told (`tell`) what is read. Of what it answers, all that is below may have been collected.
    fn hold(
        &self,
        oldest: impl Fn() -> Timestamp,
        tell: impl Fn(Timestamp) -> Result<Timestamp>,
    ) -> Result<Timestamp> {
        let _one_at_a_time = self.telling.lock();
        loop {
            let told = self.choose(&oldest);
            let answer = tell(told)?;
            if answer <= told {
                return Ok(answer);
            }
            // It was, before this node came or while it was cut off: whoever reads it here is refused.
            self.told.fetch_max(answer, Ordering::SeqCst);
        }
    }

    /// What to tell PD of: the oldest moment that is read. Whoever pins an older one from here on is refused.
    fn choose(&self, oldest: impl Fn() -> Timestamp) -> Timestamp {
        // What was told before may have been collected: there is no way back.
        let before = self.told.fetch_max(oldest(), Ordering::SeqCst);
        // Somebody may have pinned between the look and the word; now everybody who has is seen.
        let told = oldest().max(before);
        self.told.store(told, Ordering::SeqCst);
        told
    }

    /// Fails while PD does not know what this node still reads.
    pub fn check_hold(&self) -> Result<()> {
        match *self.held_until.lock() {
            Some(until) if Instant::now() >= until => Err(Error::Unavailable(
                "PD could not be told which versions are still read; they may have been collected".into(),
            )),
            _ => Ok(()),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The newest moment of which nothing is kept but what live snapshots see, as far as age is concerned.
fn wanted(shared: &Shared, now: Timestamp) -> Timestamp {
    match shared.gc.age_ms.load(Ordering::Relaxed) {
        0 => now,
        age_ms => timestamp_from_ms(timestamp_to_ms(now).saturating_sub(age_ms)),
    }
}

/// Tells PD what this node still reads, within the limit. The answer is what nobody reads below.
fn hold(shared: &Shared, now: Timestamp) -> Result<Timestamp> {
    let options = &shared.cluster.options;
    let longest = timestamp_from_ms(timestamp_to_ms(now).saturating_sub(milliseconds(options.gc_hold_max)));
    let wanted = wanted(shared, now);
    let oldest = || {
        let (_, oldest_pin) = shared.pins.live();
        let resolved = shared.gc.resolved.load(Ordering::SeqCst);
        oldest_pin
            .map_or(now, |pin| pin.max(longest))
            .min(wanted)
            .min(resolved)
    };
    let State {
        service, hold_ttl, ..
    } = &shared.gc;
    let ttl_s = i64::try_from(hold_ttl.as_secs().max(1)).unwrap_or(i64::MAX);
    let deadline = Instant::now() + options.operation_timeout;
    shared.gc.hold(oldest, |oldest| {
        let told_at = Instant::now();
        let answer = shared.cluster.pd.hold_gc(service, ttl_s, oldest, deadline)?;
        if answer <= oldest && options.background {
            *shared.gc.held_until.lock() = Some(told_at + *hold_ttl);
        }
        Ok(answer)
    })
}

/// Tells PD that this node reads nothing any more.
pub fn release_hold(shared: &Shared) {
    let deadline = Instant::now() + Duration::from_secs(2);
    if let Err(error) = shared.cluster.pd.hold_gc(&shared.gc.service, 0, 0, deadline) {
        tracing::debug!(%error, "garbage is held back until PD forgets this node");
    }
}

/// One round, as far as all nodes allow.
pub fn collect(shared: &Shared) -> Result<GcReport> {
    let _one_at_a_time = shared.gc.collecting.lock();
    let now = shared.timestamp(None)?;
    let pd = &shared.cluster.pd;
    let deadline = || Instant::now() + shared.cluster.options.operation_timeout;
    if is_left_to_others(shared)? {
        return stand_back(shared, now);
    }
    let collectable = loop {
        // What others may have collected is not kept by keeping it here.
        let wanted = wanted(shared, now).max(hold(shared, now)?);
        if let Some(oldest) = pd.advance_gc(wanted, deadline())? {
            break wanted.min(oldest);
        }
    };
    // Whoever pins from here on is refused below it, and whoever has pinned counts.
    let safe_point = shared.pins.advance(collectable);
    if safe_point <= pd.gc_safe_point(deadline())? {
        return Ok(GcReport {
            safe_point,
            removed: None,
        });
    }
    // Those of all keyspaces, since they have one safe point.
    let range = &shared.cluster.keyspace.collected;
    let resolved = shared.cluster.resolve_old_locks(range, safe_point)?;
    pd.set_gc_safe_point(safe_point, deadline())?;
    tracing::debug!(safe_point, resolved, "garbage-collection safe point");
    Ok(GcReport {
        safe_point,
        removed: None,
    })
}

/// Looks for TiDB servers before anything is read or written.
///
/// # Errors
/// Where one has its rows at the keys where ours are.
pub fn look_around(shared: &Shared) -> Result<()> {
    let others = tidb_keyspaces(shared)?;
    check_keys_are_ours(shared, &others)?;
    note_others(shared, !others.is_empty())
}

/// Whether TiDB servers use the cluster.
fn is_left_to_others(shared: &Shared) -> Result<bool> {
    let others = tidb_keyspaces(shared)?;
    if let Err(error) = check_keys_are_ours(shared, &others) {
        tracing::error!(%error, "what is stored is about to be damaged");
    }
    note_others(shared, !others.is_empty())?;
    Ok(!others.is_empty())
}

fn tidb_keyspaces(shared: &Shared) -> Result<Vec<Option<u32>>> {
    let deadline = Instant::now() + shared.cluster.options.operation_timeout;
    shared.cluster.pd.tidb_keyspaces(deadline)
}

fn check_keys_are_ours(shared: &Shared, others: &[Option<u32>]) -> Result<()> {
    if !shared.cluster.keyspace.is_shared_with(others) {
        return Ok(());
    }
    Err(Error::Unavailable(
        "TiDB servers keep their data under the keys of this store: give StemDB a keyspace of its own \
         (tikv://PD:2379/KEYSPACE, on a cluster of API version 2), or a cluster"
            .into(),
    ))
}

fn note_others(shared: &Shared, are_others: bool) -> Result<()> {
    let gc = &shared.gc;
    if gc.is_left_to_others.swap(are_others, Ordering::SeqCst) == are_others {
        return Ok(());
    }
    if are_others {
        tracing::info!("TiDB servers use the cluster: its garbage-collection safe point is left to them");
        // Whoever has moved it has seen to all locks.
        let deadline = Instant::now() + shared.cluster.options.operation_timeout;
        let moved_to = shared.cluster.pd.gc_safe_point(deadline)?;
        gc.resolved.store(moved_to, Ordering::SeqCst);
    } else {
        tracing::info!("no TiDB server uses the cluster any more: its garbage is ours to collect");
        gc.resolved.store(Timestamp::MAX, Ordering::SeqCst);
    }
    Ok(())
}

/// A round where others move the safe point: lets them move it further, once nothing of ours is in its way.
fn stand_back(shared: &Shared, now: Timestamp) -> Result<GcReport> {
    let wanted = wanted(shared, now);
    let own = shared.cluster.keyspace.all();
    let count = shared.cluster.resolve_old_locks(&own, wanted)?;
    shared.gc.resolved.fetch_max(wanted, Ordering::SeqCst);
    hold(shared, now)?;
    let deadline = Instant::now() + shared.cluster.options.operation_timeout;
    let current = shared.cluster.pd.gc_safe_point(deadline)?;
    tracing::debug!(wanted, count, current, "garbage is left to TiDB's collector");
    Ok(GcReport {
        safe_point: shared.pins.advance(current),
        removed: None,
    })
}

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

/// The thread that reports, and collects if it is due.
pub struct Collector {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    /// Reports once before it returns: from then on, what this node reads is kept.
    pub fn start(shared: &Arc<Shared>) -> Result<Self> {
        hold(shared, shared.timestamp(None)?)?;
        let stop = Arc::new(Stop::default());
        let (of_thread, weak) = (Arc::clone(&stop), Arc::downgrade(shared));
        let interval = shared.cluster.options.gc_interval;
        let thread = thread::Builder::new()
            .name("tikv-gc".into())
            .spawn(move || run(&of_thread, &weak, interval))
            .map_err(|error| Error::Unavailable(format!("no thread for garbage collection: {error}")))?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(stop: &Stop, shared: &Weak<Shared>, interval: Duration) {
    loop {
        {
            let mut asked = stop.asked.lock();
            if !*asked {
                stop.changed.wait_for(&mut asked, interval);
            }
            if *asked {
                return;
            }
        }
        let Some(shared) = shared.upgrade() else { return };
        // Met again in the next round; a node that stays cut off stops reading.
        if let Ok(Err(error)) = defect::catch("collecting garbage", || report_and_collect(&shared, interval))
        {
            tracing::warn!(%error, "garbage collection");
        }
    }
}

fn report_and_collect(shared: &Shared, interval: Duration) -> Result<()> {
    let now = shared.timestamp(None)?;
    hold(shared, now)?;
    let deadline = Instant::now() + shared.cluster.options.operation_timeout;
    let current = shared.cluster.pd.gc_safe_point(deadline)?;
    // What others have collected cannot be read here either.
    shared.pins.advance(current);
    // All nodes look for locks where others collect, so seldom.
    let (since, pause) = match is_left_to_others(shared)? {
        true => {
            let age = Duration::from_millis(shared.gc.age_ms.load(Ordering::Relaxed));
            (shared.gc.resolved.load(Ordering::SeqCst), interval.max(age))
        }
        false => (current, interval),
    };
    let is_due =
        timestamp_to_ms(wanted(shared, now)) >= timestamp_to_ms(since).saturating_add(milliseconds(pause));
    if is_due {
        collect(shared)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::mpsc::channel;

    /// What one report is about to tell, and takes back, is not what was told before to the other.
    #[test]
    fn reports_come_one_after_the_other() {
        let gc = State::new(&TikvOptions::new(vec!["pd:2379".into()]));
        let (pinned, now) = (50, 100);
        thread::scope(|scope| {
            let (other, told_by_other) = channel();
            let looks = Cell::new(0);
            let oldest = || {
                looks.set(looks.get() + 1);
                if looks.get() == 1 {
                    return now;
                }
                // Somebody has pinned since; and a second report begins.
                let other = other.clone();
                let gc = &gc;
                scope.spawn(move || {
                    let told = |oldest: Timestamp| {
                        other.send(oldest).unwrap();
                        Ok(0)
                    };
                    gc.hold(|| pinned, told).unwrap();
                });
                let too_soon = told_by_other.recv_timeout(Duration::from_millis(200));
                assert!(too_soon.is_err(), "{too_soon:?}");
                pinned
            };
            let told = |oldest: Timestamp| {
                assert_eq!(oldest, pinned);
                Ok(0)
            };
            gc.hold(oldest, told).unwrap();
            assert_eq!(told_by_other.recv(), Ok(pinned));
        });
        assert_eq!(gc.check_told(pinned), Ok(()));
    }
}
