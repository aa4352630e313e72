//! What the processes (*nodes*) that use one store share, and what each of them has of it in memory. A
//! process that has the store to itself is the simple case: it has the same caches, and no node, no lease and
//! no messages.
//!
//! - [`Cluster`]: this process on its store. It has one of each of the following.
//! - The schema: [`Cluster::schema`] is all definitions at one version, which a reader can keep.
//!   [`metadata_lock`] and [`TransactionLocks`] keep a table's definition from changing while a transaction
//!   uses the table.
//! - Nodes: [`node`] is the record in the store, [`lease`] says until when a node may rely on the definitions
//!   that it has, `follow` installs the versions that other nodes publish, `watch` reports changed keys.
//! - [`message`]: requests to other nodes and their replies. [`settings`]: values of SET GLOBAL for all
//!   nodes.
//! - [`named_lock`]: GET_LOCK among nodes. [`prepared`]: XA transactions that wait for their end.
//! - [`fills`]: bulk loads into tables that have readers.
//! - [`ids`]: AUTO_INCREMENT values and row ids, which nodes lease in ranges.
//! - [`meta`]: the `m` keys of the store, the values under them, and the transactions that change them.
//!
//! Not here: changes of definitions (`ddl`), accounts (`accounts`), what a table is (`schema`). Start at
//! [`Cluster`].

mod cluster;
pub mod fills;
mod follow;
pub mod ids;
mod instance_use;
pub mod lease;
pub mod message;
pub mod meta;
pub mod metadata_lock;
pub mod named_lock;
pub mod node;
pub mod prepared;
mod register;
mod schema_cache;
pub mod settings;
mod transaction_locks;
pub mod wait;
mod watch;
pub mod workers;

pub use cluster::{Cluster, now_us};
pub use instance_use::InstanceUse;
pub use transaction_locks::{TableUse, TableUses, TransactionLocks};
