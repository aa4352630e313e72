//! Visits and rewrites the parts of an expression.

use types::Result;

use super::Expr;

impl Expr {
    /// Calls `visit` with this expression and everything below it, outermost first.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expr)) {
        self.walk_parts(&mut |expr| {
            visit(expr);
            true
        });
    }

    /// As [`Self::walk`], but does not go below expressions for which `visit` returns false.
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

    /// Rewrites column positions, for a batch with other columns.
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
