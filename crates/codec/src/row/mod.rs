//! Rows: the compact format of version 128 that TiDB documents as "row format v2".
//!
//! ```text
//! version 128 | flags | not-null count: 2 | null count: 2
//! | ids of the columns that are not NULL, ascending | ids of the NULL ones, ascending
//! | end of each value, relative to the first | values
//! ```
//!
//! Counts, ids and ends are little-endian. Ids take 1 byte and ends 2, unless flag 1 (large) is set: then 4
//! each. A column that is in neither list was added after the row was written, or is held by the key.
//!
//! - [`RowEncoder`] writes rows. [`RowView`] finds a column's bytes in one. [`RowDecoder`] moves chosen
//!   columns into [`ColumnBuffer`]s, which become Arrow arrays.
//! - [`ColumnSource`] passes one column's value to a [`TakeCell`], for callers that need no arrays.
//! - [`cell`]: the bytes of one value.
//!
//! Which columns a table stores in its rows is in `schema::layout`.

pub mod cell;
mod check;
mod column;
mod decode;
mod encode;
mod shape;
mod view;

pub use cell::{CellValue, TakeCell};
pub use check::{RowCheck, StoredNumber, TextCheck, TextTest};
pub use column::ColumnBuffer;
pub use decode::{ColumnSource, RowDecoder};
pub use encode::RowEncoder;
pub use shape::RowShape;
pub use view::{Cell, Cursor, RowView};

pub const VERSION: u8 = 128;
const FLAG_LARGE: u8 = 1;
/// Version, flags and the two counts.
const HEADER_LEN: usize = 6;
