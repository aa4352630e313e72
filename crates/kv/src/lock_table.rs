//! Row locks within one process: who holds which key, and who waits for it.
//!
//! An embedded engine needs no others; an engine over a cluster takes them first, so that its own connections queue
//! up here, in order, and share and upgrade locks, and only one of them asks the cluster.
//!
//! A key need not exist to be locked, which is how two inserts of one unique key meet. Locks are granted in order of
//! arrival; a release hands the lock to the next waiter and wakes exactly the threads that got one. Who gives way
//! when waits form a circle: `deadlock`. What a lock is worth whose holder's commit is on its way: `pending_commit`.

use crate::deadlock::{Detector, Waiting};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::lock::{LockMode, LockOptions, LockStats, LockWait};
use crate::pending_commit::PendingCommit;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use crate::sync::thread::{self, Thread};
use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry as TableEntry, HashTable};
use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names a transaction within one lock table.
pub type Owner = u64;

/// Garbage collection, which holds a deleted key for a moment. It is nobody whom NOWAIT should hear about.
pub const COLLECTOR: Owner = 0;

/// How long a request that does not want to wait waits for [`COLLECTOR`]; much longer than it ever holds a key.
const COLLECTOR_WAIT: Duration = Duration::from_secs(10);

const SHARDS: usize = 128;

/// Commits on their way are few, and looked for only where somebody would wait for one.
const COMMIT_SHARDS: usize = 16;

/// Room that a shard keeps although it is empty.
const SHARD_KEYS_KEPT: usize = 1 << 10;

/// States of a [`Waiter`]. Whoever moves it out of `WAITING` decides its fate.
const WAITING: u8 = 0;
const GRANTED: u8 = 1;
const VICTIM: u8 = 2;
const GONE: u8 = 3;

/// A lock that a transaction holds, kept by it for the release.
#[derive(Debug, Clone)]
pub struct HeldKey {
    pub key: Arc<[u8]>,
    hash: u64,
}

/// How a request ended without an error.
pub enum Acquired {
    /// To be released by the caller.
    New(HeldKey),
    /// Likewise; and whoever had it last has not ended its commit yet. What that leaves at the key is what counts.
    After(HeldKey, Arc<PendingCommit>),
    /// The owner had it already, maybe in a weaker mode before.
    Held,
    /// SKIP LOCKED, and someone else has it.
    Skipped,
}

/// One request that waits.
pub(crate) struct Waiter {
    pub owner: Owner,
    /// How many keys the transaction holds: whoever has the least to lose gives way in a deadlock.
    pub locks_held: usize,
    mode: LockMode,
    state: AtomicU8,
    /// With the grant: the commit on its way that the waiter gets the lock after.
    after: Mutex<Option<Arc<PendingCommit>>>,
    thread: Thread,
}

impl Waiter {
    /// Decides the waiter's fate and wakes it; false if it was decided before.
    fn settle(&self, state: u8) -> bool {
        let decided = self
            .state
            .compare_exchange(WAITING, state, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        if decided {
            self.thread.unpark();
        }
        decided
    }

    /// Chosen to give way.
    pub fn make_victim(&self) -> bool {
        self.settle(VICTIM)
    }

    pub fn is_waiting(&self) -> bool {
        self.state.load(Ordering::SeqCst) == WAITING
    }
}

struct Entry {
    key: Arc<[u8]>,
    hash: u64,
    /// One exclusive owner, or any number of shared ones. Empty only for a moment, within [`Entry::grant`].
    mode: LockMode,
    owners: Owners,
    /// The last commit on its way that writes the key and has given the lock up.
    pending: Option<Arc<PendingCommit>>,
    queue: VecDeque<Arc<Waiter>>,
}

/// Whether it can go on from what a commit on its way leaves behind. All others wait until that is there.
fn may_follow(owner: Owner, mode: LockMode) -> bool {
    mode == LockMode::Exclusive && owner != COLLECTOR
}

/// Nearly every lock has one owner, which needs no allocation.
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

impl Entry {
    /// Whether `owner` could have the lock in `mode` now, were there no queue.
    fn admits(&self, owner: Owner, mode: LockMode) -> bool {
        match self.owners.as_slice() {
            [] => self.pending.is_none() || may_follow(owner, mode),
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

    /// Has the owner give the lock up whose commit is on its way; false if it does not. What it locked and does not write stays
    /// its own: such a lock guards other keys, and nothing at this one would tell who comes next to wait for them.
    fn release_early(&mut self, commit: &Arc<PendingCommit>) -> bool {
        let gives_up = self.mode == LockMode::Exclusive
            && self.holds(commit.owner())
            && commit.write_of(&self.key).is_some();
        if gives_up {
            self.owners.remove(commit.owner());
            self.pending = Some(Arc::clone(commit));
        }
        gives_up
    }

    /// What a request that did not hold the lock before is told of it.
    fn acquired(&self) -> Acquired {
        let held = HeldKey {
            key: Arc::clone(&self.key),
            hash: self.hash,
        };
        match &self.pending {
            None => Acquired::New(held),
            Some(commit) => Acquired::After(held, Arc::clone(commit)),
        }
    }

    /// Gives the lock to as many waiters as can have it, in order.
    fn grant(&mut self) {
        while let Some(next) = self.queue.front() {
            if next.is_waiting() {
                if !self.admits(next.owner, next.mode) {
                    return;
                }
                // Take it first: once settled, the waiter runs.
                let next = Arc::clone(next);
                let held_before = self.holds(next.owner);
                let mode_before = self.mode;
                self.take(next.owner, next.mode);
                next.after.lock().clone_from(&self.pending);
                if !next.settle(GRANTED) {
                    self.mode = mode_before;
                    if !held_before {
                        self.owners.remove(next.owner);
                    }
                }
            }
            self.queue.pop_front();
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
    timeouts: AtomicU64,
    deadlocks: AtomicU64,
}

/// All row locks of one store.
pub struct LockTable {
    shards: Box<[Shard]>,
    hasher: DefaultHashBuilder,
    /// Commits on their way, by their owner.
    commits: [CommitShard; COMMIT_SHARDS],
    detector: Detector,
    counters: Counters,
}

/// One request for one key.
pub struct Request<'a> {
    pub owner: Owner,
    pub locks_held: usize,
    pub key: &'a [u8],
    pub mode: LockMode,
    pub wait: LockWait,
    pub interrupt: &'a Interrupt,
    /// Set by [`LockTable::lock`] if another transaction was in the way.
    pub has_waited: Cell<bool>,
}

impl<'a> Request<'a> {
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

/// What a look at the table found for a request.
enum Found {
    Done(Acquired),
    MustWait {
        waiter: Arc<Waiter>,
        held: HeldKey,
        /// In a weaker mode, to be upgraded.
        held_before: bool,
        timeout: Duration,
    },
}

impl Default for LockTable {
    fn default() -> Self {
        Self::new()
    }
}

/// In cache lines of its own: neighbours are other processors'.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<HashTable<Entry>>);

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

    fn shard(&self, hash: u64) -> &Mutex<HashTable<Entry>> {
        // The table inside a shard uses the low and the highest bits.
        let index = usize::try_from((hash >> 32) & 0xFFFF).unwrap_or(0) % SHARDS;
        &self.shards[index].0
    }

    /// Takes the lock, waiting for it as the request says.
    ///
    /// # Errors
    /// [`Error::LockTimeout`], [`Error::LockNotAvailable`], [`Error::Deadlock`], [`Error::Interrupted`].
    pub fn lock(&self, request: &Request) -> Result<Acquired> {
        let hash = self.hasher.hash_one(request.key);
        match self.look(hash, request)? {
            Found::Done(acquired) => Ok(acquired),
            Found::MustWait {
                waiter,
                held,
                held_before,
                timeout,
            } => {
                request.has_waited.set(true);
                self.wait(&waiter, &held, timeout, request.interrupt)?;
                // The lock came right behind KILL, before this thread ran.
                if request.interrupt.is_killed() && !held_before {
                    self.unlock(waiter.owner, &held);
                    return Err(Error::Interrupted);
                }
                let after = waiter.after.lock().take();
                Ok(match after {
                    _ if held_before => Acquired::Held,
                    None => Acquired::New(held),
                    Some(commit) => Acquired::After(held, commit),
                })
            }
        }
    }

    /// Takes the lock if it is free, else joins its queue if the request wants to wait.
    fn look(&self, hash: u64, request: &Request) -> Result<Found> {
        let mut shard = self.shard(hash).lock();
        let entry = shard.entry(hash, |entry| *entry.key == *request.key, |entry| entry.hash);
        let mut entry = match entry {
            TableEntry::Vacant(vacant) => {
                let key: Arc<[u8]> = request.key.into();
                vacant.insert(Entry {
                    key: Arc::clone(&key),
                    hash,
                    mode: request.mode,
                    owners: Owners::One(request.owner),
                    pending: None,
                    queue: VecDeque::new(),
                });
                return Ok(Found::Done(Acquired::New(HeldKey { key, hash })));
            }
            TableEntry::Occupied(occupied) => occupied,
        };
        let entry = entry.get_mut();
        let held_before = entry.holds(request.owner);
        if held_before && entry.mode >= request.mode {
            return Ok(Found::Done(Acquired::Held));
        }
        // Who holds it already does not queue behind those who wait for him.
        if (held_before || entry.queue.is_empty()) && entry.admits(request.owner, request.mode) {
            entry.take(request.owner, request.mode);
            return Ok(Found::Done(if held_before {
                Acquired::Held
            } else {
                entry.acquired()
            }));
        }
        if self.follow(entry, request) {
            entry.take(request.owner, request.mode);
            return Ok(Found::Done(entry.acquired()));
        }
        let for_collector = entry.queue.is_empty() && entry.owners.as_slice() == [COLLECTOR];
        let timeout = match request.wait {
            LockWait::SkipLocked | LockWait::NoWait if for_collector => COLLECTOR_WAIT,
            LockWait::SkipLocked => return Ok(Found::Done(Acquired::Skipped)),
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
            after: Mutex::new(None),
            thread: thread::current(),
        });
        if held_before {
            entry.queue.push_front(Arc::clone(&waiter));
        } else {
            entry.queue.push_back(Arc::clone(&waiter));
        }
        self.counters.waiting.fetch_add(1, Ordering::Relaxed);
        let key = Arc::clone(&entry.key);
        Ok(Found::MustWait {
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
        self.detector.start_waiting(
            Waiting {
                waiter: Arc::clone(waiter),
                held: held.clone(),
                since: Instant::now(),
            },
            |held, holders| self.holders_of(held, holders),
        );
        let outcome = self.sleep(waiter, timeout, interrupt);
        self.detector.stop_waiting(waiter.owner);
        if outcome.is_err() {
            self.leave_queue(waiter, held);
        }
        self.counters.waiting.fetch_sub(1, Ordering::Relaxed);
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

    /// Takes a waiter that gave up out of its queue; those behind it may be able to go on.
    fn leave_queue(&self, waiter: &Arc<Waiter>, held: &HeldKey) {
        self.change(held, |entry| {
            entry.queue.retain(|other| !Arc::ptr_eq(other, waiter))
        });
    }

    /// Releases what [`LockTable::lock`] gave, and wakes who can go on.
    pub fn unlock(&self, owner: Owner, held: &HeldKey) {
        self.change(held, |entry| {
            entry.owners.remove(owner);
            entry.pending.take_if(|commit| commit.owner() == owner);
        });
    }

    fn commits_of(&self, owner: Owner) -> &Mutex<Vec<Arc<PendingCommit>>> {
        let index = usize::try_from(owner % COMMIT_SHARDS as Owner).unwrap_or(0);
        &self.commits[index].0
    }

    /// From now on others may follow the commit, whose owner holds the keys `held`. Every commit of theirs has to come after it.
    pub(crate) fn announce(&self, commit: &Arc<PendingCommit>, held: &[HeldKey]) {
        let owner = commit.owner();
        self.commits_of(owner).lock().push(Arc::clone(commit));
        // Who begins to wait in this moment may wait until the commit's end, as if nothing had been said.
        if self.counters.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        for held in held {
            self.change(held, |entry| {
                if !entry.queue.is_empty() {
                    entry.release_early(commit);
                }
            });
        }
    }

    /// Ends [`LockTable::announce`]. The owner's locks are to be released after it, as ever.
    pub(crate) fn forget(&self, owner: Owner) {
        self.commits_of(owner)
            .lock()
            .retain(|commit| commit.owner() != owner);
    }

    /// Takes the lock from its owner if that one's commit is on its way, and the request can go on from there.
    fn follow(&self, entry: &mut Entry, request: &Request) -> bool {
        let Owners::One(owner) = entry.owners else {
            return false;
        };
        if !entry.queue.is_empty() || !may_follow(request.owner, request.mode) {
            return false;
        }
        let commits = self.commits_of(owner).lock();
        let commit = commits.iter().find(|commit| commit.owner() == owner);
        commit.is_some_and(|commit| entry.release_early(commit))
    }

    /// Changes an entry, grants what has become possible, and forgets the entry if nobody is left.
    fn change(&self, held: &HeldKey, change: impl FnOnce(&mut Entry)) {
        let mut shard = self.shard(held.hash).lock();
        let Ok(mut occupied) = shard.find_entry(held.hash, |entry| entry.key == held.key) else {
            return;
        };
        let entry = occupied.get_mut();
        change(entry);
        entry.grant();
        if entry.is_unused() {
            occupied.remove();
            // A transaction that locked millions of rows should not leave its room behind for ever.
            if shard.capacity() > SHARD_KEYS_KEPT && shard.len() < shard.capacity() / 8 {
                let keys = shard.len() * 2;
                shard.shrink_to(keys, |entry| entry.hash);
            }
        }
    }

    /// Whether `owner` has the exclusive lock of a key.
    pub fn holds(&self, owner: Owner, key: &[u8]) -> bool {
        let hash = self.hasher.hash_one(key);
        let shard = self.shard(hash).lock();
        let entry = shard.find(hash, |entry| *entry.key == *key);
        entry.is_some_and(|entry| entry.mode == LockMode::Exclusive && entry.holds(owner))
    }

    fn holders_of(&self, held: &HeldKey, holders: &mut Vec<Owner>) {
        let shard = self.shard(held.hash).lock();
        if let Some(entry) = shard.find(held.hash, |entry| entry.key == held.key) {
            holders.extend_from_slice(entry.owners.as_slice());
        }
    }

    /// Who has waited for so long, and for which key: for an engine whose waits go on beyond this process.
    pub fn long_waits(&self, at_least: Duration) -> Vec<(Owner, Arc<[u8]>)> {
        self.detector.long_waits(at_least)
    }

    /// Ends `owner`'s wait with [`Error::Deadlock`]: part of the circle is outside. False if it does not wait any more.
    pub fn give_way(&self, owner: Owner) -> bool {
        self.detector.give_way(owner)
    }

    /// Figures about all locks of the process.
    pub fn stats(&self) -> LockStats {
        let held: usize = self.shards.iter().map(|shard| shard.0.lock().len()).sum();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LockStats {
            held: u64::try_from(held).unwrap_or(u64::MAX),
            waiting: count(&self.counters.waiting),
            waits: count(&self.counters.waits),
            timeouts: count(&self.counters.timeouts),
            deadlocks: count(&self.counters.deadlocks),
        }
    }
}
