//! Physical plans: the optimizer's output, which the executors run.
//!
//! A [`Rel`] is a tree of relational operators over batches of columns; an expression in an operator refers
//! to the columns of that operator's input by position. An expression inside the subquery of an [`Apply`]
//! refers to a column of the Apply's input by [`Expr::Outer`].

mod file;
mod join;
mod measure;
mod parallel;
mod partitions;
mod range;
mod visit;

use std::sync::Arc;

use functions::Expr;
use functions::aggregate::AggregateCall;
use functions::json_table::JsonTable;
use functions::window::{Frame, WindowCall};
use schema::model::Table;
use syntax::ast::{IndexHint, LiteralRows};
use types::{Collation, SqlType};

use crate::foreign_key::ForeignKeyPlan;
use crate::row_check::{RowCheck, RowCondition};

pub use crate::execution_cache::ExecutionCache;

pub use file::{FieldTarget, FileFormat, FileRows};
pub use join::{Apply, ApplyKind, Join, JoinKey, JoinKind, LookupJoin, OuterColumn};
pub use measure::{Measure, Measured, measured};
pub use partitions::ScanPartitions;
pub use range::evaluate;

/// A common table expression within one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommonTableId(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Intersect,
    Except,
}

/// A statement that reads or writes rows, ready to run with any parameters of the types it was planned for.
#[derive(Debug, Clone)]
pub enum Plan {
    Query(QueryPlan),
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    FoundWrite(FoundWritePlan),
}

/// Which executor runs a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// `executor`: few rows, on the connection's own thread.
    Transactional,
    /// `analytics`: many rows, on DataFusion.
    Analytical,
}

#[derive(Debug, Clone)]
pub struct QueryPlan {
    pub root: Rel,
    /// One per column of `root`'s output, in order.
    pub columns: Vec<ResultColumn>,
    /// The strongest lock of any of its scans.
    pub locking: Option<Locking>,
    pub route: Route,
    /// With SQL_CALC_FOUND_ROWS: the LIMIT, which is no part of `root` then.
    pub limit_of_output: Option<OutputLimit>,
    /// The hint MAX_EXECUTION_TIME.
    pub max_execution: Option<std::time::Duration>,
    /// The plan that replaces it if it reads many more rows than estimated.
    pub larger: Option<Box<LargerPlan>>,
}

impl QueryPlan {
    /// The query of the rows that a write finds.
    pub fn of_write(write: &FoundWritePlan) -> Self {
        Self {
            root: write.root.clone(),
            columns: Vec::new(),
            locking: write.root.strongest_lock(),
            route: Route::Transactional,
            limit_of_output: None,
            max_execution: None,
            larger: None,
        }
    }
}

/// The plan for `analytics` of a query that was expected to be small enough for `executor`.
#[derive(Debug, Clone)]
pub struct LargerPlan {
    pub query: QueryPlan,
    /// How many rows `executor` may look at before the first row of the result leaves. So many take it about as long
    /// as all of this plan takes.
    pub rows_max: u64,
}

/// How many of a query's rows its client gets, where all of them are counted.
#[derive(Debug, Clone)]
pub struct OutputLimit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

/// The definition of a result column, as the protocol sends it to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultColumn {
    pub database: String,
    /// Alias, and name, of the table it comes from; empty for expressions.
    pub table: String,
    pub original_table: String,
    pub name: String,
    pub original_name: String,
    pub ty: SqlType,
    pub nullable: bool,
    /// PRI_KEY_FLAG and its like (protocol's column definition flags) that follow from the table's
    /// definition.
    pub primary_key: bool,
    pub unique_key: bool,
    pub multiple_key: bool,
    pub part_key: bool,
    pub auto_increment: bool,
    pub no_default: bool,
    pub on_update_now: bool,
    /// It comes from a temporary table: it is announced as columns of tables are.
    pub is_stored: bool,
    /// It is the column of a table, and the query names it through a derived table or view that is merged into the query.
    pub is_of_merged: bool,
    /// A date or time that an expression chose among others: MySQL announces it in the character set of results.
    pub is_chosen_time: bool,
    /// A column of a view or derived table that is merged: MySQL announces dates, times and documents in the character set
    /// of results.
    pub is_reference: bool,
}

/// `FOR UPDATE`, `FOR SHARE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Locking {
    pub exclusive: bool,
    pub wait: LockingWait,
    /// No clause asks for it: a write locks the rows that it changes. An optimistic transaction does not.
    pub of_write: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockingWait {
    /// Up to `innodb_lock_wait_timeout`.
    Wait,
    NoWait,
    SkipLocked,
}

#[derive(Debug, Clone)]
pub enum Rel {
    /// One row without columns: `SELECT 1`, `FROM DUAL`.
    OneRow,
    Scan(TableScan),
    /// Rows of a virtual table: `information_schema`, `performance_schema`. Output: all columns of the table.
    Virtual(VirtualScan),
    Filter {
        input: Box<Rel>,
        predicate: Expr,
    },
    Project {
        input: Box<Rel>,
        exprs: Vec<Expr>,
    },
    /// Output columns: the group keys, then the aggregates. Without keys there is always one row. Keys are
    /// compared under the collations of their types; the key in the output is that of the group's first row.
    Aggregate {
        input: Box<Rel>,
        keys: Vec<Expr>,
        aggregates: Vec<AggregateCall>,
    },
    /// Stable. NULL sorts first ascending, last descending. `limit`: the number of rows wanted (LIMIT plus
    /// OFFSET).
    Sort {
        input: Box<Rel>,
        keys: Vec<SortKey>,
        limit: Option<Expr>,
    },
    /// Both are non-negative integers; no columns.
    Limit {
        input: Box<Rel>,
        offset: Option<Expr>,
        count: Option<Expr>,
    },
    /// Only for EXPLAIN ANALYZE: the input's rows, which are counted.
    Measured {
        input: Box<Rel>,
        measure: Measure,
    },
    /// A part of the plan that the stores compute, where they can: see the crate `coprocessor`. `input` says what its
    /// rows are, and is run instead where they cannot.
    Pushed {
        input: Box<Rel>,
    },
    /// Each row `times` times. Output: the number of the copy (BIGINT, from 0), then the input's columns.
    Repeat {
        input: Box<Rel>,
        times: u32,
    },
    /// Rows that are different under the collations of their columns; the first of equal rows stays.
    Distinct {
        input: Box<Rel>,
    },
    /// Rows that are written out: constants, and outer columns.
    Values {
        columns: Vec<OutputColumn>,
        rows: Vec<Vec<Expr>>,
    },
    JsonTable(JsonTableScan),
    Join(Join),
    LookupJoin(LookupJoin),
    Apply(Apply),
    /// Output: the input's columns, then those of the calls. Rows come by partition and in the window's
    /// order; it sorts them itself.
    Window {
        input: Box<Rel>,
        partition_by: Vec<Expr>,
        order_by: Vec<SortKey>,
        frame: Frame,
        calls: Vec<WindowCall>,
    },
    /// Both sides' columns have the same types; those of the output are as nullable as either side's.
    SetOperation {
        operator: SetOperator,
        /// ALL: equal rows are counted, and not taken as one. UNION ALL gives the left side's rows first.
        all: bool,
        left: Box<Rel>,
        right: Box<Rel>,
    },
    /// `definition`'s rows are made once for each run of `body`, at the first use, and kept for it.
    With {
        id: CommonTableId,
        definition: Box<Rel>,
        body: Box<Rel>,
    },
    /// Only as the definition of a [`Rel::With`]; see [`crate::logical::Recursive`].
    Recursive {
        seed: Box<Rel>,
        step: Box<Rel>,
        distinct: bool,
        columns: Vec<OutputColumn>,
    },
    /// The rows of the common table expression; with `recursive` only those of the round before.
    CommonTable {
        id: CommonTableId,
        columns: Vec<OutputColumn>,
        recursive: bool,
    },
}

/// The type of a column of an operator that has no expression for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputColumn {
    pub ty: SqlType,
    pub nullable: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Debug, Clone)]
pub struct VirtualScan {
    pub database: String,
    pub table: Arc<Table>,
    /// Offsets of the columns that the query reads. The output has all columns; the others have any value.
    pub wanted: Vec<usize>,
    /// Conditions on one column each, which the table may apply before it makes rows. They neither fail nor
    /// warn. The filter above the scan applies them again.
    pub conditions: Vec<Expr>,
}

/// Rows of one stored table. Output: the columns named by `columns`, in that order.
#[derive(Debug, Clone)]
pub struct TableScan {
    pub table: Arc<Table>,
    /// Alias in the statement, or the table's name.
    pub alias: String,
    /// Column offsets to produce. The hidden handle is not one of them. The number of the table's columns stands
    /// for the row's key ([`ROW_KEY`]).
    pub columns: Vec<usize>,
    pub access: Access,
    /// USE, FORCE and IGNORE INDEX.
    pub hints: Vec<IndexHint>,
    /// Rows that do not satisfy it are left out. Refers to the scan's own output columns. What the access
    /// path already guarantees is not repeated here.
    pub filter: Option<Expr>,
    /// `AS OF TIMESTAMP expr`: a DATETIME(6) in the session's zone.
    pub as_of: Option<Expr>,
    /// The rows that are read are locked.
    pub locking: Option<Locking>,
    pub expected: Expected,
    /// Only for EXPLAIN ANALYZE: counts the rows that are read, before the filter.
    pub read: Option<Measure>,
    /// `None`: the table has no partitions.
    pub partitions: Option<Box<ScanPartitions>>,
    pub execution_cache: ExecutionCache,
}

/// The optimizer's estimates for reading a table, once or for one row of a join's other side.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Expected {
    /// Rows that the access path gives, and those of them that satisfy the filter.
    pub read: f64,
    pub rows: f64,
    /// Microseconds.
    pub cost: f64,
}

/// How a table is read.
#[derive(Debug, Clone)]
pub enum Access {
    /// All rows in key order, or against it.
    Full { reverse: bool },
    /// Rows by complete primary keys, `keys[i]` having one expression per key part, of the part's type.
    /// Duplicates among the keys' values give a row once; a NULL gives none.
    PrimaryPoints { keys: Vec<Vec<Expr>> },
    /// Rows by complete keys of a unique index; a NULL gives none.
    UniquePoints { index: usize, keys: Vec<Vec<Expr>> },
    /// Ranges of the primary key, disjoint at run time or not: a row comes once. Output in key order.
    PrimaryRanges { ranges: Vec<Range>, reverse: bool },
    /// Ranges of a secondary index. `covering`: the index entry (with the handle) holds every column the scan
    /// needs, so that no row is fetched. Output in index order.
    IndexRanges {
        index: usize,
        ranges: Vec<Range>,
        reverse: bool,
        covering: bool,
    },
    /// Of the rows of ranges that have the same values in the first `parts` parts of an index, by its position, or of
    /// the primary key: the first in the order of the index, or the last, or both. The entries of an index hold every
    /// column that the scan needs. In no order.
    GroupEnds {
        index: Option<usize>,
        ranges: Vec<Range>,
        parts: usize,
        first: bool,
        last: bool,
    },
    /// Rows of several of the paths above, each row once, in no order. None of them reads all rows or entries
    /// alone.
    Union { parts: Vec<Access> },
}

/// A range of an index: some leading parts fixed, then at most one part bounded.
/// Each expression has the type of its part (cast by the planner), and no columns.
#[derive(Debug, Clone)]
pub struct Range {
    /// Values of the leading parts; a [`RangeValue::IsNull`] matches NULL.
    pub prefix: Vec<RangeValue>,
    pub lower: Option<RangeBound>,
    pub upper: Option<RangeBound>,
}

#[derive(Debug, Clone)]
pub enum RangeValue {
    /// Equal to it; a NULL value at run time makes the range empty.
    Equal(Expr),
    /// Equal or both NULL (`<=>`).
    NullSafe(Expr),
    IsNull,
    /// A word of a FULLTEXT index, of this type: one that has a key of a document
    /// ([`functions::full_text::keys_of`]), or that begins with a text. NULL at run time makes the range empty. The
    /// range has no other value, and may be several at run time.
    Words(Expr, SqlType),
}

/// One end of the part after the prefix. With no lower bound but an upper one, NULLs are left out.
#[derive(Debug, Clone)]
pub struct RangeBound {
    pub value: RangeBoundValue,
    pub inclusive: bool,
}

#[derive(Debug, Clone)]
pub enum RangeBoundValue {
    /// A NULL at run time makes the range empty.
    Value(Expr),
    /// As a lower, exclusive bound: `IS NOT NULL`.
    Null,
}

/// JSON_TABLE: the rows of a document, which is computed of constants and outer columns.
#[derive(Debug, Clone)]
pub struct JsonTableScan {
    pub table: Arc<JsonTable>,
    pub document: Expr,
    pub alias: String,
}

/// Where an INSERT's rows come from.
#[derive(Debug, Clone)]
pub enum InsertSource {
    /// One expression per target column, of any type: the executor converts to the column's type as an
    /// assignment does. `None` stands for DEFAULT. Expressions may refer, by `Expr::Column` with the
    /// *table's* column offsets, to columns assigned further left in the same row (`INSERT INTO t (a, b)
    /// VALUES (1, a + 1)`).
    Values(Vec<Vec<Option<Expr>>>),
    /// Many rows of literals, which are converted as the values above.
    Literals(LiteralValues),
    Query(Box<QueryPlan>),
    /// LOAD DATA.
    File(Box<FileRows>),
}

/// Rows of literals. A row has a value for each target column.
#[derive(Debug, Clone)]
pub struct LiteralValues {
    pub rows: Arc<LiteralRows>,
    /// That of their texts.
    pub collation: Collation,
}

#[derive(Debug, Clone)]
pub struct InsertPlan {
    pub table: Arc<Table>,
    /// Positions of the partitions that the statement names; `None`: all.
    pub partitions: Option<Vec<usize>>,
    /// Target column offsets, in the order of the values. Further columns of a query are for
    /// [`InsertMode::Update`].
    pub columns: Vec<usize>,
    /// The number of rows that are written out, with subqueries or without; `None`: those of a SELECT.
    pub given_rows: Option<usize>,
    pub source: InsertSource,
    pub mode: InsertMode,
    /// Of the view that the statement names, over the table's columns.
    pub check: Option<ViewCheck>,
    pub ignore: bool,
    /// As [`LogicalInsert::sets_last_id`](crate::logical::LogicalInsert::sets_last_id).
    pub sets_last_id: bool,
    /// `None`: no foreign key concerns it.
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
    pub execution_cache: ExecutionCache,
}

#[derive(Debug, Clone)]
pub enum InsertMode {
    Insert,
    Replace,
    /// ON DUPLICATE KEY UPDATE.
    Update(RowUpdate),
}

/// What ON DUPLICATE KEY UPDATE does to an existing row. Expressions see the existing row at columns `0..n` (n =
/// number of the table's columns), the row that was to be inserted (`VALUES(c)`, or the row alias) at `n..2n`, from
/// `2n` on the further columns of the query, and after these the columns of the subqueries.
#[derive(Debug, Clone)]
pub struct RowUpdate {
    pub assignments: Vec<Assignment>,
    pub subqueries: Vec<AssignedSubqueries>,
}

/// The subqueries of one assignment, which run just before it.
#[derive(Debug, Clone)]
pub struct AssignedSubqueries {
    /// Position in the list of assignments.
    pub assignment: usize,
    /// Gives the columns of the subqueries.
    pub query: RowQuery,
}

/// A query that runs for one row and gives one.
#[derive(Debug, Clone)]
pub struct RowQuery {
    pub root: Rel,
    /// What it takes of the row.
    pub outer: Vec<OuterColumn>,
}

/// Over the columns of the row that is written, by position.
pub type ViewCheck = RowCheck<RowQuery>;

/// The query of a view's check.
fn checking_query(check: Option<&ViewCheck>) -> Option<&Rel> {
    match &check?.condition {
        RowCondition::Query(query) => Some(&query.root),
        RowCondition::Row(_) => None,
    }
}

impl InsertPlan {
    /// The queries that the statement runs: that of its rows, and those that run for each row.
    pub fn queries(&self) -> impl Iterator<Item = &Rel> {
        let source = match &self.source {
            InsertSource::Query(query) => Some(&query.root),
            InsertSource::Values(_) | InsertSource::Literals(_) | InsertSource::File(_) => None,
        };
        source.into_iter().chain(self.row_queries())
    }

    /// Those that run for each row.
    pub fn row_queries(&self) -> impl Iterator<Item = &Rel> {
        let subqueries = self.subqueries().iter();
        subqueries
            .map(|subqueries| &subqueries.query.root)
            .chain(checking_query(self.check.as_ref()))
    }

    /// Those of ON DUPLICATE KEY UPDATE, or of LOAD DATA's SET: no statement has both.
    pub fn subqueries(&self) -> &[AssignedSubqueries] {
        match (&self.mode, &self.source) {
            (InsertMode::Update(update), _) => &update.subqueries,
            (_, InsertSource::File(file)) => &file.subqueries,
            (InsertMode::Insert | InsertMode::Replace, _) => &[],
        }
    }
}

/// `column = expr`; `None` means DEFAULT. The executor converts the value to the column's type.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Column offset.
    pub column: usize,
    pub value: Option<Expr>,
}

/// Which rows an UPDATE or DELETE touches: a scan of *all* the table's columns (offset = position), in
/// `order_by` order where given, at most `limit` of them.
#[derive(Debug, Clone)]
pub struct Target {
    pub scan: TableScan,
    pub order_by: Vec<SortKey>,
    pub limit: Option<Expr>,
}

/// Assignments are made from left to right, each seeing the ones before it, as MySQL does it.
#[derive(Debug, Clone)]
pub struct UpdatePlan {
    pub target: Target,
    pub assignments: Vec<Assignment>,
    /// Of the view that the statement names, over the table's columns.
    pub check: Option<ViewCheck>,
    pub ignore: bool,
    /// `None`: no foreign key concerns it.
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
    pub execution_cache: ExecutionCache,
}

#[derive(Debug, Clone)]
pub struct DeletePlan {
    pub target: Target,
    pub ignore: bool,
    /// `None`: no foreign key concerns it.
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
    pub execution_cache: ExecutionCache,
}

/// UPDATE or DELETE of the rows that a query finds: of several tables, or by subqueries. All rows are found, and
/// those of the written tables locked, before the first is written. A row that comes several times is written
/// once.
#[derive(Debug, Clone)]
pub struct FoundWritePlan {
    pub root: Rel,
    pub tables: Vec<FoundTable>,
    /// What is assigned to the tables after the first is computed of the first one's new values.
    pub first_is_seen: bool,
    pub ignore: bool,
    pub is_update: bool,
}

impl FoundWritePlan {
    /// The queries that the statement runs: that of its rows, and those of checks.
    pub fn queries(&self) -> impl Iterator<Item = &Rel> {
        let checks = self.tables.iter().map(|table| table.check.as_ref());
        std::iter::once(&self.root).chain(checks.filter_map(checking_query))
    }
}

/// What a [`FoundWritePlan`] does to one table.
#[derive(Debug, Clone)]
pub struct FoundTable {
    pub table: Arc<Table>,
    /// Positions of the partitions that the statement names; `None`: all.
    pub partitions: Option<Vec<usize>>,
    /// Position in the query's rows of each of the table's columns.
    pub columns: Vec<usize>,
    /// Position of the row's key; NULL there means that there is no row (an outer join).
    pub key: usize,
    /// Columns `0..n` are the table's, by offset, and `n + p` is position `p` of the query's rows. `None`: the
    /// rows are deleted.
    pub assignments: Option<Vec<Assignment>>,
    /// Over the same columns, once they are assigned.
    pub check: Option<ViewCheck>,
    /// `None`: no foreign key concerns it.
    pub foreign_keys: Option<Arc<ForeignKeyPlan>>,
}

/// The type of a row's key as a column.
pub const ROW_KEY: SqlType = SqlType::varchar(u32::MAX, Collation::Binary);
