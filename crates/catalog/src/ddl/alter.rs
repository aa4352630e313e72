//! ALTER TABLE, and with it CREATE and DROP INDEX: at once, beside running statements, or with the table to itself.

use std::sync::Arc;

use schema::definition::{AlterChange, AlterWay, TableName};
use schema::model::{Index, IndexPart, Schema, SchemaState, Table};
use schema::sharded_id;
use types::{Result, Warning};

use super::alter_plan::{Altered, alter};
use super::job::{Job, TableChange, check_not_cancelled, end, index_ranges, no_such_job, own};
use super::rename::{check_free, rename_within};
use super::{DdlContext, Statement, changeable_table, way};
use crate::Catalog;
use crate::metadata_lock::ChangeLocks;
use crate::publish::{Change, Needs, Outcome};

impl Catalog {
    pub(super) fn alter_table(
        &self,
        name: &TableName,
        changes: &[AlterChange],
        way: AlterWay,
        statement: &Statement,
    ) -> Result<Vec<Warning>> {
        let altered = if self.membership.is_some() {
            self.alter_shared(name, changes, way, statement)?
        } else {
            self.alter_here(name, changes, way, statement)?
        };
        if let Some(next) = altered.auto_random_base {
            self.bump_auto_increment(&altered.table, next - 1)?;
        }
        Ok(altered.warnings)
    }

    fn alter_here(
        &self,
        name: &TableName,
        changes: &[AlterChange],
        way: AlterWay,
        statement: &Statement,
    ) -> Result<Altered> {
        loop {
            let id = changeable_table(&self.schema(), name, statement)?.id;
            let locks = self.locks().lock_for_change(&[id], &statement.limit())?;
            // The table may have become another one while this waited for its turn.
            let schema = self.schema();
            let base = changeable_table(&schema, name, statement)?;
            if base.id != id {
                continue;
            }
            let mut altered = self.altered(&schema, &base, changes, statement)?;
            if way::check(way, &base, changes, &mut altered)? {
                self.alter_online(&base, &altered, statement, locks)?;
            } else {
                self.alter_exclusively(&base, &altered, statement, locks)?;
            }
            return Ok(altered);
        }
    }

    /// What an ALTER TABLE makes of a table, if that can be.
    pub(super) fn altered(
        &self,
        schema: &Schema,
        base: &Table,
        changes: &[AlterChange],
        ctx: &DdlContext,
    ) -> Result<Altered> {
        let altered = alter(base, changes, ctx)?;
        self.check_sequence_fits(base, &altered)?;
        check_rename(schema, base, &altered, ctx)?;
        Ok(altered)
    }

    /// The ids given so far, by whichever node, have to fit into what the new AUTO_RANDOM leaves for its sequence. As in TiDB,
    /// those that are leased count as given.
    fn check_sequence_fits(&self, base: &Table, altered: &Altered) -> Result<()> {
        let Some(at) = altered.table.id_column() else {
            return Ok(());
        };
        let column = &altered.table.columns[at];
        let Some(new) = column.auto_random else {
            return Ok(());
        };
        let next = self.first_unleased_id(base)?;
        if next <= new.layout(column.ty.unsigned).last() {
            return Ok(());
        }
        let sequence_bits = u64::BITS - next.leading_zeros();
        let range_bits = u32::from(new.range_bits) - u32::from(!column.ty.unsigned);
        let most = range_bits.saturating_sub(sequence_bits) as u8;
        Err(sharded_id::too_many_shard_bits(
            most,
            u64::from(new.shard_bits),
            &column.name,
        ))
    }

    /// Nobody uses the table meanwhile.
    fn alter_exclusively(
        &self,
        base: &Arc<Table>,
        altered: &Altered,
        statement: &Statement,
        locks: ChangeLocks,
    ) -> Result<()> {
        let exclusive = locks.exclusive(&statement.limit())?;
        let counter = self.look_at_rows(base, altered)?;
        let job = if altered.new_indexes.is_empty() {
            None
        } else {
            Some(self.start_job(base, reserve_ids(base, altered), altered, statement, None)?)
        };
        let built = match &job {
            Some(job) => self.backfill(&altered.table, job, &statement.interrupt),
            None => Ok(()),
        };
        let done = built.and_then(|()| {
            self.publish_for(statement, |change| {
                end_with_altered(change, job.as_ref(), altered, counter)
            })
        });
        drop(exclusive);
        if let (Err(_), Some(job)) = (&done, job) {
            self.undo_or_leave(job, locks, statement);
        }
        done
    }

    /// New indexes are filled beside running statements.
    fn alter_online(
        &self,
        base: &Arc<Table>,
        altered: &Altered,
        statement: &Statement,
        locks: ChangeLocks,
    ) -> Result<()> {
        let state = Some(SchemaState::WriteOnly);
        let between = with_new_indexes(base, &altered.table, &altered.new_indexes, state)
            .ok_or_else(|| types::Error::internal("an index on a column that is not there yet"))?;
        let job = {
            let _exclusive = locks.exclusive(&statement.limit())?;
            self.start_job(base, between.clone(), altered, statement, state)?
        };
        let done = self
            .backfill(&between, &job, &statement.interrupt)
            .and_then(|()| self.finish_job(&job, &locks, &statement.limit()));
        if let Err(error) = done {
            self.undo_or_leave(job, locks, statement);
            return Err(error);
        }
        // Others may be taking ids right now: the counter only goes up here.
        match altered.auto_increment {
            Some(next) => self.bump_auto_increment(&altered.table, next - 1),
            None => Ok(()),
        }
    }

    /// The first step of a job: the table in between is published. `state`: what its new indexes are in it.
    pub(super) fn start_job(
        &self,
        base: &Table,
        between: Table,
        altered: &Altered,
        statement: &Statement,
        state: Option<SchemaState>,
    ) -> Result<Job> {
        self.publish(&statement.limit(), Needs::AllNodes, None, |change| {
            let job = Job {
                id: change.meta.next_id()?,
                tables: vec![base.id],
                change: Some(TableChange {
                    state,
                    ..TableChange::of(base, altered, state.is_some())
                }),
                ..Job::of(&statement.about)
            };
            change.meta.put_job(&job)?;
            change.put_table(between.clone())?;
            Ok(Outcome::Done(job))
        })
    }

    /// Undoes a failed change now or, where a transaction is in the way for too long, later.
    fn undo_or_leave(&self, job: Job, locks: ChangeLocks, ctx: &DdlContext) {
        // The statement may have been killed: what it leaves has to go all the same.
        let interrupt = kv::Interrupt::new();
        let limit = crate::metadata_lock::WaitLimit {
            timeout: ctx.lock_wait.min(std::time::Duration::from_secs(10)),
            interrupt: &interrupt,
        };
        if let Err(error) = self.undo_job(&job, &locks, &limit) {
            tracing::warn!(%error, job = job.id, "a failed schema change is undone later");
            self.leave_job(job, locks, true);
        }
    }
}

/// Whether the new name is free, where there is one.
fn check_rename(schema: &Schema, base: &Table, altered: &Altered, ctx: &DdlContext) -> Result<()> {
    match &altered.rename {
        Some(to) if (&to.database, &to.name) != (&base.database, &base.name) => check_free(schema, to, ctx),
        _ => Ok(()),
    }
}

/// Whether there are indexes to build, and they can be built beside running statements.
pub(super) fn is_online(base: &Table, altered: &Altered) -> bool {
    let state = Some(SchemaState::WriteOnly);
    !sees_rows(altered)
        && !altered.new_indexes.is_empty()
        && with_new_indexes(base, &altered.table, &altered.new_indexes, state).is_some()
}

/// Whether it depends on the table's rows whether the change can be made.
pub(super) fn sees_rows(altered: &Altered) -> bool {
    !altered.row_checks.is_empty() || altered.only_if_empty.is_some()
}

/// The table as it is, with the ids of its new indexes taken, so that a crash cannot leave entries where a later index
/// would find them.
pub(super) fn reserve_ids(base: &Table, altered: &Altered) -> Table {
    Table {
        max_index_id: altered.table.max_index_id,
        ..base.clone()
    }
}

/// The table as it is, with its new indexes in a state, or without them; none where one needs a column that is new.
pub(super) fn with_new_indexes(
    table: &Table,
    target: &Table,
    new_indexes: &[i64],
    state: Option<SchemaState>,
) -> Option<Table> {
    let is_new = |index: &Index| new_indexes.contains(&index.id);
    let mut table = table.clone();
    table.max_index_id = target.max_index_id;
    table.indexes.retain(|index| !is_new(index));
    if let Some(state) = state {
        for index in target.indexes.iter().filter(|index| is_new(index)) {
            table.indexes.push(Index {
                parts: parts_before(&table, target, index)?,
                state,
                ..index.clone()
            });
        }
    }
    Some(table)
}

/// A new index's parts as columns of the table before; none where it needs a column that is new.
fn parts_before(base: &Table, target: &Table, index: &Index) -> Option<Vec<IndexPart>> {
    index
        .parts
        .iter()
        .map(|part| {
            let id = target.columns.get(part.column)?.id;
            let column = base.columns.iter().position(|c| c.id == id)?;
            Some(IndexPart { column, ..*part })
        })
        .collect()
}

/// Ends an ALTER TABLE that has its table to itself, and its job, where it has one. `counter`: where AUTO_INCREMENT goes
/// on, if that changes.
pub(super) fn end_with_altered(
    change: &mut Change<'_>,
    job: Option<&Job>,
    altered: &Altered,
    counter: Option<u64>,
) -> Result<Outcome<()>> {
    if let Some(job) = job {
        let job = own(change, job)?.ok_or_else(|| no_such_job(job.id))?;
        check_not_cancelled(&job)?;
        end(change, &job)?;
    }
    let restarts = !altered.new_indexes.is_empty() || altered.forgets_past;
    put_target(
        change,
        &altered.table,
        altered.rename.as_ref(),
        &altered.dropped_indexes,
        restarts,
    )?;
    if let Some(next) = counter {
        change.set_auto_increment(altered.table.id, next)?;
    }
    Ok(Outcome::Done(()))
}

/// Publishes the table as it is in the end. `restarts`: older snapshots cannot be read through it, as they have not got
/// the entries of a new index, or have values of another type.
pub(super) fn put_target(
    change: &mut Change<'_>,
    target: &Table,
    rename: Option<&TableName>,
    dropped_indexes: &[i64],
    restarts: bool,
) -> Result<()> {
    let mut table = target.clone();
    if restarts {
        table.readable_from_ts = change.ts;
    }
    if let Some(to) = rename {
        rename_within(change, &mut table, to)?;
    }
    change.discard(index_ranges(table.id, dropped_indexes))?;
    change.put_table(table)
}
