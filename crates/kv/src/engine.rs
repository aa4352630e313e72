//! What an engine has to implement, whether it is embedded or a cluster. No SQL and no user of the database sees it:
//! they see [`crate::Store`].
//!
//! Embedded engines do not implement this by hand: [`crate::EmbeddedEngine`] does it once for every
//! [`crate::Storage`], so that locks, timestamps and group commit cannot differ between them.

use crate::buffer::WriteBuffer;
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::lock::{LockOptions, LockStats, Locked};
use crate::reader::{KeyRange, Visit, VisitBatch};
use crate::region::{Region, SplitReport};
use crate::timestamp::Timestamp;
use crate::transaction::TxnOptions;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// When a commit is acknowledged: `innodb_flush_log_at_trx_commit` 1, 2 and 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// On disk before the acknowledgement.
    #[default]
    Sync,
    /// Handed to the operating system; on disk within about a second. Survives the process, not the machine.
    Os,
    /// Lazily, each second.
    Lazy,
}

/// Is told the outcome of a commit, by whichever thread finds it: what it does delays others.
pub type CommitDone = Box<dyn FnOnce(Result<Timestamp>) + Send>;

/// What one round of garbage collection did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Snapshots below it are refused from now on.
    pub safe_point: Timestamp,
    /// Versions removed in this round. `None`: the engine removes them later, while it compacts, and does not say.
    pub removed: Option<u64>,
}

/// A key of which an engine has something else in memory than it has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub key: Vec<u8>,
    /// What it has, and what it should have, for a person.
    pub what: String,
}

impl Damage {
    /// As many are reported at a time.
    pub const REPORTED_MAX: usize = 100;
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("key 0x")?;
        self.key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ": {}", self.what)
    }
}

/// The moment to read at, and who may end the reading: an engine looks at it wherever it waits for others.
#[derive(Clone, Copy)]
pub struct ReadAt<'a> {
    /// A pinned timestamp, or [`crate::LATEST`].
    pub ts: Timestamp,
    pub interrupt: Option<&'a Interrupt>,
}

/// What a scan is told besides what to visit.
#[derive(Clone, Copy)]
pub struct ScanRequest<'a> {
    pub range: &'a KeyRange,
    /// A pinned timestamp, or [`crate::LATEST`].
    pub ts: Timestamp,
    pub reverse: bool,
    /// Looked at now and then, also between pairs that are never visited.
    pub interrupt: Option<&'a Interrupt>,
}

/// One store of versioned keys.
pub trait Engine: Send + Sync {
    /// For `SHOW ENGINES` and messages: "rocksdb", "memory", "tikv".
    fn name(&self) -> &'static str;

    fn limits(&self) -> Limits;

    /// Whether other processes may use the same store at the same time.
    fn is_shared(&self) -> bool {
        false
    }

    /// A timestamp above all given before, at which everything acknowledged before the call can be seen.
    fn current_ts(&self) -> Result<Timestamp>;

    /// Keeps what a snapshot at `ts` sees from being collected until [`Engine::unpin`], and makes sure that nothing
    /// will be committed at or below `ts` any more. Fails below the safe point and in the future.
    fn pin(&self, ts: Timestamp) -> Result<()>;

    /// Ends one [`Engine::pin`] of `ts`.
    fn unpin(&self, ts: Timestamp);

    /// [`Engine::current_ts`] and [`Engine::pin`] in one.
    fn pin_now(&self, interrupt: Option<&Interrupt>) -> Result<Timestamp>;

    fn get_with(&self, key: &[u8], at: ReadAt, found: &mut dyn FnMut(&[u8])) -> Result<bool>;

    fn batch_get_with(&self, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()>;

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()>;

    /// Starts a transaction at `start_ts`, which the caller has pinned.
    fn begin(&self, start_ts: Timestamp, options: &TxnOptions) -> Result<Box<dyn EngineTransaction>>;

    /// Whether [`EngineTransaction::expect_absent`] ever says yes.
    fn checks_late(&self) -> bool {
        false
    }

    /// Whether it looks, at each commit, if what [`crate::promise`] says was kept. For tests.
    fn checks_promises(&self) -> bool {
        false
    }

    /// Splits a range into at most `parts` of about equal size, in order and without gaps.
    fn split_range(&self, range: &KeyRange, parts: usize, at: ReadAt) -> Result<Vec<KeyRange>>;

    /// Has regions begin at `keys`, and has the new ones spread over the stores; waits for that as long as `patience`
    /// says. An engine that keeps all keys in one place does nothing.
    fn split_at(
        &self,
        keys: &[Vec<u8>],
        patience: Duration,
        interrupt: Option<&Interrupt>,
    ) -> Result<SplitReport>;

    /// The regions that hold parts of a range, in order.
    fn regions(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Region>>;

    /// About how many bytes the newest versions of a range take.
    fn approximate_bytes(&self, range: &KeyRange, at: ReadAt) -> Result<u64>;

    /// Removes every version in `range` for good. The caller guarantees that nobody reads or writes it any more.
    fn destroy_range(&self, range: &KeyRange) -> Result<()>;

    fn safe_point(&self) -> Timestamp;

    /// No snapshot below it lives, in any process. One of the past may still be opened, down to the safe point.
    fn oldest_snapshot(&self) -> Timestamp {
        self.safe_point()
    }

    /// How long superseded versions are kept. Takes effect with the next round.
    fn set_gc_age(&self, age: Duration);

    /// Removes what no snapshot can see any more. Engines also do so by themselves, in the background.
    fn collect_garbage(&self) -> Result<GcReport>;

    /// Compares what the engine has of a range in memory, in place of what it has stored, with that, while others write. What differs, at
    /// most [`Damage::REPORTED_MAX`] keys, is dropped from memory. An engine without such a memory has nothing to compare.
    fn verify_cached(&self, _range: &KeyRange, _interrupt: Option<&Interrupt>) -> Result<Vec<Damage>> {
        Ok(Vec::new())
    }

    /// Puts everything in memory on disk, for a quick start next time.
    fn flush(&self) -> Result<()>;

    fn stats(&self) -> Vec<(&'static str, f64)>;

    fn lock_stats(&self) -> LockStats;
}

/// The engine's part of one transaction: its row locks, and its end. Dropped without a commit, it is rolled back.
pub trait EngineTransaction: Send + Sync {
    /// Locks keys in the order given and returns their newest committed values, in that order. On an error, locks
    /// taken so far stay until the end of the transaction, as in MySQL.
    fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>>;

    /// [`EngineTransaction::lock`] of one key, which may be what most statements do. One that is skipped is an error:
    /// [`crate::Error::LockNotAvailable`].
    fn lock_one(&mut self, key: &[u8], options: &LockOptions) -> Result<Option<Arc<[u8]>>> {
        match self.lock(&[key.to_vec()], options)?.pop() {
            Some(Locked::Value(value)) => Ok(value.map(Arc::from)),
            Some(Locked::Skipped) | None => Err(Error::LockNotAvailable),
        }
    }

    /// [`EngineTransaction::lock`] without reading the values; one flag per key, false if it was skipped.
    fn lock_only(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<bool>>;

    /// Whether the transaction holds the exclusive lock of a key.
    fn holds(&self, key: &[u8]) -> bool;

    /// Has the commit fail with [`crate::Error::KeyExists`] if one of these keys, all of which will be written, is there
    /// by then. False where that is no cheaper than to lock them now and look: nothing was noted.
    fn expect_absent(&mut self, _keys: &[Vec<u8>]) -> bool {
        false
    }

    /// Applies all writes at one timestamp, atomically. Keys not locked yet are locked first, by `options`; in
    /// optimistic mode, keys that changed since the start fail with a write conflict. Neither is needed for guarded keys
    /// ([`crate::Transaction::put_guarded`]). Behind `fence` it fails with
    /// [`crate::Error::CommitTooLate`], and nothing is applied, then or later.
    ///
    /// `done` is told the outcome once: before this returns, or later by another thread. Locks have been released then,
    /// either way.
    fn commit(
        self: Box<Self>,
        writes: &Arc<WriteBuffer>,
        options: &LockOptions,
        durability: Durability,
        fence: Option<&Fence>,
        done: CommitDone,
    );

    /// Locks may have been got from transactions whose commits were on their way, and what they hold have been told ahead.
    /// Waits until those are there for every reader. Not for the thread that commits.
    ///
    /// # Errors
    /// [`crate::Error::Deadlock`]: one of them failed, so this one has to be rolled back. [`crate::Error::Interrupted`].
    fn settle(&self, _interrupt: Option<&Interrupt>) -> Result<()> {
        Ok(())
    }

    /// Lets the commit use the space that is kept free. Nothing to do where none is.
    fn use_reserve(&mut self) {}

    /// Releases all locks.
    fn rollback(&mut self);

    /// How many keys the transaction has locked.
    fn lock_count(&self) -> usize;

    /// How often another transaction, or what it had committed since, was in the way of a lock.
    fn lock_waits(&self) -> u64;
}
