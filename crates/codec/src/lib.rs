//! The bytes of rows, index entries and their keys, in the layout that TiDB documents. `docs/format.md`
//! describes every byte, and where ours differ.
//!
//! - [`key`]: `t{table}_r{handle}`, `t{table}_i{index}...`. [`meta`]: `m...`.
//! - [`datum`]: one value as a part of a key, made of [`memcomparable`] encodings and [`decimal`]s.
//! - [`row`]: the values of rows. [`index`]: the values of index entries.
//!
//! Not here: which columns of a table are stored where (`schema::layout`), time zones, and access to the
//! store. Malformed bytes are an [`Error`], never a panic. Where to go next: `docs/format.md`, then [`key`] and
//! [`row`].

pub mod datum;
pub mod decimal;
mod error;
pub mod index;
pub mod key;
pub mod memcomparable;
pub mod meta;
pub mod row;

pub use error::{Error, Result};
pub use key::{RowHandle, prefix_next};
