//! ALTER TABLE, and with it CREATE and DROP INDEX: at once, beside running statements, or with the table to itself.

use std::sync::Arc;

use types::{Result, Warning};

use super::alter_plan::{Altered, alter};
use super::job::{Job, index_ranges};
use super::rename::{check_free, rename_within};
use super::{DdlContext, changeable_table};
use crate::Catalog;
use crate::definition::{AlterChange, TableName};
use crate::metadata_lock::ChangeLocks;
use crate::model::{Index, IndexPart, SchemaState, Table};
use crate::publish::{Change, Outcome};
use crate::sharded_id;

impl Catalog {
    pub(super) fn alter_table(
        &self,
        name: &TableName,
        changes: &[AlterChange],
        ctx: &DdlContext,
    ) -> Result<Vec<Warning>> {
        loop {
            let id = changeable_table(&self.schema(), name, ctx)?.id;
            let locks = self.locks().lock_for_change(&[id], &ctx.limit())?;
            // The table may have become another one while this waited for its turn.
            let base = changeable_table(&self.schema(), name, ctx)?;
            if base.id == id {
                return self.alter_locked(&base, changes, ctx, locks);
            }
        }
    }

    fn alter_locked(
        &self,
        base: &Arc<Table>,
        changes: &[AlterChange],
        ctx: &DdlContext,
        locks: ChangeLocks,
    ) -> Result<Vec<Warning>> {
        let altered = alter(base, changes, ctx)?;
        self.check_sequence_fits(base, &altered)?;
        if let Some(to) = &altered.rename
            && (&to.database, &to.name) != (&base.database, &base.name)
        {
            check_free(&self.schema(), to, ctx)?;
        }
        let sees_rows = !altered.row_checks.is_empty() || altered.only_if_empty.is_some();
        let online = !sees_rows && write_only(base, &altered).is_some();
        if altered.new_indexes.is_empty() || !online {
            self.alter_exclusively(base, &altered, ctx, locks)?;
        } else {
            self.alter_online(base, &altered, ctx, locks)?;
        }
        if let Some(next) = altered.auto_random_base {
            self.bump_auto_increment(&altered.table, next - 1)?;
        }
        Ok(altered.warnings)
    }

    /// The ids given so far have to fit into what the new AUTO_RANDOM leaves for its sequence.
    fn check_sequence_fits(&self, base: &Table, altered: &Altered) -> Result<()> {
        let Some(at) = altered.table.id_column() else {
            return Ok(());
        };
        let column = &altered.table.columns[at];
        let Some(new) = column.auto_random else {
            return Ok(());
        };
        let next = self.next_auto_increment(base)?;
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
        ctx: &DdlContext,
        locks: ChangeLocks,
    ) -> Result<()> {
        let exclusive = locks.exclusive(&ctx.limit())?;
        let counter = self.look_at_rows(base, altered)?;
        let builds = !altered.new_indexes.is_empty();
        let job = if builds {
            // Only the ids are taken, so that a crash cannot leave entries where a later index would find them.
            let mut reserved = Table::clone(base);
            reserved.max_index_id = altered.table.max_index_id;
            Some(self.start_job(base, reserved, altered, false)?)
        } else {
            None
        };
        let built = match &job {
            Some(job) => self.backfill(&altered.table, job, &ctx.interrupt),
            None => Ok(()),
        };
        let done = built.and_then(|()| {
            self.publish(|change| {
                if let Some(job) = &job {
                    change.meta.delete_job(job.id)?;
                }
                let rename = altered.rename.as_ref();
                let restarts = builds || altered.forgets_past;
                put_target(change, &altered.table, rename, &altered.dropped_indexes, restarts)?;
                if let Some(next) = counter {
                    change.set_auto_increment(base.id, next)?;
                }
                Ok(Outcome::Done(()))
            })
        });
        drop(exclusive);
        if let (Err(_), Some(job)) = (&done, job) {
            self.undo_or_leave(job, locks, ctx);
        }
        done
    }

    /// New indexes are filled beside running statements.
    fn alter_online(
        &self,
        base: &Arc<Table>,
        altered: &Altered,
        ctx: &DdlContext,
        locks: ChangeLocks,
    ) -> Result<()> {
        let between = write_only(base, altered)
            .ok_or_else(|| types::Error::internal("an index on a column that is not there yet"))?;
        let job = {
            let _exclusive = locks.exclusive(&ctx.limit())?;
            self.start_job(base, between.clone(), altered, true)?
        };
        let done = self
            .backfill(&between, &job, &ctx.interrupt)
            .and_then(|()| self.finish_job(&job, &locks, &ctx.limit()));
        if let Err(error) = done {
            self.undo_or_leave(job, locks, ctx);
            return Err(error);
        }
        // Others may be taking ids right now: the counter only goes up here.
        match altered.auto_increment {
            Some(next) => self.bump_auto_increment(&altered.table, next - 1),
            None => Ok(()),
        }
    }

    /// The first step of a job: the table in between is published.
    pub(super) fn start_job(
        &self,
        base: &Table,
        between: Table,
        altered: &Altered,
        online: bool,
    ) -> Result<Job> {
        self.publish(|change| {
            let job = Job {
                id: change.meta.next_id()?,
                table: base.id,
                target: altered.table.clone(),
                rename: altered.rename.clone(),
                new_indexes: altered.new_indexes.clone(),
                dropped_indexes: altered.dropped_indexes.clone(),
                online,
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
            tracing::warn!(%error, table = job.table, "a failed schema change is undone later");
            self.leave_job(job, locks, true);
        }
    }
}

fn new_indexes(altered: &Altered) -> impl Iterator<Item = &Index> {
    altered
        .table
        .indexes
        .iter()
        .filter(|i| altered.new_indexes.contains(&i.id))
}

/// The table as it is, and its new indexes for writers to keep; none where one needs a column that is new.
pub(super) fn write_only(base: &Table, altered: &Altered) -> Option<Table> {
    let mut table = Table::clone(base);
    table.max_index_id = altered.table.max_index_id;
    for index in new_indexes(altered) {
        table.indexes.push(Index {
            parts: parts_before(base, altered, index)?,
            state: SchemaState::WriteOnly,
            ..index.clone()
        });
    }
    Some(table)
}

/// A new index's parts as columns of the table before; none where it needs a column that is new.
fn parts_before(base: &Table, altered: &Altered, index: &Index) -> Option<Vec<IndexPart>> {
    index
        .parts
        .iter()
        .map(|part| {
            let id = altered.table.columns.get(part.column)?.id;
            let column = base.columns.iter().position(|c| c.id == id)?;
            Some(IndexPart { column, ..*part })
        })
        .collect()
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
