//! Statements about transactions, the session and the server as written.

use super::{Expr, ObjectName};

/// Transaction control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionStatement {
    /// BEGIN and START TRANSACTION. `None`: the session's default.
    Begin {
        read_only: Option<bool>,
        consistent_snapshot: bool,
        optimistic: Option<bool>,
    },
    Commit(Completion),
    Rollback(Completion),
    Savepoint(String),
    RollbackTo(String),
    ReleaseSavepoint(String),
}

/// What follows COMMIT and ROLLBACK. `None`: what `completion_type` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// The next transaction begins at once.
    pub chain: Option<bool>,
    /// The connection ends.
    pub release: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    Text(String),
    /// A user variable's name.
    Variable(String),
}

/// FLUSH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flush {
    /// One after the other.
    Kinds(Vec<FlushKind>),
    /// `TABLES [t, ...] [WITH READ LOCK]`. No table: all.
    Tables {
        tables: Vec<ObjectName>,
        read_lock: bool,
    },
}

/// What FLUSH empties, closes or reads again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushKind {
    /// All logs.
    Logs,
    BinaryLogs,
    EngineLogs,
    ErrorLogs,
    GeneralLogs,
    RelayLogs,
    SlowLogs,
    Hosts,
    OptimizerCosts,
    Privileges,
    Status,
    UserResources,
}

/// Where SPLIT TABLE splits, given as values of the first columns of a key.
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

/// What ANALYZE TABLE does to histograms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistogramChange {
    /// Of the rows.
    Make {
        buckets: u32,
    },
    /// USING DATA: a histogram as JSON.
    Set(String),
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    AdminCheck,
    Check,
    Analyze,
    Optimize,
    Repair,
    /// CACHE INDEX.
    AssignToKeyCache,
    /// LOAD INDEX INTO CACHE.
    PreloadKeys,
}

/// What GET DIAGNOSTICS assigns: names of user variables, and what each gets. `E`: an expression.
#[derive(Debug, Clone)]
pub enum Diagnostics<E> {
    OfStatement(Vec<(String, StatementItem)>),
    /// Of the condition with a number, from 1.
    OfCondition {
        number: E,
        items: Vec<(String, ConditionItem)>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementItem {
    /// How many conditions there are.
    Number,
    RowCount,
}

/// In the order in which SIGNAL sets them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionItem {
    ClassOrigin,
    SubclassOrigin,
    ConstraintCatalog,
    ConstraintSchema,
    ConstraintName,
    CatalogName,
    SchemaName,
    TableName,
    ColumnName,
    CursorName,
    Message,
    Number,
    SqlState,
}

/// `SIGNAL SQLSTATE 'state' SET item = value, ...`. `E` is an expression: as written, or bound.
#[derive(Debug, Clone)]
pub struct Signal<E = Expr> {
    pub state: String,
    /// Each item at most once, with its name, in the order of [`ConditionItem`].
    pub items: Vec<(ConditionItem, &'static str, E)>,
}

/// `t [AS alias] READ | WRITE` of LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedTable {
    pub name: ObjectName,
    pub alias: Option<String>,
    pub write: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableScope {
    Session,
    Global,
    /// `SET PERSIST`: global, and stored for the next start.
    Persist,
    /// `SET PERSIST_ONLY`: stored for the next start.
    PersistOnly,
    /// `SET TRANSACTION` without a scope: the next transaction only.
    NextTransaction,
}

/// `@@scope.name` in an expression.
pub type ReadVariable = (Option<VariableScope>, String);

/// One assignment of SET. `E` is an expression: as written, or bound.
#[derive(Debug, Clone)]
pub enum SetClause<E = Expr> {
    /// `None`: DEFAULT. Identifiers (`ON`, `utf8mb4`) are string literals here.
    Variable {
        scope: VariableScope,
        name: String,
        value: Option<E>,
    },
    User {
        name: String,
        value: E,
    },
    /// `None` means DEFAULT.
    Names {
        charset: Option<String>,
        collation: Option<String>,
    },
    /// `None` means DEFAULT.
    CharacterSet(Option<String>),
    /// `SET [SESSION|GLOBAL] TRANSACTION ...`
    Transaction {
        scope: VariableScope,
        /// As in `@@transaction_isolation`.
        isolation: Option<&'static str>,
        read_only: Option<bool>,
    },
}

/// Identifies an XA transaction among all of its transaction manager.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Xid {
    pub format: u64,
    pub global: Vec<u8>,
    pub branch: Vec<u8>,
}

/// A statement about a branch of a transaction that a transaction manager commits on several servers (manual
/// 13.3.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XaStatement {
    Start {
        xid: Xid,
        joins: XaJoin,
    },
    End {
        xid: Xid,
        /// SUSPEND.
        suspends: bool,
    },
    Prepare(Xid),
    Commit {
        xid: Xid,
        /// ONE PHASE.
        one_phase: bool,
    },
    Rollback(Xid),
    /// `convert`: the parts of each xid are shown as hexadecimal numbers.
    Recover {
        convert: bool,
    },
}

/// What XA START continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XaJoin {
    Nothing,
    Join,
    Resume,
}
