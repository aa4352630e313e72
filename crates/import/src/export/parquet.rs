//! Files of Parquet. A chunk is a file, with a row group for each part of it that fits into memory.

use std::sync::Arc;

use mysql::Value;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::RowWriter;
use super::output::Output;
use super::value::{Kind, kind, text};
use crate::Result;
use crate::error::Error;
use crate::inventory::{Column, Table};

/// About how many bytes the values of a row group have.
const GROUP_BYTES: usize = 32 << 20;
const DECIMAL_DIGITS_MAX: u32 = 38;
const DECIMAL_BYTES: usize = 16;

/// The Parquet type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Int32,
    Int64,
    UInt64,
    Float,
    Double,
    /// Precision and scale.
    Decimal(u32, u32),
    Date,
    /// Microseconds; whether they are of UTC.
    Timestamp(bool),
    Json,
    /// Also TIME, which is longer than a day, and DECIMAL of more digits than Parquet's readers take.
    Text,
    Bytes,
}

/// The values of a column that wait for their row group.
enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

struct Waiting {
    name: String,
    shape: Shape,
    values: Values,
    /// 1 for a value, 0 for NULL.
    levels: Vec<i16>,
    /// Dates that are none.
    lost: u64,
}

pub(super) struct Rows {
    table: String,
    name: String,
    columns: Vec<Waiting>,
    bytes: usize,
    writer: SerializedFileWriter<Output>,
}

impl Rows {
    pub(super) fn new(table: &Table, columns: &[&Column], output: Output) -> Result<Self> {
        let name = output.name().to_owned();
        let in_file = |error: ParquetError| failed(&name, &error);
        let shapes: Vec<Shape> = columns.iter().map(|column| shape(column)).collect();
        let fields = columns
            .iter()
            .zip(&shapes)
            .map(|(column, shape)| field(&column.name, *shape));
        let fields = fields
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(in_file)?;
        let schema = Type::group_type_builder("rows")
            .with_fields(fields)
            .build()
            .map_err(in_file)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).map_err(in_file)?))
            .build();
        let writer =
            SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties)).map_err(in_file)?;
        let columns = columns.iter().zip(shapes).map(|(column, shape)| Waiting {
            name: column.name.clone(),
            shape,
            values: Values::of(shape),
            levels: Vec::new(),
            lost: 0,
        });
        Ok(Self {
            table: table.shown(),
            columns: columns.collect(),
            bytes: 0,
            writer,
            name,
        })
    }

    fn flush(&mut self) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        self.bytes = 0;
        let written = write_group(&mut self.writer, &mut self.columns);
        written.map_err(|error| failed(&self.name, &error))
    }
}

impl RowWriter for Rows {
    fn row(&mut self, row: Vec<Value>) -> Result<()> {
        for (value, column) in row.into_iter().zip(&mut self.columns) {
            self.bytes += 8 + column.add(value).map_err(|value| {
                Error::Different(format!(
                    "{}, column {}: the value {value} has no form in Parquet; write SQL or CSV",
                    self.table, column.name
                ))
            })?;
        }
        match self.bytes > GROUP_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<String>> {
        self.flush()?;
        let output = self
            .writer
            .into_inner()
            .map_err(|error| failed(&self.name, &error))?;
        output.finish()?;
        let lost = self.columns.iter().filter(|column| column.lost > 0);
        Ok(lost
            .map(|column| {
                format!(
                    "{}, column {}: {} dates that no calendar has are NULL in {}",
                    self.table, column.name, column.lost, self.name
                )
            })
            .collect())
    }
}

fn failed(name: &str, error: &ParquetError) -> Error {
    Error::Output {
        path: name.to_owned(),
        error: std::io::Error::other(error.to_string()),
    }
}

fn shape(column: &Column) -> Shape {
    let is_unsigned = column.column_type.contains("unsigned");
    match column.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "year" => Shape::Int32,
        "int" if !is_unsigned => Shape::Int32,
        "int" => Shape::Int64,
        "bigint" if is_unsigned => Shape::UInt64,
        "bigint" => Shape::Int64,
        "bit" => Shape::UInt64,
        "float" => Shape::Float,
        "double" => Shape::Double,
        "decimal" => match decimal(&column.column_type) {
            Some((precision, scale)) if precision <= DECIMAL_DIGITS_MAX => Shape::Decimal(precision, scale),
            _ => Shape::Text,
        },
        "date" => Shape::Date,
        "datetime" => Shape::Timestamp(false),
        "timestamp" => Shape::Timestamp(true),
        "json" => Shape::Json,
        _ => match kind(column) {
            Kind::Binary => Shape::Bytes,
            _ => Shape::Text,
        },
    }
}

/// Precision and scale of `decimal(10,2) unsigned`.
fn decimal(column_type: &str) -> Option<(u32, u32)> {
    let inner = column_type.split_once('(')?.1.split_once(')')?.0;
    let (precision, scale) = inner.split_once(',').unwrap_or((inner, "0"));
    Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?))
}

fn field(name: &str, shape: Shape) -> std::result::Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match shape {
        Shape::Int32 => (Physical::INT32, None),
        Shape::Int64 => (Physical::INT64, None),
        Shape::UInt64 => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Shape::Float => (Physical::FLOAT, None),
        Shape::Double => (Physical::DOUBLE, None),
        Shape::Decimal(precision, scale) => (
            Physical::FIXED_LEN_BYTE_ARRAY,
            Some(LogicalType::decimal(scale as i32, precision as i32)),
        ),
        Shape::Date => (Physical::INT32, Some(LogicalType::Date)),
        Shape::Timestamp(is_utc) => (
            Physical::INT64,
            Some(LogicalType::timestamp(is_utc, TimeUnit::MICROS)),
        ),
        Shape::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        Shape::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Shape::Bytes => (Physical::BYTE_ARRAY, None),
    };
    let mut builder = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    if let Shape::Decimal(precision, scale) = shape {
        builder = builder
            .with_length(DECIMAL_BYTES as i32)
            .with_precision(precision as i32)
            .with_scale(scale as i32);
    }
    builder.build().map(Arc::new)
}

impl Values {
    fn of(shape: Shape) -> Self {
        match shape {
            Shape::Int32 | Shape::Date => Self::Int32(Vec::new()),
            Shape::Int64 | Shape::UInt64 | Shape::Timestamp(_) => Self::Int64(Vec::new()),
            Shape::Float => Self::Float(Vec::new()),
            Shape::Double => Self::Double(Vec::new()),
            Shape::Decimal(..) => Self::Fixed(Vec::new()),
            Shape::Json | Shape::Text | Shape::Bytes => Self::Bytes(Vec::new()),
        }
    }
}

impl Waiting {
    /// Adds a value. Returns how many bytes it has, or the value if it has no form.
    fn add(&mut self, value: Value) -> std::result::Result<usize, String> {
        let shown = |value: &Value| {
            let bytes = text(value).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let is_null = value == Value::NULL;
        let mut length = 0;
        let mut is_lost = false;
        match (&mut self.values, &value) {
            (_, Value::NULL) => {}
            (Values::Int32(values), Value::Date(year, month, day, ..)) => {
                match days(i64::from(*year), i64::from(*month), i64::from(*day)) {
                    Some(days) => values.push(days as i32),
                    None => is_lost = true,
                }
            }
            (Values::Int64(values), Value::Date(year, month, day, hour, minute, second, micros)) => {
                match days(i64::from(*year), i64::from(*month), i64::from(*day)) {
                    Some(days) => {
                        let seconds = (days * 24 + i64::from(*hour)) * 3600
                            + i64::from(*minute) * 60
                            + i64::from(*second);
                        values.push(seconds * 1_000_000 + i64::from(*micros));
                    }
                    None => is_lost = true,
                }
            }
            (Values::Int32(values), Value::Int(number)) => {
                values.push(i32::try_from(*number).map_err(|_| shown(&value))?);
            }
            (Values::Int32(values), Value::UInt(number)) => {
                values.push(i32::try_from(*number).map_err(|_| shown(&value))?);
            }
            (Values::Int64(values), Value::Int(number)) => values.push(*number),
            // The logical type says that it has no sign.
            (Values::Int64(values), Value::UInt(number)) => values.push(number.cast_signed()),
            (Values::Float(values), Value::Float(number)) => values.push(*number),
            (Values::Double(values), Value::Double(number)) => values.push(*number),
            (Values::Fixed(values), Value::Bytes(digits)) => {
                let Shape::Decimal(_, scale) = self.shape else {
                    return Err(shown(&value));
                };
                let number = unscaled(digits, scale).ok_or_else(|| shown(&value))?;
                length = DECIMAL_BYTES;
                values.push(number.to_be_bytes().to_vec().into());
            }
            (Values::Bytes(values), other) => {
                let bytes = text(other).unwrap_or_default().into_owned();
                length = bytes.len();
                values.push(bytes.into());
            }
            _ => return Err(shown(&value)),
        }
        self.lost += u64::from(is_lost);
        self.levels.push(i16::from(!is_null && !is_lost));
        Ok(length)
    }
}

/// A decimal's digits as an integer: its scale is that of the column.
fn unscaled(digits: &[u8], scale: u32) -> Option<i128> {
    let text = std::str::from_utf8(digits).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let missing = (scale as usize).checked_sub(fraction.len())?;
    format!("{whole}{fraction}{}", "0".repeat(missing)).parse().ok()
}

/// Days since 1970-01-01; `None` for a date that no calendar has. Source: Howard Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `days_from_civil`.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year.div_euclid(400);
    let of_era = shifted_year.rem_euclid(400);
    let shifted_month = (month + 9) % 12;
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    (crate::files::civil(days) == (year, month, day)).then_some(days)
}

fn write_group(
    writer: &mut SerializedFileWriter<Output>,
    columns: &mut [Waiting],
) -> std::result::Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let Some(mut target) = group.next_column()? else {
            return Err(ParquetError::General("a column without a place".to_owned()));
        };
        let levels = Some(column.levels.as_slice());
        match (target.untyped(), &column.values) {
            (ColumnWriter::Int32ColumnWriter(out), Values::Int32(values)) => {
                out.write_batch(values, levels, None)?
            }
            (ColumnWriter::Int64ColumnWriter(out), Values::Int64(values)) => {
                out.write_batch(values, levels, None)?
            }
            (ColumnWriter::FloatColumnWriter(out), Values::Float(values)) => {
                out.write_batch(values, levels, None)?
            }
            (ColumnWriter::DoubleColumnWriter(out), Values::Double(values)) => {
                out.write_batch(values, levels, None)?
            }
            (ColumnWriter::ByteArrayColumnWriter(out), Values::Bytes(values)) => {
                out.write_batch(values, levels, None)?
            }
            (ColumnWriter::FixedLenByteArrayColumnWriter(out), Values::Fixed(values)) => {
                out.write_batch(values, levels, None)?
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        };
        target.close()?;
        column.values = Values::of(column.shape);
        column.levels.clear();
    }
    group.close().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (date, expected) in [
            ((1970, 1, 1), Some(0)),
            ((2024, 2, 29), Some(19_782)),
            ((1969, 12, 31), Some(-1)),
            ((2023, 2, 29), None),
            ((0, 0, 0), None),
            ((2023, 0, 5), None),
        ] {
            assert_eq!(days(date.0, date.1, date.2), expected, "{date:?}");
        }
    }

    #[test]
    fn decimals_are_integers_of_their_scale() {
        assert_eq!(unscaled(b"-1.50", 3), Some(-1500));
        assert_eq!(unscaled(b"7", 0), Some(7));
        assert_eq!(unscaled(b"1.234", 2), None);
    }
}
