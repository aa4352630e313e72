//! Encodes rows and their index entries.

use codec::row::{Cell, RowView};
use codec::{RowHandle, datum, key};
use functions::TimeZone;
use types::{Error, Result, SqlType, Value};

use super::defaults::original_default;
use super::key_parts::{append_part, cut_value, integer_handle};
use super::stored::{Place, clustered_parts, column, index_at, is_cut, place, restored_columns};
use super::zone::to_stored;
use crate::model::{Column, Handle, IndexPart, Table};

/// The entry of one row in one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// The index is unique and no part is NULL: the key has no handle, and another row with this key is a
    /// duplicate.
    pub distinct: bool,
}

/// Encodes the rows of a table. One object serves a whole statement.
#[derive(Debug, Clone)]
pub struct RowEncoder {
    physical_id: i64,
    column_count: usize,
    /// In ascending order of column ids.
    stored: Vec<StoredColumn>,
    handle: HandleParts,
    indexes: Vec<IndexEncoder>,
}

#[derive(Debug, Clone)]
struct StoredColumn {
    offset: usize,
    id: i64,
    ty: SqlType,
    /// The encoded default of rows that are older than the column. If it is `None`, NULL need not be stored.
    missing: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
enum HandleParts {
    Integer { column: usize },
    Clustered(Vec<KeyPart>),
    Hidden,
}

#[derive(Debug, Clone, Copy)]
struct KeyPart {
    column: usize,
    ty: SqlType,
    cut: Option<u32>,
    descending: bool,
}

#[derive(Debug, Clone)]
struct IndexEncoder {
    prefix: Vec<u8>,
    unique: bool,
    /// Rows are stored by this primary key, so it has no entries.
    clustered: bool,
    parts: Vec<KeyPart>,
    /// The number of the part of which a row has several values, in a multi-valued index.
    array: Option<usize>,
    /// Offset, id and type of a column, and the characters of its prefix. In ascending order of column ids.
    restored: Vec<(usize, i64, SqlType, Option<u32>)>,
}

impl StoredColumn {
    fn new(offset: usize, column: &Column) -> Result<Self> {
        let mut encoder = codec::row::RowEncoder::new();
        let default = original_default(column)?;
        encoder.push(column.id, &default, &column.ty)?;
        Ok(Self {
            offset,
            id: column.id,
            ty: column.ty,
            missing: (!default.is_null()).then(|| encoder.last_bytes().to_vec()),
        })
    }

    /// Whether a stored cell holds a value, which is the last one that was pushed.
    fn holds(&self, cell: Cell<'_>, value: &Value, encoder: &codec::row::RowEncoder) -> bool {
        let held = match cell {
            Cell::Bytes(bytes) => Some(bytes),
            Cell::Null => None,
            Cell::Missing => self.missing.as_deref(),
        };
        held == (!value.is_null()).then(|| encoder.last_bytes())
    }

    fn push(&self, value: &Value, zone: TimeZone, encoder: &mut codec::row::RowEncoder) -> Result<()> {
        if value.is_null() && self.missing.is_none() {
            return Ok(());
        }
        let mut converted = Value::Null;
        let value = to_stored(value, &self.ty, zone, &mut converted)?;
        Ok(encoder.push(self.id, value, &self.ty)?)
    }
}

/// About what a part of a key takes beyond its value, in bytes.
const PART_BYTES: usize = 2;
/// What a handle takes in an entry's key or value beyond its bytes in a row's key, at most.
const HANDLE_BYTES: usize = 8;

/// About what a value takes in a row, in bytes.
fn size_hint(value: &Value) -> usize {
    value.as_bytes().map_or(size_of::<i64>(), <[u8]>::len)
}

impl RowEncoder {
    /// # Errors
    /// 1105 for a table whose indexes name columns it does not have.
    pub fn new(table: &Table) -> Result<Self> {
        let mut stored: Vec<StoredColumn> = table
            .columns
            .iter()
            .enumerate()
            .filter(|(offset, _)| place(table, *offset) == Place::Row)
            .map(|(offset, column)| StoredColumn::new(offset, column))
            .collect::<Result<_>>()?;
        stored.sort_by_key(|c| c.id);
        let handle = match table.handle {
            Handle::Integer { column } => HandleParts::Integer { column },
            Handle::Clustered { .. } => HandleParts::Clustered(key_parts(table, clustered_parts(table))?),
            Handle::Hidden => HandleParts::Hidden,
        };
        let indexes = (0..table.indexes.len()).map(|i| IndexEncoder::new(table, i));
        Ok(Self {
            physical_id: table.physical_id(),
            column_count: table.columns.len(),
            stored,
            handle,
            indexes: indexes.collect::<Result<_>>()?,
        })
    }

    /// The handle of a row: one value per column of the table, in the table's order, each of its column's
    /// type.
    ///
    /// # Errors
    /// 1105 for a table with hidden handles, which are allocated, and for a row that does not fit the table.
    pub fn handle(&self, row: &[Value], zone: TimeZone) -> Result<RowHandle> {
        self.check(row)?;
        match &self.handle {
            HandleParts::Integer { column } => Ok(RowHandle::Int(integer_handle(&row[*column])?)),
            HandleParts::Clustered(parts) => {
                let mut key = Vec::with_capacity(32);
                for part in parts {
                    append_part(&row[part.column], &part.ty, part.cut, zone, &mut key)?;
                }
                Ok(RowHandle::Common(key))
            }
            HandleParts::Hidden => Err(Error::internal("the handle of a table without a primary key")),
        }
    }

    pub fn row_key(&self, handle: &RowHandle) -> Vec<u8> {
        key::row_key(self.physical_id, handle)
    }

    /// The stored value of a row.
    pub fn row_value(&self, row: &[Value], zone: TimeZone) -> Result<Vec<u8>> {
        self.check(row)?;
        let bytes = self
            .stored
            .iter()
            .map(|column| size_hint(&row[column.offset]))
            .sum();
        let mut encoder = codec::row::RowEncoder::with_capacity(self.stored.len(), bytes);
        for column in &self.stored {
            column.push(&row[column.offset], zone, &mut encoder)?;
        }
        Ok(encoder.finish()?)
    }

    /// The new value of a row: the columns in `changed` have the values of `row`, all others are copied from
    /// `stored`. `None` if the changed columns have the same values as before.
    pub fn changed_value(
        &self,
        stored: &[u8],
        row: &[Value],
        changed: &[usize],
        zone: TimeZone,
    ) -> Result<Option<Vec<u8>>> {
        self.check(row)?;
        let view = RowView::parse(stored)?;
        let mut cursor = view.cursor();
        let mut is_same = true;
        let mut encoder = codec::row::RowEncoder::with_capacity(self.stored.len(), stored.len());
        for column in &self.stored {
            let cell = cursor.find(column.id)?;
            if changed.contains(&column.offset) {
                let value = &row[column.offset];
                column.push(value, zone, &mut encoder)?;
                is_same = is_same && column.holds(cell, value, &encoder);
                continue;
            }
            match cell {
                Cell::Bytes(bytes) => encoder.push_bytes(column.id, bytes)?,
                Cell::Null if column.missing.is_some() => encoder.push_null(column.id)?,
                // The default of a missing column does not change.
                Cell::Null | Cell::Missing => {}
            }
        }
        if is_same {
            return Ok(None);
        }
        Ok(Some(encoder.finish()?))
    }

    /// Positions in [`Table::indexes`] of the indexes that have entries: all but a clustered primary key.
    pub fn entry_indexes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.indexes.len()).filter(|&i| !self.indexes[i].clustered)
    }

    /// Calls `take` with each entry of a row in an index that [`RowEncoder::entry_indexes`] names: one,
    /// unless the index is multi-valued.
    pub fn index_entries(
        &self,
        position: usize,
        row: &[Value],
        handle: &RowHandle,
        zone: TimeZone,
        take: impl FnMut(IndexEntry),
    ) -> Result<()> {
        self.check(row)?;
        match self.indexes.get(position) {
            Some(index) if !index.clustered => index.entries(row, handle, zone, take),
            _ => Err(Error::internal(format!("index {position} has no entries"))),
        }
    }

    /// The same for a row that is stored under `row_key`, whatever partition that is in.
    pub fn index_entries_of(
        &self,
        position: usize,
        row: &[Value],
        (row_key, handle): (&[u8], &RowHandle),
        zone: TimeZone,
        mut take: impl FnMut(IndexEntry),
    ) -> Result<()> {
        let place = key::table_id(row_key)?;
        self.index_entries(position, row, handle, zone, |mut entry| {
            key::set_table_id(&mut entry.key, place);
            take(entry);
        })
    }

    /// The only entry of a row in an index that is not multi-valued.
    pub fn index_entry(
        &self,
        position: usize,
        row: &[Value],
        handle: &RowHandle,
        zone: TimeZone,
    ) -> Result<IndexEntry> {
        let mut only = None;
        self.index_entries(position, row, handle, zone, |entry| only = Some(entry))?;
        only.ok_or_else(|| Error::internal(format!("a row without an entry in index {position}")))
    }

    fn check(&self, row: &[Value]) -> Result<()> {
        if row.len() == self.column_count {
            return Ok(());
        }
        Err(Error::internal(format!(
            "a row of {} values for a table of {} columns",
            row.len(),
            self.column_count
        )))
    }
}

fn key_parts(table: &Table, parts: &[IndexPart]) -> Result<Vec<KeyPart>> {
    let part = |part: &IndexPart| {
        Ok(KeyPart {
            column: part.column,
            ty: column(table, part.column)?.key_type(),
            cut: part.prefix.filter(|_| is_cut(table, part)),
            descending: part.stored_descending,
        })
    };
    parts.iter().map(part).collect()
}

impl IndexEncoder {
    fn new(table: &Table, position: usize) -> Result<Self> {
        let index = index_at(table, position)?;
        let restored = restored_columns(table, index).into_iter().map(|(offset, cut)| {
            let column = column(table, offset)?;
            Ok((offset, column.id, column.ty, cut))
        });
        Ok(Self {
            prefix: key::index_prefix(table.physical_id(), index.id),
            unique: index.unique || index.primary,
            clustered: matches!(table.handle, Handle::Clustered { index } if index == position),
            parts: key_parts(table, &index.parts)?,
            array: index.multi_valued_part(&table.columns),
            restored: restored.collect::<Result<_>>()?,
        })
    }

    fn entries(
        &self,
        row: &[Value],
        handle: &RowHandle,
        zone: TimeZone,
        mut take: impl FnMut(IndexEntry),
    ) -> Result<()> {
        let array = self
            .array
            .and_then(|part| Some((part, self.parts.get(part)?.column)));
        match array {
            // NULL has an entry, an empty array has none.
            Some((part, column)) if !row[column].is_null() => {
                let Value::Json(array) = &row[column] else {
                    return Err(Error::internal(
                        "the value of a multi-valued index is not an array",
                    ));
                };
                for element in functions::multi_valued::elements(array) {
                    take(self.entry(row, Some((part, &element)), handle, zone)?);
                }
            }
            _ => take(self.entry(row, None, handle, zone)?),
        }
        Ok(())
    }

    /// `element`: the value in place of the row's for the part with that number.
    fn entry(
        &self,
        row: &[Value],
        element: Option<(usize, &Value)>,
        handle: &RowHandle,
        zone: TimeZone,
    ) -> Result<IndexEntry> {
        let parts = self
            .parts
            .iter()
            .map(|part| PART_BYTES + size_hint(&row[part.column]));
        let handle_bytes = HANDLE_BYTES + handle.length();
        let room = self.prefix.len() + parts.sum::<usize>() + handle_bytes;
        let mut key = Vec::with_capacity(room);
        key.extend_from_slice(&self.prefix);
        let mut has_null = false;
        for (number, part) in self.parts.iter().enumerate() {
            let value = match element {
                Some((replaced, element)) if replaced == number => element,
                _ => &row[part.column],
            };
            has_null |= value.is_null();
            let start = key.len();
            append_part(value, &part.ty, part.cut, zone, &mut key)?;
            if part.descending {
                datum::descending::invert(&mut key, start);
            }
        }
        let distinct = self.unique && !has_null;
        if !distinct {
            codec::index::append_handle(handle, &mut key);
        }
        let mut value = Vec::with_capacity(if distinct { handle_bytes } else { HANDLE_BYTES });
        if self.restored.is_empty() {
            codec::index::encode_value(handle, distinct, None, &mut value)?;
        } else {
            codec::index::encode_value(handle, distinct, Some(&self.restored_row(row, zone)?), &mut value)?;
        }
        Ok(IndexEntry { key, value, distinct })
    }

    fn restored_row(&self, row: &[Value], zone: TimeZone) -> Result<Vec<u8>> {
        let bytes = self
            .restored
            .iter()
            .map(|(offset, ..)| size_hint(&row[*offset]))
            .sum();
        let mut encoder = codec::row::RowEncoder::with_capacity(self.restored.len(), bytes);
        for (offset, id, ty, cut) in &self.restored {
            let mut converted = Value::Null;
            let value = to_stored(&row[*offset], ty, zone, &mut converted)?;
            match cut {
                Some(cut) => encoder.push(*id, &cut_value(value, *cut), ty)?,
                None => encoder.push(*id, value, ty)?,
            }
        }
        Ok(encoder.finish()?)
    }
}
