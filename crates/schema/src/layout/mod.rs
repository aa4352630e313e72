//! Where a table's values are stored: which columns are in the key of a row, which are in its value, and what
//! an index entry has. The encoding of bytes is in `codec`; `docs/format.md` describes all of it.
//!
//! - [`RowEncoder`]: keys and values of rows, and of their index entries, from values.
//! - [`TableLayout`], [`IndexLayout`]: selected columns of rows and of index entries; [`Decoder`] collects
//!   them in Arrow arrays.
//! - [`place`]: where one column is; [`column_source`] and [`KeyColumns`] read it without arrays.
//! - [`KeyParts`]: the key of the primary key or of an index, part by part, and ranges of it.
//! - [`ShadowLayout`]: rows that an ALTER TABLE rewrites.
//! - [`default_value`]: the text of a default as a value.
//!
//! Each type here owns what it needs of its [`Table`]. Rows have the values of all columns, and indexes have
//! entries of all rows, in any [`crate::model::SchemaState`]: the caller decides what a state means.
//!
//! A TIMESTAMP is in the session's time zone in memory and in UTC in the store, so the caller passes the
//! zone.

mod computed;
mod decoder;
mod defaults;
#[cfg(test)]
mod generated;
mod give;
mod index;
mod integer_column;
mod key_columns;
mod key_parts;
mod row;
mod shadow;
mod stored;
mod stored_columns;
#[cfg(test)]
mod tests;
mod write;
mod zone;

pub use codec::RowHandle;
pub use computed::reading_context;
pub use decoder::{Decoder, DecoderLayout};
pub use defaults::{default_value, original_default};
pub use index::{EntryPlace, IndexLayout, index_covers, place_in_entry};
pub use integer_column::{IntegerColumn, leading_bytes};
pub use key_columns::KeyColumns;
pub use key_parts::{KeyParts, ValueBound, ValueRange, Width};
pub use row::TableLayout;
pub use shadow::{ShadowLayout, ShadowRow};
pub use stored::{Place, column_source, place};
pub use write::{IndexEntry, RowEncoder};
pub use zone::to_local;
pub(crate) use zone::to_stored;

use std::ops::Range;

use crate::model::Table;

/// All rows of a table that has one physical id.
pub fn table_range(table: &Table) -> Range<Vec<u8>> {
    prefix_range(codec::key::row_prefix(table.physical_id()))
}

/// All entries of an index of such a table, by its position in [`Table::indexes`]. Empty if there is none at that position.
pub fn index_range(table: &Table, index: usize) -> Range<Vec<u8>> {
    match table.indexes.get(index) {
        Some(index) => prefix_range(codec::key::index_prefix(table.physical_id(), index.id)),
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
    codec::key::row_key(table.physical_id(), handle)
}
