//! What carries out definition statements: the parts that one process needs for it.

use std::sync::Arc;
use std::time::Duration;

use cluster::Cluster;
use cluster::workers::{Wake, Workers};
use kv::Interrupt;
use schema::model::Schema;
use types::Result;

use crate::change::{Change, Outcome};
use crate::context::Statement;
use crate::garbage;
use crate::history::{self, DdlJob};
use crate::local::LocalJobs;
use crate::publish::{Publisher, Requires};
use crate::shared::SharedJobs;

/// How often unfinished jobs and the garbage queue are checked.
const PERIOD: Duration = Duration::from_secs(5);
/// How often unfinished jobs are checked among nodes: another node can crash at any time, and its job delays
/// other statements until a node takes it over.
const SHARED_PERIOD: Duration = Duration::from_millis(500);

/// How schema changes exclude other statements.
pub(crate) enum Jobs {
    /// By metadata locks: one process has the store to itself.
    Local(LocalJobs),
    /// By schema versions: several processes share the store.
    Shared(SharedJobs),
}

/// Carries out definition statements, and finishes those that a crash has interrupted.
pub struct SchemaChanger {
    publisher: Arc<Publisher>,
    pub(crate) jobs: Jobs,
    workers: Workers,
}

impl SchemaChanger {
    /// # Errors
    /// 1105 when a stored schema change is damaged; those of the store.
    pub fn open(cluster: Arc<Cluster>) -> Result<Arc<Self>> {
        let is_shared = cluster.is_shared();
        let publisher = Arc::new(Publisher::new(cluster));
        let jobs = if is_shared {
            Jobs::Shared(SharedJobs::new(Arc::clone(&publisher)))
        } else {
            Jobs::Local(LocalJobs::open(Arc::clone(&publisher))?)
        };
        Ok(Arc::new(Self {
            publisher,
            jobs,
            workers: Workers::default(),
        }))
    }

    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.publisher.cluster
    }

    /// Starts the threads that end unfinished schema changes and destroy what was dropped. They end with
    /// [`SchemaChanger::stop`].
    ///
    /// # Errors
    /// When the operating system has no more threads.
    pub fn start(self: &Arc<Self>) -> Result<()> {
        if self.workers.is_running() {
            return Ok(());
        }
        let is_shared = self.cluster().is_shared();
        self.workers
            .repeat(self, "ddl-jobs", Wake::ByTime, move |changer, signal| {
                changer.resume_jobs(signal.interrupt());
                if is_shared {
                    return SHARED_PERIOD;
                }
                changer.collect_garbage();
                PERIOD
            })?;
        if is_shared {
            // A thread of its own: each may have to wait for a part of the store, and the other must not.
            self.workers
                .repeat(self, "ddl-garbage", Wake::ByTime, |changer, _| {
                    changer.collect_garbage();
                    PERIOD
                })?;
        }
        Ok(())
    }

    /// Ends the threads of [`SchemaChanger::start`].
    pub fn stop(&self) {
        self.workers.stop();
    }

    /// The definition statements of all nodes that run, and at most `past` of those that are done; the newest
    /// first.
    ///
    /// # Errors
    /// Those of the store.
    pub fn history(&self, past: usize) -> Result<Vec<DdlJob>> {
        history::list(self.cluster(), past)
    }

    /// ADMIN CANCEL DDL JOBS of one job: the node that works on it stops and undoes it.
    ///
    /// # Errors
    /// 8224 when there is no such job, or it is done; those of the store.
    pub fn cancel(&self, id: i64) -> Result<()> {
        history::cancel(self.cluster().store(), id)
    }

    /// Finishes or undoes the jobs that no process works on.
    pub(crate) fn resume_jobs(&self, interrupt: &Arc<Interrupt>) {
        match &self.jobs {
            Jobs::Local(jobs) => jobs.resume(interrupt),
            Jobs::Shared(jobs) => {
                if let Err(error) = jobs.resume(interrupt) {
                    tracing::warn!(%error, "unfinished schema changes could not be read");
                }
            }
        }
    }

    pub(crate) fn collect_garbage(&self) {
        if let Err(error) = garbage::collect(self.cluster()) {
            tracing::warn!(%error, "destroying dropped data failed; it is tried again");
        }
    }

    /// Publishes the change that a statement makes.
    pub(crate) fn publish_for<T>(
        &self,
        statement: &Statement,
        make: impl FnOnce(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        let (limit, about) = (statement.limit(), Some(&statement.about));
        self.publisher.publish(&limit, Requires::AllNodes, about, make)
    }

    /// Excludes other statements from the tables that `resolve` finds, and publishes `make`. Starts again if
    /// `resolve` finds other tables then.
    pub(crate) fn change_tables<T>(
        &self,
        statement: &Statement,
        resolve: &dyn Fn(&Schema) -> Result<Vec<i64>>,
        make: &mut dyn FnMut(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        match &self.jobs {
            Jobs::Local(jobs) => jobs.change_tables(statement, resolve, make),
            Jobs::Shared(jobs) => jobs.change_tables(statement, resolve, make),
        }
    }
}
