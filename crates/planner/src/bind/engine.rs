//! Storage engines that statements name.

use types::{Error, Result, Warning};

use super::Binder;
use crate::errno::{ER_UNKNOWN_STORAGE_ENGINE, ER_WARN_USING_OTHER_HANDLER};

/// A storage engine that a statement names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    InnoDb,
    /// InnoDB is used in its place.
    Other,
    /// The same, outside NO_ENGINE_SUBSTITUTION.
    Unknown,
}

/// Storage engines of MySQL's and its relatives: accepted, with the warning that another one is used.
const OTHER_ENGINES: &[&str] = &[
    "archive",
    "aria",
    "blackhole",
    "csv",
    "federated",
    "heap",
    "memory",
    "merge",
    "mrg_myisam",
    "myisam",
    "ndb",
    "ndbcluster",
    "rocksdb",
    "tokudb",
];

/// The engine of a name, if one is given.
///
/// # Errors
/// 1286 for a name that is none, under NO_ENGINE_SUBSTITUTION.
pub(super) fn engine_named(binder: &Binder<'_>, name: Option<&str>) -> Result<Engine> {
    let Some(engine) = name else {
        return Ok(Engine::InnoDb);
    };
    if engine.eq_ignore_ascii_case("innodb") {
        return Ok(Engine::InnoDb);
    }
    if !OTHER_ENGINES.contains(&engine.to_ascii_lowercase().as_str()) {
        let message = format!("Unknown storage engine '{engine}'");
        if !binder.env.sql_mode.substitutes_engines {
            return Err(Error::new(ER_UNKNOWN_STORAGE_ENGINE, message));
        }
        binder.warn(Warning::warning(ER_UNKNOWN_STORAGE_ENGINE, message));
        return Ok(Engine::Unknown);
    }
    Ok(Engine::Other)
}

pub(super) fn warn_of_engine(binder: &Binder<'_>, table: &str) {
    binder.warn(Warning::warning(
        ER_WARN_USING_OTHER_HANDLER,
        format!("Using storage engine InnoDB for table '{table}'"),
    ));
}
