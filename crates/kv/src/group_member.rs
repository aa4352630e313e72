//! What a transaction gives to the group that commits it.

use crate::buffer::WriteBuffer;
use crate::error::{Error, Result};
use crate::locked_versions::LockedVersions;
use crate::pending_commit::PendingCommit;
use crate::storage::Storage;
use crate::timestamp::Timestamp;
use std::sync::Arc;

/// A transaction of a commit group.
pub(crate) struct GroupMember<P> {
    pub work: Work<P>,
    /// The last timestamp at which it may be committed.
    pub last_ts: Timestamp,
    /// Whether it may use the disk space that is kept free. Other members of its run may do so then too,
    /// which is rare and bounded.
    pub use_reserve: bool,
    pub commit: Arc<PendingCommit>,
}

/// What the group has to write for a member.
pub(crate) enum Work<P> {
    Prepared(P),
    /// Writes to be prepared once `dependencies` have been applied. All that they replace is fresh or in
    /// `locked` then, so that preparing reads nothing.
    Dependent {
        writes: Arc<WriteBuffer>,
        locked: LockedVersions,
        dependencies: Vec<Arc<PendingCommit>>,
    },
}

impl<P> GroupMember<P> {
    /// Whether it depends on a commit of the run that is being gathered.
    pub fn needs_new_run(&self) -> bool {
        match &self.work {
            Work::Prepared(_) => false,
            Work::Dependent { dependencies, .. } => dependencies
                .iter()
                .any(|commit| !commit.is_applied() && !commit.has_failed()),
        }
    }
}

impl<P> Work<P> {
    pub fn prepare<S: Storage<Prepared = P>>(self, storage: &S) -> Result<P> {
        match self {
            Self::Prepared(prepared) => Ok(prepared),
            // When a commit fails, the commits that depend on it fail too.
            Self::Dependent { dependencies, .. }
                if !dependencies.iter().all(|commit| commit.is_applied()) =>
            {
                Err(Error::Deadlock)
            }
            Self::Dependent { writes, locked, .. } => storage.prepare(&writes, &locked),
        }
    }
}
