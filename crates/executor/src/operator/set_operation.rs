//! UNION ALL, INTERSECT and EXCEPT. Rows are equal under the collations of their columns.
//!
//! INTERSECT and EXCEPT hold the right side's keys in memory, and count them. They give rows of the left
//! side, in its order; if there is no memory for all keys, those of the others follow part by part ([`Rounds`]).
//! UNION is DISTINCT over UNION ALL.

use arrow::array::BooleanArray;
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use functions::order::RowKeys;
use hashbrown::HashMap;
use planner::logical::SetOperator;
use planner::plan::Rel;
use types::stack::with_room;
use types::{Result, SqlType};

use super::distinct::Distinct;
use super::rounds::Rounds;
use super::scope::Scope;
use super::{BoxOperator, Operator};
use crate::batch::{ALL_ROWS, keep};
use crate::env::Env;
use crate::memory::Held;

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
    inputs: Rounds<'p, 2>,
    /// Whether the right side of this round has been read.
    right_is_read: bool,
    keys: RowKeys,
    /// INTERSECT: rows that the right side has stay. EXCEPT: the others.
    stay: bool,
    all: bool,
    /// How many rows of the left side the right side still accounts for, by key.
    counts: HashMap<Box<[u8]>, usize>,
    held: Held,
    /// There is no memory for further keys in this round.
    is_full: bool,
}

/// The inputs by their positions.
const LEFT: usize = 0;
const RIGHT: usize = 1;

impl<'p> Difference<'p> {
    fn new(
        left: BoxOperator<'p>,
        right: BoxOperator<'p>,
        types: Vec<SqlType>,
        is_intersect: bool,
        all: bool,
    ) -> Result<Self> {
        Ok(Self {
            inputs: Rounds::new([left, right]),
            right_is_read: false,
            keys: RowKeys::new(types)?,
            stay: is_intersect,
            all,
            counts: HashMap::new(),
            held: Held::default(),
            is_full: false,
        })
    }

    fn read_right(&mut self, env: &mut Env<'_, '_>) -> Result<()> {
        while let Some(batch) = self.inputs.next(RIGHT, env, ALL_ROWS)? {
            let keys = self.keys.encode(batch.columns())?;
            let mut bytes = 0;
            let mut waits = Vec::with_capacity(if self.is_full { batch.num_rows() } else { 0 });
            for key in &keys {
                let known = self.counts.get_mut(key.data());
                if self.is_full {
                    waits.push(known.is_none());
                }
                match known {
                    Some(count) => *count += 1,
                    None if self.is_full => {}
                    None => bytes += self.add(key.data(), 1),
                }
            }
            self.end_batch(RIGHT, (&batch, &keys), (bytes, waits), env)?;
        }
        Ok(())
    }

    /// Remembers a key. Returns how many bytes that takes.
    fn add(&mut self, key: &[u8], count: usize) -> usize {
        self.counts.insert(key.into(), count);
        key.len() + ENTRY_BYTES
    }

    /// Which rows of the left side are in the result, without those that are set aside.
    fn mask(&mut self, batch: &RecordBatch, env: &Env<'_, '_>) -> Result<BooleanArray> {
        let keys = self.keys.encode(batch.columns())?;
        let mut bytes = 0;
        let mut mask = Vec::with_capacity(batch.num_rows());
        // Only EXCEPT DISTINCT needs a key that the right side does not have.
        let needs_others = !self.all && !self.stay;
        let may_wait = self.is_full && (needs_others || self.inputs.has_aside(RIGHT));
        let mut waits = Vec::with_capacity(if may_wait { batch.num_rows() } else { 0 });
        for key in &keys {
            let key = key.data();
            let count = self.counts.get_mut(key);
            if may_wait {
                waits.push(count.is_none());
            }
            mask.push(match count {
                None if may_wait => false,
                // Without ALL, INTERSECT gives an equal row once, and EXCEPT none.
                Some(count) if *count > 0 => {
                    match (self.all, self.stay) {
                        (true, _) => *count -= 1,
                        (false, true) => *count = 0,
                        (false, false) => {}
                    }
                    self.stay
                }
                None if needs_others => {
                    bytes += self.add(key, 1);
                    true
                }
                _ => !self.stay,
            });
        }
        self.end_batch(LEFT, (batch, &keys), (bytes, waits), env)?;
        Ok(BooleanArray::from(mask))
    }

    /// Counts what the new keys of a batch take, and sets its rows aside that wait.
    fn end_batch(
        &mut self,
        input: usize,
        (batch, keys): (&RecordBatch, &Rows),
        (bytes, waits): (usize, Vec<bool>),
        env: &Env<'_, '_>,
    ) -> Result<()> {
        if !waits.is_empty() {
            let waits = BooleanArray::from(waits);
            return self.inputs.set_aside(input, (batch, keys), &waits, env);
        }
        self.is_full |= !self.held.try_add(bytes, env.memory)?;
        Ok(())
    }
}

impl Operator for Difference<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if !std::mem::replace(&mut self.right_is_read, true) {
                self.read_right(env)?;
            }
            // Such operations may be nested without end.
            let Some(batch) = with_room(|| self.inputs.next(LEFT, env, wanted))? else {
                if !self.inputs.next_round(env)? {
                    return Ok(None);
                }
                self.counts = HashMap::new();
                self.held.resize(0, env.memory)?;
                (self.right_is_read, self.is_full) = (false, false);
                continue;
            };
            let mask = self.mask(&batch, env)?;
            let batch = keep(&batch, &mask)?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}
