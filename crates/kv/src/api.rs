//! PLACEHOLDER of the contract's shape: the owner of this crate turns it into files named for what they hold and
//! re-exports everything at the crate's root. Names and signatures are what other crates are written against.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Strictly increasing; the upper 46 bits are milliseconds since 1970, the lower 18 a counter (as TiDB has it).
pub type Timestamp = u64;

/// `start <= key < end`; an empty `end` means no bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange { pub start: Vec<u8>, pub end: Vec<u8> }

/// Called for each pair of a scan, in key order (or against it); `Break` ends the scan.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'a;

/// What snapshots and transactions have in common.
pub trait Reader: Send + Sync {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;
    /// One answer per key, in the order asked.
    fn batch_get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>>;
    /// Visits pairs until the range ends or the visitor breaks.
    fn scan(&self, range: &KeyRange, reverse: bool, visit: &mut Visit) -> Result<()>;
}

/// A kill flag shared with whoever may interrupt: lock waits and long scans look at it.
pub struct Interrupt { /* atomic + wakers of a waiting lock request */ }
// impl Interrupt { pub fn new() -> Arc<Self>; pub fn raise(&self); pub fn clear(&self); pub fn is_raised(&self) -> bool; }

pub enum LockMode { Shared, Exclusive }
pub enum LockWait { Timeout(Duration), NoWait, SkipLocked }
pub struct LockOptions { pub mode: LockMode, pub wait: LockWait, pub interrupt: Arc<Interrupt> }

/// kv::Store is a concrete struct over Arc<dyn Engine>; cheap to clone.
// impl Store {
//   pub fn new(engine: Arc<dyn Engine>) -> Self;
//   pub fn current_ts(&self) -> Result<Timestamp>;
//   /// Reads at `ts`. Fails with Error::SnapshotTooOld below the GC safe point. Snapshot is Clone + Send + Sync, implements Reader,
//   /// and holds back garbage collection while it lives.
//   pub fn snapshot(&self, ts: Timestamp) -> Result<Snapshot>;
//   /// Newest committed state with no timestamp: the cheapest read for an autocommit point statement.
//   pub fn latest(&self) -> Snapshot;
//   pub fn begin(&self, TxnOptions { optimistic: bool, read_only: bool, ... }) -> Result<Transaction>;
//   pub fn safe_point / set_gc_age(Duration) / run_gc() ...
// }
// impl Transaction {   // Send; methods take &mut self for writes, implements Reader (own writes over the snapshot at start_ts)
//   pub fn start_ts(&self) -> Timestamp;
//   pub fn snapshot_ts(&self) -> Timestamp;
//   pub fn refresh_snapshot(&mut self) -> Result<()>;       // READ COMMITTED: a new snapshot per statement
//   pub fn current(&self) -> impl Reader;                   // own writes over the newest committed state (DML and locking reads)
//   pub fn lock(&mut self, keys: &[Vec<u8>], options: &LockOptions) -> Result<Vec<Locked>>;
//       // Locked { Value(Option<Vec<u8>>): newest committed value (own write if any) | Skipped (SKIP LOCKED) }
//   pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<()>;
//   pub fn delete(&mut self, key: Vec<u8>) -> Result<()>;
//   pub fn savepoint(&mut self) -> Savepoint;   pub fn rollback_to(&mut self, sp: Savepoint);  pub fn release(&mut self, sp)
//   pub fn is_dirty(&self) -> bool;  pub fn size_bytes(&self) -> usize;
//   pub fn commit(self, Durability) -> Result<Timestamp>;     // Err(Error::Undetermined) = outcome unknown
//   pub fn rollback(self);                                    // Drop does the same
// }
pub enum Durability { /** on disk before the acknowledgement */ Sync, /** handed to the operating system */ Os, /** lazily, each second */ Lazy }

// Error (thiserror): LockTimeout, LockNotAvailable (NOWAIT), Deadlock, WriteConflict (optimistic), Interrupted, SnapshotTooOld,
//   KeyTooLarge, ValueTooLarge, TransactionTooLarge, ReadOnly, Undetermined, DiskFull, Unavailable(String), Corrupt(String), Io(..)
//   + impl From<kv::Error> for types::Error: 1205, 3572, 1213, 9007, 1317, 9006, 1071?, ..., 8501, 1114 ...
pub type Result<T> = std::result::Result<T, ()>;
