//! Conditions that are decided on a row's bytes, before any of it is decoded.

use types::{SqlType, TypeKind};

use super::cell::{Form, decode_signed, decode_unsigned};
use super::view::find_small;
use crate::decimal::SmallForm;

/// A column whose value can be read from a row as an integer that sorts as the values do: a DECIMAL by its
/// digits, a date by its packed form.
#[derive(Debug, Clone)]
pub struct StoredNumber {
    id: i64,
    form: NumberForm,
}

#[derive(Debug, Clone)]
enum NumberForm {
    Signed,
    Unsigned,
    Decimal(SmallForm),
}

impl StoredNumber {
    /// `None` for types that are not stored as such a number.
    pub fn new(id: i64, ty: &SqlType) -> Option<Self> {
        let form = match Form::of(ty) {
            Form::Signed => NumberForm::Signed,
            Form::Unsigned if ty.kind != TypeKind::Year => NumberForm::Unsigned,
            Form::Decimal => NumberForm::Decimal(SmallForm::new(ty.length as u8, ty.decimals)?),
            _ => return None,
        };
        Some(Self { id, form })
    }

    /// The value in a row. `None`: the row lacks it or has an unusual form, so it must be decoded.
    #[inline]
    pub fn value(&self, row: &[u8]) -> Option<i64> {
        let bytes = find_small(row, self.id)?;
        match &self.form {
            NumberForm::Signed => decode_signed(bytes).ok(),
            NumberForm::Unsigned => i64::try_from(decode_unsigned(bytes).ok()?).ok(),
            NumberForm::Decimal(form) => form.decode(bytes),
        }
    }
}

/// Whether a column's value lies in a range.
#[derive(Debug, Clone)]
pub struct RangeCheck {
    number: StoredNumber,
    low: i64,
    high: i64,
}

impl RangeCheck {
    /// From `low` to `high`, both included. `None` for types without a [`StoredNumber`].
    pub fn new(id: i64, ty: &SqlType, low: i64, high: i64) -> Option<Self> {
        let number = StoredNumber::new(id, ty)?;
        Some(Self { number, low, high })
    }

    /// Whether the row may satisfy the condition. True also if the value cannot be read here: the caller
    /// decodes the row and evaluates the condition itself.
    #[inline]
    pub fn may_hold(&self, row: &[u8]) -> bool {
        let value = self.number.value(row);
        value.is_none_or(|value| self.low <= value && value <= self.high)
    }
}

#[cfg(test)]
mod tests {
    use types::{Decimal, Value};

    use super::*;
    use crate::row::RowEncoder;

    #[test]
    fn values_inside_and_outside() {
        let price = SqlType::decimal(15, 2);
        let mut encoder = RowEncoder::new();
        encoder.push(1, &Value::Int(-5), &SqlType::BIGINT).unwrap();
        encoder
            .push(2, &Value::Decimal(Decimal::from_i128(605, 2)), &price)
            .unwrap();
        encoder.push(3, &Value::Null, &SqlType::BIGINT).unwrap();
        let row = encoder.finish().unwrap();
        let holds = |id, ty: &SqlType, low, high| RangeCheck::new(id, ty, low, high).unwrap().may_hold(&row);
        assert!(holds(1, &SqlType::BIGINT, -5, -5) && !holds(1, &SqlType::BIGINT, -4, i64::MAX));
        assert!(holds(2, &price, 600, 605) && !holds(2, &price, i64::MIN, 604));
        assert!(
            holds(3, &SqlType::BIGINT, 1, 1) && holds(9, &SqlType::BIGINT, 1, 1),
            "not decided here"
        );
        assert!(RangeCheck::new(1, &SqlType::DOUBLE, 0, 1).is_none());
    }
}
