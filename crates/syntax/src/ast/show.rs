//! SHOW, DESCRIBE and EXPLAIN as written.

use super::{AccountName, Expr, ObjectName};

#[derive(Debug, Clone)]
pub enum ShowStatement {
    /// About the server or the session: no name has to be resolved.
    OfServer(ServerShow),
    /// About the named database, or the default one.
    OfDatabase {
        target: Target,
        database: Option<String>,
        full: bool,
        filter: ShowFilter,
    },
    OfTable {
        target: Target,
        table: ObjectName,
        /// FULL; of indexes, EXTENDED.
        full: bool,
        filter: ShowFilter,
    },
    Regions {
        table: ObjectName,
        index: Option<String>,
        filter: ShowFilter,
    },
}

/// What SHOW lists of a database or a table.
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
    CreateView,
}

/// SHOW statements that name no table and do not depend on the default database.
#[derive(Debug, Clone)]
pub enum ServerShow {
    Databases(ShowFilter),
    CreateDatabase {
        name: String,
        if_not_exists: bool,
    },
    Variables {
        global: bool,
        filter: ShowFilter,
    },
    Status {
        global: bool,
        filter: ShowFilter,
    },
    ProcessList {
        full: bool,
    },
    Warnings {
        errors_only: bool,
        offset: u64,
        count: Option<u64>,
    },
    CountWarnings {
        errors_only: bool,
    },
    Engines,
    /// SHOW ENGINE. `None`: ALL.
    Engine {
        name: Option<String>,
        of: EngineShow,
    },
    Collation(ShowFilter),
    Charset(ShowFilter),
    Plugins(ShowFilter),
    Grants {
        user: Option<AccountName>,
        /// USING: roles whose privileges are listed as well.
        using: Vec<AccountName>,
    },
    CreateUser(AccountName),
    Privileges,
    Profile(ProfileShow),
    /// HELP. The tables of its texts are empty, so no topic is found.
    Help,
    /// Lists of objects and logs, by their keywords: PROCEDURE STATUS, BINARY LOGS ...
    List {
        words: String,
        filter: ShowFilter,
    },
}

/// `SHOW PROFILE [kind, ...] [FOR QUERY n] [LIMIT count [OFFSET offset]]`
#[derive(Debug, Clone, Default)]
pub struct ProfileShow {
    pub kinds: Vec<ProfileKind>,
    /// `None`: the last statement.
    pub query: Option<u64>,
    pub offset: u64,
    pub count: Option<u64>,
}

/// The columns that SHOW PROFILE shows besides the durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    All,
    BlockIo,
    ContextSwitches,
    Cpu,
    Ipc,
    /// MySQL has no columns for it.
    Memory,
    PageFaults,
    Source,
    Swaps,
}

/// What SHOW ENGINE shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineShow {
    Status,
    Mutex,
    Logs,
}

/// The filter of SHOW: `LIKE 'pattern'`, or `WHERE` over the statement's own output columns.
#[derive(Debug, Clone, Default)]
pub enum ShowFilter {
    #[default]
    None,
    Like(String),
    Where(Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Traditional,
    Tree,
    Json,
}
