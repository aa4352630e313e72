//! The first of rows that are equal under the collations of their columns. If there is no memory for all their
//! keys, the others are made distinct part by part ([`Rounds`]).

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use functions::order::RowKeys;
use hashbrown::HashSet;
use types::{Result, SqlType};

use super::rounds::Rounds;
use super::{BoxOperator, Operator};
use crate::batch::keep;
use crate::env::Env;
use crate::memory::Held;

/// What a set's entry costs beyond the key's bytes.
const ENTRY_BYTES: usize = 48;

pub(super) struct Distinct<'p> {
    input: Rounds<'p, 1>,
    unseen: Unseen,
    held: Held,
    /// There is no memory for further keys in this round.
    is_full: bool,
}

/// Knows the rows that have come.
pub(super) struct Unseen {
    keys: RowKeys,
    seen: HashSet<Box<[u8]>>,
}

impl<'p> Distinct<'p> {
    pub fn new(input: BoxOperator<'p>, types: Vec<SqlType>) -> Result<Self> {
        Ok(Self {
            input: Rounds::new([input]),
            unseen: Unseen::new(types)?,
            held: Held::default(),
            is_full: false,
        })
    }

    /// The rows of `batch` that have not been seen, without those that are set aside.
    fn unseen(&mut self, batch: &RecordBatch, env: &Env<'_, '_>) -> Result<RecordBatch> {
        if batch.num_columns() == 0 {
            return keep(batch, &self.unseen.first(batch.num_rows()));
        }
        let keys = self.unseen.keys.encode(batch.columns())?;
        if self.is_full {
            let waits = self.unseen.unknown(&keys);
            self.input.set_aside(0, (batch, &keys), &waits, env)?;
            return Ok(batch.slice(0, 0));
        }
        let (mask, bytes) = self.unseen.add(&keys);
        self.is_full = !self.held.try_add(bytes, env.memory)?;
        keep(batch, &mask)
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
            return Ok(self.first(batch.num_rows()));
        }
        let keys = self.keys.encode(batch.columns())?;
        let (mask, bytes) = self.add(&keys);
        env.memory.grow(bytes)?;
        Ok(mask)
    }

    /// Of rows without columns: the first that comes.
    fn first(&mut self, rows: usize) -> BooleanArray {
        let first = self.seen.insert(Box::default());
        (0..rows).map(|row| Some(first && row == 0)).collect()
    }

    /// Which keys are new, and what they take.
    fn add(&mut self, keys: &Rows) -> (BooleanArray, usize) {
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
        (mask, bytes)
    }

    fn unknown(&self, keys: &Rows) -> BooleanArray {
        let unknown = keys.iter().map(|key| Some(!self.seen.contains(key.data())));
        unknown.collect()
    }
}

impl Operator for Distinct<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            let Some(batch) = self.input.next(0, env, wanted)? else {
                if !self.input.next_round(env)? {
                    return Ok(None);
                }
                self.unseen.seen = HashSet::new();
                self.held.resize(0, env.memory)?;
                self.is_full = false;
                continue;
            };
            let batch = self.unseen(&batch, env)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}
