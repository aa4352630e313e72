//! One transaction of an embedded engine: the locks it holds, and how it commits.

use crate::buffer::WriteBuffer;
use crate::embedded::{Member, Shared};
use crate::engine::{CommitDone, Durability, EngineTransaction};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::group_commit::{self, Told};
use crate::lock::{LockMode, LockOptions, Locked};
use crate::lock_table::{Acquired, HeldKey, Owner, Request};
use crate::storage::{KnownVersions, Storage};
use crate::timestamp::{LATEST, Timestamp};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Room for locks.
const HELD: usize = 8;

pub(crate) struct EmbeddedTransaction<S: Storage> {
    shared: Arc<Shared<S>>,
    owner: Owner,
    start_ts: Timestamp,
    optimistic: bool,
    use_reserve: bool,
    held: Vec<HeldKey>,
    known: KnownVersions,
    /// While it commits: who is told, and the last timestamp that is in time. Never locked: who commits has it alone.
    ending: Mutex<Option<(CommitDone, Timestamp)>>,
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
            known: KnownVersions::default(),
            ending: Mutex::default(),
        }
    }

    fn acquire(&self, key: &[u8], options: &LockOptions) -> Result<Acquired> {
        let request = Request::new(self.owner, self.held.len(), key, options);
        self.shared.locks.lock(&request)
    }

    fn hold(&mut self, held: HeldKey) {
        if self.held.is_empty() {
            // Enough for most, without growing.
            self.held.reserve(HELD);
        }
        self.held.push(held);
    }

    /// False if the key was skipped.
    fn lock_key(&mut self, key: &[u8], options: &LockOptions) -> Result<bool> {
        match self.acquire(key, options)? {
            Acquired::New(held) => {
                self.hold(held);
                Ok(true)
            }
            Acquired::Held => Ok(true),
            Acquired::Skipped => Ok(false),
        }
    }

    fn unlock_all(&mut self) {
        for held in self.held.drain(..) {
            self.shared.locks.unlock(self.owner, &held);
        }
    }

    /// Locks a key and reads it. `None`: it was skipped.
    fn lock_and_read(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Option<Arc<[u8]>>>> {
        let is_new = match self.acquire(key, options)? {
            Acquired::New(held) => {
                self.hold(held);
                true
            }
            Acquired::Held => false,
            Acquired::Skipped => return Ok(None),
        };
        let mut value = None;
        let storage = &self.shared.storage;
        let seen = storage.get_with(key, LATEST, &mut |found| value = Some(Arc::from(found)))?;
        if let (true, LockMode::Exclusive, Some(held)) = (is_new, options.mode, self.held.last()) {
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
        let new = self.held.get(first_new..).unwrap_or_default();
        let mut new = new.iter().filter(|_| mode == LockMode::Exclusive).peekable();
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

    /// All that a commit takes but the group's part.
    fn prepare(
        &mut self,
        writes: &WriteBuffer,
        options: &LockOptions,
        fence: Option<&Fence>,
    ) -> Result<Member<S::Prepared>> {
        self.shared.check_writable()?;
        // In key order, so that commits do not deadlock with one another. Guarded keys too, for which nobody competes but
        // the garbage collector: what is prepared below must not be collected before it is applied.
        // What is known is locked.
        for (key, _) in writes.iter() {
            if self.known.get(key).is_none() && !self.lock_key(key, options)? {
                return Err(Error::LockNotAvailable);
            }
        }
        if self.optimistic {
            self.check_conflicts(writes)?;
        }
        let prepared = self.shared.storage.prepare(writes, &self.known)?;
        // What follows is another thread's.
        self.known.clear();
        Ok(Member {
            prepared,
            last: fence.map_or(Timestamp::MAX, Fence::last),
            use_reserve: self.use_reserve,
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
        keys.iter().map(|key| self.lock_key(key, options)).collect()
    }

    fn commit(
        mut self: Box<Self>,
        writes: &WriteBuffer,
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
        *self.ending.get_mut() = Some((done, work.last));
        let shared = Arc::clone(&self.shared);
        shared.commit(group_commit::Member {
            work,
            bytes: writes.size_bytes(),
            durability,
            done: self,
        });
    }

    fn use_reserve(&mut self) {
        self.use_reserve = true;
    }

    fn rollback(&mut self) {
        // What is known is locked.
        self.known.clear();
        self.unlock_all();
    }

    fn lock_count(&self) -> usize {
        self.held.len()
    }
}

impl<S: Storage> Told for EmbeddedTransaction<S> {
    fn told(mut self: Box<Self>, outcome: Result<Timestamp>) {
        let ending = self.ending.get_mut().take();
        drop(self);
        if let Some((done, last)) = ending {
            // The group has left out whoever came too late.
            done(outcome.and_then(|commit_ts| match commit_ts <= last {
                true => Ok(commit_ts),
                false => Err(Error::CommitTooLate { commit_ts, last }),
            }));
        }
    }
}

impl<S: Storage> Drop for EmbeddedTransaction<S> {
    fn drop(&mut self) {
        self.unlock_all();
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}
