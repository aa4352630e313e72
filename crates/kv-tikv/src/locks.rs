//! Pessimistic locks in the cluster, of one transaction: the form in which other nodes see our row locks.
//!
//! The connections of this node have queued for the lock in this process before ([`crate::transaction`]).

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::counters::WaitGuard;
use crate::failure;
use crate::fan_out::{Batch, Group, fan_out, group};
use crate::heartbeat::{Alive, Heartbeats, Lifetime, lock_ttl_ms};
use crate::proto::kvrpcpb::*;
use crate::resolve::{self, locks_of};
use bytes::Bytes;
use kv::{Error, Interrupt, LockWait, Part, Result, Timestamp};
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a store lets a request wait for a lock before it responds. Then the request is checked and sent
/// again.
const WAIT_SLICE: Duration = Duration::from_secs(1);

pub const LOCK_BATCH: Batch = Batch {
    items_max: 1_024,
    bytes_max: 128 << 10,
    interruptible: false,
};

/// The result of locking a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockOutcome {
    /// Locked, with the newest value.
    Value(Option<Bytes>),
    /// Locked; the value was not requested, or the store did not return it.
    Locked,
    /// SKIP LOCKED, and another transaction holds the lock.
    Skipped,
}

/// How to lock.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub wait: LockWait,
    pub interrupt: &'a Interrupt,
    pub values: bool,
    /// Fail with a conflict if the key has changed since then, instead of locking the newest version.
    pub unchanged_since: Option<Timestamp>,
}

/// A transaction in the cluster that holds pessimistic locks.
pub struct ClusterLocks {
    pub start_ts: Timestamp,
    pub primary: Vec<u8>,
    pub lifetime: Lifetime,
    /// The newest timestamp that locks were taken at.
    pub for_update_ts: Timestamp,
    /// Its heartbeat, once the primary is locked.
    alive: Option<Alive>,
    /// Certainly locked.
    keys: Vec<Vec<u8>>,
    /// Requested, and no response was seen: possibly locked.
    in_doubt: Vec<Vec<u8>>,
    /// Whether the next locks must be taken at a new timestamp.
    must_renew: bool,
    /// While another transaction's lock is in the way.
    waiting: Option<WaitGuard>,
    /// How often a lock or a newer version was in the way.
    waits: u64,
}

impl ClusterLocks {
    pub fn new(start_ts: Timestamp, lifetime: Lifetime) -> Self {
        Self {
            start_ts,
            primary: Vec::new(),
            lifetime,
            for_update_ts: start_ts,
            alive: None,
            keys: Vec::new(),
            in_doubt: Vec::new(),
            must_renew: false,
            waiting: None,
            waits: 0,
        }
    }

    /// Whether another transaction has rolled this one back.
    pub fn is_lost(&self) -> bool {
        self.alive.as_ref().is_some_and(Alive::is_lost)
    }

    /// Whether any lock had to be waited for. If so, the start timestamp does not say when the lock was
    /// taken.
    pub fn has_waited(&self) -> bool {
        self.waits > 0
    }

    /// How often another transaction's lock or newer commit was in the way.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Makes the next locks be taken at a new timestamp.
    pub fn renew(&mut self) {
        self.must_renew = true;
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether the outcome of a lock request is unknown.
    pub fn is_in_doubt(&self) -> bool {
        !self.in_doubt.is_empty()
    }

    /// The keys that are certainly locked, including the primary.
    pub fn locked(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.keys.iter()
    }

    /// The keys that may be locked.
    pub fn in_doubt(&self) -> &[Vec<u8>] {
        &self.in_doubt
    }

    /// Records that another transaction has held one of the keys in between.
    pub fn lose(&self) {
        if let Some(alive) = &self.alive {
            alive.lose();
        }
    }

    /// A request for all locks again, at the timestamp they were taken at. A store that has lost a lock
    /// grants it again, unless another transaction has changed the key since or has locked it to do so.
    pub fn relock_request(&self, cluster: &Cluster) -> PessimisticLockRequest {
        let request = Request {
            wait: LockWait::NoWait,
            interrupt: &Interrupt::default(),
            values: false,
            unchanged_since: Some(self.for_update_ts),
        };
        self.command(cluster, &self.keys, request, None)
    }

    /// Locks keys. They carry the prefix, are distinct, and are not locked yet. The result for each key
    /// that is decided goes to `outcomes`, also if others fail.
    pub fn lock(
        &mut self,
        cluster: &Cluster,
        heartbeats: &Heartbeats,
        keys: Vec<Vec<u8>>,
        request: Request,
        outcomes: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<()> {
        let locked = self.lock_until(cluster, heartbeats, keys, request, outcomes);
        self.waiting = None;
        let counters = &cluster.lock_waits;
        match &locked {
            Err(Error::LockTimeout) => counters.timeouts.fetch_add(1, Ordering::Relaxed),
            Err(Error::Deadlock) => counters.deadlocks.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        locked
    }

    fn lock_until(
        &mut self,
        cluster: &Cluster,
        heartbeats: &Heartbeats,
        keys: Vec<Vec<u8>>,
        request: Request,
        outcomes: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<()> {
        if self.is_lost() {
            return Err(failure::locks_lost());
        }
        let patience = match request.wait {
            LockWait::Timeout(timeout) => timeout,
            LockWait::NoWait | LockWait::SkipLocked => Duration::ZERO,
        };
        let deadline = Instant::now().checked_add(patience);
        let mut backoff = cluster.backoff(Some(request.interrupt));
        if !self.in_doubt.is_empty() || self.must_renew {
            // Requests of the past that may still arrive must be older than this one: a lock request, or
            // its release.
            self.must_renew = false;
            self.waits += 1;
            self.for_update_ts = cluster.timestamp(Some(request.interrupt))?;
        }
        if let Some(since) = request.unchanged_since {
            // A release names the newest timestamp.
            self.for_update_ts = self.for_update_ts.max(since);
        }
        let mut todo = keys;
        while !todo.is_empty() {
            let mut groups = group(cluster, std::mem::take(&mut todo), LOCK_BATCH, &mut backoff)?;
            if self.alive.is_none() {
                // The primary is locked first and alone, since the other locks point to it.
                let rest = groups.split_off(groups.len().min(1));
                if let Some(first) = groups.first().and_then(|group| group.items.first()) {
                    self.primary.clone_from(first);
                }
                todo.extend(rest.into_iter().flat_map(|group| group.items));
            }
            let again = self.lock_groups(cluster, groups, request, deadline, &mut backoff, outcomes)?;
            if self.alive.is_none() && !self.keys.is_empty() {
                self.alive = Some(heartbeats.start_for(self.start_ts, self.primary.clone(), self.lifetime));
            }
            // Refused keys go first, so that the primary stays the first.
            todo.splice(0..0, again);
        }
        Ok(())
    }

    fn command(
        &self,
        cluster: &Cluster,
        keys: &[Vec<u8>],
        request: Request,
        deadline: Option<Instant>,
    ) -> PessimisticLockRequest {
        let for_update_ts = request.unchanged_since.unwrap_or(self.for_update_ts);
        let mutation = |key: &Vec<u8>| Mutation {
            op: op::PESSIMISTIC_LOCK,
            key: key.clone(),
            value: Bytes::new(),
        };
        let remaining = deadline.map_or(WAIT_SLICE, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        });
        let now = cluster.oracle.estimate();
        PessimisticLockRequest {
            context: None,
            mutations: keys.iter().map(mutation).collect(),
            primary_lock: self.primary.clone(),
            start_version: self.start_ts,
            lock_ttl: lock_ttl_ms(self.start_ts, now, self.lifetime.ttl),
            for_update_ts,
            is_first_lock: self.keys.is_empty(),
            wait_timeout: match request.wait {
                LockWait::NoWait | LockWait::SkipLocked => NO_WAIT,
                LockWait::Timeout(_) => match i64::try_from(remaining.min(WAIT_SLICE).as_millis()) {
                    Ok(0) | Err(_) => NO_WAIT,
                    Ok(ms) => ms,
                },
            },
            return_values: request.values,
            min_commit_ts: for_update_ts + 1,
        }
    }

    /// Sends one request per group at the same time. Returns the keys to ask for again.
    fn lock_groups(
        &mut self,
        cluster: &Cluster,
        groups: Vec<Group<Vec<u8>>>,
        request: Request,
        deadline: Option<Instant>,
        backoff: &mut Backoff,
        outcomes: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut in_flight: Vec<(Sent<PessimisticLockRequest>, Vec<Vec<u8>>)> = Vec::new();
        let until = backoff.request(cluster.options.request_timeout + WAIT_SLICE);
        let mut again = Vec::new();
        let mut outcome = Ok(());
        for Group { region, items } in groups {
            let command = self.command(cluster, &items, request, deadline);
            match cluster.send(region, command, until) {
                Ok(sent) => in_flight.push((sent, items)),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        for (mut sent, keys) in in_flight {
            // The interrupt stays raised, so the other responses are not waited for either.
            let answered = match sent.wait(Some(request.interrupt)) {
                Ok(answered) => answered,
                Err(error) => {
                    self.in_doubt.extend(keys);
                    outcome = outcome.and(Err(error));
                    continue;
                }
            };
            let settled = match answered {
                Outcome::Answered(answer) if answer.errors.is_empty() => {
                    self.keys.extend(keys.iter().cloned());
                    record_locked(keys, &answer, outcomes);
                    Ok(Vec::new())
                }
                Outcome::Answered(answer) => self.refusal(
                    cluster,
                    keys,
                    &answer.errors,
                    request,
                    deadline,
                    backoff,
                    outcomes,
                ),
                Outcome::Refused(error) => cluster.refused(&sent.region, &error, backoff).map(|()| keys),
                Outcome::Failed(error) => {
                    if error.may_have_run() {
                        self.in_doubt.extend(keys.iter().cloned());
                    }
                    cluster.failed(&sent.region, &error, backoff).map(|()| keys)
                }
            };
            match settled {
                Ok(keys) => again.extend(keys),
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.map(|()| again)
    }

    /// Handles a refusal, which locked none of the keys. Returns the keys to ask for again.
    #[expect(clippy::too_many_arguments)]
    fn refusal(
        &mut self,
        cluster: &Cluster,
        mut keys: Vec<Vec<u8>>,
        errors: &[KeyError],
        request: Request,
        deadline: Option<Instant>,
        backoff: &mut Backoff,
        outcomes: &mut HashMap<Vec<u8>, LockOutcome>,
    ) -> Result<Vec<Vec<u8>>> {
        self.waits += 1;
        let is_conflict = |error: &&KeyError| {
            error
                .conflict
                .as_ref()
                .is_some_and(|conflict| conflict.reason != SELF_ROLLED_BACK)
        };
        if errors.iter().any(|error| is_conflict(&error)) {
            if request.unchanged_since.is_some() {
                let conflict = errors.iter().find(is_conflict);
                return Err(
                    conflict.map_or_else(failure::locks_lost, |error| failure::of_key(error, self.start_ts))
                );
            }
            // A newer version was committed. Lock the newest one.
            self.for_update_ts = cluster.timestamp(Some(request.interrupt))?;
            return Ok(keys);
        }
        let locks = locks_of(errors, self.start_ts)?;
        if !resolve::for_write(cluster, &locks, backoff)? {
            return Ok(keys);
        }
        match request.wait {
            LockWait::NoWait => Err(Error::LockNotAvailable),
            LockWait::SkipLocked => {
                let locked = |key: &Vec<u8>| locks.iter().any(|lock| lock.key == *key);
                let (skipped, rest): (Vec<_>, Vec<_>) = keys.drain(..).partition(locked);
                if skipped.is_empty() {
                    return Err(Error::LockNotAvailable);
                }
                outcomes.extend(skipped.into_iter().map(|key| (key, LockOutcome::Skipped)));
                Ok(rest)
            }
            LockWait::Timeout(_) => {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return Err(Error::LockTimeout);
                }
                self.waiting
                    .get_or_insert_with(|| WaitGuard::new(&cluster.lock_waits));
                // Waiting for a lock is not a failure of the store, so the store's retry budget starts again.
                *backoff = Backoff::new(cluster.options.operation_timeout, backoff.interrupt);
                backoff.pause(Part::Lock, &"a row is locked")?;
                Ok(keys)
            }
        }
    }

    /// Releases one key, or all.
    pub fn release(&mut self, cluster: &Cluster, only: Option<&[u8]>) -> Result<()> {
        let keys: Vec<Vec<u8>> = match only {
            Some(key) => {
                self.keys.retain(|other| other != key);
                vec![key.to_vec()]
            }
            None => {
                let mut keys = std::mem::take(&mut self.keys);
                keys.append(&mut self.in_doubt);
                keys
            }
        };
        release(cluster, self.start_ts, self.for_update_ts, keys)
    }

    /// Hands all keys over to the caller, which ends the transaction.
    pub fn take_keys(&mut self) -> Vec<Vec<u8>> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.append(&mut self.in_doubt);
        keys
    }
}

/// Releases pessimistic locks. Locks on a store that cannot be reached expire.
pub fn release(
    cluster: &Cluster,
    start_ts: Timestamp,
    for_update_ts: Timestamp,
    keys: Vec<Vec<u8>>,
) -> Result<()> {
    let mut backoff = cluster.backoff(None);
    fan_out(
        cluster,
        keys,
        LOCK_BATCH,
        &mut backoff,
        |keys| PessimisticRollbackRequest {
            context: None,
            start_version: start_ts,
            for_update_ts,
            keys: keys.to_vec(),
        },
        |_, answer, _| match answer.errors.first() {
            Some(error) => Err(failure::of_key(error, start_ts)),
            None => Ok(Vec::new()),
        },
    )
}

fn record_locked(
    keys: Vec<Vec<u8>>,
    answer: &PessimisticLockResponse,
    outcomes: &mut HashMap<Vec<u8>, LockOutcome>,
) {
    for (index, key) in keys.into_iter().enumerate() {
        let value = match (answer.values.get(index), answer.not_founds.get(index)) {
            (_, Some(true)) => LockOutcome::Value(None),
            (Some(value), Some(false)) => LockOutcome::Value(Some(value.clone())),
            _ => LockOutcome::Locked,
        };
        outcomes.insert(key, value);
    }
}
