//! Schema changes in a store that several processes share.
//!
//! Instead of metadata locks, as in a local schema change, schema versions are used, which every node
//! follows. A job *freezes* its tables by one version, which closes them on all nodes, and publishes its
//! change by the next version, which opens them. New indexes go through the states of F1's protocol, for
//! which nothing is frozen.
//!
//! If some nodes do not reach a version soon, because of a long transaction, the version is taken back and
//! published again after a pause ([`step`]). So other statements are delayed only briefly, as by a local
//! schema change, and schema changes of other tables can proceed.
//!
//! LOCK TABLES is a job that does nothing with its tables, and keeps them frozen, or closed to writers
//! ([`lock_tables`]).
//!
//! A job belongs to the node that runs the statement, as long as that node's lease lasts. After that any
//! other node may take it over ([`resume`]). The lock of the job's record decides which node does. Every step
//! of a job checks that the node still owns it.

mod in_work;
mod lock_tables;
mod resume;
mod step;
#[cfg(test)]
pub(crate) mod test_steps;

use std::sync::Arc;
use std::time::Duration;

use cluster::lease::lease_is_over;
use cluster::wait::{Deadline, WaitLimit, state};
use in_work::JobsInWork;
pub(crate) use in_work::Work;
use kv::Interrupt;
use schema::definition::{AlterChange, AlterWay, TableName};
use schema::model::{Schema, SchemaState, Table};
use step::{StepOptions, freeze, publish_state, stop_writers};
use types::{Error, Result};

use crate::alter_check::altered;
use crate::altered::Altered;
use crate::backfill::backfill;
use crate::between::reserve_ids;
use crate::change::{Change, Outcome};
use crate::context::{Statement, Watch, changeable_table};
use crate::end::{end, end_with_altered, end_with_target, own};
use crate::job::{Job, RESUME_WAIT, TableChange, no_such_job};
use crate::local::closed_steps;
use crate::page_work::Backfilled;
use crate::publish::{Publisher, Requires};
use crate::way::Others;
use crate::{foreign_key, rows, way};

/// The time between two attempts to reserve tables that another job has. It doubles, because each attempt locks
/// the stored version, and a session may keep its LOCK TABLES for hours.
const BUSY_PAUSE_MIN: Duration = Duration::from_millis(10);
const BUSY_PAUSE_MAX: Duration = Duration::from_millis(200);

/// The result of an attempt to reserve tables.
enum Claim {
    Made(Box<Job>),
    /// Another job changes one of the tables.
    Busy,
    /// The definitions have changed, so the job must be planned again.
    Stale,
}

pub(crate) struct SharedJobs {
    publisher: Arc<Publisher>,
    in_work: JobsInWork,
}

impl SharedJobs {
    pub(crate) fn new(publisher: Arc<Publisher>) -> Self {
        Self {
            publisher,
            in_work: JobsInWork::default(),
        }
    }

    /// Stores a job for tables that no other job changes; `None` if `make` finds that their definitions have
    /// changed.
    fn claim(
        &self,
        limit: &WaitLimit,
        make: &dyn Fn(&Schema) -> Result<Option<Job>>,
    ) -> Result<Option<(Job, Work<'_>)>> {
        let deadline = Deadline::showing(limit, state::TABLE);
        let mut pause = BUSY_PAUSE_MIN;
        loop {
            let mut work = None;
            let claim = self
                .publisher
                .publish(limit, Requires::AllNodes, None, |change| {
                    let Some(mut job) = make(&change.schema)? else {
                        return Ok(Outcome::Nothing(Claim::Stale));
                    };
                    let others = Job::read_all(&change.meta.reader())?;
                    if others.iter().any(|other| job.excludes(other)) {
                        return Ok(Outcome::Nothing(Claim::Busy));
                    }
                    job = job.with_id(&mut change.meta)?;
                    work = Some(self.own(&mut job)?);
                    job.put(&mut change.meta)?;
                    Ok(Outcome::Stored(Claim::Made(Box::new(job))))
                })?;
            match claim {
                Claim::Made(job) => return Ok(work.map(|work| (*job, work))),
                Claim::Stale => return Ok(None),
                Claim::Busy => {
                    deadline.sleep(pause)?;
                    pause = (pause * 2).min(BUSY_PAUSE_MAX);
                }
            }
        }
    }

    /// Makes this node the owner of a new job. This must be done before the job is stored. Otherwise another
    /// thread of this node might regard the job as unfinished and resume it.
    pub(crate) fn own(&self, job: &mut Job) -> Result<Work<'_>> {
        job.owner = self.publisher.cluster.node().ok_or_else(lease_is_over)?.id;
        Ok(self.in_work.begin(job.id))
    }

    /// ALTER TABLE.
    pub(crate) fn alter(
        &self,
        name: &TableName,
        changes: &[AlterChange],
        way: AlterWay,
        statement: &Statement,
    ) -> Result<Altered> {
        let limit = statement.limit();
        let cluster = &self.publisher.cluster;
        loop {
            let schema = cluster.schema();
            let base = changeable_table(&schema, name, statement)?;
            let mut altered = altered(cluster, &schema, &base, changes, statement)?;
            let others = way::check(way, &base, changes, &mut altered)?;
            let online = others == Others::Write;
            let claimed = self.claim(&limit, &|schema| {
                let now = changeable_table(schema, name, statement)?;
                Ok((now == base).then(|| Job {
                    tables: foreign_key::altered_with(schema, &base, &altered),
                    change: Some(TableChange::of(&base, &altered, online)),
                    ..Job::of(&statement.about)
                }))
            })?;
            let Some(job) = claimed else { continue };
            let options = StepOptions::statement(&limit);
            altered.warn(statement);
            let made = self.work_on(job, |job| {
                if !online {
                    return self.alter_closed(job, others, &options, &base, &altered, statement);
                }
                let made = self.build_online(job, &options, statement.watch())?;
                // Other statements may be allocating ids now, so the counter can only be raised.
                if let Some(next) = altered.auto_increment {
                    cluster.ids().raise_to(&altered.table, next - 1)?;
                }
                Ok(made)
            })?;
            altered.report(made);
            return Ok(altered);
        }
    }

    /// Builds new indexes or rows while other statements use the table.
    fn build_online(&self, job: &mut Job, options: &StepOptions, watch: Watch<'_>) -> Result<Backfilled> {
        let publisher = &self.publisher;
        let state = job.change.as_ref().and_then(|made| made.state);
        if state.is_none() {
            publish_state(publisher, job, options, SchemaState::DeleteOnly, None)?;
        }
        // This is done also for a job that is taken over in this state, because some nodes may not have
        // reached it. If the step fails, such a job stays write-only, because in an earlier state writers
        // would not maintain the entries that are already written.
        let before = state.unwrap_or(SchemaState::DeleteOnly);
        if before < SchemaState::Public {
            publish_state(publisher, job, options, SchemaState::WriteOnly, Some(before))?;
        }
        let cluster = &publisher.cluster;
        let mut done = backfill(cluster, &*self.table_of(job)?, job, watch)?;
        if job.change.as_ref().is_some_and(|made| !made.new_keys.is_empty()) {
            let before = before.max(SchemaState::WriteOnly);
            publish_state(publisher, job, options, SchemaState::Public, Some(before))?;
        }
        if let Some(made) = job.change.as_ref().filter(|made| made.validates()) {
            let checked = rows::validate(cluster, &*self.table_of(job)?, made, watch.interrupt)?;
            done = done.with_checked(checked);
        }
        freeze(publisher, job, options, |_| Ok(()))?;
        publisher.publish(options.limit, Requires::AllNodes, Some(&job.about), |change| {
            end_with_target(change, job)
        })?;
        Ok(done)
    }

    /// The stored definition of the table that a job changes.
    fn table_of(&self, job: &Job) -> Result<Arc<Table>> {
        let schema = self.publisher.cluster.read_schema()?;
        let id = job.change.as_ref().map(|made| made.table);
        let table = id.and_then(|id| schema.table_by_id(id));
        table
            .cloned()
            .ok_or_else(|| Error::internal("the table of a job does not exist"))
    }

    /// Changes a table while others only read it, or do not use it at all.
    fn alter_closed(
        &self,
        job: &mut Job,
        others: Others,
        options: &StepOptions,
        base: &Table,
        altered: &Altered,
        statement: &Statement,
    ) -> Result<Backfilled> {
        let publisher = &self.publisher;
        let cluster = &publisher.cluster;
        let builds = !altered.new_indexes.is_empty();
        let reserve = |change: &mut Change<'_>| match builds {
            // The revision stays, because statements see the same definition.
            true => change.put_table_back(&reserve_ids(base, altered)),
            false => Ok(()),
        };
        match others {
            Others::Nothing => freeze(publisher, job, options, reserve)?,
            Others::Read | Others::Write => stop_writers(publisher, job, options, reserve)?,
        }
        let checked = rows::inspect(cluster, base, altered, statement)?;
        let works = (builds || altered.rewrite.is_some()).then_some(&*job);
        let (made, counter) = closed_steps(cluster, base, altered, works, statement)?;
        if others != Others::Nothing {
            freeze(publisher, job, options, |_| Ok(()))?;
        }
        publisher.publish(options.limit, Requires::AllNodes, Some(&job.about), |change| {
            end_with_altered(change, Some(job), altered, counter)
        })?;
        Ok(made.with_checked(checked))
    }

    /// DROP, TRUNCATE, RENAME: freezes the tables that `resolve` finds, and publishes `make`. Starts again if
    /// `resolve` finds other tables then.
    pub(crate) fn change_tables<T>(
        &self,
        statement: &Statement,
        resolve: &dyn Fn(&Schema) -> Result<Vec<i64>>,
        make: &mut dyn FnMut(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        let limit = statement.limit();
        let publisher = &self.publisher;
        loop {
            let tables = resolve(&publisher.cluster.schema())?;
            let claimed = self.claim(&limit, &|schema| {
                Ok((resolve(schema)? == tables).then(|| Job {
                    tables: tables.clone(),
                    ..Job::of(&statement.about)
                }))
            })?;
            let Some(job) = claimed else { continue };
            let options = StepOptions::statement(&limit);
            let answer = self.work_on(job, |job| {
                if !tables.is_empty() {
                    freeze(publisher, job, &options, |_| Ok(()))?;
                }
                let about = Some(&statement.about);
                publisher.publish(&limit, Requires::AllNodes, about, |change| {
                    let stored = own(change, job)?.ok_or_else(|| no_such_job(job.id))?;
                    options.check(&stored)?;
                    // A database may have more tables now.
                    if resolve(&change.schema)? != tables {
                        return Ok(Outcome::Nothing(None));
                    }
                    let made = make(change)?.map(Some);
                    if matches!(made, Outcome::Done(_)) {
                        end(change, &stored)?;
                    }
                    Ok(made)
                })
            })?;
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
    }

    /// Runs the work on a job. If the job is not finished then, undoes it, now or, if that takes too long,
    /// later.
    fn work_on<T>(
        &self,
        (mut job, work): (Job, Work<'_>),
        body: impl FnOnce(&mut Job) -> Result<T>,
    ) -> Result<T> {
        let outcome = body(&mut job);
        let id = job.id;
        if let Err(error) = self.undo_at_once(job, work) {
            tracing::warn!(%error, job = id, "a schema change is undone later");
        }
        outcome
    }

    /// Undoes a job, if it has not ended.
    ///
    /// # Errors
    /// Those of the store. The job is undone later.
    pub(crate) fn undo_at_once(&self, mut job: Job, work: Work<'_>) -> Result<()> {
        // The statement's interrupt is not used, because even a killed statement must be undone.
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: RESUME_WAIT,
            interrupt: &interrupt,
        };
        self.undo(&mut job, &StepOptions::undo(&limit))?;
        work.done();
        Ok(())
    }
}
