//! JSON values: their binary form, which is TiDB's, trees to build documents from, and their text.
//!
//! - [`JsonBinary`]: a document that is stored, moved and compared. [`JsonRef`]: one value in it, read in
//!   place.
//! - [`Json`]: a document as a tree, for code that makes or changes documents.
//! - [`mod@parse`]: from text, with MySQL's error messages and positions.
//!
//! ```text
//! document     = type value
//! type         = 0x01 object | 0x03 array | 0x04 literal | 0x09 int64 | 0x0a uint64 | 0x0b double | 0x0c string
//!              | 0x0d opaque | 0x0e date | 0x0f datetime | 0x10 timestamp | 0x11 time
//! object       = count:u32 size:u32 key-entry* value-entry* key* value*
//! array        = count:u32 size:u32 value-entry* value*
//! key-entry    = offset:u32 length:u16
//! value-entry  = type offset:u32, or 0x04 and the literal in the first of the four bytes
//! literal      = 0 null | 1 true | 2 false
//! string       = length:varint bytes
//! opaque       = MySQL's field type:u8 length:varint bytes
//! date .. timestamp = year:14 month:4 day:5 hour:5 minute:6 second:6 microsecond:20 digits and type:4
//! time         = nanoseconds:i64 digits:u32
//! ```
//!
//! Numbers are little-endian. Offsets and `size` count from the beginning of the container's value, so that
//! any value can be copied out as a document of its own. Keys are in MySQL's order: by length, then by bytes.
//! A DECIMAL is opaque, of field type 246: precision, scale and digits as rows have them.
//!
//! Not here: the functions (`functions`).

mod binary;
mod parse;
mod print;
mod tree;
mod view;

pub use binary::JsonBinary;
pub use parse::{ParseError, parse};
pub use print::write_quoted;
pub use tree::{Json, key_order};
pub use view::{JsonArray, JsonObject, JsonRef, JsonView};

use crate::{Error, errno};

/// MySQL's limit of nested arrays and objects.
const MAX_DEPTH: u8 = 100;

#[cold]
fn too_deep() -> Error {
    Error::new(
        errno::ER_JSON_DOCUMENT_TOO_DEEP,
        "The JSON document exceeds the maximum depth.",
    )
}

/// MySQL's codes of field types, in opaque values.
pub mod field_type {
    pub const BIT: u8 = 16;
    pub const VARCHAR: u8 = 15;
    pub const DECIMAL: u8 = 246;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
}

/// The types of values in the binary form.
mod code {
    pub const OBJECT: u8 = 0x01;
    pub const ARRAY: u8 = 0x03;
    pub const LITERAL: u8 = 0x04;
    pub const INT: u8 = 0x09;
    pub const UINT: u8 = 0x0a;
    pub const DOUBLE: u8 = 0x0b;
    pub const STRING: u8 = 0x0c;
    pub const OPAQUE: u8 = 0x0d;
    pub const DATE: u8 = 0x0e;
    pub const DATETIME: u8 = 0x0f;
    pub const TIMESTAMP: u8 = 0x10;
    pub const TIME: u8 = 0x11;
}

const LITERAL_NULL: u8 = 0;
const LITERAL_TRUE: u8 = 1;
const LITERAL_FALSE: u8 = 2;

/// The count and the size of an array or object.
const HEADER_BYTES: usize = 8;
const KEY_ENTRY_BYTES: usize = 6;
const VALUE_ENTRY_BYTES: usize = 5;
