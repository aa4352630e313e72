//! MySQL's and MariaDB's binary log in row format: events, and the rows in them.
//!
//! The connection to the source is the driver's; what is inside an event is read here, because each value has
//! to be exact: unsigned numbers where the log does not say so, `YEAR` 0, fractions, JSON with its decimals.
//! Sources: "MySQL Internals", "Replication Protocol"; MariaDB's knowledge base, "Replication Protocol".
//!
//! - [`bytes`]: reading without panics. [`event`]: events. [`table_map`] and [`rows`]: what changed.
//! - [`value`]: one column, [`packed`] what it shares with [`json`]: MySQL's binary JSON as text.
//! - [`reader`]: events from a server, on a thread of its own.

mod bytes;
pub(crate) mod event;
mod json;
mod packed;
pub(crate) mod reader;
pub(crate) mod rows;
pub(crate) mod table_map;
mod value;

#[cfg(test)]
mod tests;
