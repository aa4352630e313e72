//! The intermediate definitions that are published while an ALTER TABLE runs.

use schema::expression::Check;
use schema::model::{Column, ForeignKey, Index, IndexPart, SchemaState, ShadowTable, Table};
use types::{Error, Result};

use crate::altered::Altered;
use crate::change::Change;
use crate::foreign_key;
use crate::job::TableChange;

/// Whether something must be built or checked, and other statements can read and write the table meanwhile.
pub(crate) fn is_online(base: &Table, altered: &Altered) -> bool {
    if altered.only_if_empty.is_some() {
        return false;
    }
    if let Some(rewrite) = altered.rewrite {
        return !rewrite.stops_writers && altered.new_keys.is_empty();
    }
    let checks_rows = !altered.new_checks.is_empty() || !altered.new_keys.is_empty();
    if !checks_rows && altered.new_indexes.is_empty() {
        return false;
    }
    let made = TableChange::of(base, altered, true);
    let between = in_state(base, &made, Some(SchemaState::Public));
    between.is_some_and(|table| planner::expressions(&table).is_ok())
}

/// Whether the table's rows decide if the change is possible.
pub(crate) fn sees_rows(altered: &Altered) -> bool {
    altered.only_if_empty.is_some() || reads_rows(altered)
}

/// Whether all rows are read for the change.
pub(crate) fn reads_rows(altered: &Altered) -> bool {
    !altered.new_checks.is_empty() || !altered.new_keys.is_empty() || altered.rewrite.is_some()
}

/// The table before the change, with the ids of the new indexes reserved. So a later index can never have
/// entries that a crash has left.
pub(crate) fn reserve_ids(base: &Table, altered: &Altered) -> Table {
    Table {
        max_index_id: altered.table.max_index_id,
        ..base.clone()
    }
}

/// The table before the change, with the job's new parts in a state, or without them. `None` if they need a new column
/// that cannot be there before the whole change is. In the state public, the new indexes are complete, and the new
/// foreign keys, which use them, are in force.
pub(crate) fn in_state(table: &Table, made: &TableChange, state: Option<SchemaState>) -> Option<Table> {
    let Some(conversion) = &made.conversion else {
        let mut between = with_new_indexes(table, made, state)?;
        validate_checks(&mut between, made, state)?;
        validate_keys(&mut between, made, state)?;
        return Some(between);
    };
    let shadow = state.map(|state| ShadowTable {
        state,
        target: made.target.clone(),
        conversion: conversion.clone(),
    });
    Some(Table {
        shadow: shadow.map(Box::new),
        ..table.clone()
    })
}

/// Stores the table of a job with the job's new parts in a state.
pub(crate) fn put_in_state(change: &mut Change<'_>, made: &TableChange, state: SchemaState) -> Result<()> {
    let table = change.schema.table_by_id(made.table).cloned();
    let table = table.ok_or_else(|| Error::internal("the table of a job does not exist"))?;
    let mut between = in_state(&table, made, Some(state))
        .ok_or_else(|| Error::internal("an index on a column that does not exist yet"))?;
    if state == SchemaState::Public {
        foreign_key::touch_parents(change, &between, &made.new_keys)?;
        if !made.new_indexes.is_empty() {
            between.readable_from_ts = change.ts;
        }
    }
    change.put_table(between)
}

/// Makes writers obey new CHECK constraints. `None` if the statement also changes columns, because the
/// constraints are about the rows after the change.
fn validate_checks(table: &mut Table, made: &TableChange, state: Option<SchemaState>) -> Option<()> {
    table.checks.retain(|check| !(check.validating && check.enforced));
    table.checks.iter_mut().for_each(|check| check.validating = false);
    if made.new_checks.is_empty() || state < Some(SchemaState::WriteOnly) {
        return Some(());
    }
    if table.columns != made.target.columns {
        return None;
    }
    for name in &made.new_checks {
        let check = &made.target.checks[made.target.check_named(name)?];
        match table.check_named(name) {
            Some(at) => table.checks[at].validating = true,
            None => table.checks.push(Check {
                validating: true,
                ..check.clone()
            }),
        }
    }
    table.sort_checks();
    Some(())
}

/// Makes writers obey new foreign keys, when their indexes are complete.
fn validate_keys(table: &mut Table, made: &TableChange, state: Option<SchemaState>) -> Option<()> {
    table.foreign_keys.retain(|key| !key.validating);
    if made.new_keys.is_empty() || state < Some(SchemaState::Public) {
        return Some(());
    }
    if table.columns != made.target.columns {
        return None;
    }
    let new = made
        .target
        .foreign_keys
        .iter()
        .filter(|key| made.new_keys.contains(&key.name));
    table.foreign_keys.extend(new.map(|key| ForeignKey {
        validating: true,
        ..key.clone()
    }));
    schema::sort_keys(table);
    Some(())
}

/// The table before the change, with the new indexes in a state, or without them. `None` if one needs a new column that
/// cannot be there before the whole change is.
fn with_new_indexes(table: &Table, made: &TableChange, state: Option<SchemaState>) -> Option<Table> {
    let target = &made.target;
    let ids = made.made_indexes();
    let is_new = |index: &Index| ids.contains(&index.id);
    let mut table = table.clone();
    table.max_index_id = target.max_index_id;
    table.indexes.retain(|index| !is_new(index));
    table
        .columns
        .retain(|column| !made.new_columns.contains(&column.id));
    if let Some(state) = state {
        add_columns(&mut table, made)?;
        for index in target.indexes.iter().filter(|index| is_new(index)) {
            table.indexes.push(Index {
                id: made.written_id(index.id, state),
                parts: parts_before(&table, target, index)?,
                state,
                ..index.clone()
            });
        }
    }
    Some(table)
}

/// Adds the columns of new indexes, behind the others, so that writers maintain the indexes. No statement can name these
/// columns: writers give them their defaults. Their ids stay reserved, because rows written meanwhile have values under
/// them even if the statement fails.
///
/// `None` if an expression would mean another column than in the target.
fn add_columns(table: &mut Table, made: &TableChange) -> Option<()> {
    if made.new_columns.is_empty() {
        return Some(());
    }
    let target = &made.target;
    let stays = |column: &Column| match target.columns.iter().find(|after| after.id == column.id) {
        None => true,
        Some(after) => {
            (&column.name, &column.ty, &column.generated) == (&after.name, &after.ty, &after.generated)
        }
    };
    if !table.columns.iter().all(stays) {
        return None;
    }
    for &id in &made.new_columns {
        let column = target.columns.iter().find(|column| column.id == id)?;
        if table.column_offset(&column.name).is_some() {
            return None;
        }
        table.columns.push(Column {
            state: SchemaState::WriteOnly,
            on_update_now: false,
            ..column.clone()
        });
    }
    made.reserve_columns(table);
    Some(())
}

/// A new index's parts as columns of the table before the change; `None` if it needs a new column.
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
