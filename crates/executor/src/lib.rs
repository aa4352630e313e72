//! Transactional plans: point reads, index ranges, small sorts and aggregates, and all writes. Runs on the connection's
//! own thread.
//!
//! - [`query()`] runs a query: `operator` has its operators, one per file, of which `operator::scan` is where rows are
//!   read and locked.
//! - [`insert`], [`update`] and [`delete`] change rows (`dml`).
//! - [`direct`] has the short ways of rows that are sent as they are stored.
//! - [`ExecContext`] is what a statement needs of its surroundings, [`ReadSource`] where it reads.
//!
//! Not here: plans (`planner`), expressions (`functions`), plans that touch much data (`analytics`).

mod batch;
pub mod context;
pub mod direct;
mod dml;
mod env;
mod memory;
mod operator;
pub mod query;
mod ranges;
mod row_order;
pub mod source;

pub use context::{DmlResult, ExecContext, RowSink, VirtualTables};
pub use direct::PacketRows;
pub use dml::{delete, insert, update};
pub use memory::refused;
pub use query::{query, reads_one_moment};
pub use source::ReadSource;
