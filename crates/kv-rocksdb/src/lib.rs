//! The embedded engine on RocksDB, and the only crate that names it.
//!
//! [`open`] gives a [`kv::Store`]. Timestamps, locks and group commit are [`kv::EmbeddedEngine`]'s; this crate keeps
//! the versions: [`layout`] says how they lie in RocksDB, [`RocksOptions`] how RocksDB is set up.

mod collect;
mod compare;
mod failure;
mod full_disk;
mod history;
mod latest;
mod load;
mod log_ahead;
mod machine;
mod memtable;
mod options;
mod ranges;
mod read;
mod scan;
mod sizes;
mod space;
mod spill;
mod stats;
mod storage;
mod sync;
mod write;

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
/// [`kv::Error::Unavailable`] if another process is using the directory or it cannot be opened.
pub fn open(dir: impl AsRef<Path>, options: RocksOptions) -> Result<Store> {
    Ok(Store::new(Arc::new(open_engine(dir, options)?)))
}

/// [`open`], for who wants the engine itself.
pub fn open_engine(dir: impl AsRef<Path>, options: RocksOptions) -> Result<EmbeddedEngine<RocksStorage>> {
    let safe_point = Arc::default();
    let storage = RocksStorage::open(dir.as_ref(), &options, &safe_point)?;
    Ok(EmbeddedEngine::new(storage, safe_point, options.embedded))
}
