//! One transaction of an embedded engine: the locks it holds, and how it commits.

use crate::buffer::WriteBuffer;
use crate::embedded::{Member, Shared};
use crate::engine::{CommitDone, Durability, EngineTransaction};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::group_commit;
use crate::lock::{LockOptions, Locked};
use crate::lock_table::{Acquired, HeldKey, Owner, Request};
use crate::storage::{KnownVersions, Storage};
use crate::timestamp::{LATEST, Timestamp};
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub(crate) struct EmbeddedTransaction<S: Storage> {
    shared: Arc<Shared<S>>,
    owner: Owner,
    start_ts: Timestamp,
    optimistic: bool,
    use_reserve: bool,
    held: Vec<HeldKey>,
    known: KnownVersions,
}

impl<S: Storage> EmbeddedTransaction<S> {
    pub fn new(shared: Arc<Shared<S>>, start_ts: Timestamp, optimistic: bool) -> Self {
        shared.open.fetch_add(1, Ordering::Relaxed);
        Self {
            owner: shared.new_owner(),
            shared,
            start_ts,
            optimistic,
            use_reserve: false,
            held: Vec::new(),
            known: KnownVersions::default(),
        }
    }

    /// False if the key was skipped.
    fn lock_key(&mut self, key: &[u8], options: &LockOptions) -> Result<bool> {
        let request = Request::new(self.owner, self.held.len(), key, options);
        match self.shared.locks.lock(&request)? {
            Acquired::New(held) => {
                self.held.push(held);
                Ok(true)
            }
            Acquired::Held => Ok(true),
            Acquired::Skipped => Ok(false),
        }
    }

    fn unlock_all(&mut self) {
        self.known.clear();
        for held in self.held.drain(..) {
            self.shared.locks.unlock(self.owner, &held);
        }
    }

    /// Whoever holds a key's lock sees its newest version stand still. `first_new` is where the keys that this call
    /// locked begin among the held ones; they are remembered, to be known again at the commit.
    fn read_locked(&mut self, keys: &[Vec<u8>], locked: &[bool], first_new: usize) -> Result<Vec<Locked>> {
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
        let mut new = self.held.get(first_new..).unwrap_or_default().iter().peekable();
        let known = &mut self.known;
        let mut remember = |key: &[u8], commit_ts, value: Option<&[u8]>| {
            // Keys come in the order in which they were locked.
            if let Some(held) = new.next_if(|held| *held.key == *key) {
                known.insert(&held.key, commit_ts, value);
            }
        };
        let storage = &self.shared.storage;
        if let ([key], [answer @ Locked::Value(_)]) = (keys, answers.as_mut_slice()) {
            let mut found = None;
            let seen = storage.get_with(key, LATEST, &mut |value| found = Some(value.to_vec()))?;
            remember(key, seen.commit_ts, found.as_deref());
            *answer = Locked::Value(found);
            return Ok(answers);
        }
        storage.batch_get_with(keys, LATEST, &mut |index, commit_ts, value| {
            if let (Some(key), Some(Locked::Value(slot))) = (keys.get(index), answers.get_mut(index)) {
                remember(key, commit_ts, value);
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
        for (key, _) in writes.iter() {
            if !self.lock_key(key, options)? {
                return Err(Error::LockNotAvailable);
            }
        }
        if self.optimistic {
            self.check_conflicts(writes)?;
        }
        Ok(Member {
            prepared: self.shared.storage.prepare(writes, &self.known)?,
            last: fence.map_or(Timestamp::MAX, Fence::last),
            use_reserve: self.use_reserve,
        })
    }
}

impl<S: Storage> EngineTransaction for EmbeddedTransaction<S> {
    fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>> {
        let first_new = self.held.len();
        let locked = self.lock_only(keys, options)?;
        self.read_locked(keys, &locked, first_new)
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
        let last = work.last;
        let shared = Arc::clone(&self.shared);
        shared.commit(group_commit::Member {
            work,
            bytes: writes.size_bytes(),
            durability,
            done: Box::new(move |outcome| {
                drop(self);
                // The group has left out whoever came too late.
                done(outcome.and_then(|commit_ts| match commit_ts <= last {
                    true => Ok(commit_ts),
                    false => Err(Error::CommitTooLate { commit_ts, last }),
                }));
            }),
        });
    }

    fn use_reserve(&mut self) {
        self.use_reserve = true;
    }

    fn rollback(&mut self) {
        self.unlock_all();
    }

    fn lock_count(&self) -> usize {
        self.held.len()
    }
}

impl<S: Storage> Drop for EmbeddedTransaction<S> {
    fn drop(&mut self) {
        self.unlock_all();
        self.shared.open.fetch_sub(1, Ordering::Relaxed);
    }
}
