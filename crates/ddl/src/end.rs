//! The last step of a schema change: publishes its result, or restores the previous definition.

use cluster::lease::lease_is_over;
use kv::KeyRange;
use schema::definition::TableName;
use schema::model::{Index, Table};
use types::Result;

use crate::altered::Altered;
use crate::between::in_state;
use crate::change::{Change, Outcome, ranges};
use crate::foreign_key;
use crate::job::{Job, Progress, TableChange, check_not_cancelled, no_such_job};
use crate::new_name::rename_within;

/// The job's present record, locked until the end of this transaction, for the node that works on it. `None`
/// after it has ended.
///
/// # Errors
/// 8027 if another node has taken it over.
pub(crate) fn own(change: &mut Change<'_>, job: &Job) -> Result<Option<Job>> {
    match Job::lock(&mut change.meta, job.id)? {
        Some(stored) if stored.owner != job.owner => Err(lease_is_over()),
        stored => Ok(stored),
    }
}

/// Publishes the target definition and ends the job.
pub(crate) fn end_with_target(change: &mut Change<'_>, job: &Job) -> Result<Outcome<()>> {
    let Some(job) = own(change, job)? else {
        return Ok(Outcome::Nothing(()));
    };
    check_not_cancelled(&job)?;
    end(change, &job)?;
    if let Some(made) = &job.change {
        let rename = made.rename.as_ref();
        put_target(change, &made.target, rename, &made.dropped_indexes, true)?;
        change.discard(ranges(made.target.ranges_of_indexes(&made.delta_indexes)))?;
        discard_handles(change, made)?;
    }
    Ok(Outcome::Done(()))
}

/// Ends a job within a change.
pub(crate) fn end(change: &mut Change<'_>, job: &Job) -> Result<()> {
    change.ends = Some((job.id, Progress::read(&change.meta.reader(), job.id)?.rows));
    job.delete(&mut change.meta)
}

/// Ends a job, and restores the table's previous definition.
pub(crate) fn end_undone(change: &mut Change<'_>, job: &Job) -> Result<Outcome<()>> {
    let Some(job) = own(change, job)? else {
        return Ok(Outcome::Nothing(()));
    };
    job.delete(&mut change.meta)?;
    let fills = job.fills.iter().cloned();
    change.discard(fills.map(|(start, end)| KeyRange::new(start, end)).collect())?;
    if let Some(made) = &job.change
        && let Some(before) = change.schema.table_by_id(made.table).cloned()
    {
        let ids = made.made_indexes();
        let is_new = |index: &Index| ids.contains(&index.id);
        let is_published = before.indexes.iter().any(is_new);
        let mut table = in_state(&before, made, None).unwrap_or_else(|| Table::clone(&before));
        schema::indexes::normalize(&mut table)?;
        // If nothing changed, nodes that use the table need not follow. Ids that were reserved for
        // unpublished parts need not be kept.
        let ids_before = Table {
            max_index_id: before.max_index_id,
            max_column_id: before.max_column_id,
            ..table.clone()
        };
        if ids_before != *before {
            // The parents of keys that are no longer in force.
            foreign_key::touch_parents(change, &before, &made.new_keys)?;
            change.put_table(table)?;
        }
        if is_published || !made.online {
            change.discard(ranges(before.ranges_of_indexes(&ids)))?;
        }
        // Rows that were copied to new places do not belong to any table.
        change.discard(ranges(made.target.data_ranges_outside(&before)))?;
        discard_handles(change, made)?;
    }
    Ok(Outcome::Done(()))
}

/// Publishes the result of an ALTER TABLE that holds its table's exclusive lock, and ends its job if it has
/// one. `counter`: the next AUTO_INCREMENT value, if it changes.
pub(crate) fn end_with_altered(
    change: &mut Change<'_>,
    job: Option<&Job>,
    altered: &Altered,
    counter: Option<u64>,
) -> Result<Outcome<()>> {
    let mut target = &altered.table;
    if let Some(job) = job {
        let stored = own(change, job)?.ok_or_else(|| no_such_job(job.id))?;
        check_not_cancelled(&stored)?;
        end(change, &stored)?;
        if let Some(made) = job.change.as_ref().filter(|made| made.conversion.is_some()) {
            target = &made.target;
            discard_handles(change, made)?;
        }
    }
    let restarts = !altered.new_indexes.is_empty() || altered.rewrite.is_some();
    put_target(
        change,
        target,
        altered.rename.as_ref(),
        &altered.dropped_indexes,
        restarts,
    )?;
    if let Some(next) = counter {
        change.set_auto_increment(altered.table.id, next)?;
    }
    Ok(Outcome::Done(()))
}

/// Discards the handles that rewritten rows had before, which are no longer needed.
fn discard_handles(change: &mut Change<'_>, made: &TableChange) -> Result<()> {
    let prefix = made
        .conversion
        .as_ref()
        .and_then(|c| c.handle_entries(made.target.id));
    change.discard(prefix.map(KeyRange::prefix).into_iter().collect())
}

/// Publishes the definition after a change. `restarts`: older snapshots cannot be read with it, because they
/// have no entries of a new index, or values of another type.
pub(crate) fn put_target(
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
    let before = change.schema.table_by_id(target.id).cloned();
    if let Some(to) = rename {
        rename_within(change, &mut table, to)?;
    }
    if let Some(before) = before {
        foreign_key::put_relatives(change, &before, &mut table)?;
        change.discard(ranges(before.data_ranges_outside(&table)))?;
    }
    change.discard(ranges(table.ranges_of_indexes(dropped_indexes)))?;
    change.database(&table.database)?.check_constraint_names(&table)?;
    change.put_table(table)
}
