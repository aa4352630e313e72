//! INSERT, REPLACE, UPDATE and DELETE as written.

use std::sync::Arc;

use super::{ColumnName, Expr, Hints, Limit, LiteralRows, ObjectName, OrderItem, Query, TableRef, With};

#[derive(Debug, Clone)]
pub struct Insert {
    pub replace: bool,
    /// DELAYED, which only gives a warning.
    pub delayed: bool,
    pub ignore: bool,
    pub table: ObjectName,
    /// `PARTITION (name, ...)`. Empty: all partitions.
    pub partitions: Vec<String>,
    /// Empty: all columns.
    pub columns: Vec<ColumnName>,
    /// A list of columns is given, perhaps an empty one: `()`.
    pub has_columns: bool,
    pub rows: InsertRows,
    pub alias: Option<RowAlias>,
    pub on_duplicate: Vec<Assignment>,
    pub hints: Option<Box<Hints>>,
}

#[derive(Debug, Clone)]
pub enum InsertRows {
    /// `None` is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    /// Several rows that consist of literals only.
    Literals(Arc<LiteralRows>),
    Query(Box<Query>),
}

/// `VALUES ... AS new(a, b)`
#[derive(Debug, Clone)]
pub struct RowAlias {
    pub name: String,
    pub columns: Vec<String>,
}

/// `column = value`; `None` is DEFAULT.
#[derive(Debug, Clone)]
pub struct Assignment {
    pub column: ColumnName,
    pub value: Option<Expr>,
}

#[derive(Debug, Clone)]
pub struct Update {
    pub with: Option<With>,
    pub ignore: bool,
    pub tables: Vec<TableRef>,
    pub assignments: Vec<Assignment>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub hints: Option<Box<Hints>>,
}

#[derive(Debug, Clone)]
pub struct Delete {
    pub with: Option<With>,
    pub ignore: bool,
    /// The targets in the form for several tables: `DELETE target, ... FROM tables`.
    pub targets: Vec<ObjectName>,
    pub tables: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub hints: Option<Box<Hints>>,
}
