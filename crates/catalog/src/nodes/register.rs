//! A node's record in the store: put there, renewed, taken away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Durability, Store, TxnOptions};
use types::Result;

use super::lease::{Node, ticks};
use super::{Membership, NodeOptions, NodeRecord, read_nodes};
use crate::Catalog;
use crate::meta::Meta;

/// Puts a node into the store: a new one, or one whose lease was over.
pub(super) fn enrol(
    store: &Store,
    options: &NodeOptions,
    started_us: i64,
    before: Option<&Node>,
) -> Result<Node> {
    let asked = Instant::now();
    let mut txn = store.begin(TxnOptions::default())?;
    let mut meta = Meta::new(&mut txn);
    let version = meta.lock_schema_version()?;
    let seen = store.snapshot_now()?;
    let mut taken = Vec::new();
    for other in read_nodes(&seen)? {
        if other.lease_end < seen.ts() {
            meta.delete_node(other.id)?;
        } else {
            taken.push(other.number);
        }
    }
    let number = (1..u32::MAX).find(|n| !taken.contains(n)).unwrap_or(u32::MAX);
    let node = match before {
        Some(before) => Node::new(before.id, before.term + 1, number),
        None => Node::new(meta.next_id()?, 1, number),
    };
    let record = NodeRecord {
        id: node.id,
        number,
        address: options.address.clone(),
        status_address: options.status_address.clone(),
        started_us,
        version,
        lease_end: seen.ts() + ticks(options.lease),
    };
    meta.put_node(&record)?;
    node.renewed(asked, options.lease, record.lease_end);
    txn.commit_within(Durability::Sync, Some(&node.fence))?;
    Ok(node)
}

/// When the lease was last renewed, and what the others have been told.
#[derive(Default)]
pub(super) struct Renewed {
    at: Option<Instant>,
    version: u64,
}

impl Catalog {
    /// Renews the lease, if it is due or a version is to be told.
    pub(crate) fn keep_lease(&self) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let mut renewed = membership.renewed.lock();
        let installed = self.schema_version();
        let due = renewed
            .at
            .is_none_or(|at| at.elapsed() >= membership.options.lease / 3);
        if membership.node().is_lost() || !due && renewed.version == installed {
            return Ok(());
        }
        if !self.renew(membership, installed)? {
            tracing::warn!("the lease in the store was over; joining again");
            membership.node().lose();
            return Ok(());
        }
        *renewed = Renewed {
            at: Some(Instant::now()),
            version: installed,
        };
        Ok(())
    }

    /// How often to see to the lease.
    pub(crate) fn lease_interval(&self) -> Duration {
        match &self.membership {
            Some(membership) => membership.options.lease / 12,
            None => Duration::MAX,
        }
    }

    /// Renews the lease and tells the others which version is used here. False: the lease was over.
    pub(super) fn renew(&self, membership: &Membership, version: u64) -> Result<bool> {
        let node = membership.node();
        let lease = membership.options.lease;
        let asked = Instant::now();
        let mut txn = self.store().begin(TxnOptions::default())?;
        let mut meta = Meta::new(&mut txn);
        let Some(mut record) = meta.lock_node(node.id)? else {
            return Ok(false);
        };
        record.version = version;
        record.lease_end = record.lease_end.max(self.store().current_ts()? + ticks(lease));
        meta.put_node(&record)?;
        match txn.commit_within(Durability::Os, Some(&node.fence)) {
            Ok(_) => {
                node.renewed(asked, lease, record.lease_end);
                Ok(true)
            }
            Err(kv::Error::CommitTooLate { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Clean shutdown: nobody has to wait for this node any more. Unless something that began under its lease may still be
    /// committed: then the others wait for the end of the lease.
    pub(crate) fn leave(&self) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let node = membership.node();
        node.lose();
        // One here, one in the membership; others are held by transactions, also by those whose outcome is unknown.
        if Arc::strong_count(&node) > 2 {
            return Ok(());
        }
        let mut txn = self.store().begin(TxnOptions::default())?;
        Meta::new(&mut txn).delete_node(node.id)?;
        txn.commit(Durability::Sync)?;
        Ok(())
    }
}
