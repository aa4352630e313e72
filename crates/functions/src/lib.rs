//! MySQL's arithmetic, comparison, casts and built-in functions, over Arrow arrays: one implementation, used by both
//! executors.

pub mod context;
pub mod expr;
pub mod registry;

pub use context::{EvalContext, SqlMode, Strictness, TimeZone, Warnings};
pub use expr::Expr;
pub use registry::{Function, FunctionDef};

pub mod aggregate;
