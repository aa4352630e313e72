//! JSON values: a tree, its normalised text, its order.
//!
//! A JSON column or expression holds normalised text (keys by length, then bytes; `", "` and `": "` between),
//! so values are parsed when a function looks into them.
//!
//! - [`value`]: the tree.
//! - [`parse`]: text in, with MySQL's error messages and positions.
//! - [`order`], [`key`]: how values compare, and bytes that compare as they do.
//! - [`path`]: `$.a[0]`, `$**.b`.
//! - [`convert`]: from SQL values to JSON and back.
//! - [`read`], [`mod@write`]: the functions; [`returning`] has JSON_VALUE, [`schema`] JSON Schema, [`storage`]
//!   the sizes of documents, [`table`] JSON_TABLE.
//!
//! Why no crate: `docs/dependencies.md`.

pub(crate) mod convert;
pub(crate) mod key;
mod order;
pub(crate) mod parse;
pub(crate) mod path;
pub(crate) mod read;
mod returning;
mod schema;
mod storage;
pub mod table;
pub(crate) mod value;
pub(crate) mod write;
