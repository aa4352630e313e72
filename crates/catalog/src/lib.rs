//! Which definitions there are, how they change, and the tables that describe them.
//!
//! - [`Catalog::schema`] is all of it at one version, and never changes under its reader.
//! - [`ddl`] carries out definition statements; [`metadata_lock`] keeps statements and definition changes apart.
//! - [`information_schema`]: definitions as rows.
//! - [`split`]: where a table's regions begin.
//! - [`nodes`]: several processes on one store.
//! - [`globals`], [`mail`]: what nodes that share a store tell and ask each other.
//! - [`accounts`]: who may connect. [`check`]: whether rows and indexes agree.
//! - AUTO_INCREMENT and AUTO_RANDOM values and hidden row ids: [`Catalog::allocate_auto_increment`],
//!   [`Catalog::allocate_row_ids`]; how they are spread: [`schema::sharded_id`].
//!
//! Everything is stored under `m` keys of the key-value store. Not here: parsing and binding (`planner`), rows (`executor`).

pub mod accounts;
mod auto_increment;
mod background;
mod catalog;
pub mod check;
pub mod ddl;
mod gc_queue;
pub mod globals;
pub mod information_schema;
pub mod mail;
mod meta;
pub mod metadata_lock;
pub mod nodes;
mod publish;
pub mod split;
mod statistics;
mod system;

pub use auto_increment::largest_id;
pub use catalog::Catalog;
pub use ddl::DdlContext;

#[cfg(test)]
mod test_support;
