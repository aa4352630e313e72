//! Transactional plans: point reads, index ranges, small sorts and aggregates, and all writes. Runs on the connection's
//! own thread.

pub mod context;

pub use context::{DmlResult, ExecContext, RowSink, VirtualTables};
