//! One integer column of rows, read before anything else of them is decoded; and where in the order of a
//! table's keys the rows of a value, or of a group, begin.

use codec::datum::{INT_FLAG, UINT_FLAG};
use codec::key::ROW_PREFIX_LEN;
use codec::memcomparable::{encode_i64, encode_u64};
use codec::row::StoredNumber;
use types::SqlType;

use super::stored::{Place, clustered_parts, place};
use crate::model::{Handle, Table};

/// The bytes of an integer in a handle: a flag and eight bytes.
const PART_BYTES: usize = 9;

/// Reads a column's value as an `i64`.
#[derive(Debug, Clone)]
pub enum IntegerColumn {
    /// The row's key is the value.
    Handle,
    /// In the row's key, at this offset in bytes after the handle's start.
    Part(usize),
    /// In the row's value.
    Row(StoredNumber),
}

impl IntegerColumn {
    /// `None` for a column that is not an integer, or that is not found by its place.
    pub fn new(table: &Table, offset: usize) -> Option<Self> {
        let column = table.columns.get(offset)?;
        column.ty.is_integer().then(|| Self::ordered(table, offset))?
    }

    /// Of a column whose values order as integers do: a DECIMAL by its digits, a date by its packed form.
    /// `None` for others.
    pub fn ordered(table: &Table, offset: usize) -> Option<Self> {
        let column = table.columns.get(offset)?;
        match place(table, offset) {
            Place::IntegerHandle if !column.ty.unsigned => Some(Self::Handle),
            Place::HandlePart(part) if column.ty.is_integer() => {
                let before = clustered_parts(table).get(..part)?;
                let is_integer = |ty: &SqlType| ty.is_integer();
                let all_integers = before
                    .iter()
                    .all(|part| table.columns.get(part.column).is_some_and(|c| is_integer(&c.ty)));
                all_integers.then_some(Self::Part(part * PART_BYTES))
            }
            Place::Row => StoredNumber::new(column.id, &column.ty).map(Self::Row),
            Place::IntegerHandle | Place::HandlePart(_) | Place::Computed => None,
        }
    }

    /// Whether rows are in the order of this column.
    pub fn leads(&self) -> bool {
        matches!(self, Self::Handle | Self::Part(0))
    }

    /// Where rows with `value` begin, if rows are in the order of this column. `key`: that of a row of the
    /// same table.
    pub fn start_of(&self, key: &[u8], value: i64) -> Option<Vec<u8>> {
        let mut start = key.get(..ROW_PREFIX_LEN)?.to_vec();
        match self {
            Self::Handle => encode_i64(value, &mut start),
            Self::Part(0) => {
                let flag = *key.get(ROW_PREFIX_LEN)?;
                start.push(flag);
                match flag {
                    INT_FLAG => encode_i64(value, &mut start),
                    UINT_FLAG => encode_u64(u64::try_from(value).ok()?, &mut start),
                    _ => return None,
                }
            }
            Self::Part(_) | Self::Row(_) => return None,
        }
        Some(start)
    }

    /// Whether no value is larger than an `i64`. `key`: that of a row.
    pub fn is_signed_at(&self, key: &[u8]) -> bool {
        match self {
            Self::Handle => true,
            Self::Part(at) => key.get(ROW_PREFIX_LEN + at) == Some(&INT_FLAG),
            Self::Row(_) => false,
        }
    }

    /// The value in a stored row. `None`: it must be decoded, as it is NULL, or larger, or in another form.
    #[inline]
    pub fn value(&self, key: &[u8], row: &[u8]) -> Option<i64> {
        match self {
            Self::Row(number) => number.value(row),
            Self::Handle => codec::key::int_handle(key).ok(),
            Self::Part(at) => {
                let bytes = codec::key::handle_bytes(key).ok()?.get(*at..)?;
                let (flag, mut number) = bytes.split_first()?;
                match *flag {
                    INT_FLAG => codec::memcomparable::decode_i64(&mut number).ok(),
                    UINT_FLAG => i64::try_from(codec::memcomparable::decode_u64(&mut number).ok()?).ok(),
                    _ => None,
                }
            }
        }
    }
}

/// The number of leading bytes that the keys of two rows share if their first `parts` parts of the primary
/// key are equal. `None`: that is not known without decoding the keys.
pub fn leading_bytes(table: &Table, parts: usize) -> Option<usize> {
    match &table.handle {
        Handle::Integer { .. } => (parts == 1).then_some(ROW_PREFIX_LEN + PART_BYTES - 1),
        Handle::Clustered { .. } => {
            let mut leading = clustered_parts(table).get(..parts)?.iter();
            let is_integer = leading.all(|part| {
                let column = table.columns.get(part.column);
                column.is_some_and(|column| column.ty.is_integer() && !column.nullable)
            });
            is_integer.then_some(ROW_PREFIX_LEN + parts * PART_BYTES)
        }
        Handle::Hidden => None,
    }
}
