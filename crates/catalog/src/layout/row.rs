//! Columns out of rows.

use arrow::array::ArrayRef;
use codec::RowHandle;
use codec::row::ColumnSource;
use functions::TimeZone;
use types::array::ColumnBuilder;
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
    /// The integer handle, by these builders.
    Integer(Vec<usize>),
    /// Parts: the type of each, up to the last one asked for, and the builders that want it.
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

    /// A builder per chosen column.
    pub fn builders(&self, capacity: usize) -> Vec<ColumnBuilder> {
        self.types
            .iter()
            .map(|ty| ColumnBuilder::new(ty, capacity))
            .collect()
    }

    /// Appends a row to the builders, one per chosen column. After an error the builders' lengths may differ.
    pub fn decode_row(
        &self,
        key: &[u8],
        value: &[u8],
        zone: TimeZone,
        builders: &mut [ColumnBuilder],
    ) -> Result<()> {
        self.row
            .decode(value, |packed| to_local(packed, zone), builders)?;
        match &self.key {
            RowKey::Unused { .. } => {}
            RowKey::Integer(wanted) => {
                let handle = codec::key::int_handle(key)?;
                for &position in wanted {
                    builder(builders, position)?.append_i64(handle)?;
                }
            }
            RowKey::Parts(parts) => {
                each_part(parts, key, zone, &mut |position, value| {
                    builder(builders, position)?.append(value)
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

pub(super) fn builder(builders: &mut [ColumnBuilder], position: usize) -> Result<&mut ColumnBuilder> {
    builders
        .get_mut(position)
        .ok_or_else(|| Error::internal("fewer builders than chosen columns"))
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
    builders: Vec<ColumnBuilder>,
    rows: usize,
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
            builders: layout.builders(0),
            layout,
            zone,
            rows: 0,
        }
    }

    /// After an error the rows so far are lost.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.layout
            .decode_row(key, value, self.zone, &mut self.builders)?;
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
        self.builders.iter().map(ColumnBuilder::data_bytes).sum()
    }

    /// The arrays; the decoder is empty again.
    pub fn finish(&mut self) -> Vec<ArrayRef> {
        self.rows = 0;
        self.builders.iter_mut().map(ColumnBuilder::finish).collect()
    }
}
