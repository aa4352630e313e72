//! The last timestamp at which transactions may commit.

use crate::error::{Error, Result};
use crate::timestamp::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};

/// A timestamp after which the transactions that share it may not commit. It can be moved up, never back,
/// while they are committing. A commit checks it as late as possible.
///
/// It is compared with commit timestamps, not with a clock. So a commit is also refused if it is late because
/// its message was delayed or its process was suspended.
#[derive(Debug)]
pub struct Fence(AtomicU64);

impl Fence {
    pub fn new(last: Timestamp) -> Self {
        Self(AtomicU64::new(last))
    }

    /// The last timestamp at which a commit is allowed.
    pub fn last(&self) -> Timestamp {
        self.0.load(Ordering::SeqCst)
    }

    /// Moves it up to `last`.
    pub fn extend(&self, last: Timestamp) {
        self.0.fetch_max(last, Ordering::SeqCst);
    }

    /// # Errors
    /// [`Error::CommitTooLate`] for a later timestamp.
    pub fn check(&self, commit_ts: Timestamp) -> Result<()> {
        let last = self.last();
        if commit_ts <= last {
            return Ok(());
        }
        Err(Error::CommitTooLate { commit_ts, last })
    }
}
