//! One step of a schema change among nodes: a version that all nodes must reach.

use std::cell::RefCell;
use std::time::Instant;

use cluster::metadata_lock::{PAUSE_MAX, PAUSE_MIN};
use cluster::wait::{Deadline, WaitLimit, state};
use kv::Interrupt;
use schema::model::{SchemaState, Table};
use types::{Error, Result};

use crate::between::put_in_state;
use crate::change::{Change, Outcome};
use crate::end::own;
use crate::job::{Job, RESUME_WAIT, check_not_cancelled, no_such_job};
use crate::publish::{Publisher, ROUND, Requires};

/// How long a step may take, and whether it stops if its job is cancelled.
pub(super) struct StepOptions<'a> {
    pub(super) limit: &'a WaitLimit<'a>,
    stops_if_cancelled: bool,
}

impl<'a> StepOptions<'a> {
    pub(super) fn statement(limit: &'a WaitLimit<'a>) -> Self {
        Self {
            limit,
            stops_if_cancelled: true,
        }
    }

    pub(super) fn undo(limit: &'a WaitLimit<'a>) -> Self {
        Self {
            limit,
            stops_if_cancelled: false,
        }
    }

    pub(super) fn check(&self, job: &Job) -> Result<()> {
        match self.stops_if_cancelled {
            true => check_not_cancelled(job),
            false => Ok(()),
        }
    }
}

/// Publishes `forward`, a change of the job and of its definitions, and waits until all nodes use it. If some
/// take long, publishes `back`, which takes it back, and tries again after a pause. So other statements are
/// delayed only briefly.
fn step(
    publisher: &Publisher,
    job: &mut Job,
    options: &StepOptions,
    forward: impl Fn(&mut Change<'_>, &mut Job) -> Result<()>,
    back: impl Fn(&mut Change<'_>, &mut Job) -> Result<()>,
) -> Result<()> {
    let deadline = Deadline::showing(options.limit, state::TABLE);
    let cluster = &publisher.cluster;
    let mut pause = PAUSE_MIN;
    loop {
        let version = publish_step(publisher, job, options, Requires::AllNodes, &forward)?;
        let id = job.id;
        let check = || match Job::read(&cluster.store().latest(), id)? {
            Some(stored) => options.check(&stored),
            None => Ok(()),
        };
        let until = Instant::now() + ROUND;
        let reached = cluster.wait_for_nodes(version, &check, &deadline, Some(until));
        if matches!(reached, Ok(true)) {
            return Ok(());
        }
        // The statement's interrupt is not used, because even a killed statement must be undone.
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: RESUME_WAIT,
            interrupt: &interrupt,
        };
        let undo = StepOptions::undo(&limit);
        let taken_back = publish_step(publisher, job, &undo, Requires::NoNode, &back);
        reached.and(taken_back)?;
        deadline.sleep(pause)?;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Publishes a step of a job and returns its version.
fn publish_step(
    publisher: &Publisher,
    job: &mut Job,
    options: &StepOptions,
    requires: Requires,
    make: &impl Fn(&mut Change<'_>, &mut Job) -> Result<()>,
) -> Result<u64> {
    let (stored, version) = publisher.publish(options.limit, requires, None, |change| {
        let mut stored = own(change, job)?.ok_or_else(|| no_such_job(job.id))?;
        options.check(&stored)?;
        make(change, &mut stored)?;
        stored.put(&mut change.meta)?;
        Ok(Outcome::Done((stored, change.schema.version)))
    })?;
    *job = stored;
    Ok(version)
}

/// Closes the job's tables on all nodes, until a version in which the job does not freeze them. Those that are closed to
/// writers stay so meanwhile. `also`: other changes in this version.
pub(super) fn freeze(
    publisher: &Publisher,
    job: &mut Job,
    options: &StepOptions,
    also: impl Fn(&mut Change<'_>) -> Result<()>,
) -> Result<()> {
    close(publisher, job, options, also, Job::close, Job::open)
}

/// Closes the job's tables to writers on all nodes. `also`: other changes in this version.
pub(super) fn stop_writers(
    publisher: &Publisher,
    job: &mut Job,
    options: &StepOptions,
    also: impl Fn(&mut Change<'_>) -> Result<()>,
) -> Result<()> {
    close(
        publisher,
        job,
        options,
        also,
        Job::stop_writers,
        Job::admit_writers,
    )
}

/// A step that closes the job's tables, and opens them again if it is taken back.
fn close(
    publisher: &Publisher,
    job: &mut Job,
    options: &StepOptions,
    also: impl Fn(&mut Change<'_>) -> Result<()>,
    close: fn(&mut Job),
    open: fn(&mut Job),
) -> Result<()> {
    let forward = |change: &mut Change<'_>, job: &mut Job| {
        close(job);
        also(change)
    };
    step(publisher, job, options, forward, |_, job| {
        open(job);
        Ok(())
    })
}

/// Publishes the new indexes or rows of a job in a state; `before` is the previous one.
pub(super) fn publish_state(
    publisher: &Publisher,
    job: &mut Job,
    options: &StepOptions,
    state: SchemaState,
    before: Option<SchemaState>,
) -> Result<()> {
    // It keeps its revision, so that a node that has not followed the step need not follow the step back.
    let table_before = RefCell::new(None);
    let forward = |change: &mut Change<'_>, job: &mut Job| {
        let table = table_of(change, job)?;
        table_before.replace(Some(table));
        put_state(change, job, state)
    };
    let back = |change: &mut Change<'_>, job: &mut Job| {
        let Some(mut table) = table_before.borrow().clone() else {
            return Ok(());
        };
        if let Some(made) = &mut job.change {
            made.state = before;
            // Nodes that have followed the step may have written values of its columns.
            made.reserve_columns(&mut table);
        }
        change.put_table_back(&table)
    };
    step(publisher, job, options, forward, back)
}

fn table_of(change: &Change<'_>, job: &Job) -> Result<Table> {
    let id = job.change.as_ref().map(|made| made.table);
    id.and_then(|id| change.schema.table_by_id(id))
        .map(|table| Table::clone(table))
        .ok_or_else(|| Error::internal("the table of a job does not exist"))
}

/// Stores the table of a job with the job's new parts in a state.
fn put_state(change: &mut Change<'_>, job: &mut Job, state: SchemaState) -> Result<()> {
    let made = job
        .change
        .as_mut()
        .ok_or_else(|| Error::internal("a job without a table"))?;
    made.state = Some(state);
    put_in_state(change, made, state)
}
