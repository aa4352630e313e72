//! The SQL corpus: scripts under `tests/sql/`, with the results of real MySQL 8.0.
//!
//! - [`script`] reads and writes the files,
//! - [`answer`] turns a server's results into lines,
//! - [`play`] runs one script over its connections,
//! - [`corpus`] runs all of them and compares or records.
//!
//! `tests/sql/README.md` describes the format.

pub mod answer;
pub mod connection;
pub mod corpus;
pub mod play;
pub mod script;
