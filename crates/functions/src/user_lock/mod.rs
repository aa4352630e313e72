//! Locks that applications name themselves: what the functions need of the session, which has the locks.
//!
//! Source: manual 12.15 "Locking Functions".

pub(crate) mod functions;

use std::time::Duration;

use types::Result;

/// The user-level locks as one session sees them. Names come in lower case.
pub trait UserLocks: Send + Sync {
    /// Takes a lock, once more if the session has it. False: the time is over.
    ///
    /// # Errors
    /// 3058 when the wait would never end, and what `check` says, which is asked now and then.
    fn acquire(&self, name: &str, timeout: Duration, check: &dyn Fn() -> Result<()>) -> Result<bool>;

    /// Gives a lock back, once. `None`: nobody has it; `Some(false)`: another session has.
    fn release(&self, name: &str) -> Option<bool>;

    /// Gives all of the session's locks back; how many there were, each as often as it was taken.
    fn release_all(&self) -> u64;

    /// The connection that has a lock.
    fn owner(&self, name: &str) -> Option<u64>;
}

/// Where there is no session: nothing is locked, and nothing can be.
pub(crate) struct NoLocks;

impl UserLocks for NoLocks {
    fn acquire(&self, _: &str, _: Duration, _: &dyn Fn() -> Result<()>) -> Result<bool> {
        Ok(false)
    }

    fn release(&self, _: &str) -> Option<bool> {
        None
    }

    fn release_all(&self) -> u64 {
        0
    }

    fn owner(&self, _: &str) -> Option<u64> {
        None
    }
}
