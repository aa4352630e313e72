//! Columns out of index entries.

use arrow::array::ArrayRef;
use codec::RowHandle;
use codec::index::{HandleRef, IndexValue};
use codec::row::{ColumnBuffer, ColumnSource};
use functions::TimeZone;
use types::{Error, Result, SqlType, Value};

use super::row::{buffer, integer_value};
use super::stored::{clustered_parts, column, index_at, key_gives_back, restored_columns, whole_part};
use super::zone::{from_stored, to_local};
use crate::model::{Handle, Table};

/// Whether an index's entries hold all of these columns, so that no row has to be read.
pub fn index_covers(table: &Table, index: usize, columns: &[usize]) -> bool {
    columns
        .iter()
        .all(|&c| matches!(find(table, index, c), Ok(Some(_))))
}

/// Where in an entry a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    KeyPart(usize),
    IntegerHandle,
    HandlePart(usize),
    Restored,
}

fn find(table: &Table, position: usize, offset: usize) -> Result<Option<Place>> {
    let index = index_at(table, position)?;
    if matches!(table.handle, Handle::Clustered { index } if index == position) {
        return Err(Error::internal("a clustered primary key has no entries"));
    }
    let column = column(table, offset)?;
    if matches!(table.handle, Handle::Integer { column } if column == offset) {
        return Ok(Some(Place::IntegerHandle));
    }
    let part = whole_part(table, &index.parts, offset);
    let handle_part = whole_part(table, clustered_parts(table), offset);
    Ok(if key_gives_back(&column.ty) {
        part.map(Place::KeyPart).or(handle_part.map(Place::HandlePart))
    } else {
        let whole = restored_columns(table, index).contains(&(offset, None));
        whole.then_some(Place::Restored)
    })
}

/// Decodes chosen columns, and the handle, of an index's entries. Made once per plan; shared freely.
#[derive(Debug, Clone)]
pub struct IndexLayout {
    types: Vec<SqlType>,
    integer_handle: bool,
    /// The type of each part, and the columns that want it.
    parts: Vec<(SqlType, Vec<usize>)>,
    /// The same for the parts of a clustered handle, up to the last one that is wanted.
    handle_parts: Vec<(SqlType, Vec<usize>)>,
    integer_wanted: Vec<usize>,
    restored: Option<codec::row::RowDecoder>,
}

impl IndexLayout {
    /// `index` is a position in [`Table::indexes`]; `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// 1105 if the entries do not hold all of the columns ([`index_covers`]) or there is no such index.
    pub fn new(table: &Table, index: usize, columns: &[usize]) -> Result<Self> {
        let typed = |parts: &[crate::model::IndexPart]| -> Result<Vec<(SqlType, Vec<usize>)>> {
            let part = |p: &crate::model::IndexPart| Ok((column(table, p.column)?.ty, Vec::new()));
            parts.iter().map(part).collect()
        };
        let mut layout = Self {
            types: Vec::with_capacity(columns.len()),
            integer_handle: !matches!(table.handle, Handle::Clustered { .. }),
            parts: typed(&index_at(table, index)?.parts)?,
            handle_parts: typed(clustered_parts(table))?,
            integer_wanted: Vec::new(),
            restored: None,
        };
        let mut restored = Vec::new();
        for (position, &offset) in columns.iter().enumerate() {
            let column = column(table, offset)?;
            layout.types.push(column.ty);
            match find(table, index, offset)? {
                Some(Place::KeyPart(part)) => layout.parts[part].1.push(position),
                Some(Place::HandlePart(part)) => layout.handle_parts[part].1.push(position),
                Some(Place::IntegerHandle) => layout.integer_wanted.push(position),
                Some(Place::Restored) => {
                    let source = ColumnSource {
                        id: column.id,
                        ty: column.ty,
                        default: Value::Null,
                    };
                    restored.push((position, source));
                }
                None => {
                    return Err(Error::internal(format!(
                        "index entries do not hold column '{}'",
                        column.name
                    )));
                }
            }
        }
        let last_wanted = layout.handle_parts.iter().rposition(|p| !p.1.is_empty());
        layout
            .handle_parts
            .truncate(last_wanted.map_or(0, |last| last + 1));
        if !restored.is_empty() {
            layout.restored = Some(codec::row::RowDecoder::new(restored));
        }
        Ok(layout)
    }

    /// The chosen columns' types.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// An empty buffer per chosen column.
    pub fn buffers(&self) -> Vec<ColumnBuffer> {
        self.types.iter().map(ColumnBuffer::new).collect()
    }

    /// Appends an entry to the buffers, one per chosen column. After an error the buffers' lengths may differ.
    pub fn decode_entry(
        &self,
        key: &[u8],
        value: &[u8],
        zone: TimeZone,
        buffers: &mut [ColumnBuffer],
    ) -> Result<()> {
        let mut give = |position: usize, value: &Value| buffer(buffers, position)?.push(value);
        let value = self.decode_keys(key, value, zone, &mut give)?;
        if let Some(decoder) = &self.restored {
            let row = restored_row(&value)?;
            decoder.decode_view(&row, |packed| to_local(packed, zone), buffers)?;
        }
        Ok(())
    }

    /// An entry's chosen columns as values.
    pub fn decode_entry_values(&self, key: &[u8], value: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        let mut values = vec![Value::Null; self.types.len()];
        let mut give = |position: usize, value: &Value| {
            values[position] = value.clone();
            Ok(())
        };
        let value = self.decode_keys(key, value, zone, &mut give)?;
        if let Some(decoder) = &self.restored {
            let row = restored_row(&value)?;
            decoder.decode_view_values(&row, |packed| to_local(packed, zone), &mut values)?;
        }
        Ok(values)
    }

    /// The handle of the row that an entry belongs to.
    pub fn handle(&self, key: &[u8], value: &[u8]) -> Result<RowHandle> {
        let value = IndexValue::parse(value)?;
        match value.handle {
            Some(handle) => self.checked(handle).map(HandleRef::to_owned),
            None => Ok(codec::index::decode_handle(
                self.behind_parts(key)?,
                self.integer_handle,
            )?),
        }
    }

    /// Gives out what the entry's key and handle hold; answers the value, taken apart.
    fn decode_keys<'v>(
        &self,
        key: &[u8],
        value: &'v [u8],
        zone: TimeZone,
        give: &mut dyn FnMut(usize, &Value) -> Result<()>,
    ) -> Result<IndexValue<'v>> {
        let mut rest = codec::key::index_parts(key)?;
        give_parts(&self.parts, &mut rest, zone, give)?;
        let value = IndexValue::parse(value)?;
        if !self.integer_wanted.is_empty() {
            let handle = match value.handle {
                Some(handle) => self.checked(handle)?.to_owned(),
                None => codec::index::decode_handle(rest, true)?,
            };
            if let RowHandle::Int(handle) = handle {
                for &position in &self.integer_wanted {
                    give(position, &integer_value(handle, &self.types[position])?)?;
                }
            }
        }
        if !self.handle_parts.is_empty() {
            let mut handle = match value.handle {
                Some(HandleRef::Common(parts)) => parts,
                _ => rest,
            };
            give_parts(&self.handle_parts, &mut handle, zone, give)?;
        }
        Ok(value)
    }

    fn behind_parts<'k>(&self, key: &'k [u8]) -> Result<&'k [u8]> {
        let mut rest = codec::key::index_parts(key)?;
        for _ in &self.parts {
            codec::datum::split(&mut rest)?;
        }
        Ok(rest)
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

fn give_parts(
    parts: &[(SqlType, Vec<usize>)],
    rest: &mut &[u8],
    zone: TimeZone,
    give: &mut dyn FnMut(usize, &Value) -> Result<()>,
) -> Result<()> {
    for (ty, wanted) in parts {
        if wanted.is_empty() {
            codec::datum::split(rest)?;
            continue;
        }
        let value = from_stored(codec::datum::decode(rest, ty)?, ty, zone);
        for &position in wanted {
            give(position, &value)?;
        }
    }
    Ok(())
}

fn restored_row<'v>(value: &IndexValue<'v>) -> Result<codec::row::RowView<'v>> {
    value.restored.ok_or_else(|| {
        codec::Error::Truncated {
            what: "the text in an index entry's value",
        }
        .into()
    })
}

/// Collects index entries into arrays, one per chosen column.
#[derive(Debug)]
pub struct IndexDecoder {
    layout: IndexLayout,
    zone: TimeZone,
    buffers: Vec<ColumnBuffer>,
    rows: usize,
}

impl IndexDecoder {
    /// # Errors
    /// As [`IndexLayout::new`].
    pub fn new(table: &Table, index: usize, columns: &[usize], zone: TimeZone) -> Result<Self> {
        Ok(Self::with_layout(IndexLayout::new(table, index, columns)?, zone))
    }

    pub fn with_layout(layout: IndexLayout, zone: TimeZone) -> Self {
        Self {
            buffers: layout.buffers(),
            layout,
            zone,
            rows: 0,
        }
    }

    /// After an error the entries so far are lost.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.layout
            .decode_entry(key, value, self.zone, &mut self.buffers)?;
        self.rows += 1;
        Ok(())
    }

    /// Entries so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of strings so far.
    pub fn data_bytes(&self) -> usize {
        self.buffers.iter().map(ColumnBuffer::data_bytes).sum()
    }

    /// The arrays; the decoder is empty again.
    ///
    /// # Errors
    /// 1034 where stored text is damaged.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.rows = 0;
        self.buffers.iter_mut().map(ColumnBuffer::finish).collect()
    }
}
