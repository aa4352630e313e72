//! Queries as written: query expressions, query blocks, the tables of FROM.

use super::window::NamedWindow;
use super::{DataType, Expr, Hints, IntoFile, ObjectName, OrderItem};

/// A query expression: anything that returns rows. Source: manual 13.2.11 "Parenthesized Query Expressions".
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub locking: Vec<LockingClause>,
    pub into: Option<Box<SelectInto>>,
    pub into_place: IntoPlace,
}

impl Query {
    /// A query expression of a body and nothing else.
    pub fn of(body: QueryBody) -> Self {
        Self {
            with: None,
            body,
            order_by: Vec::new(),
            limit: None,
            locking: Vec::new(),
            into: None,
            into_place: IntoPlace::AtEnd,
        }
    }

    /// The same of a block.
    pub fn of_select(select: Select) -> Self {
        Self::of(QueryBody::Select(Box::new(select)))
    }

    /// Whether it has no clauses around its body.
    pub fn is_bare(&self) -> bool {
        self.with.is_none()
            && self.order_by.is_empty()
            && self.limit.is_none()
            && self.locking.is_empty()
            && self.into.is_none()
    }
}

impl QueryBody {
    /// What is in the parentheses that are all of a body: its query's clauses may be those around.
    pub fn unwrapped(&self) -> &Self {
        match self {
            Self::Nested(query) if query.is_bare() => query.body.unwrapped(),
            body => body,
        }
    }
}

/// Where INTO was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IntoPlace {
    #[default]
    AtEnd,
    /// At the end of the last operand of a set operation.
    EndsOperand,
    /// Within the last operand of a set operation: before FROM, or in its parentheses.
    WithinOperand,
}

/// INTO of a SELECT.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectInto {
    /// The user variables that take the columns of the only row.
    Variables(Vec<String>),
    File(IntoFile),
}

#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// `VALUES ROW(...), ...`; `None` in a row is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    /// A query expression in parentheses.
    Nested(Box<Query>),
    /// Operands of operators of the same precedence, which are left-associative. INTERSECT binds tighter than
    /// the others.
    SetOperation {
        first: Box<QueryBody>,
        rest: Vec<SetOperand>,
    },
}

/// `UNION ALL SELECT ...`
#[derive(Debug, Clone, PartialEq)]
pub struct SetOperand {
    pub operator: SetOperator,
    /// ALL was written, and not DISTINCT or nothing.
    pub all: bool,
    pub operand: QueryBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

/// `WITH [RECURSIVE] name [(column, ...)] AS (query), ...`
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTable>,
}

/// A common table expression.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    pub name: String,
    /// Empty: the query names them.
    pub columns: Vec<String>,
    pub query: Box<Query>,
}

/// A query block: one SELECT.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Select {
    pub hints: Option<Box<Hints>>,
    /// STRAIGHT_JOIN after SELECT: the tables are joined in the order in which they are written.
    pub straight_join: bool,
    pub distinct: bool,
    /// SQL_CALC_FOUND_ROWS.
    pub counts_all_rows: bool,
    pub items: Vec<SelectItem>,
    /// The items of FROM. Empty: no FROM, or FROM DUAL.
    pub from: Vec<TableRef>,
    pub filter: Option<Expr>,
    pub group_by: Vec<NamedExpr>,
    /// GROUP BY ... WITH ROLLUP
    pub rollup: bool,
    pub having: Option<Expr>,
    pub windows: Vec<NamedWindow>,
    /// INTO between the select list and FROM; see [`Query::into`].
    pub into: Option<Box<SelectInto>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    All,
    /// `[database.]table.*`
    AllOf(ObjectName),
    Expr {
        expr: Expr,
        /// The alias, or else the text of the expression.
        name: String,
        aliased: bool,
    },
}

/// A table reference: what FROM, UPDATE and DELETE read.
#[derive(Debug, Clone, PartialEq)]
pub enum TableRef {
    Table(NamedTable),
    Derived(DerivedTable),
    Json(JsonTable),
    Join(Box<Join>),
    /// A list in parentheses.
    Nested(Vec<TableRef>),
}

/// A table or view by its name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTable {
    pub name: ObjectName,
    pub alias: Option<String>,
    /// `PARTITION (name, ...)`; empty: all.
    pub partitions: Vec<String>,
    /// `AS OF TIMESTAMP expr`, TiDB's syntax for reads in the past.
    pub as_of: Option<Expr>,
    pub hints: Vec<IndexHint>,
}

/// `[LATERAL] (query) AS alias [(column, ...)]`
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedTable {
    pub lateral: bool,
    pub query: Box<Query>,
    pub alias: String,
    /// Empty: the query names them.
    pub columns: Vec<String>,
}

/// `JSON_TABLE(document, path COLUMNS (...)) AS alias`. Source: manual 12.18.6 "JSON Table Functions".
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    pub document: Expr,
    pub root: JsonTableLevel,
    pub alias: String,
}

/// A path, and the columns for each value that it matches.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonTableLevel {
    pub path: String,
    pub columns: Vec<JsonTableColumn>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`
    Ordinality(String),
    /// `name type EXISTS PATH path`
    Exists {
        name: String,
        ty: DataType,
        path: String,
    },
    /// `name type PATH path [... ON EMPTY] [... ON ERROR]`
    Value {
        name: String,
        ty: DataType,
        path: String,
        on_empty: JsonTableCondition,
        on_error: JsonTableCondition,
    },
    /// `NESTED [PATH] path COLUMNS (...)`
    Nested(JsonTableLevel),
}

/// What ON EMPTY and ON ERROR ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableCondition {
    Null,
    Error,
    /// The text of a JSON value.
    Default(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub left: TableRef,
    pub right: TableRef,
    pub condition: JoinCondition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// JOIN, INNER JOIN and CROSS JOIN, which mean the same in MySQL.
    Inner,
    /// STRAIGHT_JOIN: the left table is read first.
    Straight,
    Left,
    Right,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<String>),
    Natural,
}

/// `USE INDEX (...)`, `IGNORE INDEX (...)`, `FORCE INDEX (...)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    /// `PRIMARY` names the primary key. Empty with USE: no index at all.
    pub indexes: Vec<String>,
    /// The hint applies to access paths. `FOR ORDER BY` and `FOR GROUP BY` do not.
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

/// LIMIT: literals and parameters only.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

/// `FOR UPDATE | SHARE [OF table, ...] [NOWAIT | SKIP LOCKED]`
#[derive(Debug, Clone, PartialEq)]
pub struct LockingClause {
    pub exclusive: bool,
    pub wait: LockWait,
    /// `OF t`: the tables that are locked. Empty: all.
    pub of: Vec<ObjectName>,
}

/// What a locking read does when another transaction has locked a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

impl LockingClause {
    /// Whether it locks the rows of a table. The clause may name the table with its database.
    pub fn is_about(&self, database: &str, alias: &str) -> bool {
        let names = |of: &ObjectName| {
            of.name == alias && of.database.as_deref().is_none_or(|named| named == database)
        };
        self.of.is_empty() || self.of.iter().any(names)
    }
}

impl Query {
    /// The INTO of the query, at whichever of its possible places.
    pub fn into_clause(&self) -> Option<&SelectInto> {
        match &self.body {
            _ if self.into.is_some() => self.into.as_deref(),
            QueryBody::Select(select) => select.into.as_deref(),
            QueryBody::Nested(query) => query.into_clause(),
            QueryBody::SetOperation { .. } | QueryBody::Values(_) => None,
        }
    }

    /// The rows that INSERT takes of a VALUES, in parentheses or not. It inserts all of them: MySQL ignores ORDER BY and
    /// LIMIT there. Any other query is returned unchanged.
    pub fn into_inserted_rows(mut self: Box<Self>) -> Result<Vec<Vec<Option<Expr>>>, Box<Self>> {
        match self.inserted_rows() {
            Some(rows) => Ok(std::mem::take(rows)),
            None => Err(self),
        }
    }

    fn inserted_rows(&mut self) -> Option<&mut Vec<Vec<Option<Expr>>>> {
        let plain = self.with.is_none() && self.locking.is_empty();
        match &mut self.body {
            QueryBody::Values(rows) if plain => Some(rows),
            QueryBody::Nested(query) if plain => query.inserted_rows(),
            _ => None,
        }
    }
}
