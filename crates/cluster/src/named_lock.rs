//! Locks that applications name (GET_LOCK), among the nodes that share a store.
//!
//! A lock is the row lock of a key that is never written, so the store releases it when the node dies. A
//! second key has the number of the connection that holds it, for IS_USED_LOCK(), as long as it does. Among the sessions of one
//! node, only the one that has the lock on its node takes a [`NamedLock`].

use std::sync::Arc;
use std::time::Duration;

use kv::{Durability, Interrupt, LockOptions, LockWait, Store, Transaction, TxnOptions};
use types::Result;

use crate::meta::{Meta, keys, read_counter};

/// How long the lock of a node that has died stays.
const LOCK_TTL: Duration = Duration::from_secs(6);
/// How long a check whether the lock is free may hold it.
const PROBE: Duration = Duration::from_millis(20);

/// A lock that a session of this node has. Dropped, it is released.
pub struct NamedLock {
    transaction: Transaction,
    store: Store,
    owner_key: Vec<u8>,
    connection: u64,
}

impl NamedLock {
    /// Waits for the lock at most `timeout`; `None`: another node has it.
    ///
    /// # Errors
    /// Those of the store; 1317 once `interrupt` is raised.
    pub fn take(
        store: &Store,
        name: &str,
        connection: u64,
        timeout: Duration,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Option<Self>> {
        let options = TxnOptions {
            lock_ttl: Some(LOCK_TTL),
            locks_only: true,
            ..TxnOptions::default()
        };
        let mut transaction = store.begin(options)?;
        let request = LockOptions {
            interrupt: Arc::clone(interrupt),
            ..LockOptions::exclusive(timeout.max(PROBE))
        };
        match transaction.lock_one(&keys::user_lock(name), &request) {
            Ok(_) => {}
            Err(kv::Error::LockTimeout | kv::Error::LockNotAvailable) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let owner_key = keys::user_lock_owner(name);
        let mut naming = Meta::begin(store)?;
        Meta::new(&mut naming).put_counter(owner_key.clone(), connection)?;
        naming.commit(Durability::Os)?;
        Ok(Some(Self {
            transaction,
            store: store.clone(),
            owner_key,
            connection,
        }))
    }

    /// Whether the store has released it: this node has not reached the store for long, or has stalled. Another one may
    /// have it.
    pub fn is_lost(&self) -> bool {
        self.transaction.has_lost_locks()
    }

    /// The connection that has a lock, on any node.
    ///
    /// # Errors
    /// Those of the store.
    pub fn owner(store: &Store, name: &str) -> Result<Option<u64>> {
        let request = LockOptions {
            wait: LockWait::NoWait,
            ..LockOptions::shared(Duration::ZERO)
        };
        let mut probe = store.begin(TxnOptions::default())?;
        let is_free = match probe.lock_one(&keys::user_lock(name), &request) {
            Ok(_) => true,
            Err(kv::Error::LockTimeout | kv::Error::LockNotAvailable) => false,
            Err(error) => return Err(error.into()),
        };
        probe.rollback();
        match is_free {
            true => Ok(None),
            // The lock has been taken, but its owner's number is not stored yet.
            false => Ok(Some(
                read_counter(&store.latest(), &keys::user_lock_owner(name))?.unwrap_or(0),
            )),
        }
    }

    /// The next owner may have stored its number already, if this node does not know yet that the lock was lost.
    fn delete_owner(&self) -> Result<()> {
        if read_counter(&self.store.latest(), &self.owner_key)? != Some(self.connection) {
            return Ok(());
        }
        let mut unnaming = Meta::begin(&self.store)?;
        Meta::new(&mut unnaming).delete(self.owner_key.clone())?;
        unnaming.commit(Durability::Os)?;
        Ok(())
    }
}

impl Drop for NamedLock {
    fn drop(&mut self) {
        if self.is_lost() {
            return;
        }
        // The lock itself is released after that, with the transaction.
        if let Err(error) = self.delete_owner() {
            tracing::warn!(%error, "the owner of a lock stays stored until the next one has it");
        }
    }
}

#[cfg(test)]
mod tests {
    use kv::Reader;

    use super::*;

    #[test]
    fn one_node_at_a_time_has_it() {
        let store = Store::memory();
        let interrupt = Interrupt::new();
        let take = |connection| NamedLock::take(&store, "x", connection, Duration::ZERO, &interrupt).unwrap();
        assert_eq!(NamedLock::owner(&store, "x").unwrap(), None);
        let first = take(7).unwrap();
        assert!(take(8).is_none());
        assert_eq!(NamedLock::owner(&store, "x").unwrap(), Some(7));
        assert_eq!(NamedLock::owner(&store, "y").unwrap(), None);
        drop(first);
        assert_eq!(NamedLock::owner(&store, "x").unwrap(), None);
        assert_eq!(store.latest().get(&keys::user_lock_owner("x")).unwrap(), None);
        let second = take(9).unwrap();
        assert_eq!(NamedLock::owner(&store, "x").unwrap(), Some(9));
        drop(second);
    }

    #[test]
    fn one_that_is_held_does_not_hold_back_garbage_collection() {
        let store = Store::memory();
        let interrupt = Interrupt::new();
        let held = NamedLock::take(&store, "x", 7, Duration::ZERO, &interrupt).unwrap();
        let now = store.current_ts().unwrap();
        store.set_gc_age(Duration::ZERO);
        assert!(store.run_gc().unwrap().safe_point >= now);
        assert_eq!(NamedLock::owner(&store, "x").unwrap(), Some(7));
        drop(held);
    }
}
