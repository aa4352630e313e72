//! Every aggregate function over many groups, computed in one part.

use arrow::array::ArrayRef;
use types::array::ColumnBuilder;
use types::{Error, Result, SqlType, Value};

use super::binary_bits::BinaryBits;
use super::bits::Bits;
use super::collect::Collected;
use super::count::Counts;
use super::distinct::Seen;
use super::groups::RowGroups;
use super::mergeable::{MergeableAggregate, MergeableFunction};
use super::sum::{Sums, doubles, type_of_sum};
use super::variance::Variances;
use super::{AggregateCall, AggregateFunction, average_value, call};
use crate::context::EvalContext;
use crate::datum::Datum;
use crate::eval::output::{append, fit_decimal};

/// The states of an aggregate for groups `0..n`. [`GroupedAccumulator::update`] adds a group when it first
/// sees its number.
#[derive(Debug)]
pub struct GroupedAccumulator {
    function: AggregateFunction,
    ty: SqlType,
    arg_types: Vec<SqlType>,
    text: String,
    groups: usize,
    state: GroupedState,
    /// DISTINCT: the values of each group so far.
    seen: Option<Seen>,
}

#[derive(Debug)]
enum GroupedState {
    Mergeable(MergeableAggregate),
    Average { sums: Sums, counts: Counts },
    Bits(Bits),
    BinaryBits(BinaryBits),
    Variance(Variances),
    Collected(Box<Collected>),
}

impl GroupedAccumulator {
    pub fn new(call: &AggregateCall) -> Result<Self> {
        let arg_types: Vec<SqlType> = call.args.iter().map(crate::Expr::ty).collect();
        let first = arg_types.first().copied().unwrap_or(SqlType::NULL);
        let mergeable = |function| GroupedState::Mergeable(MergeableAggregate::new(function));
        let state = match call.function {
            AggregateFunction::Count => mergeable(MergeableFunction::Count),
            AggregateFunction::Sum => mergeable(MergeableFunction::sum_of(&first)),
            AggregateFunction::Min => mergeable(MergeableFunction::Min(first)),
            AggregateFunction::Max => mergeable(MergeableFunction::Max(first)),
            AggregateFunction::AnyValue => mergeable(MergeableFunction::First(first)),
            AggregateFunction::Avg => GroupedState::Average {
                sums: Sums::new(type_of_sum(&first)),
                counts: Counts::default(),
            },
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                match call.ty.is_binary() {
                    true => GroupedState::BinaryBits(BinaryBits::new(call.function, first.length as usize)),
                    false => GroupedState::Bits(Bits::new(call.function)),
                }
            }
            AggregateFunction::StdPop
            | AggregateFunction::StdSamp
            | AggregateFunction::VarPop
            | AggregateFunction::VarSamp => GroupedState::Variance(Variances::default()),
            AggregateFunction::GroupConcat | AggregateFunction::JsonArray | AggregateFunction::JsonObject => {
                GroupedState::Collected(Box::new(Collected::new(call)?))
            }
        };
        let collects = matches!(state, GroupedState::Collected(_));
        Ok(Self {
            function: call.function,
            ty: call.ty,
            arg_types,
            text: call.text(),
            groups: 0,
            state,
            seen: (call.distinct && !collects).then(Seen::default),
        })
    }

    /// Adds rows, by the values of the call's arguments. Groups are below `group_count`, and each new group
    /// has a row. `COUNT(*)` has no arguments: `groups` has the number of rows.
    pub fn update(
        &mut self,
        args: &[ArrayRef],
        groups: RowGroups<'_>,
        group_count: usize,
        ctx: &EvalContext,
    ) -> Result<()> {
        if self.seen.is_some() {
            self.resize(group_count);
        }
        if let Some(seen) = &mut self.seen {
            for (row, group) in groups.rows() {
                if seen.insert(group, args, &self.arg_types, row)? {
                    let value = args
                        .first()
                        .map_or(Ok(Datum::Null), |arg| Datum::at(arg.as_ref(), row))?;
                    self.state.add(group, value)?;
                }
            }
            return Ok(());
        }
        self.groups = self.groups.max(group_count);
        self.state.update(args, groups, group_count, ctx)
    }

    /// Adds one row. Only for calls for which [`AggregateCall::takes_values`] is true.
    #[inline(always)]
    pub(super) fn add(&mut self, group: usize, value: Datum<'_>) -> Result<()> {
        self.state.add(group, value)
    }

    /// Adds the rows of the groups of `later`, which come after those of the same groups here.
    pub(super) fn append(&mut self, later: &Self) -> Result<()> {
        self.resize(later.groups);
        (0..later.groups).try_for_each(|group| self.state.append(&later.state, group))
    }

    pub(super) fn resize(&mut self, groups: usize) {
        if groups > self.groups {
            self.groups = groups;
            self.state.resize(groups);
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

    /// One group's result. Without rows it is a number for COUNT and the bit functions, else NULL.
    pub fn value(&self, group: usize, ctx: &EvalContext) -> Result<Value> {
        let value = match &self.state {
            GroupedState::Mergeable(aggregate) => aggregate.value(group)?,
            GroupedState::Average { sums, counts } => {
                let sum = sums.get(group);
                let average = average_value(&Datum::of(&sum), counts.get(group), &self.ty);
                average.ok_or_else(|| self.out_of_range("DECIMAL"))?
            }
            GroupedState::Bits(bits) => Value::UInt(bits.get(group)),
            GroupedState::BinaryBits(bits) => Value::Bytes(bits.get(group)),
            GroupedState::Variance(variances) => return self.spread(variances, group),
            GroupedState::Collected(collected) => collected.value(group, ctx)?,
        };
        let computes = matches!(self.function, AggregateFunction::Sum | AggregateFunction::Avg);
        Ok(match value {
            Value::Double(v) if computes && !v.is_finite() => return Err(self.out_of_range("DOUBLE")),
            Value::Decimal(d) if computes => Value::Decimal(fit_decimal(d, &self.ty)),
            value => value,
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
        call::out_of_range(kind, &self.text)
    }

    /// Memory held, in bytes, roughly.
    pub fn size_bytes(&self) -> usize {
        let state = match &self.state {
            GroupedState::Mergeable(aggregate) => aggregate.size_bytes(),
            GroupedState::Average { sums, counts } => sums.size_bytes() + counts.size_bytes(),
            GroupedState::Bits(bits) => bits.size_bytes(),
            GroupedState::BinaryBits(bits) => bits.size_bytes(),
            GroupedState::Variance(variances) => variances.size_bytes(),
            GroupedState::Collected(collected) => collected.size_bytes(),
        };
        state + self.seen.as_ref().map_or(0, Seen::size_bytes)
    }
}

impl GroupedState {
    fn resize(&mut self, groups: usize) {
        match self {
            Self::Mergeable(aggregate) => aggregate.resize(groups),
            Self::Average { sums, counts } => {
                sums.resize(groups);
                counts.resize(groups);
            }
            Self::Bits(bits) => bits.resize(groups),
            Self::BinaryBits(bits) => bits.resize(groups),
            Self::Variance(variances) => variances.resize(groups),
            Self::Collected(collected) => collected.resize(groups),
        }
    }

    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: RowGroups<'_>,
        group_count: usize,
        ctx: &EvalContext,
    ) -> Result<()> {
        match (self, args) {
            (Self::Mergeable(aggregate), args) => aggregate.update(args, groups, group_count),
            (Self::Average { sums, counts }, [values, ..]) => {
                counts.resize(group_count);
                counts.update(args, groups);
                sums.update(values, groups, group_count)
            }
            (Self::Bits(bits), [values, ..]) => {
                bits.resize(group_count);
                for (row, group) in groups.rows() {
                    let datum = Datum::at(values.as_ref(), row)?;
                    if !datum.is_null() {
                        bits.add(group, crate::ops::bits::bits(&datum));
                    }
                }
                Ok(())
            }
            (Self::BinaryBits(bits), [values, ..]) => {
                bits.resize(group_count);
                for (row, group) in groups.rows() {
                    let datum = Datum::at(values.as_ref(), row)?;
                    if !datum.is_null() {
                        bits.add(group, datum.bytes())?;
                    }
                }
                Ok(())
            }
            (Self::Variance(variances), [values, ..]) => {
                variances.resize(group_count);
                let Some(doubles) = doubles(values)? else {
                    return Ok(());
                };
                for ((_, group), value) in groups.rows().zip(doubles) {
                    if let Some(value) = value {
                        variances.add(group, value);
                    }
                }
                Ok(())
            }
            (Self::Collected(collected), args) => {
                collected.resize(group_count);
                collected.update(args, groups, ctx.group_concat_max_len)
            }
            (_, []) => Ok(()),
        }
    }

    /// Adds the rows of a group of `later`, which come after those here.
    fn append(&mut self, later: &Self, group: usize) -> Result<()> {
        match (self, later) {
            (Self::Mergeable(aggregate), Self::Mergeable(later)) => aggregate.append(later, group)?,
            (
                Self::Average { sums, counts },
                Self::Average {
                    sums: later_sums,
                    counts: later_counts,
                },
            ) => {
                counts.add_many(group, later_counts.get(group));
                sums.append(later_sums, group)?;
            }
            (Self::Bits(bits), Self::Bits(later)) => bits.add(group, later.get(group)),
            (Self::BinaryBits(bits), Self::BinaryBits(later)) => bits.append(later, group)?,
            (Self::Variance(variances), Self::Variance(later)) => variances.append(later, group),
            _ => return Err(Error::internal("an aggregate whose parts are not put together")),
        }
        Ok(())
    }

    /// Adds one row. NULL changes only ANY_VALUE.
    #[inline(always)]
    fn add(&mut self, group: usize, value: Datum<'_>) -> Result<()> {
        match (self, value) {
            (Self::Mergeable(aggregate), value) => aggregate.add(group, value)?,
            (_, Datum::Null) => {}
            (Self::Average { sums, counts }, value) => {
                counts.add(group);
                sums.add(group, value)?;
            }
            (Self::Bits(bits), value) => bits.add(group, crate::ops::bits::bits(&value)),
            (Self::BinaryBits(bits), value) => bits.add(group, value.bytes())?,
            (Self::Variance(variances), Datum::Double(v)) => variances.add(group, v),
            _ => return Err(not_a_value()),
        }
        Ok(())
    }
}

#[cold]
fn not_a_value() -> Error {
    Error::internal("an aggregate was given one value where it takes a row")
}
