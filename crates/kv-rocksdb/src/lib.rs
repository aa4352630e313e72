//! The embedded engine on RocksDB, and the only crate that names RocksDB.
//!
//! [`open`] gives a [`kv::Store`]. This crate keeps versions of keys and makes them durable: it implements
//! [`kv::Storage`]. Not here: timestamps, row locks, group commit and transactions, which
//! [`kv::EmbeddedEngine`] brings for every storage, and SQL.
//!
//! Where to go next: [`RocksStorage`] says which part does what; [`layout`] describes the bytes in RocksDB;
//! [`RocksOptions`] how RocksDB is configured; [`recovery`] what a start checks before it opens the log.
//! `docs/commit.md` follows one commit through all of it.

mod failure;
mod full_disk;
mod latest;
mod log;
mod machine;
mod memtable;
mod options;
mod sorted_files;
mod space;
mod stats;
mod storage;
mod superseded;
mod sync;
mod versions;

pub mod layout;
pub mod recovery;

pub use latest::Prepared;
pub use options::RocksOptions;
pub use storage::RocksStorage;

use kv::{EmbeddedEngine, Result, Store};
use std::path::Path;
use std::sync::Arc;

/// Opens the store in `dir`, or creates it.
///
/// # Errors
/// [`kv::Error::Unavailable`] if another process is using the directory, or it cannot be opened.
/// [`kv::Error::Corrupt`] if something that was acknowledged is missing.
pub fn open(dir: impl AsRef<Path>, options: RocksOptions) -> Result<Store> {
    Ok(Store::new(Arc::new(open_engine(dir, options)?)))
}

/// [`open`] that returns the engine itself.
pub fn open_engine(dir: impl AsRef<Path>, options: RocksOptions) -> Result<EmbeddedEngine<RocksStorage>> {
    let safe_point = Arc::default();
    let storage = RocksStorage::open(dir.as_ref(), &options, &safe_point)?;
    Ok(EmbeddedEngine::new(storage, safe_point, options.embedded))
}
