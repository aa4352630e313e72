//! COMMIT and ROLLBACK: of transactions, and of single statements in autocommit mode.

use cluster::TransactionLocks;
use types::{Error, Result};

use crate::engine::Engine;
use crate::runner::Runner;

/// The outcome of a commit that its statement has not waited for, and the transaction's metadata locks.
pub struct CommitEnd {
    outcome: kv::Result<kv::Timestamp>,
    locks: TransactionLocks,
}

impl CommitEnd {
    /// Counts the transaction and releases its locks.
    ///
    /// # Errors
    /// Those of the commit.
    pub fn finish(mut self, engine: &Engine) -> Result<()> {
        let result = self.outcome.map(drop).map_err(Error::from);
        engine.counters.count_end(result.is_ok());
        engine.end_locks(&mut self.locks, &result);
        result
    }
}

impl Runner<'_> {
    /// Commits the open transaction, if there is one, and waits for the outcome.
    ///
    /// # Errors
    /// 8027 if the node's lease is over; 1290 if the server has become read-only; failures of the store, among
    /// them the one that leaves the outcome undetermined (8501).
    pub fn commit(&mut self) -> Result<()> {
        self.commit_or_hand_over(|| None::<fn(CommitEnd)>).map(drop)
    }

    /// Commits the open transaction. If it has writes, `observer` may return a function that receives the
    /// outcome, on this thread or on another one. Then this does not wait, and returns `true`.
    ///
    /// # Errors
    /// Those of [`Runner::commit`], where no observer gets them.
    pub fn commit_or_hand_over<D>(&mut self, observer: impl FnOnce() -> Option<D>) -> Result<bool>
    where
        D: FnOnce(CommitEnd) + Send + 'static,
    {
        self.check_lease_of_commit()?;
        self.check_writable_at_commit()?;
        // Rows of temporary tables are there for the next statement, which must not come before.
        if self.transaction.is_dirty()
            && !self.transaction.has_private_writes()
            && let Some(observer) = observer()
        {
            self.hand_over(observer);
            return Ok(true);
        }
        let engine = self.env.engine;
        let was_open = self.transaction.is_open();
        let result = self.transaction.commit(engine.durability());
        if was_open {
            engine.counters.count_end(result.is_ok());
            match result.is_ok() {
                true => self.transaction.ends.commits += 1,
                false => self.transaction.ends.rollbacks += 1,
            }
        }
        engine.end_locks(&mut self.transaction.locks, &result);
        result.map(|()| false)
    }

    fn hand_over(&mut self, observer: impl FnOnce(CommitEnd) + Send + 'static) {
        let lease = self.transaction.locks.lease();
        let locks = self.transaction.locks.hand_over();
        let fence = lease.as_ref().map(|node| node.fence());
        let done = move |outcome| observer(CommitEnd { outcome, locks });
        self.transaction
            .commit_then(self.env.engine.durability(), fence, Box::new(done));
    }

    /// Every statement that writes relies on a lease. A transaction without one must not be written.
    fn check_lease_of_commit(&mut self) -> Result<()> {
        if self.transaction.locks.fence().is_none()
            && self.transaction.is_dirty()
            && self.env.engine.cluster.node().is_some()
        {
            self.rollback();
            return Err(cluster::lease::lease_is_over());
        }
        Ok(())
    }

    /// A transaction that has written before the server became read-only is rolled back, as in MySQL. What it
    /// has written to temporary tables may stay.
    fn check_writable_at_commit(&mut self) -> Result<()> {
        if !self.transaction.is_dirty() {
            return Ok(());
        }
        let writable = self.env.engine.check_writable(self.env.settings.is_admin);
        if writable.is_err() && self.transaction.has_stored_writes() {
            self.rollback();
            return writable;
        }
        Ok(())
    }

    /// Rolls back the open transaction, if there is one.
    pub fn rollback(&mut self) {
        self.transaction.roll_back(&self.env.engine.counters);
    }
}
