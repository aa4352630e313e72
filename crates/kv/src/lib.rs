//! The transactional key-value contract, which every engine holds and `kv-tests` checks.
//!
//! - [`Store`] is one database of ordered keys: it gives timestamps, [`Snapshot`]s and [`Transaction`]s.
//! - [`Reader`] is what both a snapshot and a transaction can do: get, batch get, scan.
//! - [`Transaction`] = a start timestamp, our own write buffer and row locks. Written here once for all engines.
//! - [`Engine`] is what an engine has to implement: reads at a timestamp, locks, one atomic commit.
//!
//! Nothing here knows SQL.
