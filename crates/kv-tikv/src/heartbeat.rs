//! Heartbeats: a thread that renews the time to live of the primary locks of running transactions. When a
//! node dies, the locks of its transactions expire, and the next transaction that meets them cleans them
//! up.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome};
use crate::options::TikvOptions;
use crate::periodic::Periodic;
use crate::proto::kvrpcpb::TxnHeartBeatRequest;
use kv::{Timestamp, timestamp_to_ms};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often to look for locks that have to be renewed.
const TICK: Duration = Duration::from_millis(500);
/// How long one round waits for the stores, since other locks may become due meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// For locks that stay until somebody ends their transaction. Counted from any timestamp, it is beyond the
/// largest one, so such a lock has not even expired for a request that takes every lock for expired.
pub const FOREVER: Duration = Duration::from_millis(1 << 46);

/// How long a transaction's locks live.
#[derive(Clone, Copy)]
pub struct Lifetime {
    /// Without a heartbeat: if this node dies.
    pub ttl: Duration,
    /// With heartbeats.
    pub longest: Duration,
}

impl Lifetime {
    /// A transaction that was left open does not hold its locks forever.
    pub fn configured(options: &TikvOptions) -> Self {
        Self {
            ttl: options.lock_ttl,
            longest: options.gc_hold_max,
        }
    }
}

/// A running transaction.
struct Heartbeat {
    primary: Vec<u8>,
    lifetime: Lifetime,
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

type Running = Arc<Mutex<HashMap<Timestamp, Heartbeat>>>;

/// See the module.
pub struct Heartbeats {
    running: Running,
    /// Without a thread, locks live for their first time to live only.
    _thread: Option<Periodic>,
}

/// A transaction whose locks are renewed while this lives.
pub struct Alive {
    running: Running,
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
        self.running.lock().remove(&self.start_ts);
    }
}

impl Heartbeats {
    pub fn start(cluster: &Arc<Cluster>) -> Self {
        let running = Running::default();
        let tick = TICK.min(cluster.options.lock_ttl / 6);
        let (cluster, of_thread) = (Arc::clone(cluster), Arc::clone(&running));
        let round = move || {
            // After a panic the other locks live long enough to be renewed in the next round.
            renew(&cluster, take_due(&of_thread));
            ControlFlow::Continue(())
        };
        let thread = Periodic::start("tikv-heartbeats", tick, "renewing locks", round);
        Self {
            running,
            _thread: thread.ok(),
        }
    }

    /// Starts the heartbeat of a transaction whose primary lock has just been taken, or is about to be.
    pub fn start_for(&self, start_ts: Timestamp, primary: Vec<u8>, lifetime: Lifetime) -> Alive {
        let lost = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let heartbeat = Heartbeat {
            primary,
            lifetime,
            since: now,
            renewed: now,
            lost: Arc::clone(&lost),
        };
        self.running.lock().insert(start_ts, heartbeat);
        Alive {
            running: Arc::clone(&self.running),
            start_ts,
            lost,
        }
    }
}

/// A lock's time to live as the cluster counts it, from the transaction's start, so that the lock lives for
/// `ttl` from now.
pub fn lock_ttl_ms(start_ts: Timestamp, now: Timestamp, ttl: Duration) -> u64 {
    let elapsed_ms = timestamp_to_ms(now).saturating_sub(timestamp_to_ms(start_ts));
    elapsed_ms + u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX >> 1)
}

/// Whether a lock with this time to live stays until somebody ends its transaction ([`FOREVER`]).
pub fn lives_forever(ttl_ms: u64) -> bool {
    u128::from(ttl_ms) >= FOREVER.as_millis()
}

/// The heartbeats to send now. They count as sent.
fn take_due(running: &Running) -> Vec<Due> {
    let due = |(start_ts, heartbeat): (&Timestamp, &mut Heartbeat)| {
        let Lifetime { ttl, longest } = heartbeat.lifetime;
        let is_due = heartbeat.renewed.elapsed() >= ttl / 3 && heartbeat.since.elapsed() < longest;
        is_due.then(|| {
            heartbeat.renewed = Instant::now();
            Due {
                start_ts: *start_ts,
                primary: heartbeat.primary.clone(),
                ttl,
                lost: Arc::clone(&heartbeat.lost),
            }
        })
    };
    running.lock().iter_mut().filter_map(due).collect()
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
            Ok(Outcome::Answered(response)) => {
                if response.error.is_some_and(|error| error.txn_not_found.is_some()) {
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
