//! One database of ordered keys, over any engine: where users of this crate start.

use crate::engine::{Damage, Engine, GcReport, VisitNewer};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::limits::Limits;
use crate::load::{BEFORE_ALL, Load};
use crate::lock::{DeadlockReport, LockStats, LockedKey};
use crate::reader::KeyRange;
use crate::region::{Region, SplitReport};
use crate::snapshot::Snapshot;
use crate::timestamp::Timestamp;
use crate::transaction::Transaction;
use crate::txn_options::TxnOptions;
use crate::watch::Watch;
use memory::Broker;
use std::fmt;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

/// One database. Cheap to clone; all clones are the same database.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    memory: &'static Broker,
}

impl Store {
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self {
            engine,
            memory: Broker::unlimited(),
        }
    }

    /// The same store, whose transactions account for the memory of their writes with `memory`.
    pub fn within(self, memory: &'static Broker) -> Self {
        Self { memory, ..self }
    }

    /// The budget given to [`Store::within`].
    pub fn budget(&self) -> &'static Broker {
        self.memory
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// An empty database in memory. It is dropped with the last clone.
    pub fn memory() -> Self {
        Self::new(Arc::new(crate::memory::engine()))
    }

    /// "rocksdb", "memory".
    pub fn engine_name(&self) -> &'static str {
        self.engine.name()
    }

    /// Whether the stores may run programs ([`crate::CoprocessorRequest`]).
    pub fn has_coprocessor(&self) -> bool {
        self.engine.has_coprocessor()
    }

    pub fn limits(&self) -> Limits {
        self.engine.limits()
    }

    /// Whether other processes may use the same store at the same time.
    pub fn is_shared(&self) -> bool {
        self.engine.is_shared()
    }

    /// Strictly increasing, above everything acknowledged so far. Never waits for a commit in flight.
    pub fn current_ts(&self) -> Result<Timestamp> {
        self.engine.current_ts()
    }

    /// Reads at `ts`. Fails with [`crate::Error::SnapshotTooOld`] below the garbage-collection safe point and
    /// with [`crate::Error::SnapshotInFuture`] beyond now.
    pub fn snapshot(&self, ts: Timestamp) -> Result<Snapshot> {
        Snapshot::at(Arc::clone(&self.engine), ts)
    }

    /// A snapshot of this moment: [`Store::current_ts`] and [`Store::snapshot`] in one.
    pub fn snapshot_now(&self) -> Result<Snapshot> {
        Snapshot::now(Arc::clone(&self.engine), None)
    }

    /// [`Store::snapshot_now`] for a statement: `interrupt` ends the wait for its timestamp, and the
    /// snapshot's reads.
    pub fn snapshot_for(&self, interrupt: &Arc<Interrupt>) -> Result<Snapshot> {
        Snapshot::now(Arc::clone(&self.engine), Some(Arc::clone(interrupt)))
    }

    /// The newest committed state, with no timestamp: the cheapest read for an autocommit point statement.
    ///
    /// Each call sees one moment, and two calls may see two. A statement that needs more than one call (an
    /// index entry, then its row) takes [`Store::snapshot_now`].
    pub fn latest(&self) -> Snapshot {
        Snapshot::latest(Arc::clone(&self.engine))
    }

    pub fn begin(&self, options: TxnOptions) -> Result<Transaction> {
        Transaction::begin(Arc::clone(&self.engine), options, self.memory)
    }

    /// The transaction that [`Transaction::prepare`] has given these bytes of, with its locks.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`]; those of the locks, where another transaction has taken them since.
    pub fn reinstate(&self, prepared: &[u8], options: TxnOptions) -> Result<Transaction> {
        let mut transaction = self.begin(options)?;
        transaction.take_prepared(prepared)?;
        Ok(transaction)
    }

    /// Whether [`TxnOptions::defer_duplicate_checks`] makes a difference here.
    pub fn defers_duplicate_checks(&self) -> bool {
        self.engine.defers_duplicate_checks()
    }

    /// Splits regions so that new ones start at `keys`, and spreads those over the stores. Waits for that up
    /// to `patience`. An engine that keeps all keys in one place does nothing, and reports that.
    ///
    /// # Errors
    /// Those of the cluster, [`crate::Error::Interrupted`]. Some of the splits may have been made.
    pub fn split_at(
        &self,
        keys: &[Vec<u8>],
        patience: Duration,
        interrupt: Option<&Interrupt>,
    ) -> Result<SplitReport> {
        self.engine.split_at(keys, patience, interrupt)
    }

    /// The regions that hold parts of a range, in order and without gaps. An engine that keeps all keys in
    /// one place has one.
    ///
    /// # Errors
    /// Those of the cluster, [`crate::Error::Interrupted`].
    pub fn regions(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Region>> {
        if range.is_empty() {
            return Ok(Vec::new());
        }
        self.engine.regions(range, interrupt)
    }

    /// Removes every version in `range` for good, without a transaction (DROP, TRUNCATE). The caller
    /// guarantees that no transaction reads or writes it any more, at any timestamp.
    pub fn destroy_range(&self, range: &KeyRange) -> Result<()> {
        self.engine.destroy_range(range)
    }

    /// Begins a bulk load of `range`, which nothing reads before it has ended: see [`crate::load`].
    /// `interrupt` ends it with [`crate::Error::Interrupted`].
    pub fn begin_load(&self, range: &KeyRange, interrupt: Option<&Arc<Interrupt>>) -> Load {
        Load::new(
            Arc::clone(&self.engine),
            self.memory,
            range,
            BEFORE_ALL,
            interrupt,
        )
    }

    /// Begins a bulk load of keys without values in a `range` that readers know already, with the timestamp of a
    /// commit: see [`crate::load`]. Where [`Store::loads_by_file`].
    pub fn begin_load_at(&self, range: &KeyRange, ts: Timestamp, interrupt: &Arc<Interrupt>) -> Load {
        Load::new(Arc::clone(&self.engine), self.memory, range, ts, Some(interrupt))
    }

    /// Whether nothing is stored in a range, not even deletions. An engine that does not
    /// [`Store::loads_by_file`] never says so.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn is_blank(&self, range: &KeyRange) -> Result<bool> {
        self.engine.is_blank(range)
    }

    /// Refuses so many bytes of files beside the store if the disk would be too full afterwards.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`].
    pub(crate) fn check_space(&self, bytes: usize) -> Result<()> {
        self.engine.check_space(bytes)
    }

    /// An empty file without a name, for what does not fit into memory.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    pub fn scratch_file(&self) -> Result<File> {
        match self.engine.loads_by_file() {
            true => self.engine.scratch_file(),
            false => tempfile::tempfile().map_err(|error| Error::Io(format!("a temporary file: {error}"))),
        }
    }

    /// Visits what has changed in a range since a snapshot: the keys whose newest versions were committed after
    /// it, with their timestamps and values, or `None` for those that have been deleted. Where [`Store::loads_by_file`]. What interrupts
    /// the snapshot's reads ends it.
    ///
    /// # Errors
    /// Those of the engine and of `visit`.
    pub fn scan_newer(&self, range: &KeyRange, since: &Snapshot, visit: &mut VisitNewer) -> Result<()> {
        self.engine
            .scan_newer(range, since.ts(), since.interrupt(), visit)
    }

    /// Visits the newest version of each key that has one, like [`Store::scan_newer`].
    ///
    /// # Errors
    /// Those of the engine and of `visit`.
    pub fn visit_newest(&self, keys: &[Vec<u8>], visit: &mut VisitNewer) -> Result<()> {
        self.engine.visit_newest(keys, visit)
    }

    /// Notes which keys of a range change from now on. Where [`Store::loads_by_file`].
    ///
    /// # Errors
    /// [`crate::Error::Internal`] elsewhere.
    pub fn watch(&self, range: &KeyRange) -> Result<Watch> {
        self.engine.watch(range)
    }

    /// Whether a load's pairs appear all at one moment, when it ends, so that others may write its range until
    /// then.
    pub fn loads_by_file(&self) -> bool {
        self.engine.loads_by_file()
    }

    /// Snapshots below it are refused.
    pub fn safe_point(&self) -> Timestamp {
        self.engine.safe_point()
    }

    /// No snapshot below it is alive, in any process. A new one may still be opened below it, down to the
    /// safe point: the caller has to know that such a snapshot will not read what it asks about.
    pub fn oldest_snapshot(&self) -> Timestamp {
        self.engine.oldest_snapshot()
    }

    /// How long superseded versions are kept for `AS OF` reads; 10 minutes unless set.
    pub fn set_gc_age(&self, age: Duration) {
        self.engine.set_gc_age(age);
    }

    /// One round of garbage collection, now. Engines also collect in the background.
    pub fn run_gc(&self) -> Result<GcReport> {
        self.engine.collect_garbage()
    }

    /// Compares the engine's cache of a range with what is stored. What differs, at most
    /// [`Damage::REPORTED_MAX`] keys, is dropped from the cache.
    ///
    /// # Errors
    /// Those of the engine, [`crate::Error::Interrupted`].
    pub fn verify_cached(&self, range: &KeyRange, interrupt: Option<&Interrupt>) -> Result<Vec<Damage>> {
        self.engine.verify_cached(range, interrupt)
    }

    /// Writes everything in memory to disk, for a clean shutdown.
    pub fn flush(&self) -> Result<()> {
        self.engine.flush()
    }

    /// Figures for `/metrics`; names are `snake_case` with the unit last.
    pub fn stats(&self) -> Vec<(&'static str, f64)> {
        self.engine.stats()
    }

    /// The last deadlock that was resolved in this process.
    pub fn last_deadlock(&self) -> Option<DeadlockReport> {
        self.engine.last_deadlock()
    }

    /// The keys that transactions of this process have locked, at most `most`; those that are waited for are
    /// among them.
    pub fn locked_keys(&self, most: usize) -> Vec<LockedKey> {
        self.engine.locked_keys(most)
    }

    pub fn lock_stats(&self) -> LockStats {
        self.engine.lock_stats()
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.engine.name()).finish()
    }
}
