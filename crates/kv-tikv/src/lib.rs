//! The key-value engine on a TiKV cluster. It is the only crate that speaks to TiKV and to PD (TiKV's
//! placement driver).
//!
//! [`open`] returns a [`kv::Store`]. The client is our own, written for the public gRPC interface
//! (`proto`). Three things made that necessary: it reads a single key at the newest version without a
//! timestamp, it sends the commands of all threads over one stream per store, and it needs control over
//! lock requests that the public clients do not give.
//!
//! Not here: the transactional contract and the write buffer (`kv`), and the suite that checks the contract
//! (`kv-tests`; this crate's `tests/contract.rs` runs it).
//!
//! Where to go next, from the network up:
//!
//! - `io`, `channel`, `connection`, `stores`: I/O threads, TLS, one stream of batched commands per store.
//! - `pd`: the members of PD, timestamps, regions, safe points. `region`: the region cache.
//! - `cluster`: sends a command to the region of a key and retries it. `fan_out`: the same for many keys.
//! - `read`, `scan`, `ranges`, `split`: reads, and work on whole ranges and regions. `resolve`: locks left
//!   by other transactions.
//! - `locks`, `sharing`, `heartbeat`, `prober`: row locks. `commit`: prewrite and commit, in one phase or
//!   two.
//! - `detached`: the end of transactions that belong to no node.
//! - `transaction`, `engine`: the contract's traits. `node`: the state of this SQL node. `gc`,
//!   `read_report`: garbage collection.
//!
//! Every call blocks its caller's thread. The I/O threads only move bytes.

mod background;
mod backoff;
mod channel;
mod cluster;
mod command;
mod commit;
mod connection;
mod coprocessor;
mod counters;
mod detached;
mod engine;
mod failure;
mod fan_out;
mod gc;
mod heartbeat;
mod io;
mod keys;
mod locks;
mod node;
mod options;
mod pd;
mod periodic;
mod prober;
mod proto;
mod ranges;
mod read;
mod read_report;
mod region;
mod reply;
mod resolve;
mod scan;
mod sharing;
mod split;
mod stores;
mod transaction;
mod txn_status;

pub use options::{TikvOptions, TlsOptions};

use kv::{Result, Store};
use std::sync::Arc;

/// Opens the database on a cluster.
///
/// # Errors
/// [`kv::Error::ClusterTimeout`] if PD cannot be reached, [`kv::Error::Unavailable`] if it has no such
/// keyspace.
pub fn open(options: TikvOptions) -> Result<Store> {
    Ok(Store::new(Arc::new(engine::TikvEngine::open(options)?)))
}

/// [`open`], for `tikv://PD1:2379,PD2:2379[/KEYSPACE]`.
pub fn open_url(url: &str) -> Result<Store> {
    open(url.parse()?)
}
