//! Arithmetic of columns. If a value overflows or is divided by zero, the caller falls back to the loop over
//! single values, which reports the error.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Datum as ArrowDatum, Decimal128Array, Decimal128Builder, Float64Array,
    Int64Array, Scalar, UInt64Array,
};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type,
};
use types::{Decimal, Result, TypeKind, Value};

use crate::expr::Call;
use crate::input::ColumnarValue;
use crate::quotient::quotient_scale;

pub(crate) fn evaluate(
    call: &Call<'_>,
    args: &[ColumnarValue],
    rows: usize,
) -> Result<Option<ColumnarValue>> {
    let [a, b] = args else { return Ok(None) };
    if matches!((a, b), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_))) {
        return Ok(None);
    }
    let result = match call.ty.kind {
        TypeKind::Double => doubles(call.def.name, a, b),
        TypeKind::Decimal if call.def.name == "/" => quotients(call, a, b, rows),
        // A negative difference is an error.
        TypeKind::Decimal if call.def.name == "-" && call.ty.unsigned => None,
        TypeKind::Decimal => decimals(call.def.name, a, b),
        _ => integers(call, a, b),
    };
    Ok(result.map(ColumnarValue::Array))
}

/// An array, or a constant in the form that Arrow's kernels accept.
enum Operand {
    Array(ArrayRef),
    Scalar(Scalar<ArrayRef>),
}

impl Operand {
    fn datum(&self) -> &dyn ArrowDatum {
        match self {
            Self::Array(array) => array,
            Self::Scalar(scalar) => scalar,
        }
    }
}

fn scalar(array: impl Array + 'static) -> Operand {
    Operand::Scalar(Scalar::new(Arc::new(array) as ArrayRef))
}

fn apply(name: &str, a: &Operand, b: &Operand) -> Option<ArrayRef> {
    let (a, b) = (a.datum(), b.datum());
    match name {
        "+" => numeric::add(a, b),
        "-" => numeric::sub(a, b),
        "*" => numeric::mul(a, b),
        "/" => numeric::div(a, b),
        _ => return None,
    }
    .ok()
}

fn integers(call: &Call<'_>, a: &ColumnarValue, b: &ColumnarValue) -> Option<ArrayRef> {
    let operand = |v: &ColumnarValue| match (v, call.ty.unsigned) {
        (ColumnarValue::Array(array), false) if *array.data_type() == DataType::Int64 => {
            Some(Operand::Array(array.clone()))
        }
        (ColumnarValue::Array(array), true) if *array.data_type() == DataType::UInt64 => {
            Some(Operand::Array(array.clone()))
        }
        (ColumnarValue::Scalar(Value::Int(v)), false) => Some(scalar(Int64Array::from(vec![*v]))),
        (ColumnarValue::Scalar(value), true) => value.as_u64().map(|v| scalar(UInt64Array::from(vec![v]))),
        _ => None,
    };
    apply(call.def.name, &operand(a)?, &operand(b)?)
}

fn doubles(name: &str, a: &ColumnarValue, b: &ColumnarValue) -> Option<ArrayRef> {
    let operand = |v: &ColumnarValue| match v {
        ColumnarValue::Array(array) => as_doubles(array).map(Operand::Array),
        ColumnarValue::Scalar(value) => {
            let double = match value {
                Value::Double(v) => *v,
                Value::Int(v) => *v as f64,
                Value::UInt(v) => *v as f64,
                Value::Decimal(d) => d.to_f64(),
                _ => return None,
            };
            Some(scalar(Float64Array::from(vec![double])))
        }
    };
    let result = apply(name, &operand(a)?, &operand(b)?)?;
    // An infinity is an overflow or a division by zero.
    let finite = result
        .as_primitive::<Float64Type>()
        .iter()
        .flatten()
        .all(f64::is_finite);
    finite.then_some(result)
}

fn as_doubles(array: &ArrayRef) -> Option<ArrayRef> {
    Some(match array.data_type() {
        DataType::Float64 => array.clone(),
        DataType::Int64 => Arc::new(
            array
                .as_primitive::<Int64Type>()
                .unary::<_, Float64Type>(|v| v as f64),
        ),
        DataType::UInt64 => Arc::new(
            array
                .as_primitive::<UInt64Type>()
                .unary::<_, Float64Type>(|v| v as f64),
        ),
        _ => return None,
    })
}

/// Decimals of up to 38 digits; integers are decimals without a fraction.
fn as_decimals(array: &ArrayRef) -> Option<Decimal128Array> {
    let whole = |values: Decimal128Array, digits: u8| values.with_precision_and_scale(digits, 0).ok();
    match array.data_type() {
        DataType::Decimal128(..) => Some(array.as_primitive::<Decimal128Type>().clone()),
        DataType::Int64 => whole(
            array
                .as_primitive::<Int64Type>()
                .unary::<_, Decimal128Type>(i128::from),
            19,
        ),
        DataType::UInt64 => whole(
            array
                .as_primitive::<UInt64Type>()
                .unary::<_, Decimal128Type>(i128::from),
            20,
        ),
        _ => None,
    }
}

fn as_decimal(value: &Value) -> Option<(i128, u8)> {
    let decimal = match value {
        Value::Int(v) => Decimal::from_i64(*v),
        Value::UInt(v) => Decimal::from_u64(*v),
        Value::Decimal(d) => *d,
        _ => return None,
    };
    decimal.unscaled.to_i128().map(|v| (v, decimal.scale))
}

fn decimals(name: &str, a: &ColumnarValue, b: &ColumnarValue) -> Option<ArrayRef> {
    let operand = |v: &ColumnarValue| match v {
        ColumnarValue::Array(array) => as_decimals(array).map(|d| Operand::Array(Arc::new(d))),
        ColumnarValue::Scalar(value) => {
            let (unscaled, scale) = as_decimal(value)?;
            let digits = unscaled
                .unsigned_abs()
                .checked_ilog10()
                .map_or(1, |log| log as u8 + 1)
                .max(scale.max(1));
            let array = Decimal128Array::from(vec![unscaled])
                .with_precision_and_scale(digits, scale as i8)
                .ok()?;
            Some(scalar(array))
        }
    };
    let result = apply(name, &operand(a)?, &operand(b)?)?;
    match result.data_type() {
        DataType::Decimal128(_, scale) if (0..=30).contains(scale) => Some(result),
        _ => None,
    }
}

/// A column or constant of unscaled decimals.
enum Side {
    Array(Decimal128Array, u8),
    Constant(i128, u8),
}

impl Side {
    fn of(value: &ColumnarValue) -> Option<Self> {
        match value {
            ColumnarValue::Array(array) => {
                let decimals = as_decimals(array)?;
                let scale = u8::try_from(decimals.scale()).ok()?;
                Some(Self::Array(decimals, scale))
            }
            ColumnarValue::Scalar(value) => as_decimal(value).map(|(v, s)| Self::Constant(v, s)),
        }
    }

    fn scale(&self) -> u8 {
        match self {
            Self::Array(_, scale) | Self::Constant(_, scale) => *scale,
        }
    }

    fn at(&self, row: usize) -> Option<i128> {
        match self {
            Self::Array(array, _) => array.is_valid(row).then(|| array.value(row)),
            Self::Constant(v, _) => Some(*v),
        }
    }
}

/// Quotients with MySQL's hidden digits.
fn quotients(call: &Call<'_>, a: &ColumnarValue, b: &ColumnarValue, rows: usize) -> Option<ArrayRef> {
    let (a, b) = (Side::of(a)?, Side::of(b)?);
    let scale = quotient_scale(a.scale(), b.scale(), call.ctx.div_precision_increment);
    let shift = i32::from(scale) + i32::from(b.scale()) - i32::from(a.scale());
    let (up, down) = (power(shift.max(0))?, power((-shift).max(0))?);
    let ty = DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale as i8);
    let mut out = Decimal128Builder::with_capacity(rows).with_data_type(ty);
    for row in 0..rows {
        match (a.at(row), b.at(row)) {
            (Some(a), Some(b)) => out.append_value(a.checked_mul(up)?.checked_div(b.checked_mul(down)?)?),
            _ => out.append_null(),
        }
    }
    Some(Arc::new(out.finish()))
}

fn power(exponent: i32) -> Option<i128> {
    10i128.checked_pow(u32::try_from(exponent).ok()?)
}
