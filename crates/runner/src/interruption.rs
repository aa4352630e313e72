//! The error of a statement that was interrupted.

use kv::Interrupt;
use types::{Error, errno};

/// Error 3024 instead of 1317 if the statement was interrupted by its time limit and not by KILL.
pub fn interruption(interrupt: &Interrupt, error: Error) -> Error {
    if error.code == errno::ER_QUERY_INTERRUPTED && !interrupt.is_killed() && interrupt.is_late() {
        return out_of_time();
    }
    error
}

/// Error 3024: `max_execution_time` has passed.
pub fn out_of_time() -> Error {
    Error::new(
        errno::ER_QUERY_TIMEOUT,
        "Query execution was interrupted, maximum statement execution time exceeded",
    )
}
