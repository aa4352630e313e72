//! Keeps the locks of living transactions alive: a thread that renews the time of their primary locks. Those of a node
//! that died run out, and whoever meets them cleans up.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome};
use crate::proto::kvrpcpb::TxnHeartBeatRequest;
use kv::{Timestamp, defect, timestamp_to_ms};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often to look whose time has to be renewed.
const TICK: Duration = Duration::from_millis(500);
/// How long a round waits for the stores: others' time runs on.
const PATIENCE: Duration = Duration::from_secs(2);

struct Kept {
    primary: Vec<u8>,
    /// How long the locks live without a renewal.
    ttl: Duration,
    since: Instant,
    renewed: Instant,
    lost: Arc<AtomicBool>,
}

/// One renewal.
struct Due {
    start_ts: Timestamp,
    primary: Vec<u8>,
    ttl: Duration,
    lost: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    kept: HashMap<Timestamp, Kept>,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// See the module.
pub struct Keeper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// One transaction that is kept alive while this lives.
pub struct Alive {
    shared: Arc<Shared>,
    start_ts: Timestamp,
    lost: Arc<AtomicBool>,
}

impl Alive {
    /// Whether the cluster has said that the transaction is no more.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Someone has found out in another way that it is.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.shared.state.lock().kept.remove(&self.start_ts);
    }
}

impl Keeper {
    pub fn start(cluster: &Arc<Cluster>) -> Self {
        let shared = Arc::new(Shared::default());
        let (cluster, of_thread) = (Arc::clone(cluster), Arc::clone(&shared));
        let thread = thread::Builder::new()
            .name("tikv-keeper".into())
            .spawn(move || run(&cluster, &of_thread))
            .ok();
        Self { shared, thread }
    }

    /// Its primary has been locked just now, or is about to be, to live for `ttl`.
    pub fn keep(&self, start_ts: Timestamp, primary: Vec<u8>, ttl: Duration) -> Alive {
        let lost = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let kept = Kept {
            primary,
            ttl,
            since: now,
            renewed: now,
            lost: Arc::clone(&lost),
        };
        self.shared.state.lock().kept.insert(start_ts, kept);
        Alive {
            shared: Arc::clone(&self.shared),
            start_ts,
            lost,
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How long a lock of a transaction lives from its start, to live for `ttl` from now.
pub fn lock_ttl_ms(start_ts: Timestamp, now: Timestamp, ttl: Duration) -> u64 {
    let elapsed_ms = timestamp_to_ms(now).saturating_sub(timestamp_to_ms(start_ts));
    elapsed_ms + u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX >> 1)
}

fn run(cluster: &Cluster, shared: &Shared) {
    let tick = TICK.min(cluster.options.lock_ttl / 6);
    loop {
        let due: Vec<Due> = {
            let mut state = shared.state.lock();
            if !state.stop {
                shared.changed.wait_for(&mut state, tick);
            }
            if state.stop {
                return;
            }
            let due = |(start_ts, kept): (&Timestamp, &mut Kept)| {
                let is_due = kept.renewed.elapsed() >= kept.ttl / 3
                    // A transaction that has been forgotten open holds its locks to a limit.
                    && kept.since.elapsed() < cluster.options.gc_hold_max;
                is_due.then(|| {
                    kept.renewed = Instant::now();
                    Due {
                        start_ts: *start_ts,
                        primary: kept.primary.clone(),
                        ttl: kept.ttl,
                        lost: Arc::clone(&kept.lost),
                    }
                })
            };
            state.kept.iter_mut().filter_map(due).collect()
        };
        // A panic is logged, and the others are renewed in the next round: their time is longer.
        let _ = defect::catch("renewing locks", || renew(cluster, due));
    }
}

fn renew(cluster: &Cluster, due: Vec<Due>) {
    let mut backoff = Backoff::new(PATIENCE, None);
    let now = cluster.oracle.estimate();
    let mut on_the_way = Vec::new();
    for Due {
        start_ts,
        primary,
        ttl,
        lost,
    } in due
    {
        let command = TxnHeartBeatRequest {
            start_version: start_ts,
            advise_lock_ttl: lock_ttl_ms(start_ts, now, ttl),
            primary_lock: primary.clone(),
            ..Default::default()
        };
        let sent = cluster
            .region(&primary, &mut backoff)
            .and_then(|region| cluster.send(region, command, backoff.deadline));
        match sent {
            Ok(sent) => on_the_way.push((sent, lost)),
            Err(error) => tracing::warn!(%error, "a transaction's locks were not renewed"),
        }
    }
    for (mut sent, lost) in on_the_way {
        match sent.wait(None) {
            Ok(Outcome::Answered(answer)) => {
                if answer.error.is_some_and(|error| error.txn_not_found.is_some()) {
                    lost.store(true, Ordering::Relaxed);
                }
            }
            // The next round comes long before the locks' time is over; by then the region has been found again.
            Ok(Outcome::Refused(error)) => {
                let _ = cluster.refused(&sent.region, &error, &mut Backoff::new(Duration::ZERO, None));
            }
            Ok(Outcome::Failed(error)) => {
                let _ = cluster.failed(&sent.region, &error, &mut Backoff::new(Duration::ZERO, None));
            }
            Err(error) => tracing::warn!(%error, "a transaction's locks were not renewed"),
        }
    }
}
