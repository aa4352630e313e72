//! The rows of a Parquet file, as the lines that LOAD DATA reads.
//!
//! A nested column (a struct, a list, a map) becomes a JSON document.

use std::fmt::Write;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use super::input::unreadable;
use super::records::Format;
use crate::Result;
use crate::endpoint::quoted;
use crate::error::Error;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// The lines are as SELECT ... INTO OUTFILE writes them.
pub(super) fn format() -> Format {
    Format {
        fields_terminated: b"\t".to_vec(),
        enclosed: None,
        escaped: Some(b'\\'),
        lines_starting: Vec::new(),
        lines_terminated: b"\n".to_vec(),
        charset: "utf8mb4".to_owned(),
    }
}

/// How a value is written, where its own kind does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    /// As hexadecimal digits.
    Binary,
    Uuid,
    TimestampNanos,
    TimeNanos,
}

#[derive(Debug)]
struct Column {
    name: String,
    sql_type: String,
    shape: Shape,
    nullable: bool,
}

/// Some lines.
pub(super) struct Lines {
    /// The first is this row of the file, from 1.
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct Rows {
    path: PathBuf,
    columns: Vec<Column>,
    rows: RowIter<'static>,
    first: u64,
}

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let reader = guarded(path, || SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema();
        let columns = schema.get_fields().iter().map(|field| {
            column(field).ok_or_else(|| {
                Error::Input(format!(
                    "{}: the column {} has a type that no column here has ({:?})",
                    path.display(),
                    field.name(),
                    field.get_basic_info().logical_type_ref()
                ))
            })
        });
        Ok(Self {
            path: path.to_owned(),
            columns: columns.collect::<Result<_>>()?,
            rows: RowIter::from_file_into(Box::new(reader)),
            first: 1,
        })
    }

    pub(super) fn create_table(&self, table: &str) -> String {
        let columns = self.columns.iter().map(|column| {
            format!(
                "{} {}{}",
                quoted(&column.name),
                column.sql_type,
                if column.nullable { "" } else { " NOT NULL" }
            )
        });
        format!(
            "CREATE TABLE IF NOT EXISTS {} ({})",
            quoted(table),
            columns.collect::<Vec<_>>().join(", ")
        )
    }

    /// What each field is read into.
    pub(super) fn fields(&self) -> Vec<String> {
        let field = |(position, column): (usize, &Column)| match column.shape {
            Shape::Binary => format!("@stemdb_{position}"),
            _ => quoted(&column.name),
        };
        self.columns.iter().enumerate().map(field).collect()
    }

    pub(super) fn sets(&self) -> Vec<String> {
        let binary = |(position, column): (usize, &Column)| {
            (column.shape == Shape::Binary)
                .then(|| format!("{} = UNHEX(@stemdb_{position})", quoted(&column.name)))
        };
        self.columns.iter().enumerate().filter_map(binary).collect()
    }

    /// The next lines, about `bytes` bytes of them.
    pub(super) fn next(&mut self, bytes: usize) -> Result<Option<Lines>> {
        let mut lines = Lines {
            first: self.first,
            count: 0,
            bytes: Vec::new(),
        };
        let mut text = String::new();
        while lines.bytes.len() < bytes {
            let rows = &mut self.rows;
            let Some(row) = guarded(&self.path, || rows.next().transpose())? else {
                break;
            };
            text.clear();
            write_line(&row, &self.columns, &mut text);
            lines.bytes.extend_from_slice(text.as_bytes());
            lines.count += 1;
        }
        self.first += lines.count;
        Ok((lines.count > 0).then_some(lines))
    }
}

/// The library panics on some of what a damaged file can hold.
fn guarded<T>(path: &Path, read: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    let damaged = |what: &str| Error::Input(format!("{} is damaged, or no Parquet: {what}", path.display()));
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(done) => done.map_err(|error| damaged(&error.to_string())),
        Err(_) => Err(damaged("its bytes make no sense")),
    }
}

fn column(field: &Type) -> Option<Column> {
    let info = field.get_basic_info();
    let (sql_type, shape) = match field.is_primitive() && !is_repeated(field) {
        true => primitive(field)?,
        false => ("JSON".to_owned(), Shape::Plain),
    };
    Some(Column {
        name: field.name().to_owned(),
        sql_type,
        shape,
        nullable: field.is_optional() || !info.has_repetition() || is_repeated(field),
    })
}

fn is_repeated(field: &Type) -> bool {
    let info = field.get_basic_info();
    info.has_repetition() && info.repetition() == parquet::basic::Repetition::REPEATED
}

fn primitive(field: &Type) -> Option<(String, Shape)> {
    let info = field.get_basic_info();
    let plain = |sql_type: &str| Some((sql_type.to_owned(), Shape::Plain));
    match info.logical_type_ref() {
        Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS => {
            return Some(("DATETIME(6)".to_owned(), Shape::TimestampNanos));
        }
        Some(LogicalType::Time(of)) if of.unit == TimeUnit::NANOS => {
            return Some(("TIME(6)".to_owned(), Shape::TimeNanos));
        }
        Some(LogicalType::Uuid) => return Some(("CHAR(36)".to_owned(), Shape::Uuid)),
        Some(LogicalType::Float16) => return plain("FLOAT"),
        _ => {}
    }
    if info.converted_type() == ConvertedType::DECIMAL {
        return plain(&format!(
            "DECIMAL({}, {})",
            field.get_precision(),
            field.get_scale()
        ));
    }
    match (field.get_physical_type(), info.converted_type()) {
        (Physical::BOOLEAN, _) => plain("BOOLEAN"),
        (Physical::INT32, ConvertedType::INT_8) => plain("TINYINT"),
        (Physical::INT32, ConvertedType::INT_16) => plain("SMALLINT"),
        (Physical::INT32, ConvertedType::UINT_8) => plain("TINYINT UNSIGNED"),
        (Physical::INT32, ConvertedType::UINT_16) => plain("SMALLINT UNSIGNED"),
        (Physical::INT32, ConvertedType::UINT_32) => plain("INT UNSIGNED"),
        (Physical::INT32, ConvertedType::DATE) => plain("DATE"),
        (Physical::INT32, ConvertedType::TIME_MILLIS) => plain("TIME(3)"),
        (Physical::INT32, ConvertedType::INT_32 | ConvertedType::NONE) => plain("INT"),
        (Physical::INT64, ConvertedType::UINT_64) => plain("BIGINT UNSIGNED"),
        (Physical::INT64, ConvertedType::TIME_MICROS) => plain("TIME(6)"),
        (Physical::INT64, ConvertedType::TIMESTAMP_MILLIS) => plain("DATETIME(3)"),
        (Physical::INT64, ConvertedType::TIMESTAMP_MICROS) => plain("DATETIME(6)"),
        (Physical::INT64, ConvertedType::INT_64 | ConvertedType::NONE) => plain("BIGINT"),
        (Physical::INT96, _) => plain("DATETIME(3)"),
        (Physical::FLOAT, _) => plain("FLOAT"),
        (Physical::DOUBLE, _) => plain("DOUBLE"),
        (Physical::BYTE_ARRAY, ConvertedType::UTF8 | ConvertedType::ENUM) => plain("LONGTEXT"),
        (Physical::BYTE_ARRAY, ConvertedType::JSON) => plain("JSON"),
        (Physical::BYTE_ARRAY, ConvertedType::NONE | ConvertedType::BSON)
        | (Physical::FIXED_LEN_BYTE_ARRAY, ConvertedType::NONE) => {
            Some(("LONGBLOB".to_owned(), Shape::Binary))
        }
        _ => None,
    }
}

fn write_line(row: &Row, columns: &[Column], out: &mut String) {
    for (position, ((_, field), column)) in row.get_column_iter().zip(columns).enumerate() {
        if position > 0 {
            out.push('\t');
        }
        write_field(field, column.shape, out);
    }
    out.push('\n');
}

fn write_field(field: &Field, shape: Shape, out: &mut String) {
    match (field, shape) {
        (Field::Null, _) => out.push_str("\\N"),
        (Field::Long(nanos), Shape::TimestampNanos) => timestamp(nanos.div_euclid(1000), out),
        (Field::Long(nanos), Shape::TimeNanos) => time(nanos.div_euclid(1000), out),
        (Field::Bytes(bytes), Shape::Uuid) => {
            for (position, byte) in bytes.data().iter().enumerate() {
                if matches!(position, 4 | 6 | 8 | 10) {
                    out.push('-');
                }
                hexadecimal(*byte, out);
            }
        }
        (Field::Bytes(bytes), _) => bytes.data().iter().for_each(|byte| hexadecimal(*byte, out)),
        (Field::Bool(value), _) => out.push(if *value { '1' } else { '0' }),
        (Field::Str(text), _) => escape(text, out),
        (Field::Date(days), _) => date(i64::from(*days), out),
        (Field::TimeMillis(millis), _) => time(i64::from(*millis) * 1000, out),
        (Field::TimeMicros(micros), _) => time(*micros, out),
        (Field::TimestampMillis(millis), _) => timestamp(millis.saturating_mul(1000), out),
        (Field::TimestampMicros(micros), _) => timestamp(*micros, out),
        (Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_), _) => {
            let mut document = String::new();
            json(field, &mut document);
            escape(&document, out);
        }
        (number, _) => push(out, format_args!("{}", shown(number))),
    }
}

/// A number as its shortest text.
fn shown(field: &Field) -> String {
    match field {
        Field::Float(value) => format!("{value:?}"),
        Field::Double(value) => format!("{value:?}"),
        other => other.to_string(),
    }
}

fn hexadecimal(byte: u8, out: &mut String) {
    push(out, format_args!("{byte:02x}"));
}

/// Writing to a text does not fail.
fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
}

fn date(days: i64, out: &mut String) {
    let (year, month, day) = civil(days);
    push(out, format_args!("{year:04}-{month:02}-{day:02}"));
}

fn time(micros: i64, out: &mut String) {
    let seconds = micros / SECOND;
    push(
        out,
        format_args!(
            "{:02}:{:02}:{:02}.{:06}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            micros % SECOND
        ),
    );
}

fn timestamp(micros: i64, out: &mut String) {
    date(micros.div_euclid(DAY), out);
    out.push(' ');
    time(micros.rem_euclid(DAY), out);
}

/// The date so many days after 1970-01-01. Source: Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

fn json(field: &Field, out: &mut String) {
    let list =
        |open: char, close: char, out: &mut String, count: usize, write: &dyn Fn(usize, &mut String)| {
            out.push(open);
            for position in 0..count {
                if position > 0 {
                    out.push(',');
                }
                write(position, out);
            }
            out.push(close);
        };
    match field {
        Field::Null => out.push_str("null"),
        Field::Bool(value) => push(out, format_args!("{value}")),
        Field::Group(row) => {
            let members: Vec<(&String, &Field)> = row.get_column_iter().collect();
            list('{', '}', out, members.len(), &|at, out| {
                if let Some((name, value)) = members.get(at) {
                    json_text(name, out);
                    out.push(':');
                    json(value, out);
                }
            });
        }
        Field::ListInternal(values) => list('[', ']', out, values.elements().len(), &|at, out| {
            if let Some(value) = values.elements().get(at) {
                json(value, out);
            }
        }),
        Field::MapInternal(map) => list('{', '}', out, map.entries().len(), &|at, out| {
            if let Some((key, value)) = map.entries().get(at) {
                let mut name = String::new();
                write_field(key, Shape::Plain, &mut name);
                json_text(&name, out);
                out.push(':');
                json(value, out);
            }
        }),
        Field::Float(value) if !value.is_finite() => out.push_str("null"),
        Field::Double(value) if !value.is_finite() => out.push_str("null"),
        Field::Str(text) => json_text(text, out),
        Field::Byte(_)
        | Field::Short(_)
        | Field::Int(_)
        | Field::Long(_)
        | Field::UByte(_)
        | Field::UShort(_)
        | Field::UInt(_)
        | Field::ULong(_)
        | Field::Float(_)
        | Field::Double(_)
        | Field::Decimal(_) => out.push_str(&shown(field)),
        other => {
            let mut text = String::new();
            write_field(other, Shape::Plain, &mut text);
            json_text(&text, out);
        }
    }
}

fn json_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => push(out, format_args!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(field: &Field, shape: Shape) -> String {
        let mut out = String::new();
        write_field(field, shape, &mut out);
        out
    }

    #[test]
    fn values_are_written_as_load_data_reads_them() {
        for (field, shape, expected) in [
            (Field::Null, Shape::Plain, "\\N"),
            (Field::Str("a\tb\\\n".to_owned()), Shape::Plain, "a\\tb\\\\\\n"),
            (Field::Bytes(vec![0, 255].into()), Shape::Binary, "00ff"),
            (Field::Date(-1), Shape::Plain, "1969-12-31"),
            (Field::Date(19_782), Shape::Plain, "2024-02-29"),
            (
                Field::TimestampMillis(-1),
                Shape::Plain,
                "1969-12-31 23:59:59.999000",
            ),
            (
                Field::Long(1_000_000_001_500),
                Shape::TimestampNanos,
                "1970-01-01 00:16:40.000001",
            ),
            (Field::TimeMillis(86_399_999), Shape::Plain, "23:59:59.999000"),
            (Field::Double(0.1), Shape::Plain, "0.1"),
            (Field::Bool(true), Shape::Plain, "1"),
        ] {
            assert_eq!(written(&field, shape), expected, "{field:?}");
        }
    }

    #[test]
    fn what_is_no_parquet_is_an_error() {
        let file = std::env::temp_dir().join(format!("stemdb-no-parquet-{}", std::process::id()));
        for bytes in [
            &b""[..],
            b"PAR1",
            b"PAR1\xff\xff\xff\xff\x08\x00\x00\x00PAR1",
            b"id,name\n1,x\n",
        ] {
            std::fs::write(&file, bytes).unwrap();
            assert!(Rows::open(&file).is_err(), "{bytes:?}");
        }
        std::fs::remove_file(&file).unwrap();
    }
}
