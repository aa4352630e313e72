//! The session's properties that a definition statement needs, and checks that all definition statements
//! make.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use cluster::wait::WaitLimit;
use functions::{TimeZone, Warnings};
use schema::definition::TableName;
use schema::model::{Handle, Schema, Table};
use types::{Collation, Error, Result, SqlMode, Warning, errno};

use crate::about::About;

/// The session's properties that a definition statement needs.
pub struct DdlContext {
    /// Ends waits and backfills.
    pub interrupt: Arc<kv::Interrupt>,
    /// `lock_wait_timeout`.
    pub lock_wait: Duration,
    /// When the statement began, in microseconds since 1970.
    pub now_us: i64,
    pub time_zone: TimeZone,
    pub sql_mode: SqlMode,
    /// `collation_server`: for databases created without one.
    pub server_collation: Collation,
    /// `'user'@'host'`, for error messages.
    pub user: String,
    pub foreign_key_checks: bool,
    /// Set to the number of rows that a long change has processed.
    pub progress: Arc<AtomicU64>,
    /// `auto_increment_increment` and `auto_increment_offset`
    pub auto_increment: (u64, u64),
    /// `sql_require_primary_key`
    pub require_primary_key: bool,
    /// What ALTER TABLE has warned of so far, which MySQL reports before the error if the statement fails. A statement that
    /// succeeds returns its warnings.
    pub warned: Warnings,
}

impl DdlContext {
    pub(crate) fn watch(&self) -> Watch<'_> {
        Watch {
            interrupt: &self.interrupt,
            progress: Some(&self.progress),
            warned: Some(&self.warned),
            row_wait: None,
        }
    }

    pub(crate) fn limit(&self) -> WaitLimit<'_> {
        WaitLimit {
            timeout: self.lock_wait,
            interrupt: &self.interrupt,
        }
    }
}

/// # Errors
/// 3750 for a table without a primary key if `sql_require_primary_key` is set.
pub(crate) fn check_primary_key(table: &Table, ctx: &DdlContext) -> Result<()> {
    if !ctx.require_primary_key || table.handle != Handle::Hidden {
        return Ok(());
    }
    Err(Error::new(
        3750,
        "Unable to create or change a table without a primary key, when the system variable \
         'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this \
         message. Note that tables without a primary key can cause performance problems in row-based replication, \
         so please consult your DBA before changing this setting.",
    ))
}

/// The interrupt that a backfill checks, and the places where it reports progress and, if it fails, its warnings.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub interrupt: &'a Arc<kv::Interrupt>,
    pub progress: Option<&'a AtomicU64>,
    pub warned: Option<&'a Warnings>,
    /// How long to wait for rows that a transaction has locked: set where writers have to wait meanwhile.
    pub row_wait: Option<Duration>,
}

/// A definition statement that runs.
pub(crate) struct Statement<'a> {
    pub(crate) ctx: &'a DdlContext,
    pub(crate) about: About,
}

impl Deref for Statement<'_> {
    type Target = DdlContext;

    fn deref(&self) -> &DdlContext {
        self.ctx
    }
}

/// A table that the statement may change.
///
/// # Errors
/// 1049 or 1146 when it does not exist, 1347 when it is a view; those of [`check_not_system`].
pub(crate) fn changeable_table(schema: &Schema, name: &TableName, ctx: &DdlContext) -> Result<Arc<Table>> {
    check_not_system(schema, &name.database, ctx)?;
    schema.require_base_table(&name.database, &name.name).cloned()
}

/// Refuses to define anything in the databases that the server itself provides.
pub(crate) fn check_not_system(schema: &Schema, database: &str, ctx: &DdlContext) -> Result<()> {
    const ER_NO_SYSTEM_SCHEMA_ACCESS: u16 = 3552;
    let Some(found) = schema.database(database).filter(|d| d.is_system()) else {
        return Ok(());
    };
    if matches!(found.name.as_str(), "information_schema" | "performance_schema") {
        return Err(Error::new(
            errno::ER_DBACCESS_DENIED_ERROR,
            format!("Access denied for user {} to database '{}'", ctx.user, found.name),
        ));
    }
    Err(Error::new(
        ER_NO_SYSTEM_SCHEMA_ACCESS,
        format!("Access to system schema '{}' is rejected.", found.name),
    ))
}

pub(crate) fn unknown_database(name: &str) -> Error {
    Error::new(errno::ER_BAD_DB_ERROR, format!("Unknown database '{name}'"))
}

pub(crate) fn no_such_table(name: &TableName) -> Error {
    Error::new(
        errno::ER_NO_SUCH_TABLE,
        format!("Table '{}.{}' doesn't exist", name.database, name.name),
    )
}

pub(crate) fn table_exists(name: &str) -> Error {
    Error::new(
        errno::ER_TABLE_EXISTS_ERROR,
        format!("Table '{name}' already exists"),
    )
}

/// Reports tables and views of DROP that do not exist: with error 1051, or with IF EXISTS by a note for each.
pub(crate) fn unknown_tables(unknown: &[String], if_exists: bool) -> Result<Vec<Warning>> {
    let message = |names: &str| format!("Unknown table '{names}'");
    if !unknown.is_empty() && !if_exists {
        return Err(Error::new(errno::ER_BAD_TABLE_ERROR, message(&unknown.join(","))));
    }
    let notes = unknown.iter();
    Ok(notes
        .map(|name| Warning::note(errno::ER_BAD_TABLE_ERROR, message(name)))
        .collect())
}
