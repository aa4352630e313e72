//! Lock requests and their answers. How embedded engines grant locks: `lock_table`. How deadlocks are
//! resolved: `deadlock`.

use crate::interrupt::Interrupt;
use std::sync::Arc;
use std::time::Duration;

/// Identifies a transaction within one lock table.
pub type Owner = u64;

/// `FOR SHARE` or `FOR UPDATE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockMode {
    Shared,
    Exclusive,
}

/// What to do if another transaction holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    /// Wait up to that long for each key, then fail with [`crate::Error::LockTimeout`].
    Timeout(Duration),
    /// Fail at once with [`crate::Error::LockNotAvailable`].
    NoWait,
    /// Skip the key: [`Locked::Skipped`].
    SkipLocked,
}

/// How to lock.
#[derive(Debug, Clone)]
pub struct LockOptions {
    pub mode: LockMode,
    pub wait: LockWait,
    /// Raised by another thread, it ends a wait with [`crate::Error::Interrupted`].
    pub interrupt: Arc<Interrupt>,
}

impl LockOptions {
    /// Exclusive, waits at most `timeout`, never interrupted.
    pub fn exclusive(timeout: Duration) -> Self {
        Self {
            mode: LockMode::Exclusive,
            wait: LockWait::Timeout(timeout),
            interrupt: Interrupt::new(),
        }
    }

    /// Shared, waits at most `timeout`, never interrupted.
    pub fn shared(timeout: Duration) -> Self {
        Self {
            mode: LockMode::Shared,
            ..Self::exclusive(timeout)
        }
    }
}

/// The answer for one key of a lock request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locked {
    /// Locked, with the newest committed value or the transaction's own write. `None`: the key does not
    /// exist. It is locked anyway, so no other transaction can insert it.
    Value(Option<Vec<u8>>),
    /// Another transaction holds it, and the request said SKIP LOCKED.
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
    /// Since the start: requests that had to wait, waits that timed out, deadlocks resolved.
    pub waits: u64,
    /// How long they have waited together, and the longest of them, in milliseconds.
    pub waited_ms: u64,
    pub longest_ms: u64,
    pub timeouts: u64,
    pub deadlocks: u64,
}

/// A lock that a transaction holds.
pub type HeldLock = (Arc<[u8]>, LockMode);

/// A locked key, for `data_locks`, which shows what a transaction waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedKey {
    pub key: Arc<[u8]>,
    pub mode: LockMode,
    pub owners: Vec<Owner>,
    pub waiting: Vec<LockWaiter>,
}

/// A circle of transactions that waited for each other, and which of them was rolled back.
#[derive(Debug, Clone)]
pub struct DeadlockReport {
    pub at: std::time::SystemTime,
    /// Each, with the key that it waited for and in which mode. Each waits for the next one.
    pub members: Vec<(Owner, Arc<[u8]>, LockMode)>,
    pub victim: Owner,
}

/// A request that waits for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockWaiter {
    pub owner: Owner,
    pub mode: LockMode,
    /// How long it has been waiting.
    pub since: Duration,
}
