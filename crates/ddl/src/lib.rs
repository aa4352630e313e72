//! Data definition: carries out [`schema::definition::Ddl`] statements as online schema changes.
//!
//! # How a definition changes while statements run
//!
//! A statement that uses a table holds the table's metadata lock to the end of its transaction
//! ([`cluster::metadata_lock`]). A schema change takes the lock exclusively only for the moment in which it
//! publishes a new definition. The exception is an ALTER TABLE that gives rows ids, or that builds an index on an
//! expression over columns that it changes itself: it keeps writers out for the whole change.
//!
//! ADD INDEX goes through the states of F1's protocol ("Online, Asynchronous Schema Change in F1", VLDB
//! 2013). The index is published as write-only, so that every writer maintains it. Entries for existing rows
//! are sorted into files, or written by `backfill` in small transactions, while other statements run (beside files,
//! writers have their entries in a *delta*, which is brought to the index in the end: `sorted`). Then
//! the index is published as public. New columns that the index needs are published with it (`between`). A single
//! process needs no delete-only state, because all its writers know the index when the first entry is written.
//! Several nodes need it (`shared`). While a unique index is not public, a writer removes an entry only if it belongs
//! to the row that is deleted: that row may have no entry yet, while another row has one with the same key. After a
//! crash, the [`job`](job::Job) in the store is finished or undone.
//!
//! If several processes share the store, all of them must close a table. Schema versions do that (`shared`).
//!
//! # Where to find what
//!
//! - [`SchemaChanger`]: the statements and the background work. `execute` dispatches a statement;
//!   `create_table`, `drop_table`, `rename`, `database`, `view` and `alter` have one kind each.
//! - `load`: CREATE TABLE ... SELECT.
//! - `publish`, `change`: a change of definitions becomes stored and visible in one transaction.
//! - `job`, `end`, `about`, `history`: schema changes of more than one transaction, and ADMIN SHOW DDL JOBS.
//! - `backfill` works on all rows: `fill_indexes`, `copy_rows`. `sorted` builds indexes where the store takes
//!   sorted files. `rewrite` has the reasons for rewriting rows, `conversion` how it is done, `primary_key`
//!   when their keys change.
//! - `local` runs a schema change in a store that is not shared, `shared` among nodes. Both use `backfill`
//!   and `rows`.
//! - `alter_plan` computes the definition after an ALTER TABLE (`altered`) by an `alter_draft`, `modify` tells which column
//!   changes keep stored values, `between` has the definitions while the change runs, `way` checks ALGORITHM
//!   and LOCK.
//! - `lock_tables`: LOCK TABLES, which keeps definitions and statements of others out.
//! - `temporary`: definitions of temporary tables, which are not stored.
//! - `foreign_key`: foreign keys in all of these; `foreign_key_rows` checks existing rows.
//! - [`check`]: ADMIN CHECK TABLE. [`split`]: where a table's regions begin. `garbage`: key ranges of dropped
//!   data.
//!
//! Not here: names, limits and the layout of a table (`schema`), schema versions and leases (`cluster`),
//! parsing (`planner`).

mod about;
mod alter;
mod alter_check;
mod alter_draft;
mod alter_expressions;
mod alter_messages;
mod alter_plan;
mod altered;
mod backfill;
mod between;
mod change;
mod changer;
pub mod check;
mod context;
mod conversion;
mod copy_rows;
mod create_table;
mod database;
mod drop_table;
mod end;
mod execute;
mod executed;
mod fill_indexes;
mod foreign_key;
mod foreign_key_rows;
mod garbage;
mod history;
mod job;
mod load;
mod local;
mod lock_tables;
mod modify;
mod new_name;
mod page_work;
mod partition;
mod primary_key;
mod publish;
mod rename;
mod rewrite;
mod rows;
mod shared;
mod sorted;
pub mod split;
mod temporary;
mod view;
mod way;

pub use changer::SchemaChanger;
pub use context::DdlContext;
pub use executed::Executed;
pub use history::DdlJob;
pub use load::LoadedTable;
pub use lock_tables::HeldTables;
pub use temporary::{AlteredTemporary, alter_temporary, check_temporary_name, new_temporary, temporary_like};

#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
#[cfg(test)]
mod tests;
