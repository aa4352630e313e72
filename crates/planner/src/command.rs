//! The result of binding a statement; and statements that are neither plans nor definitions
//! (`schema::definition::Ddl`): session statements, SHOW. Names are resolved and expressions bound, as far as
//! this needs no execution. `session` runs them, one kind per file.

use functions::Expr;
use functions::bind::TypeEnv;
use schema::definition::{Ddl, TableName};
use schema::privilege::{PrivilegeGrant, PrivilegeSet};
use syntax::ast::{
    AccountName, Diagnostics, ExplainFormat, FlushKind, GrantAs, HistogramChange, Maintenance, ObjectKind,
    PrepareSource, ProgramAction, ServerShow, SetClause, ShowFilter, Signal, SplitPoints,
    TransactionStatement, UserStatement, XaStatement,
};
use types::{Charset, Error};

use crate::logical::{ColumnId, LogicalStatement};
use crate::object_access::ObjectAccess;
use crate::plan::FileFormat;

/// A statement with every name and type resolved.
// A value is made once per statement and matched at once: a box would cost more than it saves.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
pub enum Bound {
    Statement {
        statement: LogicalStatement,
        /// What expressions that the optimizer makes are typed by.
        types: TypeEnv,
        /// The statement assigns to user variables, row by row.
        assigns: bool,
        /// The privileges and locks it needs, an entry for each table.
        accesses: Vec<ObjectAccess>,
        /// Whether the plan holds for other sessions and later executions too, with parameters of the same
        /// types, until the schema changes.
        cacheable: bool,
        /// The first id that no column of the statement has: for those that the optimizer adds.
        next_column: ColumnId,
    },
    Ddl(Ddl),
    Command(Command),
}

/// Statements about the session or the server.
#[derive(Debug, Clone)]
pub enum Command {
    Transaction(TransactionStatement),
    Xa(XaStatement),
    Use {
        database: String,
    },
    Set(Vec<SetItem>),
    Show(Show),
    Explain(Box<Explained>),
    ExplainConnection {
        format: Option<ExplainFormat>,
        connection: u64,
    },
    Kill {
        connection: Expr,
        query_only: bool,
    },
    AdminCheckTable {
        tables: Vec<TableName>,
    },
    /// `past`: how many finished jobs are shown.
    AdminShowDdlJobs {
        past: Option<u64>,
    },
    AdminCancelDdlJobs {
        jobs: Vec<u64>,
    },
    CheckTable {
        tables: Vec<TableName>,
    },
    /// `quick`: without reading rows.
    ChecksumTable {
        tables: Vec<TableName>,
        quick: bool,
    },
    AnalyzeTable {
        tables: Vec<TableName>,
    },
    Histograms {
        tables: Vec<TableName>,
        columns: Vec<String>,
        change: HistogramChange,
    },
    OptimizeTable {
        tables: Vec<TableName>,
    },
    RepairTable {
        tables: Vec<TableName>,
    },
    /// ALTER TABLE ... ANALYZE PARTITION and the like for a table or partitions that do not exist: a row says so.
    MaintenanceFailed {
        table: TableName,
        action: Maintenance,
        error: Error,
    },
    /// CACHE INDEX; `preload`: LOAD INDEX INTO CACHE.
    KeyCache {
        tables: Vec<TableName>,
        preload: bool,
    },
    GetDiagnostics(Diagnostics<Expr>),
    Signal(Signal<Expr>),
    Resignal,
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
    User(UserStatement),
    /// Of privileges; roles are a `User` statement.
    Grant {
        grant: PrivilegeGrant,
        users: Vec<AccountName>,
        grantor: Option<GrantAs>,
    },
    /// `what`: `None` for everything that the accounts have.
    Revoke {
        what: Option<PrivilegeGrant>,
        users: Vec<AccountName>,
        if_exists: bool,
        ignore_unknown: bool,
    },
    Flush(Vec<FlushKind>),
    /// No table: all.
    FlushTables {
        tables: Vec<TableName>,
        read_lock: bool,
    },
    /// SPLIT TABLE.
    SplitTable {
        table: TableName,
        /// The index to split; `None`: the rows.
        index: Option<String>,
        points: SplitPoints<Expr>,
    },
    /// DROP of an object that a database of StemDB never has.
    DropAbsent {
        kind: ObjectKind,
        names: Vec<TableName>,
        if_exists: bool,
    },
    /// Of a stored program, which never exists either.
    OfProgram {
        action: ProgramAction,
        kind: ObjectKind,
        name: TableName,
    },
    LockTables {
        tables: Vec<TableToLock>,
    },
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    UnlockInstance,
    /// RESET PERSIST. `None`: every variable.
    ResetPersist {
        name: Option<String>,
        if_exists: bool,
    },
    DoNothing(Vec<Expr>),
    /// CREATE or DROP TEMPORARY TABLE.
    Temporary(Box<Ddl>),
    OfRow(Box<OfRow>),
    CreateTableSelect(Box<CreateTableSelect>),
    TableIsThere(TableIsThere),
    LoadData(Box<LoadData>),
    IntoFile(Box<IntoFile>),
}

/// `SELECT ... INTO OUTFILE` and `INTO DUMPFILE`.
#[derive(Debug, Clone)]
pub struct IntoFile {
    pub file: String,
    /// `None`: the values of one row and nothing else.
    pub format: Option<FileFormat>,
    /// `None`: each value in its own.
    pub charset: Option<Charset>,
    /// Always [`Bound::Statement`], and a query.
    pub query: Bound,
    /// Of the schema that the query was bound to.
    pub schema_version: u64,
}

/// LOAD DATA.
#[derive(Debug, Clone)]
pub struct LoadData {
    pub file: String,
    /// The client sends the file.
    pub local: bool,
    pub ignored_lines: u64,
    /// Always [`Bound::Statement`], and an INSERT of the rows of the file.
    pub insert: Bound,
    /// Of the schema that it was bound to.
    pub schema_version: u64,
}

/// CREATE TABLE of a table that was there when the statement was bound.
#[derive(Debug, Clone)]
pub struct TableIsThere {
    pub name: TableName,
    pub if_not_exists: bool,
    /// CREATE TEMPORARY TABLE.
    pub temporary: bool,
    pub needs: PrivilegeSet,
}

/// CREATE TABLE ... SELECT.
#[derive(Debug, Clone)]
pub struct CreateTableSelect {
    /// Always [`Ddl::CreateTable`].
    pub ddl: Ddl,
    /// CREATE TEMPORARY TABLE.
    pub temporary: bool,
    /// Always [`Bound::Statement`], and an INSERT of a query into the table, which has no id yet.
    pub insert: Bound,
    /// Of the schema that the query was bound to.
    pub schema_version: u64,
}

/// A command that takes values from the row of a query.
#[derive(Debug, Clone)]
pub struct OfRow {
    /// Always [`Bound::Statement`], and a query.
    pub query: Bound,
    /// Of the schema that the query was bound to.
    pub schema_version: u64,
    pub row_use: RowUse,
}

/// The use of the row.
#[derive(Debug, Clone)]
pub enum RowUse {
    /// `SELECT ... INTO @a, @b`: each variable takes a column.
    Into(Vec<String>),
    /// SET with subqueries. In the values, columns are the row's, by position.
    Set(Vec<SetItem>),
    /// DO with subqueries.
    Nothing,
}

/// One table of LOCK TABLES.
#[derive(Debug, Clone)]
pub struct TableToLock {
    pub table: TableName,
    /// The name that statements must use: the alias, or the table's own name.
    pub alias: String,
    /// WRITE; otherwise READ.
    pub write: bool,
}

/// One assignment of SET, with its expression bound.
pub type SetItem = SetClause<Expr>;

#[derive(Debug, Clone)]
pub enum Show {
    OfServer(ServerShow),
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
        extended: bool,
        filter: ShowFilter,
    },
    /// SHOW CREATE TABLE; `is_view`: SHOW CREATE VIEW.
    CreateTable {
        name: TableName,
        is_view: bool,
    },
    /// SHOW TABLE ... REGIONS.
    Regions {
        table: TableName,
        index: Option<String>,
        filter: ShowFilter,
    },
    OpenTables {
        /// `None`: of all.
        database: Option<String>,
        filter: ShowFilter,
    },
    /// TRIGGERS, EVENTS: there are none.
    Empty {
        database: String,
        what: &'static str,
        filter: ShowFilter,
    },
}

#[derive(Debug, Clone)]
pub struct Explained {
    /// `None`: that of `explain_format`.
    pub format: Option<ExplainFormat>,
    pub analyze: bool,
    /// Always [`Bound::Statement`].
    pub bound: Bound,
}
