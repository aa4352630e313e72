//! Where a table's values are stored: which columns make the key of a row, which stand in its value, and what an index
//! entry holds. The bytes themselves are `codec`'s; all of them together are in `docs/format.md`.
//!
//! - [`RowEncoder`]: keys and values of rows, and of their index entries, from values.
//! - [`TableLayout`], [`IndexLayout`]: chosen columns out of rows and index entries; [`Decoder`] collects them into Arrow
//!   arrays.
//! - [`place`]: where one column is; [`column_source`] and [`KeyColumns`] read it without arrays.
//! - [`KeyParts`]: the key of the primary key or of an index, part by part, and ranges of it.
//! - [`default_value`]: the text of a default as a value.
//!
//! Everything here owns what it needs of the [`Table`] it was made for. Rows hold the values of all columns and indexes
//! have entries of all rows, whatever their [`crate::model::SchemaState`]: who calls decides what a state means.
//!
//! A TIMESTAMP is in the session's zone in memory and in UTC in the store; whoever encodes or decodes says which zone.

mod decoder;
mod defaults;
mod index;
mod key_columns;
mod key_parts;
mod row;
mod stored;
#[cfg(test)]
mod tests;
mod write;
mod zone;

pub use codec::RowHandle;
pub use decoder::Decoder;
pub use defaults::default_value;
pub use index::{IndexLayout, index_covers};
pub use key_columns::KeyColumns;
pub use key_parts::{KeyParts, ValueBound, ValueRange, Width};
pub use row::TableLayout;
pub use stored::{Place, column_source, place};
pub use write::{IndexEntry, RowEncoder};
pub use zone::to_local;

use std::ops::Range;

use crate::model::Table;

/// All rows of a table.
pub fn table_range(table: &Table) -> Range<Vec<u8>> {
    prefix_range(codec::key::row_prefix(table.id))
}

/// All entries of an index, by its position in [`Table::indexes`]. Empty if there is none at that position.
pub fn index_range(table: &Table, index: usize) -> Range<Vec<u8>> {
    match table.indexes.get(index) {
        Some(index) => prefix_range(codec::key::index_prefix(table.id, index.id)),
        None => vec![0]..vec![0],
    }
}

/// All keys that begin with `prefix`.
fn prefix_range(prefix: Vec<u8>) -> Range<Vec<u8>> {
    let end = codec::prefix_next(&prefix);
    prefix..end
}

/// The key of a table's row.
pub fn row_key(table: &Table, handle: &RowHandle) -> Vec<u8> {
    codec::key::row_key(table.id, handle)
}
