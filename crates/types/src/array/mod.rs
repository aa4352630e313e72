//! Values to Arrow arrays and back.
//!
//! - [`ColumnBuilder`]: one array from many values.
//! - [`ColumnView`]: values, or their text, out of one array.
//!
//! Which Arrow type holds which SQL type is in [`SqlType`]'s table. Not here: evaluation over arrays
//! (`functions`).

mod builder;
mod view;

pub use builder::ColumnBuilder;
pub use view::ColumnView;

use arrow::array::ArrayRef;

use crate::{Result, SqlType, Value};

/// One value of an array.
///
/// # Panics
/// If neither [`SqlType::arrow_type`] nor an executor makes arrays of this type, or if `row` is out of range:
/// both are defects of the caller.
pub fn value_at(array: &ArrayRef, row: usize, ty: &SqlType) -> Value {
    ColumnView::new(array, ty).value(row)
}

/// An array that holds `value` `rows` times.
///
/// # Errors
/// 1105 if the value is not of the type.
pub fn array_of(value: &Value, ty: &SqlType, rows: usize) -> Result<ArrayRef> {
    let mut builder = ColumnBuilder::new(ty, rows);
    for _ in 0..rows {
        builder.append(value)?;
    }
    Ok(builder.finish())
}
