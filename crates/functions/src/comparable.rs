//! The comparable form of values. Sorting, grouping and DISTINCT use it in both executors.
//!
//! Values of most types already compare as in MySQL. Others are replaced by a key: strings by the sort key of
//! the collation, JSON by [`crate::json::key`]. -0 is replaced by 0.
//!
//! Not here: the order of rows, and its keys ([`crate::order`]); keys in the store (`schema::layout`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, LargeBinaryArray, StringArray};
use arrow::datatypes::{DataType, Float64Type};
use types::json::JsonRef;
use types::{Collation, SqlType, TypeKind};

use crate::datum::Datum;
use crate::json::key as json;

/// The purpose of a comparable form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// ORDER BY. As in MySQL, it compares only the lengths of JSON arrays and objects.
    Order,
    /// Equality.
    Value,
}

/// Whether the comparable form differs from the value itself.
pub fn differs(ty: &SqlType) -> bool {
    has_key(ty) || ty.is_float()
}

/// Whether the form is a key, which consists of bytes.
fn has_key(ty: &SqlType) -> bool {
    ty.kind == TypeKind::Json || ty.arrow_type() == DataType::Utf8 && ty.collation != Collation::Binary
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
    if let Some(documents) = values.as_binary_opt::<i64>() {
        return documents_keys(documents, purpose);
    }
    if has_key(ty) {
        return match values.as_string_opt::<i32>() {
            Some(texts) => Arc::new(text_keys(texts, ty.collation)),
            None => Arc::clone(values),
        };
    }
    match values.as_primitive_opt::<Float64Type>() {
        Some(floats) => Arc::new(floats.unary::<_, Float64Type>(|v| v + 0.0)),
        None => Arc::clone(values),
    }
}

fn text_keys(texts: &StringArray, collation: Collation) -> BinaryArray {
    let mut keys = BinaryBuilder::with_capacity(texts.len(), texts.values().len() * 2);
    let mut key = Vec::new();
    // Columns of flags and codes often have one character.
    let mut of_one = [const { None::<Vec<u8>> }; 128];
    for text in texts {
        match text.map(str::as_bytes) {
            None => keys.append_null(),
            Some(&[byte]) if byte.is_ascii() => {
                let known = of_one[usize::from(byte)].get_or_insert_with(|| {
                    let mut key = Vec::new();
                    collation.sort_key(&[byte], &mut key);
                    key
                });
                keys.append_value(known);
            }
            Some(text) => {
                key.clear();
                collation.sort_key(text, &mut key);
                keys.append_value(&key);
            }
        }
    }
    keys.finish()
}

/// The keys of JSON documents.
fn documents_keys(documents: &LargeBinaryArray, purpose: Purpose) -> ArrayRef {
    let mut keys = BinaryBuilder::with_capacity(documents.len(), documents.values().len() * 2);
    let mut key = Vec::new();
    for document in documents {
        match document.map(JsonRef::of_document) {
            None => keys.append_null(),
            Some(document) => {
                key.clear();
                match purpose {
                    Purpose::Order => json::write_order(document, &mut key),
                    Purpose::Value => json::write_value(document, &mut key),
                }
                keys.append_value(&key);
            }
        }
    }
    Arc::new(keys.finish())
}

/// Appends bytes that are equal for equal values of the type. No value's bytes are a prefix of another's.
/// NULL has none.
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
        // Its key marks its own end.
        Datum::Json(document) => json::write_value(*document, out),
        Datum::String(_) | Datum::Bytes(_) => {
            let start = out.len();
            out.extend_from_slice(&[0; 8]);
            ty.collation.sort_key(datum.bytes(), out);
            let len = (out.len() - start - 8) as u64;
            if let Some(slot) = out.get_mut(start..start + 8) {
                slot.copy_from_slice(&len.to_le_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Float64Array;

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

    #[test]
    fn texts_of_one_character_have_the_keys_of_others() {
        for collation in [Collation::Utf8mb40900AiCi, Collation::Utf8mb4Bin] {
            let ty = SqlType::varchar(10, collation);
            let texts = ["a", "A", "\u{1}", "~", "a", "ab", "", "\u{1}"];
            let values: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
            let form = array(&values, &ty, Purpose::Value);
            for (text, key) in texts.iter().zip(form.as_binary::<i32>()) {
                let mut expected = Vec::new();
                collation.sort_key(text.as_bytes(), &mut expected);
                assert_eq!(key, Some(expected.as_slice()), "{text:?}");
            }
        }
    }
}
