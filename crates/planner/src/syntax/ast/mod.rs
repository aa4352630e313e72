//! Statements as the text has them: names unresolved, types of expressions unknown.
//!
//! Only what StemDB can do has a shape here; the parser refuses the rest (1064 for no MySQL at all, 1235 for what MySQL
//! has and StemDB has not). [`crate::bind()`] turns a [`Statement`] into a plan, a definition or a command.

mod definition;
mod effects;
mod expr;
mod query;
mod show;
mod write;

pub use definition::{
    AlterItem, ColumnDefinition, ColumnPosition, CreateTable, DataType, DatabaseOptions, DefaultClause,
    IndexDefinition, IndexKind, IndexPart, TableElement, TableOptions, TypeName,
};
pub use expr::{
    BinaryOp, CastType, ColumnName, Expr, Introducer, NumberText, TemporalKind, TruthTest, UnaryOp,
};
pub use query::{
    IndexHint, IndexHintKind, Limit, LockingClause, NamedExpr, OrderItem, Select, SelectItem, TableRef,
};
pub use show::{ShowStatement, Target};
pub use write::{Assignment, Delete, Insert, InsertRows, RowAlias, Update};

use schema::definition::AlterWay;

use crate::command::{Absent, Command, ExplainFormat, SplitPoints, VariableScope};

/// `[database.]name` of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    pub database: Option<String>,
    pub name: String,
}

/// One statement.
#[derive(Debug, Clone)]
pub enum Statement {
    Select(Box<Select>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Explain {
        format: ExplainFormat,
        analyze: bool,
        statement: Box<Statement>,
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
    },
    AlterTable {
        name: ObjectName,
        items: Vec<AlterItem>,
        way: AlterWay,
    },
    DropTable {
        names: Vec<ObjectName>,
        if_exists: bool,
    },
    /// DROP of something that is never there.
    DropAbsent {
        kind: Absent,
        names: Vec<ObjectName>,
        if_exists: bool,
    },
    TruncateTable(ObjectName),
    RenameTable(Vec<(ObjectName, ObjectName)>),

    /// GRANT ALL.
    Grant {
        scope: GrantTarget,
        users: Vec<(String, String)>,
    },
    /// REVOKE ALL; without a scope all that the accounts have.
    Revoke {
        scope: Option<GrantTarget>,
        users: Vec<(String, String)>,
    },

    /// What needs nothing resolved.
    Command(Box<Command>),
    Show(ShowStatement),
    Set(Vec<SetClause>),
    Kill {
        connection: Expr,
        query_only: bool,
    },
    /// ADMIN CHECK TABLE, CHECK TABLE, ANALYZE TABLE and their like.
    TableMaintenance {
        action: Maintenance,
        tables: Vec<ObjectName>,
    },
    SplitTable {
        table: ObjectName,
        index: Option<String>,
        points: SplitPoints<Expr>,
    },
    LockTables(Vec<LockedTable>),
    Do(Vec<Expr>),
    /// Not a statement: the text that was to be one of several is wrong.
    Invalid(types::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    AdminCheck,
    Check,
    Analyze,
    Optimize,
    Repair,
}

/// `t [AS alias] READ | WRITE` of LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedTable {
    pub name: ObjectName,
    pub alias: Option<String>,
    pub write: bool,
}

/// `ON ...` of GRANT and REVOKE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantTarget {
    /// `*.*`
    Everything { grant_option: bool },
    /// `database.*`, or `*`: the default database.
    Database(Option<String>),
}

/// One assignment of SET.
#[derive(Debug, Clone)]
pub enum SetClause {
    /// `None` means DEFAULT; identifiers (`ON`, `utf8mb4`) arrive as string literals.
    Variable {
        scope: VariableScope,
        name: String,
        value: Option<Expr>,
    },
    User {
        name: String,
        value: Expr,
    },
    /// What needs nothing resolved: NAMES, CHARACTER SET, TRANSACTION.
    Plain(crate::command::SetItem),
}
