//! Locks that applications name (GET_LOCK), among the nodes that share a store.
//!
//! A lock is the row lock of a key that is never written, so the store releases it when the node dies. A
//! second key has the number of the connection that holds it, for IS_USED_LOCK(). Among the sessions of one
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
pub struct NamedLock(Transaction);

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
        let mut naming = Meta::begin(store)?;
        Meta::new(&mut naming).put_counter(keys::user_lock_owner(name), connection)?;
        naming.commit(Durability::Os)?;
        Ok(Some(Self(transaction)))
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

    pub fn release(self) {
        self.0.rollback();
    }
}

#[cfg(test)]
mod tests {
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
        first.release();
        assert_eq!(NamedLock::owner(&store, "x").unwrap(), None);
        let second = take(9).unwrap();
        assert_eq!(NamedLock::owner(&store, "x").unwrap(), Some(9));
        drop(second);
    }
}
