//! GROUP BY by hashing, and aggregates over all rows.
//!
//! Groups are equal under the collations of their keys and come out in the order they were first seen. Without keys
//! there is one row, of no input too. Not here: what each aggregate computes ([`functions::aggregate`]).

use arrow::array::{ArrayRef, BooleanArray, new_empty_array};
use arrow::compute;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use functions::Expr;
use functions::aggregate::{AggregateCall, GroupedAccumulator, RowGroups};
use hashbrown::HashMap;
use types::Result;

use super::project::evaluate;
use super::{BoxOperator, Operator};
use crate::batch::{ALL_ROWS, BATCH_ROWS, arrow_error, batch_bytes, batch_of, keep, schema_of};
use crate::env::Env;
use crate::sort_key::KeyEncoder;

/// What a hash table's entry costs beyond the key's bytes.
const ENTRY_BYTES: usize = 48;

pub(super) struct Aggregate<'p> {
    input: BoxOperator<'p>,
    keys: &'p [Expr],
    calls: &'p [AggregateCall],
    key_schema: SchemaRef,
    schema: SchemaRef,
    groups: Groups,
    accumulators: Vec<GroupedAccumulator>,
    accumulator_bytes: usize,
    /// All groups, once all input has been read, and how many have been given out.
    result: Option<RecordBatch>,
    given: usize,
}

/// Which groups there are.
struct Groups {
    encoder: KeyEncoder,
    numbers: HashMap<Box<[u8]>, usize>,
    /// The key columns of each group's first row, in the order of the groups' numbers.
    first_rows: Vec<RecordBatch>,
}

impl<'p> Aggregate<'p> {
    pub fn new(input: BoxOperator<'p>, keys: &'p [Expr], calls: &'p [AggregateCall]) -> Result<Self> {
        let key_types: Vec<_> = keys.iter().map(Expr::ty).collect();
        let types: Vec<_> = key_types
            .iter()
            .copied()
            .chain(calls.iter().map(|c| c.ty))
            .collect();
        Ok(Self {
            input,
            keys,
            calls,
            key_schema: schema_of(&key_types),
            schema: schema_of(&types),
            groups: Groups {
                encoder: KeyEncoder::new(key_types)?,
                numbers: HashMap::new(),
                first_rows: Vec::new(),
            },
            accumulators: calls.iter().map(GroupedAccumulator::new).collect::<Result<_>>()?,
            accumulator_bytes: 0,
            result: None,
            given: 0,
        })
    }

    fn read_all(&mut self, env: &mut Env<'_, '_>) -> Result<RecordBatch> {
        if self.keys.is_empty() {
            // The one group exists before any row does.
            self.groups.numbers.insert(Box::default(), 0);
        }
        let mut any = false;
        while let Some(batch) = self.input.next(env, ALL_ROWS)? {
            if self.keys.is_empty() {
                self.accumulate(&batch, RowGroups::One(batch.num_rows()), env)?;
            } else {
                let columns = evaluate(self.keys.iter(), &batch, env)?;
                let groups = self.groups.number(columns, &self.key_schema, env)?;
                self.accumulate(&batch, RowGroups::Each(&groups), env)?;
            }
            any = true;
        }
        let count = self.groups.numbers.len();
        let mut columns = self.groups.key_columns(&self.key_schema)?;
        for (call, accumulator) in self.calls.iter().zip(&mut self.accumulators) {
            if !any {
                let none = call.args.iter().map(|a| new_empty_array(&a.ty().arrow_type()));
                accumulator.update(&none.collect::<Vec<_>>(), RowGroups::One(0), count, env.eval())?;
            }
            columns.push(accumulator.evaluate(env.eval())?);
        }
        batch_of(&self.schema, columns, count)
    }

    fn accumulate(&mut self, batch: &RecordBatch, groups: RowGroups<'_>, env: &Env<'_, '_>) -> Result<()> {
        let count = self.groups.numbers.len();
        for (call, accumulator) in self.calls.iter().zip(&mut self.accumulators) {
            let args = evaluate(call.args.iter(), batch, env)?;
            accumulator.update(&args, groups, count, env.eval())?;
        }
        let bytes = self.accumulators.iter().map(GroupedAccumulator::size_bytes).sum();
        env.memory.shrink(self.accumulator_bytes);
        self.accumulator_bytes = bytes;
        env.memory.grow(bytes)
    }
}

impl Groups {
    /// The group of each row; rows with new keys make new groups.
    fn number(
        &mut self,
        columns: Vec<ArrayRef>,
        schema: &SchemaRef,
        env: &Env<'_, '_>,
    ) -> Result<Vec<usize>> {
        let keys = self.encoder.encode(&columns)?;
        let mut numbers = Vec::with_capacity(keys.num_rows());
        let mut is_first = Vec::with_capacity(keys.num_rows());
        let mut bytes = 0;
        for key in &keys {
            let known = self.numbers.get(key.data()).copied();
            is_first.push(known.is_none());
            numbers.push(match known {
                Some(number) => number,
                None => {
                    let number = self.numbers.len();
                    bytes += key.data().len() + ENTRY_BYTES;
                    self.numbers.insert(key.data().into(), number);
                    number
                }
            });
        }
        if bytes > 0 {
            let rows = numbers.len();
            let first_rows = keep(&batch_of(schema, columns, rows)?, &BooleanArray::from(is_first))?;
            env.memory.grow(bytes + batch_bytes(&first_rows))?;
            self.first_rows.push(first_rows);
        }
        Ok(numbers)
    }

    fn key_columns(&mut self, schema: &SchemaRef) -> Result<Vec<ArrayRef>> {
        let rows = compute::concat_batches(schema, &self.first_rows).map_err(arrow_error)?;
        self.first_rows.clear();
        Ok(rows.columns().to_vec())
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        if self.result.is_none() {
            self.result = Some(self.read_all(env)?);
        }
        let Some(result) = &self.result else {
            return Ok(None);
        };
        let rows = (result.num_rows() - self.given).min(wanted).min(BATCH_ROWS);
        if rows == 0 {
            return Ok(None);
        }
        let batch = result.slice(self.given, rows);
        self.given += rows;
        Ok(Some(batch))
    }
}
