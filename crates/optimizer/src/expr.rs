//! Helpers over expressions and operators whose columns are ids.

use functions::Expr;
use functions::bind::TypeEnv;
use planner::logical::{ColumnId, Logical};
use types::{Error, Result};

/// Columns in the order in which they were first named.
#[derive(Debug, Default, Clone)]
pub struct ColumnList(pub Vec<ColumnId>);

impl ColumnList {
    pub fn add(&mut self, id: ColumnId) {
        if !self.0.contains(&id) {
            self.0.push(id);
        }
    }

    /// The columns that an expression names.
    pub fn add_all(&mut self, expr: &Expr) {
        expr.walk(&mut |e| {
            if let Expr::Column { index, .. } = e {
                self.add(ColumnId(*index));
            }
        });
    }
}

/// The ids of an operator's columns.
pub fn ids(rel: &Logical) -> Vec<ColumnId> {
    rel.output().iter().map(|column| column.id).collect()
}

/// The column that an expression is, if it is nothing else.
pub fn bare_column(expr: &Expr) -> Option<ColumnId> {
    match expr {
        Expr::Column { index, .. } => Some(ColumnId(*index)),
        _ => None,
    }
}

/// The two sides of `=`.
pub fn equality(condition: &Expr) -> Option<(&Expr, &Expr)> {
    match condition {
        Expr::Call { function, args, .. } if function.0.name == "=" => match args.as_slice() {
            [a, b] => Some((a, b)),
            _ => None,
        },
        _ => None,
    }
}

/// Puts positions in place of ids.
///
/// # Errors
/// 1105 for a column that the layout lacks, which is a defect of the optimizer.
pub fn positioned(mut expr: Expr, layout: &[ColumnId]) -> Result<Expr> {
    let mut missing = None;
    expr.walk(&mut |e| {
        if let Expr::Column { index, .. } = e
            && !layout.contains(&ColumnId(*index))
        {
            missing = Some(*index);
        }
    });
    if let Some(id) = missing {
        return Err(Error::internal(format!(
            "column {id} is not in the operator's input"
        )));
    }
    let position = |id: usize| layout.iter().position(|column| column.0 == id).unwrap_or(id);
    expr.map_columns(&position);
    Ok(expr)
}

/// Replaces columns for which `replace` has another expression.
pub fn replace_columns(expr: &mut Expr, replace: &mut dyn FnMut(ColumnId, &Expr) -> Option<Expr>) {
    replace_leaves(expr, &mut |leaf| match leaf {
        Expr::Column { index, .. } => replace(ColumnId(*index), leaf),
        _ => None,
    });
}

/// Replaces columns, outer columns, parameters and literals for which `replace` has another expression.
pub fn replace_leaves(expr: &mut Expr, replace: &mut dyn FnMut(&Expr) -> Option<Expr>) {
    match expr {
        Expr::Column { .. } | Expr::Param { .. } | Expr::Literal { .. } | Expr::Outer { .. } => {
            if let Some(other) = replace(expr) {
                *expr = other;
            }
        }
        Expr::Call { args, .. } => args.iter_mut().for_each(|arg| replace_leaves(arg, replace)),
        Expr::Cast { input, .. } => replace_leaves(input, replace),
        Expr::Case {
            branches, otherwise, ..
        } => {
            for (condition, value) in branches {
                replace_leaves(condition, replace);
                replace_leaves(value, replace);
            }
            if let Some(otherwise) = otherwise {
                replace_leaves(otherwise, replace);
            }
        }
    }
}

/// Replaces columns in all expressions of an operator and of those below it.
pub fn replace_in(rel: &mut Logical, replace: &mut dyn FnMut(ColumnId, &Expr) -> Option<Expr>) {
    rel.expressions_mut(&mut |expr| replace_columns(expr, replace));
    for input in rel.inputs_mut() {
        replace_in(input, replace);
    }
}

/// The conditions that must all hold, as one; `None` if there are none.
pub fn all(mut conditions: Vec<Expr>, types: &TypeEnv) -> Result<Option<Expr>> {
    match conditions.len() {
        0 => Ok(None),
        1 => Ok(conditions.pop()),
        _ => functions::bind::call("and", conditions, types).map(Some),
    }
}

/// The conditions that a condition joins with AND, in order.
pub fn into_conjuncts(condition: Expr, out: &mut Vec<Expr>) {
    match condition {
        Expr::Call { function, args, .. } if function.0.name == "and" => {
            args.into_iter().for_each(|arg| into_conjuncts(arg, out));
        }
        other => out.push(other),
    }
}

/// How many nodes the tree of an expression has.
pub fn size(expr: &Expr) -> usize {
    let mut size = 0;
    expr.walk(&mut |_| size += 1);
    size
}
