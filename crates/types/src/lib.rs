//! MySQL's data types, their values in memory, and its errors. Every other crate uses them.
//!
//! Not here: arithmetic, comparison of mixed types, casts and functions (`functions`); bytes on disk
//! (`codec`); bytes on the network (`wire`).
//!
//! - [`SqlType`]: the type of a column or an expression, and which Arrow array holds its values.
//! - [`Value`]: one value. [`mod@array`]: many of them, as Arrow arrays.
//! - [`Decimal`]: exact arithmetic with 65 digits. [`temporal`]: dates and times, also MySQL's zero dates.
//! - [`mod@json`]: documents in the binary form, and as trees.
//! - [`Collation`]: order and equality of strings, and sort keys that agree with them.
//! - [`Error`]: number, SQLSTATE and message of MySQL's errors. What a client sees of a failure is decided
//!   here.
//!
//! Where to go next: [`SqlType`], whose documentation has a table of all types; then `functions`.

pub mod array;
pub mod base64;
pub mod charset;
pub mod collation;
pub mod decimal;
pub mod error;
pub mod json;
mod members;
pub mod name;
pub mod number_narrow;
pub mod number_text;
mod packed;
mod sql_mode;
pub mod sql_type;
pub mod stack;
pub mod temporal;
mod type_name;
pub mod value;

pub use charset::Charset;
pub use collation::Collation;
pub use decimal::Decimal;
pub use error::{Error, Result, Warning, WarningLevel, errno};
pub use members::Members;
pub use name::same_name;
pub use sql_mode::SqlMode;
pub use sql_type::{SqlType, TypeKind};
pub use type_name::quoted;
pub use value::{Value, shown_bytes};
