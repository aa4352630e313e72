//! One value to the buffer of a position.

use codec::row::{CellValue, ColumnBuffer};
use types::{Error, Result, Value};

pub(super) fn give_to(buffers: &mut [ColumnBuffer], position: usize, value: &Value) -> Result<()> {
    give_cell(buffers, position, CellValue::from(value))
}

pub(super) fn give_cell(buffers: &mut [ColumnBuffer], position: usize, value: CellValue<'_>) -> Result<()> {
    match buffers.get_mut(position) {
        Some(buffer) => buffer.push(value),
        None => Err(Error::internal("fewer buffers than chosen columns")),
    }
}
