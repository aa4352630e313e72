//! SUM of many groups.
//!
//! Exact numbers are summed in 128 bits if no table has enough rows to overflow them, otherwise in 256 bits.
//! Doubles are added in the order of the rows, as in MySQL, so that rounding gives the same last digits.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256,
};
use types::{Decimal, Error, Result, SqlType, Value, errno};

use super::groups::{NonNullGroups, RowGroups, combine, take_first};
use crate::datum::Datum;

/// The most digits of a DECIMAL in 128 bits.
const DIGITS_IN_128_BITS: u32 = 38;

/// How many more digits a sum has than its addends: enough for 10^10 rows.
const MORE_DIGITS: u32 = 10;

/// Digits of a BIGINT UNSIGNED.
const INTEGER_DIGITS: u32 = 20;

/// The type of a sum of numbers of type `addend`: DOUBLE, or a DECIMAL with digits for 10^10 rows, which may
/// be more than 65.
pub(super) fn type_of_sum(addend: &SqlType) -> SqlType {
    if addend.is_integer() {
        SqlType::decimal(INTEGER_DIGITS + MORE_DIGITS, 0)
    } else if addend.is_decimal() {
        SqlType::decimal((addend.length + MORE_DIGITS).min(76), addend.decimals)
    } else {
        SqlType::DOUBLE
    }
}

/// The sum of each group.
#[derive(Debug)]
pub(super) struct Sums {
    ty: SqlType,
    totals: Totals,
    non_null: NonNullGroups,
}

#[derive(Debug)]
enum Totals {
    Narrow(Vec<i128>),
    Wide(Vec<i256>),
    Double(Vec<f64>),
}

impl Sums {
    /// `ty`: from [`type_of_sum`].
    pub fn new(ty: SqlType) -> Self {
        let totals = if !ty.is_decimal() {
            Totals::Double(Vec::new())
        } else if ty.length <= DIGITS_IN_128_BITS {
            Totals::Narrow(Vec::new())
        } else {
            Totals::Wide(Vec::new())
        };
        Self {
            ty,
            totals,
            non_null: NonNullGroups::default(),
        }
    }

    pub fn resize(&mut self, groups: usize) {
        self.grow_totals(groups);
        self.non_null.resize(groups);
    }

    fn grow_totals(&mut self, groups: usize) {
        if groups <= self.len() {
            return;
        }
        match &mut self.totals {
            Totals::Narrow(totals) => totals.resize(groups, 0),
            Totals::Wide(totals) => totals.resize(groups, i256::ZERO),
            Totals::Double(totals) => totals.resize(groups, 0.0),
        }
    }

    pub fn len(&self) -> usize {
        match &self.totals {
            Totals::Narrow(totals) => totals.len(),
            Totals::Wide(totals) => totals.len(),
            Totals::Double(totals) => totals.len(),
        }
    }

    /// Adds numbers of the addend's type, or sums of parts.
    pub fn update(&mut self, values: &ArrayRef, groups: RowGroups<'_>, group_count: usize) -> Result<()> {
        self.grow_totals(group_count);
        self.non_null.update(values.as_ref(), groups, group_count);
        let added = match &mut self.totals {
            Totals::Narrow(totals) => add_narrow(totals, values, groups)?,
            Totals::Wide(totals) => add_wide(totals, values, groups)?,
            Totals::Double(totals) => match values.data_type() {
                DataType::Null => Some(()),
                DataType::Float64 => combine(totals, typed::<Float64Type>(values), groups, |sum, v| {
                    Some(sum + v)
                }),
                other => return Err(not_a_number(other)),
            },
        };
        added.ok_or_else(too_many_digits)
    }

    /// Adds one number that is not NULL.
    #[inline(always)]
    pub fn add(&mut self, group: usize, value: Datum<'_>) -> Result<()> {
        match (&mut self.totals, value) {
            (Totals::Narrow(totals), Datum::Int(v)) => {
                add_to(totals, group, |sum| sum.checked_add(i128::from(v)))?
            }
            (Totals::Narrow(totals), Datum::UInt(v)) => {
                add_to(totals, group, |sum| sum.checked_add(i128::from(v)))?
            }
            (Totals::Double(totals), Datum::Double(v)) => add_to(totals, group, |sum| Some(sum + v))?,
            (_, Datum::Decimal(v)) => self.add_decimal(group, &v)?,
            _ => {
                return Err(Error::internal(
                    "an aggregate of numbers was given something else",
                ));
            }
        }
        self.non_null.set(group);
        Ok(())
    }

    /// Adds a group's sum of later rows.
    pub fn append(&mut self, later: &Self, group: usize) -> Result<()> {
        match later.get(group) {
            Value::Null => Ok(()),
            sum => self.add(group, Datum::of(&sum)),
        }
    }

    fn add_decimal(&mut self, group: usize, value: &Decimal) -> Result<()> {
        let value = value
            .rescale(self.ty.decimals)
            .ok_or_else(too_many_digits)?
            .unscaled;
        match &mut self.totals {
            Totals::Narrow(totals) => add_to(totals, group, |sum| sum.checked_add(value.to_i128()?)),
            Totals::Wide(totals) => add_to(totals, group, |sum| sum.checked_add(value)),
            Totals::Double(_) => Err(Error::internal("a DECIMAL was added to a sum of doubles")),
        }
    }

    /// A group's sum; NULL if it has no number.
    pub fn get(&self, group: usize) -> Value {
        if !self.non_null.get(group) {
            return Value::Null;
        }
        match &self.totals {
            Totals::Narrow(totals) => {
                let sum = totals.get(group).copied().unwrap_or(0);
                Value::Decimal(Decimal::from_i128(sum, self.ty.decimals))
            }
            Totals::Wide(totals) => {
                let sum = totals.get(group).copied().unwrap_or(i256::ZERO);
                Value::Decimal(Decimal::new(sum, self.ty.decimals))
            }
            Totals::Double(totals) => Value::Double(totals.get(group).copied().unwrap_or(0.0)),
        }
    }

    /// Removes the first groups, and returns their sums in the type of [`type_of_sum`].
    pub fn take(&mut self, groups: usize) -> ArrayRef {
        let nulls = self.non_null.take(groups);
        let ty = self.ty.arrow_type();
        match &mut self.totals {
            Totals::Narrow(totals) => {
                let sums = PrimitiveArray::<Decimal128Type>::new(take_first(totals, groups).into(), nulls);
                Arc::new(sums.with_data_type(ty))
            }
            Totals::Wide(totals) => {
                let sums = PrimitiveArray::<Decimal256Type>::new(take_first(totals, groups).into(), nulls);
                Arc::new(sums.with_data_type(ty))
            }
            Totals::Double(totals) => Arc::new(PrimitiveArray::<Float64Type>::new(
                take_first(totals, groups).into(),
                nulls,
            )),
        }
    }

    pub fn size_bytes(&self) -> usize {
        let totals = match &self.totals {
            Totals::Narrow(totals) => totals.capacity() * size_of::<i128>(),
            Totals::Wide(totals) => totals.capacity() * size_of::<i256>(),
            Totals::Double(totals) => totals.capacity() * size_of::<f64>(),
        };
        totals + self.non_null.size_bytes()
    }
}

fn add_narrow(totals: &mut [i128], values: &ArrayRef, groups: RowGroups<'_>) -> Result<Option<()>> {
    Ok(match values.data_type() {
        DataType::Null => Some(()),
        DataType::Int64 => combine(totals, typed::<Int64Type>(values), groups, |sum, v| {
            sum.checked_add(i128::from(v))
        }),
        DataType::UInt64 => combine(totals, typed::<UInt64Type>(values), groups, |sum, v| {
            sum.checked_add(i128::from(v))
        }),
        DataType::Decimal128(..) => {
            combine(totals, typed::<Decimal128Type>(values), groups, i128::checked_add)
        }
        other => return Err(not_a_number(other)),
    })
}

fn add_wide(totals: &mut [i256], values: &ArrayRef, groups: RowGroups<'_>) -> Result<Option<()>> {
    Ok(match values.data_type() {
        DataType::Null => Some(()),
        DataType::Decimal128(..) => combine(totals, typed::<Decimal128Type>(values), groups, |sum, v| {
            sum.checked_add(i256::from_i128(v))
        }),
        DataType::Decimal256(..) => {
            combine(totals, typed::<Decimal256Type>(values), groups, i256::checked_add)
        }
        other => return Err(not_a_number(other)),
    })
}

fn typed<T: ArrowPrimitiveType>(values: &ArrayRef) -> &PrimitiveArray<T> {
    values.as_primitive::<T>()
}

#[inline(always)]
fn add_to<S: Copy>(totals: &mut [S], group: usize, add: impl FnOnce(S) -> Option<S>) -> Result<()> {
    if let Some(total) = totals.get_mut(group) {
        *total = add(*total).ok_or_else(too_many_digits)?;
    }
    Ok(())
}

#[cold]
fn not_a_number(ty: &DataType) -> Error {
    Error::internal(format!("a sum of values of type {ty}"))
}

#[cold]
fn too_many_digits() -> Error {
    Error::new(
        errno::ER_DATA_OUT_OF_RANGE,
        "DECIMAL value is out of range in 'sum()'",
    )
}

/// The doubles of an array; `None` for an array of NULLs without a type.
pub(super) fn doubles(array: &ArrayRef) -> Result<Option<&arrow::array::Float64Array>> {
    match array.data_type() {
        DataType::Float64 => Ok(Some(array.as_primitive::<Float64Type>())),
        DataType::Null => Ok(None),
        other => Err(not_a_number(other)),
    }
}
