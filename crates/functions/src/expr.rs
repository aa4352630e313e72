//! Bound, typed expressions: what `planner` makes of SQL text and what both executors evaluate.

use types::{SqlType, Value};

use crate::registry::Function;

/// An expression whose names and types are resolved. Every implicit conversion of MySQL's is an explicit
/// [`Expr::Cast`] in here or part of the called function's own semantics; nothing is coerced later.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// Column `index` of the input batch.
    Column {
        index: usize,
        ty: SqlType,
        nullable: bool,
    },
    /// Parameter `index` of the statement; its value is in [`crate::EvalContext::params`] and has type `ty`.
    Param {
        index: usize,
        ty: SqlType,
    },
    Literal {
        value: Value,
        ty: SqlType,
    },
    /// A call of a built-in function or operator.
    Call {
        function: Function,
        args: Vec<Expr>,
        ty: SqlType,
    },
    /// `CAST`, explicit or implicit. `implicit` decides what is worth a warning and how strings turn to numbers.
    Cast {
        input: Box<Expr>,
        ty: SqlType,
        implicit: bool,
    },
    /// `CASE WHEN c1 THEN v1 ... ELSE e END`; only the branch that is taken is evaluated per row. All values have type `ty`.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        ty: SqlType,
    },
}

impl Expr {
    pub fn ty(&self) -> SqlType {
        match self {
            Self::Column { ty, .. }
            | Self::Param { ty, .. }
            | Self::Literal { ty, .. }
            | Self::Call { ty, .. }
            | Self::Cast { ty, .. }
            | Self::Case { ty, .. } => *ty,
        }
    }

    /// Calls `visit` with this expression and everything below it, outermost first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        visit(self);
        match self {
            Self::Column { .. } | Self::Param { .. } | Self::Literal { .. } => {}
            Self::Call { args, .. } => args.iter().for_each(|a| a.walk(visit)),
            Self::Cast { input, .. } => input.walk(visit),
            Self::Case {
                branches, otherwise, ..
            } => {
                for (condition, value) in branches {
                    condition.walk(visit);
                    value.walk(visit);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.walk(visit);
                }
            }
        }
    }

    /// Rewrites column positions, for a batch that holds other columns.
    pub fn map_columns(&mut self, map: &dyn Fn(usize) -> usize) {
        match self {
            Self::Column { index, .. } => *index = map(*index),
            Self::Param { .. } | Self::Literal { .. } => {}
            Self::Call { args, .. } => args.iter_mut().for_each(|a| a.map_columns(map)),
            Self::Cast { input, .. } => input.map_columns(map),
            Self::Case {
                branches, otherwise, ..
            } => {
                for (condition, value) in branches {
                    condition.map_columns(map);
                    value.map_columns(map);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.map_columns(map);
                }
            }
        }
    }
}
