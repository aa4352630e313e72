//! Truth values of columns, and columns that are combined by a condition.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, Scalar};
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::DataType;
use types::{Result, SqlType};

use super::output::{finish_array, finish_value};
use crate::datum::Datum;
use crate::input::ColumnarValue;
use crate::truth::truth;

/// `then` where the condition is true, `otherwise` elsewhere, as an array of the type.
pub(super) fn choose(
    condition: &BooleanArray,
    then: &ColumnarValue,
    otherwise: &ColumnarValue,
    ty: &SqlType,
    rows: usize,
) -> Result<ArrayRef> {
    let (then, otherwise) = (operand(then, ty)?, operand(otherwise, ty)?);
    let chosen = zip(condition, then.as_ref(), otherwise.as_ref()).map_err(types_error)?;
    debug_assert_eq!(chosen.len(), rows);
    Ok(chosen)
}

/// An array of the type, or one value of it for all rows.
fn operand(value: &ColumnarValue, ty: &SqlType) -> Result<Box<dyn arrow::array::Datum>> {
    Ok(match value {
        ColumnarValue::Array(array) => Box::new(finish_array(array.clone(), ty)?),
        ColumnarValue::Scalar(value) => {
            let value = finish_value(value.clone(), ty);
            Box::new(Scalar::new(types::array::array_of(&value, ty, 1)?))
        }
    })
}

pub(super) fn truths_of(value: &ColumnarValue, rows: usize) -> Result<BooleanArray> {
    match value {
        ColumnarValue::Array(array) => truths(array),
        ColumnarValue::Scalar(value) => Ok(match truth(&Datum::of(value)) {
            Some(known) => BooleanArray::from(vec![known; rows]),
            None => BooleanArray::new_null(rows),
        }),
    }
}

/// The truth of each value of an array: NULL, or whether it is not zero.
pub(crate) fn truths(array: &ArrayRef) -> Result<BooleanArray> {
    match array.data_type() {
        DataType::Boolean => Ok(array.as_boolean().clone()),
        DataType::Int64 => {
            let ints = array.as_primitive::<arrow::datatypes::Int64Type>();
            Ok(BooleanArray::from_unary(ints, |v| v != 0))
        }
        _ => {
            let mut out = BooleanBuilder::with_capacity(array.len());
            for i in 0..array.len() {
                out.append_option(truth(&Datum::at(array.as_ref(), i)?));
            }
            Ok(out.finish())
        }
    }
}

/// A failure in Arrow. It is a defect of this crate, because types were checked before.
pub(crate) fn types_error(error: arrow::error::ArrowError) -> types::Error {
    types::Error::internal(error)
}
