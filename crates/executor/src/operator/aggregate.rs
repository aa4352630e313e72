//! GROUP BY by hashing, and aggregates over all rows.
//!
//! Groups are equal under the collations of their keys, and come out in the order in which they were first
//! seen. If there is no memory for all groups, the others follow part by part ([`Rounds`]). Without keys there is
//! one row, even if there is no input. Not here: what each aggregate computes ([`functions::aggregate`]).

use std::borrow::Cow;

use arrow::array::{ArrayRef, BooleanArray, new_empty_array};
use arrow::compute::{self, not};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::Rows;
use functions::Expr;
use functions::aggregate::{AggregateCall, GroupedAccumulator, RowGroups};
use functions::order::RowKeys;
use hashbrown::HashMap;
use types::Result;

use super::computed::{Computed, is_computed_once};
use super::filter::split;
use super::project::evaluate;
use super::rounds::Rounds;
use super::{BoxOperator, Operator};
use crate::batch::{
    self, ALL_ROWS, BATCH_BYTES, BATCH_ROWS, arrow_error, batch_bytes, batch_of, keep, schema_of, widest,
};
use crate::env::Env;
use crate::memory::Held;

/// What a hash table's entry costs beyond the key's bytes.
const ENTRY_BYTES: usize = 48;

pub(super) struct Aggregate<'p> {
    input: Rounds<'p, 1>,
    keys: Cow<'p, [Expr]>,
    /// `None` before the first row.
    computed: Option<Computed>,
    calls: &'p [AggregateCall],
    key_schema: SchemaRef,
    schema: SchemaRef,
    groups: Groups,
    accumulators: Vec<GroupedAccumulator>,
    held: Held,
    /// There is no memory for further groups in this round.
    is_full: bool,
    /// How many rows are evaluated at once: fewer if their keys and arguments may be long.
    step: usize,
    /// The groups of this round, once its input has been read, and the number of those that have been returned.
    result: Option<RecordBatch>,
    given: usize,
}

/// Which groups there are.
struct Groups {
    encoder: RowKeys,
    numbers: HashMap<Box<[u8]>, usize>,
    /// The key columns of each group's first row, in the order of the groups' numbers.
    first_rows: Vec<RecordBatch>,
    key_bytes: usize,
    row_bytes: usize,
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
            input: Rounds::new([input]),
            keys: Cow::Borrowed(keys),
            computed: None,
            calls,
            key_schema: schema_of(&key_types),
            schema: schema_of(&types),
            groups: Groups {
                encoder: RowKeys::new(key_types)?,
                numbers: HashMap::new(),
                first_rows: Vec::new(),
                key_bytes: 0,
                row_bytes: 0,
            },
            accumulators: calls.iter().map(GroupedAccumulator::new).collect::<Result<_>>()?,
            held: Held::default(),
            is_full: false,
            step: (BATCH_BYTES / width(keys, calls)).clamp(1, BATCH_ROWS),
            result: None,
            given: 0,
        })
    }

    /// Reads the input of a round, and makes its groups.
    fn read_all(&mut self, env: &mut Env<'_, '_>) -> Result<RecordBatch> {
        if self.keys.is_empty() {
            // The one group exists before any row does.
            self.groups.numbers.insert(Box::default(), 0);
        }
        // The last batch before there is no memory for more groups is not counted.
        let most_bytes = BATCH_BYTES.min(env.ctx.memory_limit_bytes / 16);
        let mut any = false;
        let mut rest = None;
        loop {
            let next = match rest.take() {
                Some(rest) => Some(rest),
                None => self.input.next(0, env, ALL_ROWS)?,
            };
            let Some(batch) = next else { break };
            let (batch, later) = split(batch, self.step);
            rest = later;
            let batch = self.with_computed(batch, env)?;
            let (rows, mut bytes) = (batch.num_rows(), 0);
            if self.keys.is_empty() {
                bytes += self.accumulate(&batch, RowGroups::One(batch.num_rows()), env)?;
            } else {
                let columns = evaluate(self.keys.iter(), &batch, env)?;
                bytes += array_bytes(&columns);
                let (batch, groups) = self.number(batch, columns, env)?;
                bytes += self.accumulate(&batch, RowGroups::Each(&groups), env)?;
            }
            self.count(env)?;
            let most = self.step.saturating_mul(4).min(BATCH_ROWS);
            self.step = (2 * most_bytes * rows / bytes.max(1)).clamp(1, most);
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
        let result = batch_of(&self.schema, columns, count)?;
        self.accumulators.clear();
        self.groups.numbers = HashMap::new();
        if !self.held.try_resize(batch_bytes(&result), env.memory)? && !self.is_full {
            // Beside groups that have all been counted, this is too much.
            self.held.resize(batch_bytes(&result), env.memory)?;
        }
        Ok(result)
    }

    /// The rows with the keys that are computed once. Rows that have been set aside have them already.
    fn with_computed(&mut self, batch: RecordBatch, env: &Env<'_, '_>) -> Result<RecordBatch> {
        if !self.input.is_first() {
            return Ok(batch);
        }
        let keys = &mut self.keys;
        let computed = self
            .computed
            .get_or_insert_with(|| match keys.iter().any(is_computed_once) {
                true => Computed::take(keys.to_mut().iter_mut(), batch.num_columns()),
                false => Computed::default(),
            });
        computed.add(batch, env)
    }

    /// The group of each row, without those that are set aside.
    fn number(
        &mut self,
        batch: RecordBatch,
        columns: Vec<ArrayRef>,
        env: &Env<'_, '_>,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        let keys = self.groups.encoder.encode(&columns)?;
        if !self.is_full {
            let groups = self.groups.number(&keys, columns, &self.key_schema)?;
            return Ok((batch, groups));
        }
        let groups = keys
            .iter()
            .map(|key| self.groups.numbers.get(key.data()).copied());
        let groups: Vec<Option<usize>> = groups.collect();
        let waits: BooleanArray = groups.iter().map(|group| Some(group.is_none())).collect();
        self.input.set_aside(0, (&batch, &keys), &waits, env)?;
        let batch = keep(&batch, &not(&waits).map_err(arrow_error)?)?;
        Ok((batch, groups.into_iter().flatten().collect()))
    }

    /// Returns what the arguments of the calls took.
    fn accumulate(&mut self, batch: &RecordBatch, groups: RowGroups<'_>, env: &Env<'_, '_>) -> Result<usize> {
        let count = self.groups.numbers.len();
        let mut arguments = 0;
        for (call, accumulator) in self.calls.iter().zip(&mut self.accumulators) {
            let args = evaluate(call.args.iter(), batch, env)?;
            arguments += array_bytes(&args);
            accumulator.update(&args, groups, count, env.eval())?;
        }
        Ok(arguments)
    }

    /// Counts the groups. Their keys and what is as large as its result count twice: the result is made beside them.
    ///
    /// # Errors
    /// 8175 if the values of groups that are known need more memory than there is.
    fn count(&mut self, env: &Env<'_, '_>) -> Result<()> {
        let values = self.calls.iter().zip(&self.accumulators).map(|(call, values)| {
            let is_set = call.distinct && call.function.is_mergeable();
            values.size_bytes() * if is_set { 1 } else { 2 }
        });
        let bytes = self.groups.key_bytes + 2 * self.groups.row_bytes + values.sum::<usize>();
        if self.keys.is_empty() || (self.is_full && self.calls.iter().any(may_grow)) {
            return self.held.resize(bytes, env.memory);
        }
        // What known groups may still need is left to them.
        let leaves_room = !self.calls.iter().any(may_grow) || bytes < env.ctx.memory_limit_bytes / 2;
        self.is_full |= !self.held.try_resize(bytes, env.memory)? || !leaves_room;
        Ok(())
    }

    fn next_round(&mut self, env: &Env<'_, '_>) -> Result<bool> {
        self.result = None;
        self.held.resize(0, env.memory)?;
        if !self.input.next_round(env)? {
            return Ok(false);
        }
        (self.given, self.is_full) = (0, false);
        self.accumulators = self
            .calls
            .iter()
            .map(GroupedAccumulator::new)
            .collect::<Result<_>>()?;
        Ok(true)
    }
}

/// Whether what a call holds of a group may grow with the group's rows.
fn may_grow(call: &AggregateCall) -> bool {
    call.distinct || !call.function.is_mergeable() || call.ty.is_string()
}

/// The largest possible size of a row's keys and arguments in bytes, without those that are columns of the
/// input.
fn width(keys: &[Expr], calls: &[AggregateCall]) -> usize {
    let computed = |expr: &Expr| match expr {
        Expr::Column { .. } => 0,
        expr => widest(&expr.ty()),
    };
    let all = keys.iter().chain(calls.iter().flat_map(|call| &call.args));
    all.map(computed).fold(1, usize::saturating_add)
}

fn array_bytes(arrays: &[ArrayRef]) -> usize {
    arrays
        .iter()
        .map(|array| batch::array_bytes(array.as_ref()))
        .sum()
}

impl Groups {
    /// The group of each row; rows with new keys make new groups. `columns`: what the keys are made of.
    fn number(&mut self, keys: &Rows, columns: Vec<ArrayRef>, schema: &SchemaRef) -> Result<Vec<usize>> {
        let mut numbers = Vec::with_capacity(keys.num_rows());
        let mut is_first = Vec::with_capacity(keys.num_rows());
        let mut bytes = 0;
        for key in keys {
            let found = self.numbers.get(key.data()).copied();
            is_first.push(found.is_none());
            numbers.push(match found {
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
            self.key_bytes += bytes;
            self.row_bytes += batch_bytes(&first_rows);
            self.first_rows.push(first_rows);
        }
        Ok(numbers)
    }

    fn key_columns(&mut self, schema: &SchemaRef) -> Result<Vec<ArrayRef>> {
        let rows = compute::concat_batches(schema, &self.first_rows).map_err(arrow_error)?;
        self.first_rows.clear();
        (self.key_bytes, self.row_bytes) = (0, 0);
        Ok(rows.columns().to_vec())
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, env: &mut Env<'_, '_>, wanted: usize) -> Result<Option<RecordBatch>> {
        loop {
            if self.result.is_none() {
                self.result = Some(self.read_all(env)?);
            }
            let Some(result) = &self.result else {
                return Ok(None);
            };
            let rows = (result.num_rows() - self.given).min(wanted).min(BATCH_ROWS);
            if rows > 0 {
                let batch = result.slice(self.given, rows);
                self.given += rows;
                return Ok(Some(batch));
            }
            if !self.next_round(env)? {
                return Ok(None);
            }
        }
    }
}
