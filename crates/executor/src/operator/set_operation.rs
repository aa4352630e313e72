//! UNION ALL, INTERSECT and EXCEPT. Rows are equal under the collations of their columns.
//!
//! INTERSECT and EXCEPT hold the right side's keys in memory, and count them. They give rows of the left
//! side, in its order. UNION is DISTINCT over UNION ALL.

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use functions::order::RowKeys;
use hashbrown::HashMap;
use planner::logical::SetOperator;
use planner::plan::Rel;
use syntax::stack::with_room;
use types::{Result, SqlType};

use super::distinct::Distinct;
use super::scope::Scope;
use super::{BoxOperator, Operator};
use crate::batch::{ALL_ROWS, keep};
use crate::env::Env;

/// What a map's entry costs beyond the key's bytes.
const ENTRY_BYTES: usize = 56;

/// The operator of a set operation of two inputs.
pub(super) fn open<'p>(
    operator: SetOperator,
    all: bool,
    (left, right): (&'p Rel, &'p Rel),
    scope: &Scope<'p>,
    env: &mut Env<'_, '_>,
) -> Result<BoxOperator<'p>> {
    let types = left.output_types();
    if operator == SetOperator::Union {
        let union = Box::new(UnionAll::open(all, (left, right), scope, env)?);
        return Ok(match all {
            true => union,
            false => Box::new(Distinct::new(union, types)?),
        });
    }
    let is_intersect = operator == SetOperator::Intersect;
    let left = scope.build(left, env)?;
    let right = scope.build(right, env)?;
    Ok(Box::new(Difference::new(left, right, types, is_intersect, all)?))
}

/// The rows of several inputs, one after the other.
pub(super) struct UnionAll<'p> {
    inputs: std::vec::IntoIter<BoxOperator<'p>>,
    current: Option<BoxOperator<'p>>,
}

impl<'p> UnionAll<'p> {
    /// A chain is one operator. Under DISTINCT, a UNION DISTINCT in it adds nothing.
    fn open(
        all: bool,
        (left, right): (&'p Rel, &'p Rel),
        scope: &Scope<'p>,
        env: &mut Env<'_, '_>,
    ) -> Result<Self> {
        let (mut first, mut inputs) = (left, vec![right]);
        while let Rel::SetOperation {
            operator: SetOperator::Union,
            all: below,
            left,
            right,
        } = first
            && (*below || !all)
        {
            inputs.push(right);
            first = left;
        }
        inputs.push(first);
        let inputs = inputs.into_iter().rev().map(|input| scope.build(input, env));
        Ok(Self {
            inputs: inputs.collect::<Result<Vec<_>>>()?.into_iter(),
            current: None,
        })
    }
}

impl Operator for UnionAll<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            let Some(current) = &mut self.current else {
                self.current = self.inputs.next();
                if self.current.is_none() {
                    return Ok(None);
                }
                continue;
            };
            match with_room(|| current.next(env, wanted))? {
                Some(batch) => return Ok(Some(batch)),
                None => self.current = None,
            }
        }
    }
}

/// INTERSECT or EXCEPT.
pub(super) struct Difference<'p> {
    left: BoxOperator<'p>,
    /// `None` once it has been read.
    right: Option<BoxOperator<'p>>,
    keys: RowKeys,
    /// INTERSECT: rows that the right side has stay. EXCEPT: the others.
    stay: bool,
    all: bool,
    /// How many rows of the left side the right side still accounts for, by key.
    counts: HashMap<Box<[u8]>, usize>,
}

impl<'p> Difference<'p> {
    fn new(
        left: BoxOperator<'p>,
        right: BoxOperator<'p>,
        types: Vec<SqlType>,
        is_intersect: bool,
        all: bool,
    ) -> Result<Self> {
        Ok(Self {
            left,
            right: Some(right),
            keys: RowKeys::new(types)?,
            stay: is_intersect,
            all,
            counts: HashMap::new(),
        })
    }

    fn read_right(&mut self, mut right: BoxOperator<'p>, env: &mut Env<'_, '_>) -> Result<()> {
        while let Some(batch) = right.next(env, ALL_ROWS)? {
            let mut bytes = 0;
            for key in &self.keys.encode(batch.columns())? {
                bytes += self.add(key.data());
            }
            env.memory.grow(bytes)?;
        }
        Ok(())
    }

    /// Counts a row. Returns how many bytes that takes.
    fn add(&mut self, key: &[u8]) -> usize {
        match self.counts.get_mut(key) {
            Some(count) => {
                *count += 1;
                0
            }
            None => {
                self.counts.insert(key.into(), 1);
                key.len() + ENTRY_BYTES
            }
        }
    }

    /// Which rows of the left side are in the result.
    fn mask(&mut self, batch: &RecordBatch, env: &Env<'_, '_>) -> Result<BooleanArray> {
        let keys = self.keys.encode(batch.columns())?;
        let mut bytes = 0;
        let mut mask = Vec::with_capacity(batch.num_rows());
        for key in &keys {
            let key = key.data();
            let count = self.counts.get_mut(key).filter(|count| **count > 0);
            mask.push(match count {
                // Without ALL, INTERSECT gives an equal row once, and EXCEPT none.
                Some(count) => {
                    match (self.all, self.stay) {
                        (true, _) => *count -= 1,
                        (false, true) => *count = 0,
                        (false, false) => {}
                    }
                    self.stay
                }
                None => {
                    if !self.all && !self.stay {
                        bytes += self.add(key);
                    }
                    !self.stay
                }
            });
        }
        env.memory.grow(bytes)?;
        Ok(BooleanArray::from(mask))
    }
}

impl Operator for Difference<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if let Some(right) = self.right.take() {
            self.read_right(right, env)?;
        }
        loop {
            // Such operations may be nested without end.
            let Some(batch) = with_room(|| self.left.next(env, wanted))? else {
                return Ok(None);
            };
            let mask = self.mask(&batch, env)?;
            let batch = keep(&batch, &mask)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}
