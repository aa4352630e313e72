//! The SQL corpus: scripts under `tests/sql/` and the answers real MySQL 8.0 gave to them.
//!
//! - [`script`] reads and writes the files,
//! - [`answer`] turns what the server sent into the lines that stand in them,
//! - [`play`] runs one script over its connections,
//! - [`corpus`] runs all of them and compares or records.
//!
//! The format is described for its readers in `tests/sql/README.md`.

pub mod answer;
pub mod connection;
pub mod corpus;
pub mod play;
pub mod script;
