//! One transaction: its row locks here and in the cluster, and its end.
//!
//! A row is locked twice. First in this process ([`kv::LockTable`]): its connections queue up in order, share, upgrade,
//! and find deadlocks among themselves without a message. Then whoever got it locks it in the cluster, where only nodes
//! compete, and where the stores find deadlocks between them.

use crate::commit::{Change, Commit, Ended, Write};
use crate::engine::Shared;
use crate::failure;
use crate::locks::{ClusterLocks, Got, Request, release};
use crate::prober::PROBE_AFTER;
use crate::sharing::SharedLocks;
use bytes::Bytes;
use kv::lock_table::{Acquired, HeldKey, LockRequest, Owner};
use kv::promise::not_fresh;
use kv::{
    CommitDone, Durability, EngineTransaction, Error, Fence, LATEST, LockMode, LockOptions, LockWait, Locked,
    Part, ReadAt, Result, Timestamp, TxnOptions, WriteBuffer,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What the cluster knows of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InCluster {
    /// Nothing: it is about to be asked, or a prewrite will say.
    Nothing,
    Shared,
    Exclusive,
}

struct Held {
    local: HeldKey,
    cluster: InCluster,
}

/// See the module.
pub struct TikvTransaction {
    shared: Arc<Shared>,
    owner: Owner,
    start_ts: Timestamp,
    optimistic: bool,
    /// May commit at any moment since its start; see [`TxnOptions::single_statement`].
    single_statement: bool,
    lock_ttl: Duration,
    held: HashMap<Arc<[u8]>, Held>,
    /// Waits for other connections of this process.
    local_waits: u64,
    /// Once there is a lock in the cluster.
    cluster: Option<ClusterLocks>,
    /// Optimistic mode: locked keys that had changed since the start, and when.
    changed: HashMap<Arc<[u8]>, Timestamp>,
    /// Keys that must not be there when they are written; nothing else is locked while there are any.
    absent: HashSet<Vec<u8>>,
    pinned: bool,
}

impl TikvTransaction {
    /// `start_ts` has been pinned by the caller; it stays pinned until the end, whatever the caller reads by then.
    pub fn new(shared: Arc<Shared>, start_ts: Timestamp, options: &TxnOptions) -> Result<Self> {
        shared.pins.pin(start_ts)?;
        let lock_ttl = options.lock_ttl.unwrap_or(shared.cluster.options.lock_ttl);
        Ok(Self {
            owner: shared.new_owner(),
            shared,
            start_ts,
            optimistic: options.optimistic,
            single_statement: options.single_statement,
            lock_ttl,
            held: HashMap::new(),
            local_waits: 0,
            cluster: None,
            changed: HashMap::new(),
            absent: HashSet::new(),
            pinned: true,
        })
    }

    /// Locks a key in this process; false if it was skipped.
    fn lock_here(&mut self, key: &[u8], options: &LockOptions) -> Result<bool> {
        let request = LockRequest::new(self.owner, self.held.len(), key, options);
        let asked = Instant::now();
        let acquired = self.shared.locks.lock(&request)?;
        self.local_waits += u64::from(request.has_waited.get());
        if let Some(locks) = &mut self.cluster
            && asked.elapsed() >= PROBE_AFTER
        {
            locks.renew();
        }
        match acquired {
            // No commit is announced here, so there is none to come after.
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

    /// Locks keys here and in the cluster. One answer per key, with values as far as they came along.
    fn lock_keys(&mut self, keys: &[Vec<u8>], options: &LockOptions, values: bool) -> Result<Vec<Got>> {
        let mut answers = Vec::with_capacity(keys.len());
        let mut failure = Ok(());
        for key in keys {
            match self.lock_here(key, options) {
                Ok(true) => answers.push(Got::Locked),
                Ok(false) => answers.push(Got::Skipped),
                Err(error) => {
                    failure = Err(error);
                    break;
                }
            }
        }
        let mut got = HashMap::new();
        // What was locked before a failure stays locked, so it must be so everywhere.
        let here: Vec<&Vec<u8>> = keys
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| **answer == Got::Locked)
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

    fn lock_in_cluster(
        &mut self,
        keys: &[&Vec<u8>],
        options: &LockOptions,
        values: bool,
        got: &mut HashMap<Vec<u8>, Got>,
    ) -> Result<()> {
        let deadline = match options.wait {
            LockWait::Timeout(timeout) => Instant::now().checked_add(timeout),
            _ => None,
        };
        let mut new = Vec::new();
        let mut upgrades = Vec::new();
        let mut sharing = Vec::new();
        let mut seen = HashSet::new();
        for key in keys {
            let known = self.held.get(key.as_slice()).map(|held| held.cluster);
            match (options.mode, known) {
                _ if !seen.insert(key.as_slice()) => {}
                (LockMode::Exclusive, Some(InCluster::Nothing)) => new.push(key.as_slice()),
                (LockMode::Exclusive, Some(InCluster::Shared)) => upgrades.push(key.as_slice()),
                (LockMode::Shared, Some(InCluster::Nothing)) => sharing.push(key.as_slice()),
                _ => {}
            }
        }
        let request = |unchanged_since| Request {
            // As much as is left of the patience, by now.
            wait: match (options.wait, deadline) {
                (LockWait::Timeout(_), Some(deadline)) => {
                    LockWait::Timeout(deadline.saturating_duration_since(Instant::now()))
                }
                (wait, _) => wait,
            },
            interrupt: &options.interrupt,
            values,
            unchanged_since,
        };
        let shared = Arc::clone(&self.shared);
        for key in sharing {
            let prefixed = shared.cluster.keyspace.key(key);
            let (answer, has_waited) =
                shared
                    .sharing
                    .join(&shared.cluster, &shared.keeper, &prefixed, request(None))?;
            self.local_waits += u64::from(has_waited);
            if answer != Got::Skipped {
                self.confirm(key, InCluster::Shared);
            }
            got.insert(key.to_vec(), answer);
        }
        for key in upgrades {
            let prefixed = shared.cluster.keyspace.key(key);
            self.confirm(key, InCluster::Nothing);
            // Between the shared lock and ours is a gap; nobody may have committed in it.
            let since = shared.sharing.leave(&shared.cluster, &prefixed);
            let since = since.ok_or_else(failure::locks_lost)?;
            // Not at the start: that is where a probe would lock. Whoever commits in the gap commits later.
            let since = since.max(self.start_ts + 1);
            let upgraded = self.lock_exclusively(&[key], request(Some(since)), got);
            upgraded.map_err(|error| match error {
                Error::WriteConflict { .. } => Error::Deadlock,
                error => error,
            })?;
        }
        if new.is_empty() {
            return Ok(());
        }
        if self.optimistic {
            return self.lock_and_note_changes(&new, request(Some(self.start_ts)), got);
        }
        self.lock_exclusively(&new, request(None), got)
    }

    /// An optimistic transaction may lock rows too, and reads what is newest then; but if it writes one that had
    /// changed since its start, that is a conflict.
    fn lock_and_note_changes(
        &mut self,
        keys: &[&[u8]],
        request: Request,
        got: &mut HashMap<Vec<u8>, Got>,
    ) -> Result<()> {
        for key in keys {
            match self.lock_exclusively(&[key], request, got) {
                Err(Error::WriteConflict { conflict_ts, .. }) => {
                    self.changed.insert(Arc::from(*key), conflict_ts);
                    let newest = Request {
                        unchanged_since: None,
                        ..request
                    };
                    self.lock_exclusively(&[key], newest, got)?;
                }
                other => other?,
            }
        }
        Ok(())
    }

    fn lock_exclusively(
        &mut self,
        keys: &[&[u8]],
        request: Request,
        got: &mut HashMap<Vec<u8>, Got>,
    ) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let keyspace = &shared.cluster.keyspace;
        let prefixed = keys.iter().map(|key| keyspace.key(key)).collect();
        let locks = self
            .cluster
            .get_or_insert_with(|| ClusterLocks::new(self.start_ts, self.lock_ttl));
        let had_none = locks.is_empty();
        let mut answers = HashMap::new();
        let locked = locks.lock(&shared.cluster, &shared.keeper, prefixed, request, &mut answers);
        // An optimistic transaction locks at its start, as a probe does: they must not meet.
        if had_none && !locks.is_empty() && !self.optimistic {
            shared
                .prober_txns
                .insert(self.owner, locks.start_ts, locks.primary.clone());
        }
        for (key, answer) in answers {
            let Some(key) = keyspace.strip(&key) else { continue };
            if answer != Got::Skipped {
                self.confirm(key, InCluster::Exclusive);
            }
            got.insert(key.to_vec(), answer);
        }
        locked
    }

    fn confirm(&mut self, key: &[u8], cluster: InCluster) {
        if let Some(held) = self.held.get_mut(key) {
            held.cluster = cluster;
        }
    }

    /// Gives back here what the cluster did not give.
    fn unlock_unconfirmed(&mut self, keys: &[Vec<u8>]) {
        for key in keys {
            let is_unconfirmed = |held: &Held| held.cluster == InCluster::Nothing;
            if self.held.get(key.as_slice()).is_some_and(is_unconfirmed)
                && let Some(held) = self.held.remove(key.as_slice())
            {
                self.shared.locks.unlock(self.owner, &held.local);
            }
        }
    }

    /// Values of keys that were locked before: they stand still, so the newest version is the one.
    fn read_missing(
        &self,
        keys: &[Vec<u8>],
        answers: Vec<Got>,
        options: &LockOptions,
    ) -> Result<Vec<Locked>> {
        let missing: Vec<usize> = (0..answers.len())
            .filter(|index| answers.get(*index) == Some(&Got::Locked))
            .collect();
        let mut locked: Vec<Locked> = answers
            .into_iter()
            .map(|answer| match answer {
                Got::Value(value) => Locked::Value(value.map(|value| value.to_vec())),
                Got::Locked => Locked::Value(None),
                Got::Skipped => Locked::Skipped,
            })
            .collect();
        if missing.is_empty() {
            return Ok(locked);
        }
        let wanted: Vec<Vec<u8>> = missing
            .iter()
            .filter_map(|index| keys.get(*index).cloned())
            .collect();
        let at = ReadAt {
            ts: LATEST,
            interrupt: Some(&options.interrupt),
        };
        self.shared
            .cluster
            .batch_get(&wanted, at, &mut |position, value| {
                if let Some(slot) = missing.get(position).and_then(|index| locked.get_mut(*index)) {
                    *slot = Locked::Value(value.map(<[u8]>::to_vec));
                }
            })?;
        Ok(locked)
    }

    fn try_commit(
        &mut self,
        writes: &WriteBuffer,
        options: &LockOptions,
        fence: Option<&Fence>,
    ) -> Result<Timestamp> {
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
        // Without a lock in the cluster, the prewrite finds what is in the way, which saves a round trip.
        if self.cluster.as_ref().is_none_or(ClusterLocks::is_empty) && !writes.unguarded().any(is_shared) {
            return self.commit_unlocked(writes, options, lock_deadline, fence);
        }
        self.lock_for_commit(writes, options)?;
        self.commit_locked(writes, options, lock_deadline, fence)
    }

    /// Whether nothing was at the keys that were to be fresh. After the commit, since only that finds out if the guards are as
    /// the transaction took them to be.
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
        let read = self.shared.cluster.batch_get(&keys, before, &mut |index, value| {
            if let (Some(key), Some(_)) = (keys.get(index), value) {
                checked = Err(not_fresh(key));
            }
        });
        if let Err(error) = read {
            // The commit is there, whatever has become of the cluster since.
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
        let keyspace = &self.shared.cluster.keyspace;
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
                    .is_some_and(|held| held.cluster == InCluster::Exclusive),
            })
            .collect()
    }

    /// The shared locks, for the commit to look at: they are in the cluster in other names than its own.
    fn shared_in_cluster(&self) -> SharedLocks<'_> {
        let shared = self
            .held
            .iter()
            .filter(|(_, held)| held.cluster == InCluster::Shared);
        let keyspace = &self.shared.cluster.keyspace;
        SharedLocks {
            sharing: &self.shared.sharing,
            keys: shared.map(|(key, _)| keyspace.key(key)).collect(),
        }
    }

    /// Pessimistic mode: blind writes, so whatever was committed in between is overwritten, at a start of its own.
    /// Optimistic mode: first committer wins, judged from the start.
    fn commit_unlocked(
        &self,
        writes: &WriteBuffer,
        options: &LockOptions,
        lock_deadline: Option<Instant>,
        fence: Option<&Fence>,
    ) -> Result<Timestamp> {
        let cluster = &self.shared.cluster;
        let writes = self.writes(writes);
        let sharing = self.shared_in_cluster();
        let primary = primary_of(&writes);
        let mut backoff = cluster.backoff(Some(&options.interrupt));
        // The first attempt is made at our own start, as long as nothing was ever asked for in its name; a further one
        // must see what was in the way.
        let mut attempt_start_ts = self.cluster.is_none().then_some(self.start_ts);
        loop {
            let now = match attempt_start_ts {
                Some(ts) if self.single_statement => ts,
                _ => self.shared.timestamp(Some(&options.interrupt))?,
            };
            let start_ts = match attempt_start_ts.take() {
                _ if self.optimistic => self.start_ts,
                Some(ts) => ts,
                None => now,
            };
            let commit = Commit {
                cluster,
                keeper: &self.shared.keeper,
                start_ts,
                primary: primary.clone(),
                lock_ttl: self.lock_ttl,
                writes: writes.clone(),
                for_update_ts: 0,
                // Ours alone, so PD gives nobody else the timestamp of the commit.
                min_commit_ts: now,
                fence,
                shared_locks: &sharing,
                interrupt: &options.interrupt,
                // A blind write that waited would conflict with what it waited for.
                lock_deadline: lock_deadline.filter(|_| self.optimistic),
            };
            match commit.run()? {
                Ended::Committed {
                    commit_ts,
                    secondaries,
                } => {
                    return Ok(self.shared.committed(start_ts, commit_ts, secondaries));
                }
                Ended::InTheWay(Error::WriteConflict { conflict_ts, .. }) if self.optimistic => {
                    return Err(Error::WriteConflict {
                        start_ts,
                        conflict_ts,
                    });
                }
                Ended::InTheWay(Error::LockTimeout) if !self.optimistic => {
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
                Ended::InTheWay(_) if !self.optimistic => {}
                Ended::InTheWay(error) | Ended::Failed(error) => return Err(error),
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
        let shared = Arc::clone(&self.shared);
        let sharing = self.shared_in_cluster();
        let mut writes = self.writes(writes);
        let Some(locks) = &self.cluster else {
            return Err(Error::Internal("locks without a transaction".into()));
        };
        if locks.is_lost() {
            return Err(failure::locks_lost());
        }
        let (start_ts, for_update_ts, primary) = (locks.start_ts, locks.for_update_ts, locks.primary.clone());
        // Rows that were locked and not written, too: a store may have lost their locks (its leader died before others knew
        // of them), and what was written may rest on what they held.
        let written: HashSet<&[u8]> = writes.iter().map(|write| write.key.as_slice()).collect();
        let only_locked: Vec<Write> = locks
            .locked()
            .filter(|key| !written.contains(key.as_slice()))
            .map(|key| Write {
                key: key.clone(),
                change: Change::Lock,
                is_locked: true,
            })
            .collect();
        let in_doubt: Vec<Vec<u8>> = locks
            .in_doubt()
            .iter()
            .filter(|key| !written.contains(key.as_slice()))
            .cloned()
            .collect();
        writes.extend(only_locked);
        writes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let commit = Commit {
            cluster: &shared.cluster,
            keeper: &shared.keeper,
            start_ts,
            primary,
            lock_ttl: self.lock_ttl,
            writes,
            for_update_ts,
            // Later than what anyone has begun to read before the commit was asked for, or, where nobody can tell, since
            // the locks were taken.
            min_commit_ts: match self.single_statement && !locks.has_waited() {
                true => for_update_ts + 1,
                false => shared.timestamp(Some(&options.interrupt))?,
            },
            fence,
            shared_locks: &sharing,
            interrupt: &options.interrupt,
            // Only a guarded key can be met locked, for as long as a transaction that has lost its row takes to go away.
            lock_deadline,
        };
        let ended = commit.run()?;
        match ended {
            Ended::Committed {
                commit_ts,
                secondaries,
            } => {
                if let Some(locks) = &mut self.cluster {
                    locks.take_keys();
                }
                let commit_ts = shared.committed(start_ts, commit_ts, secondaries);
                if let Err(error) = release(&shared.cluster, start_ts, for_update_ts, in_doubt) {
                    tracing::warn!(%error, "locks are left to run out");
                }
                Ok(commit_ts)
            }
            Ended::InTheWay(error) | Ended::Failed(error) => Err(match error {
                // With all rows locked there is no conflict but the loss of a lock.
                Error::WriteConflict { .. } => failure::locks_lost(),
                error => error,
            }),
        }
    }

    /// The transaction comes to lock something after all: then what it expected to be absent comes first.
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
            self.shared.prober_txns.remove(self.owner);
            // Where a store has not answered, nobody who has given up is made to wait for it again.
            let cluster = Arc::clone(&self.shared.cluster);
            let is_in_doubt = locks.is_in_doubt();
            let mut release = move || {
                if let Err(error) = locks.release(&cluster, None) {
                    tracing::warn!(%error, "locks are left to run out");
                }
            };
            match is_in_doubt {
                true => self.shared.in_background(release),
                false => release(),
            }
        }
        self.changed.clear();
        let shared = Arc::clone(&self.shared);
        for (key, held) in self.held.drain() {
            if held.cluster == InCluster::Shared {
                shared
                    .sharing
                    .leave(&shared.cluster, &shared.cluster.keyspace.key(&key));
            }
            shared.locks.unlock(self.owner, &held.local);
        }
        if std::mem::take(&mut self.pinned) {
            shared.pins.unpin(self.start_ts);
        }
    }
}

/// A key that is not empty, if there is one.
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
        Ok(answers.into_iter().map(|answer| answer != Got::Skipped).collect())
    }

    /// A prewrite sees whether a key is there, so a transaction without locks needs no round trip for it.
    fn expect_absent(&mut self, keys: &[Vec<u8>]) -> bool {
        if self.optimistic || !self.held.is_empty() {
            return false;
        }
        self.absent.extend(keys.iter().cloned());
        true
    }

    /// The cluster has one durability: a commit is on a majority's disks.
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
            Ok(ts) if self.shared.cluster.options.check_promises => self.check_fresh(writes, ts).map(|()| ts),
            other => other,
        };
        drop(self);
        done(outcome);
    }

    fn rollback(&mut self) {
        self.unlock_all();
    }

    fn holds(&self, key: &[u8]) -> bool {
        let held = self.held.get(key);
        held.is_some_and(|held| held.cluster == InCluster::Exclusive)
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
