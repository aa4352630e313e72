//! Statements whose names and types are settled.

use std::sync::Arc;
use std::time::Duration;

use functions::Expr;
use schema::model::Table;

use super::{ColumnId, Get, Logical};
use crate::foreign_key::ForeignKeyPlan;
use crate::plan::{FileRows, LiteralValues, OutputLimit, ResultColumn, SortKey};
use crate::row_check::RowCheck;

#[derive(Debug, Clone)]
pub enum LogicalStatement {
    Query(LogicalQuery),
    Insert(LogicalInsert),
    Update(LogicalUpdate),
    Delete(LogicalDelete),
    FoundWrite(LogicalFoundWrite),
}

#[derive(Debug, Clone)]
pub struct LogicalQuery {
    pub root: Logical,
    /// The columns of the result among `root`'s, in order. One may come twice.
    pub output: Vec<ColumnId>,
    /// One for each of `output`, as the client sees it.
    pub columns: Vec<ResultColumn>,
    /// With SQL_CALC_FOUND_ROWS: the LIMIT, which is not part of `root` then.
    pub limit_of_output: Option<OutputLimit>,
    /// The hint MAX_EXECUTION_TIME.
    pub max_execution: Option<Duration>,
    /// The result depends on which of several equal rows comes first: rows must be read in key order, and not
    /// in parallel.
    pub in_order: bool,
}

#[derive(Debug, Clone)]
pub struct LogicalInsert {
    pub table: Arc<Table>,
    /// As [`Get::partitions`].
    pub partitions: Option<Vec<usize>>,
    /// Target column offsets, in the order of the values.
    pub columns: Vec<usize>,
    /// The number of rows that are written out, with subqueries or without; `None`: those of a SELECT.
    pub given_rows: Option<usize>,
    pub source: LogicalInsertSource,
    pub mode: LogicalInsertMode,
    /// Over the table's columns, by offset.
    pub check: Option<LogicalRowCheck>,
    pub ignore: bool,
    /// Whether LAST_INSERT_ID() becomes the first id that is generated: not through a view without the id's column.
    pub sets_last_id: bool,
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
}

#[derive(Debug, Clone)]
pub enum LogicalInsertSource {
    /// As [`crate::plan::InsertSource::Values`]: columns are the table's, by offset.
    Values(Vec<Vec<Option<Expr>>>),
    Literals(LiteralValues),
    Query(Box<LogicalQuery>),
    /// LOAD DATA: columns are the table's, by offset. The rows have no subqueries yet.
    File(Box<FileRows>, Vec<AssignedSubqueries>),
}

#[derive(Debug, Clone)]
pub enum LogicalInsertMode {
    Insert,
    Replace,
    /// ON DUPLICATE KEY UPDATE.
    Update(LogicalRowUpdate),
}

/// What ON DUPLICATE KEY UPDATE does to a row that is there.
#[derive(Debug, Clone)]
pub struct LogicalRowUpdate {
    /// Columns are positions in the row that [`crate::plan::RowUpdate`] describes.
    pub assignments: Vec<LogicalAssignment>,
    /// The columns that the query gives after those that are inserted.
    pub further: Vec<ColumnId>,
    pub subqueries: Vec<AssignedSubqueries>,
}

/// The subqueries of one assignment.
#[derive(Debug, Clone)]
pub struct AssignedSubqueries {
    /// Position in the list of assignments.
    pub assignment: usize,
    /// Its outer columns are those of the row that the values see: in ON DUPLICATE KEY UPDATE the offsets of the row
    /// that is there and of the one that was to be inserted, and [`LogicalRowUpdate::further`]; in LOAD DATA the
    /// offsets of the line's row.
    pub query: RowQuery,
}

/// A query that runs for one row, whose columns are its outer columns.
#[derive(Debug, Clone)]
pub struct RowQuery {
    /// One row with `columns`: projections and subqueries over one row without columns.
    pub root: Logical,
    pub columns: Vec<ColumnId>,
}

impl From<Logical> for RowQuery {
    fn from(root: Logical) -> Self {
        Self {
            columns: root.output().iter().map(|column| column.id).collect(),
            root,
        }
    }
}

/// Over the columns of the row that is written.
pub type LogicalRowCheck = RowCheck<RowQuery>;

/// `column = expr`; `None` means DEFAULT.
#[derive(Debug, Clone)]
pub struct LogicalAssignment {
    /// Column offset in the table.
    pub column: usize,
    pub value: Option<Expr>,
}

/// Which rows of one table an UPDATE or DELETE touches, and in which order.
#[derive(Debug, Clone)]
pub struct LogicalTarget {
    pub table: Get,
    pub filter: Option<Expr>,
    pub order_by: Vec<SortKey>,
    pub limit: Option<Expr>,
}

/// Values of assignments are over the ids of the target's columns.
#[derive(Debug, Clone)]
pub struct LogicalUpdate {
    pub target: LogicalTarget,
    pub assignments: Vec<LogicalAssignment>,
    /// Over the target's columns.
    pub check: Option<LogicalRowCheck>,
    pub ignore: bool,
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
}

/// UPDATE or DELETE of rows that a query finds: of several tables, or by subqueries.
#[derive(Debug, Clone)]
pub struct LogicalFoundWrite {
    /// Its Gets of the written tables have keys.
    pub root: Logical,
    pub tables: Vec<LogicalFoundTable>,
    pub ignore: bool,
}

/// A table of a [`LogicalFoundWrite`].
#[derive(Debug, Clone)]
pub struct LogicalFoundTable {
    pub table: Get,
    /// Over the columns of the query; `None`: the rows are deleted.
    pub assignments: Option<Vec<LogicalAssignment>>,
    /// Over the columns of the query, of which those of the table are the changed row's.
    pub check: Option<LogicalRowCheck>,
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
}

#[derive(Debug, Clone)]
pub struct LogicalDelete {
    pub target: LogicalTarget,
    pub ignore: bool,
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
}
