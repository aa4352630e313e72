//! Selected columns of index entries.

use codec::RowHandle;
use codec::index::{HandleRef, IndexValue};
use codec::row::{ColumnBuffer, ColumnSource};
use functions::TimeZone;
use types::{Error, Result, SqlType, Value};

use super::give::give_to;
use super::key_columns::{KeyColumns, split};
use super::stored::{clustered_parts, column, index_at, key_gives_back, restored_columns, whole_part};
use super::stored_columns::integer_value;
use super::zone::to_local;
use crate::model::{Handle, Table};

/// Whether an index's entries have all of these columns, so that no row must be read.
pub fn index_covers(table: &Table, index: usize, columns: &[usize]) -> bool {
    columns.iter().all(|&c| place_in_entry(table, index, c).is_some())
}

/// Where a column is in the entries of an index. `None`: nowhere, or not all of it.
pub fn place_in_entry(table: &Table, index: usize, column: usize) -> Option<EntryPlace> {
    find(table, index, column).ok().flatten()
}

/// Where a column is in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPlace {
    /// Part `n` of the index.
    KeyPart(usize),
    IntegerHandle,
    /// Part `n` of the row's key.
    HandlePart(usize),
    /// In the restored row of the entry's value.
    Restored,
}

fn find(table: &Table, position: usize, offset: usize) -> Result<Option<EntryPlace>> {
    let index = index_at(table, position)?;
    if matches!(table.handle, Handle::Clustered { index } if index == position) {
        return Err(Error::internal("a clustered primary key has no entries"));
    }
    let column = column(table, offset)?;
    if matches!(table.handle, Handle::Integer { column } if column == offset) {
        return Ok(Some(EntryPlace::IntegerHandle));
    }
    let part = whole_part(table, &index.parts, offset);
    let handle_part = whole_part(table, clustered_parts(table), offset);
    Ok(if key_gives_back(&column.ty) {
        part.map(EntryPlace::KeyPart)
            .or(handle_part.map(EntryPlace::HandlePart))
    } else {
        let whole = restored_columns(table, index).contains(&(offset, None));
        whole.then_some(EntryPlace::Restored)
    })
}

/// Decodes selected columns, and the handle, of an index's entries. One object serves all executions of a
/// plan.
#[derive(Debug, Clone)]
pub struct IndexLayout {
    types: Vec<SqlType>,
    integer_handle: bool,
    /// Of each of the index's own parts, whether it is stored descending.
    descending: Vec<bool>,
    parts: KeyColumns,
    /// Of a clustered handle.
    handle_parts: KeyColumns,
    integer_wanted: Vec<usize>,
    restored: Option<codec::row::RowDecoder>,
}

impl IndexLayout {
    /// `index` is a position in [`Table::indexes`]; `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// 1105 if the entries do not hold all of the columns ([`index_covers`]) or there is no such index.
    pub fn new(table: &Table, index: usize, columns: &[usize]) -> Result<Self> {
        let mut types = Vec::with_capacity(columns.len());
        let (mut parts, mut handle_parts, mut integer_wanted) = (Vec::new(), Vec::new(), Vec::new());
        let mut restored = Vec::new();
        for (position, &offset) in columns.iter().enumerate() {
            let column = column(table, offset)?;
            types.push(column.ty);
            match find(table, index, offset)? {
                Some(EntryPlace::KeyPart(part)) => parts.push((part, position)),
                Some(EntryPlace::HandlePart(part)) => handle_parts.push((part, position)),
                Some(EntryPlace::IntegerHandle) => integer_wanted.push(position),
                Some(EntryPlace::Restored) => {
                    restored.push((position, ColumnSource::new(column.id, &column.ty, Value::Null)));
                }
                None => {
                    return Err(Error::internal(format!(
                        "index entries do not hold column '{}'",
                        column.name
                    )));
                }
            }
        }
        let index_parts = &index_at(table, index)?.parts;
        Ok(Self {
            types,
            integer_handle: !matches!(table.handle, Handle::Clustered { .. }),
            descending: index_parts.iter().map(|part| part.stored_descending).collect(),
            parts: KeyColumns::new(table, index_parts, &parts)?,
            handle_parts: KeyColumns::new(table, clustered_parts(table), &handle_parts)?,
            integer_wanted,
            restored: (!restored.is_empty()).then(|| codec::row::RowDecoder::new(restored)),
        })
    }

    /// The types of the selected columns.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Appends an entry to the buffers, one for each selected column. After an error the buffers' lengths may
    /// differ.
    pub(super) fn decode_entry(
        &self,
        key: &[u8],
        value: &[u8],
        zone: TimeZone,
        buffers: &mut [ColumnBuffer],
    ) -> Result<()> {
        let value = IndexValue::parse(value)?;
        let mut give = |position: usize, value: Value| give_to(buffers, position, &value);
        let key = codec::key::index_parts(key)?;
        self.parts.read(key, zone, &mut give)?;
        if !self.integer_wanted.is_empty()
            && let RowHandle::Int(handle) = self.handle_behind(key, &value)?
        {
            for &position in &self.integer_wanted {
                give(position, integer_value(handle, &self.types[position])?)?;
            }
        }
        if !self.handle_parts.is_empty() {
            let parts = match value.handle {
                Some(HandleRef::Common(parts)) => parts,
                _ => self.behind_parts(key)?,
            };
            self.handle_parts.read(parts, zone, &mut give)?;
        }
        if let Some(decoder) = &self.restored {
            let row = value.restored.ok_or(codec::Error::Truncated {
                what: "the text in an index entry's value",
            })?;
            decoder.decode_view(&row, |packed| to_local(packed, zone), buffers)?;
        }
        Ok(())
    }

    /// The handle of the row that an entry belongs to.
    pub fn handle(&self, key: &[u8], value: &[u8]) -> Result<RowHandle> {
        self.handle_behind(codec::key::index_parts(key)?, &IndexValue::parse(value)?)
    }

    /// The key of that row, which lies under the same id as the entry.
    pub fn row_key(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        Ok(codec::key::row_key(
            codec::key::table_id(key)?,
            &self.handle(key, value)?,
        ))
    }

    fn handle_behind(&self, parts: &[u8], value: &IndexValue<'_>) -> Result<RowHandle> {
        match value.handle {
            Some(handle) => self.checked(handle).map(HandleRef::to_owned),
            None => Ok(codec::index::decode_handle(
                self.behind_parts(parts)?,
                self.integer_handle,
            )?),
        }
    }

    /// What follows the index's own parts.
    fn behind_parts<'k>(&self, mut parts: &'k [u8]) -> Result<&'k [u8]> {
        for &descending in &self.descending {
            split(&mut parts, descending)?;
        }
        Ok(parts)
    }

    /// A handle of the table's kind.
    fn checked<'v>(&self, handle: HandleRef<'v>) -> Result<HandleRef<'v>> {
        match (handle, self.integer_handle) {
            (HandleRef::Int(_), true) | (HandleRef::Common(_), false) => Ok(handle),
            _ => Err(codec::Error::Malformed {
                what: "the handle in an index entry's value",
            }
            .into()),
        }
    }
}
