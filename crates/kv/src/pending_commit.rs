//! Commits that wait for their group, and are followed by others before it is written.
//!
//! A row's lock is of no use any more once its holder's commit has its place in the queue: whoever comes after queues behind
//! it. So another transaction may take the lock then, and go on from what the commit will leave behind: it *follows* it. Where
//! many change one row, they need not wait for the disk one after the other. InnoDB gives up row locks before it
//! writes its log for the same reason.
//!
//! Who follows commits after the followed one, or not at all should that one fail. Until it is there, its writes are known from
//! here and for the locked keys only; whatever looks further waits for it ([`crate::EngineTransaction::settle`]).

use crate::buffer::WriteBuffer;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::lock_table::Owner;
use crate::small_map::SmallMap;
use crate::storage::KnownVersions;
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex};
use crate::timestamp::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// What has become of it.
const QUEUED: u8 = 0;
/// The store has it, but maybe not the disk. Readers do not see it yet.
const APPLIED: u8 = 1;
const COMMITTED: u8 = 2;
const FAILED: u8 = 3;

/// A transaction's commit, from its place in the queue to its end.
pub struct PendingCommit {
    owner: Owner,
    writes: Arc<WriteBuffer>,
    state: AtomicU8,
    /// Once it is applied.
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

    /// Whether it says what it writes.
    pub(crate) fn can_be_followed(&self) -> bool {
        !self.writes.is_empty()
    }

    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// What it leaves behind; the outer `None`: it does not write the key.
    pub fn write_of(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.writes.get(key)
    }

    pub(crate) fn applied(&self, commit_ts: Timestamp) {
        self.commit_ts.store(commit_ts, Ordering::Relaxed);
        self.state.store(APPLIED, Ordering::Release);
    }

    /// The version that it has left at `key`; `None`: it has not been applied, or does not write the key.
    pub(crate) fn version_of(&self, key: &[u8]) -> Option<(Timestamp, Option<&[u8]>)> {
        let value = self.write_of(key)?;
        self.is_applied()
            .then(|| (self.commit_ts.load(Ordering::Relaxed), value))
    }

    /// Its outcome, once it shows to readers if it shows at all. What is said first holds.
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

    /// Waits for its end. Fails if that was a failure.
    pub(crate) fn wait(&self, interrupt: Option<&Interrupt>) -> Result<()> {
        if !self.has_ended() {
            let mut waiting = self.waiting.lock();
            while !self.has_ended() {
                interrupt.map_or(Ok(()), Interrupt::check)?;
                self.ended.wait_for(&mut waiting, INTERRUPT_LOOK);
            }
        }
        if self.has_failed() {
            Err(Error::Deadlock)
        } else {
            Ok(())
        }
    }
}

/// How often who waits for a commit's end looks whether it has been interrupted. Hardly any takes as long.
pub(crate) const INTERRUPT_LOOK: Duration = Duration::from_millis(10);

/// With as many it is not worth a look each time which of them have ended.
const MANY: usize = 32;

/// The commits that a transaction follows, by the keys on which it does.
#[derive(Default)]
pub(crate) struct Followed(SmallMap<Arc<[u8]>, Arc<PendingCommit>>);

impl Followed {
    pub fn add(&mut self, key: &Arc<[u8]>, commit: Arc<PendingCommit>) {
        if self.0.len() < MANY || self.0.len().is_power_of_two() {
            self.forget_committed();
        }
        self.0.insert(Arc::clone(key), commit);
    }

    /// What they wrote can be read like everything else.
    fn forget_committed(&mut self) {
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

    /// What the followed commit leaves at `key`; the outer `None`: none is followed there.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: it has failed.
    pub fn value(&self, key: &[u8]) -> Result<Option<Option<&[u8]>>> {
        match self.0.get(key) {
            Some(commit) if commit.has_failed() => Err(Error::Deadlock),
            Some(commit) => Ok(commit.write_of(key)),
            None => Ok(None),
        }
    }

    /// Those that the store does not have yet, and forgets all. What they leave behind is what will be `known` of their keys.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: one has failed.
    pub fn take_unapplied(&mut self, known: &mut KnownVersions) -> Result<Vec<Arc<PendingCommit>>> {
        let mut unapplied = Vec::new();
        for (key, commit) in self.0.iter() {
            if commit.has_failed() {
                return Err(Error::Deadlock);
            }
            if !commit.is_applied() {
                known.insert_pending(key, commit);
                unapplied.push(Arc::clone(commit));
            }
        }
        self.clear();
        Ok(unapplied)
    }

    /// Waits for all, and forgets them.
    ///
    /// # Errors
    /// [`Error::Deadlock`]: one has failed. [`Error::Interrupted`].
    pub fn settle(&mut self, interrupt: Option<&Interrupt>) -> Result<()> {
        for (_, commit) in self.0.iter() {
            commit.wait(interrupt)?;
        }
        self.clear();
        Ok(())
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
