//! The first of rows that are equal under the collations of their columns.

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use functions::order::RowKeys;
use hashbrown::HashSet;
use types::{Result, SqlType};

use super::{BoxOperator, Operator};
use crate::batch::keep;
use crate::env::Env;

/// What a set's entry costs beyond the key's bytes.
const ENTRY_BYTES: usize = 48;

pub(super) struct Distinct<'p> {
    input: BoxOperator<'p>,
    unseen: Unseen,
}

/// Knows the rows that have come.
pub(super) struct Unseen {
    keys: RowKeys,
    seen: HashSet<Box<[u8]>>,
}

impl<'p> Distinct<'p> {
    pub fn new(input: BoxOperator<'p>, types: Vec<SqlType>) -> Result<Self> {
        Ok(Self {
            input,
            unseen: Unseen::new(types)?,
        })
    }
}

impl Unseen {
    pub fn new(types: Vec<SqlType>) -> Result<Self> {
        Ok(Self {
            keys: RowKeys::new(types)?,
            seen: HashSet::new(),
        })
    }

    /// Which rows of `batch` have not been seen.
    pub fn mask(&mut self, batch: &RecordBatch, env: &Env<'_, '_>) -> Result<BooleanArray> {
        if batch.num_columns() == 0 {
            let first = self.seen.insert(Box::default());
            return Ok((0..batch.num_rows()).map(|row| Some(first && row == 0)).collect());
        }
        let keys = self.keys.encode(batch.columns())?;
        let mut bytes = 0;
        let mask = keys
            .iter()
            .map(|key| {
                let key = key.data();
                let before = self.seen.len();
                self.seen.get_or_insert_with(key, |key| key.into());
                let new = self.seen.len() > before;
                if new {
                    bytes += key.len() + ENTRY_BYTES;
                }
                Some(new)
            })
            .collect();
        env.memory.grow(bytes)?;
        Ok(mask)
    }
}

impl Operator for Distinct<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            let Some(batch) = self.input.next(env, wanted)? else {
                return Ok(None);
            };
            let mask = self.unseen.mask(&batch, env)?;
            let batch = keep(&batch, &mask)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}
