//! Several processes (*nodes*) on one store: who they are, and how each follows the definitions that the others publish.
//!
//! # Leases
//!
//! A node has a record in the store with the schema version that it uses and the end of its lease, a timestamp of the
//! store's oracle. It renews the record long before that. Whatever a statement writes is committed within the lease under
//! which it began ([`kv::Fence`]): the store refuses it behind the end, by its timestamp, however late the message
//! arrives. So once the oracle has passed the end of a lease, nothing can be committed any more that relies on what that
//! node knew, and nobody has to wait for it. A renewal is a commit within the lease, too: either it came in time, and
//! whoever looks afterwards sees it, or it is refused, and the node joins again, under
//! another lease.
//!
//! A statement that finds the lease over waits for the next ([`wait`]). What it has written by then was made for definitions
//! that the others were free to change, and is refused.
//!
//! # Versions
//!
//! A node follows the stored version: it closes the tables that changed to new transactions, as a local definition
//! statement does, waits for those that use them, and installs the new definitions (`follow`). A version is published
//! only once all live nodes have the one before ([`crate::publish`]), so two neighbouring versions are in use at most.
//! What a version may change with regard to its neighbour: see [`crate::ddl`].
//!
//! Joining locks the stored version, so it is in one line with publishing: a node is there before a version is
//! published, and counted, or it begins with that version.
//!
//! # Other things to follow
//!
//! [`Catalog::watch`]: whatever has a version key in the store. All such keys are read in one request.

pub(crate) mod follow;
mod lease;
mod register;
mod wait;
mod watch;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use kv::{Reader, Store, Timestamp};
use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use types::{Error, Result, errno};

use crate::Catalog;
use crate::catalog::{bootstrap, now_us};
use crate::meta::{keys, read_all};
use crate::metadata_lock::TransactionLocks;
use follow::{Follower, Loaded};
pub use lease::{NUMBER_MAX, Node};
pub use watch::OnChange;
use watch::Watch;

/// How a process joins the others on its store.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// For people: where MySQL clients reach the node, and where its `/status` is.
    pub address: String,
    pub status_address: String,
    /// How long the others wait for a node that is gone.
    pub lease: Duration,
    /// How long a statement waits for a lease where there is none.
    pub lease_wait: Duration,
    /// How often the store is asked for news, at least.
    pub poll: Duration,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            address: String::new(),
            status_address: String::new(),
            lease: Duration::from_secs(10),
            lease_wait: Duration::from_secs(40),
            poll: Duration::from_millis(250),
        }
    }
}

/// What the store knows of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    pub id: i64,
    /// See [`Node::number`].
    pub number: u32,
    pub address: String,
    pub status_address: String,
    /// Microseconds since 1970, by the node's clock.
    pub started_us: i64,
    /// The schema version it uses, and no older one.
    pub version: u64,
    /// Nothing that relies on the node's knowledge is committed behind it.
    pub lease_end: Timestamp,
}

/// What a catalog needs as one of several.
pub(crate) struct Membership {
    options: NodeOptions,
    started_us: i64,
    node: ArcSwap<Node>,
    follower: Mutex<Follower>,
    renewed: Mutex<register::Renewed>,
    /// A statement waits for the lease: it is to be renewed before it is due.
    wanted: AtomicBool,
    /// For the statements that wait.
    news: (Mutex<()>, Condvar),
    watches: Mutex<Vec<Watch>>,
    unsettled: Mutex<Vec<Unsettled>>,
}

/// The locks of a transaction whose commit may still arrive, until it cannot any more.
struct Unsettled {
    last: Timestamp,
    _locks: TransactionLocks,
}

impl Catalog {
    /// Opens a store as one of several processes.
    ///
    /// # Errors
    /// As [`Catalog::open`].
    pub fn join(store: Store, options: NodeOptions) -> Result<Arc<Self>> {
        bootstrap(&store)?;
        let started_us = now_us();
        let node = register::enrol(&store, &options, started_us, None)?;
        let id = node.id;
        Self::begin_as(node, store.clone(), options, started_us).inspect_err(|_| {
            // It has done nothing that others would have to wait for.
            if let Err(error) = register::remove(&store, id) {
                tracing::warn!(%error, "others wait for the end of the lease");
            }
        })
    }

    /// The rest of [`Catalog::join`], for a node that is in the store.
    fn begin_as(node: Node, store: Store, options: NodeOptions, started_us: i64) -> Result<Arc<Self>> {
        let loaded = Loaded::read(&store.snapshot_now()?)?;
        let membership = Membership {
            options,
            started_us,
            node: ArcSwap::from_pointee(node),
            follower: Mutex::default(),
            renewed: Mutex::default(),
            wanted: AtomicBool::new(false),
            news: Default::default(),
            watches: Mutex::default(),
            unsettled: Mutex::default(),
        };
        let catalog = Self::with(store, Default::default(), Some(membership))?;
        catalog.begin_following(loaded)?;
        catalog.watch(keys::accounts_version(), |catalog, _| catalog.reload_accounts());
        catalog.tick()?;
        Ok(catalog)
    }

    /// This process among the others on its store; none where it is the only one.
    pub fn node(&self) -> Option<Arc<Node>> {
        self.membership.as_ref().map(|m| m.node.load_full())
    }

    /// The nodes whose leases last, this one included, in the order in which they joined; none where there is one process.
    ///
    /// # Errors
    /// Those of the store.
    pub fn live_nodes(&self) -> Result<Vec<NodeRecord>> {
        let seen = self.store().snapshot_now()?;
        let mut nodes = read_nodes(&seen)?;
        nodes.retain(|node| node.lease_end >= seen.ts());
        Ok(nodes)
    }

    /// Whether what one node is enough for is this one's to do.
    pub(crate) fn is_first_node(&self) -> Result<bool> {
        match self.node() {
            Some(node) => Ok(self.live_nodes()?.first().is_none_or(|first| first.id == node.id)),
            None => Ok(true),
        }
    }

    /// Keeps a transaction's locks although it has ended: its commit is under way, may be, and relies on them. They go
    /// once the store would refuse it.
    pub fn keep_unsettled(&self, locks: TransactionLocks) {
        if let (Some(membership), Some(fence)) = (&self.membership, locks.fence()) {
            let last = fence.last();
            membership
                .unsettled
                .lock()
                .push(Unsettled { last, _locks: locks });
        }
    }
}

impl Membership {
    pub(crate) fn node(&self) -> Arc<Node> {
        self.node.load_full()
    }
}

/// All nodes in the store, live or not, in the order of their ids.
pub(crate) fn read_nodes(reader: &dyn Reader) -> Result<Vec<NodeRecord>> {
    let mut nodes: Vec<NodeRecord> = read_all(reader, &keys::nodes(), "node")?;
    nodes.sort_by_key(|node| node.id);
    Ok(nodes)
}

/// The error of whatever relied on a lease that is over.
pub fn lease_is_over() -> Error {
    Error::new(
        errno::ER_SCHEMA_OUT_OF_DATE,
        "Information schema is out of date: the server could not renew its lease in the store [try again later]",
    )
}

#[cfg(test)]
mod tests;
