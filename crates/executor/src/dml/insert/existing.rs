//! The rows that an INSERT finds under its keys.

use schema::layout::RowHandle;
use types::{Result, Value};

use crate::dml::image::Image;
use crate::dml::writer::{Conflict, Writer};

/// A row of the table.
pub(super) struct Existing {
    pub key: Vec<u8>,
    pub handle: RowHandle,
    pub row: Vec<Value>,
}

/// The row that the new one conflicts with.
pub(super) fn existing(image: &Image, conflict: Conflict, writer: &mut Writer<'_, '_>) -> Result<Existing> {
    let no_row = || types::Error::internal("an index entry has no row; ADMIN CHECK TABLE says more");
    let maker = writer.maker;
    let key = writer.conflicting_row_key(image, conflict)?.ok_or_else(no_row)?;
    let value = writer.get(&key)?.ok_or_else(no_row)?;
    let row = maker.decode(&key, value)?;
    Ok(Existing {
        handle: maker.handle(&key)?,
        key,
        row,
    })
}
