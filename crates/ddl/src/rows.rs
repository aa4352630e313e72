//! Checks of existing rows for an ALTER TABLE, which holds the table's exclusive lock meanwhile.

use std::ops::ControlFlow;

use cluster::Cluster;
use cluster::ids::align;
use functions::{EvalContext, TimeZone};
use kv::{Interrupt, Reader, Snapshot};
use schema::bound::{BoundCheck, add_columns};
use schema::layout::{IndexLayout, TableLayout};
use schema::model::{ForeignKey, Handle, SchemaState, Table};
use types::{Error, Result, Value};

use crate::altered::Altered;
use crate::change::ranges;
use crate::context::DdlContext;
use crate::foreign_key_rows::check_rows as check_foreign_key;
use crate::job::TableChange;

/// Makes the checks that an ALTER TABLE requires. Returns how many rows it has checked for constraints.
pub(crate) fn inspect(cluster: &Cluster, base: &Table, altered: &Altered, ctx: &DdlContext) -> Result<u64> {
    let snapshot = cluster.store().snapshot_now()?;
    if let Some(error) = &altered.only_if_empty
        && has_rows(&snapshot, base)?
    {
        return Err(error.clone());
    }
    if altered.rewrite.is_some() {
        return Ok(0);
    }
    let rows = check_constraints(&snapshot, &altered.table, &altered.new_checks, &ctx.interrupt)?;
    let of_keys = check_keys(&snapshot, cluster, &altered.table, altered, ctx)?;
    Ok(rows.max(of_keys))
}

/// The checks if all rows are rewritten.
pub(crate) fn inspect_rewritten(
    cluster: &Cluster,
    target: &Table,
    altered: &Altered,
    ctx: &DdlContext,
) -> Result<()> {
    let snapshot = cluster.store().snapshot_now()?;
    check_keys(&snapshot, cluster, target, altered, ctx).map(drop)
}

/// Checks that all rows satisfy the constraints of a job, which writers already obey. Returns as [`inspect`].
pub(crate) fn validate(
    cluster: &Cluster,
    table: &Table,
    made: &TableChange,
    interrupt: &Interrupt,
) -> Result<u64> {
    let snapshot = cluster.store().snapshot_now()?;
    let mut rows = check_constraints(&snapshot, table, &made.new_checks, interrupt)?;
    let is_new = |key: &&ForeignKey| !made.keys_unchecked && made.new_keys.contains(&key.name);
    for key in table.foreign_keys.iter().filter(is_new) {
        rows = rows.max(check_foreign_key(
            &snapshot,
            &cluster.schema(),
            table,
            key,
            interrupt,
        )?);
    }
    Ok(rows)
}

/// Checks the new foreign keys. Returns how many rows it has read.
fn check_keys(
    snapshot: &Snapshot,
    cluster: &Cluster,
    table: &Table,
    altered: &Altered,
    ctx: &DdlContext,
) -> Result<u64> {
    let mut rows = 0;
    if ctx.foreign_key_checks {
        for key in &altered.new_keys {
            rows = rows.max(check_foreign_key(
                snapshot,
                &cluster.schema(),
                table,
                key,
                &ctx.interrupt,
            )?);
        }
    }
    Ok(rows)
}

/// The next AUTO_INCREMENT value, if an ALTER TABLE changes it. `rewritten`: the definition of the rewritten
/// rows, if there are any.
pub(crate) fn next_id(
    cluster: &Cluster,
    base: &Table,
    altered: &Altered,
    rewritten: Option<&Table>,
) -> Result<Option<u64>> {
    let snapshot = cluster.store().snapshot_now()?;
    let Some(at) = altered.table.auto_increment_column() else {
        return Ok(None);
    };
    let id = altered.table.columns[at].id;
    let before = base.columns.iter().position(|c| c.id == id);
    let is_new = before.is_none_or(|b| !base.columns[b].makes_ids());
    if altered.auto_increment.is_none() && !is_new {
        return Ok(None);
    }
    let stored = match (rewritten, before) {
        (Some(target), _) => largest_stored(&snapshot, target, at)?,
        (None, Some(column)) => largest_stored(&snapshot, base, column)?,
        (None, None) => 0,
    };
    // As in InnoDB, it is above all existing values.
    let next = altered.auto_increment.unwrap_or(1).max(stored.saturating_add(1));
    let steps = altered
        .conversion
        .as_ref()
        .and_then(|conversion| conversion.id_steps);
    Ok(Some(match steps {
        Some((increment, offset)) if is_new => align(next, increment, offset),
        _ => next,
    }))
}

/// Checks that all rows satisfy some CHECK constraints. Rows are read with this definition. Returns how many
/// it has read.
fn check_constraints(
    snapshot: &Snapshot,
    table: &Table,
    names: &[String],
    interrupt: &Interrupt,
) -> Result<u64> {
    if names.is_empty() {
        return Ok(0);
    }
    let Some(expressions) = planner::expressions(table)? else {
        return Ok(0);
    };
    let is_new = |check: &&BoundCheck| names.contains(&check.name);
    let checks: Vec<&BoundCheck> = expressions.checks.iter().filter(is_new).collect();
    let mut columns = Vec::new();
    checks
        .iter()
        .for_each(|check| add_columns(&check.condition, &mut columns));
    let layout = TableLayout::in_place(table, &columns)?;
    let context = EvalContext::default();
    let check_row = |values: &[Value]| {
        for check in &checks {
            check.test(values, &context)?;
        }
        Ok(())
    };
    let mut rows = 0;
    scan_rows(snapshot, table, |key, value| {
        interrupt.check()?;
        rows += 1;
        check_row(&layout.decode_row_values(key, value, TimeZone::UTC)?)
    })?;
    Ok(rows)
}

fn has_rows(snapshot: &Snapshot, table: &Table) -> Result<bool> {
    for range in ranges(table.row_ranges()) {
        if !snapshot.scan_page(&range, 1, false)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Calls `each` with the key and the value of every row, until it fails.
fn scan_rows(
    snapshot: &Snapshot,
    table: &Table,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let mut failure = None;
    for range in ranges(table.row_ranges()) {
        snapshot.scan(&range, false, &mut |key, value| match each(key, value) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        })?;
        if let Some(error) = failure.take() {
            return Err(error);
        }
    }
    Ok(())
}

/// A value for an AUTO_INCREMENT counter: a negative value or NULL counts as 0.
pub(crate) fn as_id(value: &Value) -> u64 {
    match value {
        Value::Int(v) => u64::try_from(*v).unwrap_or(0),
        Value::UInt(v) => *v,
        // Saturates, as InnoDB does.
        Value::Double(v) => v.round() as u64,
        _ => 0,
    }
}

/// The largest value of a column, read from the end of an index that begins with it, if there is one.
fn largest_stored(snapshot: &Snapshot, table: &Table, column: usize) -> Result<u64> {
    let layout = TableLayout::new(table, &[column])?;
    let decode = |key: &[u8], value: &[u8]| -> Result<u64> {
        let values = layout.decode_row_values(key, value, TimeZone::UTC)?;
        Ok(values.first().map_or(0, as_id))
    };
    let leads = |parts: &[schema::model::IndexPart]| parts.first().is_some_and(|p| p.column == column);
    if table.handle != Handle::Hidden && leads(&table.primary_parts()) {
        let mut largest = 0;
        for range in ranges(table.row_ranges()) {
            if let Some((key, value)) = snapshot.scan_page(&range, 1, true)?.first() {
                largest = largest.max(decode(key, value)?);
            }
        }
        return Ok(largest);
    }
    let index = table
        .indexes
        .iter()
        .position(|i| i.state == SchemaState::Public && !i.primary && leads(&i.parts));
    if let Some(index) = index {
        let entries = IndexLayout::new(table, index, &[])?;
        let descends = table.indexes[index]
            .parts
            .iter()
            .take(1)
            .any(|part| part.stored_descending);
        let mut largest = 0;
        for range in ranges(table.index_ranges(index)) {
            let Some((key, value)) = snapshot.scan_page(&range, 1, !descends)?.pop() else {
                continue;
            };
            let row = entries.row_key(&key, &value)?;
            let Some(value) = snapshot.get(&row)? else {
                return Err(Error::internal(format!(
                    "an index entry of {}.{} has no row",
                    table.database, table.name
                )));
            };
            largest = largest.max(decode(&row, &value)?);
        }
        return Ok(largest);
    }
    let mut largest = 0;
    scan_rows(snapshot, table, |key, value| {
        largest = largest.max(decode(key, value)?);
        Ok(())
    })?;
    Ok(largest)
}
