//! SHOW and DESCRIBE as written.

use super::ObjectName;
use crate::command::{Show, ShowFilter};

/// SHOW statements that name a table or use the default database; the others are complete as [`Show`].
#[derive(Debug, Clone)]
pub enum ShowStatement {
    /// Needs nothing resolved.
    Plain(Show),
    /// Of the named database, or the default one.
    OfDatabase {
        target: Target,
        database: Option<String>,
        full: bool,
        filter: ShowFilter,
    },
    OfTable {
        target: Target,
        table: ObjectName,
        full: bool,
        filter: ShowFilter,
    },
    Regions {
        table: ObjectName,
        index: Option<String>,
        filter: ShowFilter,
    },
}

/// What is shown of a database or a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Tables,
    TableStatus,
    /// OPEN TABLES, TRIGGERS, EVENTS: there are none.
    OpenTables,
    Triggers,
    Events,
    Columns,
    Index,
    CreateTable,
}
