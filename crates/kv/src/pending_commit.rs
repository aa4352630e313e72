//! Pending commits, and early lock release: transactions that depend on a commit which has not ended.
//!
//! Once a commit is in the queue, every later commit that locks its rows queues behind it. So its row locks
//! are no longer needed: another transaction may take the lock of a row and continue from the value that the
//! pending commit writes. Its commit is *dependent* then. Many transactions that change one row need not wait
//! for the disk one after the other. (InnoDB releases row locks before it writes its log for the same reason.
//! DeWitt et al., "Implementation techniques for main memory database systems", 1984, call such transactions
//! pre-committed.)
//!
//! A dependent commit is ordered after the commits it depends on, and fails if one of them fails. Until they
//! have ended, it reads what they write from here, and only for keys that it has locked. Any other read waits
//! for them ([`crate::EngineTransaction::settle`]).

use crate::buffer::WriteBuffer;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::lock::Owner;
use crate::small_map::SmallMap;
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex};
use crate::timestamp::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// States. A commit is first queued. It may fail before or after it is applied.
const QUEUED: u8 = 0;
/// The store has its writes, but maybe not the disk. Readers do not see them yet.
const APPLIED: u8 = 1;
/// Durable, and readers see it.
const COMMITTED: u8 = 2;
const FAILED: u8 = 3;

/// A transaction's commit, from the time it queues until it ends.
pub struct PendingCommit {
    owner: Owner,
    writes: Arc<WriteBuffer>,
    state: AtomicU8,
    /// Set before the state becomes [`APPLIED`].
    commit_ts: AtomicU64,
    waiting: Mutex<()>,
    ended: Condvar,
}

impl PendingCommit {
    pub fn new(owner: Owner, writes: Arc<WriteBuffer>) -> Self {
        Self {
            owner,
            writes,
            state: AtomicU8::new(QUEUED),
            commit_ts: AtomicU64::new(0),
            waiting: Mutex::new(()),
            ended: Condvar::new(),
        }
    }

    /// Whether other transactions may depend on it: not if it does not say what it writes.
    pub(crate) fn allows_dependents(&self) -> bool {
        !self.writes.is_empty()
    }

    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// What it writes at `key`; the outer `None`: it does not write the key.
    pub fn write_of(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.writes.get(key)
    }

    pub(crate) fn applied(&self, commit_ts: Timestamp) {
        self.commit_ts.store(commit_ts, Ordering::Relaxed);
        self.state.store(APPLIED, Ordering::Release);
    }

    /// The version that it has written at `key`; `None`: it has not been applied, or does not write the key.
    pub(crate) fn version_of(&self, key: &[u8]) -> Option<(Timestamp, Option<&[u8]>)> {
        let value = self.write_of(key)?;
        self.is_applied()
            .then(|| (self.commit_ts.load(Ordering::Relaxed), value))
    }

    /// Sets its outcome. If it is committed, readers see it already. The first call counts.
    pub(crate) fn end(&self, is_committed: bool) {
        {
            let _waiting = self.waiting.lock();
            if self.has_ended() {
                return;
            }
            let state = if is_committed { COMMITTED } else { FAILED };
            self.state.store(state, Ordering::Release);
        }
        self.ended.notify_all();
    }

    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    fn has_ended(&self) -> bool {
        matches!(self.state(), COMMITTED | FAILED)
    }

    pub(crate) fn is_applied(&self) -> bool {
        matches!(self.state(), APPLIED | COMMITTED)
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.state() == FAILED
    }

    /// Waits until it ends.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: it failed. [`Error::Interrupted`].
    pub(crate) fn wait(&self, interrupt: Option<&Interrupt>) -> Result<()> {
        if !self.has_ended() {
            let mut waiting = self.waiting.lock();
            while !self.has_ended() {
                interrupt.map_or(Ok(()), Interrupt::check)?;
                self.ended.wait_for(&mut waiting, INTERRUPT_CHECK);
            }
        }
        if self.has_failed() {
            Err(Error::Deadlock)
        } else {
            Ok(())
        }
    }
}

/// How often a thread that waits for a commit checks its interrupt. Hardly any wait takes as long.
pub(crate) const INTERRUPT_CHECK: Duration = Duration::from_millis(10);

/// With more dependencies than this, not every new one is worth a search for those that have ended.
const MANY: usize = 32;

/// The commits that a transaction depends on, by the keys that it has locked after them.
#[derive(Default)]
pub(crate) struct Dependencies(SmallMap<Arc<[u8]>, Arc<PendingCommit>>);

impl Dependencies {
    pub fn add(&mut self, key: &Arc<[u8]>, commit: Arc<PendingCommit>) {
        if self.0.len() < MANY || self.0.len().is_power_of_two() {
            self.remove_committed();
        }
        self.0.insert(Arc::clone(key), commit);
    }

    /// What a committed transaction wrote can be read from the store.
    fn remove_committed(&mut self) {
        let is_committed = |commit: &PendingCommit| commit.state() == COMMITTED;
        if !self.0.iter().any(|(_, commit)| is_committed(commit)) {
            return;
        }
        let mut others = SmallMap::default();
        for (key, commit) in self.0.iter().filter(|(_, commit)| !is_committed(commit)) {
            others.insert(Arc::clone(key), Arc::clone(commit));
        }
        self.0 = others;
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.0.get(key).is_some()
    }

    /// What a pending commit writes at `key`; the outer `None`: the transaction does not depend on one there.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: the commit has failed.
    pub fn value(&self, key: &[u8]) -> Result<Option<Option<&[u8]>>> {
        match self.0.get(key) {
            Some(commit) if commit.has_failed() => Err(Error::Deadlock),
            Some(commit) => Ok(commit.write_of(key)),
            None => Ok(None),
        }
    }

    /// Waits until all have ended, and removes them.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: one of them failed. [`Error::Interrupted`].
    pub fn settle(&mut self, interrupt: Option<&Interrupt>) -> Result<()> {
        for (_, commit) in self.0.iter() {
            commit.wait(interrupt)?;
        }
        self.clear();
        Ok(())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Arc<[u8]>, &Arc<PendingCommit>)> {
        self.0.iter()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
