//! Tables of `performance_schema`.

pub(super) mod data_lock_waits;
pub(super) mod data_locks;
pub(super) mod global_status;
pub(super) mod global_variables;
pub(super) mod metadata_locks;
pub(super) mod persisted_variables;
pub(super) mod processlist;
pub(super) mod session_status;
pub(super) mod session_variables;
