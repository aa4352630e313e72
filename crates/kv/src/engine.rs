//! What an engine implements, embedded or over a cluster. Only [`crate::Store`] and its transactions call it.
//!
//! Embedded engines do not implement it themselves: [`crate::EmbeddedEngine`] does so once for every
//! [`crate::Storage`], so that locks, timestamps and group commit are the same for all of them.

use crate::buffer::WriteBuffer;
use crate::coprocessor::{CoprocessorRequest, CoprocessorResponses};
use crate::detached_branch::{Detached, DetachedEnd};
use crate::error::{Error, Result};
use crate::fence::Fence;
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::lock::{DeadlockReport, HeldLock, LockOptions, LockStats, Locked, LockedKey, Owner};
use crate::reader::{KeyRange, Visit, VisitBatch};
use crate::region::{Region, SplitReport};
use crate::sorted_pairs::{SortedFile, SortedPairs};
use crate::sync::Mutex;
use crate::timestamp::Timestamp;
use crate::txn_options::TxnOptions;
use crate::watch::Watch;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// When a commit is acknowledged: `innodb_flush_log_at_trx_commit` 1, 2 and 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// On disk before the acknowledgement.
    #[default]
    Sync,
    /// Given to the operating system, and on disk within about a second. Survives the end of the process, not
    /// of the machine.
    Os,
    /// Written and synced each second.
    Lazy,
}

/// Called with the outcome of a commit, by the thread that learns it. While it runs, other commits wait.
pub type CommitDone = Box<dyn FnOnce(Result<Timestamp>) + Send>;

/// What one round of garbage collection did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Snapshots below it are refused from now on.
    pub safe_point: Timestamp,
    /// Versions removed in this round. `None`: the engine removes them later, while it compacts, and does not
    /// count them.
    pub removed: Option<u64>,
}

/// A key for which an engine's memory and its stored data differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub key: Vec<u8>,
    /// Both versions, for a message.
    pub what: String,
}

impl Damage {
    /// The most that are reported at a time.
    pub const REPORTED_MAX: usize = 100;
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("key 0x")?;
        self.key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ": {}", self.what)
    }
}

/// Called with a key, and when its newest version was committed and its value, `None` if it has been deleted.
/// Snapshots may not see that version yet.
pub type VisitNewer<'a> = dyn FnMut(&[u8], Timestamp, Option<&[u8]>) -> Result<()> + 'a;

/// The timestamp to read at, and the interrupt to check wherever the engine waits for other threads or nodes.
#[derive(Clone, Copy)]
pub struct ReadAt<'a> {
    /// A pinned timestamp, or [`crate::LATEST`].
    pub ts: Timestamp,
    pub interrupt: Option<&'a Interrupt>,
}

/// A scan's parameters.
#[derive(Clone, Copy)]
pub struct ScanRequest<'a> {
    pub range: &'a KeyRange,
    /// A pinned timestamp, or [`crate::LATEST`].
    pub ts: Timestamp,
    pub reverse: bool,
    /// Checked at intervals, also between pairs that are not visited.
    pub interrupt: Option<&'a Interrupt>,
    /// Whether caches take what is read, even if they have to drop other things for it.
    pub fills_caches: bool,
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

    /// A timestamp above all earlier ones, at which everything acknowledged before the call can be seen.
    fn current_ts(&self) -> Result<Timestamp>;

    /// Keeps what a snapshot at `ts` sees until [`Engine::unpin`], and makes sure that nothing will be
    /// committed at or below `ts` any more. Fails below the safe point and in the future.
    fn pin(&self, ts: Timestamp) -> Result<()>;

    /// Ends one [`Engine::pin`] of `ts`.
    fn unpin(&self, ts: Timestamp);

    /// [`Engine::current_ts`] and [`Engine::pin`] in one.
    fn pin_now(&self, interrupt: Option<&Interrupt>) -> Result<Timestamp>;

    fn get_with(&self, key: &[u8], at: ReadAt, found: &mut dyn FnMut(&[u8])) -> Result<bool>;

    fn batch_get_with(&self, keys: &[Vec<u8>], at: ReadAt, visit: &mut VisitBatch) -> Result<()>;

    fn scan(&self, request: ScanRequest, visit: &mut Visit) -> Result<()>;

    /// Whether [`Engine::coprocessor`] may run programs.
    fn has_coprocessor(&self) -> bool {
        false
    }

    /// Runs a program over what a snapshot at `ts`, which is pinned until the last response, sees. `None`: this
    /// engine evaluates nothing.
    fn coprocessor(
        &self,
        _request: CoprocessorRequest,
        _ts: Timestamp,
        _interrupt: Option<Arc<Interrupt>>,
    ) -> Result<Option<Box<dyn CoprocessorResponses>>> {
        Ok(None)
    }

    /// See [`crate::Reader::will_read`].
    fn will_read(&self, _keys: &[&[u8]], _at: ReadAt) {}

    /// Starts a transaction at `start_ts`, which the caller has pinned. The engine keeps it pinned where the
    /// transaction needs that, so not for [`TxnOptions::locks_only`].
    fn begin(&self, start_ts: Timestamp, options: &TxnOptions) -> Result<Box<dyn EngineTransaction>>;

    /// See [`crate::Store::end_detached`]. Only a shared engine has detached transactions.
    fn end_detached(&self, _: &Detached, _commit: bool) -> Result<DetachedEnd> {
        Err(Error::NotPrepared)
    }

    /// See [`crate::Store::detached_end`].
    fn detached_end(&self, _: &Detached) -> Result<Option<DetachedEnd>> {
        Err(Error::NotPrepared)
    }

    /// See [`crate::Store::finish_detached`].
    fn finish_detached(&self, _: &Detached, _: DetachedEnd) -> Result<()> {
        Err(Error::NotPrepared)
    }

    /// Whether [`EngineTransaction::expect_absent`] may return true.
    fn defers_duplicate_checks(&self) -> bool {
        false
    }

    /// Whether each commit checks the promises of [`crate::promise`]. For tests.
    fn checks_promises(&self) -> bool {
        false
    }

    /// Splits a range into at most `parts` of about equal size, in order and without gaps.
    fn split_range(&self, range: &KeyRange, parts: usize, at: ReadAt) -> Result<Vec<KeyRange>>;

    /// Splits regions so that new ones start at `keys`, and spreads those over the stores. Waits for that up
    /// to `patience`. An engine that keeps all keys in one place does nothing.
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

    /// Removes every version in `range` for good. The caller guarantees that no transaction reads or writes
    /// it any more.
    fn destroy_range(&self, range: &KeyRange) -> Result<()>;

    /// Whether a bulk load ([`crate::load`]) goes to files that become part of the store at one moment.
    fn loads_by_file(&self) -> bool {
        false
    }

    /// Refuses so many bytes of files beside the store if the disk would be too full afterwards.
    fn check_space(&self, _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// An empty file without a name on the store's disk, for what does not fit into memory.
    fn scratch_file(&self) -> Result<std::fs::File> {
        Err(Error::Internal("this engine has no files".into()))
    }

    /// Visits the keys of a range whose newest versions were committed after `since`, which is pinned: with their
    /// values, or `None` for those that have been deleted. `interrupt` ends it. An engine that
    /// [`Engine::loads_by_file`] can.
    fn scan_newer(
        &self,
        _range: &KeyRange,
        _since: Timestamp,
        _interrupt: Option<&Interrupt>,
        _visit: &mut VisitNewer,
    ) -> Result<()> {
        Err(Error::Internal("this engine does not find newer versions".into()))
    }

    /// Visits the newest version of each key that has one. An engine that [`Engine::loads_by_file`] can.
    fn visit_newest(&self, _keys: &[Vec<u8>], _visit: &mut VisitNewer) -> Result<()> {
        Err(Error::Internal(
            "this engine does not find newest versions".into(),
        ))
    }

    /// Notes which keys of a range change from now on. An engine that [`Engine::loads_by_file`] can.
    fn watch(&self, _range: &KeyRange) -> Result<Watch> {
        Err(Error::Internal("this engine does not note changes".into()))
    }

    /// Whether nothing is stored in a range, not even deletions. Only an engine that [`Engine::loads_by_file`] says so.
    fn is_blank(&self, _range: &KeyRange) -> Result<bool> {
        Ok(false)
    }

    /// Writes pairs, committed at `ts`, to a file that [`Engine::ingest`] can take.
    fn write_sorted_file(&self, _pairs: &SortedPairs, _ts: Timestamp) -> Result<SortedFile> {
        Err(Error::Internal("this engine has no sorted files".into()))
    }

    /// Makes files that do not overlap part of the store, all at one moment and on disk. Their pairs replace
    /// what `range` has under their keys. The caller guarantees that nothing reads or writes `range` meanwhile.
    /// After [`Error::Undetermined`] they are there or not, and the next start tells; any other error is definite.
    /// `interrupt` ends the wait for a collection.
    fn ingest(
        &self,
        _range: &KeyRange,
        _files: Vec<SortedFile>,
        _interrupt: Option<&Interrupt>,
    ) -> Result<()> {
        Err(Error::Internal("this engine has no sorted files".into()))
    }

    fn safe_point(&self) -> Timestamp;

    /// No snapshot below it is alive, in any process. A new one may still be opened below it, down to the
    /// safe point.
    fn oldest_snapshot(&self) -> Timestamp {
        self.safe_point()
    }

    /// How long superseded versions are kept. Takes effect with the next round.
    fn set_gc_age(&self, age: Duration);

    /// Removes what no snapshot can see any more. Engines also do so in the background.
    fn collect_garbage(&self) -> Result<GcReport>;

    /// Compares an engine's cache of a range with what is stored, while other transactions write. What
    /// differs, at most [`Damage::REPORTED_MAX`] keys, is dropped from the cache. An engine without a cache
    /// has nothing to compare.
    fn verify_cached(&self, _range: &KeyRange, _interrupt: Option<&Interrupt>) -> Result<Vec<Damage>> {
        Ok(Vec::new())
    }

    /// Writes everything in memory to disk, so that the next start is fast.
    fn flush(&self) -> Result<()>;

    fn stats(&self) -> Vec<(&'static str, f64)>;

    fn lock_stats(&self) -> LockStats;

    /// The keys that transactions of this process have locked, at most `most`; those that are waited for are
    /// among them.
    fn locked_keys(&self, most: usize) -> Vec<LockedKey>;

    /// The last deadlock that was resolved in this process.
    fn last_deadlock(&self) -> Option<DeadlockReport>;
}

/// Where a transaction lies whose commit has failed, if it is to keep its locks.
#[derive(Clone, Default)]
pub struct KeptTransaction(Arc<Mutex<Option<Box<dyn EngineTransaction>>>>);

impl KeptTransaction {
    pub fn put(&self, transaction: Box<dyn EngineTransaction>) {
        *self.0.lock() = Some(transaction);
    }

    pub fn take(&self) -> Option<Box<dyn EngineTransaction>> {
        self.0.lock().take()
    }
}

/// The engine's part of a transaction: its row locks, and its end. Dropped without a commit, it is rolled
/// back.
pub trait EngineTransaction: Send + Sync {
    /// Locks keys in the order given and returns their newest committed values, in that order. On an error,
    /// locks taken so far stay until the end of the transaction, as in MySQL.
    fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>>;

    /// [`EngineTransaction::lock`] of one key, the most common case. A key that would be skipped is an error:
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

    /// Whether a locked key certainly has no version newer than `ts`. False also if only a read can tell.
    fn is_unchanged_since(&self, _key: &[u8], _ts: Timestamp) -> bool {
        false
    }

    /// The newest values of keys that it has locked exclusively: what their locks have returned, which may be
    /// what a pending commit writes, or else what is stored. Waits for no commit.
    fn newest_locked(&self, keys: &[Vec<u8>], interrupt: Option<&Interrupt>) -> Result<Vec<Option<Vec<u8>>>>;

    /// Whether its locks are known to be gone, which an engine over a cluster may learn at any time.
    fn has_lost_locks(&self) -> bool {
        false
    }

    /// What its locks are listed under ([`Engine::locked_keys`]).
    fn owner(&self) -> Owner;

    /// All locks that the transaction holds. `None`: the engine cannot take them again after a restart.
    fn held(&self) -> Option<Vec<HeldLock>> {
        None
    }

    /// The keys of all locks that the transaction holds. `None`: the engine does not detach transactions.
    fn held_keys(&self) -> Option<Vec<Vec<u8>>> {
        None
    }

    /// Prewrites all keys of `detached`, which are locked exclusively, with locks that never expire
    /// ([`crate::detached`]). Only engines with [`EngineTransaction::held_keys`] are asked.
    fn detach(self: Box<Self>, _: &WriteBuffer, _: &Detached, _: &LockOptions) -> Result<()> {
        Err(Error::NotPrepared)
    }

    /// Makes the commit fail with [`crate::Error::KeyExists`] if one of these keys, all of which will be
    /// written, exists by then. False: it is no cheaper than locking and reading them now, and the commit
    /// will not check.
    fn expect_absent(&mut self, _keys: &[Vec<u8>]) -> bool {
        false
    }

    /// Applies all writes at one timestamp, atomically. Locks keys that are not locked yet first, by
    /// `options`. In optimistic mode, keys that have changed since the start fail with a write conflict.
    /// Guarded keys ([`crate::Transaction::put_guarded`]) need neither. After `fence` it fails with
    /// [`crate::Error::CommitTooLate`], and nothing is applied, then or later.
    ///
    /// Calls `done` with the outcome once: before this returns, or later on another thread. The locks have
    /// been released by then, whatever the outcome.
    fn commit(
        self: Box<Self>,
        writes: &Arc<WriteBuffer>,
        options: &LockOptions,
        durability: Durability,
        fence: Option<&Fence>,
        done: CommitDone,
    );

    /// Locks may have been taken over from transactions whose commits are pending, with the values that these
    /// write. Waits until all readers see those. Not to be called on the thread that commits groups.
    ///
    /// # Errors
    /// [`crate::Error::Deadlock`]: one of the commits failed, so this transaction has to be rolled back.
    /// [`crate::Error::Interrupted`].
    fn settle(&self, _interrupt: Option<&Interrupt>) -> Result<()> {
        Ok(())
    }

    /// Lets the commit use the disk space that is kept free. Without effect where none is.
    fn use_reserve(&mut self) {}

    /// A commit that fails puts the transaction into `kept`, with its locks, instead of releasing them. Only
    /// engines whose transactions can be prepared ([`EngineTransaction::held`]) are asked.
    fn keep_if_failed(&mut self, _kept: KeptTransaction) {}

    /// Releases all locks.
    fn rollback(&mut self);

    /// How many keys the transaction has locked.
    fn lock_count(&self) -> usize;

    /// How often another transaction, or a version that it has committed since, was in the way of a lock.
    fn lock_waits(&self) -> u64;
}
