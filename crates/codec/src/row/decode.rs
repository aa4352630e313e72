//! Decodes chosen columns of rows directly into the buffers of Arrow arrays.

use types::{SqlType, Value};

use super::cell::{CellValue, Form, TakeCell, ToValue};
use super::view::{MALFORMED, Place, find_small};
use super::{Cell, ColumnBuffer, RowShape, RowView};
use crate::Result;

/// A column to decode.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnSource {
    id: i64,
    form: Form,
    default: Value,
}

impl ColumnSource {
    /// `default`: the column's value in rows that lack it, as rows store it (a TIMESTAMP in UTC).
    pub fn new(id: i64, ty: &SqlType, default: Value) -> Self {
        Self {
            id,
            form: Form::of(ty),
            default,
        }
    }

    /// Passes the column's value in a row to `taker`. `utc_to_local` converts a packed TIMESTAMP of the row
    /// to the session's zone.
    #[inline(always)]
    pub fn give<'a, T: TakeCell<'a>>(
        &'a self,
        row: &'a [u8],
        utc_to_local: impl Fn(u64) -> u64,
        taker: T,
    ) -> Result<T::Out, T::Error> {
        match find_small(row, self.id) {
            Some(bytes) => self.form.give(bytes, utc_to_local, taker),
            None => self.give_any(row, utc_to_local, taker),
        }
    }

    /// For the rare rows that the short path does not handle.
    #[inline(never)]
    fn give_any<'a, T: TakeCell<'a>>(
        &'a self,
        row: &'a [u8],
        utc_to_local: impl Fn(u64) -> u64,
        taker: T,
    ) -> Result<T::Out, T::Error> {
        self.give_cell(RowView::parse(row)?.get(self.id)?, utc_to_local, taker)
    }

    fn give_cell<'a, T: TakeCell<'a>>(
        &'a self,
        cell: Cell<'a>,
        utc_to_local: impl Fn(u64) -> u64,
        taker: T,
    ) -> Result<T::Out, T::Error> {
        match cell {
            Cell::Bytes(bytes) => self.form.give(bytes, utc_to_local, taker),
            Cell::Null => taker.null(),
            Cell::Missing => match (self.form, &self.default) {
                (Form::Timestamp, Value::UInt(packed)) => taker.uint(utc_to_local(*packed)),
                (_, default) => taker.value(default),
            },
        }
    }

    #[cold]
    fn default(&self, utc_to_local: impl Fn(u64) -> u64) -> CellValue<'_> {
        match (self.form, &self.default) {
            (Form::Timestamp, Value::UInt(packed)) => CellValue::UInt(utc_to_local(*packed)),
            (_, default) => CellValue::from(default),
        }
    }
}

/// Decodes the same columns of many rows. It is made once per scan.
#[derive(Debug, Clone)]
pub struct RowDecoder {
    /// Ascending by id, as in rows; each with its position among the wanted columns.
    columns: Vec<(usize, ColumnSource)>,
}

impl RowDecoder {
    /// `columns[i].0` is the position of the buffer. Columns that do not come from the row (but from its key)
    /// are not listed.
    pub fn new(columns: impl IntoIterator<Item = (usize, ColumnSource)>) -> Self {
        let mut columns: Vec<_> = columns.into_iter().collect();
        columns.sort_by_key(|c| c.1.id);
        Self { columns }
    }

    /// Whether no column is wanted. Then rows need not be read.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Appends one value to each of the wanted buffers. `utc_to_local` converts a packed TIMESTAMP of the row
    /// to the session's zone. `shape` holds the layout of rows that this decoder has seen before.
    ///
    /// After an error some buffers may have one value more than others, so the batch must be dropped.
    pub fn decode(
        &self,
        row: &[u8],
        utc_to_local: impl Fn(u64) -> u64,
        buffers: &mut [ColumnBuffer],
        shape: &mut RowShape,
    ) -> Result<(), types::Error> {
        if self.columns.is_empty() {
            return Ok(());
        }
        if !shape.fits(row) {
            let view = RowView::parse(row)?;
            if !shape.learn(row, &view, self.columns.iter().map(|(_, source)| source.id)) {
                return self.decode_view(&view, utc_to_local, buffers);
            }
        }
        let shaped = shape.in_row(row);
        for ((position, source), place) in self.columns.iter().zip(shaped.places) {
            let buffer = buffers.get_mut(*position).ok_or_else(too_few)?;
            match *place {
                Place::Value(value) => {
                    let bytes = shaped.value(value).ok_or(MALFORMED)?;
                    buffer.push_cell(bytes, &utc_to_local)?;
                }
                Place::Null => buffer.push_null(),
                Place::Missing => buffer.push(source.default(&utc_to_local))?,
            }
        }
        Ok(())
    }

    /// [`RowDecoder::decode`] of a row whose header has been read.
    pub fn decode_view(
        &self,
        view: &RowView<'_>,
        utc_to_local: impl Fn(u64) -> u64,
        buffers: &mut [ColumnBuffer],
    ) -> Result<(), types::Error> {
        let mut cursor = view.cursor();
        for (position, source) in &self.columns {
            let buffer = buffers.get_mut(*position).ok_or_else(too_few)?;
            match cursor.find(source.id)? {
                Cell::Bytes(bytes) => buffer.push_cell(bytes, &utc_to_local)?,
                Cell::Null => buffer.push_null(),
                Cell::Missing => buffer.push(source.default(&utc_to_local))?,
            }
        }
        Ok(())
    }

    /// Decodes the same columns to values instead of buffers.
    pub fn decode_values(
        &self,
        row: &[u8],
        utc_to_local: impl Fn(u64) -> u64,
        out: &mut [Value],
    ) -> Result<(), types::Error> {
        let view = RowView::parse(row)?;
        let mut cursor = view.cursor();
        for (position, source) in &self.columns {
            let Some(slot) = out.get_mut(*position) else {
                return Err(types::Error::internal("a row decoder was given too few values"));
            };
            *slot = source.give_cell(cursor.find(source.id)?, &utc_to_local, ToValue)?;
        }
        Ok(())
    }
}

#[cold]
fn too_few() -> types::Error {
    types::Error::internal("a row decoder was given too few buffers")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use types::array::value_at;
    use types::{Collation, Decimal, TypeKind};

    use super::*;
    use crate::row::RowEncoder;

    fn all_types() -> Vec<(SqlType, Value)> {
        vec![
            (SqlType::BIGINT, Value::Int(-70_000)),
            (SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX)),
            (SqlType::YEAR, Value::UInt(1999)),
            (SqlType::timestamp(0), Value::UInt(1000)),
            (SqlType::datetime(6), Value::UInt(2000)),
            (SqlType::time(6), Value::Int(-5)),
            (SqlType::DOUBLE, Value::Double(0.25)),
            (SqlType::decimal(60, 3), Value::Decimal(Decimal::from_i128(5, 3))),
            (SqlType::varchar(9, Collation::DEFAULT), Value::from("ü")),
            (SqlType::varchar(9, Collation::Binary), Value::Bytes(vec![0xff])),
            (SqlType::JSON, Value::Json(types::json::JsonBinary::null())),
        ]
    }

    #[test]
    fn columns_arrive_at_their_places() {
        let mut encoder = RowEncoder::new();
        let columns = all_types();
        for (i, (ty, value)) in columns.iter().enumerate() {
            encoder.push(i as i64 * 2 + 1, value, ty).unwrap();
        }
        encoder.push(100, &Value::Null, &SqlType::BIGINT).unwrap();
        let row = encoder.finish().unwrap();

        // The columns in reverse order, with a NULL and a missing column in between.
        let mut wanted: Vec<(i64, SqlType, Value)> = columns
            .iter()
            .enumerate()
            .map(|(i, (ty, value))| (i as i64 * 2 + 1, *ty, value.clone()))
            .rev()
            .collect();
        wanted.insert(3, (100, SqlType::BIGINT, Value::Null));
        wanted.insert(5, (4, SqlType::BIGINT, Value::Int(42)));
        let sources = wanted.iter().map(|(id, ty, _)| {
            let default = if *id == 4 { Value::Int(42) } else { Value::Null };
            ColumnSource::new(*id, ty, default)
        });
        let decoder = RowDecoder::new(sources.enumerate());
        let mut builders: Vec<_> = wanted.iter().map(|w| ColumnBuffer::new(&w.1)).collect();
        // The first row, a second row of the same shape, and a row after one with fewer columns.
        let mut shape = RowShape::default();
        let mut fewer = RowEncoder::new();
        fewer.push(100, &Value::Int(7), &SqlType::BIGINT).unwrap();
        let fewer = fewer.finish().unwrap();
        for row in [&row, &row, &fewer] {
            let mut builders: Vec<_> = wanted.iter().map(|w| ColumnBuffer::new(&w.1)).collect();
            decoder
                .decode(row, |packed| packed + 1, &mut builders, &mut shape)
                .unwrap();
            assert!(builders.iter().all(|builder| builder.len() == 1));
        }
        decoder
            .decode(&row, |packed| packed + 1, &mut builders, &mut shape)
            .unwrap();
        let mut values = vec![Value::Null; wanted.len()];
        decoder
            .decode_values(&row, |packed| packed + 1, &mut values)
            .unwrap();
        for ((builder, value), (_, ty, expected)) in builders.iter_mut().zip(values).zip(wanted) {
            let expected = match expected {
                Value::UInt(v) if ty.kind == TypeKind::Timestamp => Value::UInt(v + 1),
                other => other,
            };
            assert_eq!(value_at(&builder.finish().unwrap(), 0, &ty), expected);
            assert_eq!(value, expected);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_fail(input: Vec<u8>) {
            let bytes = [vec![128, 0, 3, 0, 1, 0, 1, 3, 5, 7], input].concat();
            let types = all_types();
            let sources = types.iter().enumerate().map(|(i, (ty, _))| {
                (i, ColumnSource::new(i as i64 * 2 + 1, ty, Value::Null))
            });
            let decoder = RowDecoder::new(sources);
            let mut builders: Vec<_> = types.iter().map(|(ty, _)| ColumnBuffer::new(ty)).collect();
            let mut shape = RowShape::default();
            for _ in 0..2 {
                let _ = decoder.decode(&bytes, |p| p, &mut builders, &mut shape);
            }
        }
    }
}
