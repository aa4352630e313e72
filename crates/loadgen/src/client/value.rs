//! Parameters sent to the server, and values in rows received.

use wire::column_type::ColumnType;
use wire::reader::Reader;
use wire::writer::Writer;

use crate::error::{Error, Result};

/// A parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Double(f64),
    /// Text: strings, decimals, dates.
    Text(&'a str),
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Param<'_> {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Param<'_> {
    pub(super) fn column_type(self) -> ColumnType {
        match self {
            Self::Null => ColumnType::Null,
            Self::Int(_) => ColumnType::LongLong,
            Self::Double(_) => ColumnType::Double,
            Self::Text(_) => ColumnType::VarString,
        }
    }

    /// Appends the value as in COM_STMT_EXECUTE; nothing for NULL.
    pub(super) fn write_binary(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Int(value) => out.put_u64(value as u64),
            Self::Double(value) => out.put_bytes(&value.to_le_bytes()),
            Self::Text(text) => out.put_lenenc_bytes(text.as_bytes()),
        }
    }

    /// Appends the value as a literal, quoted and escaped if it is text.
    pub fn write_literal(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Self::Double(value) => out.extend_from_slice(format!("{value:e}").as_bytes()),
            Self::Text(text) => {
                out.push(b'\'');
                for &byte in text.as_bytes() {
                    match byte {
                        b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                        0 => out.extend_from_slice(b"\\0"),
                        _ => out.push(byte),
                    }
                }
                out.push(b'\'');
            }
        }
    }
}

/// A value of a row. Decimals, dates and times are text in both protocols.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Bytes(Vec<u8>),
}

/// One row of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(pub Vec<Value>);

impl Row {
    pub fn value(&self, column: usize) -> Result<&Value> {
        self.0
            .get(column)
            .ok_or_else(|| Error::Unexpected(format!("the answer has no column {column}")))
    }

    pub fn is_null(&self, column: usize) -> Result<bool> {
        Ok(self.value(column)? == &Value::Null)
    }

    /// An integer, in either protocol. Fails on NULL and on other types.
    pub fn int(&self, column: usize) -> Result<i64> {
        let number = match self.value(column)? {
            Value::Int(value) => Some(*value),
            Value::UInt(value) => i64::try_from(*value).ok(),
            Value::Double(value) if value.fract() == 0.0 => Some(*value as i64),
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()),
            _ => None,
        };
        number.ok_or_else(|| self.unexpected(column, "an integer"))
    }

    /// A number of any kind, DECIMAL included. Fails on NULL.
    pub fn float(&self, column: usize) -> Result<f64> {
        let number = match self.value(column)? {
            Value::Int(value) => Some(*value as f64),
            Value::UInt(value) => Some(*value as f64),
            Value::Double(value) => Some(*value),
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()),
            Value::Null => None,
        };
        number.ok_or_else(|| self.unexpected(column, "a number"))
    }

    /// The value's text; numbers are printed. Fails on NULL.
    pub fn text(&self, column: usize) -> Result<String> {
        Ok(match self.value(column)? {
            Value::Int(value) => value.to_string(),
            Value::UInt(value) => value.to_string(),
            Value::Double(value) => value.to_string(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Null => return Err(self.unexpected(column, "text")),
        })
    }

    fn unexpected(&self, column: usize, wanted: &str) -> Error {
        Error::Unexpected(format!(
            "column {column} of the answer is not {wanted}: {:?}",
            self.0.get(column)
        ))
    }
}

/// A column's type and flags, as far as binary rows need them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) kind: u8,
    pub(super) unsigned: bool,
}

pub(super) fn text_row(payload: &[u8], columns: usize) -> Result<Row> {
    let mut reader = Reader::new(payload);
    let mut values = Vec::with_capacity(columns);
    for _ in 0..columns {
        let value = reader.lenenc_bytes_or_null()?;
        values.push(value.map_or(Value::Null, |bytes| Value::Bytes(bytes.to_vec())));
    }
    Ok(Row(values))
}

pub(super) fn binary_row(payload: &[u8], columns: &[Column]) -> Result<Row> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    // The bitmap of NULLs starts at its third bit.
    let nulls = reader.bytes((columns.len() + 9) / 8)?;
    let mut values = Vec::with_capacity(columns.len());
    for (position, column) in columns.iter().enumerate() {
        let bit = position + 2;
        let is_null = nulls.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        values.push(if is_null {
            Value::Null
        } else {
            binary_value(&mut reader, *column)?
        });
    }
    Ok(Row(values))
}

fn binary_value(reader: &mut Reader<'_>, column: Column) -> Result<Value> {
    let integer = |signed: i64, unsigned: u64| {
        if column.unsigned {
            Value::UInt(unsigned)
        } else {
            Value::Int(signed)
        }
    };
    Ok(match ColumnType::from_code(column.kind) {
        Some(ColumnType::Tiny) => reader.u8().map(|v| integer(i64::from(v as i8), u64::from(v)))?,
        Some(ColumnType::Short | ColumnType::Year) => {
            reader.u16().map(|v| integer(i64::from(v as i16), u64::from(v)))?
        }
        Some(ColumnType::Long | ColumnType::Int24) => {
            reader.u32().map(|v| integer(i64::from(v as i32), u64::from(v)))?
        }
        Some(ColumnType::LongLong) => reader.u64().map(|v| integer(v as i64, v))?,
        Some(ColumnType::Float) => Value::Double(f64::from(reader.f32()?)),
        Some(ColumnType::Double) => Value::Double(reader.f64()?),
        Some(ColumnType::Date | ColumnType::DateTime | ColumnType::Timestamp) => datetime(reader)?,
        Some(ColumnType::Time) => time(reader)?,
        _ => Value::Bytes(reader.lenenc_bytes()?.to_vec()),
    })
}

fn datetime(reader: &mut Reader<'_>) -> Result<Value> {
    let length = reader.u8()?;
    let mut text = match length {
        0 => "0000-00-00".to_owned(),
        _ => format!("{:04}-{:02}-{:02}", reader.u16()?, reader.u8()?, reader.u8()?),
    };
    if length >= 7 {
        text += &format!(" {:02}:{:02}:{:02}", reader.u8()?, reader.u8()?, reader.u8()?);
    }
    if length >= 11 {
        text += &format!(".{:06}", reader.u32()?);
    }
    Ok(Value::Bytes(text.into_bytes()))
}

fn time(reader: &mut Reader<'_>) -> Result<Value> {
    let length = reader.u8()?;
    if length == 0 {
        return Ok(Value::Bytes(b"00:00:00".to_vec()));
    }
    let sign = if reader.u8()? == 1 { "-" } else { "" };
    let hours = reader
        .u32()?
        .saturating_mul(24)
        .saturating_add(u32::from(reader.u8()?));
    let mut text = format!("{sign}{hours:02}:{:02}:{:02}", reader.u8()?, reader.u8()?);
    if length >= 12 {
        text += &format!(".{:06}", reader.u32()?);
    }
    Ok(Value::Bytes(text.into_bytes()))
}
