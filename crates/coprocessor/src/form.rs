//! How values are passed to a store and back. A store sees a column with the type of its stored bytes instead
//! of SQL's type: a DATE is an unsigned integer, text is bytes. So it converts nothing, needs no time zone
//! and no sql_mode, and returns every column as it is stored.

use codec::datum::{DECIMAL_FLAG, FLOAT_FLAG, INT_FLAG, NIL_FLAG, UINT_FLAG};
use codec::memcomparable::{encode_f64, encode_i64, encode_u64};
use types::{Decimal, SqlType, TypeKind, Value};

use crate::tipb;

/// MySQL's codes of field types.
const LONG_LONG: i32 = 8;
const DOUBLE: i32 = 5;
const NEW_DECIMAL: i32 = 246;
const BLOB: i32 = 252;
const UNSIGNED_FLAG: u32 = 32;
/// The number of the collation `binary`, and TiKV's numbers of those with padding.
pub const BINARY: i32 = 63;
pub const UTF8MB4_BIN: i32 = -46;
pub const UTF8MB4_GENERAL_CI: i32 = -45;

/// The largest precision of a decimal.
const PRECISION_MAX: u8 = 65;
const NANOS_PER_MICRO: i64 = 1_000;
/// All integers up to this one are exact as doubles.
const EXACT_MAX: i64 = 1 << 53;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Int,
    UInt,
    Real,
    Decimal,
    Bytes,
}

impl Form {
    /// `None`: values of the type are not stored.
    pub fn of(ty: &SqlType) -> Option<Self> {
        Some(match ty.kind {
            TypeKind::Null => return None,
            TypeKind::Float | TypeKind::Double => Self::Real,
            TypeKind::Decimal => Self::Decimal,
            TypeKind::Time => Self::Int,
            TypeKind::Year
            | TypeKind::Date
            | TypeKind::DateTime
            | TypeKind::Timestamp
            | TypeKind::Enum(_)
            | TypeKind::Set(_)
            | TypeKind::Bit => Self::UInt,
            _ if ty.is_integer() && ty.unsigned => Self::UInt,
            _ if ty.is_integer() => Self::Int,
            _ => Self::Bytes,
        })
    }

    /// The difference between the signature of a function on this form and the signature of the same function
    /// on integers.
    pub fn offset(self) -> i32 {
        match self {
            Self::Int | Self::UInt => 0,
            Self::Real => 1,
            Self::Decimal => 2,
            Self::Bytes => 3,
        }
    }

    pub fn field_type(self, ty: &SqlType) -> tipb::FieldType {
        let (tp, flag) = match self {
            Self::Int => (LONG_LONG, 0),
            Self::UInt => (LONG_LONG, UNSIGNED_FLAG),
            Self::Real => (DOUBLE, 0),
            Self::Decimal => (NEW_DECIMAL, 0),
            Self::Bytes => (BLOB, 0),
        };
        let (flen, decimal) = match self {
            Self::Decimal => (i32::try_from(ty.length).unwrap_or(-1), i32::from(ty.decimals)),
            _ => (-1, -1),
        };
        tipb::FieldType {
            tp: Some(tp),
            flag: Some(flag),
            flen: Some(flen),
            decimal: Some(decimal),
            collate: Some(BINARY),
        }
    }
}

/// The type of a condition. `collate`: the collation under which its operands are compared.
pub fn condition_type(collate: i32) -> tipb::FieldType {
    tipb::FieldType {
        collate: Some(collate),
        ..Form::Int.field_type(&SqlType::BIGINT)
    }
}

/// A constant in the form that a column of this type is compared with, and that form. `None`: there is no
/// such form.
pub fn constant(value: &Value, column: &SqlType) -> Option<(Form, Vec<u8>)> {
    let form = Form::of(column)?;
    let mut bytes = Vec::new();
    let form = match (form, value) {
        (Form::Int, Value::Int(value)) if column.kind == TypeKind::Time => {
            encode_i64(value.checked_mul(NANOS_PER_MICRO)?, &mut bytes);
            Form::Int
        }
        (Form::Int | Form::UInt, Value::Int(value)) => {
            encode_i64(*value, &mut bytes);
            Form::Int
        }
        (Form::Int | Form::UInt, Value::UInt(value)) => {
            encode_u64(*value, &mut bytes);
            Form::UInt
        }
        (Form::Real, value) => {
            encode_f64(double(value)?, &mut bytes);
            Form::Real
        }
        (Form::Decimal, value) => {
            let value = decimal(value)?;
            let scale = value.scale;
            codec::decimal::encode(&value, PRECISION_MAX, scale, &mut bytes).ok()?;
            Form::Decimal
        }
        (Form::Bytes, value) => {
            bytes.extend_from_slice(value.as_bytes()?);
            Form::Bytes
        }
        _ => return None,
    };
    Some((form, bytes))
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::Decimal(value) => Some(value.to_f64()),
        Value::Int(value) if (-EXACT_MAX..=EXACT_MAX).contains(value) => Some(*value as f64),
        Value::UInt(value) if *value <= EXACT_MAX as u64 => Some(*value as f64),
        _ => None,
    }
}

fn decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Decimal(value) => Some(*value),
        Value::Int(value) => Some(Decimal::from_i64(*value)),
        Value::UInt(value) => Some(Decimal::from_u64(*value)),
        _ => None,
    }
}

/// A stored value preceded by its flag: the default of a column in rows that lack it.
pub fn datum(value: &Value, ty: &SqlType) -> Option<Vec<u8>> {
    if value.is_null() {
        return Some(vec![NIL_FLAG]);
    }
    let (form, bytes) = constant(value, ty)?;
    let mut datum = match form {
        Form::Int => vec![INT_FLAG],
        Form::UInt => vec![UINT_FLAG],
        Form::Real => vec![FLOAT_FLAG],
        Form::Decimal => vec![DECIMAL_FLAG],
        Form::Bytes => codec::datum::compact_bytes_head(bytes.len()),
    };
    datum.extend_from_slice(&bytes);
    Some(datum)
}
