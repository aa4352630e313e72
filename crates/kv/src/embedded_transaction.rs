//! One transaction of an embedded engine: the locks it holds, and how it commits.

use crate::buffer::WriteBuffer;
use crate::commit::{Member, Work};
use crate::embedded::Shared;
use crate::engine::{CommitDone, Durability, EngineTransaction};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::group_commit::{self, Told};
use crate::interrupt::Interrupt;
use crate::lock::{LockMode, LockOptions, Locked};
use crate::lock_table::{Acquired, HeldKey, Owner, Request};
use crate::pending_commit::{Followed, PendingCommit};
use crate::promise::not_fresh;
use crate::storage::{KnownVersions, Storage};
use crate::sync::Mutex;
use crate::sync::atomic::Ordering;
use crate::timestamp::{LATEST, Timestamp};
use std::cell::Cell;
use std::mem;
use std::sync::Arc;

/// A transaction that holds more locks, or writes more, is not followed, and waits for those it follows before it commits: its
/// writes are not kept for longer than they must be, and the thread that commits is not to prepare them.
const FOLLOWED_KEYS_MAX: usize = 1 << 10;
const FOLLOWED_BYTES_MAX: usize = 1 << 20;

/// Room for locks.
const HELD: usize = 8;

pub(crate) struct EmbeddedTransaction<S: Storage> {
    shared: Arc<Shared<S>>,
    owner: Owner,
    start_ts: Timestamp,
    optimistic: bool,
    use_reserve: bool,
    held: Vec<HeldKey>,
    lock_waits: u64,
    known: KnownVersions,
    /// Of one thread, like all of it; locked for what that does by reference only.
    followed: Mutex<Followed>,
    /// While it commits.
    ending: Option<Ending>,
}

/// Has small writes freed by the thread that has made them, with its next commit, rather than by the one that commits for all:
/// an allocator has less to do there.
fn free_later(writes: &Arc<WriteBuffer>) {
    const BYTES_MAX: usize = 16 << 10;
    thread_local! {
        static LAST: Cell<Option<Arc<WriteBuffer>>> = const { Cell::new(None) };
    }
    if writes.size_bytes() <= BYTES_MAX {
        LAST.set(Some(Arc::clone(writes)));
    }
}

struct Ending {
    commit: Arc<PendingCommit>,
    /// Never locked: who commits has it alone.
    done: Mutex<CommitDone>,
}

/// What became of a request for one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lock {
    /// Got for the first time; what the store holds there stands still.
    New,
    /// Had before, or got from somebody whose commit is on its way.
    Other,
    Skipped,
}

impl<S: Storage> EmbeddedTransaction<S> {
    pub fn new(shared: Arc<Shared<S>>, start_ts: Timestamp, optimistic: bool) -> Self {
        shared.open.fetch_add(1, Ordering::Relaxed);
        Self {
            // Nobody else has the timestamp.
            owner: start_ts,
            shared,
            start_ts,
            optimistic,
            use_reserve: false,
            held: Vec::new(),
            lock_waits: 0,
            known: KnownVersions::default(),
            followed: Mutex::default(),
            ending: None,
        }
    }

    fn hold(&mut self, held: HeldKey) {
        if self.held.is_empty() {
            // Enough for most, without growing.
            self.held.reserve(HELD);
        }
        self.held.push(held);
    }

    fn lock_key(&mut self, key: &[u8], options: &LockOptions) -> Result<Lock> {
        let request = Request::new(self.owner, self.held.len(), key, options);
        let acquired = self.shared.locks.lock(&request)?;
        if request.has_waited.get() || matches!(acquired, Acquired::After(..)) {
            self.lock_waits += 1;
        }
        Ok(match acquired {
            Acquired::New(held) => {
                self.hold(held);
                Lock::New
            }
            Acquired::After(held, commit) => {
                self.followed.get_mut().add(&held.key, commit);
                self.hold(held);
                Lock::Other
            }
            Acquired::Held => Lock::Other,
            Acquired::Skipped => Lock::Skipped,
        })
    }

    fn unlock_all(&mut self) {
        for held in self.held.drain(..) {
            self.shared.locks.unlock(self.owner, &held);
        }
    }

    /// Locks a key and reads it. `None`: it was skipped.
    fn lock_and_read(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Option<Arc<[u8]>>>> {
        let lock = self.lock_key(key, options)?;
        if lock == Lock::Skipped {
            return Ok(None);
        }
        if let Some(value) = self.followed.get_mut().value(key)? {
            return Ok(Some(value.map(Arc::from)));
        }
        let mut value = None;
        let storage = &self.shared.storage;
        let seen = storage.get_with(key, LATEST, &mut |found| value = Some(Arc::from(found)))?;
        if let (Lock::New, LockMode::Exclusive, Some(held)) = (lock, options.mode, self.held.last()) {
            self.known.insert(&held.key, seen.commit_ts, value.clone());
        }
        Ok(Some(value))
    }

    /// Reads keys that are locked: whoever holds a key's lock sees its newest version stand still. `first_new` is where the
    /// keys that this call locked begin among the held ones; what they hold is remembered, to be known at the commit.
    fn read_locked(
        &mut self,
        keys: &[Vec<u8>],
        locked: &[bool],
        first_new: usize,
        mode: LockMode,
    ) -> Result<Vec<Locked>> {
        let mut answers: Vec<Locked> = locked
            .iter()
            .map(|locked| {
                if *locked {
                    Locked::Value(None)
                } else {
                    Locked::Skipped
                }
            })
            .collect();
        let followed = self.followed.get_mut();
        let new = self.held.get(first_new..).unwrap_or_default();
        let mut new = new
            .iter()
            .filter(|held| mode == LockMode::Exclusive && !followed.contains(&held.key))
            .peekable();
        let known = &mut self.known;
        let storage = &self.shared.storage;
        storage.batch_get_with(keys, LATEST, &mut |index, commit_ts, value| {
            if let (Some(key), Some(Locked::Value(slot))) = (keys.get(index), answers.get_mut(index)) {
                // Keys come in the order in which they were locked.
                if let Some(held) = new.next_if(|held| *held.key == **key) {
                    known.insert(&held.key, commit_ts, value.map(Arc::from));
                }
                *slot = value.map(<[u8]>::to_vec);
            }
        })?;
        if !followed.is_empty() {
            for (key, answer) in keys.iter().zip(&mut answers) {
                if let (Locked::Value(slot), Some(value)) = (answer, followed.value(key)?) {
                    *slot = value.map(<[u8]>::to_vec);
                }
            }
        }
        Ok(answers)
    }

    /// Optimistic mode: with all keys locked, nothing newer than our start may be there.
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

    /// Reads what the writes replace as far as it is not known, so that it need not be read once the followed commits are
    /// applied, by the thread that commits for all: it stands still already. False: it is too much to be kept until then.
    fn read_ahead(&self, writes: &WriteBuffer, known: &mut KnownVersions) -> Result<bool> {
        let missing: Vec<Vec<u8>> = writes
            .writes()
            .filter(|(key, write)| !write.is_fresh && !known.contains(key))
            .map(|(key, _)| key.to_vec())
            .collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let mut bytes = 0;
        let storage = &self.shared.storage;
        storage.batch_get_with(&missing, LATEST, &mut |index, commit_ts, value| {
            bytes += value.map_or(0, <[u8]>::len);
            if let Some(key) = missing.get(index).filter(|_| bytes <= FOLLOWED_BYTES_MAX) {
                known.insert_any(Arc::from(key.as_slice()), commit_ts, value.map(Arc::from));
            }
        })?;
        Ok(bytes <= FOLLOWED_BYTES_MAX)
    }

    /// Who makes room is let through without.
    fn make_room(&self, options: &LockOptions) -> Result<()> {
        match self.shared.make_room(&options.interrupt) {
            Err(error) if !self.use_reserve || error == Error::Interrupted => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether nothing is at the keys that are to be fresh, all of which are locked by now.
    fn check_fresh(&mut self, writes: &WriteBuffer) -> Result<()> {
        for (key, _) in writes.writes().filter(|(_, write)| write.is_fresh) {
            let is_there = match self.followed.get_mut().value(key)? {
                Some(value) => value.is_some(),
                None => self.shared.storage.get_with(key, LATEST, &mut |_| ())?.found,
            };
            if is_there {
                return Err(not_fresh(key));
            }
        }
        Ok(())
    }

    /// All that a commit takes but the group's part, and all of it that may wait for the disk or for others.
    fn prepare(
        &mut self,
        writes: &Arc<WriteBuffer>,
        options: &LockOptions,
        fence: Option<&Fence>,
    ) -> Result<Member<S::Prepared>> {
        self.shared.check_writable()?;
        // In key order, so that commits do not deadlock with one another. Guarded keys too, for which nobody competes but
        // the garbage collector: what is prepared below must not be collected before it is applied.
        // What is known is locked.
        for (key, _) in writes.iter() {
            if self.known.get(key).is_none() && self.lock_key(key, options)? == Lock::Skipped {
                return Err(Error::LockNotAvailable);
            }
        }
        let is_large = self.held.len() > FOLLOWED_KEYS_MAX || writes.size_bytes() > FOLLOWED_BYTES_MAX;
        if self.optimistic || is_large {
            self.settle(Some(&options.interrupt))?;
        }
        if self.optimistic {
            self.check_conflicts(writes)?;
        }
        if self.shared.options.check_promises {
            self.check_fresh(writes)?;
        }
        let mut known = mem::take(&mut self.known);
        let after = self.followed.get_mut().take_unapplied(&mut known)?;
        let is_later = !after.is_empty() && self.read_ahead(writes, &mut known)?;
        let work = if is_later {
            self.make_room(options)?;
            Work::Later {
                writes: Arc::clone(writes),
                known,
                after,
            }
        } else {
            for commit in after {
                commit.wait(Some(&options.interrupt))?;
            }
            let prepared = self.shared.storage.prepare(writes, &known)?;
            if self.shared.storage.supersedes(&prepared) {
                self.make_room(options)?;
            }
            Work::Ready(prepared)
        };
        Ok(Member {
            work,
            last: fence.map_or(Timestamp::MAX, Fence::last),
            use_reserve: self.use_reserve,
            commit: Arc::new(PendingCommit::new(
                self.owner,
                if is_large {
                    Arc::default()
                } else {
                    Arc::clone(writes)
                },
            )),
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
        let locked = self.lock_only(keys, options)?;
        self.read_locked(keys, &locked, first_new, options.mode)
    }

    fn lock_one(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Arc<[u8]>>> {
        self.lock_and_read(key, options)?.ok_or(Error::LockNotAvailable)
    }

    fn lock_only(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<bool>> {
        keys.iter()
            .map(|key| Ok(self.lock_key(key, options)? != Lock::Skipped))
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
                drop(self);
                return done(Err(error));
            }
        };
        self.ending = Some(Ending {
            commit: Arc::clone(&work.commit),
            done: Mutex::new(done),
        });
        let shared = Arc::clone(&self.shared);
        shared.commit(group_commit::Member {
            work,
            bytes: writes.size_bytes(),
            durability,
            done: self,
        });
        free_later(writes);
    }

    fn settle(&self, interrupt: Option<&Interrupt>) -> Result<()> {
        self.followed.lock().settle(interrupt)
    }

    fn use_reserve(&mut self) {
        self.use_reserve = true;
    }

    fn rollback(&mut self) {
        // What is known is locked.
        self.known.clear();
        self.followed.get_mut().clear();
        self.unlock_all();
    }

    fn holds(&self, key: &[u8]) -> bool {
        self.shared.locks.holds(self.owner, key)
    }

    fn lock_count(&self) -> usize {
        self.held.len()
    }

    fn lock_waits(&self) -> u64 {
        self.lock_waits
    }
}

impl<S: Storage> Told for EmbeddedTransaction<S> {
    fn queued(&self) {
        if let Some(ending) = self
            .ending
            .as_ref()
            .filter(|ending| ending.commit.can_be_followed())
        {
            self.shared.locks.announce(&ending.commit, &self.held);
        }
    }

    fn told(mut self: Box<Self>, outcome: Result<Timestamp>) {
        if let Some(ending) = &self.ending {
            ending.commit.end(outcome.is_ok());
        }
        self.shared.locks.forget(self.owner);
        self.unlock_all();
        // From here on all is the caller's: if that panics, the store is as good as before.
        let ending = self.ending.take();
        drop(self);
        if let Some(ending) = ending {
            ending.done.into_inner()(outcome);
        }
    }
}

impl<S: Storage> Drop for EmbeddedTransaction<S> {
    fn drop(&mut self) {
        // Not told what became of its commit, or not to the end of that, which is a defect; but nobody shall wait for it.
        if let Some(ending) = self.ending.take() {
            self.shared.refuse_writes("a commit was cut short by a defect");
            ending.commit.end(false);
            self.shared.locks.forget(self.owner);
        }
        self.unlock_all();
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}
