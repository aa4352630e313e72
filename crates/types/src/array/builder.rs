//! An Arrow array from values.

use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BinaryBuilder, Decimal128Builder, Decimal256Builder, Float64Builder,
    Int64Builder, LargeBinaryBuilder, NullArray, StringBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, i256};

use crate::json::JsonRef;
use crate::{Decimal, Error, Result, SqlType, Value, errno};

/// Collects the values of one column in the Arrow type of its [`SqlType`].
///
/// The typed methods convert between signed and unsigned if the value allows it. They fail with 1105 for a
/// value that is not of the column's type, which is a defect of the caller.
#[derive(Debug)]
pub struct ColumnBuilder {
    ty: SqlType,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Null(usize),
    Int64(Int64Builder),
    UInt64(UInt64Builder),
    Float64(Float64Builder),
    Decimal128(Decimal128Builder),
    Decimal256(Decimal256Builder),
    Utf8(StringBuilder),
    Binary(BinaryBuilder),
    Json(LargeBinaryBuilder),
}

/// The most bytes of strings in an array: Arrow's offsets have 32 bits.
const MAX_STRING_BYTES: usize = i32::MAX as usize;

impl ColumnBuilder {
    /// `capacity` in rows.
    pub fn new(ty: &SqlType, capacity: usize) -> Self {
        let inner = match ty.arrow_type() {
            DataType::Null => Inner::Null(0),
            DataType::Int64 => Inner::Int64(Int64Builder::with_capacity(capacity)),
            DataType::UInt64 => Inner::UInt64(UInt64Builder::with_capacity(capacity)),
            DataType::Float64 => Inner::Float64(Float64Builder::with_capacity(capacity)),
            dt @ DataType::Decimal128(..) => {
                Inner::Decimal128(Decimal128Builder::with_capacity(capacity).with_data_type(dt))
            }
            dt @ DataType::Decimal256(..) => {
                Inner::Decimal256(Decimal256Builder::with_capacity(capacity).with_data_type(dt))
            }
            DataType::Binary => Inner::Binary(BinaryBuilder::with_capacity(capacity, capacity * 16)),
            DataType::LargeBinary => Inner::Json(LargeBinaryBuilder::with_capacity(capacity, capacity * 16)),
            _ => Inner::Utf8(StringBuilder::with_capacity(capacity, capacity * 16)),
        };
        Self { ty: *ty, inner }
    }

    pub fn ty(&self) -> &SqlType {
        &self.ty
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        match &self.inner {
            Inner::Null(n) => *n,
            Inner::Int64(b) => b.len(),
            Inner::UInt64(b) => b.len(),
            Inner::Float64(b) => b.len(),
            Inner::Decimal128(b) => b.len(),
            Inner::Decimal256(b) => b.len(),
            Inner::Utf8(b) => b.len(),
            Inner::Binary(b) => b.len(),
            Inner::Json(b) => b.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of variable-length data so far, which limit a batch of long strings.
    pub fn data_bytes(&self) -> usize {
        match &self.inner {
            Inner::Utf8(b) => b.values_slice().len(),
            Inner::Binary(b) => b.values_slice().len(),
            Inner::Json(b) => b.values_slice().len(),
            _ => 0,
        }
    }

    pub fn append(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Null => {
                self.append_null();
                Ok(())
            }
            Value::Int(v) => self.append_i64(*v),
            Value::UInt(v) => self.append_u64(*v),
            Value::Double(v) => self.append_f64(*v),
            Value::Decimal(v) => self.append_decimal(v),
            Value::String(v) => self.append_str(v),
            Value::Bytes(v) => self.append_bytes(v),
            Value::Json(v) => self.append_json(v.as_bytes()),
        }
    }

    pub fn append_null(&mut self) {
        match &mut self.inner {
            Inner::Null(n) => *n += 1,
            Inner::Int64(b) => b.append_null(),
            Inner::UInt64(b) => b.append_null(),
            Inner::Float64(b) => b.append_null(),
            Inner::Decimal128(b) => b.append_null(),
            Inner::Decimal256(b) => b.append_null(),
            Inner::Utf8(b) => b.append_null(),
            Inner::Binary(b) => b.append_null(),
            Inner::Json(b) => b.append_null(),
        }
    }

    pub fn append_i64(&mut self, value: i64) -> Result<()> {
        match &mut self.inner {
            Inner::Int64(b) => b.append_value(value),
            Inner::UInt64(b) => match u64::try_from(value) {
                Ok(value) => b.append_value(value),
                Err(_) => return Err(self.mismatch("a negative integer")),
            },
            Inner::Decimal128(_) | Inner::Decimal256(_) => {
                return self.append_decimal(&Decimal::from_i64(value));
            }
            _ => return Err(self.mismatch("an integer")),
        }
        Ok(())
    }

    pub fn append_u64(&mut self, value: u64) -> Result<()> {
        match &mut self.inner {
            Inner::UInt64(b) => b.append_value(value),
            Inner::Int64(b) => match i64::try_from(value) {
                Ok(value) => b.append_value(value),
                Err(_) => return Err(self.mismatch("an unsigned integer above 2^63")),
            },
            Inner::Decimal128(_) | Inner::Decimal256(_) => {
                return self.append_decimal(&Decimal::from_u64(value));
            }
            _ => return Err(self.mismatch("an unsigned integer")),
        }
        Ok(())
    }

    pub fn append_f64(&mut self, value: f64) -> Result<()> {
        match &mut self.inner {
            Inner::Float64(b) => b.append_value(value),
            _ => return Err(self.mismatch("a floating-point number")),
        }
        Ok(())
    }

    /// Rescaled to the column's scale, digits beyond it rounded.
    pub fn append_decimal(&mut self, value: &Decimal) -> Result<()> {
        let scaled = if value.scale == self.ty.decimals {
            Some(*value)
        } else {
            value.rescale(self.ty.decimals)
        };
        match (&mut self.inner, scaled) {
            (Inner::Decimal128(b), Some(d)) => {
                if let Some(v) = d.unscaled.to_i128() {
                    b.append_value(v);
                    return Ok(());
                }
            }
            (Inner::Decimal256(b), Some(d)) => {
                b.append_value(d.unscaled);
                return Ok(());
            }
            _ => {}
        }
        Err(self.mismatch("a decimal"))
    }

    /// An unscaled decimal that already has the column's scale.
    pub fn append_unscaled(&mut self, unscaled: i256) -> Result<()> {
        self.append_decimal(&Decimal::new(unscaled, self.ty.decimals))
    }

    pub fn append_str(&mut self, value: &str) -> Result<()> {
        self.check_room(value.len())?;
        match &mut self.inner {
            Inner::Utf8(b) => b.append_value(value),
            Inner::Binary(b) => b.append_value(value.as_bytes()),
            _ => return Err(self.mismatch("a string")),
        }
        Ok(())
    }

    /// Bytes for a binary column; for a text column they must be UTF-8.
    pub fn append_bytes(&mut self, value: &[u8]) -> Result<()> {
        self.check_room(value.len())?;
        match &mut self.inner {
            Inner::Binary(b) => b.append_value(value),
            Inner::Utf8(b) => match std::str::from_utf8(value) {
                Ok(text) => b.append_value(text),
                Err(_) => return Err(self.mismatch("bytes that are no UTF-8")),
            },
            _ => return Err(self.mismatch("bytes")),
        }
        Ok(())
    }

    /// A document in the binary form; its text for a column of text.
    pub fn append_json(&mut self, document: &[u8]) -> Result<()> {
        match &mut self.inner {
            Inner::Json(b) => {
                b.append_value(document);
                Ok(())
            }
            Inner::Utf8(_) => self.append_str(&JsonRef::of_document(document).to_text()),
            _ => Err(self.mismatch("a JSON document")),
        }
    }

    /// The array; the builder is empty again.
    pub fn finish(&mut self) -> ArrayRef {
        match &mut self.inner {
            Inner::Null(n) => Arc::new(NullArray::new(std::mem::take(n))),
            Inner::Int64(b) => Arc::new(b.finish()),
            Inner::UInt64(b) => Arc::new(b.finish()),
            Inner::Float64(b) => Arc::new(b.finish()),
            Inner::Decimal128(b) => Arc::new(b.finish()),
            Inner::Decimal256(b) => Arc::new(b.finish()),
            Inner::Utf8(b) => Arc::new(b.finish()),
            Inner::Binary(b) => Arc::new(b.finish()),
            Inner::Json(b) => Arc::new(b.finish()),
        }
    }

    /// Arrow would panic if its offsets overflowed.
    fn check_room(&self, more: usize) -> Result<()> {
        if self.data_bytes().saturating_add(more) > MAX_STRING_BYTES {
            return Err(Error::new(
                errno::ER_MEMORY_EXCEEDED,
                "more than 2 GiB of strings in one column of a batch; select fewer or shorter values",
            ));
        }
        Ok(())
    }

    #[cold]
    fn mismatch(&self, what: &str) -> Error {
        Error::internal(format!("{what} for a column of type {:?}", self.ty.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;
    use crate::array::{array_of, value_at};
    use crate::json::JsonBinary;

    #[test]
    fn every_type_comes_back() {
        let text = SqlType::varchar(10, Collation::DEFAULT);
        let binary = SqlType::varchar(10, Collation::Binary);
        for (ty, value) in [
            (SqlType::BIGINT, Value::Int(-7)),
            (SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX)),
            (SqlType::YEAR, Value::UInt(2024)),
            (SqlType::DOUBLE, Value::Double(0.5)),
            (
                SqlType::decimal(10, 2),
                Value::Decimal(Decimal::from_i128(1234, 2)),
            ),
            (
                SqlType::decimal(65, 30),
                Value::Decimal(Decimal::max_value(65, 30)),
            ),
            (SqlType::datetime(6), Value::UInt(123)),
            (SqlType::time(6), Value::Int(-123)),
            (text, Value::from("text")),
            (SqlType::JSON, Value::Json(JsonBinary::null())),
            (binary, Value::Bytes(vec![0, 255])),
        ] {
            let array = array_of(&value, &ty, 2).unwrap();
            assert_eq!(array.data_type(), &ty.arrow_type());
            assert_eq!(value_at(&array, 1, &ty), value);
            let nulls = array_of(&Value::Null, &ty, 3).unwrap();
            assert_eq!((nulls.len(), value_at(&nulls, 2, &ty)), (3, Value::Null));
        }
        assert_eq!(array_of(&Value::Null, &SqlType::NULL, 4).unwrap().len(), 4);
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let mut builder = ColumnBuilder::new(&SqlType::BIGINT, 1);
        assert!(builder.append(&Value::from("x")).is_err());
        assert!(builder.append_u64(u64::MAX).is_err());
        assert!(
            ColumnBuilder::new(&SqlType::BIGINT_UNSIGNED, 1)
                .append_i64(-1)
                .is_err()
        );
        let mut text = ColumnBuilder::new(&SqlType::varchar(1, Collation::DEFAULT), 1);
        assert!(text.append_bytes(&[0xff]).is_err());
        assert!(text.is_empty());
    }

    #[test]
    fn decimals_take_the_columns_scale() {
        let ty = SqlType::decimal(5, 1);
        let mut builder = ColumnBuilder::new(&ty, 2);
        builder.append_decimal(&Decimal::from_i128(125, 2)).unwrap();
        builder.append_i64(3).unwrap();
        let array = builder.finish();
        assert_eq!(
            value_at(&array, 0, &ty),
            Value::Decimal(Decimal::from_i128(13, 1))
        );
        assert_eq!(value_at(&array, 1, &ty).display_text(&ty), "3.0");
        assert!(builder.is_empty());
    }
}
