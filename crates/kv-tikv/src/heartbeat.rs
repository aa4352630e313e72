//! Heartbeats: a thread that renews the time to live of the primary locks of running transactions. When a
//! node dies, the locks of its transactions expire, and the next transaction that meets them cleans them
//! up.

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

/// How often to look for locks that have to be renewed.
const TICK: Duration = Duration::from_millis(500);
/// How long one round waits for the stores, since other locks may become due meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

struct Heartbeat {
    primary: Vec<u8>,
    /// How long the locks live without a heartbeat.
    ttl: Duration,
    since: Instant,
    renewed: Instant,
    lost: Arc<AtomicBool>,
}

/// A heartbeat to be sent.
struct Due {
    start_ts: Timestamp,
    primary: Vec<u8>,
    ttl: Duration,
    lost: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    running: HashMap<Timestamp, Heartbeat>,
    stop: bool,
}

#[derive(Default)]
struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
}

/// See the module.
pub struct Heartbeats {
    schedule: Arc<Schedule>,
    thread: Option<JoinHandle<()>>,
}

/// A transaction whose locks are renewed while this lives.
pub struct Alive {
    schedule: Arc<Schedule>,
    start_ts: Timestamp,
    lost: Arc<AtomicBool>,
}

impl Alive {
    /// Whether the cluster has reported that the transaction no longer exists.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Marks it as lost, after another request has shown that.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.schedule.state.lock().running.remove(&self.start_ts);
    }
}

impl Heartbeats {
    pub fn start(cluster: &Arc<Cluster>) -> Self {
        let schedule = Arc::new(Schedule::default());
        let (cluster, of_thread) = (Arc::clone(cluster), Arc::clone(&schedule));
        let thread = thread::Builder::new()
            .name("tikv-heartbeats".into())
            .spawn(move || run(&cluster, &of_thread))
            .ok();
        Self { schedule, thread }
    }

    /// Starts the heartbeat of a transaction whose primary lock has just been taken, or is about to be,
    /// with this time to live.
    pub fn start_for(&self, start_ts: Timestamp, primary: Vec<u8>, ttl: Duration) -> Alive {
        let lost = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let running = Heartbeat {
            primary,
            ttl,
            since: now,
            renewed: now,
            lost: Arc::clone(&lost),
        };
        self.schedule.state.lock().running.insert(start_ts, running);
        Alive {
            schedule: Arc::clone(&self.schedule),
            start_ts,
            lost,
        }
    }
}

impl Drop for Heartbeats {
    fn drop(&mut self) {
        self.schedule.state.lock().stop = true;
        self.schedule.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A lock's time to live as the cluster counts it, from the transaction's start, so that the lock lives for
/// `ttl` from now.
pub fn lock_ttl_ms(start_ts: Timestamp, now: Timestamp, ttl: Duration) -> u64 {
    let elapsed_ms = timestamp_to_ms(now).saturating_sub(timestamp_to_ms(start_ts));
    elapsed_ms + u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX >> 1)
}

fn run(cluster: &Cluster, schedule: &Schedule) {
    let tick = TICK.min(cluster.options.lock_ttl / 6);
    loop {
        let due: Vec<Due> = {
            let mut state = schedule.state.lock();
            if !state.stop {
                schedule.changed.wait_for(&mut state, tick);
            }
            if state.stop {
                return;
            }
            let due = |(start_ts, running): (&Timestamp, &mut Heartbeat)| {
                let is_due = running.renewed.elapsed() >= running.ttl / 3
                    // A transaction that was left open does not hold its locks for ever.
                    && running.since.elapsed() < cluster.options.gc_hold_max;
                is_due.then(|| {
                    running.renewed = Instant::now();
                    Due {
                        start_ts: *start_ts,
                        primary: running.primary.clone(),
                        ttl: running.ttl,
                        lost: Arc::clone(&running.lost),
                    }
                })
            };
            state.running.iter_mut().filter_map(due).collect()
        };
        // A panic is logged. The other locks live long enough to be renewed in the next round.
        let _ = defect::catch("renewing locks", || renew(cluster, due));
    }
}

fn renew(cluster: &Cluster, due: Vec<Due>) {
    let mut backoff = Backoff::new(PATIENCE, None);
    let now = cluster.oracle.estimate();
    let mut in_flight = Vec::new();
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
            Ok(sent) => in_flight.push((sent, lost)),
            Err(error) => tracing::warn!(%error, "a transaction's locks were not renewed"),
        }
    }
    for (mut sent, lost) in in_flight {
        match sent.wait(None) {
            Ok(Outcome::Answered(answer)) => {
                if answer.error.is_some_and(|error| error.txn_not_found.is_some()) {
                    lost.store(true, Ordering::Relaxed);
                }
            }
            // The next round comes long before the locks expire, and finds the region again.
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
