//! Row locks within one process: which transaction holds which key, and which ones wait for it.
//!
//! An embedded engine needs no other locks. An engine over a cluster takes these first: its own connections
//! queue here in order, and share and upgrade locks, and only one of them asks the cluster.
//!
//! A key need not exist to be locked: two inserts of one unique key exclude each other that way. Locks are
//! granted in order of arrival. A release grants the lock to the next waiters and wakes exactly those
//! threads. Which transaction is rolled back when waits form a circle: `deadlock`. When a lock is released
//! before its holder's commit ends: `pending_commit`.

use crate::deadlock::{Detector, Waiting};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::lock::{DeadlockReport, LockMode, LockOptions, LockStats, LockWait, LockedKey, Owner};
use crate::lock_wait::{GONE, GRANTED, HeldKey, VICTIM, WAITING, Waiter};
use crate::pending_commit::PendingCommit;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use crate::sync::thread;
use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};
use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Garbage collection, which locks a deleted key for a moment. NOWAIT and SKIP LOCKED wait for it.
pub const COLLECTOR: Owner = 0;

/// How long a NOWAIT or SKIP LOCKED request waits for [`COLLECTOR`]: much longer than that ever holds a key.
const COLLECTOR_WAIT: Duration = Duration::from_secs(10);

const SHARDS: usize = 128;

/// Pending commits are few, and searched only when a request would have to wait for one.
const COMMIT_SHARDS: usize = 16;

/// The capacity that an empty shard may retain.
const SHARD_CAPACITY_MIN: usize = 1 << 10;

/// How a request ended without an error.
pub enum Acquired {
    /// To be released by the caller.
    New(HeldKey),
    /// Likewise; and the previous holder's commit is pending. The key's newest value is the one that this
    /// commit writes.
    AfterPending(HeldKey, Arc<PendingCommit>),
    /// The owner had it before, maybe in a weaker mode.
    AlreadyHeld,
    /// SKIP LOCKED, and another transaction has it.
    Skipped,
}

/// The lock of one key, and its queue.
struct KeyLock {
    key: Arc<[u8]>,
    hash: u64,
    /// One exclusive owner, or any number of shared ones. Empty only for a moment, within [`KeyLock::grant`].
    mode: LockMode,
    owners: Owners,
    /// The last pending commit that writes the key and has released its lock early.
    pending: Option<Arc<PendingCommit>>,
    queue: VecDeque<Arc<Waiter>>,
}

/// Whether a request may take over the lock of a pending commit. Others wait until the commit has ended.
fn may_take_over(owner: Owner, mode: LockMode) -> bool {
    mode == LockMode::Exclusive && owner != COLLECTOR
}

/// Nearly every lock has one owner, for which nothing is allocated.
enum Owners {
    None,
    One(Owner),
    Many(Vec<Owner>),
}

impl Owners {
    fn as_slice(&self) -> &[Owner] {
        match self {
            Self::None => &[],
            Self::One(owner) => std::slice::from_ref(owner),
            Self::Many(owners) => owners,
        }
    }

    fn add(&mut self, owner: Owner) {
        *self = match std::mem::replace(self, Self::None) {
            Self::None => Self::One(owner),
            Self::One(first) => Self::Many(vec![first, owner]),
            Self::Many(mut owners) => {
                owners.push(owner);
                Self::Many(owners)
            }
        };
    }

    fn remove(&mut self, owner: Owner) {
        match self {
            Self::One(one) if *one == owner => *self = Self::None,
            Self::Many(owners) => {
                owners.retain(|other| *other != owner);
                if owners.is_empty() {
                    *self = Self::None;
                }
            }
            Self::None | Self::One(_) => {}
        }
    }
}

impl KeyLock {
    /// Whether `owner` could have the lock in `mode` if there were no queue.
    fn admits(&self, owner: Owner, mode: LockMode) -> bool {
        match self.owners.as_slice() {
            [] => self.pending.is_none() || may_take_over(owner, mode),
            [only] if *only == owner => true,
            _ => mode == LockMode::Shared && self.mode == LockMode::Shared,
        }
    }

    fn holds(&self, owner: Owner) -> bool {
        self.owners.as_slice().contains(&owner)
    }

    fn take(&mut self, owner: Owner, mode: LockMode) {
        if self.holds(owner) {
            self.mode = self.mode.max(mode);
        } else {
            self.mode = mode;
            self.owners.add(owner);
        }
    }

    /// Releases the lock of the transaction whose commit is pending, and returns whether it did. A key that
    /// the transaction does not write stays locked: such a lock guards other keys, and nothing here would
    /// make the next holder wait for those.
    fn release_early(&mut self, commit: &Arc<PendingCommit>) -> bool {
        let releases = self.mode == LockMode::Exclusive
            && self.holds(commit.owner())
            && commit.write_of(&self.key).is_some();
        if releases {
            self.owners.remove(commit.owner());
            self.pending = Some(Arc::clone(commit));
        }
        releases
    }

    /// The result of a request that did not hold the lock before.
    fn acquired(&self) -> Acquired {
        let held = HeldKey {
            key: Arc::clone(&self.key),
            hash: self.hash,
        };
        match &self.pending {
            None => Acquired::New(held),
            Some(commit) => Acquired::AfterPending(held, Arc::clone(commit)),
        }
    }

    /// Grants the lock to as many waiters as can have it, in order.
    fn grant(&mut self) {
        while let Some(next) = self.queue.front() {
            if next.is_waiting() {
                if !self.admits(next.owner, next.mode) {
                    return;
                }
                // Take the lock first: once its wait ends, the waiter runs.
                let next = Arc::clone(next);
                let held_before = self.holds(next.owner);
                let mode_before = self.mode;
                self.take(next.owner, next.mode);
                next.pending.lock().clone_from(&self.pending);
                if !next.end(GRANTED) {
                    self.mode = mode_before;
                    if !held_before {
                        self.owners.remove(next.owner);
                    }
                }
            }
            self.queue.pop_front();
        }
    }

    fn shown(&self) -> LockedKey {
        LockedKey {
            key: Arc::clone(&self.key),
            mode: self.mode,
            owners: self.owners.as_slice().to_vec(),
            waiting: Vec::new(),
        }
    }

    fn is_unused(&self) -> bool {
        self.owners.as_slice().is_empty() && self.queue.is_empty() && self.pending.is_none()
    }
}

#[derive(Default)]
struct Counters {
    waiting: AtomicU64,
    waits: AtomicU64,
    waited_us: AtomicU64,
    longest_us: AtomicU64,
    timeouts: AtomicU64,
    deadlocks: AtomicU64,
}

/// All row locks of one store.
pub struct LockTable {
    shards: Box<[Shard]>,
    hasher: DefaultHashBuilder,
    /// Pending commits, sharded by owner.
    commits: [CommitShard; COMMIT_SHARDS],
    detector: Detector,
    counters: Counters,
}

/// One request for one key.
pub struct LockRequest<'a> {
    pub owner: Owner,
    pub locks_held: usize,
    pub key: &'a [u8],
    pub mode: LockMode,
    pub wait: LockWait,
    pub interrupt: &'a Interrupt,
    /// Set by [`LockTable::lock`] if another transaction was in the way.
    pub has_waited: Cell<bool>,
}

impl<'a> LockRequest<'a> {
    pub fn new(owner: Owner, locks_held: usize, key: &'a [u8], options: &'a LockOptions) -> Self {
        Self {
            owner,
            locks_held,
            key,
            mode: options.mode,
            wait: options.wait,
            interrupt: &options.interrupt,
            has_waited: Cell::new(false),
        }
    }
}

/// The result of a request, or what it has to wait with.
enum Attempt {
    Done(Acquired),
    MustWait {
        waiter: Arc<Waiter>,
        held: HeldKey,
        /// The owner holds the lock in a weaker mode, which is to be upgraded.
        held_before: bool,
        timeout: Duration,
    },
}

impl Default for LockTable {
    fn default() -> Self {
        Self::new()
    }
}

/// Aligned to cache lines of its own, because other processors use its neighbours.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<HashTable<KeyLock>>);

#[derive(Default)]
#[repr(align(128))]
struct CommitShard(Mutex<Vec<Arc<PendingCommit>>>);

impl LockTable {
    pub fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            hasher: DefaultHashBuilder::default(),
            commits: Default::default(),
            detector: Detector::default(),
            counters: Counters::default(),
        }
    }

    fn shard(&self, hash: u64) -> &Mutex<HashTable<KeyLock>> {
        // The table inside a shard uses the low and the highest bits.
        let index = usize::try_from((hash >> 32) & 0xFFFF).unwrap_or(0) % SHARDS;
        &self.shards[index].0
    }

    /// Takes the lock, waiting for it as the request says.
    ///
    /// # Errors
    /// [`Error::LockTimeout`], [`Error::LockNotAvailable`], [`Error::Deadlock`], [`Error::Interrupted`].
    pub fn lock(&self, request: &LockRequest) -> Result<Acquired> {
        let hash = self.hasher.hash_one(request.key);
        match self.attempt(hash, request)? {
            Attempt::Done(acquired) => Ok(acquired),
            Attempt::MustWait {
                waiter,
                held,
                held_before,
                timeout,
            } => {
                request.has_waited.set(true);
                self.wait(&waiter, &held, timeout, request.interrupt)?;
                // The lock was granted after KILL, before this thread ran.
                if request.interrupt.is_killed() && !held_before {
                    self.unlock(waiter.owner, &held);
                    return Err(Error::Interrupted);
                }
                let pending = waiter.pending.lock().take();
                Ok(match pending {
                    _ if held_before => Acquired::AlreadyHeld,
                    None => Acquired::New(held),
                    Some(commit) => Acquired::AfterPending(held, commit),
                })
            }
        }
    }

    /// Takes the lock if it is free, otherwise joins its queue if the request is willing to wait.
    fn attempt(&self, hash: u64, request: &LockRequest) -> Result<Attempt> {
        let mut shard = self.shard(hash).lock();
        let lock = shard.entry(hash, |lock| *lock.key == *request.key, |lock| lock.hash);
        let mut lock = match lock {
            Entry::Vacant(vacant) => {
                let key: Arc<[u8]> = request.key.into();
                vacant.insert(KeyLock {
                    key: Arc::clone(&key),
                    hash,
                    mode: request.mode,
                    owners: Owners::One(request.owner),
                    pending: None,
                    queue: VecDeque::new(),
                });
                return Ok(Attempt::Done(Acquired::New(HeldKey { key, hash })));
            }
            Entry::Occupied(occupied) => occupied,
        };
        let lock = lock.get_mut();
        let held_before = lock.holds(request.owner);
        if held_before && lock.mode >= request.mode {
            return Ok(Attempt::Done(Acquired::AlreadyHeld));
        }
        // A holder does not queue behind requests that wait for it.
        if (held_before || lock.queue.is_empty()) && lock.admits(request.owner, request.mode) {
            lock.take(request.owner, request.mode);
            return Ok(Attempt::Done(if held_before {
                Acquired::AlreadyHeld
            } else {
                lock.acquired()
            }));
        }
        if self.take_over(lock, request) {
            lock.take(request.owner, request.mode);
            return Ok(Attempt::Done(lock.acquired()));
        }
        let for_collector = lock.queue.is_empty() && lock.owners.as_slice() == [COLLECTOR];
        let timeout = match request.wait {
            LockWait::SkipLocked | LockWait::NoWait if for_collector => COLLECTOR_WAIT,
            LockWait::SkipLocked => return Ok(Attempt::Done(Acquired::Skipped)),
            LockWait::NoWait => return Err(Error::LockNotAvailable),
            LockWait::Timeout(timeout) if for_collector => timeout.max(COLLECTOR_WAIT),
            LockWait::Timeout(timeout) if timeout.is_zero() => {
                self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
                return Err(Error::LockTimeout);
            }
            LockWait::Timeout(timeout) => timeout,
        };
        let waiter = Arc::new(Waiter {
            owner: request.owner,
            locks_held: request.locks_held,
            mode: request.mode,
            state: AtomicU8::new(WAITING),
            pending: Mutex::new(None),
            thread: thread::current(),
        });
        if held_before {
            lock.queue.push_front(Arc::clone(&waiter));
        } else {
            lock.queue.push_back(Arc::clone(&waiter));
        }
        self.counters.waiting.fetch_add(1, Ordering::Relaxed);
        let key = Arc::clone(&lock.key);
        Ok(Attempt::MustWait {
            waiter,
            held: HeldKey { key, hash },
            held_before,
            timeout,
        })
    }

    fn wait(
        &self,
        waiter: &Arc<Waiter>,
        held: &HeldKey,
        timeout: Duration,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.counters.waits.fetch_add(1, Ordering::Relaxed);
        let _wake_guard = interrupt.wake_me();
        let since = Instant::now();
        self.detector.start_waiting(
            Waiting {
                waiter: Arc::clone(waiter),
                held: held.clone(),
                since,
            },
            |held, holders| self.holders_of(held, holders),
        );
        let outcome = self.sleep(waiter, timeout, interrupt);
        self.detector.stop_waiting(waiter.owner);
        if outcome.is_err() {
            self.leave_queue(waiter, held);
        }
        self.counters.waiting.fetch_sub(1, Ordering::Relaxed);
        let waited_us = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.counters.waited_us.fetch_add(waited_us, Ordering::Relaxed);
        self.counters.longest_us.fetch_max(waited_us, Ordering::Relaxed);
        match &outcome {
            Err(Error::LockTimeout) => self.counters.timeouts.fetch_add(1, Ordering::Relaxed),
            Err(Error::Deadlock) => self.counters.deadlocks.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        outcome
    }

    fn sleep(&self, waiter: &Waiter, timeout: Duration, interrupt: &Interrupt) -> Result<()> {
        // A deadline too far away to be represented is none.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            match waiter.state.load(Ordering::SeqCst) {
                GRANTED => return Ok(()),
                VICTIM => return Err(Error::Deadlock),
                _ => {}
            }
            let remaining = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let failure = if interrupt.is_raised() {
                Error::Interrupted
            } else if remaining.is_some_and(|remaining| remaining.is_zero()) {
                Error::LockTimeout
            } else {
                match remaining.into_iter().chain(interrupt.time_left()).min() {
                    Some(longest) => thread::park_timeout(longest),
                    None => thread::park(),
                }
                continue;
            };
            // Granted in the last moment counts as granted.
            if waiter
                .state
                .compare_exchange(WAITING, GONE, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
            {
                return Err(failure);
            }
        }
    }

    /// Removes a waiter that gave up from its queue. Waiters behind it may get the lock then.
    fn leave_queue(&self, waiter: &Arc<Waiter>, held: &HeldKey) {
        self.change(held, |lock| {
            lock.queue.retain(|other| !Arc::ptr_eq(other, waiter))
        });
    }

    /// Releases what [`LockTable::lock`] gave, and grants the lock to the next waiters.
    pub fn unlock(&self, owner: Owner, held: &HeldKey) {
        self.change(held, |lock| {
            lock.owners.remove(owner);
            lock.pending.take_if(|commit| commit.owner() == owner);
        });
    }

    fn commits_of(&self, owner: Owner) -> &Mutex<Vec<Arc<PendingCommit>>> {
        let index = usize::try_from(owner % COMMIT_SHARDS as Owner).unwrap_or(0);
        &self.commits[index].0
    }

    /// Lets other transactions take over locks of the commit's owner, which holds the keys `held`. Every
    /// commit of theirs has to be ordered after it.
    pub(crate) fn announce_commit(&self, commit: &Arc<PendingCommit>, held: &[HeldKey]) {
        let owner = commit.owner();
        self.commits_of(owner).lock().push(Arc::clone(commit));
        // A request that starts to wait at this moment may wait until the commit has ended, as it would
        // without this call.
        if self.counters.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        for held in held {
            self.change(held, |lock| {
                if !lock.queue.is_empty() {
                    lock.release_early(commit);
                }
            });
        }
    }

    /// Ends [`LockTable::announce_commit`]. The caller releases the owner's remaining locks afterwards.
    pub(crate) fn withdraw_commit(&self, owner: Owner) {
        self.commits_of(owner)
            .lock()
            .retain(|commit| commit.owner() != owner);
    }

    /// Releases the lock of an owner whose commit is pending, if the request may take it over.
    fn take_over(&self, lock: &mut KeyLock, request: &LockRequest) -> bool {
        let Owners::One(owner) = lock.owners else {
            return false;
        };
        if !lock.queue.is_empty() || !may_take_over(request.owner, request.mode) {
            return false;
        }
        let commits = self.commits_of(owner).lock();
        let commit = commits.iter().find(|commit| commit.owner() == owner);
        commit.is_some_and(|commit| lock.release_early(commit))
    }

    /// Changes a lock, grants it to waiters that can have it, and removes it if it is unused.
    fn change(&self, held: &HeldKey, change: impl FnOnce(&mut KeyLock)) {
        let mut shard = self.shard(held.hash).lock();
        let Ok(mut occupied) = shard.find_entry(held.hash, |lock| lock.key == held.key) else {
            return;
        };
        let lock = occupied.get_mut();
        change(lock);
        lock.grant();
        if lock.is_unused() {
            occupied.remove();
            // The memory of a transaction that locked millions of rows is not kept forever.
            if shard.capacity() > SHARD_CAPACITY_MIN && shard.len() < shard.capacity() / 8 {
                let keys = shard.len() * 2;
                shard.shrink_to(keys, |lock| lock.hash);
            }
        }
    }

    /// Whether `owner` has the exclusive lock of a key.
    pub fn holds(&self, owner: Owner, key: &[u8]) -> bool {
        let hash = self.hasher.hash_one(key);
        let shard = self.shard(hash).lock();
        let lock = shard.find(hash, |lock| *lock.key == *key);
        lock.is_some_and(|lock| lock.mode == LockMode::Exclusive && lock.holds(owner))
    }

    fn holders_of(&self, held: &HeldKey, holders: &mut Vec<Owner>) {
        let shard = self.shard(held.hash).lock();
        if let Some(lock) = shard.find(held.hash, |lock| lock.key == held.key) {
            holders.extend_from_slice(lock.owners.as_slice());
        }
    }

    /// The owners that have waited for at least this long, and for which keys. For an engine whose waits
    /// continue in other processes.
    pub fn long_waits(&self, at_least: Duration) -> Vec<(Owner, Arc<[u8]>)> {
        self.detector.long_waits(at_least)
    }

    /// Ends `owner`'s wait with [`Error::Deadlock`]: part of the circle is in another process. False if it
    /// does not wait any more.
    pub fn make_victim(&self, owner: Owner) -> bool {
        self.detector.make_victim(owner)
    }

    /// The last deadlock that was resolved in this process.
    pub fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.detector.last()
    }

    /// The keys that are locked now, at most `most`. Those that are waited for are among them.
    pub fn locked_keys(&self, most: usize) -> Vec<LockedKey> {
        let waits = self.detector.waits();
        let mut keys: Vec<LockedKey> = Vec::new();
        let awaited = waits.iter().map(|(held, _)| held);
        for held in awaited {
            if keys.iter().all(|known| known.key != held.key) {
                let shard = self.shard(held.hash).lock();
                keys.extend(
                    shard
                        .find(held.hash, |lock| lock.key == held.key)
                        .map(KeyLock::shown),
                );
            }
        }
        for shard in &self.shards {
            let shard = shard.0.lock();
            let quiet = shard.iter().filter(|lock| lock.queue.is_empty());
            keys.extend(quiet.take(most.saturating_sub(keys.len())).map(KeyLock::shown));
        }
        for (held, waiter) in waits {
            if let Some(known) = keys.iter_mut().find(|known| known.key == held.key) {
                known.waiting.push(waiter);
            }
        }
        keys
    }

    /// Figures about all locks of the process.
    pub fn stats(&self) -> LockStats {
        let held: usize = self.shards.iter().map(|shard| shard.0.lock().len()).sum();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LockStats {
            held: u64::try_from(held).unwrap_or(u64::MAX),
            waiting: count(&self.counters.waiting),
            waits: count(&self.counters.waits),
            waited_ms: count(&self.counters.waited_us) / 1000,
            longest_ms: count(&self.counters.longest_us) / 1000,
            timeouts: count(&self.counters.timeouts),
            deadlocks: count(&self.counters.deadlocks),
        }
    }
}
