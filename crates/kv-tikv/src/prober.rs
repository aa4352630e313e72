//! Detects deadlocks that span both kinds of waits: waits in the cluster, which the stores see, and waits
//! within this process, which they do not.
//!
//! If a transaction holds locks in the cluster and waits in this process for long, this module sends a lock
//! request for the awaited key in its name, at intervals. The stores then see the whole cycle and respond
//! with a deadlock, which ends the wait here. If the key is free at that moment, the probe's lock is released
//! again: the lock table of this process decides, in order, which transaction gets it.

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome};
use crate::heartbeat::lock_ttl_ms;
use crate::locks::release;
use crate::node::{LockHolder, Node};
use crate::periodic::Periodic;
use crate::proto::kvrpcpb::{Mutation, PessimisticLockRequest, op};
use bytes::Bytes;
use kv::lock::Owner;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Shorter waits are not probed. [`crate::transaction`] relies on it: a transaction that may have been
/// probed takes its locks at a newer timestamp than the probe, so releasing the probe's lock cannot remove
/// them.
pub const PROBE_AFTER: Duration = Duration::from_millis(300);

/// A cycle through several waits is found when their probes wait at the same time. With this duration that
/// is nearly always.
const PROBE_WAIT: Duration = Duration::from_millis(400);
const PAUSE: Duration = Duration::from_millis(100);

/// Starts the thread that probes. Without a thread, deadlocks across both kinds of waits end by lock wait
/// time-outs.
pub fn start(node: &Arc<Node>) -> Option<Periodic> {
    let node = Arc::downgrade(node);
    let round = move || match node.upgrade() {
        Some(node) => {
            look(&node);
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    };
    Periodic::start("tikv-prober", PAUSE, "looking for deadlocks", round).ok()
}

fn look(node: &Node) {
    let waits = node.locks.long_waits(PROBE_AFTER);
    let probes: Vec<(Owner, PessimisticLockRequest)> = {
        let txns = node.lock_holders.by_owner.lock();
        let probe = |(owner, key): (Owner, Arc<[u8]>)| {
            let txn = txns.get(&owner)?;
            Some((
                owner,
                request(&node.cluster, txn, node.cluster.keyspace.key(&key)),
            ))
        };
        waits.into_iter().filter_map(probe).collect()
    };
    probe_all(node, probes);
}

fn request(cluster: &Cluster, txn: &LockHolder, key: Vec<u8>) -> PessimisticLockRequest {
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

fn probe_all(node: &Node, probes: Vec<(Owner, PessimisticLockRequest)>) {
    let cluster = &node.cluster;
    let mut backoff = Backoff::new(PROBE_WAIT * 5, None);
    let mut in_flight = Vec::new();
    for (owner, probe) in probes {
        let Some(key) = probe.mutations.first().map(|mutation| mutation.key.clone()) else {
            continue;
        };
        let start_ts = probe.start_version;
        let sent = cluster
            .region(&key, &mut backoff)
            .and_then(|region| cluster.send(region, probe, backoff.deadline));
        match sent {
            Ok(sent) => in_flight.push((owner, start_ts, key, sent)),
            // The next round probes again.
            Err(error) => tracing::debug!(%error, "probing for deadlocks"),
        }
    }
    for (owner, start_ts, key, mut sent) in in_flight {
        let may_be_taken = match sent.wait(None) {
            Ok(Outcome::Answered(answer)) => {
                if answer.errors.iter().any(|error| error.deadlock.is_some()) {
                    node.locks.make_victim(owner);
                }
                // No lock was in the way, so the probe took it.
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
        // Each probe's lock is released, whatever happened to the others: a lock left behind would block
        // other transactions.
        if may_be_taken && let Err(error) = release(cluster, start_ts, start_ts, vec![key]) {
            tracing::warn!(%error, "a probe's lock is left to run out");
        }
    }
}
