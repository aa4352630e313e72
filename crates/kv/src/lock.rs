//! The words of a lock request. How embedded engines grant them: `lock_table`; who gives way: `deadlock`.

use crate::interrupt::Interrupt;
use std::sync::Arc;
use std::time::Duration;

/// `FOR SHARE` or `FOR UPDATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    Shared,
    Exclusive,
}

/// What to do about a lock that someone else holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// Wait that long for each key, then fail with [`crate::Error::LockTimeout`].
    Timeout(Duration),
    /// Fail at once with [`crate::Error::LockNotAvailable`].
    NoWait,
    /// Leave that key alone and say so ([`Locked::Skipped`]).
    SkipLocked,
}

/// How to lock.
#[derive(Debug, Clone)]
pub struct LockOptions {
    pub mode: LockMode,
    pub wait: LockWait,
    /// Raised from outside, it ends a wait with [`crate::Error::Interrupted`].
    pub interrupt: Arc<Interrupt>,
}

impl LockOptions {
    /// Exclusive, waiting at most `timeout`, interrupted by nobody.
    pub fn exclusive(timeout: Duration) -> Self {
        Self {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(timeout),
            interrupt: Interrupt::new(),
        }
    }

    /// Shared, waiting at most `timeout`, interrupted by nobody.
    pub fn shared(timeout: Duration) -> Self {
        Self {
            mode: LockMode::Shared,
            ..Self::exclusive(timeout)
        }
    }
}

/// What became of one key of a lock request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locked {
    /// Locked; with the newest committed value, or the transaction's own write. `None`: no such key, which is locked
    /// all the same, so nobody else can insert it.
    Value(Option<Vec<u8>>),
    /// Someone else holds it, and the request said SKIP LOCKED.
    Skipped,
}

impl Locked {
    /// The value, if the key was locked and has one.
    pub fn into_value(self) -> Option<Vec<u8>> {
        match self {
            Self::Value(value) => value,
            Self::Skipped => None,
        }
    }
}

/// Figures about locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Keys locked right now.
    pub held: u64,
    /// Requests waiting right now.
    pub waiting: u64,
    /// Since the start: requests that had to wait, waits that timed out, deadlocks broken.
    pub waits: u64,
    pub timeouts: u64,
    pub deadlocks: u64,
}
