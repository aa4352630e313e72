//! Names and order of a table's indexes, as in MySQL.

use types::{Error, Result};

use crate::foreign_key::is_superfluous;
use crate::model::{Column, Handle, Index, Table};

/// Removes prefixes that are as long as the column, names indexes without a name, makes the primary key's
/// columns NOT NULL, and sorts the indexes.
///
/// # Errors
/// 1105 for an index without columns.
pub fn normalize(table: &mut Table) -> Result<()> {
    find_primary(table)?;
    drop_whole_prefixes(table);
    drop_superfluous(table);
    find_primary(table)?;
    for at in 0..table.indexes.len() {
        if table.indexes[at].name.is_empty() {
            table.indexes[at].name = make_name(table, at)?;
        }
    }
    for part in table.primary_parts() {
        if let Some(column) = table.columns.get_mut(part.column) {
            column.nullable = false;
        }
    }
    sort(table);
    find_primary(table)
}

/// Removes indexes of foreign keys that another index makes superfluous.
fn drop_superfluous(table: &mut Table) {
    if !table.indexes.iter().any(|index| index.generated) {
        return;
    }
    let primary = table.primary_parts();
    let indexes: Vec<_> = table
        .indexes
        .iter()
        .map(|index| (index.parts.clone(), index.generated))
        .collect();
    let mut at = 0;
    table.indexes.retain(|_| {
        let stays = !is_superfluous(&indexes, &primary, at);
        at += 1;
        stays
    });
}

/// `KEY (a(10))` of a VARCHAR(10) is `KEY (a)`.
fn drop_whole_prefixes(table: &mut Table) {
    let columns = &table.columns;
    for part in table.indexes.iter_mut().flat_map(|i| &mut i.parts) {
        let whole =
            |c: &Column| c.ty.is_string() && !c.ty.is_blob_or_text() && part.prefix == Some(c.ty.length);
        if columns.get(part.column).is_some_and(whole) {
            part.prefix = None;
        }
    }
}

/// The first column's name; if an index has that name already, with the suffix `_2`, `_3` and so on.
fn make_name(table: &Table, at: usize) -> Result<String> {
    let index = &table.indexes[at];
    if index.primary {
        return Ok("PRIMARY".to_owned());
    }
    let column = index
        .shown(table)
        .parts
        .first()
        .and_then(|p| table.columns.get(p.column))
        .ok_or_else(|| Error::internal("an index without columns"))?;
    // Only earlier indexes count: a later one of the same name is an error that `limits` reports.
    let taken = |name: &str| {
        table.indexes[..at]
            .iter()
            .any(|i| types::same_name(&i.name, name))
    };
    if !taken(&column.name) && !column.name.eq_ignore_ascii_case("PRIMARY") {
        return Ok(column.name.clone());
    }
    (2..)
        .map(|n| format!("{}_{n}", column.name))
        .find(|name| !taken(name))
        .ok_or_else(|| Error::internal("no free index name"))
}

/// First the primary key, then unique indexes without NULLs, other unique indexes, the rest. Among unique
/// ones, those with prefixes are last. Indexes of virtual columns come after their like. Otherwise the order
/// of the statement stays.
fn sort(table: &mut Table) {
    let columns = &table.columns;
    let rank = |index: &Index| {
        let has_null = index
            .parts
            .iter()
            .any(|p| columns.get(p.column).is_some_and(|c| c.nullable));
        let has_prefix = index.parts.iter().any(|p| p.prefix.is_some());
        (
            !index.primary,
            !index.unique,
            index.unique && has_null,
            index.unique && has_prefix,
            index
                .parts
                .iter()
                .any(|p| columns.get(p.column).is_some_and(Column::is_virtual)),
            index.full_text.is_some(),
        )
    };
    let mut order: Vec<usize> = (0..table.indexes.len()).collect();
    order.sort_by_key(|&at| rank(&table.indexes[at]));
    table.indexes = order.iter().map(|&at| table.indexes[at].clone()).collect();
}

/// Sets the handle to the position of the primary key's index.
fn find_primary(table: &mut Table) -> Result<()> {
    match (table.indexes.iter().position(|i| i.primary), table.handle) {
        (Some(index), _) => table.handle = Handle::Clustered { index },
        (None, Handle::Clustered { .. }) => {
            return Err(Error::internal("a clustered table without its primary key"));
        }
        (None, Handle::Integer { .. } | Handle::Hidden) => {}
    }
    Ok(())
}
