//! The interface of user-level locks, which applications name. The session implements it.
//!
//! Source: manual 12.15 "Locking Functions".

pub(crate) mod functions;

use std::time::Duration;

use types::Result;

/// The user-level locks as one session sees them. Names are in lower case.
pub trait UserLocks: Send + Sync {
    /// Acquires a lock, once more if the session has it already. `false` after the time-out.
    ///
    /// # Errors
    /// 3058 if the wait would be a deadlock; the error of `check`, which is called from time to time.
    fn acquire(&self, name: &str, timeout: Duration, check: &dyn Fn() -> Result<()>) -> Result<bool>;

    /// Releases a lock once. `None` if no session has it; `Some(false)` if another session has it.
    ///
    /// # Errors
    /// Those of the store, where servers share it.
    fn release(&self, name: &str) -> Result<Option<bool>>;

    /// Releases all of the session's locks. Returns how many there were, counting each acquisition.
    fn release_all(&self) -> u64;

    /// The connection that has a lock.
    ///
    /// # Errors
    /// Those of the store, where servers share it.
    fn owner(&self, name: &str) -> Result<Option<u64>>;
}

/// For expressions without a session: no lock exists, and none can be acquired.
pub(crate) struct NoLocks;

impl UserLocks for NoLocks {
    fn acquire(&self, _: &str, _: Duration, _: &dyn Fn() -> Result<()>) -> Result<bool> {
        Ok(false)
    }

    fn release(&self, _: &str) -> Result<Option<bool>> {
        Ok(None)
    }

    fn release_all(&self) -> u64 {
        0
    }

    fn owner(&self, _: &str) -> Result<Option<u64>> {
        Ok(None)
    }
}
