//! What a database, a table, a column and an index is, and how a table is laid out in keys.
//!
//! - [`model`]: the definitions. A [`model::Schema`] is all of them at one version and never changes.
//! - [`definition`]: what a data definition statement asks for. [`new_table()`] makes a table of it, within
//!   MySQL's [`limits`].
//! - [`layout`]: which keys and values hold a table's rows and index entries.
//! - [`show_create`]: definitions as MySQL's text. [`default_value`]: defaults as text. [`duplicate`]: the
//!   text of error 1062.
//! - [`partition`]: tables whose rows lie in several places.
//! - `physical`: under which ids the rows of a table lie.
//! - [`view`]: what a view is besides its name and columns.
//! - [`create_options`]: options that are only shown.
//! - [`expression`]: expressions of a definition as they are stored; [`bound`]: the same, ready to be
//!   evaluated. [`check_constraints`]: the names of CHECK constraints.
//! - [`foreign_key`]: what a table refers to, and the tables that refer to it.
//! - [`statistics`]: what is known of the values in a table.
//! - [`shadow`]: how an ALTER TABLE rewrites rows.
//! - [`privilege`]: what an account can be granted.
//! - [`temporary`], [`temporary_tables`]: tables of one session.
//! - [`sharded_id`]: how AUTO_RANDOM values and hidden row ids are composed.
//!
//! Not here: transactions and I/O of any kind. `cluster` loads the definitions of a store, `ddl` changes
//! them, `system` has the tables that describe them. The bytes of a key or a row are `codec`'s. Start at
//! [`model`].

pub mod bound;
pub mod check_constraints;
pub mod create_options;
pub mod default_value;
pub mod definition;
mod dictionary_tables;
pub mod duplicate;
pub mod expression;
pub mod foreign_key;
pub mod functional_index;
pub mod indexes;
pub mod layout;
pub mod limits;
pub mod model;
mod new_table;
pub mod partition;
mod physical;
pub mod privilege;
pub mod shadow;
pub mod sharded_id;
pub mod show_create;
pub mod statistics;
mod table_expressions;
pub mod temporary;
pub mod temporary_tables;
#[cfg(any(test, feature = "test-support"))]
pub mod test_support;
pub mod view;

pub use new_table::{new_table, sort_keys, table_like};
