//! Definitions that are published while an ALTER TABLE runs.

use schema::model::{Index, IndexPart, SchemaState, Table};
use schema::shadow::ShadowTable;

use crate::alter_plan::Altered;
use crate::job::TableChange;

/// Whether there is something to build, and it can be built while other statements use the table.
pub(crate) fn is_online(base: &Table, altered: &Altered) -> bool {
    if altered.only_if_empty.is_some() || !altered.new_keys.is_empty() {
        return false;
    }
    if let Some(rewrite) = altered.rewrite {
        return !rewrite.closed;
    }
    let state = Some(SchemaState::WriteOnly);
    !sees_rows(altered)
        && !altered.new_indexes.is_empty()
        && with_new_indexes(base, &altered.table, &altered.new_indexes, state).is_some()
}

/// Whether it depends on the table's rows if the change is possible.
pub(crate) fn sees_rows(altered: &Altered) -> bool {
    !altered.new_checks.is_empty()
        || !altered.new_keys.is_empty()
        || altered.only_if_empty.is_some()
        || altered.rewrite.is_some()
        || altered.closed
}

/// The table as it is, with the ids of its new indexes reserved. So a later index cannot find entries that a
/// crash has left.
pub(crate) fn reserve_ids(base: &Table, altered: &Altered) -> Table {
    Table {
        max_index_id: altered.table.max_index_id,
        ..base.clone()
    }
}

/// The table as it is, with what a job makes in a state, or without it; `None` if that needs a new column.
pub(crate) fn in_state(table: &Table, made: &TableChange, state: Option<SchemaState>) -> Option<Table> {
    let Some(conversion) = &made.conversion else {
        return with_new_indexes(table, &made.target, &made.new_indexes, state);
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

/// The table as it is, with its new indexes in a state, or without them; `None` if one needs a new column.
pub(crate) fn with_new_indexes(
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
