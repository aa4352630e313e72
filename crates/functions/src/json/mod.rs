//! JSON values: conversions, order, paths and functions.
//!
//! A JSON column or expression has a document in the binary form ([`types::json`]). Functions read it in
//! place, and those that change documents convert it to a tree.
//!
//! - [`order`], [`key`]: how values compare, and bytes that compare as they do.
//! - [`path`]: `$.a[0]`, `$**.b`.
//! - [`convert`]: from SQL values to JSON and back. [`multi_valued`]: to the values of an index's entries.
//! - [`argument`]: documents and paths as arguments.
//! - [`read`], [`mod@write`]: the functions; [`returning`] has JSON_VALUE, [`schema`] JSON Schema,
//!   [`storage`] the sizes of documents, [`table`] JSON_TABLE.
//!
//! Why no crate: `docs/dependencies.md`.

mod argument;
pub(crate) mod convert;
pub(crate) mod key;
pub(crate) mod loss;
pub mod multi_valued;
mod order;
pub(crate) mod path;
pub(crate) mod read;
mod returning;
mod schema;
mod storage;
pub mod table;
pub(crate) mod write;

pub(crate) use argument::of_binary;
