//! The last moment at which some transactions may commit.

use crate::error::{Error, Result};
use crate::timestamp::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering};

/// A moment after which those who hold it may not commit any more. It can be moved up, never back, while commits that it
/// bounds are under way; they look at it as late as they can.
///
/// It is compared with commit timestamps, not with a clock: a commit that is late because its message was, or its process
/// stood still, is refused all the same.
#[derive(Debug)]
pub struct Fence(AtomicU64);

impl Fence {
    pub fn new(last: Timestamp) -> Self {
        Self(AtomicU64::new(last))
    }

    /// The last timestamp that a commit may have.
    pub fn last(&self) -> Timestamp {
        self.0.load(Ordering::SeqCst)
    }

    /// Moves it up to `last`.
    pub fn extend(&self, last: Timestamp) {
        self.0.fetch_max(last, Ordering::SeqCst);
    }

    /// # Errors
    /// [`Error::CommitTooLate`] for a timestamp behind it.
    pub fn check(&self, commit_ts: Timestamp) -> Result<()> {
        let last = self.last();
        if commit_ts <= last {
            return Ok(());
        }
        Err(Error::CommitTooLate { commit_ts, last })
    }
}
