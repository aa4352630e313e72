//! Aggregate functions. PLACEHOLDER: the owner of this crate fills it.

use types::SqlType;

use crate::Expr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    /// `COUNT(*)` has no argument; `COUNT(DISTINCT a, b)` several.
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

/// One call in a query. Arguments have been cast to what the function computes in.
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub args: Vec<Expr>,
    pub distinct: bool,
    pub ty: SqlType,
}
