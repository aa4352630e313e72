//! The logical algebra: what a query means, but not how it is run.
//!
//! The binder makes it of a parsed statement. Names, types, collations and conversions are settled in it. The
//! optimizer rewrites it and makes a physical plan of it.
//!
//! - Every column that any operator makes has a [`ColumnId`], which is unique in the statement and stays the
//!   same through all rewrites. In the expressions of this algebra, the `index` of [`Expr::Column`] is such
//!   an id. Only in physical plans is it a position.
//! - An expression may name the columns of its operator's input. Inside the subquery of an
//!   [`Logical::Apply`] it may also name those of the Apply's input, at any depth: such a column is an *outer*
//!   column there.
//! - [`visit`]: one walk over operators, one over expressions.
//! - [`dependence`]: which columns decide which.

pub mod dependence;
mod statement;
mod visit;

use std::sync::Arc;

use functions::Expr;
use functions::aggregate::AggregateCall;
use functions::json_table::JsonTable;
use functions::window::WindowCall;
use schema::model::Table;
use syntax::ast::IndexHint;
use types::SqlType;

use crate::plan::{Locking, SortKey};

pub use crate::plan::{CommonTableId, SetOperator};

pub use visit::columns_of;

pub use statement::{
    AssignedSubqueries, LogicalAssignment, LogicalDelete, LogicalFoundTable, LogicalFoundWrite,
    LogicalInsert, LogicalInsertMode, LogicalInsertSource, LogicalQuery, LogicalRowCheck, LogicalRowUpdate,
    LogicalStatement, LogicalTarget, LogicalUpdate, RowQuery,
};

/// A column within one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub usize);

/// A column that an operator makes itself, and does not take from its input.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub id: ColumnId,
    pub ty: SqlType,
    pub nullable: bool,
}

/// An operator of a query and all below it.
#[derive(Debug, Clone)]
pub enum Logical {
    /// One row without columns: `SELECT 1`, `FROM DUAL`.
    OneRow,
    /// A table, stored or made by the server.
    Get(Get),
    /// Rows that are written out. The values are constants of the columns' types, or outer columns.
    Values {
        columns: Vec<Column>,
        rows: Vec<Vec<Expr>>,
    },
    /// A function in FROM.
    TableFunction(TableFunction),
    /// Output: the input's columns.
    Filter {
        input: Box<Logical>,
        predicate: Expr,
    },
    /// Output: these columns and no others. A column of the input that stays is listed as itself.
    Project {
        input: Box<Logical>,
        columns: Vec<(ColumnId, Expr)>,
    },
    Join(Join),
    Apply(Apply),
    /// Output: the keys, then the aggregates. Without keys there is always one row. Keys are compared under
    /// the collations of their types; the key in the output is that of the group's first row.
    Aggregate {
        input: Box<Logical>,
        keys: Vec<(ColumnId, Expr)>,
        aggregates: Vec<(ColumnId, AggregateCall)>,
        /// WITH ROLLUP: groups of fewer and fewer keys as well, those that are left out being NULL. The
        /// column, a BIGINT that comes between the keys and the aggregates, says how many are left out.
        rollup: Option<ColumnId>,
    },
    /// Output: the input's columns, then those of the calls. All calls have the same partitions, the same
    /// order and the same frame.
    Window {
        input: Box<Logical>,
        window: Window,
        calls: Vec<(ColumnId, WindowCall)>,
    },
    /// Stable. NULL sorts first ascending, last descending.
    Sort {
        input: Box<Logical>,
        keys: Vec<SortKey>,
    },
    /// Both are non-negative integers; no columns.
    Limit {
        input: Box<Logical>,
        offset: Option<Expr>,
        count: Option<Expr>,
    },
    /// Rows that are different under the collations of their columns; the first of equal rows stays.
    Distinct {
        input: Box<Logical>,
    },
    SetOperation(SetOperation),
    /// The rows of `definition` are made once for each run of `body`, which uses them by [`CommonTable`]s.
    With {
        id: CommonTableId,
        definition: Box<Logical>,
        body: Box<Logical>,
    },
    /// Only as the definition of a [`Logical::With`].
    Recursive(Recursive),
    CommonTable(CommonTable),
}

/// A table as FROM names it.
#[derive(Debug, Clone)]
pub struct Get {
    pub table: Arc<Table>,
    /// Alias in the statement, or the table's name.
    pub alias: String,
    /// The id of the table's first column. That of the column at offset `n` is `first + n`.
    pub first: ColumnId,
    pub hints: Vec<IndexHint>,
    /// Hints about the order of joins (JOIN_ORDER and others).
    pub order: Vec<OrderPlace>,
    /// `AS OF TIMESTAMP expr`: a DATETIME(6) in the session's zone.
    pub as_of: Option<Expr>,
    pub locking: Option<Locking>,
    /// Rows will be changed: after the table's columns comes the key of the row, a VARBINARY.
    pub with_key: bool,
    /// Positions of the partitions that the statement names; `None`: all.
    pub partitions: Option<Vec<usize>>,
}

/// `JSON_TABLE(document, ...)`. The document may name outer columns.
#[derive(Debug, Clone)]
pub struct TableFunction {
    pub table: Arc<JsonTable>,
    pub document: Expr,
    pub alias: String,
    pub columns: Vec<Column>,
}

/// A table's place in an optimizer hint about the order of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderPlace {
    /// The block of the statement, and which of its hints.
    pub hint: (usize, usize),
    pub rule: OrderRule,
    /// Among the tables of the hint.
    pub position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderRule {
    /// The tables of the hint come in its order; others may come between.
    InOrder,
    /// They come before all others.
    First,
    /// They come after all others.
    Last,
}

#[derive(Debug, Clone)]
pub struct Join {
    pub kind: JoinKind,
    pub left: Box<Logical>,
    pub right: Box<Logical>,
    /// `None`: all pairs.
    pub condition: Option<Expr>,
    /// STRAIGHT_JOIN: the left side is read first.
    pub straight: bool,
}

/// RIGHT joins have become LEFT ones. Semi and anti joins are made by the optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    /// Output: both sides' columns. Those of the right side are NULL for a left row without a partner.
    Left,
    /// Left rows that have a partner. Output: the left side's columns.
    Semi,
    /// Left rows that have no partner.
    Anti,
}

/// For each row of `input`: what `subquery` gives for it.
#[derive(Debug, Clone)]
pub struct Apply {
    pub kind: ApplyKind,
    pub input: Box<Logical>,
    pub subquery: Box<Logical>,
}

#[derive(Debug, Clone)]
pub enum ApplyKind {
    /// A subquery in the place of a value or of a row. Output: the input's columns, then `columns`, which are
    /// the subquery's own; all NULL where it has no row. More than one row is error 1242.
    Scalar { columns: Vec<ColumnId> },
    /// Output: the input's columns, then `mark` (a BIGINT, never NULL): 1 where the subquery has a row.
    Exists { mark: ColumnId },
    /// `x IN (subquery)`, `x > ANY (subquery)`. Output: the input's columns, then `mark` (a BIGINT): 1 where
    /// the condition, over the input's and the subquery's columns, is true for some row; else NULL where it
    /// is NULL for some row; else 0.
    Any { mark: ColumnId, condition: Expr },
    /// A LATERAL derived table. Output: the input's columns and the subquery's, for each pair of rows. `left`:
    /// a row of the input for which the subquery has none that satisfies the condition comes with NULLs.
    Lateral { left: bool, condition: Option<Expr> },
}

/// PARTITION BY, ORDER BY and the frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub frame: functions::window::Frame,
}

/// Rows of two queries of the same number of columns.
#[derive(Debug, Clone)]
pub struct SetOperation {
    pub operator: SetOperator,
    /// ALL: equal rows are counted, and not taken as one.
    pub all: bool,
    pub left: Box<Logical>,
    pub right: Box<Logical>,
    /// Column `n` of the output, of each side's column `n`; the binder has given both sides its type.
    pub columns: Vec<SetColumn>,
}

#[derive(Debug, Clone)]
pub struct SetColumn {
    pub column: Column,
    pub left: ColumnId,
    pub right: ColumnId,
}

/// A recursive common table expression: the rows of `seed`; then again and again those of `step`, in which
/// the common table's name means the rows of the round before; until a round gives none. More than
/// `cte_max_recursion_depth` rounds are error 3636.
#[derive(Debug, Clone)]
pub struct Recursive {
    pub seed: Box<Logical>,
    pub step: Box<Logical>,
    /// UNION, not UNION ALL: a row that is equal to an earlier one is left out.
    pub distinct: bool,
    /// As in [`SetOperation::columns`]: `left` is of the seed, `right` of the step.
    pub columns: Vec<SetColumn>,
}

/// A use of a common table expression. Output: `columns`, which are the definition's at the same positions
/// under ids of this use.
#[derive(Debug, Clone)]
pub struct CommonTable {
    pub id: CommonTableId,
    pub columns: Vec<Column>,
    /// Within the step of the recursion that defines it: only the rows of the round before.
    pub recursive: bool,
}

impl From<ColumnId> for usize {
    fn from(id: ColumnId) -> Self {
        id.0
    }
}

impl Logical {
    /// The same rows, by operators that are not mixed with those around them: what NO_MERGE and NO_SEMIJOIN ask for.
    /// A LIMIT without a number.
    #[must_use]
    pub fn fenced(self) -> Self {
        Self::Limit {
            input: Box::new(self),
            offset: None,
            count: None,
        }
    }

    pub fn is_fence(&self) -> bool {
        matches!(
            self,
            Self::Limit {
                offset: None,
                count: None,
                ..
            }
        )
    }
}

impl Get {
    /// The id of the column at an offset.
    pub fn id(&self, offset: usize) -> ColumnId {
        ColumnId(self.first.0 + offset)
    }

    /// The offset of a column, if it is the table's.
    pub fn offset(&self, id: ColumnId) -> Option<usize> {
        let offset = id.0.checked_sub(self.first.0)?;
        (offset < self.table.columns.len() + usize::from(self.with_key)).then_some(offset)
    }

    /// The id of the row's key, which is there with `with_key`.
    pub fn key(&self) -> ColumnId {
        self.id(self.table.columns.len())
    }
}
