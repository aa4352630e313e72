//! A derived table's select list is merged into the query around it: what it computes is put where its columns
//! are named.
//!
//! ```text
//! Aggregate by (x): count(*)      Aggregate by (a + 1): count(*)
//!   Filter y > 5                    Filter b > 5
//!     Project a + 1 as x, b as y ->   Get t
//!       Get t
//! ```

use std::collections::HashMap;
use std::mem::replace;

use functions::Expr;
use planner::logical::{ApplyKind, ColumnId, JoinKind, Logical};

use crate::expr::{bare_column, replace_columns};
use crate::physical::replace_in;

type Made = HashMap<ColumnId, Expr>;

/// Whether there was one.
pub fn merge(root: &mut Logical) -> bool {
    let mut made = Made::new();
    visit(root, Position::Fixed, &mut made);
    if !made.is_empty() {
        replace_in(root, &mut |id, column| value(&made, id, column));
    }
    !made.is_empty()
}

/// Whether an operator's output may have other columns.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// Its columns are listed by id above.
    Fixed,
    /// Columns are named in expressions alone.
    Free,
    /// The same, but rows of NULLs may come in place of its own: what is computed there must stay.
    Nullable,
}

fn visit(rel: &mut Logical, position: Position, made: &mut Made) {
    match rel {
        Logical::Project { input, columns } => {
            visit(input, Position::Free, made);
            for (_, expr) in columns.iter_mut() {
                replace_columns(expr, &mut |id, column| value(made, id, column));
            }
            let may_move = |expr: &Expr| match position {
                Position::Fixed => false,
                Position::Free => {
                    bare_column(expr).is_some()
                        || functions::is_deterministic(expr) && !functions::eval::assigns(expr)
                }
                Position::Nullable => bare_column(expr).is_some(),
            };
            if position != Position::Fixed && columns.iter().all(|(_, expr)| may_move(expr)) {
                made.extend(columns.drain(..));
                *rel = replace(&mut **input, Logical::OneRow);
            }
        }
        Logical::Aggregate { input, .. } => visit(input, Position::Free, made),
        Logical::Filter { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Window { input, .. } => visit(input, position, made),
        Logical::Join(join) => {
            visit(&mut join.left, position, made);
            let right = match join.kind {
                JoinKind::Inner => position,
                JoinKind::Left => position.or_null(),
                JoinKind::Semi | JoinKind::Anti => Position::Free,
            };
            visit(&mut join.right, right, made);
        }
        Logical::Apply(apply) => {
            visit(&mut apply.input, position, made);
            let subquery = match apply.kind {
                ApplyKind::Scalar { .. } => Position::Fixed,
                ApplyKind::Exists { .. } | ApplyKind::Any { .. } => Position::Free,
                ApplyKind::Lateral { left: true, .. } => position.or_null(),
                ApplyKind::Lateral { left: false, .. } => position,
            };
            visit(&mut apply.subquery, subquery, made);
        }
        Logical::With { definition, body, .. } => {
            visit(definition, Position::Fixed, made);
            visit(body, position, made);
        }
        other => {
            for input in other.inputs_mut() {
                visit(input, Position::Fixed, made);
            }
        }
    }
}

impl Position {
    fn or_null(self) -> Self {
        match self {
            Self::Fixed => Self::Fixed,
            Self::Free | Self::Nullable => Self::Nullable,
        }
    }
}

/// What a column is made of. A column that may be NULL where it is named stays so.
fn value(made: &Made, id: ColumnId, column: &Expr) -> Option<Expr> {
    let mut expr = made.get(&id)?.clone();
    if let Expr::Column { nullable, .. } = &mut expr {
        *nullable |= column.nullable();
    }
    Some(expr)
}
