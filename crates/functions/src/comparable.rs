//! The comparable form of values: what sorting, grouping, DISTINCT, MIN and MAX work on in both executors.
//!
//! Most types' own values compare as MySQL compares them. Others have a key in their place: strings that of their
//! collation, JSON that of [`crate::json::key`], floating point numbers themselves but for -0, which is 0.
//!
//! Not here: keys in the store (`schema::layout`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder};
use arrow::datatypes::{DataType, Float64Type};
use types::{Collation, SqlType, TypeKind};

use crate::datum::Datum;
use crate::json::key as json;

/// What the form is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// ORDER BY, which sees of JSON arrays and objects their lengths only, as MySQL does.
    Order,
    /// Which values are equal, and which is the smallest.
    Value,
}

/// Whether the comparable form is another one than the value itself.
pub fn differs(ty: &SqlType) -> bool {
    has_key(ty) || ty.is_float()
}

/// Whether the form is a key: bytes.
fn has_key(ty: &SqlType) -> bool {
    ty.arrow_type() == DataType::Utf8 && ty.collation != Collation::Binary
}

/// The Arrow type of the form of a type's values.
pub fn data_type(ty: &SqlType) -> DataType {
    if has_key(ty) {
        DataType::Binary
    } else {
        ty.arrow_type()
    }
}

/// The comparable form of each value of an array, which has the type.
pub fn array(values: &ArrayRef, ty: &SqlType, purpose: Purpose) -> ArrayRef {
    if has_key(ty) {
        return match values.as_string_opt::<i32>() {
            Some(texts) => {
                let mut keys = BinaryBuilder::with_capacity(texts.len(), texts.values().len() * 2);
                let mut key = Vec::new();
                for text in texts {
                    match text {
                        None => keys.append_null(),
                        Some(text) => {
                            key.clear();
                            write_text(text.as_bytes(), ty, purpose, &mut key);
                            keys.append_value(&key);
                        }
                    }
                }
                Arc::new(keys.finish())
            }
            None => Arc::clone(values),
        };
    }
    match values.as_primitive_opt::<Float64Type>() {
        Some(floats) => Arc::new(floats.unary::<_, Float64Type>(|v| v + 0.0)),
        None => Arc::clone(values),
    }
}

/// Appends bytes that are equal for equal values of the type, and that no other value's bytes begin with. NULL has none.
pub(crate) fn write(datum: &Datum<'_>, ty: &SqlType, out: &mut Vec<u8>) {
    match datum {
        Datum::Null => {}
        Datum::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::UInt(v) => out.extend_from_slice(&v.to_le_bytes()),
        Datum::Double(v) => out.extend_from_slice(&(v + 0.0).to_bits().to_le_bytes()),
        Datum::Decimal(d) => {
            let normal = d.normalized();
            out.push(normal.scale);
            out.extend_from_slice(&normal.unscaled.to_le_bytes());
        }
        Datum::Json(json) => write(&Datum::String(&json.to_text()), ty, out),
        Datum::String(_) | Datum::Bytes(_) => {
            let start = out.len();
            out.extend_from_slice(&[0; 8]);
            write_text(datum.bytes(), ty, Purpose::Value, out);
            let len = (out.len() - start - 8) as u64;
            if let Some(slot) = out.get_mut(start..start + 8) {
                slot.copy_from_slice(&len.to_le_bytes());
            }
        }
    }
}

fn write_text(text: &[u8], ty: &SqlType, purpose: Purpose, out: &mut Vec<u8>) {
    match (ty.kind, purpose) {
        (TypeKind::Json, Purpose::Order) => json::write_order(text, out),
        (TypeKind::Json, Purpose::Value) => json::write_value(text, out),
        _ => ty.collation.sort_key(text, out),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, StringArray};

    use super::*;

    #[test]
    fn negative_zero_is_zero() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0]));
        let form = array(&values, &SqlType::DOUBLE, Purpose::Value);
        let bits: Vec<u64> = form
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .map(|v| v.to_bits())
            .collect();
        assert_eq!(bits, [0, 0]);
    }

    #[test]
    fn texts_have_their_collations_keys() {
        let ty = SqlType::varchar(10, Collation::Utf8mb40900AiCi);
        let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("Ä"), Some("b"), None]));
        let form = array(&values, &ty, Purpose::Order);
        let keys = form.as_binary::<i32>();
        assert_eq!(*form.data_type(), data_type(&ty));
        assert_eq!(keys.value(0), keys.value(1));
        assert!(keys.value(1) < keys.value(2) && keys.is_null(3));
    }
}
