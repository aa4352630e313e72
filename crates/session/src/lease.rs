//! What a statement does where its node has no lease in the store: it waits for one, and goes on or begins again under it.
//!
//! A store that pauses for longer than a lease lasts would else fail everything that comes next, although the node has a
//! lease again within milliseconds. `docs/schema-changes.md` says why that is right, and why a transaction that has written
//! cannot go on.

use std::time::Duration;

use cluster::wait::WaitLimit;
use planner::plan::QueryPlan;
use types::{Error, Result, errno};

use crate::session::{Session, out_of_time};
use crate::transaction::Characteristics;

/// How often a statement is run again: leases last for seconds, so once is nearly always enough.
const AGAIN_MAX: usize = 3;

/// Whether a statement may be run again from its beginning, and what it found there.
pub(crate) struct Rerun {
    left: usize,
    next: Characteristics,
    warnings: (usize, u64),
    last_insert_id: u64,
    /// What functions have left behind, which cannot be taken back.
    traces: (u64, u64),
}

impl Session {
    fn lease_wait(&self) -> Duration {
        let configured = self.shared.catalog.cluster.lease_wait();
        configured.min(self.settings.metadata_lock_wait)
    }

    /// Before the store is asked for what a plan goes by: without a lease nothing is run in any case, and a store that does not
    /// renew it answers such questions neither. `is_query`: the time limit of queries counts, which is not started yet.
    pub(crate) fn await_lease_to_plan(&self, is_query: bool) -> Result<()> {
        let catalog = &self.shared.catalog;
        if catalog.cluster.has_lease() {
            return Ok(());
        }
        let max_execution = self.settings.max_execution;
        let timeout = match is_query && max_execution > Duration::ZERO {
            true => self.lease_wait().min(max_execution),
            false => self.lease_wait(),
        };
        let limit = WaitLimit {
            timeout,
            interrupt: &self.process.interrupt,
        };
        catalog
            .cluster
            .await_lease(&limit)
            .map_err(|error| match error.code {
                errno::ER_SCHEMA_OUT_OF_DATE if timeout < self.lease_wait() => out_of_time(),
                _ => self.interruption(error),
            })
    }

    /// Waits for a lease at the beginning of a statement, which found none.
    #[cold]
    pub(crate) fn regain_lease(&mut self) -> Result<()> {
        let limit = WaitLimit {
            timeout: self.lease_wait(),
            interrupt: &self.process.interrupt,
        };
        let is_bound = self.transaction.has_locked();
        let regained = self
            .table_locks
            .regain(self.shared.catalog.cluster.lease(), is_bound, &limit);
        regained.map_err(|error| {
            if error.code == errno::ER_SCHEMA_OUT_OF_DATE {
                // Whatever the transaction has done cannot be committed any more.
                self.rollback_transaction();
            }
            self.interruption(error)
        })
    }

    /// Opens the transaction that a write runs in, if none is open.
    pub(crate) fn open_for_writing(&mut self) -> Result<()> {
        let (store, interrupt) = (&self.shared.store, &self.process.interrupt);
        let transaction = self.transaction.for_write(store, &self.settings, interrupt)?;
        let start_ts = transaction.start_ts();
        self.begin_within_lease(start_ts)
    }

    /// The same for a query that locks its rows; nothing for any other.
    pub(crate) fn open_for_locking(&mut self, query: &QueryPlan) -> Result<()> {
        let Some(locking) = query.locking else {
            return Ok(());
        };
        let (store, interrupt) = (&self.shared.store, &self.process.interrupt);
        let transaction =
            self.transaction
                .for_locking_read(locking.exclusive, store, &self.settings, interrupt)?;
        let start_ts = transaction.start_ts();
        self.begin_within_lease(start_ts)
    }

    /// A transaction that had to wait for its timestamp may have begun behind the lease, within which it would have to commit.
    /// As long as it has done nothing, the next lease will do.
    fn begin_within_lease(&mut self, start_ts: kv::Timestamp) -> Result<()> {
        let is_behind = |fence: &kv::Fence| fence.last() < start_ts;
        if !self.table_locks.fence().is_some_and(is_behind) || self.transaction.has_locked() {
            return Ok(());
        }
        self.wait_to_cover(start_ts, false)?;
        self.regain_lease()
    }

    /// Whether what is read at a moment may be told; waits for a lease that says so, if there is none. `is_bound`: whether the
    /// transaction has written or locked rows.
    ///
    /// # Errors
    /// 8027 if there is none.
    pub(crate) fn check_read_at(&self, ts: kv::Timestamp, is_bound: impl FnOnce() -> bool) -> Result<()> {
        match self.table_locks.check_read_at(ts) {
            Ok(()) => Ok(()),
            Err(_) => self.wait_to_cover(ts, is_bound()),
        }
    }

    #[cold]
    fn wait_to_cover(&self, ts: kv::Timestamp, is_bound: bool) -> Result<()> {
        let limit = WaitLimit {
            timeout: self.lease_wait(),
            interrupt: &self.process.interrupt,
        };
        self.table_locks
            .wait_to_cover(self.shared.catalog.cluster.lease(), ts, is_bound, &limit)
            .map_err(|error| self.interruption(error))
    }

    /// Before a statement runs; `None`: it is part of a transaction, which ends with its lease.
    pub(crate) fn may_rerun(&self) -> Option<Rerun> {
        let is_alone = self.settings.autocommit && !self.transaction.is_open();
        is_alone.then(|| Rerun {
            left: AGAIN_MAX,
            next: self.transaction.next,
            warnings: (self.diagnostics.warnings.len(), self.diagnostics.count),
            last_insert_id: self.last_insert_id,
            traces: self.traces(),
        })
    }

    /// Whether the statement, of which nothing is committed and nothing sent, is to be run again: its lease was over when it
    /// came to its end. What it left in the session is taken back.
    #[cold]
    pub(crate) fn runs_again(&mut self, rerun: &mut Option<Rerun>, error: &Error) -> bool {
        let Some(rerun) = rerun else { return false };
        // It may also have waited in vain.
        let is_over = self.statement_started.elapsed() >= self.lease_wait();
        if error.code != errno::ER_SCHEMA_OUT_OF_DATE
            || rerun.left == 0
            || rerun.traces != self.traces()
            || is_over
        {
            return false;
        }
        rerun.left -= 1;
        self.transaction.next = rerun.next;
        self.table_locks.release_all();
        self.diagnostics.warnings.truncate(rerun.warnings.0);
        self.diagnostics.count = rerun.warnings.1;
        self.last_insert_id = rerun.last_insert_id;
        true
    }

    fn traces(&self) -> (u64, u64) {
        (self.assignments, self.user_locks.uses())
    }
}
