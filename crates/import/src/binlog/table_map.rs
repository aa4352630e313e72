//! The types of a table's columns, which an event of the log gives before the rows.

use super::bytes::{Bytes, Malformed, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableMap {
    pub(crate) id: u64,
    pub(crate) database: String,
    pub(crate) table: String,
    pub(super) columns: Vec<ColumnType>,
}

/// A type in the log, with everything else that is needed to read a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    Integer(usize),
    Float,
    Double,
    Decimal {
        precision: usize,
        scale: usize,
    },
    Year,
    Date,
    /// Without fractions, as before MySQL 5.6.
    OldTime,
    OldDateTime,
    OldTimestamp,
    /// With the number of digits of its fraction.
    Time(usize),
    DateTime(usize),
    Timestamp(usize),
    Bit(usize),
    /// A number, with its size in bytes: the index of an ENUM, the bits of a SET.
    Enum(usize),
    Set(usize),
    /// A text or bytes, with the size in bytes of the length before it.
    Bytes(usize),
    Json(usize),
    Unknown(u8),
}

impl TableMap {
    pub(super) fn read(data: &mut Bytes<'_>) -> Result<Self> {
        let id = data.uint(6)?;
        data.take(2)?;
        let database = data.name()?;
        let table = data.name()?;
        let count = data.length()?;
        let kinds = data.take(count)?;
        let length = data.length()?;
        let mut metadata = Bytes::new(data.take(length)?);
        let columns = kinds
            .iter()
            .map(|kind| ColumnType::read(*kind, &mut metadata))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            id,
            database,
            table,
            columns,
        })
    }

    /// The number of columns, those included that the source hides.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }
}

impl ColumnType {
    fn read(kind: u8, metadata: &mut Bytes<'_>) -> Result<Self> {
        Ok(match kind {
            1 => Self::Integer(1),
            2 => Self::Integer(2),
            9 => Self::Integer(3),
            3 => Self::Integer(4),
            8 => Self::Integer(8),
            4 => {
                metadata.take(1)?;
                Self::Float
            }
            5 => {
                metadata.take(1)?;
                Self::Double
            }
            246 => Self::Decimal {
                precision: usize::from(metadata.byte()?),
                scale: usize::from(metadata.byte()?),
            },
            13 => Self::Year,
            10 | 14 => Self::Date,
            11 => Self::OldTime,
            12 => Self::OldDateTime,
            7 => Self::OldTimestamp,
            19 => Self::Time(fraction_digits(metadata)?),
            18 => Self::DateTime(fraction_digits(metadata)?),
            17 => Self::Timestamp(fraction_digits(metadata)?),
            16 => {
                let (bits, bytes) = (usize::from(metadata.byte()?), usize::from(metadata.byte()?));
                Self::Bit(bytes + usize::from(bits > 0))
            }
            15 | 253 => Self::Bytes(prefix(metadata.uint(2)? as usize)),
            // Longer texts and bytes; 255: spatial, 242: vectors.
            249..=252 | 255 | 242 => Self::Bytes(usize::from(metadata.byte()?)),
            245 => Self::Json(usize::from(metadata.byte()?)),
            247 | 248 | 254 => Self::string(kind, metadata)?,
            // The type of a multi-valued index: a column that the source hides.
            20 => match metadata.byte()? {
                20 => return Err(Malformed::new("a multi-valued index of such indexes")),
                of => {
                    Self::read(of, metadata)?;
                    Self::Json(4)
                }
            },
            other => Self::Unknown(other),
        })
    }

    /// CHAR, ENUM and SET share a number: the first byte of the metadata says which one it is, and has two
    /// bits of a long CHAR's length (MySQL bug 37426).
    fn string(kind: u8, metadata: &mut Bytes<'_>) -> Result<Self> {
        let (first, second) = (metadata.byte()?, metadata.byte()?);
        let (real, length) = match first & 0x30 {
            0x30 => (first, usize::from(second)),
            bits => (first | 0x30, usize::from(second) | usize::from(bits ^ 0x30) << 4),
        };
        match if first == 0 { kind } else { real } {
            247 => Ok(Self::Enum(length)),
            248 => Ok(Self::Set(length)),
            254 => Ok(Self::Bytes(prefix(length))),
            other => Err(Malformed::new(format!("a text of type {other}"))),
        }
    }
}

fn fraction_digits(metadata: &mut Bytes<'_>) -> Result<usize> {
    match metadata.byte()? {
        digits @ 0..=6 => Ok(usize::from(digits)),
        other => Err(Malformed::new(format!("a time with {other} digits of fractions"))),
    }
}

/// The size of the length of a column that has at most `most` bytes.
fn prefix(most: usize) -> usize {
    if most < 256 { 1 } else { 2 }
}
