//! Statements that find their node without a lease, and wait for one.
//!
//! A store that pauses for longer than a lease, and comes back, has the lease renewed, or the node joined again, within
//! milliseconds. Nothing that a statement has not begun with is lost by that: it begins under the new lease, with the
//! definitions that are good then.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use types::{Result, errno};

use super::{Membership, Node, lease_is_over};
use crate::Catalog;
use crate::metadata_lock::{Deadline, WaitLimit};

impl Catalog {
    /// How long a statement waits for a lease where there is none; 0 where nobody else uses the store.
    pub fn lease_wait(&self) -> Duration {
        let membership = self.membership.as_ref();
        membership.map_or(Duration::ZERO, |membership| membership.options.lease_wait)
    }

    /// Whether a statement may begin now; always where nobody else uses the store.
    pub fn has_lease(&self) -> bool {
        let membership = self.membership.as_ref();
        membership.is_none_or(|membership| membership.node().is_good())
    }

    /// Waits until it may.
    ///
    /// # Errors
    /// 8027 when it may not in time, 1317 when interrupted.
    pub fn await_lease(&self, limit: &WaitLimit) -> Result<()> {
        self.wait_for_lease(None, &|_| true, limit).map(drop)
    }

    /// Waits until this node has a lease that `is_enough`; none where nobody else uses the store. `only`: no other lease will
    /// do, so that there is nothing to wait for once it is lost.
    ///
    /// # Errors
    /// 8027 when there is none in time, 1317 when interrupted.
    pub(crate) fn wait_for_lease(
        &self,
        only: Option<&Node>,
        is_enough: &dyn Fn(&Node) -> bool,
        limit: &WaitLimit,
    ) -> Result<Option<Arc<Node>>> {
        let Some(membership) = &self.membership else {
            return Ok(None);
        };
        let deadline = Deadline::new(limit);
        loop {
            let node = membership.node();
            if only.is_some_and(|only| only.is_lost() || only.term != node.term) {
                return Err(lease_is_over());
            }
            if node.is_good() && is_enough(&node) {
                return Ok(Some(node));
            }
            membership.wanted.store(true, Ordering::SeqCst);
            self.hurry();
            let sleep = deadline.next_sleep().map_err(|error| match error.code {
                errno::ER_LOCK_WAIT_TIMEOUT => lease_is_over(),
                _ => error,
            })?;
            let (news, changed) = &membership.news;
            changed.wait_for(&mut news.lock(), sleep);
        }
    }
}

impl Membership {
    /// There is a lease (again).
    pub(super) fn tell_of_lease(&self) {
        let (news, changed) = &self.news;
        let _nobody_begins_to_wait = news.lock();
        changed.notify_all();
    }
}
