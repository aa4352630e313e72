//! Chosen columns of a row, read from the store's bytes without a copy.

use std::borrow::Cow;

use codec::row::{ColumnSource, TakeCell};
use functions::TimeZone;
use schema::layout::{KeyColumns, Place, column_source, place, to_local};
use schema::model::Table;
use types::json::JsonRef;
use types::{Decimal, Error, Result, Value};
use wire::row::{RawValue, RowEncoder, RowWriter};

/// The columns of a row that a query reads.
#[derive(Debug)]
pub(crate) struct RowColumns {
    sources: Vec<Source>,
    /// The columns that are parts of a clustered key, in the order of its parts.
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

/// A row whose columns are read.
pub(crate) struct Row<'a> {
    key: &'a [u8],
    value: Option<&'a [u8]>,
    key_values: &'a [Value],
    zone: TimeZone,
}

impl RowColumns {
    /// `offsets` are those in [`Table::columns`]. `None` if rows do not store one of the columns as it is
    /// shown.
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

    /// Whether one of the columns is in the row's value, so that the row's key is not enough.
    pub fn need_value(&self) -> bool {
        self.sources.iter().any(|c| matches!(c, Source::Row(_)))
    }

    /// `value`: the row's value, if it has been read. `room` holds what is decoded from the key.
    #[inline(always)]
    pub fn open<'a>(
        &self,
        key: &'a [u8],
        value: Option<&'a [u8]>,
        zone: TimeZone,
        room: &'a mut Vec<Value>,
    ) -> Result<Row<'a>> {
        if !self.key_columns.is_empty() {
            self.read_key(key, zone, room)?;
        }
        Ok(Row {
            key,
            value,
            key_values: room,
            zone,
        })
    }

    fn read_key(&self, key: &[u8], zone: TimeZone, room: &mut Vec<Value>) -> Result<()> {
        room.clear();
        self.key_columns
            .read(codec::key::handle_bytes(key)?, zone, |_, value| {
                room.push(value);
                Ok(())
            })
    }

    /// Appends the payload of the row's packet: the first columns, as many as `encoder` has.
    #[inline]
    pub fn write(&self, row: &Row<'_>, encoder: &RowEncoder, out: &mut Vec<u8>) -> Result<()> {
        let mut writer = encoder.row(out);
        for source in self.sources.iter().take(encoder.column_count()) {
            source.give(row, Put(&mut writer))?;
        }
        Ok(())
    }

    /// Appends the value of one column to a packet.
    #[inline]
    pub fn put(&self, row: &Row<'_>, position: usize, writer: &mut RowWriter<'_>) -> Result<()> {
        self.give(row, position, Put(writer))
    }

    /// The value of one column.
    pub fn value(&self, row: &Row<'_>, position: usize) -> Result<Value> {
        let mut value = Value::Null;
        self.give(row, position, Keep(&mut value))?;
        Ok(value)
    }

    /// Passes the value of one column to `taker`.
    #[inline]
    pub fn give<'a, T>(&'a self, row: &'a Row<'a>, position: usize, taker: T) -> Result<()>
    where
        T: TakeCell<'a, Out = (), Error = Error>,
    {
        match self.sources.get(position) {
            Some(source) => source.give(row, taker),
            None => Err(Error::internal("a column that was not chosen")),
        }
    }
}

/// Writes a value into a packet.
struct Put<'w, 'e>(&'w mut RowWriter<'e>);

impl Put<'_, '_> {
    #[inline(always)]
    fn put(self, value: RawValue<'_>) -> Result<()> {
        self.0.put(value);
        Ok(())
    }
}

impl<'a> TakeCell<'a> for Put<'_, '_> {
    type Out = ();
    type Error = Error;

    #[inline(always)]
    fn null(self) -> Result<()> {
        self.put(RawValue::Null)
    }

    #[inline(always)]
    fn int(self, value: i64) -> Result<()> {
        self.put(RawValue::Int(value))
    }

    #[inline(always)]
    fn uint(self, value: u64) -> Result<()> {
        self.put(RawValue::UInt(value))
    }

    #[inline(always)]
    fn double(self, value: f64) -> Result<()> {
        self.put(RawValue::Double(value))
    }

    #[inline(always)]
    fn decimal(self, value: Decimal) -> Result<()> {
        self.put(RawValue::Decimal(value))
    }

    #[inline(always)]
    fn text(self, bytes: &'a [u8]) -> Result<()> {
        self.put(RawValue::Bytes(bytes))
    }

    #[inline(always)]
    fn bytes(self, bytes: &'a [u8]) -> Result<()> {
        self.put(RawValue::Bytes(bytes))
    }

    #[inline(never)]
    fn json(self, document: Cow<'a, [u8]>) -> Result<()> {
        self.put(RawValue::Json(JsonRef::of_document(&document)))
    }
}

/// Takes a value as it is.
struct Keep<'v>(&'v mut Value);

impl Keep<'_> {
    fn keep(self, value: Value) -> Result<()> {
        *self.0 = value;
        Ok(())
    }
}

impl TakeCell<'_> for Keep<'_> {
    type Out = ();
    type Error = Error;

    fn null(self) -> Result<()> {
        self.keep(Value::Null)
    }

    fn int(self, value: i64) -> Result<()> {
        self.keep(Value::Int(value))
    }

    fn uint(self, value: u64) -> Result<()> {
        self.keep(Value::UInt(value))
    }

    fn double(self, value: f64) -> Result<()> {
        self.keep(Value::Double(value))
    }

    fn decimal(self, value: Decimal) -> Result<()> {
        self.keep(Value::Decimal(value))
    }

    fn text(self, bytes: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(bytes).map_err(|_| codec::Error::Malformed {
            what: "text in a row",
        })?;
        self.keep(Value::from(text))
    }

    fn bytes(self, bytes: &[u8]) -> Result<()> {
        self.keep(Value::Bytes(bytes.to_vec()))
    }

    fn json(self, document: Cow<'_, [u8]>) -> Result<()> {
        self.keep(Value::Json(JsonRef::of_document(&document).to_binary()))
    }
}

/// The part of a row's key that is the column's value.
fn key_part(table: &Table, offset: usize) -> Option<usize> {
    match place(table, offset) {
        Place::HandlePart(part) => Some(part),
        Place::IntegerHandle | Place::Row | Place::Computed => None,
    }
}

impl Source {
    /// `key_parts`: the parts that are read, in ascending order.
    fn of(table: &Table, offset: usize, key_parts: &[usize]) -> Option<Self> {
        let column = table.columns.get(offset)?;
        Some(match place(table, offset) {
            Place::IntegerHandle => Self::Handle {
                unsigned: column.ty.unsigned,
            },
            Place::HandlePart(part) => Self::Key(key_parts.binary_search(&part).ok()?),
            Place::Row => Self::Row(column_source(column).ok()?),
            Place::Computed => return None,
        })
    }

    #[inline(always)]
    fn give<'a, T>(&'a self, row: &'a Row<'a>, taker: T) -> Result<()>
    where
        T: TakeCell<'a, Out = (), Error = Error>,
    {
        match self {
            Self::Row(source) => match row.value {
                Some(value) => source.give(value, |packed| to_local(packed, row.zone), taker),
                None => Err(Error::internal("a column of a row that was not read")),
            },
            Self::Handle { unsigned } => {
                let handle = codec::key::int_handle(row.key)?;
                match u64::try_from(handle) {
                    Ok(handle) if *unsigned => taker.uint(handle),
                    _ => taker.int(handle),
                }
            }
            Self::Key(position) => taker.value(row.key_values.get(*position).unwrap_or(&Value::Null)),
        }
    }
}
