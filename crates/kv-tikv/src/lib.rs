//! The engine on a TiKV cluster, and the only crate that speaks to TiKV and PD.
//!
//! [`open`] gives a [`kv::Store`]. The client is our own, on the public gRPC interface (`proto`): it sends autocommit
//! point reads without a timestamp, multiplexes the commands of all threads over one stream per store
//! (`connection`), and says what the contract needs of lock requests. From the wire up:
//!
//! - `io`, `channel`, `connection`, `stores`: threads, TLS, batched commands, one stream per store.
//! - `pd`: members, timestamps, regions, safe points. `region`: where keys are, as far as known.
//! - `cluster`, `fan_out`: commands to regions, tried again when those have moved. `resolve`: locks of others.
//! - `read`, `scan`, `ranges`, `split`; `locks`, `sharing`, `keeper`, `prober`; `commit`.
//! - `transaction`, `engine`, `gc`: the contract.
//!
//! Everything blocks on the caller's thread; the I/O threads only move bytes.

mod background;
mod backoff;
mod channel;
mod cluster;
mod command;
mod commit;
mod connection;
mod engine;
mod failure;
mod fan_out;
mod gc;
mod io;
mod keeper;
mod keys;
mod locks;
mod options;
mod pd;
mod prober;
mod proto;
mod ranges;
mod read;
mod region;
mod resolve;
mod scan;
mod sharing;
mod slot;
mod split;
mod stores;
mod transaction;

pub use options::{TikvOptions, TlsOptions};

use kv::{Result, Store};
use std::sync::Arc;

/// Opens the database on a cluster.
///
/// # Errors
/// [`kv::Error::ClusterTimeout`] if PD cannot be reached, [`kv::Error::Unavailable`] if it has no such keyspace.
pub fn open(options: TikvOptions) -> Result<Store> {
    Ok(Store::new(Arc::new(engine::TikvEngine::open(options)?)))
}

/// [`open`], for `tikv://PD1:2379,PD2:2379[/KEYSPACE]`.
pub fn open_url(url: &str) -> Result<Store> {
    open(url.parse()?)
}
