//! A lock that is held, and a request that waits for one.

use crate::lock::{LockMode, Owner};
use crate::pending_commit::PendingCommit;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::thread::Thread;
use std::sync::Arc;

/// States of a [`Waiter`]. The thread that changes it from `WAITING` decides how the wait ends.
pub(crate) const WAITING: u8 = 0;
pub(crate) const GRANTED: u8 = 1;
pub(crate) const VICTIM: u8 = 2;
pub(crate) const GONE: u8 = 3;

/// A lock that a transaction holds, and needs for the release.
#[derive(Debug, Clone)]
pub struct HeldKey {
    pub key: Arc<[u8]>,
    /// Of the key, in its lock table.
    pub(crate) hash: u64,
}

/// One request that waits.
pub(crate) struct Waiter {
    pub owner: Owner,
    /// How many keys the transaction holds. The one with the fewest is the victim of a deadlock.
    pub locks_held: usize,
    pub mode: LockMode,
    pub state: AtomicU8,
    /// Set with the grant: the pending commit whose lock the waiter takes over.
    pub pending: Mutex<Option<Arc<PendingCommit>>>,
    pub thread: Thread,
}

impl Waiter {
    /// Ends the wait and wakes the thread; false if it has ended before.
    pub fn end(&self, state: u8) -> bool {
        let decided = self
            .state
            .compare_exchange(WAITING, state, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        if decided {
            self.thread.unpark();
        }
        decided
    }

    /// Ends the wait with [`crate::Error::Deadlock`].
    pub fn make_victim(&self) -> bool {
        self.end(VICTIM)
    }

    pub fn is_waiting(&self) -> bool {
        self.state.load(Ordering::SeqCst) == WAITING
    }
}
