//! The state of an aggregate over many groups, and over one.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, BooleanArray};
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType, TypeKind, Value, errno};

use super::bits::Bits;
use super::collect::Collected;
use super::distinct::Seen;
use super::extreme::Extremes;
use super::sum::{Exact, ExactSums, doubles, each_exact};
use super::variance::Variances;
use super::{AggregateCall, AggregateFunction, average_value};
use crate::context::EvalContext;
use crate::datum::Datum;
use crate::eval::{append, fit_decimal};

/// The values of an aggregate for groups `0..n`. Groups come into being by being named in [`GroupedAccumulator::update`].
#[derive(Debug)]
pub struct GroupedAccumulator {
    function: AggregateFunction,
    ty: SqlType,
    arg_types: Vec<SqlType>,
    text: String,
    groups: usize,
    /// Rows counted: COUNT's answer, AVG's divisor, and whether SUM has seen any.
    counts: Vec<i64>,
    state: State,
    seen: Option<Seen>,
}

#[derive(Debug)]
enum State {
    Count,
    Exact(ExactSums),
    Double(Vec<f64>),
    Extreme(Extremes),
    Bits(Bits),
    Variance(Variances),
    Collected(Box<Collected>),
}

impl GroupedAccumulator {
    pub fn new(call: &AggregateCall) -> Result<Self> {
        let arg_types: Vec<SqlType> = call.args.iter().map(crate::Expr::ty).collect();
        let first = arg_types.first().copied().unwrap_or(SqlType::NULL);
        let state = match call.function {
            AggregateFunction::Count => State::Count,
            AggregateFunction::Sum | AggregateFunction::Avg if call.ty.kind == TypeKind::Double => {
                State::Double(Vec::new())
            }
            AggregateFunction::Sum | AggregateFunction::Avg => State::Exact(ExactSums::default()),
            AggregateFunction::Min => State::Extreme(Extremes::new(first, Some(Ordering::Less))),
            AggregateFunction::Max => State::Extreme(Extremes::new(first, Some(Ordering::Greater))),
            AggregateFunction::AnyValue => State::Extreme(Extremes::new(first, None)),
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                State::Bits(Bits::new(call.function))
            }
            AggregateFunction::StdPop
            | AggregateFunction::StdSamp
            | AggregateFunction::VarPop
            | AggregateFunction::VarSamp => State::Variance(Variances::default()),
            AggregateFunction::GroupConcat | AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                State::Collected(Box::new(Collected::new(call)?))
            }
        };
        let keeps_rows = matches!(state, State::Collected(_));
        Ok(Self {
            function: call.function,
            ty: call.ty,
            arg_types,
            text: call.text(),
            groups: 0,
            counts: Vec::new(),
            state,
            seen: (call.distinct && !keeps_rows).then(Seen::default),
        })
    }

    /// Takes the rows of `args` (the values of the call's arguments) in: row `i` belongs to group `groups[i]`, which is
    /// below `group_count`. `COUNT(*)` has no arguments: the groups say how many rows there are.
    pub fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[u32],
        group_count: usize,
        ctx: &EvalContext,
    ) -> Result<()> {
        self.resize(group_count);
        if let Some(mut seen) = self.seen.take() {
            let result = self.update_distinct(&mut seen, args, groups);
            self.seen = Some(seen);
            return result;
        }
        let rows = groups.iter().map(|g| *g as usize).enumerate();
        match &mut self.state {
            State::Count => {
                count(&mut self.counts, args, groups);
                Ok(())
            }
            State::Exact(sums) => {
                let Some(array) = args.first() else { return Ok(()) };
                let counts = &mut self.counts;
                each_exact(array, |row, value| {
                    let group = groups.get(row).map_or(0, |g| *g as usize);
                    add_count(counts, group);
                    match value {
                        Exact::Integer(v) => sums.add_integer(group, v),
                        Exact::Decimal(d) => sums.add(group, &d),
                    }
                })
            }
            State::Double(sums) => {
                let Some(array) = args.first() else { return Ok(()) };
                let Some(values) = doubles(array)? else {
                    return Ok(());
                };
                for (row, group) in rows.filter(|(row, _)| values.is_valid(*row)) {
                    add_count(&mut self.counts, group);
                    if let Some(sum) = sums.get_mut(group) {
                        *sum += values.value(row);
                    }
                }
                Ok(())
            }
            State::Extreme(extremes) => match args.first() {
                Some(array) if extremes.wants(array) => extremes.update(array, rows),
                _ => Ok(()),
            },
            State::Bits(bits) => {
                let Some(array) = args.first() else { return Ok(()) };
                for (row, group) in rows {
                    let datum = Datum::at(array.as_ref(), row)?;
                    if !datum.is_null() {
                        bits.add(group, crate::ops::bits::bits(&datum));
                    }
                }
                Ok(())
            }
            State::Variance(variances) => {
                let Some(values) = args.first().map(doubles).transpose()?.flatten() else {
                    return Ok(());
                };
                for (row, group) in rows.filter(|(row, _)| values.is_valid(*row)) {
                    variances.add(group, values.value(row));
                }
                Ok(())
            }
            State::Collected(collected) => collected.update(args, groups, ctx.group_concat_max_len),
        }
    }

    fn update_distinct(&mut self, seen: &mut Seen, args: &[ArrayRef], groups: &[u32]) -> Result<()> {
        for (row, group) in groups.iter().map(|g| *g as usize).enumerate() {
            if !seen.insert(group, args, &self.arg_types, row)? {
                continue;
            }
            add_count(&mut self.counts, group);
            let Some(array) = args.first() else { continue };
            match &mut self.state {
                State::Exact(sums) => {
                    let value = crate::ops::comparison::to_decimal(&Datum::at(array.as_ref(), row)?);
                    sums.add(group, &value)?;
                }
                State::Double(sums) => {
                    let value = Datum::at(array.as_ref(), row)?.double();
                    if let Some(sum) = sums.get_mut(group) {
                        *sum += value;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// One row of [`GroupedAccumulator::update`], for calls that [`AggregateCall::takes_values`] says yes to.
    #[inline(always)]
    fn add(&mut self, group: usize, value: Datum<'_>) -> Result<()> {
        // What a row of NULL means, if anything.
        if let (Datum::Null, false) = (value, matches!(self.state, State::Extreme(_))) {
            return Ok(());
        }
        add_count(&mut self.counts, group);
        match (&mut self.state, value) {
            (State::Count, _) => {}
            (State::Exact(sums), Datum::Int(v)) => sums.add_integer(group, i128::from(v))?,
            (State::Exact(sums), Datum::UInt(v)) => sums.add_integer(group, i128::from(v))?,
            (State::Exact(sums), Datum::Decimal(v)) => sums.add(group, &v)?,
            (State::Double(sums), Datum::Double(v)) => {
                if let Some(sum) = sums.get_mut(group) {
                    *sum += v;
                }
            }
            (State::Extreme(extremes), value) => extremes.offer(group, value),
            (State::Bits(bits), value) => bits.add(group, crate::ops::bits::bits(&value)),
            (State::Variance(variances), Datum::Double(v)) => variances.add(group, v),
            _ => return Err(no_number()),
        }
        Ok(())
    }

    fn resize(&mut self, groups: usize) {
        if groups <= self.groups {
            return;
        }
        self.groups = groups;
        self.counts.resize(groups, 0);
        match &mut self.state {
            State::Count => {}
            State::Exact(sums) => sums.resize(groups),
            State::Double(sums) => sums.resize(groups, 0.0),
            State::Extreme(extremes) => extremes.resize(groups),
            State::Bits(bits) => bits.resize(groups),
            State::Variance(variances) => variances.resize(groups),
            State::Collected(collected) => collected.resize(groups),
        }
    }

    /// The results of all groups so far, in the call's type.
    pub fn evaluate(&self, ctx: &EvalContext) -> Result<ArrayRef> {
        let mut out = ColumnBuilder::new(&self.ty, self.groups);
        for group in 0..self.groups {
            let value = self.value(group, ctx)?;
            append(&mut out, Datum::of(&value), &self.ty)?;
        }
        Ok(out.finish())
    }

    /// One group's result. A group that has seen no row: a number for COUNT and the bits, else NULL.
    pub fn value(&self, group: usize, ctx: &EvalContext) -> Result<Value> {
        let count = self.counts.get(group).copied().unwrap_or(0);
        let average = self.function == AggregateFunction::Avg;
        Ok(match &self.state {
            State::Count => Value::Int(count),
            State::Extreme(extremes) => extremes.get(group),
            State::Bits(bits) => Value::UInt(bits.get(group)),
            State::Variance(variances) => self.spread(variances, group)?,
            State::Collected(collected) => collected.value(group, ctx)?,
            _ if count == 0 => Value::Null,
            State::Exact(sums) => {
                let sum = sums.get(group);
                if average {
                    let value = average_value(&Datum::Decimal(sum), count, &self.ty);
                    match value.ok_or_else(|| self.out_of_range("DECIMAL"))? {
                        Value::Decimal(d) => Value::Decimal(fit_decimal(d, &self.ty)),
                        other => other,
                    }
                } else {
                    Value::Decimal(fit_decimal(sum, &self.ty))
                }
            }
            State::Double(sums) => {
                let sum = sums.get(group).copied().unwrap_or(0.0);
                if !sum.is_finite() {
                    return Err(self.out_of_range("DOUBLE"));
                }
                Value::Double(if average { sum / count as f64 } else { sum })
            }
        })
    }

    fn spread(&self, variances: &Variances, group: usize) -> Result<Value> {
        use AggregateFunction::{StdPop, StdSamp, VarSamp};
        let sample = matches!(self.function, StdSamp | VarSamp);
        let root = matches!(self.function, StdPop | StdSamp);
        match variances.get(group, sample, root) {
            None => Ok(Value::Null),
            Some(value) if value.is_finite() => Ok(Value::Double(value)),
            Some(_) => Err(self.out_of_range("DOUBLE")),
        }
    }

    fn out_of_range(&self, kind: &str) -> Error {
        Error::new(
            errno::ER_DATA_OUT_OF_RANGE,
            format!("{kind} value is out of range in '{}'", self.text),
        )
    }

    /// Memory held, in bytes, roughly.
    pub fn size_bytes(&self) -> usize {
        let state = match &self.state {
            State::Count => 0,
            State::Exact(sums) => sums.size_bytes(),
            State::Double(sums) => sums.capacity() * 8,
            State::Extreme(extremes) => extremes.size_bytes(),
            State::Bits(bits) => bits.size_bytes(),
            State::Variance(variances) => variances.size_bytes(),
            State::Collected(collected) => collected.size_bytes(),
        };
        state + self.counts.capacity() * 8 + self.seen.as_ref().map_or(0, Seen::size_bytes)
    }
}

#[cold]
fn no_number() -> Error {
    Error::internal("an aggregate of numbers was given something else")
}

#[inline]
fn add_count(counts: &mut [i64], group: usize) {
    if let Some(count) = counts.get_mut(group) {
        *count += 1;
    }
}

/// COUNT: rows in which no argument is NULL.
fn count(counts: &mut [i64], args: &[ArrayRef], groups: &[u32]) {
    let nullable: Vec<_> = args.iter().filter_map(|a| a.logical_nulls()).collect();
    for (row, group) in groups.iter().enumerate() {
        if nullable.iter().all(|nulls| nulls.is_valid(row)) {
            add_count(counts, *group as usize);
        }
    }
}

/// The value of an aggregate over one set of rows.
#[derive(Debug)]
pub struct Accumulator {
    inner: GroupedAccumulator,
    groups: Vec<u32>,
}

impl Accumulator {
    pub fn new(call: &AggregateCall) -> Result<Self> {
        let mut inner = GroupedAccumulator::new(call)?;
        inner.resize(1);
        Ok(Self {
            inner,
            groups: Vec::new(),
        })
    }

    /// Takes `rows` rows in, or those of them that `selection` selects. `rows` matters for `COUNT(*)`, which has no
    /// arguments.
    pub fn update(
        &mut self,
        args: &[ArrayRef],
        rows: usize,
        selection: Option<&BooleanArray>,
        ctx: &EvalContext,
    ) -> Result<()> {
        match selection {
            None => {
                self.groups.clear();
                self.groups.resize(rows, 0);
                self.inner.update(args, &self.groups, 1, ctx)
            }
            Some(selection) => {
                let selected: Result<Vec<ArrayRef>, _> = args
                    .iter()
                    .map(|a| arrow::compute::filter(a.as_ref(), selection))
                    .collect();
                let selected = selected.map_err(crate::eval::branches::types_error)?;
                self.groups.clear();
                self.groups.resize(selection.true_count(), 0);
                self.inner.update(&selected, &self.groups, 1, ctx)
            }
        }
    }

    /// Takes one row in, by the value of the call's argument; for `COUNT(*)`, which has none, by any that is not NULL. Of
    /// calls that [`AggregateCall::takes_values`] says yes to.
    #[inline(always)]
    pub fn add(&mut self, value: Datum<'_>) -> Result<()> {
        self.inner.add(0, value)
    }

    /// The value so far; see [`GroupedAccumulator::value`].
    pub fn evaluate(&self, ctx: &EvalContext) -> Result<Value> {
        self.inner.value(0, ctx)
    }

    /// The same as an array of one row, in the call's type.
    pub fn evaluate_array(&self, ctx: &EvalContext) -> Result<ArrayRef> {
        self.inner.evaluate(ctx)
    }

    /// Memory held, in bytes, roughly.
    pub fn size_bytes(&self) -> usize {
        self.inner.size_bytes() + self.groups.capacity() * 4
    }
}
