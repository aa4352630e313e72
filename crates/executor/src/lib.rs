//! Transactional plans: point reads, index ranges, joins and subqueries, small sorts and aggregates, and all
//! writes. They run on the connection's own thread.
//!
//! - [`query()`] runs a query. `operator` has its operators, one per file; `operator::scan` reads and locks
//!   rows.
//! - [`insert`], [`update`] and [`delete`] change rows (`dml`).
//! - [`direct`] sends stored rows without operators, for point selects, ranges and their aggregates.
//! - [`ExecContext`] is what a statement needs from the session, [`ReadSource`] what it reads from.
//!
//! Not here: plans (`planner`), expressions and the order of rows (`functions`), plans that touch much data
//! (`analytics`). To follow a query, start in [`query()`]; to follow a write, in `dml/update.rs`.

mod batch;
pub mod context;
pub mod direct;
mod dml;
mod env;
mod field_reader;
mod memory;
mod operator;
mod pipeline;
mod pushed;
pub mod query;
mod ranges;
mod row_budget;
pub mod row_checks;
mod row_order;
pub mod source;
mod spill;

pub use context::{DmlResult, ExecContext, NoVirtualTables, RowSink, VirtualTables};
pub use direct::PacketRows;
pub use dml::{delete, insert, update, write_found};
pub use field_reader::{FieldReader, FileSource, LoadInput, LoadedFile};
pub use memory::refused;
pub use pipeline::{Pipeline, PipelineResources};
pub use pushed::PushedRows;
pub use query::{query, query_within, reads_one_moment};
pub use row_budget::RowBudget;
pub use source::ReadSource;
pub use spill::{SpillSpace, count_spill_files, io_failed, spill_files};
