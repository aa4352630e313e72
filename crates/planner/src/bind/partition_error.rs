//! What is wrong with the partitions of a table.

use types::{Error, errno};

pub const PARTITION_FUNCTION: &str = "partition function";

/// Error 1054.
pub fn unknown_partition_column(name: &str) -> Error {
    Error::new(
        errno::ER_BAD_FIELD_ERROR,
        format!("Unknown column '{name}' in '{PARTITION_FUNCTION}'"),
    )
}

/// Error 1506.
pub fn foreign_key_and_partitions() -> Error {
    Error::new(
        1506,
        "Foreign keys are not yet supported in conjunction with partitioning",
    )
}

/// Error 1499.
pub fn too_many() -> Error {
    Error::new(1499, "Too many partitions (including subpartitions) were defined")
}

/// Error 1486.
pub fn not_constant() -> Error {
    Error::new(
        1486,
        "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed",
    )
}

/// Error 1564.
pub fn not_allowed() -> Error {
    Error::new(1564, "This partition function is not allowed")
}
