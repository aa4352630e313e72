//! One value, borrowed. Scalar functions take these, so that they read text in columns and literals without
//! copying it.

use std::cmp::Ordering;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256};
use types::json::JsonRef;
use types::{Collation, Decimal, Error, Result, Value};

/// A [`Value`] that borrows its text or bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Datum<'a> {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    String(&'a str),
    Bytes(&'a [u8]),
    /// A JSON value. Functions without JSON support receive its text instead.
    Json(JsonRef<'a>),
}

impl<'a> Datum<'a> {
    pub fn of(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(v) => Self::Int(*v),
            Value::UInt(v) => Self::UInt(*v),
            Value::Double(v) => Self::Double(*v),
            Value::Decimal(v) => Self::Decimal(*v),
            Value::String(v) => Self::String(v),
            Value::Bytes(v) => Self::Bytes(v),
            Value::Json(v) => Self::Json(v.root()),
        }
    }

    /// The value at `row` of an array of one of the types in [`types::SqlType`]'s table. `row` is below its
    /// length.
    pub fn at(array: &'a dyn Array, row: usize) -> Result<Self> {
        if array.is_null(row) {
            return Ok(Self::Null);
        }
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Int64 => Self::Int(array.as_primitive::<Int64Type>().value(row)),
            DataType::UInt64 => Self::UInt(array.as_primitive::<UInt64Type>().value(row)),
            DataType::Float64 => Self::Double(array.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8 => Self::String(array.as_string::<i32>().value(row)),
            DataType::Binary => Self::Bytes(array.as_binary::<i32>().value(row)),
            DataType::Decimal128(_, scale) => Self::Decimal(Decimal {
                unscaled: i256::from_i128(array.as_primitive::<Decimal128Type>().value(row)),
                scale: *scale as u8,
            }),
            DataType::Decimal256(_, scale) => Self::Decimal(Decimal {
                unscaled: array.as_primitive::<Decimal256Type>().value(row),
                scale: *scale as u8,
            }),
            DataType::Boolean => Self::Int(i64::from(array.as_boolean().value(row))),
            DataType::Utf8View => Self::String(array.as_string_view().value(row)),
            DataType::LargeUtf8 => Self::String(array.as_string::<i64>().value(row)),
            DataType::BinaryView => Self::Bytes(array.as_binary_view().value(row)),
            DataType::LargeBinary => Self::Json(JsonRef::of_document(array.as_binary::<i64>().value(row))),
            other => return Err(Error::internal(format!("no SQL value in an array of {other}"))),
        })
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Int(v) => Value::Int(v),
            Self::UInt(v) => Value::UInt(v),
            Self::Double(v) => Value::Double(v),
            Self::Decimal(v) => Value::Decimal(v),
            Self::String(v) => Value::String(v.to_owned()),
            Self::Bytes(v) => Value::Bytes(v.to_vec()),
            Self::Json(v) => Value::Json(v.to_binary()),
        }
    }

    /// How many bytes text, binary data or a document has; 0 for other values.
    pub(crate) fn long_bytes(&self) -> usize {
        match self {
            Self::Json(json) => json.bytes(),
            other => other.bytes().len(),
        }
    }

    /// The bytes of text or of binary data; empty for other values.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Self::String(v) => v.as_bytes(),
            Self::Bytes(v) => v,
            _ => b"",
        }
    }

    /// The integer of an argument that was bound as an integer.
    pub fn int(&self) -> i64 {
        match self {
            Self::Int(v) => *v,
            Self::UInt(v) => i64::try_from(*v).unwrap_or(i64::MAX),
            _ => 0,
        }
    }

    /// The number of an argument that was bound as DOUBLE.
    pub fn double(&self) -> f64 {
        match self {
            Self::Double(v) => *v,
            Self::Int(v) => *v as f64,
            Self::UInt(v) => *v as f64,
            _ => 0.0,
        }
    }
}

/// A value that exists already (borrowed) or was computed (owned).
#[derive(Debug, Clone)]
pub enum Cell<'a> {
    Ref(Datum<'a>),
    Own(Value),
}

impl<'a> Cell<'a> {
    pub const NULL: Self = Self::Ref(Datum::Null);

    pub fn datum(&self) -> Datum<'_> {
        match self {
            Self::Ref(datum) => *datum,
            Self::Own(value) => Datum::of(value),
        }
    }

    pub fn into_value(self) -> Value {
        match self {
            Self::Ref(datum) => datum.to_value(),
            Self::Own(value) => value,
        }
    }

    /// Converts a JSON value to text, for functions without JSON support.
    pub fn without_json(self) -> Self {
        match &self {
            Self::Ref(Datum::Json(json)) => Self::Own(Value::String(json.to_text())),
            Self::Own(Value::Json(json)) => Self::Own(Value::String(json.root().to_text())),
            _ => self,
        }
    }

    pub fn is_null(&self) -> bool {
        self.datum().is_null()
    }
}

impl From<Value> for Cell<'_> {
    fn from(value: Value) -> Self {
        Self::Own(value)
    }
}

/// Compares two values of one class: numbers, points in time, times, or strings under `collation`.
pub(crate) fn compare_same(a: &Datum<'_>, b: &Datum<'_>, collation: Collation) -> Option<Ordering> {
    use Datum::{Decimal, Double, Int, Null, String, UInt};
    Some(match (a, b) {
        (Null, _) | (_, Null) => return None,
        (Int(a), Int(b)) => a.cmp(b),
        (UInt(a), UInt(b)) => a.cmp(b),
        (Int(a), UInt(b)) => u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b)),
        (UInt(a), Int(b)) => u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b)),
        (Double(a), Double(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Double(a), b) if is_number(b) => a.partial_cmp(&to_double(b)).unwrap_or(Ordering::Equal),
        (a, Double(b)) if is_number(a) => to_double(a).partial_cmp(b).unwrap_or(Ordering::Equal),
        (Decimal(a), Decimal(b)) => a.cmp(b),
        (Decimal(a), b) if is_number(b) => a.cmp(&to_decimal(b)),
        (a, Decimal(b)) if is_number(a) => to_decimal(a).cmp(b),
        (String(a), String(b)) => collation.compare(a.as_bytes(), b.as_bytes()),
        // Binary data, or text and binary data. Numbers were compared above.
        (a, b) => a.bytes().cmp(b.bytes()),
    })
}

fn is_number(datum: &Datum<'_>) -> bool {
    matches!(
        datum,
        Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Decimal(_)
    )
}

/// A number as a double.
pub(crate) fn to_double(datum: &Datum<'_>) -> f64 {
    match datum {
        Datum::Decimal(d) => d.to_f64(),
        other => other.double(),
    }
}

/// An integer or decimal as a decimal.
pub(crate) fn to_decimal(datum: &Datum<'_>) -> Decimal {
    match datum {
        Datum::Int(v) => Decimal::from_i64(*v),
        Datum::UInt(v) => Decimal::from_u64(*v),
        Datum::Decimal(d) => *d,
        Datum::Double(v) => Decimal::from_f64(*v).unwrap_or(Decimal::ZERO),
        _ => Decimal::ZERO,
    }
}
