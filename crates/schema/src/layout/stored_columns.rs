//! Selected columns of rows that are stored in the rows.

use codec::RowHandle;
use codec::row::{CellValue, ColumnBuffer, RowShape};
use functions::TimeZone;
use types::{Result, SqlType, TypeKind, Value};

use super::give::give_cell;
use super::key_columns::KeyColumns;
use super::stored::{Place, clustered_parts, column, column_source, place};
use super::zone::to_local;
use crate::model::{Handle, Table};

/// Decodes columns that a row's key or value has, each to its position.
#[derive(Debug, Clone)]
pub(super) struct StoredColumns {
    /// Of each position.
    types: Vec<SqlType>,
    row: codec::row::RowDecoder,
    key: RowKey,
}

/// The selected columns that a row's key has.
#[derive(Debug, Clone)]
enum RowKey {
    /// The integer handle, at these positions of the result.
    Integer(Vec<usize>),
    Parts(KeyColumns),
}

impl StoredColumns {
    /// `types`: of all positions. `selected`: positions and the offsets of their columns; computed columns
    /// have no place in a row and are left out.
    pub(super) fn new(
        table: &Table,
        types: Vec<SqlType>,
        selected: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Self> {
        let mut sources = Vec::new();
        let mut integer_wanted = Vec::new();
        let mut parts_wanted = Vec::new();
        for (position, offset) in selected {
            let column = column(table, offset)?;
            match place(table, offset) {
                Place::IntegerHandle => integer_wanted.push(position),
                Place::HandlePart(part) => parts_wanted.push((part, position)),
                Place::Row => sources.push((position, column_source(column)?)),
                Place::Computed => {}
            }
        }
        let key = match table.handle {
            Handle::Clustered { .. } => {
                RowKey::Parts(KeyColumns::new(table, clustered_parts(table), &parts_wanted)?)
            }
            Handle::Integer { .. } | Handle::Hidden => RowKey::Integer(integer_wanted),
        };
        Ok(Self {
            types,
            row: codec::row::RowDecoder::new(sources),
            key,
        })
    }

    /// The type of each position.
    pub(super) fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Appends a row to the buffers, one for each position. `shape`: of the rows before.
    pub(super) fn decode_row(
        &self,
        key: &[u8],
        value: &[u8],
        zone: TimeZone,
        buffers: &mut [ColumnBuffer],
        shape: &mut RowShape,
    ) -> Result<()> {
        self.row
            .decode(value, |packed| to_local(packed, zone), buffers, shape)?;
        match &self.key {
            RowKey::Integer(wanted) if !wanted.is_empty() => {
                let handle = codec::key::int_handle(key)?;
                wanted.iter().try_for_each(|&position| {
                    give_cell(buffers, position, integer_cell(handle, &self.types[position])?)
                })
            }
            RowKey::Parts(parts) if !parts.is_empty() => {
                parts.read_into(codec::key::handle_bytes(key)?, zone, buffers)
            }
            RowKey::Integer(_) | RowKey::Parts(_) => Ok(()),
        }
    }

    /// A row's values, one for each position; NULL for those that are not selected.
    pub(super) fn decode_row_values(&self, key: &[u8], value: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        let mut values = vec![Value::Null; self.types.len()];
        self.row
            .decode_values(value, |packed| to_local(packed, zone), &mut values)?;
        self.decode_key(key, zone, |position, value| {
            values[position] = value;
            Ok(())
        })?;
        Ok(values)
    }

    fn decode_key(
        &self,
        key: &[u8],
        zone: TimeZone,
        mut give: impl FnMut(usize, Value) -> Result<()>,
    ) -> Result<()> {
        match &self.key {
            RowKey::Integer(wanted) if !wanted.is_empty() => {
                let handle = codec::key::int_handle(key)?;
                wanted
                    .iter()
                    .try_for_each(|&position| give(position, integer_value(handle, &self.types[position])?))
            }
            RowKey::Parts(parts) if !parts.is_empty() => {
                parts.read(codec::key::handle_bytes(key)?, zone, give)
            }
            RowKey::Integer(_) | RowKey::Parts(_) => Ok(()),
        }
    }

    /// The handle in a row's key.
    pub(super) fn handle_of_row_key(&self, key: &[u8]) -> Result<RowHandle> {
        Ok(match self.key {
            RowKey::Integer(_) => RowHandle::Int(codec::key::int_handle(key)?),
            RowKey::Parts(_) => RowHandle::Common(codec::key::handle_bytes(key)?.to_vec()),
        })
    }
}

/// An integer handle as a value of its column's type.
pub(super) fn integer_value(handle: i64, ty: &SqlType) -> Result<Value> {
    Ok(match integer_cell(handle, ty)? {
        CellValue::UInt(value) => Value::UInt(value),
        _ => Value::Int(handle),
    })
}

#[inline]
fn integer_cell(handle: i64, ty: &SqlType) -> Result<CellValue<'static>> {
    if !ty.unsigned && ty.kind != TypeKind::Year {
        return Ok(CellValue::Int(handle));
    }
    u64::try_from(handle).map(CellValue::UInt).map_err(|_| {
        codec::Error::Malformed {
            what: "an unsigned handle",
        }
        .into()
    })
}
