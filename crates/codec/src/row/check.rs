//! Conditions that are decided on a row's bytes, before any of it is decoded.

use std::fmt;
use std::sync::Arc;

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

/// Says of the bytes of a text whether they may satisfy a condition.
pub type TextTest = dyn Fn(&[u8]) -> bool + Send + Sync;

/// A condition on a text.
#[derive(Clone)]
pub struct TextCheck(pub Arc<TextTest>);

impl fmt::Debug for TextCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextCheck")
    }
}

/// A condition on a row's columns.
#[derive(Debug, Clone)]
pub enum RowCheck {
    /// A value lies in a range, both ends included.
    Range {
        number: StoredNumber,
        low: i64,
        high: i64,
    },
    /// One value is less than another one, or may be equal to it.
    Order {
        smaller: StoredNumber,
        larger: StoredNumber,
        or_equal: bool,
    },
    /// A value is one of some, which are in order.
    Among { number: StoredNumber, values: Vec<i64> },
    /// A text, by the column's id.
    Text { id: i64, check: TextCheck },
    /// All conditions of one of these lists.
    Any(Vec<Vec<RowCheck>>),
}

impl RowCheck {
    /// From `low` to `high`, both included. `None` for types that are not compared so.
    pub fn range(id: i64, ty: &SqlType, low: i64, high: i64) -> Option<Self> {
        let number = StoredNumber::new(id, ty)?;
        Some(Self::Range { number, low, high })
    }

    /// One of some values. `None` for types that are not compared so.
    pub fn among(id: i64, ty: &SqlType, mut values: Vec<i64>) -> Option<Self> {
        let number = StoredNumber::new(id, ty)?;
        values.sort_unstable();
        Some(Self::Among { number, values })
    }

    /// Whether it takes longer than reading a few bytes.
    pub fn looks_at_text(&self) -> bool {
        match self {
            Self::Text { .. } => true,
            Self::Any(lists) => lists.iter().flatten().any(Self::looks_at_text),
            Self::Range { .. } | Self::Order { .. } | Self::Among { .. } => false,
        }
    }

    /// Of two columns by their ids and types. `None` for types that are not compared so.
    pub fn order(smaller: (i64, &SqlType), larger: (i64, &SqlType), or_equal: bool) -> Option<Self> {
        let (a, b) = (smaller.1, larger.1);
        let are_dates = |ty: &SqlType| matches!(ty.kind, TypeKind::Date | TypeKind::DateTime);
        let alike = are_dates(a) && are_dates(b)
            || a.is_integer() && b.is_integer()
            || a.is_decimal() && b.is_decimal() && a.decimals == b.decimals;
        if !alike {
            return None;
        }
        Some(Self::Order {
            smaller: StoredNumber::new(smaller.0, a)?,
            larger: StoredNumber::new(larger.0, b)?,
            or_equal,
        })
    }

    /// Whether the row may satisfy the condition. True also if the value cannot be read here: the caller
    /// decodes the row and evaluates the condition itself.
    #[inline]
    pub fn may_hold(&self, row: &[u8]) -> bool {
        match self {
            Self::Range { number, low, high } => {
                let value = number.value(row);
                value.is_none_or(|value| *low <= value && value <= *high)
            }
            Self::Order {
                smaller,
                larger,
                or_equal,
            } => match (smaller.value(row), larger.value(row)) {
                (Some(smaller), Some(larger)) => smaller < larger || *or_equal && smaller == larger,
                _ => true,
            },
            Self::Among { number, values } => {
                let value = number.value(row);
                value.is_none_or(|value| values.binary_search(&value).is_ok())
            }
            Self::Text { id, check } => find_small(row, *id).is_none_or(|text| check.0(text)),
            Self::Any(lists) => lists
                .iter()
                .any(|all| all.iter().all(|check| check.may_hold(row))),
        }
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
        let among = |id, values: &[i64]| RowCheck::among(id, &SqlType::BIGINT, values.to_vec()).unwrap();
        assert!(among(1, &[7, -5, 2]).may_hold(&row) && !among(1, &[7, -6, 2]).may_hold(&row));
        // NULL is for the caller.
        assert!(among(3, &[1]).may_hold(&row));
        let any = |lists: Vec<Vec<RowCheck>>| RowCheck::Any(lists).may_hold(&row);
        let (yes, no) = (among(1, &[-5]), among(1, &[5]));
        assert!(any(vec![vec![no.clone()], vec![yes.clone(), yes.clone()]]));
        assert!(!any(vec![vec![no.clone(), yes.clone()], vec![yes, no]]));
        let holds = |id, ty: &SqlType, low, high| RowCheck::range(id, ty, low, high).unwrap().may_hold(&row);
        assert!(holds(1, &SqlType::BIGINT, -5, -5) && !holds(1, &SqlType::BIGINT, -4, i64::MAX));
        assert!(holds(2, &price, 600, 605) && !holds(2, &price, i64::MIN, 604));
        assert!(
            holds(3, &SqlType::BIGINT, 1, 1) && holds(9, &SqlType::BIGINT, 1, 1),
            "not decided here"
        );
        assert!(RowCheck::range(1, &SqlType::DOUBLE, 0, 1).is_none());
    }

    #[test]
    fn two_columns_are_compared_where_both_are_there() {
        let mut encoder = RowEncoder::new();
        for (id, value) in [
            (1, Value::Int(-5)),
            (2, Value::Int(7)),
            (3, Value::Int(7)),
            (4, Value::Null),
        ] {
            encoder.push(id, &value, &SqlType::BIGINT).unwrap();
        }
        let row = encoder.finish().unwrap();
        let int = |id| (id, &SqlType::BIGINT);
        let holds = |a, b, or_equal| RowCheck::order(int(a), int(b), or_equal).unwrap().may_hold(&row);
        assert!(holds(1, 2, false) && !holds(2, 1, true));
        assert!(holds(2, 3, true) && !holds(2, 3, false));
        assert!(holds(4, 1, false) && holds(2, 9, false), "not decided here");
        let scales = [2, 3].map(|scale| SqlType::decimal(10, scale));
        assert!(RowCheck::order((1, &scales[0]), (2, &scales[1]), true).is_none());
        assert!(RowCheck::order(int(1), (2, &SqlType::decimal(10, 0)), true).is_none());
    }
}
