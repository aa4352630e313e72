//! The register of nodes in the store: a node's record is added, changed and removed.

use std::ops::ControlFlow;
use std::time::Instant;

use kv::{Durability, Reader, Store};
use types::{Error, Result, errno};

use crate::meta::{Meta, keys};
use crate::node::{NUMBER_MAX, Node, NodeOptions, NodeRecord, read_nodes, ticks};

/// Adds a node: a new one, or one whose lease was over (`before`). The latter gets its old number unless
/// another node has that number now. Records of nodes whose leases are over are removed.
pub(crate) fn join(
    store: &Store,
    options: &NodeOptions,
    started_us: i64,
    before: Option<&Node>,
) -> Result<Node> {
    let requested = Instant::now();
    let mut txn = Meta::begin(store)?;
    let mut meta = Meta::new(&mut txn);
    let version = meta.lock_schema_version()?;
    let seen = store.snapshot_now()?;
    let mut taken = Vec::new();
    for other in read_nodes(&seen)? {
        if other.lease_end < seen.ts() {
            delete(&mut meta, other.id)?;
        } else {
            taken.push(other.number);
        }
    }
    let last = meta.read_counter(&keys::last_node_number())?.unwrap_or(0);
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
    meta.put(keys::node(record.id), &record)?;
    // Other nodes can send it messages from now on.
    meta.put_new_version(keys::message_version(node.id))?;
    node.renewed(requested, options.lease, record.lease_end);
    txn.commit_within(Durability::Sync, Some(node.fence()))?;
    Ok(node)
}

/// The next free number after `last`, cyclically. So a number that was given back, perhaps by a node that is
/// only cut off, is used again after all others.
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

/// A node's record, locked until the end of the transaction.
pub(crate) fn lock(meta: &mut Meta<'_>, id: i64) -> Result<Option<NodeRecord>> {
    meta.lock_value(&keys::node(id), "node")
}

/// Removes a node and the messages that it has not read.
pub(crate) fn delete(meta: &mut Meta<'_>, id: i64) -> Result<()> {
    let mut unread = vec![keys::message_version(id)];
    meta.reader().scan(&keys::messages(id), false, &mut |key, _| {
        unread.push(key.to_vec());
        ControlFlow::Continue(())
    })?;
    for key in unread {
        meta.delete(key)?;
    }
    meta.delete(keys::node(id))
}

/// Removes a node in a transaction of its own: the others no longer wait for it.
pub(crate) fn leave(store: &Store, id: i64) -> Result<()> {
    let mut txn = Meta::begin(store)?;
    delete(&mut Meta::new(&mut txn), id)?;
    txn.commit(Durability::Sync)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_cyclically() {
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
