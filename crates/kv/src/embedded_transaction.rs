//! One transaction of an embedded engine: the locks it holds, and its commit up to the queue.

use crate::buffer::WriteBuffer;
use crate::embedded_state::Shared;
use crate::engine::{CommitDone, Durability, EngineTransaction, KeptTransaction};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::group_commit::{Completion, QueuedCommit};
use crate::group_member::{GroupMember, Work};
use crate::interrupt::Interrupt;
use crate::lock::{HeldLock, LockMode, LockOptions, Locked, Owner};
use crate::lock_table::{Acquired, LockRequest};
use crate::lock_wait::HeldKey;
use crate::locked_versions::LockedVersions;
use crate::pending_commit::{Dependencies, PendingCommit};
use crate::promise::not_fresh;
use crate::storage::Storage;
use crate::sync::Mutex;
use crate::sync::atomic::Ordering;
use crate::timestamp::{LATEST, Timestamp};
use std::cell::Cell;
use std::mem;
use std::sync::Arc;

/// No transaction depends on one that holds more locks or writes more than this, and such a transaction waits
/// for those it depends on before it commits. So its writes are not kept longer than needed, and the thread
/// that commits groups does not prepare them.
const DEPENDENT_KEYS_MAX: usize = 1 << 10;
const DEPENDENT_BYTES_MAX: usize = 1 << 20;

/// Room for locks that most transactions do not exceed.
const HELD_CAPACITY: usize = 8;

pub(crate) struct EmbeddedTransaction<S: Storage> {
    shared: Arc<Shared<S>>,
    owner: Owner,
    start_ts: Timestamp,
    optimistic: bool,
    use_reserve: bool,
    held: Vec<HeldKey>,
    lock_waits: u64,
    /// What it has read of keys that it has locked exclusively.
    locked: LockedVersions,
    /// Used by one thread, like the whole transaction. The mutex is for [`EngineTransaction::settle`], which
    /// has it by reference only.
    dependencies: Mutex<Dependencies>,
    /// Set while it commits.
    committing: Option<Committing>,
    /// Where it goes, with its locks, if its commit fails. `None`: it ends.
    kept: Option<KeptTransaction>,
}

/// Keeps small writes until this thread's next commit, so that this thread frees them, and not the one that
/// commits groups. For the allocator, that is cheaper.
fn free_on_this_thread(writes: &Arc<WriteBuffer>) {
    const BYTES_MAX: usize = 16 << 10;
    thread_local! {
        static LAST: Cell<Option<Arc<WriteBuffer>>> = const { Cell::new(None) };
    }
    if writes.size_bytes() <= BYTES_MAX {
        LAST.set(Some(Arc::clone(writes)));
    }
}

struct Committing {
    commit: Arc<PendingCommit>,
    /// Never locked: the thread that commits owns it.
    done: Mutex<CommitDone>,
}

/// The result of a request for the lock of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyLocked {
    /// The transaction has it now and did not before. The key's newest version does not change from now on.
    New,
    /// The transaction had it before, or has taken it over from a pending commit.
    Other,
    Skipped,
}

impl<S: Storage> EmbeddedTransaction<S> {
    pub fn new(shared: Arc<Shared<S>>, start_ts: Timestamp, optimistic: bool) -> Self {
        shared.open.fetch_add(1, Ordering::Relaxed);
        Self {
            // No other transaction has this timestamp.
            owner: start_ts,
            shared,
            start_ts,
            optimistic,
            use_reserve: false,
            held: Vec::new(),
            lock_waits: 0,
            locked: LockedVersions::default(),
            dependencies: Mutex::default(),
            committing: None,
            kept: None,
        }
    }

    fn hold(&mut self, held: HeldKey) {
        if self.held.is_empty() {
            self.held.reserve(HELD_CAPACITY);
        }
        self.held.push(held);
    }

    fn lock_key(&mut self, key: &[u8], options: &LockOptions) -> Result<KeyLocked> {
        let request = LockRequest::new(self.owner, self.held.len(), key, options);
        let acquired = self.shared.locks.lock(&request)?;
        if request.has_waited.get() || matches!(acquired, Acquired::AfterPending(..)) {
            self.lock_waits += 1;
        }
        Ok(match acquired {
            Acquired::New(held) => {
                self.hold(held);
                KeyLocked::New
            }
            Acquired::AfterPending(held, commit) => {
                self.dependencies.get_mut().add(&held.key, commit);
                self.hold(held);
                KeyLocked::Other
            }
            Acquired::AlreadyHeld => KeyLocked::Other,
            Acquired::Skipped => KeyLocked::Skipped,
        })
    }

    /// Its commit has failed.
    fn failed(mut self: Box<Self>) {
        if let Some(kept) = self.kept.take() {
            kept.put(self);
        }
    }

    fn unlock_all(&mut self) {
        for held in self.held.drain(..) {
            self.shared.locks.unlock(self.owner, &held);
        }
    }

    /// Locks a key and reads it. `None`: it was skipped.
    fn lock_and_read(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Option<Arc<[u8]>>>> {
        let lock = self.lock_key(key, options)?;
        if lock == KeyLocked::Skipped {
            return Ok(None);
        }
        if let Some(value) = self.dependencies.get_mut().value(key)? {
            return Ok(Some(value.map(Arc::from)));
        }
        let mut value = None;
        let storage = &self.shared.storage;
        let seen = storage.get_with(key, LATEST, &mut |found| value = Some(Arc::from(found)))?;
        if let (KeyLocked::New, LockMode::Exclusive, Some(held)) = (lock, options.mode, self.held.last()) {
            self.locked.insert(&held.key, seen.commit_ts, value.clone());
        }
        Ok(Some(value))
    }

    /// Reads keys that are locked, so that their newest versions do not change. The locks that this call has
    /// taken are those in `held` from `first_new` on; what is read of their keys is kept for the commit.
    fn read_locked(
        &mut self,
        keys: &[Vec<u8>],
        is_locked: &[bool],
        first_new: usize,
        mode: LockMode,
    ) -> Result<Vec<Locked>> {
        let mut answers: Vec<Locked> = is_locked
            .iter()
            .map(|is_locked| match is_locked {
                true => Locked::Value(None),
                false => Locked::Skipped,
            })
            .collect();
        let dependencies = self.dependencies.get_mut();
        let new = self.held.get(first_new..).unwrap_or_default();
        let mut new = new
            .iter()
            .filter(|held| mode == LockMode::Exclusive && !dependencies.contains(&held.key))
            .peekable();
        let locked = &mut self.locked;
        let storage = &self.shared.storage;
        storage.batch_get_with(keys, LATEST, &mut |index, commit_ts, value| {
            if let (Some(key), Some(Locked::Value(answer))) = (keys.get(index), answers.get_mut(index)) {
                // Keys are visited in the order in which they were locked.
                if let Some(held) = new.next_if(|held| *held.key == **key) {
                    locked.insert(&held.key, commit_ts, value.map(Arc::from));
                }
                *answer = value.map(<[u8]>::to_vec);
            }
        })?;
        if !dependencies.is_empty() {
            for (key, answer) in keys.iter().zip(&mut answers) {
                if let (Locked::Value(answer), Some(value)) = (answer, dependencies.value(key)?) {
                    *answer = value.map(<[u8]>::to_vec);
                }
            }
        }
        Ok(answers)
    }

    /// Optimistic mode: with all keys locked, no version may be newer than the start.
    fn check_conflicts(&self, writes: &WriteBuffer) -> Result<()> {
        for key in writes.unguarded() {
            let conflict_ts = self.shared.storage.commit_ts_of(key)?;
            if conflict_ts > self.start_ts {
                self.shared.counters.conflicts.fetch_add(1, Ordering::Relaxed);
                return Err(Error::WriteConflict {
                    start_ts: self.start_ts,
                    conflict_ts,
                });
            }
        }
        Ok(())
    }

    /// Reads what a dependent commit replaces and has not read yet, so that the thread that commits groups
    /// need not read it. Those versions cannot change any more. False: they are too large to be kept until
    /// then.
    fn read_replaced(&self, writes: &WriteBuffer, locked: &mut LockedVersions) -> Result<bool> {
        let missing: Vec<Vec<u8>> = writes
            .writes()
            .filter(|(key, write)| !write.is_fresh && !locked.contains(key))
            .map(|(key, _)| key.to_vec())
            .collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let mut bytes = 0;
        let storage = &self.shared.storage;
        storage.batch_get_with(&missing, LATEST, &mut |index, commit_ts, value| {
            bytes += value.map_or(0, <[u8]>::len);
            if let Some(key) = missing.get(index).filter(|_| bytes <= DEPENDENT_BYTES_MAX) {
                locked.insert_any(Arc::from(key.as_slice()), commit_ts, value.map(Arc::from));
            }
        })?;
        Ok(bytes <= DEPENDENT_BYTES_MAX)
    }

    /// Makes room in the history. A transaction that frees disk space itself may commit without.
    fn make_room(&self, options: &LockOptions) -> Result<()> {
        match self.shared.make_room(&options.interrupt) {
            Err(error) if !self.use_reserve || error == Error::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Checks that keys written as fresh have no value. All of them are locked by now.
    fn check_fresh(&mut self, writes: &WriteBuffer) -> Result<()> {
        for (key, _) in writes.writes().filter(|(_, write)| write.is_fresh) {
            let is_there = match self.dependencies.get_mut().value(key)? {
                Some(value) => value.is_some(),
                None => self.shared.storage.get_with(key, LATEST, &mut |_| ())?.found,
            };
            if is_there {
                return Err(not_fresh(key));
            }
        }
        Ok(())
    }

    /// All of a commit that comes before the group, which includes all of it that may wait for the disk or
    /// for other transactions.
    fn prepare(
        &mut self,
        writes: &Arc<WriteBuffer>,
        options: &LockOptions,
        fence: Option<&Fence>,
    ) -> Result<GroupMember<S::Prepared>> {
        self.shared.health.check_writable()?;
        // In key order, so that commits do not deadlock with one another. Guarded keys too, although only the
        // garbage collector competes for them: what a write replaces must not be collected between preparing
        // and applying it. Keys in `locked` are locked already.
        let mut locked = mem::take(&mut self.locked);
        let mut in_order = locked.in_order();
        for (key, _) in writes.iter() {
            if in_order.get(key).is_none() && self.lock_key(key, options)? == KeyLocked::Skipped {
                return Err(Error::LockNotAvailable);
            }
        }
        let is_large = self.held.len() > DEPENDENT_KEYS_MAX || writes.size_bytes() > DEPENDENT_BYTES_MAX;
        // A commit that others depend on has passed its locks on, and could not keep them.
        let is_alone = is_large || self.kept.is_some();
        if self.optimistic || is_alone {
            self.settle(Some(&options.interrupt))?;
        }
        if self.optimistic {
            self.check_conflicts(writes)?;
        }
        if self.shared.options.check_promises {
            self.check_fresh(writes)?;
        }
        let dependencies = self.dependencies.get_mut().take_unapplied(&mut locked)?;
        let is_dependent = !dependencies.is_empty() && self.read_replaced(writes, &mut locked)?;
        let work = if is_dependent {
            self.make_room(options)?;
            Work::Dependent {
                writes: Arc::clone(writes),
                locked,
                dependencies,
            }
        } else {
            for commit in dependencies {
                commit.wait(Some(&options.interrupt))?;
            }
            let prepared = self.shared.storage.prepare(writes, &locked)?;
            if self.shared.storage.supersedes(&prepared) {
                self.make_room(options)?;
            }
            Work::Prepared(prepared)
        };
        let announced = if is_alone {
            Arc::default()
        } else {
            Arc::clone(writes)
        };
        Ok(GroupMember {
            work,
            last_ts: fence.map_or(Timestamp::MAX, Fence::last),
            use_reserve: self.use_reserve,
            commit: Arc::new(PendingCommit::new(self.owner, announced)),
        })
    }
}

impl<S: Storage> EngineTransaction for EmbeddedTransaction<S> {
    fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>> {
        if let [key] = keys {
            let locked = self.lock_and_read(key, options)?;
            let answer = |value: Option<Arc<[u8]>>| Locked::Value(value.map(|value| value.to_vec()));
            return Ok(vec![locked.map_or(Locked::Skipped, answer)]);
        }
        let first_new = self.held.len();
        let is_locked = self.lock_only(keys, options)?;
        self.read_locked(keys, &is_locked, first_new, options.mode)
    }

    fn lock_one(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Arc<[u8]>>> {
        self.lock_and_read(key, options)?.ok_or(Error::LockNotAvailable)
    }

    fn lock_only(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<bool>> {
        keys.iter()
            .map(|key| Ok(self.lock_key(key, options)? != KeyLocked::Skipped))
            .collect()
    }

    fn commit(
        mut self: Box<Self>,
        writes: &Arc<WriteBuffer>,
        options: &LockOptions,
        durability: Durability,
        fence: Option<&Fence>,
        done: CommitDone,
    ) {
        let work = match self.prepare(writes, options, fence) {
            Ok(work) => work,
            Err(error) => {
                self.failed();
                return done(Err(error));
            }
        };
        self.committing = Some(Committing {
            commit: Arc::clone(&work.commit),
            done: Mutex::new(done),
        });
        let shared = Arc::clone(&self.shared);
        shared.commit(QueuedCommit {
            work,
            bytes: writes.size_bytes(),
            durability,
            completion: self,
        });
        free_on_this_thread(writes);
    }

    fn settle(&self, interrupt: Option<&Interrupt>) -> Result<()> {
        self.dependencies.lock().settle(interrupt)
    }

    fn use_reserve(&mut self) {
        self.use_reserve = true;
    }

    fn keep_if_failed(&mut self, kept: KeptTransaction) {
        self.kept = Some(kept);
    }

    fn rollback(&mut self) {
        // What was read under the locks may change once they are released.
        self.locked.clear();
        self.dependencies.get_mut().clear();
        self.unlock_all();
    }

    fn holds(&self, key: &[u8]) -> bool {
        self.shared.locks.holds(self.owner, key)
    }

    fn owner(&self) -> Owner {
        self.owner
    }

    fn held(&self) -> Option<Vec<HeldLock>> {
        let mode = |held: &HeldKey| match self.holds(&held.key) {
            true => LockMode::Exclusive,
            false => LockMode::Shared,
        };
        let held = self.held.iter();
        Some(held.map(|held| (Arc::clone(&held.key), mode(held))).collect())
    }

    fn is_unchanged_since(&self, key: &[u8], ts: Timestamp) -> bool {
        self.locked.get(key).is_some_and(|(commit_ts, _)| commit_ts <= ts)
    }

    fn newest_locked(&self, keys: &[Vec<u8>], _: Option<&Interrupt>) -> Result<Vec<Option<Vec<u8>>>> {
        let dependencies = self.dependencies.lock();
        let newest = |key: &Vec<u8>| {
            if let Some((_, value)) = self.locked.get(key) {
                return Ok(value.map(<[u8]>::to_vec));
            }
            if let Some(value) = dependencies.value(key)? {
                return Ok(value.map(<[u8]>::to_vec));
            }
            let mut value = None;
            let storage = &self.shared.storage;
            storage.get_with(key, LATEST, &mut |found| value = Some(found.to_vec()))?;
            Ok(value)
        };
        keys.iter().map(newest).collect()
    }

    fn lock_count(&self) -> usize {
        self.held.len()
    }

    fn lock_waits(&self) -> u64 {
        self.lock_waits
    }
}

impl<S: Storage> Completion for EmbeddedTransaction<S> {
    fn queued(&self) {
        let commit = self.committing.as_ref().map(|committing| &committing.commit);
        if let Some(commit) = commit.filter(|commit| commit.allows_dependents()) {
            self.shared.locks.announce_commit(commit, &self.held);
        }
    }

    fn complete(mut self: Box<Self>, outcome: Result<Timestamp>) {
        if let Some(committing) = &self.committing {
            committing.commit.end(outcome.is_ok());
        }
        self.shared.locks.withdraw_commit(self.owner);
        let committing = self.committing.take();
        // What follows is the caller's code. If it panics, nothing of the store is affected.
        match outcome.is_ok() {
            true => drop(self),
            false => self.failed(),
        }
        if let Some(committing) = committing {
            committing.done.into_inner()(outcome);
        }
    }
}

impl<S: Storage> Drop for EmbeddedTransaction<S> {
    fn drop(&mut self) {
        // Still committing: `complete` was not called, or panicked, which is a defect. Other transactions
        // must not wait for this one.
        if let Some(committing) = self.committing.take() {
            let health = &self.shared.health;
            health.refuse_writes("a commit was cut short by a defect");
            committing.commit.end(false);
            self.shared.locks.withdraw_commit(self.owner);
        }
        self.unlock_all();
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}
