//! Selected columns of the parts of a key: of a clustered handle, or of an index.

use codec::datum::{INT_FLAG, UINT_FLAG};
use codec::memcomparable::{decode_i64, decode_u64};
use codec::row::{CellValue, ColumnBuffer};
use functions::TimeZone;
use types::{Result, SqlType, Value};

use super::give::{give_cell, give_to};
use super::stored::column;
use super::zone::from_stored;
use crate::model::{IndexPart, Table};

/// The selected parts of a key, and their positions in the result.
#[derive(Debug, Clone)]
pub struct KeyColumns {
    /// Up to the last selected one.
    parts: Vec<KeyColumn>,
}

#[derive(Debug, Clone)]
struct KeyColumn {
    ty: SqlType,
    descending: bool,
    /// In the result.
    positions: Vec<usize>,
}

impl KeyColumn {
    /// Removes its value from the front of a key.
    fn decode(&self, key: &mut &[u8], zone: TimeZone) -> Result<Value> {
        let stored = match self.descending {
            false => codec::datum::decode(key, &self.ty)?,
            true => codec::datum::descending::decode(key, &self.ty)?,
        };
        Ok(from_stored(stored, &self.ty, zone))
    }
}

impl KeyColumns {
    /// `wanted`: pairs of a part's number and a position in the result.
    ///
    /// # Errors
    /// 1105 for a part of a column that the table does not have.
    pub fn new(table: &Table, parts: &[IndexPart], wanted: &[(usize, usize)]) -> Result<Self> {
        let needed = wanted.iter().map(|w| w.0 + 1).max().unwrap_or(0);
        let part = |(number, part): (usize, &IndexPart)| {
            let positions = wanted.iter().filter(|w| w.0 == number).map(|w| w.1);
            Ok(KeyColumn {
                ty: column(table, part.column)?.key_type(),
                descending: part.stored_descending,
                positions: positions.collect(),
            })
        };
        let parts = parts.iter().take(needed).enumerate().map(part);
        Ok(Self {
            parts: parts.collect::<Result<_>>()?,
        })
    }

    /// No part is selected.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Appends each part to its buffers.
    pub(super) fn read_into(
        &self,
        mut key: &[u8],
        zone: TimeZone,
        buffers: &mut [ColumnBuffer],
    ) -> Result<()> {
        for part in &self.parts {
            // An integer that is stored descending has another flag, and is decoded.
            if part.positions.is_empty() {
                split(&mut key, part.descending)?;
            } else if let Some(cell) = take_integer(&mut key, &part.ty) {
                for &position in &part.positions {
                    give_cell(buffers, position, cell)?;
                }
            } else {
                let value = part.decode(&mut key, zone)?;
                for &position in &part.positions {
                    give_to(buffers, position, &value)?;
                }
            }
        }
        Ok(())
    }

    /// Calls `give` with each position and its value.
    pub fn read(
        &self,
        mut key: &[u8],
        zone: TimeZone,
        mut give: impl FnMut(usize, Value) -> Result<()>,
    ) -> Result<()> {
        for part in &self.parts {
            let Some((last, others)) = part.positions.split_last() else {
                split(&mut key, part.descending)?;
                continue;
            };
            let value = part.decode(&mut key, zone)?;
            for &position in others {
                give(position, value.clone())?;
            }
            give(*last, value)?;
        }
        Ok(())
    }
}

/// Removes an integer of an integer type from the front. `None`: what is there has to be decoded by its type.
#[inline]
fn take_integer(input: &mut &[u8], ty: &SqlType) -> Option<CellValue<'static>> {
    let (&flag, mut rest) = input.split_first()?;
    let cell = match (flag, ty.is_integer(), ty.unsigned) {
        (INT_FLAG, true, false) => CellValue::Int(decode_i64(&mut rest).ok()?),
        (UINT_FLAG, true, true) => CellValue::UInt(decode_u64(&mut rest).ok()?),
        _ => return None,
    };
    *input = rest;
    Some(cell)
}

/// Removes a part from the front of a key.
pub(super) fn split<'a>(key: &mut &'a [u8], descending: bool) -> Result<&'a [u8]> {
    Ok(match descending {
        false => codec::datum::split(key)?,
        true => codec::datum::descending::split(key)?,
    })
}
