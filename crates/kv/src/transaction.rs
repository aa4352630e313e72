//! A transaction: a start timestamp, a write buffer and row locks.
//!
//! Plain reads see own writes over the snapshot; [`Transaction::current`] and [`Transaction::lock`] see own writes
//! over the newest committed state, as MySQL's DML and locking reads do. The engine sees the buffer once, at commit.

use crate::buffer::{Savepoint, Write, WriteBuffer};
use crate::engine::{CommitDone, Durability, Engine, EngineTransaction};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::lock::{LockMode, LockOptions, LockWait, Locked};
use crate::merge;
use crate::promise::{Fresh, Guard, Promises};
use crate::reader::{KeyRange, Reader, Visit, VisitBatch};
use crate::snapshot::{Reading, Snapshot};
use crate::ticket::Ticket;
use crate::timestamp::Timestamp;
use memory::{Account, Broker, Holder, Share};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a transaction behaves.
#[derive(Debug, Clone)]
pub struct TxnOptions {
    /// Locks nothing until commit, and fails there with [`Error::WriteConflict`] if a written key has changed.
    pub optimistic: bool,
    /// Every write fails with [`Error::ReadOnly`].
    pub read_only: bool,
    /// The whole transaction is one statement of its client, so nobody can tell a commit at its end from one just after
    /// its beginning. Spares an engine that asks others for timestamps one of them.
    pub single_statement: bool,
    /// [`Transaction::expect_absent`] may say yes: the caller can run its work again without, should the commit fail with
    /// [`Error::KeyExists`].
    pub check_late: bool,
    /// On a store that others use: how long its locks are in their way should this process die; while it lives, it renews
    /// them. Short is for work of a moment on what others wait for. `None`: as the engine is configured.
    pub lock_ttl: Option<Duration>,
    /// How long `commit` waits for each key that was written without being locked before.
    pub commit_lock_wait: Duration,
    /// Ends lock waits of `commit`, and reads, once raised.
    pub interrupt: Option<Arc<Interrupt>>,
    /// A lower limit than the engine's for this transaction's writes, in bytes.
    pub max_bytes: Option<usize>,
}

impl Default for TxnOptions {
    fn default() -> Self {
        Self {
            optimistic: false,
            read_only: false,
            single_statement: false,
            check_late: false,
            lock_ttl: None,
            commit_lock_wait: Duration::from_secs(50),
            interrupt: None,
            max_bytes: None,
        }
    }
}

/// What a transaction's writes take while it commits, as a multiple of their size: the buffer, what is prepared of it, and
/// the engine's own.
const COMMIT_FACTOR: usize = 3;

/// Gives back the memory once the commit is done.
fn freed_after(memory: Account, done: CommitDone) -> CommitDone {
    Box::new(move |outcome| {
        drop(memory);
        done(outcome);
    })
}

/// One transaction. Dropped without a commit, it is rolled back.
pub struct Transaction {
    /// The engine's part; gone after the commit.
    locks: Box<dyn EngineTransaction>,
    /// Shared with [`View`]s; copied on write only while one lives.
    buffer: Arc<WriteBuffer>,
    snapshot: Snapshot,
    /// An optimistic transaction's first snapshot: a deletion since the start must not be collected before the commit
    /// has looked for conflicts.
    _start: Option<Snapshot>,
    start_ts: Timestamp,
    options: TxnOptions,
    limits: Limits,
    /// Of what the writes take, until they are committed.
    memory: Account,
    /// Set when a savepoint was used after its end: nobody knows what should be committed.
    broken: bool,
    /// Of an engine that checks them.
    promises: Option<Box<Promises>>,
}

impl Transaction {
    /// `memory`: what its writes take is drawn from there, where it is more than a little.
    pub(crate) fn begin(
        engine: Arc<dyn Engine>,
        options: TxnOptions,
        memory: &'static Broker,
    ) -> Result<Self> {
        let snapshot = Snapshot::now(engine, options.interrupt.clone())?;
        let engine = snapshot.engine();
        let mut limits = engine.limits();
        if let Some(max_bytes) = options.max_bytes {
            limits.transaction_bytes = limits.transaction_bytes.min(max_bytes);
        }
        let start_ts = snapshot.ts();
        Ok(Self {
            locks: engine.begin(start_ts, &options)?,
            promises: engine.checks_promises().then(Box::default),
            buffer: Arc::default(),
            _start: options.optimistic.then(|| snapshot.clone()),
            snapshot,
            start_ts,
            memory: Account::new(memory, Holder::Transaction, usize::MAX),
            options,
            limits,
            broken: false,
        })
    }

    pub fn start_ts(&self) -> Timestamp {
        self.start_ts
    }

    /// The moment plain reads see.
    pub fn snapshot_ts(&self) -> Timestamp {
        self.snapshot.ts()
    }

    /// Moves plain reads to this moment: READ COMMITTED does so for each statement, and REPEATABLE READ may for the
    /// first one (MySQL takes the snapshot with the first read, not with BEGIN). Conflicts of an optimistic
    /// transaction are still judged from its start.
    pub fn refresh_snapshot(&mut self) -> Result<()> {
        self.settle()?;
        let engine = Arc::clone(self.snapshot.engine());
        self.snapshot = Snapshot::now(engine, self.options.interrupt.clone())?;
        Ok(())
    }

    /// Own writes over the newest committed state: what DML and locking reads search through before they lock.
    pub fn current(&self) -> Current<'_> {
        Current { transaction: self }
    }

    /// An owned reader of what plain reads see now: own writes so far over the snapshot. For parallel scans, whose
    /// threads cannot borrow the transaction.
    pub fn view(&self) -> View {
        View {
            buffer: Arc::clone(&self.buffer),
            snapshot: self.snapshot.clone(),
        }
    }

    /// [`Transaction::view`], over another moment.
    pub fn view_at(&self, snapshot: Snapshot) -> View {
        View {
            buffer: Arc::clone(&self.buffer),
            snapshot,
        }
    }

    /// What is newest now: what a statement that locks reads.
    ///
    /// # Errors
    /// Those of [`Transaction::settle`], and of the engine's timestamps.
    pub fn newest_snapshot(&self) -> Result<Snapshot> {
        self.settle()?;
        Snapshot::now(Arc::clone(self.snapshot.engine()), self.options.interrupt.clone())
    }

    /// [`Transaction::newest_snapshot`] for a statement that begins; the transaction's own where it began with the statement.
    pub fn statement_snapshot(&self) -> Result<Snapshot> {
        match self.options.single_statement {
            true => Ok(self.snapshot.clone()),
            false => self.newest_snapshot(),
        }
    }

    /// The snapshot below own writes.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Locks keys, in the order given, until the end of the transaction, and returns for each the newest committed
    /// value, or the own write. Locks survive [`Transaction::rollback_to`], and an error leaves those taken before it.
    ///
    /// # Errors
    /// [`Error::LockTimeout`], [`Error::LockNotAvailable`], [`Error::Deadlock`] (roll back), [`Error::Interrupted`].
    pub fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>> {
        for key in keys {
            self.check_lock(key)?;
        }
        let mut locked = self.locks.lock(keys, options)?;
        if !self.buffer.is_empty() {
            for (key, answer) in keys.iter().zip(&mut locked) {
                if let (Some(write), Locked::Value(value)) = (self.buffer.get(key), answer) {
                    *value = write.map(<[u8]>::to_vec);
                }
            }
        }
        Ok(locked)
    }

    /// [`Transaction::lock`] for one key. One that is to be skipped, or that is not to be waited for, is an error:
    /// [`Error::LockNotAvailable`].
    pub fn lock_one(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Arc<[u8]>>> {
        self.check_lock(key)?;
        let value = self.locks.lock_one(key, options)?;
        Ok(match self.buffer.get(key) {
            Some(write) => write.map(Arc::from),
            None => value,
        })
    }

    /// [`Transaction::lock`] for who does not need the values; false for a key that was skipped.
    pub fn lock_only(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<bool>> {
        for key in keys {
            self.check_lock(key)?;
        }
        self.locks.lock_only(keys, options)
    }

    fn check_lock(&self, key: &[u8]) -> Result<()> {
        if let Some(promises) = &self.promises {
            promises.check_lock(key)?;
        }
        self.limits.check_key(key)
    }

    /// That this transaction holds the exclusive lock of a key, so that it may write what the key guards.
    ///
    /// # Errors
    /// It does not hold it.
    pub fn guard(&mut self, key: &[u8]) -> Result<Guard> {
        if !self.locks.holds(key) {
            return Err(Error::Internal("a guard is not locked".into()));
        }
        Ok(self.guard_at(key))
    }

    fn guard_at(&mut self, key: &[u8]) -> Guard {
        let promises = self.promises.as_deref_mut();
        Guard {
            start_ts: self.start_ts,
            place: promises.map_or(0, |promises| promises.add_guard(key)),
        }
    }

    /// Whether [`Transaction::expect_absent`] is worth calling.
    pub fn checks_late(&self) -> bool {
        self.options.check_late && !self.options.optimistic
    }

    /// Offers to leave it to the commit to see that these keys, which are about to be written for the first time, are not
    /// there: where the engine takes that, they need not be locked before, which spares a cluster a round trip.
    pub fn expect_absent(&mut self, keys: &[Vec<u8>]) -> bool {
        self.checks_late()
            && keys.iter().all(|key| self.buffer.get(key).is_none())
            && self.locks.expect_absent(keys)
    }

    /// Whether writes are to go without locks, and conflicts to show at the commit. [`Transaction::lock`] locks all the same.
    pub fn is_optimistic(&self) -> bool {
        self.options.optimistic
    }

    /// Says that this transaction makes room, or lets room be made (DROP, TRUNCATE): its commit may use the space that an
    /// engine keeps free, and refuses to all others with [`Error::DiskFull`]. Not for writes of any size.
    pub fn use_reserve(&mut self) {
        self.locks.use_reserve();
    }

    /// What a lock was given with may be the write of a commit that is on its way: waits until it is there, as every read that
    /// goes beyond locked keys does by itself, and the commit. For who tells somebody of it before.
    ///
    /// # Errors
    /// [`Error::Deadlock`] (roll back), [`Error::Interrupted`].
    pub fn settle(&self) -> Result<()> {
        self.locks.settle(self.options.interrupt.as_deref())
    }

    /// How many keys this transaction has locked.
    pub fn lock_count(&self) -> usize {
        self.locks.lock_count()
    }

    /// How often others, or what they had committed since, were in the way of a lock so far.
    pub fn lock_waits(&self) -> u64 {
        self.locks.lock_waits()
    }

    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.write(key, Write::put(value))
    }

    pub fn delete(&mut self, key: Vec<u8>) -> Result<()> {
        self.write(key, Write::delete())
    }

    /// [`Transaction::put`] of a key that guards others, which may be written then.
    pub fn put_guard(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<Guard> {
        let guard = self.guard_at(&key);
        self.write(key, Write::put(value))?;
        Ok(guard)
    }

    /// [`Transaction::delete`], likewise.
    pub fn delete_guard(&mut self, key: Vec<u8>) -> Result<Guard> {
        let guard = self.guard_at(&key);
        self.write(key, Write::delete())?;
        Ok(guard)
    }

    /// [`Transaction::put`] of a key that another key guards: an index entry's, which only whoever changes its row writes.
    /// The commit need not lock it, which spares a cluster a round trip, and does not look for its conflicts. What this rests
    /// on: [`crate::promise`].
    pub fn put_guarded(&mut self, guard: Guard, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        self.write_guarded(guard, key, Write::put(value))
    }

    /// [`Transaction::put_guarded`] of a key that has no value, in no transaction that has been committed: an index entry of
    /// a new row. That it replaces nothing is not looked up.
    pub fn put_fresh(&mut self, guard: Guard, _: Fresh, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        let write = Write::put(value);
        // What this transaction has deleted before has a value below its buffer.
        let is_written = self.buffer.get(&key).is_some();
        self.write_guarded(guard, key, if is_written { write } else { write.fresh() })
    }

    /// [`Transaction::delete`], as [`Transaction::put_guarded`].
    pub fn delete_guarded(&mut self, guard: Guard, key: Vec<u8>) -> Result<()> {
        self.write_guarded(guard, key, Write::delete())
    }

    fn write_guarded(&mut self, guard: Guard, key: Vec<u8>, write: Write) -> Result<()> {
        if guard.start_ts != self.start_ts {
            return Err(Error::Internal("a guard is another transaction's".into()));
        }
        if let Some(promises) = self.promises.as_deref_mut() {
            promises.add_guarded(&key, guard);
        }
        self.write(key, write.guarded())
    }

    fn write(&mut self, key: Vec<u8>, write: Write) -> Result<()> {
        if let Some(value) = &write.value {
            self.limits.check_value(value)?;
        }
        if self.options.read_only {
            return Err(Error::ReadOnly);
        }
        self.limits.check_key(&key)?;
        let buffer = Arc::make_mut(&mut self.buffer);
        let value_bytes = write.value.as_ref().map_or(0, Vec::len);
        let bytes = buffer.size_bytes() + key.len() + value_bytes;
        self.limits.check_transaction(bytes)?;
        self.memory
            .resize(bytes.saturating_mul(COMMIT_FACTOR), None)
            .map_err(|_| Error::OutOfMemory)?;
        buffer.write(key, write);
        Ok(())
    }

    /// A place to return to, for a statement or for SAVEPOINT. Savepoints nest.
    pub fn savepoint(&mut self) -> Savepoint {
        Arc::make_mut(&mut self.buffer).savepoint()
    }

    /// Undoes all writes since the savepoint, which stays good; those set after it end. Locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        let known = Arc::make_mut(&mut self.buffer).rollback_to(savepoint);
        debug_assert!(known, "rollback to a savepoint that has ended");
        self.broken |= !known;
    }

    /// Ends a savepoint and those set after it, and keeps the writes.
    pub fn release(&mut self, savepoint: Savepoint) {
        let known = Arc::make_mut(&mut self.buffer).release(savepoint);
        debug_assert!(known, "release of a savepoint that has ended");
        self.broken |= !known;
    }

    /// Whether there is anything to commit.
    pub fn is_dirty(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Whether its writes take memory that large statements could have: then its own statements must not wait for that.
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

    /// Makes all writes visible at once, and returns the timestamp at which they are. Locks are released in any case.
    /// A transaction that wrote nothing answers with its snapshot's timestamp.
    ///
    /// # Errors
    /// [`Error::Undetermined`]: the outcome is unknown. Any other: nothing was committed; [`Error::KeyExists`] only after
    /// [`Transaction::expect_absent`].
    pub fn commit(self, durability: Durability) -> Result<Timestamp> {
        self.commit_within(durability, None)
    }

    /// [`Transaction::commit`], if that is not after the fence's moment.
    ///
    /// # Errors
    /// [`Error::CommitTooLate`]: nothing was committed, and will not be; and those of `commit`.
    pub fn commit_within(self, durability: Durability, fence: Option<&Fence>) -> Result<Timestamp> {
        let (ticket, promise) = Ticket::new();
        self.commit_then(durability, fence, Box::new(move |outcome| promise.keep(outcome)));
        ticket.wait()
    }

    /// [`Transaction::commit_within`] for who has other things to do than to wait: `done` is told the outcome, before this
    /// returns or later by a thread of the engine's, which has others' commits to see to.
    pub fn commit_then(mut self, durability: Durability, fence: Option<&Fence>, done: CommitDone) {
        if self.broken {
            drop(self);
            return done(Err(Error::Internal("a savepoint was used after its end".into())));
        }
        if self.buffer.is_empty() {
            // What it has answered may rest on a commit that it follows.
            let outcome = self.settle().map(|()| self.snapshot.ts());
            self.locks.rollback();
            return done(outcome);
        }
        if let Some(promises) = &self.promises {
            let checked = promises.check_guards(&self.buffer, |key| self.locks.holds(key));
            if let Err(error) = checked {
                drop(self);
                return done(Err(error));
            }
        }
        let options = LockOptions {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(self.options.commit_lock_wait),
            interrupt: self.options.interrupt.clone().unwrap_or_default(),
        };
        let done = match self.memory.holds_any() {
            true => freed_after(self.memory, done),
            false => done,
        };
        self.locks.commit(&self.buffer, &options, durability, fence, done);
    }

    /// Forgets all writes and releases all locks. Dropping the transaction does the same.
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
        merge::get_with(&self.buffer, &self.snapshot, key, found)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        merge::batch_get_with(&self.buffer, &self.snapshot, keys, visit)
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        merge::scan(&self.buffer, &self.snapshot, range, reverse, visit)
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
}

impl Reader for View {
    fn get_with(&self, key: &[u8], found: &mut dyn FnMut(&[u8])) -> Result<bool> {
        merge::get_with(&self.buffer, &self.snapshot, key, found)
    }

    fn batch_get_with(&self, keys: &[Vec<u8>], visit: &mut VisitBatch) -> Result<()> {
        merge::batch_get_with(&self.buffer, &self.snapshot, keys, visit)
    }

    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()> {
        merge::scan(&self.buffer, &self.snapshot, range, reverse, visit)
    }
}
