//! Running sums, exact and not, of many groups.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256};
use types::{Decimal, Error, Result};

/// Exact sums, all at one scale. They start with 128 bits and go on with 256 where that is not enough.
#[derive(Debug, Default)]
pub(super) struct ExactSums {
    scale: u8,
    narrow: Vec<i128>,
    wide: Vec<i256>,
    is_wide: bool,
}

impl ExactSums {
    pub fn resize(&mut self, groups: usize) {
        if self.is_wide {
            self.wide.resize(groups, i256::ZERO);
        } else {
            self.narrow.resize(groups, 0);
        }
    }

    pub fn size_bytes(&self) -> usize {
        self.narrow.capacity() * 16 + self.wide.capacity() * 32
    }

    fn widen(&mut self) {
        if !self.is_wide {
            self.wide = self.narrow.drain(..).map(i256::from_i128).collect();
            self.is_wide = true;
        }
    }

    /// Adds `unscaled / 10^scale` to a group's sum.
    pub fn add(&mut self, group: usize, value: &Decimal) -> Result<()> {
        let aligned = if value.scale == self.scale {
            Some(*value)
        } else {
            self.align(value)?
        };
        let Some(value) = aligned else {
            return Err(too_many_digits());
        };
        if !self.is_wide {
            if let (Some(sum), Some(v)) = (self.narrow.get_mut(group), value.unscaled.to_i128())
                && let Some(next) = sum.checked_add(v)
            {
                *sum = next;
                return Ok(());
            }
            self.widen();
        }
        if let Some(sum) = self.wide.get_mut(group) {
            *sum = sum.checked_add(value.unscaled).ok_or_else(too_many_digits)?;
        }
        Ok(())
    }

    /// Adds an integer, when all values are.
    #[inline]
    pub fn add_integer(&mut self, group: usize, value: i128) -> Result<()> {
        if self.scale == 0
            && !self.is_wide
            && let Some(sum) = self.narrow.get_mut(group)
            && let Some(next) = sum.checked_add(value)
        {
            *sum = next;
            return Ok(());
        }
        self.add(group, &Decimal::from_i128(value, 0))
    }

    /// Brings a value, or all sums, to the larger scale of the two.
    fn align(&mut self, value: &Decimal) -> Result<Option<Decimal>> {
        if value.scale < self.scale {
            return Ok(value.rescale(self.scale));
        }
        self.widen();
        for sum in &mut self.wide {
            let rescaled = Decimal::new(*sum, self.scale).rescale(value.scale);
            *sum = rescaled.ok_or_else(too_many_digits)?.unscaled;
        }
        self.scale = value.scale;
        Ok(Some(*value))
    }

    pub fn get(&self, group: usize) -> Decimal {
        if self.is_wide {
            Decimal::new(self.wide.get(group).copied().unwrap_or(i256::ZERO), self.scale)
        } else {
            Decimal::from_i128(self.narrow.get(group).copied().unwrap_or(0), self.scale)
        }
    }
}

fn too_many_digits() -> Error {
    Error::new(
        types::errno::ER_DATA_OUT_OF_RANGE,
        "DECIMAL value is out of range in 'sum()'",
    )
}

/// Calls `add(row, value)` for each value of a numeric array that is not NULL.
pub(super) fn each_exact(array: &ArrayRef, mut add: impl FnMut(usize, Exact) -> Result<()>) -> Result<()> {
    let mut each = |row: usize, value: Exact| {
        if array.is_valid(row) {
            add(row, value)
        } else {
            Ok(())
        }
    };
    match array.data_type() {
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>().values();
            values
                .iter()
                .enumerate()
                .try_for_each(|(i, v)| each(i, Exact::Integer(i128::from(*v))))
        }
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values();
            values
                .iter()
                .enumerate()
                .try_for_each(|(i, v)| each(i, Exact::Integer(i128::from(*v))))
        }
        DataType::Decimal128(_, scale) => {
            let values = array.as_primitive::<Decimal128Type>().values();
            let scale = *scale as u8;
            values
                .iter()
                .enumerate()
                .try_for_each(|(i, v)| each(i, Exact::Decimal(Decimal::from_i128(*v, scale))))
        }
        DataType::Decimal256(_, scale) => {
            let values = array.as_primitive::<Decimal256Type>().values();
            let scale = *scale as u8;
            values
                .iter()
                .enumerate()
                .try_for_each(|(i, v)| each(i, Exact::Decimal(Decimal::new(*v, scale))))
        }
        DataType::Null => Ok(()),
        other => Err(Error::internal(format!("no exact number in an array of {other}"))),
    }
}

/// An exact number out of an array.
pub(super) enum Exact {
    Integer(i128),
    Decimal(Decimal),
}

/// The doubles of an array.
pub(super) fn doubles(array: &ArrayRef) -> Result<Option<&arrow::array::Float64Array>> {
    match array.data_type() {
        DataType::Float64 => Ok(Some(array.as_primitive::<Float64Type>())),
        DataType::Null => Ok(None),
        other => Err(Error::internal(format!("no double in an array of {other}"))),
    }
}
