//! Definition statements where several processes share the store.
//!
//! What a local statement does with a metadata lock is done here by schema versions, which every node follows
//! ([`crate::nodes`]): a job *freezes* its tables with one version, which closes them on all nodes, and makes its change
//! with the next, which opens them. New indexes come in the states of F1's protocol, for which nothing is frozen.
//!
//! A version that not all nodes reach soon, because a transaction on one of them is long, is taken back, and comes again
//! after a pause: so others are held up for moments only, as by a local statement, and definition statements of other
//! tables have their turn.
//!
//! The job belongs to the node that got the statement, for as long as that node's lease lasts. Then any other may take it
//! over, which the lock of the job's record decides; every step of a job looks whether it is still one's own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kv::{Durability, Interrupt, Reader};
use parking_lot::Mutex;
use schema::definition::{AlterChange, AlterWay, TableName};
use schema::model::{Schema, SchemaState, Table};
use types::{Error, Result};

use super::alter::{end_with_altered, reserve_ids, with_new_indexes};
use super::alter_plan::Altered;
use super::job::{
    Job, PATIENCE, TableChange, check_not_cancelled, end, end_undone, end_with_target, is_final, no_such_job,
    own,
};
use super::{Statement, changeable_table, way};
use crate::Catalog;
use crate::meta::record::decode;
use crate::meta::{Meta, keys, read_all, read_counter};
use crate::metadata_lock::{Deadline, PAUSE_MAX, PAUSE_MIN, WaitLimit};
use crate::nodes::{lease_is_over, read_nodes};
use crate::publish::{Change, LOOK_AGAIN, Needs, Outcome};

/// How long a version that others wait for may take to reach all nodes.
pub(crate) const ROUND: Duration = Duration::from_secs(3);

/// What this process has done with the jobs that it began or took over.
#[derive(Default)]
pub(crate) struct LocalJobs {
    jobs: Mutex<HashMap<i64, Local>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Local {
    /// A thread works on it.
    InWork,
    /// Its statement has failed: what is left is to undo it.
    Failed,
}

/// Work on a job. Dropped before it is done, it leaves the job to be undone.
struct Work<'a> {
    jobs: &'a LocalJobs,
    id: i64,
    done: bool,
}

impl LocalJobs {
    fn begin(&self, id: i64) -> Work<'_> {
        self.jobs.lock().insert(id, Local::InWork);
        Work {
            jobs: self,
            id,
            done: false,
        }
    }

    /// Forgets what is known of jobs that are no more.
    fn forget_others(&self, jobs: &[Job]) {
        let exists = |id: i64| jobs.iter().any(|job| job.id == id);
        self.jobs
            .lock()
            .retain(|id, local| *local == Local::InWork || exists(*id));
    }
}

impl Work<'_> {
    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut jobs = self.jobs.jobs.lock();
        if self.done {
            jobs.remove(&self.id);
        } else {
            jobs.insert(self.id, Local::Failed);
        }
    }
}

/// What becomes of an attempt to claim tables.
enum Claim {
    Made(Box<Job>),
    /// Another job has one of them.
    Busy,
    /// The tables are others by now.
    Stale,
}

impl Catalog {
    /// Whether all live nodes have a version. Forgets those whose leases are over.
    pub(crate) fn have_all_nodes(&self, version: u64, meta: &mut Meta<'_>) -> Result<bool> {
        let Some(membership) = &self.membership else {
            return Ok(true);
        };
        let seen = self.store().snapshot_now()?;
        let (own, mut all) = (membership.node().id, true);
        let mut is_live = false;
        for node in read_nodes(&seen)? {
            if node.lease_end < seen.ts() {
                // A renewal that arrives after this moment is refused by its timestamp.
                meta.delete_node(node.id)?;
                continue;
            }
            is_live |= node.id == own;
            all &= node.version >= version;
        }
        if !is_live {
            membership.node().lose();
        }
        Ok(is_live && all)
    }

    /// Waits until all live nodes have a version; false when they have not by `until`.
    pub(crate) fn wait_for_nodes(
        &self,
        version: u64,
        job: Option<(i64, &How)>,
        deadline: &Deadline,
        until: Option<Instant>,
    ) -> Result<bool> {
        loop {
            self.follow()?;
            if self.live_nodes()?.iter().all(|node| node.version >= version) {
                return Ok(true);
            }
            if let Some((id, how)) = job
                && let Some(stored) = self.read_job(id)?
            {
                how.check(&stored)?;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(false);
            }
            std::thread::sleep(deadline.next_sleep()?.min(LOOK_AGAIN));
        }
    }

    /// After a statement: it is seen everywhere before it is acknowledged, unless a transaction somewhere takes too long.
    pub(super) fn wait_for_all_nodes(&self, limit: &WaitLimit) {
        if self.membership.is_none() {
            return;
        }
        let waited = read_counter(&self.store().latest(), &keys::schema_version())
            .and_then(|stored| self.wait_for_nodes(stored.unwrap_or(0), None, &Deadline::new(limit), None));
        if let Err(error) = waited {
            tracing::info!(%error, "a definition statement is done, but not seen on all servers yet");
        }
    }

    /// Stores a job for tables that no other job has; none when `make` finds that they are not what they were.
    fn claim(
        &self,
        limit: &WaitLimit,
        make: &dyn Fn(&Schema) -> Result<Option<Job>>,
    ) -> Result<Option<(Job, Work<'_>)>> {
        let deadline = Deadline::new(limit);
        loop {
            let mut work = None;
            let claim = self.publish(limit, Needs::AllNodes, None, |change| {
                let Some(mut job) = make(&change.schema)? else {
                    return Ok(Outcome::Nothing(Claim::Stale));
                };
                let others = change.meta.jobs()?;
                if others
                    .iter()
                    .any(|other| other.tables().iter().any(|t| job.tables.contains(t)))
                {
                    return Ok(Outcome::Nothing(Claim::Busy));
                }
                job.id = change.meta.next_id()?;
                job.owner = self.node().ok_or_else(lease_is_over)?.id;
                // Before it is stored, so that no other thread of this node takes it for one that was left behind.
                work = Some(self.local_jobs.begin(job.id));
                change.meta.put_job(&job)?;
                Ok(Outcome::Stored(Claim::Made(Box::new(job))))
            })?;
            match claim {
                Claim::Made(job) => return Ok(work.map(|work| (*job, work))),
                Claim::Stale => return Ok(None),
                Claim::Busy => std::thread::sleep(deadline.next_sleep()?),
            }
        }
    }

    /// Publishes `forward`, a change of the job and of what it defines, and waits until all nodes have it. Where some take
    /// long, publishes `back`, which takes it back, and begins again after a pause.
    fn step(
        &self,
        job: &mut Job,
        how: &How,
        forward: impl Fn(&mut Change<'_>, &mut Job) -> Result<()>,
        back: impl Fn(&mut Change<'_>, &mut Job) -> Result<()>,
    ) -> Result<()> {
        let deadline = Deadline::new(how.limit);
        let mut pause = PAUSE_MIN;
        loop {
            let version = self.publish_step(job, how, Needs::AllNodes, &forward)?;
            let until = Instant::now() + ROUND;
            let reached = self.wait_for_nodes(version, Some((job.id, how)), &deadline, Some(until));
            if matches!(reached, Ok(true)) {
                return Ok(());
            }
            let killed = Interrupt::new();
            let limit = WaitLimit {
                timeout: PATIENCE,
                interrupt: &killed,
            };
            let taken_back = self.publish_step(job, &How::undo(&limit), Needs::Nobody, &back);
            reached.and(taken_back)?;
            let until = Instant::now() + pause;
            while Instant::now() < until {
                std::thread::sleep(deadline.next_sleep()?);
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Publishes a step of a job and returns its version.
    fn publish_step(
        &self,
        job: &mut Job,
        how: &How,
        needs: Needs,
        make: &impl Fn(&mut Change<'_>, &mut Job) -> Result<()>,
    ) -> Result<u64> {
        let (stored, version) = self.publish(how.limit, needs, None, |change| {
            let mut stored = own(change, job)?.ok_or_else(|| no_such_job(job.id))?;
            how.check(&stored)?;
            make(change, &mut stored)?;
            change.meta.put_job(&stored)?;
            Ok(Outcome::Done((stored, change.schema.version)))
        })?;
        *job = stored;
        Ok(version)
    }

    /// Closes the job's tables on all nodes, until a version without the mark. `also`: what else that version says.
    fn freeze(&self, job: &mut Job, how: &How, also: impl Fn(&mut Change<'_>) -> Result<()>) -> Result<()> {
        let forward = |change: &mut Change<'_>, job: &mut Job| {
            job.frozen = job.tables();
            also(change)
        };
        self.step(job, how, forward, |_, job| {
            job.frozen.clear();
            Ok(())
        })
    }

    /// Publishes the new indexes of a job in a state; the one before was `before`.
    fn show_indexes(
        &self,
        job: &mut Job,
        how: &How,
        state: SchemaState,
        before: Option<SchemaState>,
    ) -> Result<()> {
        // As it was, its revision included: a node that has not followed the step has nothing to do to follow it back.
        let table_before = RefCell::new(None);
        let forward = |change: &mut Change<'_>, job: &mut Job| {
            let table = table_of(change, job)?;
            table_before.replace(Some(table));
            put_state(change, job, state)
        };
        let back = |change: &mut Change<'_>, job: &mut Job| {
            if let Some(made) = &mut job.change {
                made.state = before;
            }
            match table_before.borrow().as_ref() {
                Some(table) => change.put_table_back(table),
                None => Ok(()),
            }
        };
        self.step(job, how, forward, back)
    }

    /// ALTER TABLE.
    pub(super) fn alter_shared(
        &self,
        name: &TableName,
        changes: &[AlterChange],
        way: AlterWay,
        statement: &Statement,
    ) -> Result<Altered> {
        let limit = statement.limit();
        loop {
            let schema = self.schema();
            let base = changeable_table(&schema, name, statement)?;
            let mut altered = self.altered(&schema, &base, changes, statement)?;
            let online = way::check(way, &base, changes, &mut altered)?;
            let claimed = self.claim(&limit, &|schema| {
                let now = changeable_table(schema, name, statement)?;
                Ok((now == base).then(|| Job {
                    tables: vec![base.id],
                    change: Some(TableChange::of(&base, &altered, online)),
                    ..Job::of(&statement.about)
                }))
            })?;
            let Some(job) = claimed else { continue };
            let how = How::statement(&limit);
            self.work_on(job, |job| {
                if online {
                    self.build_indexes(job, &how, &statement.interrupt)?;
                    // Others may be taking ids right now: the counter only goes up here.
                    match altered.auto_increment {
                        Some(next) => self.bump_auto_increment(&altered.table, next - 1),
                        None => Ok(()),
                    }
                } else {
                    self.alter_frozen(job, &how, &base, &altered, &statement.interrupt)
                }
            })?;
            return Ok(altered);
        }
    }

    /// New indexes, filled beside running statements.
    fn build_indexes(&self, job: &mut Job, how: &How, interrupt: &Arc<Interrupt>) -> Result<()> {
        let state = job.change.as_ref().and_then(|made| made.state);
        if state.is_none() {
            self.show_indexes(job, how, SchemaState::DeleteOnly, None)?;
        }
        // Also one that is taken over in this state: nobody has said yet that all nodes have it. It stays in it, for rows
        // that are filled in already would miss what a writer does in an earlier one.
        let before = state.unwrap_or(SchemaState::DeleteOnly);
        self.show_indexes(job, how, SchemaState::WriteOnly, Some(before))?;
        let schema = self.read_schema()?;
        if let Some(table) = job.tables().first().and_then(|id| schema.table_by_id(*id)) {
            self.backfill(table, job, interrupt)?;
        }
        self.freeze(job, how, |_| Ok(()))?;
        self.publish(how.limit, Needs::AllNodes, Some(&job.about), |change| {
            end_with_target(change, job)
        })
    }

    /// Nobody uses the table meanwhile.
    fn alter_frozen(
        &self,
        job: &mut Job,
        how: &How,
        base: &Table,
        altered: &Altered,
        interrupt: &Arc<Interrupt>,
    ) -> Result<()> {
        let builds = !altered.new_indexes.is_empty();
        self.freeze(job, how, |change| match builds {
            // No other definition: nobody who has not followed has anything to follow.
            true => change.put_table_back(&reserve_ids(base, altered)),
            false => Ok(()),
        })?;
        let counter = self.look_at_rows(base, altered)?;
        if builds {
            self.backfill(&altered.table, job, interrupt)?;
        }
        self.publish(how.limit, Needs::AllNodes, Some(&job.about), |change| {
            end_with_altered(change, Some(job), altered, counter)
        })
    }

    /// DROP, TRUNCATE, RENAME: see [`Catalog::change_tables`].
    pub(super) fn change_tables_shared<T>(
        &self,
        statement: &Statement,
        resolve: &dyn Fn(&Schema) -> Result<Vec<i64>>,
        make: &mut dyn FnMut(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        let limit = statement.limit();
        loop {
            let tables = resolve(&self.schema())?;
            let claimed = self.claim(&limit, &|schema| {
                Ok((resolve(schema)? == tables).then(|| Job {
                    tables: tables.clone(),
                    ..Job::of(&statement.about)
                }))
            })?;
            let Some(job) = claimed else { continue };
            let how = How::statement(&limit);
            let answer = self.work_on(job, |job| {
                if !tables.is_empty() {
                    self.freeze(job, &how, |_| Ok(()))?;
                }
                self.publish_for(statement, |change| {
                    let stored = own(change, job)?.ok_or_else(|| no_such_job(job.id))?;
                    how.check(&stored)?;
                    // A database can have got another table.
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

    /// Runs the work on a job, and undoes what it leaves: now or, where that takes too long, later.
    fn work_on<T>(
        &self,
        (mut job, work): (Job, Work<'_>),
        body: impl FnOnce(&mut Job) -> Result<T>,
    ) -> Result<T> {
        let outcome = body(&mut job);
        // The statement may have been killed: what it leaves has to go all the same.
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: PATIENCE,
            interrupt: &interrupt,
        };
        match self.undo_shared(&mut job, &How::undo(&limit)) {
            Ok(()) => work.done(),
            Err(error) => tracing::warn!(%error, job = job.id, "a schema change is undone later"),
        }
        outcome
    }

    /// Ends a job without its change, if it has not ended yet.
    fn undo_shared(&self, job: &mut Job, how: &How) -> Result<()> {
        let stored = self.read_job(job.id)?;
        let Some(stored) = stored else { return Ok(()) };
        let is_published = stored.change.as_ref().is_some_and(|made| made.state.is_some());
        if is_published {
            // Writers keep the index until nobody uses it: an entry left behind would be a duplicate to some.
            self.freeze(job, how, |_| Ok(()))?;
        }
        let needs = match is_published {
            true => Needs::AllNodes,
            // All there is to do for a node is to open the tables.
            false => Needs::Nobody,
        };
        self.publish(how.limit, needs, None, |change| end_undone(change, job))
    }

    fn read_job(&self, id: i64) -> Result<Option<Job>> {
        let stored = self.store().latest().get(&keys::job(id))?;
        stored.map(|bytes| decode(&bytes, "job")).transpose()
    }

    /// Works on the jobs that nobody works on: of nodes whose leases are over, and those that this one could not end.
    pub(super) fn resume_shared_jobs(&self, interrupt: &Arc<Interrupt>) -> Result<()> {
        let seen = self.store().snapshot_now()?;
        let jobs: Vec<Job> = read_all(&seen, &keys::jobs(), "job")?;
        self.local_jobs.forget_others(&jobs);
        if jobs.is_empty() {
            return Ok(());
        }
        let live: Vec<i64> = self.live_nodes()?.iter().map(|node| node.id).collect();
        for job in jobs {
            let Some(own) = self.node().map(|node| node.id) else {
                return Ok(());
            };
            let local = self.local_jobs.jobs.lock().get(&job.id).copied();
            let is_left = job.owner == own || !live.contains(&job.owner);
            if local == Some(Local::InWork) || !is_left || interrupt.is_raised() {
                continue;
            }
            let id = job.id;
            let failed = local == Some(Local::Failed);
            if let Err(error) = self.resume_shared(job, own, failed, interrupt) {
                tracing::warn!(%error, job = id, "a schema change could not be ended; it is tried again");
            }
        }
        Ok(())
    }

    fn resume_shared(&self, job: Job, own: i64, failed: bool, interrupt: &Arc<Interrupt>) -> Result<()> {
        let Some(mut job) = self.take_over(&job, own)? else {
            return Ok(());
        };
        let limit = WaitLimit {
            timeout: PATIENCE,
            interrupt,
        };
        if !failed && job.can_go_on() {
            match self.build_indexes(&mut job, &How::statement(&limit), interrupt) {
                Err(error) if is_final(error.code) => {
                    tracing::warn!(%error, job = job.id, "a resumed schema change failed and is undone");
                }
                other => return other,
            }
        }
        let work = self.local_jobs.begin(job.id);
        self.undo_shared(&mut job, &How::undo(&limit))?;
        work.done();
        Ok(())
    }

    /// Makes this node the owner of a job, unless another was faster.
    fn take_over(&self, job: &Job, own: i64) -> Result<Option<Job>> {
        let mut txn = Meta::begin(self.store())?;
        let mut meta = Meta::new(&mut txn);
        match meta.lock_job(job.id)? {
            Some(mut stored) if stored.owner == job.owner => {
                stored.owner = own;
                meta.put_job(&stored)?;
                txn.commit(Durability::Sync)?;
                Ok(Some(stored))
            }
            _ => Ok(None),
        }
    }
}

/// How a step is made.
pub(crate) struct How<'a> {
    limit: &'a WaitLimit<'a>,
    /// Whether it stops once its job is cancelled.
    heeds_cancel: bool,
}

impl<'a> How<'a> {
    fn statement(limit: &'a WaitLimit<'a>) -> Self {
        Self {
            limit,
            heeds_cancel: true,
        }
    }

    fn undo(limit: &'a WaitLimit<'a>) -> Self {
        Self {
            limit,
            heeds_cancel: false,
        }
    }

    fn check(&self, job: &Job) -> Result<()> {
        match self.heeds_cancel {
            true => check_not_cancelled(job),
            false => Ok(()),
        }
    }
}

fn table_of(change: &Change<'_>, job: &Job) -> Result<Table> {
    let id = job.change.as_ref().map(|made| made.table);
    id.and_then(|id| change.schema.table_by_id(id))
        .map(|table| Table::clone(table))
        .ok_or_else(|| Error::internal("the table of a job is gone"))
}

/// Puts the table of a job with its new indexes in a state.
fn put_state(change: &mut Change<'_>, job: &mut Job, state: SchemaState) -> Result<()> {
    let table = table_of(change, job)?;
    let made = job
        .change
        .as_mut()
        .ok_or_else(|| Error::internal("a job without a table"))?;
    made.state = Some(state);
    let table = with_new_indexes(&table, &made.target, &made.new_indexes, made.state)
        .ok_or_else(|| Error::internal("an index on a column that is not there yet"))?;
    change.put_table(table)
}

/// Steps of a statement, one by one: for tests of what happens between them.
#[cfg(test)]
pub(crate) mod tests_support {
    use super::*;
    use crate::ddl::alter_plan::alter;
    use crate::ddl::history::About;
    use crate::test_support::{context, name, table};

    fn started<'a>(catalog: &'a Catalog, make: impl Fn() -> Job) -> (Job, Work<'a>) {
        let ctx = context();
        catalog
            .claim(&ctx.limit(), &|_| Ok(Some(make())))
            .unwrap()
            .unwrap()
    }

    /// Closes a table on all nodes.
    pub(crate) fn freeze(catalog: &Catalog, of: &str) -> Job {
        let (mut job, work) = started(catalog, || Job {
            tables: vec![table(catalog, of).id],
            ..Job::of(&About::default())
        });
        let ctx = context();
        let limit = ctx.limit();
        catalog
            .freeze(&mut job, &How::statement(&limit), |_| Ok(()))
            .unwrap();
        std::mem::forget(work);
        job
    }

    /// Begins ALTER TABLE ... ADD INDEX, as far as a state of the index.
    pub(crate) fn begin_index(catalog: &Catalog, of: &str, change: AlterChange, state: SchemaState) -> Job {
        let ctx = context();
        let base = table(catalog, of);
        let altered = alter(&base, std::slice::from_ref(&change), &ctx).unwrap();
        let ddl = schema::definition::Ddl::AlterTable {
            name: name(of),
            changes: vec![change],
            way: std::default::Default::default(),
        };
        let (mut job, work) = started(catalog, || Job {
            tables: vec![base.id],
            change: Some(TableChange::of(&base, &altered, true)),
            ..Job::of(&About::of(&ddl, ctx.now_us))
        });
        let limit = ctx.limit();
        let how = How::statement(&limit);
        catalog
            .show_indexes(&mut job, &how, SchemaState::DeleteOnly, None)
            .unwrap();
        if state == SchemaState::WriteOnly {
            catalog
                .show_indexes(&mut job, &how, state, Some(SchemaState::DeleteOnly))
                .unwrap();
        }
        std::mem::forget(work);
        job
    }

    /// The process is gone, and with it what it knew of the job.
    pub(crate) fn abandon(catalog: &Catalog, job: Job) {
        catalog.stop_background();
        catalog.local_jobs.jobs.lock().remove(&job.id);
    }

    pub(crate) fn take_over(catalog: &Catalog, job: &Job) -> Job {
        catalog
            .take_over(job, catalog.node().unwrap().id)
            .unwrap()
            .unwrap()
    }

    pub(crate) fn finish(catalog: &Catalog, mut job: Job) -> Result<()> {
        let ctx = context();
        let limit = ctx.limit();
        catalog.build_indexes(&mut job, &How::statement(&limit), &ctx.interrupt)
    }
}
