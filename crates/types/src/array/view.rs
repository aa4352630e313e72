//! Values, and their text, out of an Arrow array.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array,
    Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, StringArray, StringViewArray, UInt64Array,
};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type, i256};

use crate::json::JsonRef;
use crate::temporal::Time;
use crate::value::{write_decimal, write_double, write_uint};
use crate::{Decimal, SqlType, TypeKind, Value, number_text};

/// One column of a batch, whose Arrow type is determined once for all rows.
///
/// It takes the types of [`SqlType::arrow_type`], and those that DataFusion may return in their place: the
/// other forms of strings, and booleans.
#[derive(Debug, Clone)]
pub struct ColumnView<'a> {
    ty: SqlType,
    array: &'a dyn Array,
    inner: Inner<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Inner<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int64(&'a Int64Array),
    UInt64(&'a UInt64Array),
    Float64(&'a Float64Array),
    Decimal128(&'a Decimal128Array, u8),
    Decimal256(&'a Decimal256Array, u8),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    Json(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
}

impl<'a> ColumnView<'a> {
    /// # Panics
    /// If no SQL value has the array's type, which is a defect of the caller.
    pub fn new(array: &'a ArrayRef, ty: &SqlType) -> Self {
        let inner = match array.data_type() {
            DataType::Null => Inner::Null,
            DataType::Boolean => Inner::Boolean(array.as_boolean()),
            DataType::Int64 => Inner::Int64(array.as_primitive::<Int64Type>()),
            DataType::UInt64 => Inner::UInt64(array.as_primitive::<UInt64Type>()),
            DataType::Float64 => Inner::Float64(array.as_primitive::<Float64Type>()),
            DataType::Decimal128(_, s) => Inner::Decimal128(array.as_primitive::<Decimal128Type>(), *s as u8),
            DataType::Decimal256(_, s) => Inner::Decimal256(array.as_primitive::<Decimal256Type>(), *s as u8),
            DataType::Utf8 => Inner::Utf8(array.as_string()),
            DataType::LargeUtf8 => Inner::LargeUtf8(array.as_string()),
            DataType::Utf8View => Inner::Utf8View(array.as_string_view()),
            DataType::Binary => Inner::Binary(array.as_binary()),
            DataType::LargeBinary => Inner::Json(array.as_binary()),
            DataType::BinaryView => Inner::BinaryView(array.as_binary_view()),
            other => panic!("an Arrow array of type {other} holds no SQL values"),
        };
        Self {
            ty: *ty,
            array,
            inner,
        }
    }

    pub fn ty(&self) -> &SqlType {
        &self.ty
    }

    pub fn len(&self) -> usize {
        self.array.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn is_null(&self, row: usize) -> bool {
        matches!(self.inner, Inner::Null) || self.array.is_null(row)
    }

    pub fn value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match self.inner {
            Inner::Null => Value::Null,
            Inner::Boolean(a) => Value::Int(i64::from(a.value(row))),
            Inner::Int64(a) => Value::Int(a.value(row)),
            Inner::UInt64(a) => Value::UInt(a.value(row)),
            Inner::Float64(a) => Value::Double(a.value(row)),
            Inner::Decimal128(a, scale) => Value::Decimal(Decimal::from_i128(a.value(row), scale)),
            Inner::Decimal256(a, scale) => Value::Decimal(Decimal::new(a.value(row), scale)),
            Inner::Utf8(a) => Value::from(a.value(row)),
            Inner::LargeUtf8(a) => Value::from(a.value(row)),
            Inner::Utf8View(a) => Value::from(a.value(row)),
            Inner::Binary(a) => Value::Bytes(a.value(row).to_vec()),
            Inner::Json(a) => Value::Json(JsonRef::of_document(a.value(row)).to_binary()),
            Inner::BinaryView(a) => Value::Bytes(a.value(row).to_vec()),
        }
    }

    /// The bytes of a string or of binary data; `None` for NULL and for every other type.
    pub fn bytes(&self, row: usize) -> Option<&'a [u8]> {
        if self.is_null(row) {
            return None;
        }
        match self.inner {
            Inner::Utf8(a) => Some(a.value(row).as_bytes()),
            Inner::LargeUtf8(a) => Some(a.value(row).as_bytes()),
            Inner::Utf8View(a) => Some(a.value(row).as_bytes()),
            Inner::Binary(a) => Some(a.value(row)),
            Inner::BinaryView(a) => Some(a.value(row)),
            _ => None,
        }
    }

    /// The 64 bits of an integer, a YEAR, a packed point in time or a TIME; `None` for NULL and every other
    /// type.
    pub fn bits(&self, row: usize) -> Option<u64> {
        if self.is_null(row) {
            return None;
        }
        match self.inner {
            Inner::Boolean(a) => Some(u64::from(a.value(row))),
            Inner::Int64(a) => Some(a.value(row) as u64),
            Inner::UInt64(a) => Some(a.value(row)),
            _ => None,
        }
    }

    /// A FLOAT's or DOUBLE's value; `None` for NULL and every other type.
    pub fn double(&self, row: usize) -> Option<f64> {
        match self.inner {
            Inner::Float64(a) if !self.is_null(row) => Some(a.value(row)),
            _ => None,
        }
    }

    /// Appends the text of a value as [`Value::write_text`] does, with no value in between. Nothing for NULL.
    pub fn write_text(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return;
        }
        match self.inner {
            Inner::Null => {}
            Inner::Boolean(a) => out.push(b'0' + u8::from(a.value(row))),
            Inner::Int64(a) if self.ty.kind == TypeKind::Time => {
                Time(a.value(row)).write_text(self.ty.decimals, out);
            }
            Inner::Int64(a) => number_text::write_i64(a.value(row), out),
            Inner::UInt64(a) => write_uint(a.value(row), &self.ty, out),
            Inner::Float64(a) => write_double(a.value(row), &self.ty, out),
            Inner::Decimal128(a, scale) => {
                write_decimal(&Decimal::new(i256::from_i128(a.value(row)), scale), &self.ty, out);
            }
            Inner::Decimal256(a, scale) => write_decimal(&Decimal::new(a.value(row), scale), &self.ty, out),
            Inner::Json(a) => JsonRef::of_document(a.value(row)).write_text(out),
            _ => out.extend_from_slice(self.bytes(row).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{BooleanArray, StringViewArray};

    use super::*;
    use crate::Collation;
    use crate::array::array_of;

    #[test]
    fn text_is_the_values_text() {
        for (ty, value) in [
            (SqlType::BIGINT, Value::Int(-7)),
            (SqlType::BIGINT_UNSIGNED, Value::UInt(7)),
            (SqlType::YEAR, Value::UInt(0)),
            (SqlType::FLOAT, Value::Double(1.5)),
            (SqlType::decimal(10, 2), Value::Decimal(Decimal::from_i128(-5, 2))),
            (SqlType::decimal(60, 2), Value::Decimal(Decimal::from_i128(5, 2))),
            (SqlType::DATE, Value::UInt(0)),
            (SqlType::time(2), Value::Int(-10_000)),
            (SqlType::varchar(10, Collation::DEFAULT), Value::from("x")),
            (SqlType::varchar(10, Collation::Binary), Value::Bytes(vec![255])),
        ] {
            let array = array_of(&value, &ty, 1).unwrap();
            let mut out = Vec::new();
            ColumnView::new(&array, &ty).write_text(0, &mut out);
            assert_eq!(Some(out), value.to_text(&ty));
        }
    }

    #[test]
    fn other_forms_of_the_same_values() {
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
        let view = ColumnView::new(&flags, &SqlType::BOOL);
        assert_eq!((view.value(0), view.value(1)), (Value::Int(1), Value::Null));
        let strings: ArrayRef = Arc::new(StringViewArray::from(vec![
            "a long enough string to be out of line",
        ]));
        let view = ColumnView::new(&strings, &SqlType::varchar(50, Collation::DEFAULT));
        assert_eq!(
            view.value(0).as_str(),
            Some("a long enough string to be out of line")
        );
    }
}
