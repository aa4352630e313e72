//! A node's lease: until when it may rely on the definitions that it has.
//!
//! A node's record in the store has the schema version that the node uses and the end of its lease, a
//! timestamp of the store's oracle. The node renews the record long before that end. What a statement writes
//! is committed within the lease under which the statement began ([`kv::Fence`]): the store refuses a commit
//! with a timestamp after the end, even if the message arrives much later. So once the oracle has passed the
//! end of a lease, nothing can be committed any more that relies on what that node had, and no other node has
//! to wait for it. A renewal is a commit within the lease, too: either it is in time, and other nodes see it,
//! or it is refused, and the node joins again with another lease.
//!
//! A statement that finds no valid lease waits for one. A store that pauses for longer than a lease and comes
//! back has the lease renewed, or the node joined again, within milliseconds. A statement that has done
//! nothing yet loses nothing by that: it begins under the new lease with the definitions that are valid then.
//! What a transaction has already written was made for definitions that other nodes were free to change, and
//! is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use kv::{Durability, Store};
use parking_lot::{Condvar, Mutex};
use types::{Error, Result, errno};

use crate::meta::{Meta, keys};
use crate::node::{Node, NodeOptions, read_nodes, ticks};
use crate::register;
use crate::wait::{Deadline, WaitLimit};
use crate::workers::Signal;

/// The error of a statement that relied on an expired lease.
pub fn lease_is_over() -> Error {
    Error::new(
        errno::ER_SCHEMA_OUT_OF_DATE,
        "Information schema is out of date: the server could not renew its lease in the store [try again later]",
    )
}

/// When the lease was last renewed, and the schema version in the record since.
#[derive(Default)]
struct Renewal {
    at: Option<Instant>,
    version: u64,
}

/// The lease of this process.
pub struct Lease {
    store: Store,
    options: NodeOptions,
    started_us: i64,
    node: ArcSwap<Node>,
    renewal: Mutex<Renewal>,
    /// A statement waits for the lease: renew it before it is due.
    wanted: AtomicBool,
    /// Wakes the threads that renew the lease.
    signal: Arc<Signal>,
    waiting: (Mutex<()>, Condvar),
}

impl Lease {
    /// Joins the other nodes on the store.
    pub(crate) fn join(
        store: Store,
        options: NodeOptions,
        started_us: i64,
        signal: Arc<Signal>,
    ) -> Result<Self> {
        let node = register::join(&store, &options, started_us, None)?;
        Ok(Self {
            store,
            options,
            started_us,
            node: ArcSwap::from_pointee(node),
            renewal: Mutex::default(),
            wanted: AtomicBool::new(false),
            signal,
            waiting: Default::default(),
        })
    }

    pub(crate) fn node(&self) -> Arc<Node> {
        self.node.load_full()
    }

    pub(crate) fn options(&self) -> &NodeOptions {
        &self.options
    }

    /// The lease that a transaction can rely on from now on.
    ///
    /// # Errors
    /// 8027 while there is none.
    pub(crate) fn valid(&self) -> Result<Arc<Node>> {
        let node = self.node();
        if node.is_valid() {
            Ok(node)
        } else {
            Err(lease_is_over())
        }
    }

    /// Renews the lease if that is due, if a statement waits for it, or if the record has another schema
    /// version than `installed`.
    pub(crate) fn renew_if_due(&self, installed: u64) -> Result<()> {
        let mut renewal = self.renewal.lock();
        let is_due = renewal.at.is_none_or(|at| at.elapsed() >= self.options.lease / 3);
        let is_due = self.wanted.swap(false, Ordering::SeqCst) || is_due;
        let node = self.node();
        if node.is_lost() || !is_due && renewal.version == installed {
            return Ok(());
        }
        if !self.renew(&node, installed)? {
            tracing::warn!("the lease in the store was over; joining again");
            node.lose();
            return Ok(());
        }
        *renewal = Renewal {
            at: Some(Instant::now()),
            version: installed,
        };
        Ok(())
    }

    /// Writes a new end of the lease and the schema version into the record. False: the lease was over.
    pub(crate) fn renew(&self, node: &Node, version: u64) -> Result<bool> {
        let lease = self.options.lease;
        let requested = Instant::now();
        let mut txn = Meta::begin(&self.store)?;
        let mut meta = Meta::new(&mut txn);
        let Some(mut record) = register::lock(&mut meta, node.id)? else {
            return Ok(false);
        };
        record.version = version;
        record.lease_end = record.lease_end.max(self.store.current_ts()? + ticks(lease));
        meta.put(keys::node(record.id), &record)?;
        match txn.commit_within(Durability::Os, Some(node.fence())) {
            Ok(_) => {
                node.renewed(requested, lease, record.lease_end);
                self.notify();
                Ok(true)
            }
            Err(kv::Error::CommitTooLate { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// How often [`Lease::renew_if_due`] is called.
    pub(crate) fn interval(&self) -> Duration {
        self.options.lease / 12
    }

    /// Begins a new lease after one that was lost. `prepare` installs the definitions for it, before any
    /// statement can use it.
    pub(crate) fn join_again(
        &self,
        prepare: impl FnOnce(&mut Node) -> Result<()>,
    ) -> Result<(Arc<Node>, Arc<Node>)> {
        let before = self.node();
        let mut node = register::join(&self.store, &self.options, self.started_us, Some(&before))?;
        prepare(&mut node)?;
        *self.renewal.lock() = Renewal::default();
        let node = Arc::new(node);
        self.node.store(Arc::clone(&node));
        self.notify();
        Ok((before, node))
    }

    /// Clean shutdown: the other nodes need not wait for this one. The record stays if something that began
    /// under the lease may still be committed; then the others wait for the end of the lease.
    pub(crate) fn end(&self) -> Result<()> {
        let node = self.node();
        node.lose();
        // One reference is here and one in `self`. Transactions hold others, also those whose outcome is
        // unknown.
        if Arc::strong_count(&node) > 2 {
            return Ok(());
        }
        register::leave(&self.store, node.id)
    }

    /// Removes the node: it could not start.
    pub(crate) fn abandon(&self) {
        if let Err(error) = register::leave(&self.store, self.node().id) {
            tracing::warn!(%error, "the other nodes wait for the end of the lease");
        }
    }

    /// Whether all live nodes use a schema version. Removes the records of nodes whose leases are over.
    pub(crate) fn all_nodes_have(&self, version: u64, meta: &mut Meta<'_>) -> Result<bool> {
        let seen = self.store.snapshot_now()?;
        let node = self.node();
        let (mut all, mut is_live) = (true, false);
        for other in read_nodes(&seen)? {
            if other.lease_end < seen.ts() {
                // The timestamp of a renewal that arrives later is after the end, so the store refuses it.
                register::delete(meta, other.id)?;
                continue;
            }
            is_live |= other.id == node.id;
            all &= other.version >= version;
        }
        if !is_live {
            node.lose();
        }
        Ok(is_live && all)
    }

    /// Waits until there is a lease that `is_enough`. `only`: no other lease is, so the wait ends when that
    /// one is lost.
    ///
    /// # Errors
    /// 8027 when there is none in time, 1317 when interrupted.
    pub(crate) fn wait_for(
        &self,
        only: Option<&Node>,
        is_enough: &dyn Fn(&Node) -> bool,
        limit: &WaitLimit,
    ) -> Result<Arc<Node>> {
        let deadline = Deadline::new(limit);
        loop {
            let node = self.node();
            if only.is_some_and(|only| only.is_lost() || only.term != node.term) {
                return Err(lease_is_over());
            }
            if node.is_valid() && is_enough(&node) {
                return Ok(node);
            }
            self.wanted.store(true, Ordering::SeqCst);
            self.signal.wake();
            let sleep = deadline.next_sleep().map_err(|error| match error.code {
                errno::ER_LOCK_WAIT_TIMEOUT => lease_is_over(),
                _ => error,
            })?;
            let (guard, changed) = &self.waiting;
            changed.wait_for(&mut guard.lock(), sleep);
        }
    }

    /// Wakes the statements that wait for a lease.
    fn notify(&self) {
        let (guard, changed) = &self.waiting;
        // With the mutex, so that a statement that is about to sleep does not miss it.
        let _guard = guard.lock();
        changed.notify_all();
    }

    /// The next [`Lease::renew_if_due`] renews.
    #[cfg(feature = "test-support")]
    pub(crate) fn make_due(&self) {
        *self.renewal.lock() = Renewal::default();
    }
}
