//! Columns out of rows.

use arrow::array::ArrayRef;
use codec::RowHandle;
use codec::row::{ColumnBuffer, ColumnSource};
use functions::TimeZone;
use types::{Error, Result, SqlType, TypeKind, Value};

use super::defaults::original_default;
use super::stored::{Place, clustered_parts, column, place};
use super::zone::{from_stored, to_local};
use crate::model::{Handle, Table};

/// Decodes chosen columns of a table's rows. Made once per plan; shared freely.
#[derive(Debug, Clone)]
pub struct TableLayout {
    /// Of the chosen columns, in the order they were asked for.
    types: Vec<SqlType>,
    row: codec::row::RowDecoder,
    key: RowKey,
}

/// What of a row's key is asked for.
#[derive(Debug, Clone)]
enum RowKey {
    /// Nothing; and whether handles are integers.
    Unused { integer: bool },
    /// The integer handle, for these columns.
    Integer(Vec<usize>),
    /// Parts: the type of each, up to the last one asked for, and the columns that want it.
    Parts(Vec<(SqlType, Vec<usize>)>),
}

impl TableLayout {
    /// `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// 1105 for an offset the table does not have, or a default that is none of its column's type.
    pub fn new(table: &Table, columns: &[usize]) -> Result<Self> {
        let mut types = Vec::with_capacity(columns.len());
        let mut sources = Vec::new();
        let mut integer_wanted = Vec::new();
        let mut parts: Vec<(SqlType, Vec<usize>)> = clustered_parts(table)
            .iter()
            .map(|p| Ok((column(table, p.column)?.ty, Vec::new())))
            .collect::<Result<_>>()?;
        for (position, &offset) in columns.iter().enumerate() {
            let column = column(table, offset)?;
            types.push(column.ty);
            match place(table, offset) {
                Place::IntegerHandle => integer_wanted.push(position),
                Place::HandlePart(part) => parts[part].1.push(position),
                Place::Row => sources.push((
                    position,
                    ColumnSource {
                        id: column.id,
                        ty: column.ty,
                        default: original_default(column)?,
                    },
                )),
            }
        }
        let last_wanted = parts.iter().rposition(|p| !p.1.is_empty());
        parts.truncate(last_wanted.map_or(0, |last| last + 1));
        let key = match table.handle {
            Handle::Integer { .. } if !integer_wanted.is_empty() => RowKey::Integer(integer_wanted),
            Handle::Clustered { .. } if !parts.is_empty() => RowKey::Parts(parts),
            handle => RowKey::Unused {
                integer: !matches!(handle, Handle::Clustered { .. }),
            },
        };
        Ok(Self {
            types,
            row: codec::row::RowDecoder::new(sources),
            key,
        })
    }

    /// The chosen columns' types.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// An empty buffer per chosen column.
    pub fn buffers(&self) -> Vec<ColumnBuffer> {
        self.types.iter().map(ColumnBuffer::new).collect()
    }

    /// Appends a row to the buffers, one per chosen column. After an error the buffers' lengths may differ.
    pub fn decode_row(
        &self,
        key: &[u8],
        value: &[u8],
        zone: TimeZone,
        buffers: &mut [ColumnBuffer],
    ) -> Result<()> {
        self.row
            .decode(value, |packed| to_local(packed, zone), buffers)?;
        match &self.key {
            RowKey::Unused { .. } => {}
            RowKey::Integer(wanted) => {
                let handle = codec::key::int_handle(key)?;
                for &position in wanted {
                    buffer(buffers, position)?.push(&Value::Int(handle))?;
                }
            }
            RowKey::Parts(parts) => {
                each_part(parts, key, zone, &mut |position, value| {
                    buffer(buffers, position)?.push(value)
                })?;
            }
        }
        Ok(())
    }

    /// A row's chosen columns as values.
    pub fn decode_row_values(&self, key: &[u8], value: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        let mut values = vec![Value::Null; self.types.len()];
        self.row
            .decode_values(value, |packed| to_local(packed, zone), &mut values)?;
        match &self.key {
            RowKey::Unused { .. } => {}
            RowKey::Integer(wanted) => {
                let handle = codec::key::int_handle(key)?;
                for &position in wanted {
                    values[position] = integer_value(handle, &self.types[position])?;
                }
            }
            RowKey::Parts(parts) => each_part(parts, key, zone, &mut |position, value| {
                values[position] = value.clone();
                Ok(())
            })?,
        }
        Ok(values)
    }

    /// The handle in a row's key.
    pub fn handle_of_row_key(&self, key: &[u8]) -> Result<RowHandle> {
        Ok(match self.key {
            RowKey::Unused { integer: true } | RowKey::Integer(_) => {
                RowHandle::Int(codec::key::int_handle(key)?)
            }
            _ => RowHandle::Common(codec::key::handle_bytes(key)?.to_vec()),
        })
    }
}

/// Calls `give` with the parts of a row's key that somebody wants.
fn each_part(
    parts: &[(SqlType, Vec<usize>)],
    key: &[u8],
    zone: TimeZone,
    give: &mut dyn FnMut(usize, &Value) -> Result<()>,
) -> Result<()> {
    let mut rest = codec::key::handle_bytes(key)?;
    for (ty, wanted) in parts {
        if wanted.is_empty() {
            codec::datum::split(&mut rest)?;
            continue;
        }
        let value = from_stored(codec::datum::decode(&mut rest, ty)?, ty, zone);
        for &position in wanted {
            give(position, &value)?;
        }
    }
    Ok(())
}

pub(super) fn buffer(buffers: &mut [ColumnBuffer], position: usize) -> Result<&mut ColumnBuffer> {
    buffers
        .get_mut(position)
        .ok_or_else(|| Error::internal("fewer buffers than chosen columns"))
}

/// An integer handle as a value of its column's type.
pub(super) fn integer_value(handle: i64, ty: &SqlType) -> Result<Value> {
    if !ty.unsigned && ty.kind != TypeKind::Year {
        return Ok(Value::Int(handle));
    }
    u64::try_from(handle).map(Value::UInt).map_err(|_| {
        codec::Error::Malformed {
            what: "an unsigned handle",
        }
        .into()
    })
}

/// Collects rows into arrays, one per chosen column.
#[derive(Debug)]
pub struct RowDecoder {
    layout: TableLayout,
    zone: TimeZone,
    buffers: Vec<ColumnBuffer>,
    rows: usize,
    /// Rows that the next batch probably has: as many as the last one.
    expected_rows: usize,
}

impl RowDecoder {
    /// `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// As [`TableLayout::new`].
    pub fn new(table: &Table, columns: &[usize], zone: TimeZone) -> Result<Self> {
        Ok(Self::with_layout(TableLayout::new(table, columns)?, zone))
    }

    pub fn with_layout(layout: TableLayout, zone: TimeZone) -> Self {
        Self {
            buffers: layout.buffers(),
            layout,
            zone,
            rows: 0,
            expected_rows: 0,
        }
    }

    /// After an error the rows so far are lost.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.rows == 0 && self.expected_rows > 0 {
            let rows = self.expected_rows;
            self.buffers.iter_mut().for_each(|buffer| buffer.reserve(rows));
        }
        self.layout
            .decode_row(key, value, self.zone, &mut self.buffers)?;
        self.rows += 1;
        Ok(())
    }

    /// Rows so far; also where no column was chosen.
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
        self.expected_rows = std::mem::take(&mut self.rows);
        self.buffers.iter_mut().map(ColumnBuffer::finish).collect()
    }
}
