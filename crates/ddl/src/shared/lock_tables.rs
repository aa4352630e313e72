//! LOCK TABLES among nodes.
//!
//! The lock is a job. The version that closes its tables reaches all nodes before the statement ends; on the
//! node of the session, too, it is this version that keeps other sessions out. The version that ends the job
//! need not be waited for: a node that has not followed it keeps tables closed for a little longer.

use std::time::Instant;

use cluster::lease::lease_is_over;
use cluster::wait::WaitLimit;
use types::{Error, Result};

use super::SharedJobs;
use super::step::{StepOptions, freeze};
use crate::job::{Job, SessionLock};

impl SharedJobs {
    /// Locks tables for a session: their ids, each once, and whether others may not even read them.
    ///
    /// # Errors
    /// 1205 after the timeout, 1317 when interrupted, 8027 if the lease is lost meanwhile; those of the store.
    /// Then nothing stays locked.
    pub(crate) fn lock_tables(&self, tables: &[(i64, bool)], limit: &WaitLimit) -> Result<Job> {
        let cluster = &self.publisher.cluster;
        let start = Instant::now();
        let term = cluster.node().ok_or_else(lease_is_over)?.term;
        let mut all: Vec<i64> = tables.iter().map(|(table, _)| *table).collect();
        let mut shared: Vec<i64> = tables
            .iter()
            .filter_map(|(table, write)| (!write).then_some(*table))
            .collect();
        all.sort_unstable();
        shared.sort_unstable();
        let claimed = self.claim(limit, &|_| {
            let (tables, shared) = (all.clone(), shared.clone());
            Ok(Some(Job {
                tables,
                lock: Some(SessionLock { shared, term }),
                ..Job::default()
            }))
        })?;
        let (mut job, work) = claimed.ok_or_else(|| Error::internal("LOCK TABLES without a job"))?;
        // What waiting for other jobs has taken is not waited for once more.
        let left = WaitLimit {
            timeout: limit.timeout.saturating_sub(start.elapsed()),
            interrupt: limit.interrupt,
        };
        let options = StepOptions::statement(&left);
        let mut locked = freeze(&self.publisher, &mut job, &options, |_| Ok(()));
        if cluster.node().is_none_or(|node| node.term != term) {
            locked = Err(lease_is_over());
        }
        match locked {
            Ok(()) => {
                work.goes_on();
                Ok(job)
            }
            Err(error) => {
                if let Err(error) = self.undo_at_once(job, work) {
                    tracing::warn!(%error, "tables stay locked for a moment");
                }
                Err(error)
            }
        }
    }

    /// Releases what [`SharedJobs::lock_tables`] has locked. If the store does not answer now, it is tried
    /// again, by this node or another.
    pub(crate) fn unlock_tables(&self, job: Job) {
        let work = self.in_work.begin(job.id);
        if let Err(error) = self.undo_at_once(job, work) {
            tracing::warn!(%error, "tables that a session has unlocked stay locked for a moment");
        }
    }
}
