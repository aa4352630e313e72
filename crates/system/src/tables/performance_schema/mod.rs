//! Tables of `performance_schema`.

pub(super) mod global_status;
pub(super) mod global_variables;
pub(super) mod processlist;
pub(super) mod session_status;
pub(super) mod session_variables;
