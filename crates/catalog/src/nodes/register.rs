//! A node's record in the store: put there, renewed, taken away.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kv::{Durability, Store};
use types::{Error, Result, errno};

use super::lease::{NUMBER_MAX, Node, ticks};
use super::{Membership, NodeOptions, NodeRecord, read_nodes};
use crate::Catalog;
use crate::meta::{Meta, keys};

/// Puts a node into the store: a new one, or one whose lease was over. That one has its number again, unless another has
/// got it meanwhile.
pub(super) fn enrol(
    store: &Store,
    options: &NodeOptions,
    started_us: i64,
    before: Option<&Node>,
) -> Result<Node> {
    let asked = Instant::now();
    let mut txn = Meta::begin(store)?;
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
    let last = meta.last_node_number()?;
    let number = match before.map(|before| before.number) {
        Some(number) if !taken.contains(&number) => number,
        _ => {
            let number = next_number(last, &taken)?;
            meta.put_counter(keys::last_node_number(), number.into())?;
            number
        }
    };
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
    // From here on it gets letters.
    meta.put_new_version(keys::mail_version(node.id))?;
    node.renewed(asked, options.lease, record.lease_end);
    txn.commit_within(Durability::Sync, Some(&node.fence))?;
    Ok(node)
}

/// The number after the last one given, round and round: one that was given back, or whose node may only have been cut off,
/// comes again after all others.
fn next_number(last: u64, taken: &[u32]) -> Result<u32> {
    let last = u32::try_from(last).unwrap_or(0).min(NUMBER_MAX);
    let after = |step| (last + step) % NUMBER_MAX + 1;
    let number = (0..NUMBER_MAX).map(after).find(|n| !taken.contains(n));
    number.ok_or_else(|| {
        Error::new(
            errno::ER_CON_COUNT_ERROR,
            format!("Too many servers on one store: {NUMBER_MAX} use it already"),
        )
    })
}

/// When the lease was last renewed, and what the others have been told.
#[derive(Default)]
pub(super) struct Renewed {
    at: Option<Instant>,
    version: u64,
}

impl Catalog {
    /// Renews the lease, if it is due or wanted, or a version is to be told.
    pub(crate) fn keep_lease(&self) -> Result<()> {
        let Some(membership) = &self.membership else {
            return Ok(());
        };
        let mut renewed = membership.renewed.lock();
        let installed = self.schema_version();
        let due = renewed
            .at
            .is_none_or(|at| at.elapsed() >= membership.options.lease / 3);
        let due = membership.wanted.swap(false, Ordering::SeqCst) || due;
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
        let mut txn = Meta::begin(self.store())?;
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
                membership.tell_of_lease();
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
        remove(self.store(), node.id)
    }
}

/// Takes a node's record away: nobody waits for it any more.
pub(super) fn remove(store: &Store, id: i64) -> Result<()> {
    let mut txn = Meta::begin(store)?;
    Meta::new(&mut txn).delete_node(id)?;
    txn.commit(Durability::Sync)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_round() {
        assert_eq!(next_number(0, &[]).unwrap(), 1);
        assert_eq!(next_number(7, &[8, 10]).unwrap(), 9);
        assert_eq!(next_number(NUMBER_MAX.into(), &[]).unwrap(), 1);
        assert_eq!(
            next_number(u64::from(NUMBER_MAX) - 1, &[NUMBER_MAX, 1]).unwrap(),
            2
        );
        let all: Vec<u32> = (1..=NUMBER_MAX).collect();
        assert_eq!(next_number(5, &all).unwrap_err().code, errno::ER_CON_COUNT_ERROR);
    }
}
