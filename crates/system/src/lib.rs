//! The databases that the server itself provides: `information_schema`, `performance_schema`, `mysql` and
//! `sys`.
//!
//! - [`databases`]: their definitions, which are part of every schema version. Nothing of them is stored.
//! - [`batches`]: the rows of one of their tables. Conditions on the names of databases, tables and columns
//!   reach the table, which then reads only the definitions that satisfy them.
//! - `table`: the trait that a table implements. `tables`: the registry, with one file for each table that
//!   has rows. Tables that MySQL has and that are always empty here are in `empty_tables.txt`.
//! - [`Server`]: what the tables need from the server: connections, variables, privileges of the reader.
//! - [`columns`], [`keys`], [`plugins`], [`charsets`]: what SHOW statements have in common with the tables.
//! - [`StatisticsCatalog`]: sizes of tables, and statistics of their values.
//!
//! Not here: SHOW statements and the server's variables (`session`), what a table is (`schema`). Start at
//! `table`.

pub mod charsets;
pub mod columns;
mod condition;
mod definitions;
mod engine_status;
pub mod keys;
mod locks;
pub mod plugins;
mod rows;
mod statistics;
mod table;
mod tables;
mod values;

pub use definitions::databases;
pub use engine_status::engine_status;
pub use rows::{batches, rows};
pub use statistics::{StatisticsCatalog, Wanted};
pub use table::{Server, SessionTransaction, Sources, UserLock, is_view_of_sys, needs_process};

#[cfg(test)]
mod tests;
