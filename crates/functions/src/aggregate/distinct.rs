//! The distinct values of each group, for `COUNT(DISTINCT ...)` and other aggregates with DISTINCT.

use std::collections::HashSet;

use arrow::array::ArrayRef;
use types::{Result, SqlType};

use crate::comparable;
use crate::datum::Datum;

/// The values of each group so far. They are compared under the arguments' collations.
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
            comparable::write(&datum, ty, &mut self.scratch);
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
