//! Bound, typed expressions: what `planner` makes of SQL text and what both executors evaluate.
//!
//! Not here: how calls are resolved and typed ([`crate::bind`]), how they are computed ([`mod@crate::eval`]).

use std::sync::Arc;

use types::{Result, SqlType, Value};

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
        /// How error messages name it.
        label: Label,
    },
    /// Parameter `index` of the statement; its value is in [`crate::EvalContext::params`] and has type `ty`.
    Param {
        index: usize,
        ty: SqlType,
        /// A client's parameter is reported as nullable, whatever its value. One that stands for a literal is
        /// not.
        nullable: bool,
    },
    Literal {
        value: Value,
        ty: SqlType,
    },
    /// In a subquery: a column of the row that it runs for. The value is set in
    /// [`crate::state::StatementState::set_outer`] before the subquery is opened.
    Outer {
        slot: usize,
        ty: SqlType,
        nullable: bool,
    },
    /// A call of a built-in function or operator.
    Call {
        function: Function,
        args: Vec<Expr>,
        ty: SqlType,
    },
    /// `CAST`, explicit or implicit. `implicit` decides which losses warn, and how strings are converted to
    /// numbers.
    Cast {
        input: Box<Expr>,
        ty: SqlType,
        implicit: bool,
    },
    /// `CASE WHEN c1 THEN v1 ... ELSE e END`; only the branch that is taken is evaluated per row. All values
    /// have type `ty`.
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        ty: SqlType,
    },
}

/// The name of a column in messages such as "BIGINT value is out of range in '(`shop`.`t`.`a` + 1)'": quoted,
/// as in `` `shop`.`t`.`a` ``. Expressions that differ only in labels are equal.
#[derive(Debug, Clone, Default)]
pub struct Label(Option<Arc<str>>);

impl Label {
    pub const NONE: Self = Self(None);

    /// `` `database`.`table`.`column` ``.
    pub fn column(database: &str, table: &str, column: &str) -> Self {
        Self(Some(
            ["`", database, "`.`", table, "`.`", column, "`"].concat().into(),
        ))
    }

    pub fn as_str(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// `` `column` ``.
    pub fn name_only(column: &str) -> Self {
        Self(Some(format!("`{column}`").into()))
    }

    /// The column's own name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.as_str()?.rsplit('`').nth(1)
    }
}

impl PartialEq for Label {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Expr {
    /// A column without a label.
    pub fn column(index: usize, ty: SqlType, nullable: bool) -> Self {
        Self::Column {
            index,
            ty,
            nullable,
            label: Label::NONE,
        }
    }

    pub fn literal(value: Value, ty: SqlType) -> Self {
        Self::Literal { value, ty }
    }

    pub fn null() -> Self {
        Self::Literal {
            value: Value::Null,
            ty: SqlType::NULL,
        }
    }

    pub fn ty(&self) -> SqlType {
        match self {
            Self::Column { ty, .. }
            | Self::Param { ty, .. }
            | Self::Literal { ty, .. }
            | Self::Outer { ty, .. }
            | Self::Call { ty, .. }
            | Self::Cast { ty, .. }
            | Self::Case { ty, .. } => *ty,
        }
    }

    /// Whether a result's column of this expression is reported as nullable.
    pub fn nullable(&self) -> bool {
        match self {
            Self::Column { nullable, .. } | Self::Param { nullable, .. } | Self::Outer { nullable, .. } => {
                *nullable
            }
            Self::Literal { value, .. } => value.is_null(),
            Self::Call { function, args, ty } => function.0.nullability.of(args, ty),
            Self::Cast { input, ty, implicit } => {
                let made_other = !implicit && !ty.is_numeric();
                made_other || input.nullable() || crate::cast::loss::may_be_null(&input.ty(), ty)
            }
            Self::Case {
                branches, otherwise, ..
            } => {
                branches.iter().any(|(_, v)| v.nullable()) || otherwise.as_ref().is_none_or(|o| o.nullable())
            }
        }
    }

    /// Whether its value is the same for all rows of a statement: no columns, nothing that changes between
    /// calls.
    pub fn is_constant(&self) -> bool {
        let mut constant = true;
        self.walk(&mut |e| match e {
            Self::Column { .. } => constant = false,
            Self::Call { function, .. } if function.0.volatile => constant = false,
            _ => {}
        });
        constant
    }

    /// Calls `visit` with this expression and everything below it, outermost first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        self.walk_parts(&mut |expr| {
            visit(expr);
            true
        });
    }

    /// The same, but for what is below expressions for which `visit` answers no.
    pub fn walk_parts(&self, visit: &mut dyn FnMut(&Expr) -> bool) {
        if !visit(self) {
            return;
        }
        match self {
            Self::Column { .. } | Self::Param { .. } | Self::Literal { .. } | Self::Outer { .. } => {}
            Self::Call { args, .. } => args.iter().for_each(|a| a.walk_parts(visit)),
            Self::Cast { input, .. } => input.walk_parts(visit),
            Self::Case {
                branches, otherwise, ..
            } => {
                for (condition, value) in branches {
                    condition.walk_parts(visit);
                    value.walk_parts(visit);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.walk_parts(visit);
                }
            }
        }
    }

    /// The same expression with `map` applied to its parts. An expression without parts is returned
    /// unchanged.
    pub fn of_parts(&self, map: &mut dyn FnMut(&Expr) -> Result<Expr>) -> Result<Expr> {
        Ok(match self {
            Self::Column { .. } | Self::Param { .. } | Self::Literal { .. } | Self::Outer { .. } => {
                self.clone()
            }
            Self::Call { function, args, ty } => Self::Call {
                function: *function,
                args: args.iter().map(map).collect::<Result<_>>()?,
                ty: *ty,
            },
            Self::Cast { input, ty, implicit } => Self::Cast {
                input: Box::new(map(input)?),
                ty: *ty,
                implicit: *implicit,
            },
            Self::Case {
                branches,
                otherwise,
                ty,
            } => {
                let mut mapped = Vec::with_capacity(branches.len());
                for (when, then) in branches {
                    mapped.push((map(when)?, map(then)?));
                }
                let otherwise = match otherwise {
                    Some(otherwise) => Some(Box::new(map(otherwise)?)),
                    None => None,
                };
                Self::Case {
                    branches: mapped,
                    otherwise,
                    ty: *ty,
                }
            }
        })
    }

    /// Rewrites column positions, for a batch that holds other columns.
    pub fn map_columns(&mut self, map: &dyn Fn(usize) -> usize) {
        match self {
            Self::Column { index, .. } => *index = map(*index),
            Self::Param { .. } | Self::Literal { .. } | Self::Outer { .. } => {}
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
