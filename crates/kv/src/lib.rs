//! The transactional key-value contract that every engine keeps, and what engines share to keep it: the write
//! buffer, row locks, timestamps, group commit.
//!
//! - [`Store`] is one database of ordered keys. It gives timestamps, [`Snapshot`]s and [`Transaction`]s.
//! - [`Reader`] is what snapshots and transactions have in common: get, batch get, scan.
//! - [`Transaction`] = a start timestamp, our own write buffer ([`buffer`]) and row locks ([`LockOptions`]).
//! - [`Engine`] is what a store runs on. Engines within this process are a [`Storage`] inside an
//!   [`EmbeddedEngine`], which adds timestamps (`oracle`), group commit and garbage collection. [`memory`] is
//!   the smallest.
//! - [`lock_table`] and [`pins`] are the row locks and live snapshots of one process, which every engine
//!   uses.
//! - [`prepared`]: transactions that wait for their end beyond a restart; [`detached`]: the same in a store that
//!   processes share.
//! - [`private`]: keys of one session, which no engine sees.
//! - [`watch`]: the keys of a range that commits change.
//! - [`load`]: many sorted pairs of a range that nothing reads yet, past all of that; [`sorter`] sorts them.
//! - [`CoprocessorRequest`]: computation that the stores do beside the data.
//! - [`promise`] is what a caller guarantees about writes that take no lock of their own. [`defect`] catches
//!   panics on threads that many wait for.
//!
//! All calls block: a connection has its own thread. Not here: SQL, tables and types, which the crates above
//! know, and what is stored, which `kv-rocksdb` and `kv-tikv` know.
//!
//! Where to go next: [`transaction`], then [`engine`]; for the embedded engine `docs/commit.md` and
//! [`storage`]. `kv-tests` checks the contract, `kv-models` explores interleavings of threads.

mod background;
mod commit;
mod coprocessor;
mod corrections;
mod deadlock;
mod embedded;
mod embedded_state;
mod embedded_transaction;
mod garbage;
mod group_commit;
mod group_member;
mod health;
mod key_range;
mod merge;
mod oracle;
mod outcome;
mod small_map;
mod sync;
mod watched_ranges;

pub mod buffer;
pub mod defect;
pub mod detached;
pub mod detached_branch;
pub mod engine;
pub mod error;
pub mod fence;
pub mod interrupt;
pub mod limits;
pub mod load;
pub mod lock;
pub mod lock_table;
pub mod lock_wait;
pub mod locked_versions;
pub mod memory;
pub mod pending_commit;
pub mod pins;
pub mod prepared;
mod prepared_bytes;
pub mod private;
pub mod promise;
pub mod reader;
pub mod region;
pub mod snapshot;
mod sorted_pairs;
pub mod sorter;
pub mod storage;
pub mod store;
pub mod timestamp;
pub mod transaction;
pub mod txn_options;
pub mod watch;

pub use buffer::{Savepoint, Write, WriteBuffer};
pub use coprocessor::{CoprocessorRequest, CoprocessorResponse, CoprocessorResponses};
pub use corrections::{Outdated, RowEntries};
pub use detached_branch::{Detached, DetachedEnd};
pub use embedded::EmbeddedEngine;
pub use embedded_state::EmbeddedOptions;
pub use engine::{
    CommitDone, Damage, Durability, Engine, EngineTransaction, GcReport, KeptTransaction, ReadAt, ScanRequest,
};
pub use error::{Error, Part, Result};
pub use fence::Fence;
pub use interrupt::Interrupt;
pub use key_range::{KeyRange, successor_of_prefix};
pub use limits::Limits;
pub use load::{Load, LoadWriter};
pub use lock::{DeadlockReport, LockMode, LockOptions, LockStats, LockWait, LockWaiter, Locked, LockedKey};
pub use lock_table::LockTable;
pub use locked_versions::{LockedInOrder, LockedVersions};
pub use pins::Pins;
pub use private::PrivateKeys;
pub use promise::{Fresh, Guard};
pub use reader::{Reader, Visit, VisitBatch};
pub use region::{Region, SplitReport};
pub use snapshot::Snapshot;
pub use sorted_pairs::{SortedFile, SortedPairs};
pub use sorter::{Merge, Runs, Sorter, sort_memory};
pub use storage::{ApplyError, ApplyHow, KeyGuard, Pressure, Seen, Storage, VisitVersions};
pub use store::Store;
pub use timestamp::{
    Clock, LATEST, ManualClock, PER_MILLISECOND, SystemClock, Timestamp, timestamp_from_ms, timestamp_to_ms,
};
pub use transaction::{Current, Transaction, View};
pub use txn_options::TxnOptions;
pub use watch::{Watch, Watches};
