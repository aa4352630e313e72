//! Collects the cells of one column into an Arrow array.
//!
//! For scans: cells are copied from the row into the array's own buffers, and text is checked to be UTF-8
//! once for all rows. Values that do not come from rows are collected by [`types::array::ColumnBuilder`].

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Decimal128Array, Float64Array, Int64Array, LargeBinaryArray, NullArray,
    StringArray, UInt64Array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use types::array::ColumnBuilder;
use types::{Decimal, SqlType, TypeKind, errno};

use super::cell::{self, CellValue, Form};
use crate::Error;
use crate::decimal::SmallForm;

/// The largest number of bytes that are reserved for strings in advance.
const BYTES_AHEAD_MAX: usize = 64 << 10;

/// Collects the cells of one column.
#[derive(Debug)]
pub struct ColumnBuffer {
    ty: SqlType,
    values: Values,
    /// The rows that are NULL, ascending. The buffers have an arbitrary value for them.
    nulls: Vec<u32>,
}

#[derive(Debug)]
enum Values {
    Null(usize),
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    /// In the session's zone.
    Timestamp(Vec<u64>),
    Time(Vec<i64>),
    Double(Vec<f64>),
    Decimal128(Decimals),
    /// Decimals with more digits than fit into 128 bits.
    Decimal(Box<ColumnBuilder>),
    Text(Strings),
    Bytes(Strings),
    Json(Strings),
}

/// Unscaled numbers of the column's scale.
#[derive(Debug)]
struct Decimals {
    small: Option<SmallForm>,
    scale: u8,
    values: Vec<i128>,
}

/// Strings, stored one after the other.
#[derive(Debug)]
struct Strings {
    /// The start of each string, and the end of the last one.
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl ColumnBuffer {
    pub fn new(ty: &SqlType) -> Self {
        let values = match Form::of(ty) {
            _ if ty.kind == TypeKind::Null => Values::Null(0),
            Form::Signed => Values::Signed(Vec::new()),
            Form::Unsigned => Values::Unsigned(Vec::new()),
            Form::Timestamp => Values::Timestamp(Vec::new()),
            Form::Time => Values::Time(Vec::new()),
            Form::Double => Values::Double(Vec::new()),
            Form::Decimal if matches!(ty.arrow_type(), DataType::Decimal128(..)) => {
                Values::Decimal128(Decimals {
                    small: SmallForm::new(ty.length as u8, ty.decimals),
                    scale: ty.decimals,
                    values: Vec::new(),
                })
            }
            Form::Decimal => Values::Decimal(Box::new(ColumnBuilder::new(ty, 0))),
            Form::Text => Values::Text(Strings::new()),
            Form::Bytes => Values::Bytes(Strings::new()),
            Form::Json => Values::Json(Strings::new()),
        };
        Self {
            ty: *ty,
            values,
            nulls: Vec::new(),
        }
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Null(rows) => *rows,
            Values::Signed(values) | Values::Time(values) => values.len(),
            Values::Unsigned(values) | Values::Timestamp(values) => values.len(),
            Values::Double(values) => values.len(),
            Values::Decimal128(decimals) => decimals.values.len(),
            Values::Decimal(builder) => builder.len(),
            Values::Text(strings) | Values::Bytes(strings) | Values::Json(strings) => {
                strings.offsets.len() - 1
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of strings so far.
    pub fn data_bytes(&self) -> usize {
        match &self.values {
            Values::Text(strings) | Values::Bytes(strings) | Values::Json(strings) => strings.bytes.len(),
            _ => 0,
        }
    }

    /// Reserves memory for this many more rows. Strings are assumed to be as long as those so far, and get at
    /// most [`BYTES_AHEAD_MAX`].
    pub fn reserve(&mut self, rows: usize) {
        match &mut self.values {
            Values::Null(_) | Values::Decimal(_) => {}
            Values::Signed(values) | Values::Time(values) => values.reserve(rows),
            Values::Unsigned(values) | Values::Timestamp(values) => values.reserve(rows),
            Values::Double(values) => values.reserve(rows),
            Values::Decimal128(decimals) => decimals.values.reserve(rows),
            Values::Text(strings) | Values::Bytes(strings) | Values::Json(strings) => {
                let mean = strings.bytes.len().div_ceil(strings.offsets.len());
                strings
                    .bytes
                    .reserve(mean.saturating_mul(rows).min(BYTES_AHEAD_MAX));
                strings.offsets.reserve(rows);
            }
        }
    }

    /// Appends a cell that is not NULL.
    #[inline]
    pub fn push_cell(
        &mut self,
        bytes: &[u8],
        utc_to_local: &impl Fn(u64) -> u64,
    ) -> Result<(), types::Error> {
        match &mut self.values {
            Values::Signed(values) => values.push(cell::decode_signed(bytes)?),
            Values::Unsigned(values) => values.push(cell::decode_unsigned(bytes)?),
            Values::Timestamp(values) => values.push(utc_to_local(cell::decode_unsigned(bytes)?)),
            Values::Time(values) => values.push(cell::decode_time(bytes)?),
            Values::Double(values) => values.push(cell::decode_double(bytes)?),
            Values::Decimal128(decimals) => match decimals.small.and_then(|small| small.decode(bytes)) {
                Some(unscaled) => decimals.values.push(unscaled.into()),
                None => decimals.push(cell::decode_decimal(bytes)?)?,
            },
            Values::Decimal(builder) => builder.append_decimal(&cell::decode_decimal(bytes)?)?,
            Values::Text(strings) | Values::Bytes(strings) => strings.push(bytes)?,
            Values::Json(strings) => strings.push(&cell::decode_json(bytes)?)?,
            Values::Null(_) => return Err(self.mismatch("a cell")),
        }
        Ok(())
    }

    pub fn push_null(&mut self) {
        if let Values::Null(_) | Values::Decimal(_) = self.values {
        } else {
            // A batch has far fewer than 2^32 rows: Arrow counts the ends of its strings with 32 bits.
            self.nulls.push(self.len() as u32);
        }
        match &mut self.values {
            Values::Null(rows) => *rows += 1,
            Values::Signed(values) | Values::Time(values) => values.push(0),
            Values::Unsigned(values) | Values::Timestamp(values) => values.push(0),
            Values::Double(values) => values.push(0.0),
            Values::Decimal128(decimals) => decimals.values.push(0),
            Values::Decimal(builder) => builder.append_null(),
            Values::Text(strings) | Values::Bytes(strings) | Values::Json(strings) => strings.push_empty(),
        }
    }

    /// Appends a value. A TIMESTAMP is in the session's zone.
    ///
    /// # Errors
    /// 1105 for a value that is not of the column's type.
    pub fn push(&mut self, value: CellValue<'_>) -> Result<(), types::Error> {
        match (&mut self.values, value) {
            (_, CellValue::Null) => self.push_null(),
            (Values::Signed(values) | Values::Time(values), CellValue::Int(value)) => values.push(value),
            (Values::Unsigned(values) | Values::Timestamp(values), CellValue::UInt(value)) => {
                values.push(value);
            }
            (Values::Double(values), CellValue::Double(value)) => values.push(value),
            (Values::Decimal128(decimals), CellValue::Decimal(value)) => decimals.push(value)?,
            (Values::Decimal(builder), CellValue::Decimal(value)) => builder.append_decimal(&value)?,
            (
                Values::Text(strings) | Values::Bytes(strings),
                CellValue::Text(bytes) | CellValue::Bytes(bytes),
            ) => strings.push(bytes)?,
            (Values::Json(strings), CellValue::Json(document)) => strings.push(document)?,
            (Values::Signed(values) | Values::Time(values), CellValue::UInt(value)) => {
                match i64::try_from(value) {
                    Ok(value) => values.push(value),
                    Err(_) => return Err(self.mismatch("an unsigned integer above 2^63")),
                }
            }
            (Values::Unsigned(values) | Values::Timestamp(values), CellValue::Int(value)) => {
                match u64::try_from(value) {
                    Ok(value) => values.push(value),
                    Err(_) => return Err(self.mismatch("a negative integer")),
                }
            }
            _ => return Err(self.mismatch("a value of another type")),
        }
        Ok(())
    }

    /// Returns the array. The buffer is empty again.
    ///
    /// # Errors
    /// [`Error::Malformed`] if text is not UTF-8.
    pub fn finish(&mut self) -> Result<ArrayRef, types::Error> {
        let nulls = self.take_nulls();
        Ok(match &mut self.values {
            Values::Null(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Values::Signed(values) | Values::Time(values) => {
                Arc::new(Int64Array::new(std::mem::take(values).into(), nulls))
            }
            Values::Unsigned(values) | Values::Timestamp(values) => {
                Arc::new(UInt64Array::new(std::mem::take(values).into(), nulls))
            }
            Values::Double(values) => Arc::new(Float64Array::new(std::mem::take(values).into(), nulls)),
            Values::Decimal128(decimals) => {
                let array = Decimal128Array::new(std::mem::take(&mut decimals.values).into(), nulls);
                Arc::new(array.with_data_type(self.ty.arrow_type()))
            }
            Values::Decimal(builder) => builder.finish(),
            Values::Text(strings) => {
                let (offsets, bytes) = strings.take();
                // Checks that all bytes are UTF-8, and that each value begins and ends between two
                // characters.
                let text = StringArray::try_new(offsets, bytes, nulls).map_err(|_| Error::Malformed {
                    what: "text in a row",
                })?;
                Arc::new(text)
            }
            Values::Bytes(strings) => {
                let (offsets, bytes) = strings.take();
                Arc::new(BinaryArray::try_new(offsets, bytes, nulls).map_err(types::Error::internal)?)
            }
            Values::Json(strings) => {
                let (offsets, bytes) = strings.take();
                let offsets: Vec<i64> = offsets.iter().copied().map(i64::from).collect();
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                Arc::new(LargeBinaryArray::try_new(offsets, bytes, nulls).map_err(types::Error::internal)?)
            }
        })
    }

    fn take_nulls(&mut self) -> Option<NullBuffer> {
        if self.nulls.is_empty() {
            return None;
        }
        let rows = self.len();
        let mut valid = vec![u8::MAX; rows.div_ceil(8)];
        for &row in &self.nulls {
            if let Some(byte) = valid.get_mut(row as usize / 8) {
                *byte &= !(1 << (row % 8));
            }
        }
        self.nulls.clear();
        Some(NullBuffer::new(BooleanBuffer::new(
            Buffer::from_vec(valid),
            0,
            rows,
        )))
    }

    #[cold]
    fn mismatch(&self, what: &str) -> types::Error {
        types::Error::internal(format_args!("{what} for a column of type {:?}", self.ty.kind))
    }
}

impl Decimals {
    /// Digits beyond the column's scale are rounded.
    fn push(&mut self, value: Decimal) -> Result<(), types::Error> {
        let unscaled = value
            .rescale(self.scale)
            .and_then(|value| value.unscaled.to_i128());
        let unscaled = unscaled.ok_or_else(|| types::Error::internal("a decimal for fewer digits"))?;
        self.values.push(unscaled);
        Ok(())
    }
}

impl Strings {
    fn new() -> Self {
        Self {
            offsets: vec![0],
            bytes: Vec::new(),
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) -> Result<(), types::Error> {
        let end = i32::try_from(self.bytes.len() + bytes.len()).map_err(|_| too_much())?;
        match bytes {
            // A single byte is pushed without a call of `memcpy`.
            [byte] => self.bytes.push(*byte),
            _ => self.bytes.extend_from_slice(bytes),
        }
        self.offsets.push(end);
        Ok(())
    }

    fn push_empty(&mut self) {
        let end = self.offsets.last().copied().unwrap_or(0);
        self.offsets.push(end);
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        let Self { offsets, bytes } = std::mem::replace(self, Self::new());
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        (offsets, Buffer::from_vec(bytes))
    }
}

/// Arrow counts a column's bytes with 31 bits.
#[cold]
fn too_much() -> types::Error {
    types::Error::new(
        errno::ER_MEMORY_EXCEEDED,
        "more than 2 GiB of strings in one column of a batch; select fewer or shorter values",
    )
}

#[cfg(test)]
mod tests {
    use arrow::array::Array;
    use types::array::value_at;
    use types::{Collation, Decimal, Value};

    use super::*;

    #[test]
    fn nulls_stay_where_they_were() {
        for (ty, value) in [
            (SqlType::BIGINT, Value::Int(-7)),
            (SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX)),
            (SqlType::DOUBLE, Value::Double(0.5)),
            (
                SqlType::decimal(10, 2),
                Value::Decimal(Decimal::from_i128(1234, 2)),
            ),
            (SqlType::timestamp(0), Value::UInt(123)),
            (SqlType::time(6), Value::Int(-123)),
            (SqlType::varchar(10, Collation::DEFAULT), Value::from("né")),
            (
                SqlType::varchar(10, Collation::Binary),
                Value::Bytes(vec![0, 255]),
            ),
        ] {
            let mut column = ColumnBuffer::new(&ty);
            for round in 0..2 {
                // The second round has no NULLs. Those of the first round must not remain.
                let is_null = |row: usize| round == 0 && row % 3 == 1;
                for row in 0..20 {
                    let value = if is_null(row) { &Value::Null } else { &value };
                    column.push(CellValue::from(value)).unwrap();
                }
                assert_eq!(column.len(), 20);
                let array = column.finish().unwrap();
                assert_eq!(array.data_type(), &ty.arrow_type());
                assert_eq!(array.null_count(), if round == 0 { 7 } else { 0 });
                for row in 0..20 {
                    let expected = if is_null(row) { Value::Null } else { value.clone() };
                    assert_eq!(value_at(&array, row, &ty), expected);
                }
                assert!(column.is_empty());
            }
        }
    }

    #[test]
    fn damaged_text_is_an_error() {
        let same = |packed| packed;
        let damaged: [&[&[u8]]; 2] = [&[b"a", b"\xff"], &[b"\xc3", b"\xa9"]];
        for cells in damaged {
            let mut column = ColumnBuffer::new(&SqlType::varchar(10, Collation::DEFAULT));
            for bytes in cells {
                column.push_cell(bytes, &same).unwrap();
            }
            assert_eq!(column.finish().unwrap_err().code, errno::ER_NOT_KEYFILE);
        }
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let mut column = ColumnBuffer::new(&SqlType::BIGINT);
        assert!(column.push(CellValue::Text(b"x")).is_err());
        assert!(column.push(CellValue::UInt(u64::MAX)).is_err());
        let mut column = ColumnBuffer::new(&SqlType::BIGINT_UNSIGNED);
        assert!(column.push(CellValue::Int(-1)).is_err());
        assert!(column.push_cell(&[1, 2, 3], &|packed| packed).is_err());
        assert!(column.is_empty());
    }
}
