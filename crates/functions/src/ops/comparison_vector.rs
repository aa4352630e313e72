//! Comparison of columns: with Arrow's kernels if both sides have the same representation, in a tight loop
//! for text under a collation.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Decimal128Array, Int64Array, Scalar, StringArray,
    UInt64Array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use types::{Collation, Decimal, Result, TypeKind, Value};

use crate::eval::truths::types_error;
use crate::expr::Call;
use crate::input::ColumnarValue;

/// A comparison operator.
#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Operator {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "=" => Self::Eq,
            "<>" => Self::Ne,
            "<" => Self::Lt,
            "<=" => Self::Le,
            ">" => Self::Gt,
            ">=" => Self::Ge,
            _ => return None,
        })
    }

    /// The operator with its sides exchanged.
    fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            same => same,
        }
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Eq => ordering.is_eq(),
            Self::Ne => ordering.is_ne(),
            Self::Lt => ordering.is_lt(),
            Self::Le => ordering.is_le(),
            Self::Gt => ordering.is_gt(),
            Self::Ge => ordering.is_ge(),
        }
    }

    fn holds_doubles(self, a: f64, b: f64) -> bool {
        a.partial_cmp(&b).is_some_and(|o| self.holds(o))
    }

    fn apply(self, a: &dyn arrow::array::Datum, b: &dyn arrow::array::Datum) -> Result<BooleanArray> {
        let result = match self {
            Self::Eq => cmp::eq(a, b),
            Self::Ne => cmp::neq(a, b),
            Self::Lt => cmp::lt(a, b),
            Self::Le => cmp::lt_eq(a, b),
            Self::Gt => cmp::gt(a, b),
            Self::Ge => cmp::gt_eq(a, b),
        };
        result.map_err(types_error)
    }
}

/// Compares columns, or a column with a constant. `None` for pairs without a fast implementation.
pub(crate) fn compare(call: &Call<'_>, args: &[ColumnarValue], rows: usize) -> Result<Option<ColumnarValue>> {
    let [a, b] = args else { return Ok(None) };
    let result = compare_as(call.def.name, call, [a, b], [0, 1], rows)?;
    Ok(result.map(|r| ColumnarValue::Array(Arc::new(r))))
}

/// Compares the arguments at `indexes` of a call, whose values are given, by the operator `name`.
pub(crate) fn compare_as(
    name: &str,
    call: &Call<'_>,
    sides: [&ColumnarValue; 2],
    indexes: [usize; 2],
    rows: usize,
) -> Result<Option<BooleanArray>> {
    let Some(operator) = Operator::from_name(name) else {
        return Ok(None);
    };
    let [ta, tb] = indexes.map(|i| call.arg_type(i));
    if ta.kind == TypeKind::Json || tb.kind == TypeKind::Json {
        return Ok(None);
    }
    match sides {
        [ColumnarValue::Array(_), ColumnarValue::Scalar(Value::Null)]
        | [ColumnarValue::Scalar(Value::Null), ColumnarValue::Array(_)] => {
            Ok(Some(BooleanArray::new_null(rows)))
        }
        [ColumnarValue::Array(a), ColumnarValue::Scalar(b)] => with_constant(operator, a, b, ta.collation),
        [ColumnarValue::Scalar(a), ColumnarValue::Array(b)] => {
            with_constant(operator.flipped(), b, a, ta.collation)
        }
        [ColumnarValue::Array(a), ColumnarValue::Array(b)] => two_columns(operator, a, b, ta.collation),
        _ => Ok(None),
    }
}

fn two_columns(
    operator: Operator,
    a: &ArrayRef,
    b: &ArrayRef,
    collation: Collation,
) -> Result<Option<BooleanArray>> {
    if a.data_type() != b.data_type() {
        return Ok(None);
    }
    match a.data_type() {
        DataType::Int64
        | DataType::UInt64
        | DataType::Binary
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => operator.apply(a, b).map(Some),
        DataType::Float64 => {
            let (a, b) = (a.as_primitive::<Float64Type>(), b.as_primitive::<Float64Type>());
            let values =
                BooleanBuffer::collect_bool(a.len(), |i| operator.holds_doubles(a.value(i), b.value(i)));
            let nulls = arrow::buffer::NullBuffer::union(a.nulls(), b.nulls());
            Ok(Some(BooleanArray::new(values, nulls)))
        }
        DataType::Utf8 => {
            let (a, b) = (a.as_string::<i32>(), b.as_string::<i32>());
            let values = BooleanBuffer::collect_bool(a.len(), |i| {
                operator.holds(collation.compare(a.value(i).as_bytes(), b.value(i).as_bytes()))
            });
            let nulls = arrow::buffer::NullBuffer::union(a.nulls(), b.nulls());
            Ok(Some(BooleanArray::new(values, nulls)))
        }
        _ => Ok(None),
    }
}

fn with_constant(
    operator: Operator,
    array: &ArrayRef,
    constant: &Value,
    collation: Collation,
) -> Result<Option<BooleanArray>> {
    Ok(match (array.data_type(), constant) {
        (DataType::Float64, number) => {
            let constant = match number {
                Value::Double(v) => *v,
                Value::Int(v) => *v as f64,
                Value::UInt(v) => *v as f64,
                Value::Decimal(d) => d.to_f64(),
                _ => return Ok(None),
            };
            // Arrow's kernel is not used, because it orders -0 below 0.
            let doubles = array.as_primitive::<Float64Type>();
            Some(BooleanArray::from_unary(doubles, |v| {
                operator.holds_doubles(v, constant)
            }))
        }
        (DataType::Int64 | DataType::UInt64, Value::Double(v)) => {
            Some(integers_with_double(operator, array, *v))
        }
        (DataType::Int64 | DataType::UInt64, number) => match as_decimal(number) {
            Some(number) => Some(integers_with_exact(operator, array, &number)?),
            None => None,
        },
        (DataType::Decimal128(_, scale), number) => match as_decimal(number) {
            Some(number) => decimals_with_exact(operator, array, *scale, &number)?,
            None => None,
        },
        (DataType::Utf8, Value::String(text)) => Some(strings_with_constant(
            operator,
            array.as_string::<i32>(),
            text,
            collation,
        )),
        (DataType::Binary, Value::Bytes(bytes)) => {
            let constant = BinaryArray::from_iter_values([bytes]);
            Some(operator.apply(array, &Scalar::new(constant))?)
        }
        _ => None,
    })
}

fn as_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Int(v) => Some(Decimal::from_i64(*v)),
        Value::UInt(v) => Some(Decimal::from_u64(*v)),
        Value::Decimal(d) => Some(*d),
        _ => None,
    }
}

fn integers_with_double(operator: Operator, array: &ArrayRef, constant: f64) -> BooleanArray {
    let holds = |v: f64| operator.holds_doubles(v, constant);
    match array.data_type() {
        DataType::Int64 => BooleanArray::from_unary(array.as_primitive::<Int64Type>(), |v| holds(v as f64)),
        _ => BooleanArray::from_unary(array.as_primitive::<UInt64Type>(), |v| holds(v as f64)),
    }
}

/// Compares integers with an exact number, by a comparison with an integer of the column's type.
fn integers_with_exact(operator: Operator, array: &ArrayRef, constant: &Decimal) -> Result<BooleanArray> {
    let floor = constant.floor().unwrap_or(*constant);
    let whole = floor == *constant;
    let signed = *array.data_type() == DataType::Int64;
    let (min, max) = if signed {
        (i128::from(i64::MIN), i128::from(i64::MAX))
    } else {
        (0, i128::from(u64::MAX))
    };
    // A number between two integers: `< 5.5` is `<= 5`, `> 5.5` is `> 5`, and no integer equals it.
    let (operator, bound) = match (operator, whole) {
        (Operator::Eq, false) => return Ok(constant_where_present(array, false)),
        (Operator::Ne, false) => return Ok(constant_where_present(array, true)),
        (Operator::Lt | Operator::Le, false) => (Operator::Le, floor.to_i128()),
        (Operator::Gt | Operator::Ge, false) => (Operator::Gt, floor.to_i128()),
        (operator, true) => (operator, floor.to_i128()),
    };
    let beyond = |above: bool| {
        let holds = match operator {
            Operator::Eq => false,
            Operator::Ne => true,
            Operator::Lt | Operator::Le => above,
            Operator::Gt | Operator::Ge => !above,
        };
        constant_where_present(array, holds)
    };
    match bound {
        None => Ok(beyond(!constant.is_negative())),
        Some(v) if v > max => Ok(beyond(true)),
        Some(v) if v < min => Ok(beyond(false)),
        Some(v) if signed => operator.apply(array, &Scalar::new(Int64Array::from(vec![v as i64]))),
        Some(v) => operator.apply(array, &Scalar::new(UInt64Array::from(vec![v as u64]))),
    }
}

/// The same truth for every value that is not NULL.
fn constant_where_present(array: &ArrayRef, truth: bool) -> BooleanArray {
    let values = if truth {
        BooleanBuffer::new_set(array.len())
    } else {
        BooleanBuffer::new_unset(array.len())
    };
    BooleanArray::new(values, array.nulls().cloned())
}

fn decimals_with_exact(
    operator: Operator,
    array: &ArrayRef,
    scale: i8,
    constant: &Decimal,
) -> Result<Option<BooleanArray>> {
    let Some(rescaled) = u8::try_from(scale).ok().and_then(|s| constant.rescale(s)) else {
        return Ok(None);
    };
    // It has more digits than the column: left to the loop over single values.
    let Some(unscaled) = rescaled.unscaled.to_i128().filter(|_| rescaled == *constant) else {
        return Ok(None);
    };
    let constant = Decimal128Array::from(vec![unscaled]).with_data_type(array.data_type().clone());
    operator.apply(array, &Scalar::new(constant)).map(Some)
}

fn strings_with_constant(
    operator: Operator,
    array: &StringArray,
    text: &str,
    collation: Collation,
) -> BooleanArray {
    let constant = text.as_bytes();
    let values = if matches!(operator, Operator::Eq | Operator::Ne)
        && collation.is_bytewise()
        && !collation.pads_space()
    {
        BooleanBuffer::collect_bool(array.len(), |i| {
            (array.value(i).as_bytes() == constant) == (operator == Operator::Eq)
        })
    } else {
        BooleanBuffer::collect_bool(array.len(), |i| {
            operator.holds(collation.compare(array.value(i).as_bytes(), constant))
        })
    };
    BooleanArray::new(values, array.nulls().cloned())
}
