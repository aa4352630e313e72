//! Selected columns of rows.

use codec::RowHandle;
use codec::row::{CellValue, ColumnBuffer};
use functions::TimeZone;
use types::{Error, Result, SqlType, TypeKind, Value};

use super::computed::Computed;
use super::key_columns::KeyColumns;
use super::stored::{Place, clustered_parts, column, column_source, place};
use super::zone::to_local;
use crate::model::{Handle, Table};

/// Decodes selected columns of a table's rows. One object serves all executions of a plan.
#[derive(Debug, Clone)]
pub struct TableLayout {
    /// Of each position.
    types: Vec<SqlType>,
    row: codec::row::RowDecoder,
    key: RowKey,
    /// Set if virtual generated columns are among the selected ones: it then makes all of them.
    computed: Option<Box<Computed>>,
}

/// The selected columns that a row's key has.
#[derive(Debug, Clone)]
enum RowKey {
    /// The integer handle, at these positions of the result.
    Integer(Vec<usize>),
    Parts(KeyColumns),
}

impl TableLayout {
    /// `columns` are offsets in [`Table::columns`].
    ///
    /// # Errors
    /// 1105 for an offset the table does not have, or a default that is none of its column's type.
    pub fn new(table: &Table, columns: &[usize]) -> Result<Self> {
        let types = columns.iter().map(|&offset| Ok(column(table, offset)?.ty));
        let wanted = columns.iter().copied().enumerate();
        Self::with_positions(table, types.collect::<Result<_>>()?, wanted)
    }

    /// For rows with as many values as the table has columns: selected columns at their own offsets, NULL for
    /// all others.
    ///
    /// # Errors
    /// As [`TableLayout::new`].
    pub fn in_place(table: &Table, columns: &[usize]) -> Result<Self> {
        let types = table.columns.iter().map(|column| column.ty).collect();
        Self::with_positions(table, types, columns.iter().map(|&offset| (offset, offset)))
    }

    fn with_positions(
        table: &Table,
        types: Vec<SqlType>,
        wanted: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Self> {
        let mut computed = Vec::new();
        let mut stored = Vec::new();
        let mut sources = Vec::new();
        let mut integer_wanted = Vec::new();
        let mut parts_wanted = Vec::new();
        for (position, offset) in wanted {
            let column = column(table, offset)?;
            let of_kind = match place(table, offset) {
                Place::Computed => &mut computed,
                _ => &mut stored,
            };
            of_kind.push((position, offset));
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
        let computed = match computed.is_empty() {
            true => None,
            false => Some(Box::new(Computed::new(table, &computed, &stored)?)),
        };
        Ok(Self {
            types,
            row: codec::row::RowDecoder::new(sources),
            key,
            computed,
        })
    }

    /// The type of each position.
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Appends a row to the buffers, one for each selected column. After an error the buffers' lengths may
    /// differ.
    pub(super) fn decode_row(
        &self,
        key: &[u8],
        value: &[u8],
        zone: TimeZone,
        buffers: &mut [ColumnBuffer],
    ) -> Result<()> {
        if self.computed.is_some() {
            let values = self.decode_row_values(key, value, zone)?;
            let mut values = values.iter().enumerate();
            return values.try_for_each(|(position, value)| give_to(buffers, position, value));
        }
        self.row.decode(value, |packed| to_local(packed, zone), buffers)?;
        self.decode_key(key, zone, |position, value| give_to(buffers, position, &value))
    }

    /// A row's selected columns as values, one for each position.
    pub fn decode_row_values(&self, key: &[u8], value: &[u8], zone: TimeZone) -> Result<Vec<Value>> {
        let mut values = vec![Value::Null; self.types.len()];
        if let Some(computed) = &self.computed {
            computed.fill(key, value, zone, &mut values)?;
            return Ok(values);
        }
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
    pub fn handle_of_row_key(&self, key: &[u8]) -> Result<RowHandle> {
        Ok(match self.key {
            RowKey::Integer(_) => RowHandle::Int(codec::key::int_handle(key)?),
            RowKey::Parts(_) => RowHandle::Common(codec::key::handle_bytes(key)?.to_vec()),
        })
    }
}

pub(super) fn give_to(buffers: &mut [ColumnBuffer], position: usize, value: &Value) -> Result<()> {
    match buffers.get_mut(position) {
        Some(buffer) => buffer.push(CellValue::from(value)),
        None => Err(Error::internal("fewer buffers than chosen columns")),
    }
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
