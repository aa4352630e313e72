//! Chosen columns of a row, read from the store's bytes where they lie.

use catalog::layout::{KeyColumns, Place, column_source, place, to_local};
use catalog::model::Table;
use codec::row::{CellValue, ColumnSource, RowView};
use functions::TimeZone;
use types::{Error, Result, Value};
use wire::row::{RawValue, RowEncoder};

/// The columns of a result, or what else of a row is looked at.
#[derive(Debug)]
pub(crate) struct RowColumns {
    sources: Vec<Source>,
    /// Those that are read from the parts of a clustered key, in the order of these.
    key_columns: KeyColumns,
}

/// Where a column's value comes from.
#[derive(Debug)]
enum Source {
    /// The row's value.
    Row(ColumnSource),
    /// The integer that is the row's key.
    Handle { unsigned: bool },
    /// One of [`RowColumns::key_columns`].
    Key(usize),
}

/// A row, looked into once.
pub(crate) struct Row<'a> {
    key: &'a [u8],
    view: Option<RowView<'a>>,
    key_values: Vec<Value>,
    zone: TimeZone,
}

impl RowColumns {
    /// `offsets` are those in [`Table::columns`]. `None`: a column that rows do not hold as it is shown.
    pub fn new(table: &Table, offsets: &[usize]) -> Option<Self> {
        let mut key_parts: Vec<usize> = offsets.iter().filter_map(|&c| key_part(table, c)).collect();
        key_parts.sort_unstable();
        key_parts.dedup();
        let sources = offsets
            .iter()
            .map(|&offset| Source::of(table, offset, &key_parts));
        let sources = sources.collect::<Option<Vec<_>>>()?;
        let wanted: Vec<(usize, usize)> = key_parts
            .iter()
            .enumerate()
            .map(|(at, &part)| (part, at))
            .collect();
        Some(Self {
            key_columns: KeyColumns::new(table, &table.primary_parts(), &wanted).ok()?,
            sources,
        })
    }

    /// Whether a column comes from the row's value: the row's key does not hold all of them.
    pub fn need_value(&self) -> bool {
        self.sources.iter().any(|c| matches!(c, Source::Row(_)))
    }

    /// `value`: the row's, where it has been read.
    #[inline]
    pub fn open<'a>(&self, key: &'a [u8], value: Option<&'a [u8]>, zone: TimeZone) -> Result<Row<'a>> {
        let mut key_values = Vec::new();
        if !self.key_columns.is_empty() {
            let parts = codec::key::handle_bytes(key)?;
            self.key_columns.read(parts, zone, |_, value| {
                key_values.push(value);
                Ok(())
            })?;
        }
        Ok(Row {
            key,
            view: value.map(RowView::parse).transpose()?,
            key_values,
            zone,
        })
    }

    /// Appends the payload of the row's packet: as many columns as `encoder` has, from the first on.
    pub fn write(&self, row: &Row<'_>, encoder: &RowEncoder, out: &mut Vec<u8>) -> Result<()> {
        encoder.raw(self.sources.iter().map(|source| source.read(row)), out)
    }

    /// The value of one of the columns.
    pub fn value<'a>(&'a self, row: &'a Row<'a>, position: usize) -> Result<RawValue<'a>> {
        match self.sources.get(position) {
            Some(source) => source.read(row),
            None => Err(Error::internal("a column that was not chosen")),
        }
    }
}

/// The part of a row's key that is the column's value.
fn key_part(table: &Table, offset: usize) -> Option<usize> {
    match place(table, offset) {
        Place::HandlePart(part) => Some(part),
        Place::IntegerHandle | Place::Row => None,
    }
}

impl Source {
    /// `key_parts`: those that are read, ascending.
    fn of(table: &Table, offset: usize, key_parts: &[usize]) -> Option<Self> {
        let column = table.columns.get(offset)?;
        Some(match place(table, offset) {
            Place::IntegerHandle => Self::Handle {
                unsigned: column.ty.unsigned,
            },
            Place::HandlePart(part) => Self::Key(key_parts.binary_search(&part).ok()?),
            Place::Row => Self::Row(column_source(column).ok()?),
        })
    }

    #[inline]
    fn read<'a>(&'a self, row: &'a Row<'a>) -> Result<RawValue<'a>> {
        match self {
            Self::Handle { unsigned } => {
                let handle = codec::key::int_handle(row.key)?;
                Ok(match u64::try_from(handle) {
                    Ok(handle) if *unsigned => RawValue::UInt(handle),
                    _ => RawValue::Int(handle),
                })
            }
            Self::Key(position) => {
                let value = row.key_values.get(*position);
                Ok(value.map_or(RawValue::Null, RawValue::from))
            }
            Self::Row(source) => {
                let Some(view) = &row.view else {
                    return Err(Error::internal("a column of a row that was not read"));
                };
                Ok(raw(source.read(view, |packed| to_local(packed, row.zone))?))
            }
        }
    }
}

#[inline]
fn raw(value: CellValue<'_>) -> RawValue<'_> {
    match value {
        CellValue::Null => RawValue::Null,
        CellValue::Int(v) => RawValue::Int(v),
        CellValue::UInt(v) => RawValue::UInt(v),
        CellValue::Double(v) => RawValue::Double(v),
        CellValue::Decimal(v) => RawValue::Decimal(v),
        CellValue::Text(bytes) | CellValue::Bytes(bytes) => RawValue::Bytes(bytes),
    }
}
