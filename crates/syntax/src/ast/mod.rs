//! Statements as they are written: names are not resolved, and types of expressions are not known.
//!
//! Nothing here refers to a table, a bound type or a command of the server. The planner decides what a
//! statement means.

mod account;
mod command;
mod definition;
mod effects;
mod expr;
mod file;
mod hint;
mod literal_rows;
mod partition;
mod query;
mod session;
mod show;
mod view;
mod window;
mod write;

pub use account::{
    AccountName, AccountOptions, Grant, GrantAs, GrantTarget, GrantedPrivilege, GrantedPrivileges, Revoke,
    Roles, SecondPassword, TlsRequirement, UserSpec, UserStatement, current_user, is_current_user,
};
pub use command::SqlCommand;
pub use definition::{
    AlterAlgorithm, AlterItem, AlterLock, AlterOptions, AutoRandomBits, CheckDefinition, ColumnDefinition,
    ColumnPosition, CreateSelect, CreateTable, DataType, DatabaseOptions, DefaultClause, DuplicateRows,
    ForeignKeyDefinition, GeneratedClause, IndexDefinition, IndexKind, IndexPart, IndexType, Member,
    ObjectKind, ProgramAction, ReferenceAction, TableElement, TableOptions, TypeName,
};
pub use expr::{
    BinaryOp, CastType, ColumnName, Expr, Introducer, NumberText, OrderItem, Quantifier, TemporalKind,
    TruthTest, UnaryOp,
};
pub use file::{FileFormat, IntoFile, LoadData, LoadDuplicates, LoadField};
pub use hint::{Hint, HintTable, Hints, IndexUse, JoinOrderKind};
pub use literal_rows::{Literal, LiteralRows};
pub use partition::{
    PartitionAction, PartitionBound, PartitionBy, PartitionDefinition, PartitionNames, PartitionOptions,
    PartitionValues, Partitioning, SubpartitionDefinition, Subpartitioning,
};
pub use query::{
    CommonTable, DerivedTable, IndexHint, IndexHintKind, IntoPlace, Join, JoinCondition, JoinKind, JsonTable,
    JsonTableColumn, JsonTableCondition, JsonTableLevel, Limit, LockWait, LockingClause, NamedExpr,
    NamedTable, Query, QueryBody, Select, SelectInto, SelectItem, SetOperand, SetOperator, TableRef, With,
};
pub use session::{
    Completion, ConditionItem, Diagnostics, Flush, FlushKind, HistogramChange, LockedTable, Maintenance,
    PrepareSource, ReadVariable, SetClause, Signal, SplitPoints, StatementItem, TransactionStatement,
    VariableScope, XaJoin, XaStatement, Xid,
};
pub use show::{
    EngineShow, ExplainFormat, ProfileKind, ProfileShow, ServerShow, ShowFilter, ShowStatement, Target,
};
pub use view::{CheckOption, CreateView, ViewAlgorithm, ViewVerb};
pub use window::{Frame, FrameBound, FrameOffset, FrameUnit, NamedWindow, Window, WindowSpec};
pub use write::{Assignment, Delete, Insert, InsertRows, RowAlias, Update};

/// `[database.]name` of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    pub database: Option<String>,
    pub name: String,
}

/// One statement.
#[derive(Debug, Clone)]
pub enum Statement {
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    Explain {
        /// `None`: that of `explain_format`.
        format: Option<ExplainFormat>,
        analyze: bool,
        statement: Box<Statement>,
    },
    ExplainConnection {
        /// `None`: that of `explain_format`.
        format: Option<ExplainFormat>,
        connection: u64,
    },

    CreateDatabase {
        name: String,
        if_not_exists: bool,
        options: DatabaseOptions,
    },
    AlterDatabase {
        name: Option<String>,
        options: DatabaseOptions,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    CreateTable(Box<CreateTable>),
    CreateTableLike {
        name: ObjectName,
        source: ObjectName,
        if_not_exists: bool,
        temporary: bool,
    },
    AlterTable {
        name: ObjectName,
        items: Vec<AlterItem>,
        options: AlterOptions,
    },
    DropTable {
        names: Vec<ObjectName>,
        if_exists: bool,
        /// DROP TEMPORARY TABLE: permanent tables are not considered.
        temporary: bool,
    },
    /// CREATE VIEW and ALTER VIEW.
    CreateView(Box<CreateView>),
    /// DROP of anything except databases, tables and accounts.
    DropObject {
        kind: ObjectKind,
        names: Vec<ObjectName>,
        if_exists: bool,
    },
    /// Of a stored program, other than CREATE and DROP.
    OfProgram {
        action: ProgramAction,
        kind: ObjectKind,
        name: ObjectName,
    },
    TruncateTable(ObjectName),
    RenameTable(Vec<(ObjectName, ObjectName)>),

    /// Of privileges; roles are a [`UserStatement`].
    Grant(Box<Grant>),
    Revoke(Box<Revoke>),

    User(UserStatement),

    Transaction(TransactionStatement),
    Xa(XaStatement),
    Use(String),
    Show(ShowStatement),
    Set(Vec<SetClause>),
    Kill {
        connection: Expr,
        query_only: bool,
    },
    /// `ADMIN SHOW DDL JOBS [n]`; `past`: how many finished jobs are shown.
    AdminShowDdlJobs {
        past: Option<u64>,
    },
    AdminCancelDdlJobs {
        jobs: Vec<u64>,
    },
    /// `quick`: only checksums that are known without reading rows.
    ChecksumTable {
        tables: Vec<ObjectName>,
        quick: bool,
    },
    /// ADMIN CHECK TABLE, CHECK TABLE, ANALYZE TABLE, OPTIMIZE TABLE and REPAIR TABLE.
    TableMaintenance {
        action: Maintenance,
        tables: Vec<ObjectName>,
    },
    /// ANALYZE TABLE ... UPDATE or DROP HISTOGRAM.
    Histograms {
        tables: Vec<ObjectName>,
        columns: Vec<String>,
        change: HistogramChange,
    },
    SplitTable {
        table: ObjectName,
        index: Option<String>,
        points: SplitPoints<Expr>,
    },
    LockTables(Vec<LockedTable>),
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    UnlockInstance,
    /// RESET PERSIST. `None`: every variable.
    ResetPersist {
        name: Option<String>,
        if_exists: bool,
    },
    Flush(Flush),
    Prepare {
        name: String,
        source: PrepareSource,
    },
    Execute {
        name: String,
        /// Names of user variables.
        using: Vec<String>,
    },
    Deallocate {
        name: String,
    },
    Do(Vec<Expr>),
    GetDiagnostics(Diagnostics<Expr>),
    Signal(Signal),
    /// Only a handler of a stored program could run it.
    Resignal,
    /// Nothing to do: a comment alone, or a statement without any effect.
    Empty,
    /// A text that should be one of several statements and cannot be parsed.
    Invalid(types::Error),
}
