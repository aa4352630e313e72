//! Schema changes where one process has the store to itself: metadata locks keep statements away while a
//! definition changes.
//!
//! When the process starts, it finds the jobs that a crash has left. A job whose undoing has failed waits for
//! the background thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use cluster::Cluster;
use cluster::metadata_lock::{ChangeLocks, Exclusive};
use cluster::wait::WaitLimit;
use kv::Interrupt;
use parking_lot::Mutex;
use schema::definition::{AlterChange, AlterWay, TableName};
use schema::model::{Schema, SchemaState, Table};
use types::{Error, Result};

use crate::alter_check::altered;
use crate::alter_plan::alter;
use crate::altered::Altered;
use crate::backfill::backfill;
use crate::between::{in_state, put_in_state, reserve_ids};
use crate::change::{Change, Outcome};
use crate::context::{DdlContext, Statement, Watch, changeable_table};
use crate::end::{end_undone, end_with_altered, end_with_target};
use crate::job::{Job, RESUME_WAIT, TableChange, check_not_cancelled, is_final};
use crate::page_work::Backfilled;
use crate::publish::{Publisher, Requires};
use crate::way::Others;
use crate::{foreign_key, rows, sorted, way};

/// A job that no statement works on, with the locks to do so.
struct PendingJob {
    job: Job,
    locks: ChangeLocks,
    /// It has failed: it can only be undone.
    undo: bool,
}

pub(crate) struct LocalJobs {
    publisher: Arc<Publisher>,
    /// Jobs that a crash or a failure has left unfinished.
    pending: Mutex<Vec<PendingJob>>,
}

impl LocalJobs {
    /// Reserves the tables of the jobs that are left in the store, before any statement can use them.
    pub(crate) fn open(publisher: Arc<Publisher>) -> Result<Self> {
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: RESUME_WAIT,
            interrupt: &interrupt,
        };
        let cluster = &publisher.cluster;
        let mut pending = Vec::new();
        for job in Job::read_all(&cluster.store().latest())? {
            let locks = cluster.metadata_locks().lock_for_change(&job.tables(), &limit)?;
            let undo = !job.can_go_on(cluster.store());
            pending.push(PendingJob { job, locks, undo });
        }
        Ok(Self {
            publisher,
            pending: Mutex::new(pending),
        })
    }

    /// How many jobs wait for the background thread.
    #[cfg(test)]
    pub(crate) fn pending(&self) -> usize {
        self.pending.lock().len()
    }

    /// DROP, TRUNCATE, RENAME: takes the exclusive locks of the tables that `resolve` finds, and publishes
    /// `make`. Starts again if `resolve` finds other tables then.
    pub(crate) fn change_tables<T>(
        &self,
        statement: &Statement,
        resolve: &dyn Fn(&Schema) -> Result<Vec<i64>>,
        make: &mut dyn FnMut(&mut Change<'_>) -> Result<Outcome<T>>,
    ) -> Result<T> {
        let limit = statement.limit();
        let cluster = &self.publisher.cluster;
        loop {
            let ids = resolve(&cluster.schema())?;
            let locks = cluster.metadata_locks().lock_to_replace(&ids, &limit)?;
            let _exclusive = locks.exclusive(&limit)?;
            let about = Some(&statement.about);
            let answer = self
                .publisher
                .publish(&limit, Requires::AllNodes, about, |change| {
                    if resolve(&change.schema)? != ids {
                        return Ok(Outcome::Nothing(None));
                    }
                    Ok(make(change)?.map(Some))
                })?;
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
    }

    /// ALTER TABLE: at once, while other statements use the table, or with its exclusive lock.
    pub(crate) fn alter(
        &self,
        name: &TableName,
        changes: &[AlterChange],
        way: AlterWay,
        statement: &Statement,
    ) -> Result<Altered> {
        let cluster = &self.publisher.cluster;
        loop {
            let schema = cluster.schema();
            let base = changeable_table(&schema, name, statement)?;
            // Foreign keys may concern other tables, too.
            let planned = alter(&base, changes, statement)?;
            let ids = foreign_key::altered_with(&schema, &base, &planned);
            let locks = cluster
                .metadata_locks()
                .lock_for_change(&ids, &statement.limit())?;
            // The name may belong to another table after the wait.
            let schema = cluster.schema();
            let base = changeable_table(&schema, name, statement)?;
            let mut altered = altered(cluster, &schema, &base, changes, statement)?;
            if foreign_key::altered_with(&schema, &base, &altered) != ids {
                continue;
            }
            let others = way::check(way, &base, changes, &mut altered)?;
            altered.warn(statement);
            let made = match others {
                Others::Write => self.alter_online(&base, &altered, statement, locks)?,
                Others::Read => self.alter_beside_readers(&base, &altered, statement, locks)?,
                Others::Nothing => self.alter_exclusively(&base, &altered, statement, locks)?,
            };
            altered.report(made);
            return Ok(altered);
        }
    }

    /// No other statement uses the table meanwhile.
    fn alter_exclusively(
        &self,
        base: &Table,
        altered: &Altered,
        statement: &Statement,
        locks: ChangeLocks,
    ) -> Result<Backfilled> {
        let exclusive = locks.exclusive(&statement.limit())?;
        let cluster = &self.publisher.cluster;
        let checked = rows::inspect(cluster, base, altered, statement)?;
        let job = self.start_closed(base, altered, statement)?;
        let done =
            closed_steps(cluster, base, altered, job.as_ref(), statement).and_then(|(made, counter)| {
                self.end_closed(job.as_ref(), altered, statement, counter)
                    .map(|()| made)
            });
        drop(exclusive);
        if let (Err(_), Some(job)) = (&done, job) {
            self.undo_or_leave(job, locks, statement);
        }
        done.map(|made| made.with_checked(checked))
    }

    /// The same while others read the table. They wait for two moments, the first of which comes before writers have to
    /// wait, so that these do not wait for readers twice.
    fn alter_beside_readers(
        &self,
        base: &Table,
        altered: &Altered,
        statement: &Statement,
        locks: ChangeLocks,
    ) -> Result<Backfilled> {
        let limit = statement.limit();
        let job = {
            let _exclusive = locks.exclusive(&limit)?;
            self.start_closed(base, altered, statement)?
        };
        let done = self.steps_beside_readers(base, altered, job.as_ref(), statement, &locks);
        if let (Err(_), Some(job)) = (&done, job) {
            self.undo_or_leave(job, locks, statement);
        }
        done
    }

    fn steps_beside_readers(
        &self,
        base: &Table,
        altered: &Altered,
        job: Option<&Job>,
        statement: &Statement,
        locks: &ChangeLocks,
    ) -> Result<Backfilled> {
        let cluster = &self.publisher.cluster;
        let limit = statement.limit();
        let check = || self.check_of(job);
        let _without_writers = locks.without_writers(&limit, &check)?;
        let checked = rows::inspect(cluster, base, altered, statement)?;
        let (made, counter) = closed_steps(cluster, base, altered, job, statement)?;
        let _exclusive = locks.exclusive_while(&limit, &check)?;
        self.end_closed(job, altered, statement, counter)?;
        Ok(made.with_checked(checked))
    }

    /// The first step of a change that no statement writes the table beside; `None` if it has only one.
    fn start_closed(&self, base: &Table, altered: &Altered, statement: &Statement) -> Result<Option<Job>> {
        if altered.new_indexes.is_empty() && altered.rewrite.is_none() {
            return Ok(None);
        }
        self.start(base, reserve_ids(base, altered), altered, statement, None)
            .map(Some)
    }

    /// The last step of such a change.
    fn end_closed(
        &self,
        job: Option<&Job>,
        altered: &Altered,
        statement: &Statement,
        counter: Option<u64>,
    ) -> Result<()> {
        let about = Some(&statement.about);
        self.publisher
            .publish(&statement.limit(), Requires::AllNodes, about, |change| {
                end_with_altered(change, job, altered, counter)
            })
    }

    /// New indexes or rows are made while other statements use the table.
    fn alter_online(
        &self,
        base: &Table,
        altered: &Altered,
        statement: &Statement,
        locks: ChangeLocks,
    ) -> Result<Backfilled> {
        let state = Some(SchemaState::WriteOnly);
        let job = {
            let _exclusive = locks.exclusive(&statement.limit())?;
            self.start(base, base.clone(), altered, statement, state)?
        };
        let done = self.online_steps(&job, &locks, &statement.limit(), statement.watch());
        if done.is_err() {
            self.undo_or_leave(job, locks, statement);
            return done;
        }
        // Other statements may be allocating ids now, so the counter can only be raised.
        if let Some(next) = altered.auto_increment {
            let cluster = &self.publisher.cluster;
            cluster.ids().raise_to(&altered.table, next - 1)?;
        }
        done
    }

    /// All steps after the first of a job beside which other statements use the table.
    fn online_steps(
        &self,
        job: &Job,
        locks: &ChangeLocks,
        limit: &WaitLimit,
        watch: Watch<'_>,
    ) -> Result<Backfilled> {
        let cluster = &self.publisher.cluster;
        let table = self.table_of(job)?;
        let made = job.change.as_ref();
        let sorts = made.filter(|made| made.sorts(cluster.store()));
        let validates = made.filter(|made| made.validates());
        let mut done = match sorts {
            Some(made) if !sorted::is_built(&table, made) => {
                let done = self.build_sorted(job, made, locks, limit, watch)?;
                if validates.is_none() {
                    return Ok(done);
                }
                done
            }
            // A restart has found them complete.
            Some(_) => Backfilled::default(),
            None => backfill(cluster, &table, job, watch)?,
        };
        if let Some(made) = validates {
            if sorts.is_none() && !made.new_keys.is_empty() {
                let _exclusive = self.exclusive(job, locks, limit)?;
                self.publish_in_state(made, SchemaState::Public, limit)?;
            }
            let checked = rows::validate(cluster, &*self.table_of(job)?, made, watch.interrupt)?;
            done = done.with_checked(checked);
        }
        self.finish(job, locks, limit)?;
        Ok(done)
    }

    /// Builds the new indexes of a job by sorting, and publishes them: with the whole target, unless existing rows are
    /// still to be checked. Only for a moment does it keep other statements from the table.
    fn build_sorted(
        &self,
        job: &Job,
        made: &TableChange,
        locks: &ChangeLocks,
        limit: &WaitLimit,
        watch: Watch<'_>,
    ) -> Result<Backfilled> {
        let table = self.table_of(job)?;
        if watch.progress.is_none() {
            // A resumed job waits for others only for a while, and begins again then. A transaction that lasts, as one that
            // is prepared, would have it build for nothing each time.
            drop(self.exclusive(job, locks, limit)?);
        }
        let built = sorted::Build::begin(&self.publisher.cluster, &table, job, watch)?.run()?;
        let built = RefCell::new(built);
        let _exclusive = self.exclusive_beside(job, locks, limit, &|| built.borrow_mut().keep_up())?;
        let done = built.into_inner().complete()?;
        match made.validates() {
            true => self.publish_in_state(made, SchemaState::Public, limit)?,
            false => self.publish_target(job, limit)?,
        }
        Ok(done)
    }

    fn publish_in_state(&self, made: &TableChange, state: SchemaState, limit: &WaitLimit) -> Result<()> {
        self.publisher.publish(limit, Requires::AllNodes, None, |change| {
            put_in_state(change, made, state).map(Outcome::Done)
        })
    }

    /// Waits until no other statement uses the table, unless the statement is killed or the job is cancelled.
    fn exclusive<'l>(&self, job: &Job, locks: &'l ChangeLocks, limit: &WaitLimit) -> Result<Exclusive<'l>> {
        self.exclusive_beside(job, locks, limit, &|| Ok(()))
    }

    /// The same. It calls `work` while it waits and other statements use the table.
    fn exclusive_beside<'l>(
        &self,
        job: &Job,
        locks: &'l ChangeLocks,
        limit: &WaitLimit,
        work: &dyn Fn() -> Result<()>,
    ) -> Result<Exclusive<'l>> {
        let check = || self.check_of(Some(job));
        let exclusive = locks.exclusive_while(limit, &|| check().and_then(|()| work()))?;
        // If there was nothing to wait for, nothing has looked yet.
        limit.interrupt.check()?;
        check()?;
        Ok(exclusive)
    }

    /// Fails if a job is cancelled.
    fn check_of(&self, job: Option<&Job>) -> Result<()> {
        let Some(job) = job else { return Ok(()) };
        match Job::read(&self.publisher.cluster.store().latest(), job.id)? {
            Some(stored) => check_not_cancelled(&stored),
            None => Ok(()),
        }
    }

    /// The table that a job changes, as statements use it now.
    fn table_of(&self, job: &Job) -> Result<Arc<Table>> {
        let schema = self.publisher.cluster.schema();
        let id = job.change.as_ref().map(|made| made.table);
        let table = id.and_then(|id| schema.table_by_id(id));
        table
            .cloned()
            .ok_or_else(|| Error::internal("the table of a job does not exist"))
    }

    /// The first step of a job: publishes the definition for the time of the change. `state`: the state of
    /// what it makes beside other statements; `before`: the definition otherwise.
    pub(crate) fn start(
        &self,
        base: &Table,
        before: Table,
        altered: &Altered,
        statement: &Statement,
        state: Option<SchemaState>,
    ) -> Result<Job> {
        self.publisher
            .publish(&statement.limit(), Requires::AllNodes, None, |change| {
                let mut made = TableChange {
                    state,
                    ..TableChange::of(base, altered, state.is_some())
                };
                if made.online && made.sorts(self.publisher.cluster.store()) {
                    made = made.with_deltas();
                }
                let job = Job {
                    tables: foreign_key::altered_with(&change.schema, base, altered),
                    change: Some(made),
                    ..Job::of(&statement.about)
                };
                let job = job.with_id(&mut change.meta)?;
                job.put(&mut change.meta)?;
                let made = job.change.as_ref().filter(|made| made.online);
                let between = match made {
                    Some(made) => in_state(&before, made, state)
                        .ok_or_else(|| Error::internal("an index on a column that does not exist yet"))?,
                    None => before.clone(),
                };
                change.put_table(between)?;
                Ok(Outcome::Done(job))
            })
    }

    /// The last step: publishes the target and deletes the job.
    fn finish(&self, job: &Job, locks: &ChangeLocks, limit: &WaitLimit) -> Result<()> {
        let _exclusive = self.exclusive(job, locks, limit)?;
        self.publish_target(job, limit)
    }

    fn publish_target(&self, job: &Job, limit: &WaitLimit) -> Result<()> {
        self.publisher
            .publish(limit, Requires::AllNodes, Some(&job.about), |change| {
                end_with_target(change, job)
            })
    }

    /// Removes the new indexes and the job.
    fn undo(&self, job: &Job, locks: &ChangeLocks, limit: &WaitLimit) -> Result<()> {
        let _exclusive = locks.exclusive(limit)?;
        self.publisher
            .publish(limit, Requires::AllNodes, None, |change| end_undone(change, job))
    }

    /// Undoes a job that has changed no table.
    pub(crate) fn undo_of_none(&self, job: Job, ctx: &DdlContext) -> Result<()> {
        let locks = self.publisher.cluster.metadata_locks();
        let locks = locks.lock_for_change(&[], &ctx.limit())?;
        self.undo_or_leave(job, locks, ctx);
        Ok(())
    }

    /// Undoes a failed change now or, if a transaction holds the table for too long, later.
    fn undo_or_leave(&self, job: Job, locks: ChangeLocks, ctx: &DdlContext) {
        // Not the statement's interrupt: the statement may have been killed, and must be undone all the same.
        let interrupt = Interrupt::new();
        let limit = WaitLimit {
            timeout: ctx.lock_wait.min(RESUME_WAIT),
            interrupt: &interrupt,
        };
        if let Err(error) = self.undo(&job, &locks, &limit) {
            tracing::warn!(%error, job = job.id, "a failed schema change is undone later");
            let undo = true;
            self.pending.lock().push(PendingJob { job, locks, undo });
        }
    }

    /// Finishes or undoes the pending jobs. A job that cannot be ended now stays pending.
    pub(crate) fn resume(&self, interrupt: &Arc<Interrupt>) {
        self.resume_within(RESUME_WAIT, interrupt);
    }

    /// The same. Each job waits so long for transactions.
    pub(crate) fn resume_within(&self, wait: Duration, interrupt: &Arc<Interrupt>) {
        let pending = std::mem::take(&mut *self.pending.lock());
        for mut pending in pending {
            if interrupt.is_raised() {
                self.pending.lock().push(pending);
                continue;
            }
            if let Err(error) = self.resume_one(&mut pending, wait, interrupt) {
                let job = pending.job.id;
                tracing::warn!(%error, job, "a schema change could not be ended; it is tried again");
                self.pending.lock().push(pending);
            }
        }
    }

    fn resume_one(&self, pending: &mut PendingJob, wait: Duration, interrupt: &Arc<Interrupt>) -> Result<()> {
        let limit = WaitLimit {
            timeout: wait,
            interrupt,
        };
        let exists = self.table_of(&pending.job).is_ok();
        if !pending.undo && exists {
            match self.online_steps(&pending.job, &pending.locks, &limit, unseen(interrupt)) {
                Err(error) if is_final(error.code) => {
                    tracing::warn!(%error, job = pending.job.id, "a resumed schema change failed and is undone");
                    pending.undo = true;
                }
                other => return other.map(drop),
            }
        }
        self.undo(&pending.job, &pending.locks, &limit)
    }
}

/// The work on an ALTER TABLE, or on its job, while no other statement writes the table. Returns the next
/// AUTO_INCREMENT value, too, if that changes.
pub(crate) fn closed_steps(
    cluster: &Cluster,
    base: &Table,
    altered: &Altered,
    job: Option<&Job>,
    statement: &Statement,
) -> Result<(Backfilled, Option<u64>)> {
    let Some(job) = job else {
        return Ok((
            Backfilled::default(),
            rows::next_id(cluster, base, altered, None)?,
        ));
    };
    let watch = Watch {
        row_wait: Some(statement.lock_wait),
        ..statement.watch()
    };
    let target = job.change.as_ref().map(|made| &made.target);
    let Some(rewritten) = target.filter(|_| altered.rewrite.is_some()) else {
        let made = backfill(cluster, &altered.table, job, watch)?;
        return Ok((made, rows::next_id(cluster, base, altered, None)?));
    };
    let made = backfill(cluster, base, job, watch)?;
    rows::inspect_rewritten(cluster, rewritten, altered, statement)?;
    Ok((made, rows::next_id(cluster, base, altered, Some(rewritten))?))
}

/// A job that is resumed reports to no statement.
pub(crate) fn unseen(interrupt: &Arc<Interrupt>) -> Watch<'_> {
    Watch {
        interrupt,
        progress: None,
        warned: None,
        row_wait: None,
    }
}
