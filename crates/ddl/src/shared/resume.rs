//! Resumes jobs that no node works on: those of nodes with expired leases, and those of this node that it
//! could not end.

use std::sync::Arc;

use cluster::meta::Meta;
use cluster::wait::WaitLimit;
use kv::{Durability, Interrupt};
use types::Result;

use super::SharedJobs;
use super::in_work::LocalState;
use super::step::{StepOptions, freeze};
use crate::end::end_undone;
use crate::job::{Job, RESUME_WAIT, is_final};
use crate::local::unseen;
use crate::publish::Requires;

impl SharedJobs {
    /// Undoes a job, if it has not ended yet.
    pub(super) fn undo(&self, job: &mut Job, options: &StepOptions) -> Result<()> {
        let publisher = &self.publisher;
        let Some(stored) = Job::read(&publisher.cluster.store().latest(), job.id)? else {
            return Ok(());
        };
        let is_published = stored.change.as_ref().is_some_and(|made| made.state.is_some());
        if is_published {
            // Writers must maintain the index until no transaction uses it. Otherwise an entry could be left
            // that looks like a duplicate.
            freeze(publisher, job, options, |_| Ok(()))?;
        }
        let requires = match is_published {
            true => Requires::AllNodes,
            // The nodes only need to open the tables.
            false => Requires::NoNode,
        };
        publisher.publish(options.limit, requires, None, |change| end_undone(change, job))
    }

    /// Finishes or undoes the jobs that no node works on.
    ///
    /// # Errors
    /// Those of the store. A job that cannot be ended now stays for the next call.
    pub(crate) fn resume(&self, interrupt: &Arc<Interrupt>) -> Result<()> {
        let cluster = &self.publisher.cluster;
        let jobs = Job::read_all(&cluster.store().snapshot_now()?)?;
        self.in_work.retain(&jobs);
        if jobs.is_empty() {
            return Ok(());
        }
        let live: Vec<i64> = cluster.live_nodes()?.iter().map(|node| node.id).collect();
        for job in jobs {
            let Some(own) = cluster.node() else {
                return Ok(());
            };
            let local = self.in_work.state(job.id);
            let is_own = job.owner == own.id;
            let is_left = is_own || !live.contains(&job.owner);
            // The session learns of it at its next statement.
            let is_lost = is_own && job.lock.as_ref().is_some_and(|lock| lock.term != own.term);
            let in_work = local == Some(LocalState::InWork) && !is_lost;
            if in_work || !is_left || interrupt.is_raised() {
                continue;
            }
            let id = job.id;
            let failed = local == Some(LocalState::Failed);
            if let Err(error) = self.resume_one(job, own.id, failed, interrupt) {
                tracing::warn!(%error, job = id, "a schema change could not be ended; it is tried again");
            }
        }
        Ok(())
    }

    fn resume_one(&self, job: Job, own: i64, failed: bool, interrupt: &Arc<Interrupt>) -> Result<()> {
        let Some(mut job) = self.take_over(&job, own)? else {
            return Ok(());
        };
        let limit = WaitLimit {
            timeout: RESUME_WAIT,
            interrupt,
        };
        if !failed && job.can_go_on(self.publisher.cluster.store()) {
            match self.build_online(&mut job, &StepOptions::statement(&limit), unseen(interrupt)) {
                Err(error) if is_final(error.code) => {
                    tracing::warn!(%error, job = job.id, "a resumed schema change failed and is undone");
                }
                other => return other.map(drop),
            }
        }
        let work = self.in_work.begin(job.id);
        self.undo(&mut job, &StepOptions::undo(&limit))?;
        work.done();
        Ok(())
    }

    /// Makes this node the owner of a job; `None` if another node has taken it first.
    pub(super) fn take_over(&self, job: &Job, own: i64) -> Result<Option<Job>> {
        let mut txn = Meta::begin(self.publisher.cluster.store())?;
        let mut meta = Meta::new(&mut txn);
        match Job::lock(&mut meta, job.id)? {
            Some(mut stored) if stored.owner == job.owner => {
                stored.owner = own;
                stored.put(&mut meta)?;
                txn.commit(Durability::Sync)?;
                Ok(Some(stored))
            }
            _ => Ok(None),
        }
    }
}
