//! Pessimistic locks in the cluster, of one transaction there: what all nodes see of our row locks.
//!
//! The connections of this node have settled among themselves by then who may ask ([`crate::transaction`]).

use crate::backoff::Backoff;
use crate::cluster::{Cluster, Outcome, Sent};
use crate::failure;
use crate::fan_out::{Batch, Group};
use crate::keeper::{Alive, Keeper, lock_ttl_ms};
use crate::proto::kvrpcpb::*;
use crate::resolve::locks_of;
use bytes::Bytes;
use kv::{Error, Interrupt, LockWait, Part, Result, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a store lets a request wait before it answers; then we look around and ask again.
const WAIT_SLICE: Duration = Duration::from_secs(1);

pub const LOCK_BATCH: Batch = Batch {
    items_max: 1_024,
    bytes_max: 128 << 10,
    interruptible: false,
};

/// What became of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    /// Locked, with the newest value.
    Value(Option<Bytes>),
    /// Locked; nobody asked for the value, or the store did not say.
    Locked,
    /// SKIP LOCKED, and someone else has it.
    Skipped,
}

/// How to lock.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub wait: LockWait,
    pub interrupt: &'a Interrupt,
    pub values: bool,
    /// Fail with a conflict if the key has changed since, instead of locking the newest version.
    pub unchanged_since: Option<Timestamp>,
}

/// A transaction in the cluster that holds pessimistic locks.
pub struct ClusterLocks {
    pub start_ts: Timestamp,
    pub primary: Vec<u8>,
    /// How long they outlive a node that dies.
    pub ttl: Duration,
    /// The newest state that locks were taken at.
    pub for_update_ts: Timestamp,
    /// Its heartbeat, once the primary is locked.
    alive: Option<Alive>,
    /// Locked for certain.
    keys: Vec<Vec<u8>>,
    /// Asked for, with no answer seen.
    in_doubt: Vec<Vec<u8>>,
    /// The next locks are to be taken at a new timestamp.
    must_renew: bool,
    /// While a lock of someone else is in the way.
    waiting: Option<WaitGuard>,
    /// How often, for that or for a newer version.
    waits: u64,
}

/// Lock waits in the cluster, now and ever.
#[derive(Default)]
pub struct WaitCounters {
    pub waiting: AtomicU64,
    pub waits: AtomicU64,
    pub timeouts: AtomicU64,
    pub deadlocks: AtomicU64,
}

/// Counts one wait while it lives.
struct WaitGuard(Arc<WaitCounters>);

impl WaitGuard {
    fn new(counters: &Arc<WaitCounters>) -> Self {
        counters.waiting.fetch_add(1, Ordering::Relaxed);
        counters.waits.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counters))
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ClusterLocks {
    pub fn new(start_ts: Timestamp, ttl: Duration) -> Self {
        Self {
            start_ts,
            primary: Vec::new(),
            ttl,
            for_update_ts: start_ts,
            alive: None,
            keys: Vec::new(),
            in_doubt: Vec::new(),
            must_renew: false,
            waiting: None,
            waits: 0,
        }
    }

    /// Whether someone else has ended the transaction.
    pub fn is_lost(&self) -> bool {
        self.alive.as_ref().is_some_and(Alive::is_lost)
    }

    /// Whether others were in the way of any lock: then the start is no measure of when it was taken.
    pub fn has_waited(&self) -> bool {
        self.waits > 0
    }

    /// How often others, or what they had committed since, were in the way of a lock.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// Has the next locks taken at a timestamp of their own.
    pub fn renew(&mut self) {
        self.must_renew = true;
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether a store was asked for a lock and nobody saw its answer.
    pub fn is_in_doubt(&self) -> bool {
        !self.in_doubt.is_empty()
    }

    /// What is locked for certain, the primary among it.
    pub fn locked(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.keys.iter()
    }

    /// What may be locked.
    pub fn in_doubt(&self) -> &[Vec<u8>] {
        &self.in_doubt
    }

    /// Notes that someone else has had one of the keys meanwhile.
    pub fn lose(&self) {
        if let Some(alive) = &self.alive {
            alive.lose();
        }
    }

    /// Asks for all locks again, as of when they were taken: a store that has lost one gives it again, unless someone else
    /// has changed the key since, or is about to.
    pub fn again(&self, cluster: &Cluster) -> PessimisticLockRequest {
        let request = Request {
            wait: LockWait::NoWait,
            interrupt: &Interrupt::default(),
            values: false,
            unchanged_since: Some(self.for_update_ts),
        };
        self.command(cluster, &self.keys, request, None)
    }

    /// Locks keys (with their prefix, none twice, none locked before); what became of each that is settled is put into
    /// `got`, also if others fail.
    pub fn lock(
        &mut self,
        cluster: &Cluster,
        keeper: &Keeper,
        keys: Vec<Vec<u8>>,
        request: Request,
        got: &mut HashMap<Vec<u8>, Got>,
    ) -> Result<()> {
        let locked = self.lock_all(cluster, keeper, keys, request, got);
        self.waiting = None;
        let counters = &cluster.lock_waits;
        match &locked {
            Err(Error::LockTimeout) => counters.timeouts.fetch_add(1, Ordering::Relaxed),
            Err(Error::Deadlock) => counters.deadlocks.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        locked
    }

    fn lock_all(
        &mut self,
        cluster: &Cluster,
        keeper: &Keeper,
        keys: Vec<Vec<u8>>,
        request: Request,
        got: &mut HashMap<Vec<u8>, Got>,
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
            // What may still arrive, a request or its release, must be older than what is asked for now.
            self.must_renew = false;
            self.waits += 1;
            self.for_update_ts = cluster.timestamp(Some(request.interrupt))?;
        }
        if let Some(since) = request.unchanged_since {
            // A release names the newest.
            self.for_update_ts = self.for_update_ts.max(since);
        }
        let mut todo = keys;
        while !todo.is_empty() {
            let mut groups = cluster.group(std::mem::take(&mut todo), LOCK_BATCH, &mut backoff)?;
            if self.alive.is_none() {
                // The primary first, alone: others point to it.
                let rest = groups.split_off(groups.len().min(1));
                if let Some(first) = groups.first().and_then(|group| group.items.first()) {
                    self.primary.clone_from(first);
                }
                todo.extend(rest.into_iter().flat_map(|group| group.items));
            }
            let again = self.lock_groups(cluster, groups, request, deadline, &mut backoff, got)?;
            if self.alive.is_none() && !self.keys.is_empty() {
                self.alive = Some(keeper.keep(self.start_ts, self.primary.clone(), self.ttl));
            }
            // Those refused first, so that the primary stays the first.
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
            lock_ttl: lock_ttl_ms(self.start_ts, now, self.ttl),
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

    /// Asks all groups at once; the keys to be asked for again.
    fn lock_groups(
        &mut self,
        cluster: &Cluster,
        groups: Vec<Group<Vec<u8>>>,
        request: Request,
        deadline: Option<Instant>,
        backoff: &mut Backoff,
        got: &mut HashMap<Vec<u8>, Got>,
    ) -> Result<Vec<Vec<u8>>> {
        let mut on_the_way: Vec<(Sent<PessimisticLockRequest>, Vec<Vec<u8>>)> = Vec::new();
        let until = backoff.request(cluster.options.request_timeout + WAIT_SLICE);
        let mut again = Vec::new();
        let mut outcome = Ok(());
        for Group { region, items } in groups {
            let command = self.command(cluster, &items, request, deadline);
            match cluster.send(region, command, until) {
                Ok(sent) => on_the_way.push((sent, items)),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        for (mut sent, keys) in on_the_way {
            // After an interrupt the other answers are not waited for either: it stays raised.
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
                    take(keys, &answer, got);
                    Ok(Vec::new())
                }
                Outcome::Answered(answer) => {
                    self.refusal(cluster, keys, &answer.errors, request, deadline, backoff, got)
                }
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

    /// A store did not lock any of the keys: which of them to ask for again.
    #[expect(clippy::too_many_arguments)]
    fn refusal(
        &mut self,
        cluster: &Cluster,
        mut keys: Vec<Vec<u8>>,
        errors: &[KeyError],
        request: Request,
        deadline: Option<Instant>,
        backoff: &mut Backoff,
        got: &mut HashMap<Vec<u8>, Got>,
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
            // Someone committed since; lock what is newest now.
            self.for_update_ts = cluster.timestamp(Some(request.interrupt))?;
            return Ok(keys);
        }
        let locks = locks_of(errors, self.start_ts)?;
        if !cluster.resolve_for_write(&locks, backoff)? {
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
                got.extend(skipped.into_iter().map(|key| (key, Got::Skipped)));
                Ok(rest)
            }
            LockWait::Timeout(_) => {
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return Err(Error::LockTimeout);
                }
                self.waiting
                    .get_or_insert_with(|| WaitGuard::new(&cluster.lock_waits));
                // The store has let us wait already, or it does not; patience with it begins anew.
                *backoff = Backoff::new(cluster.options.operation_timeout, backoff.interrupt);
                backoff.pause(Part::Lock, &"a row is locked")?;
                Ok(keys)
            }
        }
    }

    /// Releases keys, or all.
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

    /// Gives all keys away to whoever ends the transaction.
    pub fn take_keys(&mut self) -> Vec<Vec<u8>> {
        let mut keys = std::mem::take(&mut self.keys);
        keys.append(&mut self.in_doubt);
        keys
    }
}

/// Releases pessimistic locks. What cannot be reached runs out of its time.
pub fn release(
    cluster: &Cluster,
    start_ts: Timestamp,
    for_update_ts: Timestamp,
    keys: Vec<Vec<u8>>,
) -> Result<()> {
    let mut backoff = cluster.backoff(None);
    cluster.fan_out(
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

fn take(keys: Vec<Vec<u8>>, answer: &PessimisticLockResponse, got: &mut HashMap<Vec<u8>, Got>) {
    for (index, key) in keys.into_iter().enumerate() {
        let value = match (answer.values.get(index), answer.not_founds.get(index)) {
            (_, Some(true)) => Got::Value(None),
            (Some(value), Some(false)) => Got::Value(Some(value.clone())),
            _ => Got::Locked,
        };
        got.insert(key, value);
    }
}
