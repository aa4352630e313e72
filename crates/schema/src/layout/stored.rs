//! Which columns of a table can be read from its keys, and which must be stored in the values of rows and
//! entries.

use codec::row::ColumnSource;
use types::{Error, Result, SqlType};

use super::defaults::original_default;
use crate::model::{Column, Handle, Index, IndexPart, Table};

/// Whether a column's value can be read from a key. That of text cannot: the key has its sort key.
pub(super) fn key_gives_back(ty: &SqlType) -> bool {
    codec::datum::is_reversible(ty)
}

/// The primary index of a table whose rows are stored by it; `None` for integer and hidden handles.
pub(super) fn clustered_index(table: &Table) -> Option<&Index> {
    match table.handle {
        Handle::Clustered { index } => table.indexes.get(index),
        Handle::Integer { .. } | Handle::Hidden => None,
    }
}

/// The parts whose encodings are a row's handle; none for integer and hidden handles.
pub(super) fn clustered_parts(table: &Table) -> &[IndexPart] {
    clustered_index(table).map_or(&[], |index| &index.parts)
}

/// Where a column of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The row's key is the column's value.
    IntegerHandle,
    /// Part `n` of the row's key.
    HandlePart(usize),
    /// In the row's value; [`column_source`] reads it.
    Row,
    /// Nowhere: the value of a virtual generated column is computed from other columns.
    Computed,
}

/// Where a table's column is, by its offset.
pub fn place(table: &Table, column: usize) -> Place {
    if table.columns.get(column).is_some_and(Column::is_virtual) {
        return Place::Computed;
    }
    match table.handle {
        Handle::Integer { column: handle } if handle == column => Place::IntegerHandle,
        Handle::Integer { .. } | Handle::Hidden => Place::Row,
        Handle::Clustered { .. } => match whole_part(table, clustered_parts(table), column) {
            Some(part) if table.columns.get(column).is_some_and(|c| key_gives_back(&c.ty)) => {
                Place::HandlePart(part)
            }
            _ => Place::Row,
        },
    }
}

/// What reads a column out of rows' values.
///
/// # Errors
/// 1105 for a default that is not of the column's type.
pub fn column_source(column: &Column) -> Result<ColumnSource> {
    Ok(ColumnSource::new(
        column.id,
        &column.ty,
        original_default(column)?,
    ))
}

/// The part that has all of a column, not only a prefix or an element.
pub(super) fn whole_part(table: &Table, parts: &[IndexPart], column: usize) -> Option<usize> {
    parts
        .iter()
        .position(|p| p.column == column && !is_cut(table, p) && !is_array(table, p))
}

/// Whether an entry has one of several values of a row.
fn is_array(table: &Table, part: &IndexPart) -> bool {
    table
        .columns
        .get(part.column)
        .is_some_and(|c| c.elements.is_some())
}

/// Whether a part has only a prefix of its column's values.
pub(super) fn is_cut(table: &Table, part: &IndexPart) -> bool {
    let length = table.columns.get(part.column).map_or(0, |c| c.ty.length);
    // `col(n)` with the column's own length is the whole value, except that the length of a TEXT is in bytes.
    part.prefix.is_some_and(|n| {
        table
            .columns
            .get(part.column)
            .is_some_and(|c| c.ty.is_blob_or_text() || n < length)
    })
}

/// Columns that an index's entries have in their values, because their keys have only sort keys; each with
/// the number of characters (bytes for binary) of its prefix. In ascending order of column ids, as in rows.
pub(super) fn restored_columns(table: &Table, index: &Index) -> Vec<(usize, Option<u32>)> {
    let needs_restoring = |p: &&IndexPart| {
        table
            .columns
            .get(p.column)
            .is_some_and(|c| !key_gives_back(&c.ty) && c.elements.is_none())
    };
    let clustered = clustered_index(table).is_some();
    let mut restored: Vec<(usize, Option<u32>)> = Vec::new();
    let mut add = |part: &IndexPart| {
        let prefix = part.prefix.filter(|_| is_cut(table, part));
        match restored.iter_mut().find(|r| r.0 == part.column) {
            // Both the index and the primary key have it: the longer prefix is sufficient for both.
            Some(known) => known.1 = known.1.zip(prefix).map(|(a, b)| a.max(b)),
            None => restored.push((part.column, prefix)),
        }
    };
    if clustered {
        index.parts.iter().filter(needs_restoring).for_each(&mut add);
        clustered_parts(table)
            .iter()
            .filter(needs_restoring)
            .for_each(&mut add);
    } else if index.parts.iter().any(|p| needs_restoring(&p)) {
        // In the older format, the value has either all parts or none.
        let whole = index.parts.iter().filter(|part| !is_array(table, part));
        whole.for_each(&mut add);
    }
    restored.sort_by_key(|r| table.columns.get(r.0).map_or(0, |c| c.id));
    restored
}

/// A table's column, or 1105: offsets come from the same table, so a wrong one is a defect.
pub(super) fn column(table: &Table, offset: usize) -> Result<&Column> {
    table
        .columns
        .get(offset)
        .ok_or_else(|| Error::internal(format!("table '{}' has no column {offset}", table.name)))
}

pub(super) fn index_at(table: &Table, position: usize) -> Result<&Index> {
    table
        .indexes
        .get(position)
        .ok_or_else(|| Error::internal(format!("table '{}' has no index {position}", table.name)))
}
