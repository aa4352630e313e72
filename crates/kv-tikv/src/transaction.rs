//! One transaction: its row locks in this process and in the cluster, and its end.
//!
//! A row is locked twice. First in this process ([`kv::LockTable`]): its connections queue in order, share,
//! upgrade, and detect deadlocks among themselves without a message. The connection that gets the lock then
//! locks the row in the cluster. There only nodes compete, and the stores detect deadlocks between nodes.

mod detach;
mod in_cluster;

use crate::commit::{Change, Commit, CommitOutcome, Write};
use crate::failure;
use crate::heartbeat::Lifetime;
use crate::locks::{ClusterLocks, LockOutcome, release};
use crate::node::Node;
use crate::prober::PROBE_AFTER;
use crate::read;
use crate::sharing::SharedLocks;
use bytes::Bytes;
use kv::lock::Owner;
use kv::lock_table::{Acquired, LockRequest};
use kv::lock_wait::HeldKey;
use kv::promise::not_fresh;
use kv::{
    CommitDone, Detached, Durability, EngineTransaction, Error, Fence, Interrupt, LATEST, LockMode,
    LockOptions, LockWait, Locked, LockedVersions, Part, ReadAt, Result, Timestamp, TxnOptions, VisitBatch,
    WriteBuffer,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is locked in the cluster for a key that is locked in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InCluster {
    /// Nothing yet: the request follows, or the prewrite takes the lock.
    Nothing,
    Shared,
    /// At this timestamp: the key has no newer version, and gets none.
    Exclusive(Timestamp),
}

struct Held {
    local: HeldKey,
    cluster: InCluster,
}

/// See the module.
pub struct TikvTransaction {
    node: Arc<Node>,
    owner: Owner,
    start_ts: Timestamp,
    optimistic: bool,
    /// It may commit at any timestamp after its start; see [`TxnOptions::single_statement`].
    single_statement: bool,
    lifetime: Lifetime,
    held: HashMap<Arc<[u8]>, Held>,
    /// How often it waited for other connections of this process.
    local_waits: u64,
    /// Once there is a lock in the cluster.
    cluster: Option<ClusterLocks>,
    /// What the locks of keys have returned that may have changed since the start.
    locked: LockedVersions,
    /// Set when a shared lock is gone, and the transaction goes on.
    has_lost_locks: bool,
    /// Optimistic mode: locked keys that had changed since the start, with the timestamp of the change.
    changed: HashMap<Arc<[u8]>, Timestamp>,
    /// Keys that must not exist when they are written. While there are any, nothing is locked.
    absent: HashSet<Vec<u8>>,
    pinned: bool,
}

impl TikvTransaction {
    /// The caller has pinned `start_ts`. It stays pinned until the end, whatever the caller reads by then, unless
    /// the transaction is for locks only: those are no concern of a garbage collection.
    pub fn new(node: Arc<Node>, start_ts: Timestamp, options: &TxnOptions) -> Result<Self> {
        if !options.locks_only {
            node.pins.pin(start_ts)?;
        }
        let configured = Lifetime::configured(&node.cluster.options);
        let lifetime = Lifetime {
            ttl: options.lock_ttl.unwrap_or(configured.ttl),
            longest: match options.locks_only {
                true => Duration::MAX,
                false => configured.longest,
            },
        };
        Ok(Self {
            owner: node.new_owner(),
            node,
            start_ts,
            optimistic: options.optimistic,
            single_statement: options.single_statement,
            lifetime,
            held: HashMap::new(),
            local_waits: 0,
            cluster: None,
            locked: LockedVersions::default(),
            has_lost_locks: false,
            changed: HashMap::new(),
            absent: HashSet::new(),
            pinned: !options.locks_only,
        })
    }

    /// Locks a key in this process. False if it was skipped.
    fn lock_here(&mut self, key: &[u8], options: &LockOptions) -> Result<bool> {
        let request = LockRequest::new(self.owner, self.held.len(), key, options);
        let asked = Instant::now();
        let acquired = self.node.locks.lock(&request)?;
        self.local_waits += u64::from(request.has_waited.get());
        if let Some(locks) = &mut self.cluster
            && asked.elapsed() >= PROBE_AFTER
        {
            locks.renew();
        }
        match acquired {
            // This engine has no dependent commits, so `AfterPending` does not occur.
            Acquired::New(local) | Acquired::AfterPending(local, _) => {
                let held = Held {
                    local,
                    cluster: InCluster::Nothing,
                };
                self.held.insert(Arc::clone(&held.local.key), held);
                Ok(true)
            }
            Acquired::AlreadyHeld => Ok(true),
            Acquired::Skipped => Ok(false),
        }
    }

    /// Locks keys in this process and in the cluster. Returns one result per key, with the value if the
    /// store sent it.
    fn lock_keys(
        &mut self,
        keys: &[Vec<u8>],
        options: &LockOptions,
        values: bool,
    ) -> Result<Vec<LockOutcome>> {
        self.check_locks()?;
        let mut answers = Vec::with_capacity(keys.len());
        let mut failure = Ok(());
        for key in keys {
            match self.lock_here(key, options) {
                Ok(true) => answers.push(LockOutcome::Locked),
                Ok(false) => answers.push(LockOutcome::Skipped),
                Err(error) => {
                    failure = Err(error);
                    break;
                }
            }
        }
        let mut got = HashMap::new();
        // Keys that were locked before a failure stay locked here, so they must be locked in the cluster
        // too.
        let here: Vec<&Vec<u8>> = keys
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| **answer == LockOutcome::Locked)
            .map(|(key, _)| key)
            .collect();
        let in_cluster = self.lock_in_cluster(&here, options, values, &mut got);
        self.unlock_unconfirmed(keys);
        failure.and(in_cluster)?;
        for (key, answer) in keys.iter().zip(&mut answers) {
            if let Some(got) = got.get(key) {
                answer.clone_from(got);
            }
        }
        Ok(answers)
    }

    fn confirm(&mut self, key: &[u8], cluster: InCluster) {
        if let Some(held) = self.held.get_mut(key) {
            held.cluster = cluster;
        }
    }

    /// Unlocks in this process what was not locked in the cluster.
    fn unlock_unconfirmed(&mut self, keys: &[Vec<u8>]) {
        for key in keys {
            let is_unconfirmed = |held: &Held| held.cluster == InCluster::Nothing;
            if self.held.get(key.as_slice()).is_some_and(is_unconfirmed)
                && let Some(held) = self.held.remove(key.as_slice())
            {
                self.node.locks.unlock(self.owner, &held.local);
            }
        }
    }

    /// Reads the values of keys that were locked before. Locked rows do not change, so the newest version
    /// is the right one.
    fn read_missing(
        &self,
        keys: &[Vec<u8>],
        answers: Vec<LockOutcome>,
        options: &LockOptions,
    ) -> Result<Vec<Locked>> {
        let missing: Vec<usize> = (0..answers.len())
            .filter(|index| answers.get(*index) == Some(&LockOutcome::Locked))
            .collect();
        let mut locked: Vec<Locked> = answers
            .into_iter()
            .map(|answer| match answer {
                LockOutcome::Value(value) => Locked::Value(value.map(|value| value.to_vec())),
                LockOutcome::Locked => Locked::Value(None),
                LockOutcome::Skipped => Locked::Skipped,
            })
            .collect();
        let interrupt = Some(&*options.interrupt);
        self.read_newest(keys, &missing, interrupt, &mut |index, value| {
            if let Some(slot) = locked.get_mut(index) {
                *slot = Locked::Value(value.map(<[u8]>::to_vec));
            }
        })?;
        Ok(locked)
    }

    /// Reads the newest versions of some of the keys.
    fn read_newest(
        &self,
        keys: &[Vec<u8>],
        some: &[usize],
        interrupt: Option<&Interrupt>,
        visit: &mut VisitBatch,
    ) -> Result<()> {
        if some.is_empty() {
            return Ok(());
        }
        let wanted: Vec<Vec<u8>> = some
            .iter()
            .filter_map(|index| keys.get(*index).cloned())
            .collect();
        let at = ReadAt {
            ts: LATEST,
            interrupt,
        };
        read::batch_get(&self.node.cluster, &wanted, at, &mut |position, value| {
            if let Some(index) = some.get(position) {
                visit(*index, value);
            }
        })
    }

    /// # Errors
    /// That of lost locks, if an earlier statement has lost some and failed with another error.
    fn check_locks(&self) -> Result<()> {
        match self.has_lost_locks {
            true => Err(failure::locks_lost()),
            false => Ok(()),
        }
    }

    fn try_commit(
        &mut self,
        writes: &WriteBuffer,
        options: &LockOptions,
        fence: Option<&Fence>,
    ) -> Result<Timestamp> {
        self.check_locks()?;
        // In key order, so that commits do not deadlock with one another.
        for key in writes.unguarded() {
            if !self.lock_here(key, options)? {
                return Err(Error::LockNotAvailable);
            }
        }
        let lock_deadline = match options.wait {
            LockWait::Timeout(timeout) => Instant::now().checked_add(timeout),
            _ => None,
        };
        let is_shared = |key: &[u8]| {
            let held = self.held.get(key);
            held.is_some_and(|held| held.cluster == InCluster::Shared)
        };
        // If the transaction holds no lock in the cluster, the prewrite detects conflicts, which saves a
        // round trip.
        if self.cluster.as_ref().is_none_or(ClusterLocks::is_empty) && !writes.unguarded().any(is_shared) {
            return self.commit_unlocked(writes, options, lock_deadline, fence);
        }
        self.lock_for_commit(writes, options)?;
        self.commit_locked(writes, options, lock_deadline, fence)
    }

    /// Checks that the keys which were declared fresh did not exist. It runs after the commit: only the
    /// commit shows whether the guarding rows were as the transaction took them to be.
    fn check_fresh(&self, writes: &WriteBuffer, commit_ts: Timestamp) -> Result<()> {
        let fresh = writes.writes().filter(|(_, write)| write.is_fresh);
        let keys: Vec<Vec<u8>> = fresh.map(|(key, _)| key.to_vec()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut checked = Ok(());
        let before = ReadAt {
            ts: commit_ts - 1,
            interrupt: None,
        };
        let read = read::batch_get(&self.node.cluster, &keys, before, &mut |index, value| {
            if let (Some(key), Some(_)) = (keys.get(index), value) {
                checked = Err(not_fresh(key));
            }
        });
        if let Err(error) = read {
            // The commit is done, whatever happens to the cluster now.
            tracing::warn!(%error, "whether keys were fresh was not looked up");
        }
        checked
    }

    fn lock_for_commit(&mut self, writes: &WriteBuffer, options: &LockOptions) -> Result<()> {
        let keys: Vec<Vec<u8>> = writes.unguarded().map(<[u8]>::to_vec).collect();
        if self.optimistic {
            for key in &keys {
                if let Some(conflict_ts) = self.changed.get(key.as_slice()) {
                    return Err(Error::WriteConflict {
                        start_ts: self.start_ts,
                        conflict_ts: *conflict_ts,
                    });
                }
            }
        }
        let missing: Vec<&Vec<u8>> = keys.iter().collect();
        self.lock_in_cluster(&missing, options, false, &mut HashMap::new())?;
        let newly_changed = keys
            .iter()
            .find_map(|key| self.changed.get(key.as_slice()).copied());
        match newly_changed {
            Some(conflict_ts) => Err(Error::WriteConflict {
                start_ts: self.start_ts,
                conflict_ts,
            }),
            None => Ok(()),
        }
    }

    fn writes(&self, writes: &WriteBuffer) -> Vec<Write> {
        let keyspace = &self.node.cluster.keyspace;
        writes
            .iter()
            .map(|(key, value)| Write {
                key: keyspace.key(key),
                change: match value.map(Bytes::copy_from_slice) {
                    Some(value) if self.absent.contains(key) => Change::Insert(value),
                    Some(value) => Change::Put(value),
                    None => Change::Delete,
                },
                is_locked: self
                    .held
                    .get(key)
                    .is_some_and(|held| matches!(held.cluster, InCluster::Exclusive(_))),
            })
            .collect()
    }

    /// The shared locks, which the commit confirms: in the cluster they belong to other transactions.
    fn shared_in_cluster(&self) -> SharedLocks<'_> {
        let shared = self
            .held
            .iter()
            .filter(|(_, held)| held.cluster == InCluster::Shared);
        let keyspace = &self.node.cluster.keyspace;
        SharedLocks {
            sharing: &self.node.sharing,
            keys: shared.map(|(key, _)| keyspace.key(key)).collect(),
        }
    }

    /// Commits without locks in the cluster. Pessimistic mode: blind writes at a start timestamp of their
    /// own, which overwrite whatever was committed in between. Optimistic mode: the first committer wins,
    /// judged from the transaction's start.
    fn commit_unlocked(
        &self,
        writes: &WriteBuffer,
        options: &LockOptions,
        lock_deadline: Option<Instant>,
        fence: Option<&Fence>,
    ) -> Result<Timestamp> {
        let cluster = &self.node.cluster;
        let writes = self.writes(writes);
        let sharing = self.shared_in_cluster();
        let primary = primary_of(&writes);
        let mut backoff = cluster.backoff(Some(&options.interrupt));
        // The first attempt uses the transaction's own start timestamp, if no request has used it yet. A
        // later attempt must see the commits that were in the way.
        let mut attempt_start_ts = self.cluster.is_none().then_some(self.start_ts);
        loop {
            let now = match attempt_start_ts {
                Some(ts) if self.single_statement => ts,
                _ => self.node.timestamp(Some(&options.interrupt))?,
            };
            let start_ts = match attempt_start_ts.take() {
                _ if self.optimistic => self.start_ts,
                Some(ts) => ts,
                None => now,
            };
            let commit = Commit {
                cluster,
                heartbeats: &self.node.heartbeats,
                start_ts,
                primary: primary.clone(),
                lifetime: self.lifetime,
                writes: writes.clone(),
                for_update_ts: 0,
                // PD gave this timestamp to this transaction only, so no snapshot has the commit's
                // timestamp.
                min_commit_ts: now,
                fence,
                shared_locks: &sharing,
                interrupt: &options.interrupt,
                // A blind write that waits for a lock would conflict with the commit that it waited for.
                lock_deadline: lock_deadline.filter(|_| self.optimistic),
            };
            match commit.run()? {
                CommitOutcome::Committed {
                    commit_ts,
                    secondaries,
                } => {
                    return Ok(self.node.committed(start_ts, commit_ts, secondaries));
                }
                CommitOutcome::Blocked(Error::WriteConflict { conflict_ts, .. }) if self.optimistic => {
                    return Err(Error::WriteConflict {
                        start_ts,
                        conflict_ts,
                    });
                }
                CommitOutcome::Blocked(Error::LockTimeout) if !self.optimistic => {
                    if lock_deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                        return Err(Error::LockTimeout);
                    }
                    let left = lock_deadline.map_or(Duration::from_secs(1), |deadline| {
                        deadline.saturating_duration_since(Instant::now())
                    });
                    if backoff.is_over() {
                        backoff = cluster.backoff(Some(&options.interrupt));
                    }
                    let longest = left.min(Duration::from_millis(50));
                    backoff.pause_at_least(Duration::ZERO, longest, Part::Lock, &"a row is locked")?;
                }
                CommitOutcome::Blocked(_) if !self.optimistic => {}
                CommitOutcome::Blocked(error) | CommitOutcome::Failed(error) => return Err(error),
            }
        }
    }

    fn commit_locked(
        &mut self,
        writes: &WriteBuffer,
        options: &LockOptions,
        lock_deadline: Option<Instant>,
        fence: Option<&Fence>,
    ) -> Result<Timestamp> {
        let node = Arc::clone(&self.node);
        let sharing = self.shared_in_cluster();
        let mut writes = self.writes(writes);
        let Some(locks) = &self.cluster else {
            return Err(Error::Internal(
                "a commit without locks in the cluster took the way of one with locks".into(),
            ));
        };
        if locks.is_lost() {
            return Err(failure::locks_lost());
        }
        let (start_ts, for_update_ts, primary) = (locks.start_ts, locks.for_update_ts, locks.primary.clone());
        let in_doubt = in_doubt(locks, &writes);
        writes.extend(only_locked(locks, &writes));
        writes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let commit = Commit {
            cluster: &node.cluster,
            heartbeats: &node.heartbeats,
            start_ts,
            primary,
            lifetime: self.lifetime,
            writes,
            for_update_ts,
            // The commit must be later than every snapshot taken before it was requested. A transaction of
            // a single statement may commit at any time since its locks were taken, since no client can
            // tell the difference.
            min_commit_ts: match self.single_statement && !locks.has_waited() {
                true => for_update_ts + 1,
                false => node.timestamp(Some(&options.interrupt))?,
            },
            fence,
            shared_locks: &sharing,
            interrupt: &options.interrupt,
            // Only a guarded key can be locked by another transaction, until that transaction, which has
            // lost its row, ends.
            lock_deadline,
        };
        let ended = commit.run()?;
        match ended {
            CommitOutcome::Committed {
                commit_ts,
                secondaries,
            } => {
                if let Some(locks) = &mut self.cluster {
                    locks.take_keys();
                }
                let commit_ts = node.committed(start_ts, commit_ts, secondaries);
                if let Err(error) = release(&node.cluster, start_ts, for_update_ts, in_doubt) {
                    tracing::warn!(%error, "locks are left to run out");
                }
                Ok(commit_ts)
            }
            CommitOutcome::Blocked(error) | CommitOutcome::Failed(error) => Err(match error {
                // All rows are locked, so a conflict means that a lock was lost.
                Error::WriteConflict { .. } => failure::locks_lost(),
                error => error,
            }),
        }
    }

    /// The transaction locks rows after it has declared keys absent. Locks and checks those keys first.
    fn lock_absent(&mut self, options: &LockOptions) -> Result<()> {
        if self.absent.is_empty() {
            return Ok(());
        }
        let mut keys: Vec<Vec<u8>> = std::mem::take(&mut self.absent).into_iter().collect();
        keys.sort_unstable();
        let options = LockOptions {
            mode: LockMode::Exclusive,
            ..options.clone()
        };
        let answers = self.lock_keys(&keys, &options, true)?;
        let locked = self.read_missing(&keys, answers, &options)?;
        match locked.iter().any(|answer| *answer != Locked::Value(None)) {
            true => Err(Error::KeyExists),
            false => Ok(()),
        }
    }

    fn unlock_all(&mut self) {
        if let Some(mut locks) = self.cluster.take() {
            self.node.lock_holders.remove(self.owner);
            // If a store has not responded, the client must not wait for it again.
            let cluster = Arc::clone(&self.node.cluster);
            let is_in_doubt = locks.is_in_doubt();
            let mut release = move || {
                if let Err(error) = locks.release(&cluster, None) {
                    tracing::warn!(%error, "locks are left to run out");
                }
            };
            match is_in_doubt {
                true => self.node.in_background(release),
                false => release(),
            }
        }
        self.changed.clear();
        self.locked.clear();
        let node = Arc::clone(&self.node);
        for (key, held) in self.held.drain() {
            if held.cluster == InCluster::Shared {
                node.sharing
                    .leave(&node.cluster, &node.cluster.keyspace.key(&key));
            }
            node.locks.unlock(self.owner, &held.local);
        }
        if std::mem::take(&mut self.pinned) {
            node.pins.unpin(self.start_ts);
        }
    }
}

/// Rows that were locked and not written are part of the commit, too. A store may have lost their locks (its
/// leader died before the other replicas had them), and the writes may depend on those rows.
fn only_locked(locks: &ClusterLocks, writes: &[Write]) -> Vec<Write> {
    let written: HashSet<&[u8]> = writes.iter().map(|write| write.key.as_slice()).collect();
    locks
        .locked()
        .filter(|key| !written.contains(key.as_slice()))
        .map(|key| Write {
            key: key.clone(),
            change: Change::Lock,
            is_locked: true,
        })
        .collect()
}

/// Keys that may be locked, and that the commit does not write: they are released after it.
fn in_doubt(locks: &ClusterLocks, writes: &[Write]) -> Vec<Vec<u8>> {
    let written: HashSet<&[u8]> = writes.iter().map(|write| write.key.as_slice()).collect();
    locks
        .in_doubt()
        .iter()
        .filter(|key| !written.contains(key.as_slice()))
        .cloned()
        .collect()
}

/// The first key that is not empty, if there is one.
fn primary_of(writes: &[Write]) -> Vec<u8> {
    let first = writes.iter().find(|write| !write.key.is_empty());
    first
        .or(writes.first())
        .map_or_else(Vec::new, |write| write.key.clone())
}

impl EngineTransaction for TikvTransaction {
    fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>> {
        self.lock_absent(options)?;
        let answers = self.lock_keys(keys, options, true)?;
        self.read_missing(keys, answers, options)
    }

    fn lock_only(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<bool>> {
        self.lock_absent(options)?;
        let answers = self.lock_keys(keys, options, false)?;
        Ok(answers
            .into_iter()
            .map(|answer| answer != LockOutcome::Skipped)
            .collect())
    }

    /// The prewrite checks whether a key exists, so a transaction without locks needs no request for it.
    fn expect_absent(&mut self, keys: &[Vec<u8>]) -> bool {
        if self.optimistic || !self.held.is_empty() {
            return false;
        }
        self.absent.extend(keys.iter().cloned());
        true
    }

    /// All durability levels are the same here: a commit is on the disks of a majority.
    fn commit(
        mut self: Box<Self>,
        writes: &Arc<WriteBuffer>,
        options: &LockOptions,
        _: Durability,
        fence: Option<&Fence>,
        done: CommitDone,
    ) {
        let committed = self.try_commit(writes, options, fence);
        let outcome = match committed {
            Ok(ts) if self.node.cluster.options.check_promises => self.check_fresh(writes, ts).map(|()| ts),
            other => other,
        };
        drop(self);
        done(outcome);
    }

    fn held_keys(&self) -> Option<Vec<Vec<u8>>> {
        Some(self.held.keys().map(|key| key.to_vec()).collect())
    }

    fn detach(
        mut self: Box<Self>,
        writes: &WriteBuffer,
        detached: &Detached,
        options: &LockOptions,
    ) -> Result<()> {
        self.try_detach(writes, detached, options)
    }

    fn rollback(&mut self) {
        self.unlock_all();
    }

    fn holds(&self, key: &[u8]) -> bool {
        let held = self.held.get(key);
        held.is_some_and(|held| matches!(held.cluster, InCluster::Exclusive(_)))
    }

    fn is_unchanged_since(&self, key: &[u8], ts: Timestamp) -> bool {
        let held = self.held.get(key);
        held.is_some_and(|held| matches!(held.cluster, InCluster::Exclusive(at) if at <= ts))
    }

    fn newest_locked(&self, keys: &[Vec<u8>], interrupt: Option<&Interrupt>) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = vec![None; keys.len()];
        let mut missing = Vec::new();
        for (index, (key, slot)) in keys.iter().zip(&mut values).enumerate() {
            match self.locked.get(key) {
                Some((_, value)) => *slot = value.map(<[u8]>::to_vec),
                None => missing.push(index),
            }
        }
        self.read_newest(keys, &missing, interrupt, &mut |index, value| {
            if let Some(slot) = values.get_mut(index) {
                *slot = value.map(<[u8]>::to_vec);
            }
        })?;
        Ok(values)
    }

    fn has_lost_locks(&self) -> bool {
        self.has_lost_locks || self.cluster.as_ref().is_some_and(ClusterLocks::is_lost)
    }

    fn owner(&self) -> Owner {
        self.owner
    }

    fn lock_count(&self) -> usize {
        self.held.len()
    }

    fn lock_waits(&self) -> u64 {
        self.local_waits + self.cluster.as_ref().map_or(0, ClusterLocks::waits)
    }
}

impl Drop for TikvTransaction {
    fn drop(&mut self) {
        self.unlock_all();
    }
}
