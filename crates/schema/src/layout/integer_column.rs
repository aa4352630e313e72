//! One integer column of rows, read before anything else of them is decoded.

use codec::datum::{INT_FLAG, UINT_FLAG};
use codec::row::StoredNumber;
use types::SqlType;

use super::stored::{Place, clustered_parts, place};
use crate::model::Table;

/// The bytes of an integer in a handle: a flag and eight bytes.
const PART_BYTES: usize = 9;

/// Reads a column's value as an `i64`.
#[derive(Debug, Clone)]
pub enum IntegerColumn {
    /// The row's key is the value.
    Handle,
    /// In the row's key, so many bytes behind the handle's start.
    Part(usize),
    /// In the row's value.
    Row(StoredNumber),
}

impl IntegerColumn {
    /// `None` for a column that is no integer, or that is not found by its place.
    pub fn new(table: &Table, offset: usize) -> Option<Self> {
        let column = table.columns.get(offset)?;
        column.ty.is_integer().then(|| Self::ordered(table, offset))?
    }

    /// Of a column whose values order as integers do: a DECIMAL by its digits, a date by its packed form. `None` for
    /// others.
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
