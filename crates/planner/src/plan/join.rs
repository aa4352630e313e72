//! Operators that bring the rows of two inputs together.

use functions::Expr;

use super::{ExecutionCache, Rel, TableScan};

/// A join of two inputs. The right side is read first, into memory: by its keys into a hash table, or as it
/// is if there are no keys. Rows come in the order of the left side.
#[derive(Debug, Clone)]
pub struct Join {
    pub kind: JoinKind,
    pub left: Box<Rel>,
    pub right: Box<Rel>,
    /// About how many rows the right side has.
    pub right_rows: u64,
    /// About how many rows come out.
    pub rows: f64,
    pub keys: Vec<JoinKey>,
    /// What a pair must satisfy besides, over the left side's columns and then the right side's.
    pub residual: Option<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Output: the left side's columns, then the right side's.
    Inner,
    /// The same; a left row without a partner comes with NULLs.
    Left,
    /// Left rows that have a partner. Output: the left side's columns.
    Semi,
    /// Left rows that have no partner.
    Anti,
    /// Output: the left side's columns, then a BIGINT: 1 for a row with a partner, else NULL where the
    /// comparison of keys or the residual is NULL for some right row, else 0.
    Mark,
}

/// Both expressions have the same type and are compared under its collation.
#[derive(Debug, Clone)]
pub struct JoinKey {
    /// Over the left side's columns.
    pub left: Expr,
    /// Over the right side's columns.
    pub right: Expr,
    /// `<=>`: NULL is equal to NULL.
    pub null_safe: bool,
}

/// A join that finds the partners of left rows by the keys of a table. Rows come in the order of the left
/// side.
#[derive(Debug, Clone)]
pub struct LookupJoin {
    pub kind: JoinKind,
    pub left: Box<Rel>,
    /// The expressions of `access` are over the left side's columns; its kind is one of points or ranges.
    pub right: TableScan,
    /// What a pair must satisfy besides, over the left side's columns and then the right side's.
    pub residual: Option<Expr>,
    /// About how many rows come out.
    pub rows: f64,
    pub execution_cache: ExecutionCache,
}

/// For each row of `input`: what `subquery` gives for it.
#[derive(Debug, Clone)]
pub struct Apply {
    pub kind: ApplyKind,
    pub input: Box<Rel>,
    pub subquery: Box<Rel>,
    /// What the subquery takes of each row. Empty: it gives the same for all rows, and runs once.
    pub outer: Vec<OuterColumn>,
}

#[derive(Debug, Clone)]
pub enum ApplyKind {
    /// Output: the input's columns, then the subquery's; NULLs where it has no row. A second row is error
    /// 1242.
    Scalar,
    /// Output: the input's columns, then a BIGINT: 1 where the subquery has a row, else 0.
    Exists,
    /// Output: the input's columns, then a BIGINT: 1 where the condition, over the input's columns and then
    /// the subquery's, is true for some row; else NULL where it is NULL for some row; else 0.
    Any { condition: Expr },
    /// Output: the input's columns, then the subquery's, for each pair of rows that satisfies the condition.
    /// `left`: an input row without any comes once, with NULLs.
    Lateral { left: bool, condition: Option<Expr> },
}

/// A column of the input that the subquery names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OuterColumn {
    /// Of [`Expr::Outer`]: unique in the statement.
    pub slot: usize,
    /// In the input's output.
    pub position: usize,
}
