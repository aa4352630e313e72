//! Values that a client sends in binary form: a prepared statement's parameters, and query attributes.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/8.0.43/page_protocol_binary_resultset.html#sect_protocol_binary_resultset_row_value>

use types::temporal::{DateTime, Time};
use types::{Charset, Collation, Decimal, Error, Result, SqlType, Value, errno};

use crate::charset;
use crate::column_type::ColumnType;
use crate::reader::{Reader, malformed};

/// The session's variables that decide how text parameters are read.
#[derive(Debug, Clone, Copy)]
pub struct ParameterContext {
    pub capabilities: u32,
    /// `@@character_set_client`.
    pub client: Charset,
    /// `@@collation_connection`: the collation of text parameters.
    pub collation: Collation,
}

impl Default for ParameterContext {
    fn default() -> Self {
        Self {
            capabilities: 0,
            client: Charset::Utf8mb4,
            collation: Collation::DEFAULT,
        }
    }
}

/// The type a client declares for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundType {
    pub column_type: ColumnType,
    pub unsigned: bool,
}

/// A query attribute: a name and a value that travel with a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    pub name: String,
    pub value: Value,
}

impl BoundType {
    /// Fails with 1835 for a code that is not a type.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        let column_type = ColumnType::from_code(reader.u8()?).ok_or_else(malformed)?;
        let unsigned = reader.u8()? & 0x80 != 0;
        Ok(Self {
            column_type,
            unsigned,
        })
    }

    /// The type of NULL, and of values that need no narrower one: every integer is a BIGINT and every
    /// floating point number a DOUBLE, as in MySQL, so that one plan serves all of them.
    pub(super) fn sql_type(self, context: &ParameterContext) -> SqlType {
        match self.column_type {
            ColumnType::Tiny
            | ColumnType::Short
            | ColumnType::Int24
            | ColumnType::Long
            | ColumnType::LongLong
            | ColumnType::Year => {
                if self.unsigned {
                    SqlType::BIGINT_UNSIGNED
                } else {
                    SqlType::BIGINT
                }
            }
            ColumnType::Float | ColumnType::Double => SqlType::DOUBLE,
            ColumnType::Decimal | ColumnType::NewDecimal => SqlType::decimal(10, 0),
            ColumnType::Date | ColumnType::NewDate => SqlType::DATE,
            ColumnType::DateTime | ColumnType::Timestamp => SqlType::datetime(6),
            ColumnType::Time => SqlType::time(6),
            ColumnType::Null => SqlType::NULL,
            _ if self.is_blob() => SqlType::varchar(0, Collation::Binary),
            _ => SqlType::varchar(0, context.collation),
        }
    }

    fn is_blob(self) -> bool {
        matches!(
            self.column_type,
            ColumnType::TinyBlob
                | ColumnType::Blob
                | ColumnType::MediumBlob
                | ColumnType::LongBlob
                | ColumnType::Bit
                | ColumnType::Geometry
        )
    }
}

/// Reads one value that is not NULL, with its type.
pub(super) fn read(
    reader: &mut Reader<'_>,
    ty: BoundType,
    context: &ParameterContext,
) -> Result<(Value, SqlType)> {
    let integer = |signed: i64, unsigned: u64| {
        if ty.unsigned {
            Value::UInt(unsigned)
        } else {
            Value::Int(signed)
        }
    };
    let value = match ty.column_type {
        ColumnType::Null => Value::Null,
        ColumnType::Tiny => {
            let bits = reader.u8()?;
            integer(i64::from(bits as i8), u64::from(bits))
        }
        ColumnType::Short | ColumnType::Year => {
            let bits = reader.u16()?;
            integer(i64::from(bits as i16), u64::from(bits))
        }
        ColumnType::Long | ColumnType::Int24 => {
            let bits = reader.u32()?;
            integer(i64::from(bits as i32), u64::from(bits))
        }
        ColumnType::LongLong => {
            let bits = reader.u64()?;
            integer(bits as i64, bits)
        }
        ColumnType::Float => finite(f64::from(reader.f32()?))?,
        ColumnType::Double => finite(reader.f64()?)?,
        ColumnType::Decimal | ColumnType::NewDecimal => return decimal(reader.lenenc_bytes()?),
        ColumnType::Date | ColumnType::NewDate => Value::UInt(datetime(reader)?.date().pack()),
        ColumnType::DateTime | ColumnType::Timestamp => Value::UInt(datetime(reader)?.pack()),
        ColumnType::Time => Value::Int(time(reader)?),
        _ => return Ok(bytes(ty, reader.lenenc_bytes()?, context)),
    };
    Ok((value, ty.sql_type(context)))
}

/// The value of a parameter that was sent in pieces before the execution.
pub(super) fn long_data(ty: BoundType, data: &[u8], context: &ParameterContext) -> (Value, SqlType) {
    bytes(ty, data, context)
}

/// Text if the client declares text and the bytes are valid text; binary data otherwise. Drivers send byte
/// arrays as strings: bytes that are not text then go unchanged into a BLOB, and are error 1366 in a text
/// column.
fn bytes(ty: BoundType, data: &[u8], context: &ParameterContext) -> (Value, SqlType) {
    if !ty.is_blob()
        && context.client != Charset::Binary
        && let Some(text) = charset::decode(context.client, data)
    {
        let text = charset::restrict(context.collation.charset(), text);
        // A text this short needs no counting of its characters.
        let chars = match text.len() {
            bytes @ ..=255 => bytes,
            _ => text.chars().count(),
        };
        let ty = SqlType::given(chars, context.collation);
        return (Value::String(text.into_owned()), ty);
    }
    (
        Value::Bytes(data.to_vec()),
        SqlType::given(data.len(), Collation::Binary),
    )
}

fn finite(value: f64) -> Result<Value> {
    if value.is_finite() {
        Ok(Value::Double(value))
    } else {
        Err(Error::new(
            errno::ER_ILLEGAL_VALUE_FOR_TYPE,
            format!("Illegal double '{value}' value found during parsing"),
        ))
    }
}

fn decimal(text: &[u8]) -> Result<(Value, SqlType)> {
    let parsed = std::str::from_utf8(text).ok().and_then(Decimal::parse);
    let Some(value) = parsed else {
        return Err(Error::new(
            errno::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
            format!(
                "Incorrect DECIMAL value: '{}' for column '' at row -1",
                String::from_utf8_lossy(text)
            ),
        ));
    };
    let precision = u32::from(value.digits().max(value.scale).max(1));
    Ok((Value::Decimal(value), SqlType::decimal(precision, value.scale)))
}

/// DATE, DATETIME and TIMESTAMP: 0, 4, 7 or 11 bytes.
fn datetime(reader: &mut Reader<'_>) -> Result<DateTime> {
    let length = reader.u8()?;
    let mut value = DateTime::default();
    if !matches!(length, 0 | 4 | 7 | 11) {
        return Err(malformed());
    }
    if length >= 4 {
        value.year = reader.u16()?;
        value.month = reader.u8()?;
        value.day = reader.u8()?;
    }
    if length >= 7 {
        value.hour = reader.u8()?;
        value.minute = reader.u8()?;
        value.second = reader.u8()?;
    }
    if length >= 11 {
        value.microsecond = reader.u32()?;
    }
    if fields_in_range(&value) {
        Ok(value)
    } else {
        Err(Error::new(
            errno::ER_TRUNCATED_WRONG_VALUE,
            format!(
                "Incorrect datetime value: '{:04}-{:02}-{:02} {:02}:{:02}:{:02}'",
                value.year, value.month, value.day, value.hour, value.minute, value.second
            ),
        ))
    }
}

/// Zero months and days are accepted: the statement decides whether they may be stored.
fn fields_in_range(value: &DateTime) -> bool {
    value.year <= 9999
        && value.month <= 12
        && value.day <= 31
        && value.hour <= 23
        && value.minute <= 59
        && value.second <= 59
        && value.microsecond <= 999_999
}

/// TIME: 0, 8 or 12 bytes; signed microseconds, clamped to 838:59:59 as MySQL does.
fn time(reader: &mut Reader<'_>) -> Result<i64> {
    let length = reader.u8()?;
    if length == 0 {
        return Ok(0);
    }
    if !matches!(length, 8 | 12) {
        return Err(malformed());
    }
    let negative = reader.u8()? != 0;
    let days = i64::from(reader.u32()?);
    let hours = i64::from(reader.u8()?);
    let minutes = i64::from(reader.u8()?);
    let seconds = i64::from(reader.u8()?);
    let microseconds = if length == 12 { i64::from(reader.u32()?) } else { 0 };
    if minutes > 59 || seconds > 59 || microseconds > 999_999 {
        return Err(malformed());
    }
    let total = ((days * 24 + hours) * 3600 + minutes * 60 + seconds) * 1_000_000 + microseconds;
    Ok(Time(if negative { -total } else { total }).clamped().0)
}

/// Reads `count` named values: null bitmap, the flag, types and names, values.
pub(super) fn read_named(
    reader: &mut Reader<'_>,
    count: usize,
    context: &ParameterContext,
) -> Result<Vec<Attribute>> {
    let nulls = reader.bytes(count.div_ceil(8))?;
    if reader.u8()? != 1 {
        return Err(malformed());
    }
    let mut named = Vec::new();
    for _ in 0..count {
        let ty = BoundType::decode(reader)?;
        named.push((reader.lenenc_bytes()?, ty));
    }
    let mut attributes = Vec::with_capacity(named.len());
    for (position, (name, ty)) in named.into_iter().enumerate() {
        let is_null = nulls
            .get(position / 8)
            .is_some_and(|byte| byte >> (position % 8) & 1 == 1);
        let value = if is_null {
            Value::Null
        } else {
            read(reader, ty, context)?.0
        };
        attributes.push(Attribute {
            name: String::from_utf8_lossy(name).into_owned(),
            value,
        });
    }
    Ok(attributes)
}

/// Skips `count` named values.
pub(super) fn skip_named(reader: &mut Reader<'_>, count: usize) -> Result<()> {
    read_named(reader, count, &ParameterContext::default()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(column_type: ColumnType, unsigned: bool, bytes: &[u8]) -> Result<(Value, SqlType)> {
        let mut reader = Reader::new(bytes);
        let value = read(
            &mut reader,
            BoundType {
                column_type,
                unsigned,
            },
            &ParameterContext::default(),
        )?;
        assert!(reader.is_empty());
        Ok(value)
    }

    fn value_of(column_type: ColumnType, bytes: &[u8]) -> Value {
        read_as(column_type, false, bytes).unwrap().0
    }

    /// The manual's examples of binary values.
    #[test]
    fn the_manuals_examples() {
        assert_eq!(
            value_of(ColumnType::String, b"\x03foo"),
            Value::String("foo".into())
        );
        assert_eq!(
            value_of(ColumnType::LongLong, &[1, 0, 0, 0, 0, 0, 0, 0]),
            Value::Int(1)
        );
        assert_eq!(
            value_of(
                ColumnType::Double,
                &[0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x24, 0x40]
            ),
            Value::Double(10.2)
        );
        let expected = DateTime {
            year: 2010,
            month: 10,
            day: 17,
            hour: 19,
            minute: 27,
            second: 30,
            microsecond: 1,
        };
        assert_eq!(
            value_of(
                ColumnType::DateTime,
                &[0x0b, 0xda, 0x07, 0x0a, 0x11, 0x13, 0x1b, 0x1e, 1, 0, 0, 0]
            ),
            Value::UInt(expected.pack())
        );
        assert_eq!(
            value_of(ColumnType::Date, &[0x04, 0xda, 0x07, 0x0a, 0x11]),
            Value::UInt(expected.date().pack())
        );
        assert_eq!(
            value_of(
                ColumnType::Time,
                &[0x0c, 1, 0x78, 0, 0, 0, 0x13, 0x1b, 0x1e, 1, 0, 0, 0]
            ),
            Value::Int(Time::MIN.0)
        );
        assert_eq!(
            value_of(ColumnType::Time, &[0x08, 1, 1, 0, 0, 0, 1, 2, 3]),
            Value::Int(-((25 * 3600 + 2 * 60 + 3) * 1_000_000))
        );
        assert_eq!(value_of(ColumnType::Time, &[0]), Value::Int(0));
        assert_eq!(value_of(ColumnType::DateTime, &[0]), Value::UInt(0));
    }

    #[test]
    fn signs_and_widths() {
        assert_eq!(value_of(ColumnType::Tiny, &[0xff]), Value::Int(-1));
        assert_eq!(value_of(ColumnType::Short, &[0xfe, 0xff]), Value::Int(-2));
        assert_eq!(
            value_of(ColumnType::Long, &[0xfd, 0xff, 0xff, 0xff]),
            Value::Int(-3)
        );
        let unsigned = read_as(ColumnType::Long, true, &[0xff; 4]).unwrap();
        assert_eq!(
            unsigned,
            (Value::UInt(u64::from(u32::MAX)), SqlType::BIGINT_UNSIGNED)
        );
    }

    #[test]
    fn decimals_keep_their_scale() {
        let (value, ty) = read_as(ColumnType::NewDecimal, false, b"\x05-1.50").unwrap();
        assert_eq!(value, Value::Decimal(Decimal::from_i128(-150, 2)));
        assert_eq!(ty, SqlType::decimal(3, 2));
        assert_eq!(
            read_as(ColumnType::NewDecimal, false, b"\x04abcd")
                .unwrap_err()
                .code,
            1366
        );
    }

    #[test]
    fn strings_that_are_no_text_are_binary_data() {
        let (value, ty) = read_as(ColumnType::VarString, false, b"\x02\xff\x00").unwrap();
        assert_eq!((value, ty.is_binary()), (Value::Bytes(vec![255, 0]), true));
        let (value, ty) = read_as(ColumnType::Blob, false, b"\x02ab").unwrap();
        assert_eq!((value, ty.is_binary()), (Value::Bytes(b"ab".to_vec()), true));
        let latin1 = ParameterContext {
            client: Charset::Latin1,
            ..Default::default()
        };
        let text = BoundType {
            column_type: ColumnType::String,
            unsigned: false,
        };
        let (value, _) = read(&mut Reader::new(b"\x01\xe4"), text, &latin1).unwrap();
        assert_eq!(value, Value::String("ä".into()));
    }

    #[test]
    fn values_that_are_none() {
        assert_eq!(
            read_as(ColumnType::Date, false, &[4, 0xda, 7, 13, 1])
                .unwrap_err()
                .code,
            1292
        );
        assert_eq!(read_as(ColumnType::Date, false, &[5]).unwrap_err().code, 1835);
        assert_eq!(
            read_as(ColumnType::Double, false, &f64::NAN.to_le_bytes())
                .unwrap_err()
                .code,
            1367
        );
    }
}
