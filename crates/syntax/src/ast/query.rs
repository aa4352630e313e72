//! SELECT as written.

use super::{ColumnName, Expr, ObjectName};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Select {
    /// The hint MAX_EXECUTION_TIME, in milliseconds.
    pub max_execution_ms: Option<u64>,
    pub distinct: bool,
    /// SQL_CALC_FOUND_ROWS.
    pub counts_all_rows: bool,
    pub items: Vec<SelectItem>,
    /// VALUES: rows in place of items and of a table. `None` in a row is DEFAULT.
    pub values: Option<Vec<Vec<Option<Expr>>>>,
    /// `None`: no FROM, or FROM DUAL.
    pub from: Option<TableRef>,
    pub filter: Option<Expr>,
    pub group_by: Vec<NamedExpr>,
    /// GROUP BY ... WITH ROLLUP
    pub rollup: bool,
    pub having: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub locking: Option<LockingClause>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    All,
    /// `[database.]table.*`
    AllOf(ObjectName),
    Expr {
        expr: Expr,
        /// The alias, or the text the expression was written in.
        name: String,
        aliased: bool,
    },
}

/// A table of FROM.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRef {
    pub name: ObjectName,
    pub alias: Option<String>,
    /// A derived table, called `name`: the query its rows come from.
    pub query: Option<Box<Select>>,
    /// `AS OF TIMESTAMP expr`, TiDB's syntax for reads in the past.
    pub as_of: Option<Expr>,
    pub hints: Vec<IndexHint>,
}

/// `USE INDEX (...)`, `IGNORE INDEX (...)`, `FORCE INDEX (...)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    /// `PRIMARY` names the primary key. Empty with USE: no index at all.
    pub indexes: Vec<String>,
    /// `FOR ORDER BY` and `FOR GROUP BY` say nothing about finding rows.
    pub for_rows: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexHintKind {
    Use,
    Ignore,
    Force,
}

/// An expression and its text, for error messages.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedExpr {
    pub expr: Expr,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

/// LIMIT: literals and parameters only.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LockingClause {
    pub exclusive: bool,
    pub wait: LockWait,
    /// `OF t`: tables that are locked; none means all.
    pub of: Vec<String>,
}

/// What a locking read does about rows that are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

impl Select {
    /// A column name of one part.
    pub fn simple_name(expr: &Expr) -> Option<&str> {
        match expr {
            Expr::Column(ColumnName {
                table: None, column, ..
            }) => Some(column),
            _ => None,
        }
    }
}
