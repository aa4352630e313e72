//! Rows: the values of Arrow batches as packets, in the text form (COM_QUERY) and the binary one
//! (COM_STMT_EXECUTE).
//!
//! [`RowEncoder`] is made once per result set. [`RowEncoder::batch`] looks a batch's arrays up once, and
//! [`BatchRows::encode`] appends one row to a buffer, with no value and no string in between:
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow::{array::{ArrayRef, Int64Array}, record_batch::RecordBatch};
//! # use wire::row::{Format, RowEncoder};
//! let types = [types::SqlType::BIGINT];
//! let column: ArrayRef = Arc::new(Int64Array::from(vec![Some(-7), None]));
//! let batch = RecordBatch::try_from_iter([("a", column)])?;
//! let encoder = RowEncoder::new(Format::Text, &types, None);
//! let mut packet = Vec::new();
//! let rows = encoder.batch(&batch)?;
//! rows.encode(0, &mut packet);
//! assert_eq!(packet, b"\x02-7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`RowEncoder::values`] does the same for a row of [`types::Value`]s, [`RowEncoder::row`] for values that
//! come one by one. The columns are described before the rows: [`crate::column_definition`].

mod binary;
mod cell;
mod raw;
mod text;

use arrow::record_batch::RecordBatch;
use types::array::ColumnView;
use types::{Charset, Error, Result, SqlType, Value};

use crate::charset::Transcoder;
use cell::Cell;
pub use raw::RawValue;

/// The two encodings of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// ProtocolText::ResultsetRow: every value as text with a length.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_com_query_response_text_resultset_row.html>
    Text,
    /// Binary Protocol Resultset Row: a bitmap of NULLs, then the values that are not NULL.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_binary_resultset.html#sect_protocol_binary_resultset_row>
    Binary,
}

/// Appends the rows of one result set.
#[derive(Debug, Clone)]
pub struct RowEncoder {
    format: Format,
    columns: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    ty: SqlType,
    cell: Cell,
    transcoder: Option<Transcoder>,
}

impl RowEncoder {
    /// `results` is `@@character_set_results`; `None` if it is NULL.
    pub fn new(format: Format, types: &[SqlType], results: Option<Charset>) -> Self {
        let converted = results.and_then(Transcoder::to);
        let converts = !matches!(results, None | Some(Charset::Binary));
        let column = |ty: &SqlType| Column {
            ty: *ty,
            cell: Cell::of(ty),
            transcoder: match converts {
                true => converted,
                // Text is sent in the character set that its definition announces: its own.
                false if ty.is_text() => Transcoder::to(ty.collation.charset()),
                false => None,
            },
        };
        Self {
            format,
            columns: types.iter().map(column).collect(),
        }
    }

    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Looks up a batch's arrays. Fails if their number is not that of the types, which is a defect of the
    /// operator that made the batch.
    pub fn batch<'a>(&'a self, batch: &'a RecordBatch) -> Result<BatchRows<'a>> {
        if batch.num_columns() != self.columns.len() {
            return Err(Error::internal(format_args!(
                "a batch of {} columns for a result of {}",
                batch.num_columns(),
                self.columns.len()
            )));
        }
        let views = batch
            .columns()
            .iter()
            .zip(&self.columns)
            .map(|(array, column)| ColumnView::new(array, &column.ty))
            .collect();
        Ok(BatchRows {
            encoder: self,
            views,
            rows: batch.num_rows(),
        })
    }

    /// Appends one row of values.
    pub fn values(&self, values: &[Value], out: &mut Vec<u8>) {
        let mut row = self.row(out);
        values.iter().for_each(|value| row.put(RawValue::from(value)));
    }

    /// Starts a row after what is in `out`. Its values are appended one by one.
    #[inline]
    pub fn row<'a>(&'a self, out: &'a mut Vec<u8>) -> RowWriter<'a> {
        let bitmap = match self.format {
            Format::Text => 0,
            Format::Binary => binary::start_row(self.columns.len(), out),
        };
        RowWriter {
            encoder: self,
            position: 0,
            bitmap,
            out,
        }
    }
}

/// A row that is being written.
pub struct RowWriter<'a> {
    encoder: &'a RowEncoder,
    /// The next column.
    position: usize,
    /// The position of a binary row's bitmap of NULLs.
    bitmap: usize,
    out: &'a mut Vec<u8>,
}

/// Where the columns of a row end in the buffer. A row after it may begin with the same ones.
#[derive(Debug, Default)]
pub struct RowEnds {
    bitmap: usize,
    /// Where the first column starts.
    start: usize,
    ends: Vec<usize>,
}

impl RowWriter<'_> {
    /// Begins with the first columns of an earlier row of this buffer, by the same encoder. Its ends are then those of
    /// this row. Returns how many columns have been written: none if the row had fewer.
    pub fn begin_as(&mut self, columns: usize, earlier: &mut RowEnds) -> usize {
        let last = columns.checked_sub(1).and_then(|last| earlier.ends.get(last));
        let bytes = earlier.start..last.copied().unwrap_or(earlier.start);
        let is_there = last.is_some() && self.out.get(bytes.clone()).is_some();
        let columns = if is_there { columns } else { 0 };
        let start = self.out.len();
        if is_there {
            if self.encoder.format == Format::Binary {
                binary::repeat_nulls(earlier.bitmap, self.bitmap, columns, self.out);
            }
            self.out.extend_from_within(bytes);
        }
        earlier.ends.truncate(columns);
        for end in &mut earlier.ends {
            *end = *end - earlier.start + start;
        }
        (earlier.bitmap, earlier.start) = (self.bitmap, start);
        self.position = columns;
        columns
    }

    /// Notes the end of the column that has been appended last.
    #[inline]
    pub fn note_end(&self, row: &mut RowEnds) {
        row.ends.push(self.out.len());
    }

    /// Appends the next column's value; ignored after the last column. Inlined, so that at each call only
    /// the code for the value's own kind remains.
    #[inline(always)]
    pub fn put(&mut self, value: RawValue<'_>) {
        let Some(column) = self.encoder.columns.get(self.position) else {
            return;
        };
        let Column { ty, cell, transcoder } = column;
        match (self.encoder.format, value) {
            (Format::Text, value) => text::value(*cell, ty, value, *transcoder, self.out),
            (Format::Binary, RawValue::Null) => binary::set_null(self.bitmap, self.position, self.out),
            (Format::Binary, value) => binary::value(*cell, ty, value, *transcoder, self.out),
        }
        self.position += 1;
    }
}

/// The rows of one batch.
pub struct BatchRows<'a> {
    encoder: &'a RowEncoder,
    views: Vec<ColumnView<'a>>,
    rows: usize,
}

impl BatchRows<'_> {
    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends the row at `row`, which is below [`BatchRows::len`].
    pub fn encode(&self, row: usize, out: &mut Vec<u8>) {
        let columns = self.encoder.columns.iter().zip(&self.views);
        match self.encoder.format {
            Format::Text => {
                for (column, view) in columns {
                    text::cell(column.cell, view, row, column.transcoder, out);
                }
            }
            Format::Binary => {
                let bitmap = binary::start_row(self.views.len(), out);
                for (position, (column, view)) in columns.enumerate() {
                    if view.is_null(row) {
                        binary::set_null(bitmap, position, out);
                    } else {
                        binary::cell(column.cell, view, row, column.transcoder, out);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray, UInt64Array};
    use types::array::array_of;
    use types::temporal::{DateTime, Time};
    use types::{Collation, Decimal, TypeKind};

    use super::*;

    fn encode_all(format: Format, types: &[SqlType], columns: Vec<ArrayRef>) -> Vec<Vec<u8>> {
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|c| ("c", c, true))).unwrap();
        let encoder = RowEncoder::new(format, types, None);
        let rows = encoder.batch(&batch).unwrap();
        (0..rows.len())
            .map(|row| {
                let mut out = b"before".to_vec();
                rows.encode(row, &mut out);
                out.split_off(6)
            })
            .collect()
    }

    #[test]
    fn text_rows() {
        let types = [
            SqlType::BIGINT,
            SqlType::varchar(300, Collation::DEFAULT),
            SqlType::DOUBLE,
        ];
        let long = "x".repeat(300);
        let rows = encode_all(
            Format::Text,
            &types,
            vec![
                Arc::new(Int64Array::from(vec![Some(i64::MIN), None])),
                Arc::new(StringArray::from(vec![Some("ä"), Some(&long)])),
                Arc::new(Float64Array::from(vec![Some(1.5), Some(1e300)])),
            ],
        );
        assert_eq!(rows[0], b"\x14-9223372036854775808\x02\xc3\xa4\x031.5");
        assert_eq!(
            rows[1],
            [&b"\xfb\xfc\x2c\x01"[..], long.as_bytes(), b"\x051e300"].concat()
        );
    }

    /// The manual's example row: NULL bitmap with an offset of two bits.
    #[test]
    fn binary_rows() {
        let small = SqlType {
            kind: TypeKind::SmallInt,
            ..SqlType::BIGINT
        };
        let types = [
            SqlType::varchar(3, Collation::DEFAULT),
            small,
            SqlType::BIGINT_UNSIGNED,
        ];
        let rows = encode_all(
            Format::Binary,
            &types,
            vec![
                Arc::new(StringArray::from(vec![Some("foobar"), None])),
                Arc::new(Int64Array::from(vec![Some(-2), None])),
                Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(1)])),
            ],
        );
        assert_eq!(
            rows[0],
            b"\x00\x00\x06foobar\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff"
        );
        assert_eq!(rows[1], b"\x00\x0c\x01\0\0\0\0\0\0\0");
    }

    #[test]
    fn bitmaps_of_many_columns() {
        let columns = 15;
        let types = vec![SqlType::BIGINT; columns];
        let nulls: ArrayRef = Arc::new(Int64Array::from(vec![None]));
        let rows = encode_all(Format::Binary, &types, vec![nulls; columns]);
        assert_eq!(rows[0], [0, 0xfc, 0xff, 0x01]);
    }

    /// A row that begins as the one before is the one that is written as a whole.
    #[test]
    fn rows_begin_as_the_ones_before() {
        let types = vec![SqlType::BIGINT; 11];
        for format in [Format::Text, Format::Binary] {
            let encoder = RowEncoder::new(format, &types, None);
            let (mut out, mut expected) = (b"before".to_vec(), b"before".to_vec());
            let mut ends = RowEnds::default();
            let mut row: Vec<Value> = Vec::new();
            // The first time there is no row before.
            for (number, same) in [5, 3, 11, 1, 10, 0, 7, 6].into_iter().enumerate() {
                row.truncate(same);
                row.extend(
                    (row.len()..types.len()).map(|column| match (column + number) % 3 {
                        0 => Value::Null,
                        _ => Value::Int((column * number) as i64),
                    }),
                );
                encoder.values(&row, &mut expected);
                let mut writer = encoder.row(&mut out);
                let written = writer.begin_as(same, &mut ends);
                assert_eq!(written, if number == 0 { 0 } else { same });
                for value in row.iter().skip(written) {
                    writer.put(RawValue::from(value));
                    writer.note_end(&mut ends);
                }
                assert_eq!(out, expected, "{format:?}, row {number}");
            }
        }
    }

    /// Arrays and values must say the same, for every type and both formats.
    #[test]
    fn arrays_and_values_agree() {
        let at = DateTime {
            year: 2010,
            month: 10,
            day: 17,
            hour: 19,
            minute: 27,
            second: 30,
            microsecond: 1,
        };
        let integer = |kind| SqlType {
            kind,
            ..SqlType::BIGINT
        };
        let samples = [
            (integer(TypeKind::TinyInt), Value::Int(-1), &b"\xff"[..]),
            (integer(TypeKind::MediumInt), Value::Int(-1), b"\xff\xff\xff\xff"),
            (integer(TypeKind::Int), Value::Int(7), b"\x07\0\0\0"),
            (SqlType::YEAR, Value::UInt(2024), b"\xe8\x07"),
            (SqlType::FLOAT, Value::Double(0.5), b"\0\0\0\x3f"),
            (
                SqlType::DOUBLE,
                Value::Double(10.2),
                b"\x66\x66\x66\x66\x66\x66\x24\x40",
            ),
            (
                SqlType::decimal(5, 2),
                Value::Decimal(Decimal::from_i128(-150, 2)),
                b"\x05-1.50",
            ),
            (
                SqlType::decimal(60, 0),
                Value::Decimal(Decimal::from_i128(9, 0)),
                b"\x019",
            ),
            (
                SqlType::DATE,
                Value::UInt(at.date().pack()),
                b"\x04\xda\x07\x0a\x11",
            ),
            (SqlType::DATE, Value::UInt(0), b"\0"),
            (
                SqlType::datetime(6),
                Value::UInt(at.pack()),
                b"\x0b\xda\x07\x0a\x11\x13\x1b\x1e\x01\0\0\0",
            ),
            (
                SqlType::timestamp(0),
                Value::UInt(at.date().pack() | 1 << 24),
                b"\x07\xda\x07\x0a\x11\0\0\x01",
            ),
            (
                SqlType::datetime(0),
                Value::UInt(at.date().pack()),
                b"\x04\xda\x07\x0a\x11",
            ),
            (
                SqlType::time(0),
                Value::Int(Time::MIN.0),
                b"\x08\x01\x22\0\0\0\x16\x3b\x3b",
            ),
            (SqlType::time(6), Value::Int(1), b"\x0c\0\0\0\0\0\0\0\0\x01\0\0\0"),
            (SqlType::time(6), Value::Int(0), b"\0"),
            (
                SqlType::JSON,
                Value::Json(types::json::JsonBinary::parse(b"[1]").unwrap()),
                b"\x03[1]",
            ),
            (
                SqlType::varchar(4, Collation::Binary),
                Value::Bytes(vec![0, 255]),
                b"\x02\0\xff",
            ),
        ];
        for (ty, value, binary) in samples {
            let array = array_of(&value, &ty, 1).unwrap();
            for format in [Format::Text, Format::Binary] {
                let mut from_value = Vec::new();
                RowEncoder::new(format, &[ty], None).values(std::slice::from_ref(&value), &mut from_value);
                let from_array = encode_all(format, &[ty], vec![array.clone()]).remove(0);
                assert_eq!(from_value, from_array, "{ty:?} {format:?}");
                if format == Format::Binary {
                    assert_eq!(from_array[2..], *binary, "{ty:?}");
                } else {
                    let text = value.to_text(&ty).unwrap();
                    assert_eq!(from_array[0] as usize, text.len());
                    assert_eq!(from_array[1..], text, "{ty:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_longer_than_250_characters() {
        let ty = SqlType {
            decimals: 30,
            length: 255,
            ..SqlType::DOUBLE
        };
        let mut out = Vec::new();
        RowEncoder::new(Format::Text, &[ty], None).values(&[Value::Double(1e250)], &mut out);
        assert_eq!(out[0], 0xfc);
        assert_eq!(usize::from(u16::from_le_bytes([out[1], out[2]])), out.len() - 3);
    }

    #[test]
    fn results_in_latin1() {
        let ty = SqlType::varchar(4, Collation::DEFAULT);
        let encoder = RowEncoder::new(Format::Text, &[ty], Some(Charset::Latin1));
        let mut out = Vec::new();
        encoder.values(&[Value::String("ä漢".into())], &mut out);
        assert_eq!(out, b"\x02\xe4?");
    }

    /// Connector/J sets it to NULL, and decodes each column by what its definition announces.
    #[test]
    fn without_conversion_text_is_sent_in_its_own_character_set() {
        let types = [Collation::Latin1SwedishCi, Collation::DEFAULT, Collation::Binary]
            .map(|collation| SqlType::varchar(4, collation));
        for results in [None, Some(Charset::Binary)] {
            for format in [Format::Text, Format::Binary] {
                let bytes = Value::Bytes("ä".into());
                let mut out = Vec::new();
                let values = [Value::String("ä".into()), Value::String("ä".into()), bytes];
                RowEncoder::new(format, &types, results).values(&values, &mut out);
                assert!(out.ends_with(b"\x01\xe4\x02\xc3\xa4\x02\xc3\xa4"), "{out:x?}");
            }
        }
    }

    #[test]
    fn a_batch_of_the_wrong_width_is_refused() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
        assert!(RowEncoder::new(Format::Text, &[], None).batch(&batch).is_err());
    }
}
