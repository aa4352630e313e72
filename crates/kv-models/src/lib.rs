//! Models: the sources of `kv` and of `kv-rocksdb`'s row cache, compiled again with locks, atomics and
//! threads of `shuttle` ([`sync`]). Shuttle runs all threads as one, and chooses at each synchronization
//! which of them continues. Each model runs some thousand times, in orders generated from a fixed seed, and
//! states what must hold in all of them. A thread that waits forever counts as a failure.
//!
//! | model | covers |
//! |---|---|
//! | [`models::row_cache`] | loads, commits, reads, collected deletions and dropped ranges, with the real oracle |
//! | [`models::group_commit`] | the queue of commits and its thread; groups that fail and panic |
//! | [`models::lock_table`] | grants, upgrades, deadlocks, interrupts |
//! | [`models::transactions`] | a whole embedded engine: early lock release, commits that fail, snapshots |
//!
//! Not here: weak memory. The orders are those of a sequentially consistent machine, so an `Ordering` that is
//! too weak is not found. Where to go next: the documentation of a model. `docs/commit.md` lists the
//! invariants that the models pin.

// The sources that are compiled again here have their tests where they are. With these locks they could not
// run.
#![cfg(not(test))]
#![allow(
    dead_code,
    unused_imports,
    reason = "models use a part of what is compiled here"
)]

extern crate self as kv;

mod sync;

pub mod models;

#[path = "../../kv-rocksdb/src/latest/cache/mod.rs"]
pub(crate) mod cache;
#[path = "../../kv-rocksdb/src/layout.rs"]
pub(crate) mod layout;

#[path = "../../kv/src/background.rs"]
mod background;
#[path = "../../kv/src/commit.rs"]
mod commit;
#[path = "../../kv/src/coprocessor.rs"]
mod coprocessor;
#[path = "../../kv/src/corrections.rs"]
mod corrections;
#[path = "../../kv/src/deadlock.rs"]
mod deadlock;
#[path = "../../kv/src/defect.rs"]
mod defect;
#[path = "../../kv/src/embedded.rs"]
mod embedded;
#[path = "../../kv/src/embedded_state.rs"]
mod embedded_state;
#[path = "../../kv/src/embedded_transaction.rs"]
mod embedded_transaction;
#[path = "../../kv/src/garbage.rs"]
mod garbage;
#[path = "../../kv/src/group_commit.rs"]
mod group_commit;
#[path = "../../kv/src/group_member.rs"]
mod group_member;
#[path = "../../kv/src/health.rs"]
mod health;
#[path = "../../kv/src/key_range.rs"]
mod key_range;
#[path = "../../kv/src/merge.rs"]
mod merge;
#[path = "../../kv/src/oracle.rs"]
mod oracle;
#[path = "../../kv/src/outcome.rs"]
mod outcome;
#[path = "../../kv/src/small_map.rs"]
mod small_map;
#[path = "../../kv/src/watched_ranges.rs"]
mod watched_ranges;

#[path = "../../kv/src/buffer.rs"]
pub mod buffer;
#[path = "../../kv/src/detached.rs"]
pub mod detached;
#[path = "../../kv/src/detached_branch.rs"]
pub mod detached_branch;
#[path = "../../kv/src/engine.rs"]
pub mod engine;
#[path = "../../kv/src/error.rs"]
pub mod error;
#[path = "../../kv/src/fence.rs"]
pub mod fence;
#[path = "../../kv/src/interrupt.rs"]
pub mod interrupt;
#[path = "../../kv/src/limits.rs"]
pub mod limits;
#[path = "../../kv/src/load.rs"]
pub mod load;
#[path = "../../kv/src/lock.rs"]
pub mod lock;
#[path = "../../kv/src/lock_table.rs"]
pub mod lock_table;
#[path = "../../kv/src/lock_wait.rs"]
pub mod lock_wait;
#[path = "../../kv/src/locked_versions.rs"]
pub mod locked_versions;
#[path = "../../kv/src/memory.rs"]
pub mod memory;
#[path = "../../kv/src/pending_commit.rs"]
pub mod pending_commit;
#[path = "../../kv/src/pins.rs"]
pub mod pins;
#[path = "../../kv/src/prepared.rs"]
pub mod prepared;
#[path = "../../kv/src/prepared_bytes.rs"]
mod prepared_bytes;
#[path = "../../kv/src/private.rs"]
pub mod private;
#[path = "../../kv/src/promise.rs"]
pub mod promise;
#[path = "../../kv/src/reader.rs"]
pub mod reader;
#[path = "../../kv/src/region.rs"]
pub mod region;
#[path = "../../kv/src/snapshot.rs"]
pub mod snapshot;
#[path = "../../kv/src/sorted_pairs.rs"]
pub mod sorted_pairs;
#[path = "../../kv/src/sorter.rs"]
pub mod sorter;
#[path = "../../kv/src/storage.rs"]
pub mod storage;
#[path = "../../kv/src/store.rs"]
pub mod store;
#[path = "../../kv/src/timestamp.rs"]
pub mod timestamp;
#[path = "../../kv/src/transaction.rs"]
pub mod transaction;
#[path = "../../kv/src/txn_options.rs"]
pub mod txn_options;
#[path = "../../kv/src/watch.rs"]
pub mod watch;

pub use buffer::{Savepoint, Write, WriteBuffer};
pub use coprocessor::{CoprocessorRequest, CoprocessorResponse, CoprocessorResponses};
pub use corrections::{Outdated, RowEntries};
pub use embedded::EmbeddedEngine;
pub use embedded_state::EmbeddedOptions;
pub use engine::{CommitDone, Damage, Durability, Engine, EngineTransaction, GcReport, ReadAt, ScanRequest};
pub use error::{Error, Part, Result};
pub use fence::Fence;
pub use interrupt::Interrupt;
pub use limits::Limits;
pub use load::{Load, LoadWriter};
pub use lock::{LockMode, LockOptions, LockStats, LockWait, Locked};
pub use lock_table::LockTable;
pub use locked_versions::{LockedInOrder, LockedVersions};
pub use pins::Pins;
pub use reader::{KeyRange, Reader, Visit, VisitBatch, successor_of_prefix};
pub use region::{Region, SplitReport};
pub use snapshot::Snapshot;
pub use sorted_pairs::{SortedFile, SortedPairs};
pub use storage::{ApplyError, ApplyHow, KeyGuard, Pressure, Seen, Storage, VisitVersions};
pub use store::Store;
pub use timestamp::{
    Clock, LATEST, ManualClock, PER_MILLISECOND, SystemClock, Timestamp, timestamp_from_ms, timestamp_to_ms,
};
pub use transaction::{Current, Transaction, View};
pub use txn_options::TxnOptions;
pub use watch::{Watch, Watches};
