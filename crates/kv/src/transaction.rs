//! A transaction: a start timestamp, a write buffer and row locks.
//!
//! Plain reads see the transaction's own writes over its snapshot. [`Transaction::current`] and
//! [`Transaction::lock`] see own writes over the newest committed state, as MySQL's DML and locking reads do.
//! The engine gets the buffer once, at commit.

use crate::buffer::{Savepoint, Write, WriteBuffer};
use crate::coprocessor::{CoprocessorRequest, CoprocessorResponses};
use crate::corrections::{Corrected, Corrections, Outdated, RowEntries};
use crate::engine::{CommitDone, Durability, Engine, EngineTransaction};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::limits::Limits;
use crate::lock::{LockMode, LockOptions, LockWait, Locked};
use crate::merge;
use crate::outcome::outcome_channel;
use crate::private::PrivateKeys;
use crate::promise::{Fresh, Guard, Promises};
use crate::reader::{KeyRange, Reader, Visit, VisitBatch};
use crate::snapshot::{Reading, Snapshot};
use crate::timestamp::Timestamp;
use crate::txn_options::TxnOptions;
use memory::{Account, Broker, Holder, Share};
use std::fmt;
use std::sync::Arc;

/// Memory that a commit takes, as a multiple of the writes' size: the buffer, the prepared records, and the
/// engine's copy.
const COMMIT_FACTOR: usize = 3;

/// Memory that a row lock takes: its entry in the lock table, its key, and what the owner holds of it.
const LOCK_BYTES: usize = 240;

/// So many locks are requested before their memory is counted.
const UNCOUNTED_LOCKS_MAX: usize = 1_024;

/// Releases the memory before it calls `done`.
fn freed_after(memory: Account, done: CommitDone) -> CommitDone {
    Box::new(move |outcome| {
        drop(memory);
        done(outcome);
    })
}

/// One transaction. Dropped without a commit, it is rolled back.
pub struct Transaction {
    /// The engine's part.
    pub(crate) locks: Box<dyn EngineTransaction>,
    /// Shared with [`View`]s, and copied on write only while one is alive.
    pub(crate) buffer: Arc<WriteBuffer>,
    pub(crate) snapshot: Snapshot,
    /// Whether plain reads stay at the snapshot.
    keeps_snapshot: bool,
    /// Of a snapshot that is kept, once a row has been written that has changed since.
    corrections: Option<Box<Corrections>>,
    /// An optimistic transaction's first snapshot. A deletion since the start must not be collected before
    /// the commit has checked for conflicts.
    _start: Option<Snapshot>,
    start_ts: Timestamp,
    pub(crate) options: TxnOptions,
    limits: Limits,
    /// Memory of the writes, until they are committed, and of the locks.
    memory: Account,
    /// What of it is for locks.
    lock_bytes: usize,
    /// How many have been requested since they were counted.
    uncounted_locks: usize,
    /// Set when a savepoint was used after its end: it is unknown what should be committed.
    broken: bool,
    /// Of an engine that checks promises.
    promises: Option<Box<Promises>>,
}

impl Transaction {
    /// `memory`: accounts for its writes, beyond a small amount.
    pub(crate) fn begin(
        engine: Arc<dyn Engine>,
        options: TxnOptions,
        memory: &'static Broker,
    ) -> Result<Self> {
        let snapshot =
            Snapshot::now(engine, options.interrupt.clone())?.with_private(options.private.clone());
        let engine = snapshot.engine();
        let mut limits = engine.limits();
        if let Some(max_bytes) = options.max_bytes {
            limits.transaction_bytes = limits.transaction_bytes.min(max_bytes);
        }
        let start_ts = snapshot.ts();
        let locks = engine.begin(start_ts, &options)?;
        if let Some(interrupt) = &options.interrupt {
            interrupt.set_transaction(locks.owner());
        }
        let promises = engine.checks_promises().then(Box::default);
        let start = options.optimistic.then(|| snapshot.clone());
        let snapshot = match options.locks_only {
            true => Snapshot::latest(Arc::clone(engine)),
            false => snapshot,
        };
        Ok(Self {
            locks,
            promises,
            buffer: Arc::default(),
            _start: start,
            snapshot,
            keeps_snapshot: false,
            corrections: None,
            start_ts,
            memory: Account::new(memory, Holder::Transaction, usize::MAX),
            lock_bytes: 0,
            uncounted_locks: 0,
            options,
            limits,
            broken: false,
        })
    }

    pub fn start_ts(&self) -> Timestamp {
        self.start_ts
    }

    /// The timestamp of plain reads.
    pub fn snapshot_ts(&self) -> Timestamp {
        self.snapshot.ts()
    }

    /// Moves plain reads to now. READ COMMITTED does so for each statement, and REPEATABLE READ may for the
    /// first one (MySQL takes the snapshot with the first read, not with BEGIN). Conflicts of an optimistic
    /// transaction are still checked from its start, and once it has written, it stays at the snapshot that its
    /// writes were computed from: a newer one may have other versions of those rows, whose index entries lead
    /// beside its own to the same rows.
    pub fn refresh_snapshot(&mut self) -> Result<()> {
        if self.options.optimistic && self.is_dirty() {
            return Ok(());
        }
        self.snapshot = self.newest_snapshot()?;
        self.corrections = None;
        Ok(())
    }

    /// Plain reads stay at the snapshot from now on, whatever else the transaction writes. So rows that have
    /// changed since, and that it writes, need [`Transaction::correct`].
    pub fn keep_snapshot(&mut self) {
        self.keeps_snapshot = true;
    }

    /// Whether a locked row that is about to be written for the first time may have changed since the snapshot
    /// that is kept.
    pub fn may_be_outdated(&self, row: &[u8]) -> bool {
        self.keeps_snapshot
            && !self.options.optimistic
            && self.buffer.get(row).is_none()
            && !self.is_private(row)
            && !self.locks.is_unchanged_since(row, self.snapshot.ts())
    }

    /// The two versions of each of some rows that [`Transaction::may_be_outdated`], if they differ.
    ///
    /// # Errors
    /// Those of reads.
    pub fn outdated(&self, rows: &[Vec<u8>]) -> Result<Vec<Option<Outdated>>> {
        let newest = self
            .locks
            .newest_locked(rows, self.options.interrupt.as_deref())?;
        let seen = self.snapshot.batch_get(rows)?;
        let versions = seen.into_iter().zip(newest);
        let differing = |(seen, newest): (_, _)| (seen != newest).then_some(Outdated { seen, newest });
        Ok(versions.map(differing).collect())
    }

    /// Makes plain reads see the newest index entries of a row ([`Transaction::outdated`]), which is written
    /// next.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]
    pub fn correct(&mut self, row: Vec<u8>, entries: RowEntries) -> Result<()> {
        self.corrections.get_or_insert_default().add(row, entries);
        self.account(self.buffer.size_bytes())
    }

    /// Plain reads below own writes.
    fn below<T>(&self, read: impl FnOnce(&dyn Reader) -> T) -> T {
        below(
            &self.snapshot,
            self.corrections.as_deref().map(Corrections::entries),
            read,
        )
    }

    /// Own writes over the newest committed state: what DML and locking reads search before they lock.
    pub fn current(&self) -> Current<'_> {
        Current { transaction: self }
    }

    /// An owned reader of what plain reads see now: the own writes so far over the snapshot. For parallel
    /// scans, whose threads cannot borrow the transaction.
    pub fn view(&self) -> View {
        View {
            buffer: Arc::clone(&self.buffer),
            snapshot: self.snapshot.clone(),
            corrections: self.corrections.as_ref().map(|c| Arc::clone(c.entries())),
        }
    }

    /// [`Transaction::view`] over another snapshot.
    pub fn view_at(&self, snapshot: Snapshot) -> View {
        View {
            buffer: Arc::clone(&self.buffer),
            snapshot,
            corrections: None,
        }
    }

    /// A snapshot of now, for a statement that locks.
    ///
    /// # Errors
    /// Those of [`Transaction::settle`], and of the engine's timestamps.
    pub fn newest_snapshot(&self) -> Result<Snapshot> {
        self.settle()?;
        let engine = Arc::clone(self.snapshot.engine());
        let snapshot = Snapshot::now(engine, self.options.interrupt.clone())?;
        Ok(snapshot.with_private(self.options.private.clone()))
    }

    /// What a statement that locks searches first: the newest data, or an optimistic transaction's own snapshot,
    /// which is what it computes its writes from. A key that it then locks and that has changed since is
    /// [`Error::LockedHasChanged`].
    ///
    /// # Errors
    /// As [`Transaction::newest_snapshot`].
    pub fn locking_snapshot(&self) -> Result<Snapshot> {
        // A transaction that started with the statement has the newest snapshot.
        match self.options.single_statement || self.options.optimistic {
            true => Ok(self.snapshot.clone()),
            false => self.newest_snapshot(),
        }
    }

    /// [`Transaction::lock`] for a statement that has not read the keys: an optimistic transaction gets the values
    /// of its snapshot, as everywhere.
    ///
    /// # Errors
    /// [`Error::LockedHasChanged`]; those of [`Transaction::lock`] and of reads.
    pub fn lock_and_read(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>> {
        let locked = self.lock(keys, options)?;
        if self.options.optimistic {
            let seen = self.batch_get(keys)?;
            let differs = |(locked, seen): (&Locked, &Option<Vec<u8>>)| match locked {
                Locked::Value(value) => value != seen,
                Locked::Skipped => false,
            };
            if locked.iter().zip(&seen).any(differs) {
                return Err(Error::LockedHasChanged);
            }
        }
        Ok(locked)
    }

    /// The snapshot below own writes.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Locks keys, in the order given, until the end of the transaction, and returns for each the newest
    /// committed value, or the own write. Locks survive [`Transaction::rollback_to`], and an error leaves
    /// those taken before it.
    ///
    /// # Errors
    /// [`Error::LockTimeout`], [`Error::LockNotAvailable`], [`Error::Deadlock`] (roll back),
    /// [`Error::Interrupted`].
    pub fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>> {
        for key in keys {
            self.check_lock(key)?;
        }
        if self.are_private(keys) {
            return keys.iter().map(|key| Ok(Locked::Value(self.get(key)?))).collect();
        }
        let mut locked = self.locks.lock(keys, options)?;
        self.count_locks(keys.len())?;
        if !self.buffer.is_empty() {
            for (key, answer) in keys.iter().zip(&mut locked) {
                if let (Some(write), Locked::Value(value)) = (self.buffer.get(key), answer) {
                    *value = write.map(<[u8]>::to_vec);
                }
            }
        }
        Ok(locked)
    }

    /// [`Transaction::lock`] for one key. A key that would be skipped, or that the request does not wait for,
    /// is an error: [`Error::LockNotAvailable`].
    pub fn lock_one(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Arc<[u8]>>> {
        self.check_lock(key)?;
        if self.is_private(key) {
            return Ok(self.get(key)?.map(Arc::from));
        }
        let value = self.locks.lock_one(key, options)?;
        self.count_locks(1)?;
        Ok(match self.buffer.get(key) {
            Some(write) => write.map(Arc::from),
            None => value,
        })
    }

    /// [`Transaction::lock`] without the values; false for a key that was skipped.
    pub fn lock_only(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<bool>> {
        for key in keys {
            self.check_lock(key)?;
        }
        match self.are_private(keys) {
            true => Ok(vec![true; keys.len()]),
            false => {
                let locked = self.locks.lock_only(keys, options)?;
                self.count_locks(keys.len())?;
                Ok(locked)
            }
        }
    }

    /// Counts the memory of the locks, from time to time.
    #[inline]
    fn count_locks(&mut self, requested: usize) -> Result<()> {
        self.uncounted_locks += requested;
        match self.uncounted_locks < UNCOUNTED_LOCKS_MAX {
            true => Ok(()),
            false => self.count_locks_now(),
        }
    }

    #[cold]
    fn count_locks_now(&mut self) -> Result<()> {
        self.lock_bytes = self.locks.lock_count().saturating_mul(LOCK_BYTES);
        self.account(self.buffer.size_bytes())?;
        self.uncounted_locks = 0;
        Ok(())
    }

    /// `bytes`: of the writes.
    fn account(&mut self, bytes: usize) -> Result<()> {
        let bytes = bytes
            .saturating_mul(COMMIT_FACTOR)
            .saturating_add(self.lock_bytes)
            .saturating_add(self.corrections.as_ref().map_or(0, |c| c.size_bytes()));
        self.memory.resize(bytes, None).map_err(|_| Error::OutOfMemory)
    }

    /// Whether a key is the session's own. It needs no lock.
    #[inline]
    fn is_private(&self, key: &[u8]) -> bool {
        self.options
            .private
            .as_ref()
            .is_some_and(|private| private.contains(key))
    }

    /// Whether keys are the session's own: those of one call are rows or entries of one table.
    fn are_private(&self, keys: &[Vec<u8>]) -> bool {
        keys.first().is_some_and(|key| self.is_private(key))
    }

    /// Gives it the session's own keys, of which it had none.
    pub fn attach_private(&mut self, private: &Arc<PrivateKeys>) {
        self.options.private = Some(Arc::clone(private));
        self.snapshot = self.snapshot.clone().with_private(self.options.private.clone());
    }

    /// Forgets its writes to a range of the session's own keys permanently: no savepoint brings them back.
    pub fn forget_private(&mut self, range: &KeyRange) {
        Arc::make_mut(&mut self.buffer).take_range(range);
    }

    /// Whether its commit writes keys of the session's own.
    pub fn has_private_writes(&self) -> bool {
        let private = self.options.private.as_ref();
        private.is_some_and(|private| self.buffer.range(private.range()).next().is_some())
    }

    /// Whether its commit writes keys that are not the session's own.
    pub fn has_stored_writes(&self) -> bool {
        let private = self.options.private.as_ref();
        let own = private.map_or(0, |private| self.buffer.range(private.range()).count());
        self.buffer.len() > own
    }

    fn check_lock(&self, key: &[u8]) -> Result<()> {
        if let Some(promises) = &self.promises {
            promises.check_lock(key)?;
        }
        self.limits.check_key(key)
    }

    /// Evidence that this transaction holds the exclusive lock of a key, so that it may write what the key
    /// guards.
    ///
    /// # Errors
    /// It does not hold it.
    pub fn guard(&mut self, key: &[u8]) -> Result<Guard> {
        if !self.locks.holds(key) && !self.is_private(key) {
            return Err(Error::Internal("a guard is not locked".into()));
        }
        Ok(self.guard_at(key))
    }

    fn guard_at(&mut self, key: &[u8]) -> Guard {
        let is_private = self.is_private(key);
        let promises = self.promises.as_deref_mut().filter(|_| !is_private);
        Guard {
            start_ts: self.start_ts,
            index: promises.map_or(0, |promises| promises.add_guard(key)),
        }
    }

    /// Whether [`Transaction::expect_absent`] may return true.
    pub fn defers_duplicate_checks(&self) -> bool {
        self.options.defer_duplicate_checks && !self.options.optimistic
    }

    /// Offers to let the commit check that these keys, which are about to be written for the first time, do
    /// not exist. True: the engine does so, and they need not be locked before, which saves a cluster a round
    /// trip.
    pub fn expect_absent(&mut self, keys: &[Vec<u8>]) -> bool {
        self.defers_duplicate_checks()
            && !self.are_private(keys)
            && keys.iter().all(|key| self.buffer.get(key).is_none())
            && self.locks.expect_absent(keys)
    }

    /// Whether writes take no locks, and the commit checks for conflicts. [`Transaction::lock`] locks all the
    /// same, and returns the newest values, which are not what the transaction's reads see
    /// ([`Transaction::lock_and_read`]).
    pub fn is_optimistic(&self) -> bool {
        self.options.optimistic
    }

    /// Says that this transaction frees disk space (DROP, TRUNCATE): its commit may use the space that an
    /// engine keeps free, and that it refuses to all others with [`Error::DiskFull`]. Not for large writes.
    pub fn use_reserve(&mut self) {
        self.locks.use_reserve();
    }

    /// The value that a lock returned may be the write of a pending commit. Waits until that has ended. Every
    /// read beyond locked keys does so by itself, and so does the commit. For callers that report the value
    /// to a client before.
    ///
    /// # Errors
    /// [`Error::Deadlock`] (roll back), [`Error::Interrupted`].
    pub fn settle(&self) -> Result<()> {
        self.locks.settle(self.options.interrupt.as_deref())
    }

    /// Whether the cluster has reported that its locks are gone: this process or the network has stalled for longer
    /// than they last. Others may have taken them since.
    pub fn has_lost_locks(&self) -> bool {
        self.locks.has_lost_locks()
    }

    /// How many keys this transaction has locked.
    pub fn lock_count(&self) -> usize {
        self.locks.lock_count()
    }

    /// How often another transaction, or a version that it has committed since, was in the way of a lock so
    /// far.
    pub fn lock_waits(&self) -> u64 {
        self.locks.lock_waits()
    }

    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.write(key, Write::put(value))
    }

    pub fn delete(&mut self, key: Vec<u8>) -> Result<()> {
        self.write(key, Write::delete())
    }

    /// [`Transaction::put`] of a key that guards others. The guarded keys may be written then.
    pub fn put_guard(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<Guard> {
        let guard = self.guard_at(&key);
        self.write(key, Write::put(value))?;
        Ok(guard)
    }

    /// [`Transaction::delete`] of a key that guards others.
    pub fn delete_guard(&mut self, key: Vec<u8>) -> Result<Guard> {
        let guard = self.guard_at(&key);
        self.write(key, Write::delete())?;
        Ok(guard)
    }

    /// [`Transaction::put`] of a key that another key guards: an index entry, which only a transaction that
    /// changes its row writes. The commit need not lock it, which saves a cluster a round trip, and does not
    /// check it for conflicts. What the caller promises: [`crate::promise`].
    pub fn put_guarded(&mut self, guard: Guard, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.write_guarded(guard, key, Write::put(value))
    }

    /// [`Transaction::put_guarded`] of a key that has no value in any committed transaction: an index entry
    /// of a new row. The commit does not look up what it replaces.
    pub fn put_fresh(&mut self, guard: Guard, _: Fresh, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.write_guarded(guard, key, Write::put(value).fresh())
    }

    /// [`Transaction::delete`], as [`Transaction::put_guarded`].
    pub fn delete_guarded(&mut self, guard: Guard, key: Vec<u8>) -> Result<()> {
        self.write_guarded(guard, key, Write::delete())
    }

    fn write_guarded(&mut self, guard: Guard, key: Vec<u8>, write: Write) -> Result<()> {
        if guard.start_ts != self.start_ts {
            return Err(Error::Internal("a guard is another transaction's".into()));
        }
        let is_private = self.is_private(&key);
        if let Some(promises) = self.promises.as_deref_mut().filter(|_| !is_private) {
            promises.add_guarded(&key, guard);
        }
        self.write(key, write.guarded())
    }

    fn write(&mut self, key: Vec<u8>, write: Write) -> Result<()> {
        if let Some(value) = &write.value {
            self.limits.check_value(value)?;
        }
        let is_private = self.is_private(&key);
        if (self.options.read_only || self.options.locks_only) && !is_private {
            return Err(Error::ReadOnly);
        }
        self.limits.check_key(&key)?;
        let value_bytes = write.value.as_ref().map_or(0, Vec::len);
        let bytes = self.buffer.size_bytes() + key.len() + value_bytes;
        self.limits.check_transaction(bytes)?;
        if let Some(private) = self.options.private.as_ref().filter(|_| is_private) {
            private.check_room(bytes)?;
        }
        self.account(bytes)?;
        Arc::make_mut(&mut self.buffer).write(key, write);
        Ok(())
    }

    /// A state to return to, for a statement or for SAVEPOINT. Savepoints nest.
    pub fn savepoint(&mut self) -> Savepoint {
        Arc::make_mut(&mut self.buffer).savepoint()
    }

    /// Undoes all writes since the savepoint, which stays valid. Later savepoints end. Locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        let is_open = Arc::make_mut(&mut self.buffer).rollback_to(savepoint);
        debug_assert!(is_open, "rollback to a savepoint that has ended");
        self.broken |= !is_open;
        if let Some(corrections) = &mut self.corrections {
            corrections.undo(|row| self.buffer.get(row).is_some());
        }
    }

    /// Ends a savepoint and the later ones, and keeps the writes.
    pub fn release(&mut self, savepoint: Savepoint) {
        let is_open = Arc::make_mut(&mut self.buffer).release(savepoint);
        debug_assert!(is_open, "release of a savepoint that has ended");
        self.broken |= !is_open;
    }

    /// Forgets all writes and savepoints. The locks stay.
    pub fn discard_writes(&mut self) {
        self.buffer = Arc::default();
        self.corrections = None;
    }

    /// Whether there is anything to commit.
    pub fn is_dirty(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Whether its writes hold memory that large statements wait for. Then its own statements must not wait
    /// for memory.
    pub fn holds_shared_memory(&self) -> bool {
        self.memory.holds(Share::Large)
    }

    /// Memory the writes take.
    pub fn size_bytes(&self) -> usize {
        self.buffer.size_bytes()
    }

    /// The writes so far.
    pub fn writes(&self) -> &WriteBuffer {
        &self.buffer
    }

    /// Makes all writes visible at once, and returns the timestamp at which they are. Releases the locks in
    /// any case. A transaction that wrote nothing returns its snapshot's timestamp.
    ///
    /// # Errors
    /// [`Error::Undetermined`]: the outcome is unknown. Any other: nothing was committed;
    /// [`Error::KeyExists`] only after [`Transaction::expect_absent`].
    pub fn commit(self, durability: Durability) -> Result<Timestamp> {
        self.commit_within(durability, None)
    }

    /// [`Transaction::commit`], unless that would be after the fence.
    ///
    /// # Errors
    /// [`Error::CommitTooLate`]: nothing was committed, and will not be; and those of `commit`.
    pub fn commit_within(self, durability: Durability, fence: Option<&Fence>) -> Result<Timestamp> {
        let (sender, receiver) = outcome_channel();
        self.commit_then(durability, fence, Box::new(move |outcome| sender.send(outcome)));
        receiver.wait()
    }

    /// [`Transaction::commit_within`] without waiting: calls `done` with the outcome, before this returns or
    /// later on a thread of the engine's, on which other commits depend.
    pub fn commit_then(mut self, durability: Durability, fence: Option<&Fence>, done: CommitDone) {
        if let Err(error) = self.check_whole() {
            drop(self);
            return done(Err(error));
        }
        let done = match self.has_private_writes() {
            true => match self.private_first(done) {
                Ok(done) => done,
                Err((error, done)) => {
                    drop(self);
                    return done(Err(error));
                }
            },
            false => done,
        };
        if self.buffer.is_empty() {
            // Its answers may contain the writes of a pending commit.
            let outcome = self.settle().map(|()| self.snapshot.ts());
            self.locks.rollback();
            return done(outcome);
        }
        if let Err(error) = self.check_guards() {
            drop(self);
            return done(Err(error));
        }
        let options = self.exclusive();
        let done = match self.memory.holds_any() {
            true => freed_after(self.memory, done),
            false => done,
        };
        self.locks.commit(&self.buffer, &options, durability, fence, done);
    }

    /// How the locks of a commit are taken.
    pub(crate) fn exclusive(&self) -> LockOptions {
        LockOptions {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(self.options.commit_lock_wait),
            interrupt: self.options.interrupt.clone().unwrap_or_default(),
        }
    }

    /// # Errors
    /// It is unknown what should be committed.
    pub(crate) fn check_whole(&self) -> Result<()> {
        match self.broken {
            true => Err(Error::Internal("a savepoint was used after its end".into())),
            false => Ok(()),
        }
    }

    pub(crate) fn check_guards(&self) -> Result<()> {
        match &self.promises {
            Some(promises) => promises.check_guards(&self.buffer, |key| self.locks.holds(key)),
            None => Ok(()),
        }
    }

    /// Takes the writes of private keys out of the buffer. They are made before `done` if the rest is committed.
    fn private_first(&mut self, done: CommitDone) -> std::result::Result<CommitDone, (Error, CommitDone)> {
        let Some(private) = self.options.private.clone() else {
            return Ok(done);
        };
        let writes = Arc::make_mut(&mut self.buffer).take_range(private.range());
        if let Err(error) = private.reserve(&writes) {
            return Err((error, done));
        }
        Ok(Box::new(move |outcome| {
            if outcome.is_ok() {
                private.apply(writes);
            }
            done(outcome);
        }))
    }

    /// Discards all writes and releases all locks. Dropping the transaction does the same.
    pub fn rollback(mut self) {
        self.locks.rollback();
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("start_ts", &self.start_ts)
            .field("snapshot_ts", &self.snapshot.ts())
            .field("writes", &self.buffer.len())
            .field("locks", &self.locks.lock_count())
            .finish_non_exhaustive()
    }
}

impl Reader for Transaction {
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.below(|below| merge::get_with(&self.buffer, below, key, found))
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        self.below(|below| merge::batch_get_with(&self.buffer, below, keys, visit))
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        self.below(|below| merge::scan(&self.buffer, below, range, reverse, visit))
    }

    fn will_read(&self, keys: &[&[u8]]) {
        self.snapshot.will_read(keys);
    }

    fn coprocessor(&self, request: CoprocessorRequest) -> Result<Option<Box<dyn CoprocessorResponses>>> {
        self.below(|below| merge::coprocessor(&self.buffer, below, request))
    }
}

/// Own writes over the newest committed state; see [`Transaction::current`].
#[derive(Clone, Copy)]
pub struct Current<'a> {
    transaction: &'a Transaction,
}

impl Current<'_> {
    fn newest(&self) -> Result<Reading<'_>> {
        self.transaction.settle()?;
        Ok(self.transaction.snapshot.newest())
    }
}

impl Reader for Current<'_> {
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        merge::get_with(&self.transaction.buffer, &self.newest()?, key, found)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        merge::batch_get_with(&self.transaction.buffer, &self.newest()?, keys, visit)
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        merge::scan(&self.transaction.buffer, &self.newest()?, range, reverse, visit)
    }
}

/// Own writes at one moment over the snapshot, owned; see [`Transaction::view`].
#[derive(Debug, Clone)]
pub struct View {
    buffer: Arc<WriteBuffer>,
    snapshot: Snapshot,
    corrections: Option<Arc<WriteBuffer>>,
}

impl View {
    fn below<T>(&self, read: impl FnOnce(&dyn Reader) -> T) -> T {
        below(&self.snapshot, self.corrections.as_ref(), read)
    }
}

/// Reads a snapshot, with other index entries if there are any.
fn below<T>(
    snapshot: &Snapshot,
    corrections: Option<&Arc<WriteBuffer>>,
    read: impl FnOnce(&dyn Reader) -> T,
) -> T {
    match corrections {
        None => read(snapshot),
        Some(entries) => read(&Corrected { entries, snapshot }),
    }
}

impl Reader for View {
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.below(|below| merge::get_with(&self.buffer, below, key, found))
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        self.below(|below| merge::batch_get_with(&self.buffer, below, keys, visit))
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        self.below(|below| merge::scan(&self.buffer, below, range, reverse, visit))
    }

    fn will_read(&self, keys: &[&[u8]]) {
        self.snapshot.will_read(keys);
    }

    fn coprocessor(&self, request: CoprocessorRequest) -> Result<Option<Box<dyn CoprocessorResponses>>> {
        self.below(|below| merge::coprocessor(&self.buffer, below, request))
    }
}
