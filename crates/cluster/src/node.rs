//! A node: one process among those that use the same store.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kv::{Fence, PER_MILLISECOND, Reader, Timestamp};
use serde::{Deserialize, Serialize};
use types::Result;

use crate::meta::record::Record;
use crate::meta::{keys, read_all};

/// The largest [`Node::number`]. A connection id has 32 bits and consists of this number and a count.
pub const NUMBER_MAX: u32 = (1 << 11) - 1;

/// How a process joins the others on its store.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// Where MySQL clients reach the node. Shown to people only.
    pub address: String,
    /// Where the node's `/status` is. Shown to people only.
    pub status_address: String,
    /// How long the other nodes wait for one that has crashed.
    pub lease: Duration,
    /// How long a statement waits for a lease when the node has none.
    pub lease_wait: Duration,
    /// The longest time between two looks at the store.
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

/// A node's record in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    pub id: i64,
    /// See [`Node::number`].
    pub number: u32,
    pub address: String,
    pub status_address: String,
    /// Microseconds since 1970, by the node's clock.
    pub started_us: i64,
    /// The schema version that the node uses. It uses no older one.
    pub version: u64,
    /// The store accepts nothing after this timestamp that relies on the definitions the node has.
    pub lease_end: Timestamp,
}

impl Record for NodeRecord {}

/// All nodes in the store, whether their leases last or not, in the order of their ids.
pub(crate) fn read_nodes(reader: &dyn Reader) -> Result<Vec<NodeRecord>> {
    let mut nodes: Vec<NodeRecord> = read_all(reader, &keys::nodes(), "node")?;
    nodes.sort_by_key(|node| node.id);
    Ok(nodes)
}

/// This process in the store, from when it joined until its lease was lost.
#[derive(Debug)]
pub struct Node {
    /// The same as long as the process lives; never given to another process.
    pub id: i64,
    /// How often the process has joined: each join begins a new lease.
    pub term: u64,
    /// From 1 to [`NUMBER_MAX`], different for all live nodes. A number is used again when all others have
    /// been used.
    pub number: u32,
    /// The end of the lease. Writes are committed before it or not at all.
    fence: Fence,
    /// Tables whose definitions have changed since the previous lease, and tables that were closed, also to
    /// writers only, when this lease began.
    pub(crate) changed_tables: BTreeSet<i64>,
    started: Instant,
    /// Milliseconds since `started` for which the lease is valid, by this machine's clock with a safety
    /// margin.
    valid_for_ms: AtomicU64,
    lost: AtomicBool,
}

impl Node {
    pub(crate) fn new(id: i64, term: u64, number: u32) -> Self {
        Self {
            id,
            term,
            number,
            fence: Fence::new(0),
            changed_tables: BTreeSet::new(),
            started: Instant::now(),
            valid_for_ms: AtomicU64::new(0),
            lost: AtomicBool::new(false),
        }
    }

    /// The limit for commits that rely on the lease.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The lease now lasts until `end`, which is `lease` after a moment that was not before `requested`.
    pub(crate) fn renewed(&self, requested: Instant, lease: Duration, end: Timestamp) {
        self.fence.extend(end);
        // A tenth is the margin for clocks that run at different speeds.
        let valid_until = requested + lease * 9 / 10;
        let valid_for = valid_until.saturating_duration_since(self.started);
        self.valid_for_ms
            .fetch_max(milliseconds(valid_for), Ordering::SeqCst);
    }

    /// The lease has expired, and other nodes may have changed definitions since.
    pub fn lose(&self) {
        self.lost.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    /// Whether a read at `ts` is within the lease; for [`kv::LATEST`], call it after the read.
    pub(crate) fn covers(&self, ts: Timestamp) -> bool {
        match ts {
            kv::LATEST => self.is_valid(),
            ts => ts <= self.fence.last(),
        }
    }

    /// Whether a transaction that began under the lease `before` finds these tables unchanged: it is the same
    /// lease, or the next one, and none of the tables has changed in between.
    pub(crate) fn continues(&self, before: &Self, mut tables: impl Iterator<Item = i64>) -> bool {
        self.term == before.term
            || self.term == before.term + 1 && tables.all(|table| !self.changed_tables.contains(&table))
    }

    /// Whether statements may begin. Reads have no fence, so this uses the local clock.
    pub(crate) fn is_valid(&self) -> bool {
        !self.is_lost() && milliseconds(self.started.elapsed()) < self.valid_for_ms.load(Ordering::SeqCst)
    }
}

/// How many timestamps of the store's oracle a time spans.
pub(crate) fn ticks(time: Duration) -> u64 {
    milliseconds(time).saturating_mul(PER_MILLISECOND)
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
