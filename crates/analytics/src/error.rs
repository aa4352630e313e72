//! Carries MySQL errors through DataFusion and out again.

use arrow::error::ArrowError;
use datafusion_common::DataFusionError;
use types::{Error, errno};

/// Wraps a MySQL error, so that DataFusion's operators pass it on.
pub fn carry(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Whether an operator failed because it was not granted memory that it needed.
pub fn is_short_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// Unwraps [`carry`], and converts DataFusion's own errors.
pub fn to_mysql(error: DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(ours) => ours.clone(),
            None => Error::internal(inner),
        },
        DataFusionError::ResourcesExhausted(_) => Error::new(
            errno::ER_MEMORY_EXCEEDED,
            "Out of memory for this statement: raise stemdb_memory_limit, or run it while fewer large statements run",
        ),
        DataFusionError::IoError(error) => executor::io_failed(error),
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::IoError(_, error) => executor::io_failed(error),
            other => Error::internal(other),
        },
        other => Error::internal(other),
    }
}
