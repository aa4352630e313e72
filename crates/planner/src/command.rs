//! Statements that are neither plans nor definitions (`catalog::definition::Ddl`): session statements, SHOW. Parsed and resolved as far as they can be
//! without running anything. `session` runs them, one kind per file.

use catalog::accounts::change::GrantScope;
use catalog::definition::{TableName, UserSpec};
use functions::Expr;

/// Statements about the session or the server.
#[derive(Debug, Clone)]
pub enum Command {
    Begin {
        read_only: Option<bool>,
        consistent_snapshot: bool,
        optimistic: Option<bool>,
    },
    Commit {
        chain: bool,
        release: bool,
    },
    Rollback {
        chain: bool,
        release: bool,
    },
    Savepoint {
        name: String,
    },
    RollbackTo {
        name: String,
    },
    ReleaseSavepoint {
        name: String,
    },
    Use {
        database: String,
    },
    Set(Vec<SetItem>),
    Show(Show),
    Explain(Box<Explained>),
    Kill {
        connection: Expr,
        query_only: bool,
    },
    AdminCheckTable {
        tables: Vec<TableName>,
    },
    /// `past`: how many of those that are done.
    AdminShowDdlJobs {
        past: Option<u64>,
    },
    AdminCancelDdlJobs {
        jobs: Vec<u64>,
    },
    CheckTable {
        tables: Vec<TableName>,
    },
    AnalyzeTable {
        tables: Vec<TableName>,
    },
    OptimizeTable {
        tables: Vec<TableName>,
    },
    RepairTable {
        tables: Vec<TableName>,
    },
    Prepare {
        name: String,
        source: PrepareSource,
    },
    Execute {
        name: String,
        using: Vec<String>,
    },
    Deallocate {
        name: String,
    },
    CreateUser {
        users: Vec<UserSpec>,
        if_not_exists: bool,
    },
    AlterUser {
        users: Vec<UserSpec>,
        if_exists: bool,
    },
    DropUser {
        users: Vec<(String, String)>,
        if_exists: bool,
    },
    /// From, to.
    RenameUser {
        renames: Vec<((String, String), (String, String))>,
    },
    /// GRANT ALL.
    Grant {
        scope: GrantScope,
        users: Vec<(String, String)>,
    },
    /// REVOKE ALL; without a scope all that the accounts have.
    Revoke {
        scope: Option<GrantScope>,
        users: Vec<(String, String)>,
    },
    SetPassword {
        user: Option<(String, String)>,
        password: String,
    },
    /// SET ROLE or SET DEFAULT ROLE of a role with a name: nobody has one.
    SetRole {
        role: (String, String),
        /// Whose default it is to be; `None`: the session's own.
        user: Option<(String, String)>,
    },
    Flush {
        what: String,
    },
    /// SPLIT TABLE.
    SplitTable {
        table: TableName,
        /// An index's name; otherwise the rows are meant.
        index: Option<String>,
        points: SplitPoints<Expr>,
    },
    DropAbsent {
        kind: Absent,
        names: Vec<TableName>,
        if_exists: bool,
    },
    LockTables {
        tables: Vec<TableToLock>,
    },
    UnlockTables,
    DoNothing(Vec<Expr>),
}

/// What a database of StemDB never has, and scripts that clean up first drop all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    View,
    Procedure,
    Function,
    Trigger,
    Event,
    TemporaryTable,
}

/// One table of LOCK TABLES.
#[derive(Debug, Clone)]
pub struct TableToLock {
    pub table: TableName,
    /// The name that statements have to use; the table's own where it was given no other.
    pub alias: String,
    /// WRITE; otherwise READ.
    pub write: bool,
}

/// Where SPLIT TABLE splits: by values of the leading parts of a key.
#[derive(Debug, Clone)]
pub enum SplitPoints<E> {
    /// `BETWEEN (...) AND (...) REGIONS n`: into parts of equal size.
    Between {
        lower: Vec<E>,
        upper: Vec<E>,
        regions: u64,
    },
    /// `BY (...), ...`
    By(Vec<Vec<E>>),
}

#[derive(Debug, Clone)]
pub enum PrepareSource {
    Text(String),
    Variable(String),
}

#[derive(Debug, Clone)]
pub enum SetItem {
    /// `None` means DEFAULT. Identifiers on the right (`SET x = on`) arrive as string literals.
    Variable {
        scope: VariableScope,
        name: String,
        value: Option<Expr>,
    },
    User {
        name: String,
        value: Expr,
    },
    Names {
        charset: Option<String>,
        collation: Option<String>,
    },
    CharacterSet {
        charset: Option<String>,
    },
    /// `SET [SESSION|GLOBAL] TRANSACTION ...`
    Transaction {
        scope: VariableScope,
        isolation: Option<String>,
        read_only: Option<bool>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableScope {
    Session,
    Global,
    /// `SET TRANSACTION` without a scope: the next transaction only.
    NextTransaction,
}

/// The filter of SHOW: `LIKE 'pattern'`, or `WHERE` over the statement's own output columns, to be bound by
/// [`crate::bind_filter`].
#[derive(Debug, Clone, Default)]
pub enum ShowFilter {
    #[default]
    None,
    Like(String),
    Where(Box<crate::ast::Expr>),
}

#[derive(Debug, Clone)]
pub enum Show {
    Databases(ShowFilter),
    Tables {
        database: String,
        full: bool,
        filter: ShowFilter,
    },
    TableStatus {
        database: String,
        filter: ShowFilter,
    },
    Columns {
        table: TableName,
        full: bool,
        filter: ShowFilter,
    },
    Index {
        table: TableName,
        filter: ShowFilter,
    },
    CreateTable(TableName),
    /// SHOW TABLE ... REGIONS.
    Regions {
        table: TableName,
        index: Option<String>,
        filter: ShowFilter,
    },
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
    Collation(ShowFilter),
    Charset(ShowFilter),
    Plugins(ShowFilter),
    Grants {
        user: Option<(String, String)>,
    },
    /// Two empty names: CURRENT_USER().
    CreateUser {
        user: (String, String),
    },
    /// SHOW OPEN TABLES, TRIGGERS, EVENTS, PROCEDURE STATUS ...: known and empty here, by name.
    Empty {
        what: String,
        filter: ShowFilter,
    },
}

#[derive(Debug, Clone)]
pub struct Explained {
    pub format: ExplainFormat,
    pub analyze: bool,
    pub plan: crate::plan::Plan,
    /// The privileges that the plan needs.
    pub accesses: Vec<crate::object_access::ObjectAccess>,
    /// Names of the indexes that could have served.
    pub possible_keys: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainFormat {
    Traditional,
    Tree,
    Json,
}
