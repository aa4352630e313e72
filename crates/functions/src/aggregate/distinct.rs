//! Which values a group has seen, for `COUNT(DISTINCT ...)` and its like.

use std::collections::HashSet;

use arrow::array::ArrayRef;
use types::{Result, SqlType};

use crate::datum::Datum;

/// Values seen, by group. Equal means equal under the arguments' collations.
#[derive(Debug, Default)]
pub(super) struct Seen {
    keys: HashSet<(usize, Box<[u8]>)>,
    bytes: usize,
    scratch: Vec<u8>,
}

impl Seen {
    /// Whether the row's values are new to the group. Rows with a NULL never are.
    pub fn insert(&mut self, group: usize, args: &[ArrayRef], types: &[SqlType], row: usize) -> Result<bool> {
        self.scratch.clear();
        for (array, ty) in args.iter().zip(types) {
            let datum = Datum::at(array.as_ref(), row)?;
            if datum.is_null() {
                return Ok(false);
            }
            write_key(&datum, ty, &mut self.scratch);
        }
        let key: Box<[u8]> = self.scratch.as_slice().into();
        let len = key.len();
        let new = self.keys.insert((group, key));
        if new {
            self.bytes += len + size_of::<(usize, Box<[u8]>)>() + 8;
        }
        Ok(new)
    }

    pub fn size_bytes(&self) -> usize {
        self.bytes
    }
}

/// Bytes that are equal for equal values of a type, and that no other value's bytes begin with.
fn write_key(datum: &Datum<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::UInt(v) => out.extend_from_slice(&v.to_le_bytes()),
        // 0 and -0 are equal.
        Datum::Double(v) => out.extend_from_slice(&(v + 0.0).to_bits().to_le_bytes()),
        Datum::Decimal(d) => {
            let normal = d.normalized();
            out.push(normal.scale);
            out.extend_from_slice(&normal.unscaled.to_le_bytes());
        }
        Datum::String(_) | Datum::Bytes(_) => {
            let start = out.len();
            out.extend_from_slice(&[0; 8]);
            ty.collation.sort_key(datum.bytes(), out);
            let len = (out.len() - start - 8) as u64;
            if let Some(slot) = out.get_mut(start..start + 8) {
                slot.copy_from_slice(&len.to_le_bytes());
            }
        }
    }
}
