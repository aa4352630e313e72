//! Deadlocks that go through both: waits in the cluster, which the stores see, and waits within this process, which they
//! do not.
//!
//! Whoever waits here for long, and holds locks in the cluster, is made to wait there too, now and then, for the same
//! key: then the stores see the whole circle, and answer with a deadlock, which ends the wait here. Should the key be free
//! in that moment, it is given back: who gets it is decided here, in order.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome};
use crate::engine::Shared;
use crate::keeper::lock_ttl_ms;
use crate::locks::release;
use crate::proto::kvrpcpb::{Mutation, PessimisticLockRequest, op};
use bytes::Bytes;
use kv::lock_table::Owner;
use kv::{Timestamp, defect};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Waits that are over sooner are nobody's business. [`crate::transaction`] relies on it: who may have been probed locks
/// at a newer timestamp than the probe, which is then too old to take that lock away.
pub const PROBE_AFTER: Duration = Duration::from_millis(300);

/// Circles through several probed waits are seen when the probes wait at the same time: nearly all the time.
const PROBE_WAIT: Duration = Duration::from_millis(400);
const PAUSE: Duration = Duration::from_millis(100);

/// A transaction that holds locks in the cluster.
struct Txn {
    start_ts: Timestamp,
    primary: Vec<u8>,
}

/// The transactions that can be part of such a circle.
#[derive(Default)]
pub struct Txns {
    by_owner: Mutex<HashMap<Owner, Txn>>,
}

impl Txns {
    pub fn insert(&self, owner: Owner, start_ts: Timestamp, primary: Vec<u8>) {
        self.by_owner.lock().insert(owner, Txn { start_ts, primary });
    }

    pub fn remove(&self, owner: Owner) {
        self.by_owner.lock().remove(&owner);
    }
}

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

/// The thread that probes.
pub struct Prober {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Prober {
    pub fn start(shared: &Arc<Shared>) -> Self {
        let stop = Arc::new(Stop::default());
        let (of_thread, weak) = (Arc::clone(&stop), Arc::downgrade(shared));
        let thread = thread::Builder::new()
            .name("tikv-prober".into())
            .spawn(move || run(&of_thread, &weak))
            .ok();
        Self { stop, thread }
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        *self.stop.asked.lock() = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(stop: &Stop, shared: &Weak<Shared>) {
    loop {
        {
            let mut asked = stop.asked.lock();
            if !*asked {
                stop.changed.wait_for(&mut asked, PAUSE);
            }
            if *asked {
                return;
            }
        }
        let Some(shared) = shared.upgrade() else { return };
        // Logged, and tried again.
        let _ = defect::catch("looking for deadlocks", || look(&shared));
    }
}

fn look(shared: &Shared) {
    let waits = shared.locks.long_waits(PROBE_AFTER);
    let probes: Vec<(Owner, PessimisticLockRequest)> = {
        let txns = shared.prober_txns.by_owner.lock();
        let probe = |(owner, key): (Owner, Arc<[u8]>)| {
            let txn = txns.get(&owner)?;
            Some((
                owner,
                request(&shared.cluster, txn, shared.cluster.keyspace.key(&key)),
            ))
        };
        waits.into_iter().filter_map(probe).collect()
    };
    probe_all(shared, probes);
}

fn request(cluster: &Cluster, txn: &Txn, key: Vec<u8>) -> PessimisticLockRequest {
    let now = cluster.oracle.estimate();
    PessimisticLockRequest {
        mutations: vec![Mutation {
            op: op::PESSIMISTIC_LOCK,
            key,
            value: Bytes::new(),
        }],
        primary_lock: txn.primary.clone(),
        start_version: txn.start_ts,
        lock_ttl: lock_ttl_ms(txn.start_ts, now, cluster.options.lock_ttl),
        for_update_ts: txn.start_ts,
        is_first_lock: false,
        wait_timeout: i64::try_from(PROBE_WAIT.as_millis()).unwrap_or(1),
        min_commit_ts: txn.start_ts + 1,
        ..Default::default()
    }
}

fn probe_all(shared: &Shared, probes: Vec<(Owner, PessimisticLockRequest)>) {
    let cluster = &shared.cluster;
    let mut backoff = Backoff::new(PROBE_WAIT * 5, None);
    let mut on_the_way = Vec::new();
    for (owner, probe) in probes {
        let Some(key) = probe.mutations.first().map(|mutation| mutation.key.clone()) else {
            continue;
        };
        let start_ts = probe.start_version;
        let sent = cluster
            .region(&key, &mut backoff)
            .and_then(|region| cluster.send(region, probe, backoff.deadline));
        match sent {
            Ok(sent) => on_the_way.push((owner, start_ts, key, sent)),
            // Asked again soon.
            Err(error) => tracing::debug!(%error, "probing for deadlocks"),
        }
    }
    for (owner, start_ts, key, mut sent) in on_the_way {
        let may_be_taken = match sent.wait(None) {
            Ok(Outcome::Answered(answer)) => {
                if answer.errors.iter().any(|error| error.deadlock.is_some()) {
                    shared.locks.make_victim(owner);
                }
                // Nobody was there to wait for.
                answer.errors.is_empty()
            }
            Ok(Outcome::Refused(error)) => {
                let _ = cluster.refused(&sent.region, &error, &mut backoff);
                false
            }
            Ok(Outcome::Failed(error)) => {
                let _ = cluster.failed(&sent.region, &error, &mut backoff);
                error.may_have_run()
            }
            Err(_) => true,
        };
        // One after the other, whatever has become of those before: left behind, it is in everybody's way.
        if may_be_taken && let Err(error) = release(cluster, start_ts, start_ts, vec![key]) {
            tracing::warn!(%error, "a probe's lock is left to run out");
        }
    }
}
