//! Statements that define something, which LOCK INSTANCE FOR BACKUP keeps out.

use std::sync::Arc;

use types::Result;

use crate::metadata_lock::{Claim, INSTANCE, MetadataLocks, Purpose, Stage, Use};
use crate::transaction_locks::TransactionLocks;
use crate::wait::WaitLimit;

/// The right of a statement to define something. Ends when dropped.
pub struct InstanceUse {
    _locks: TransactionLocks,
    _claim: Arc<Claim>,
}

impl InstanceUse {
    /// Keeps others from LOCK INSTANCE. Waits for those that have it.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted.
    pub fn enter(metadata_locks: &Arc<MetadataLocks>, limit: &WaitLimit) -> Result<Self> {
        let claim = metadata_locks.claim(limit.interrupt.session(), Purpose::Definition, &[]);
        let mut locks = TransactionLocks::new(Arc::clone(metadata_locks));
        locks.acquire(INSTANCE, Use::Write, limit)?;
        claim.set(Stage::Holds);
        Ok(Self {
            _locks: locks,
            _claim: claim,
        })
    }
}
