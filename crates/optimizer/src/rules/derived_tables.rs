//! A derived table's select list is merged into the query around it: what it computes replaces its columns
//! where they are used.
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

use crate::expr::{bare_column, replace_columns, size};
use crate::expr::{ids, replace_in};

/// Larger expressions stay where they are: put in the place of each use, they would double from level to level.
const MERGED_NODES: usize = 32;

/// What removed select lists computed, by column.
type Made = HashMap<ColumnId, Expr>;

/// Whether there was one.
pub fn merge(root: &mut Logical) -> bool {
    let mut merged = false;
    visit(root, Position::Fixed, &mut merged);
    merged
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

/// Returns what is to be put in place of columns above the operator.
fn visit(rel: &mut Logical, position: Position, merged: &mut bool) -> Made {
    match rel {
        Logical::Project { input, columns } => {
            let below = visit(input, Position::Free, merged);
            for (_, expr) in columns.iter_mut() {
                replace_columns(expr, &mut |id, column| value(&below, id, column));
            }
            let own = ids(input);
            let may_move = |expr: &Expr| match position {
                Position::Fixed => false,
                Position::Free => {
                    bare_column(expr).is_some()
                        || size(expr) <= MERGED_NODES
                            && functions::is_deterministic(expr)
                            && !functions::eval::assigns(expr)
                }
                // A column of rows outside is not NULL where these are missing.
                Position::Nullable => bare_column(expr).is_some_and(|id| own.contains(&id)),
            };
            if position == Position::Fixed || !columns.iter().all(|(_, expr)| may_move(expr)) {
                return Made::new();
            }
            *merged = true;
            let made = columns
                .drain(..)
                .filter(|(id, expr)| bare_column(expr) != Some(*id))
                .collect();
            *rel = replace(&mut **input, Logical::OneRow);
            made
        }
        fence if fence.is_fence() => {
            for input in fence.inputs_mut() {
                visit(input, Position::Fixed, merged);
            }
            Made::new()
        }
        Logical::Aggregate { input, .. } => {
            let made = visit(input, Position::Free, merged);
            put(rel, &made);
            Made::new()
        }
        Logical::Filter { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Limit { input, .. }
        | Logical::Window { input, .. } => {
            let made = visit(input, position, merged);
            put(rel, &made);
            made
        }
        Logical::Join(join) => {
            let right = match join.kind {
                JoinKind::Inner => position,
                JoinKind::Left => position.or_null(),
                JoinKind::Semi | JoinKind::Anti => Position::Free,
            };
            let mut made = visit(&mut join.left, position, merged);
            made.extend(visit(&mut join.right, right, merged));
            put(rel, &made);
            made
        }
        Logical::Apply(apply) => {
            let subquery = match apply.kind {
                ApplyKind::Scalar { .. } => Position::Fixed,
                ApplyKind::Exists { .. } | ApplyKind::Any { .. } => Position::Free,
                ApplyKind::Lateral { left: true, .. } => position.or_null(),
                ApplyKind::Lateral { left: false, .. } => position,
            };
            let mut made = visit(&mut apply.input, position, merged);
            if !made.is_empty() {
                replace_in(&mut apply.subquery, &mut |id, column| value(&made, id, column));
            }
            made.extend(visit(&mut apply.subquery, subquery, merged));
            put(rel, &made);
            made
        }
        Logical::With { definition, body, .. } => {
            visit(definition, Position::Fixed, merged);
            visit(body, position, merged)
        }
        other => {
            for input in other.inputs_mut() {
                visit(input, Position::Fixed, merged);
            }
            Made::new()
        }
    }
}

/// Puts what was computed below into an operator's own expressions.
fn put(rel: &mut Logical, made: &Made) {
    if !made.is_empty() {
        rel.expressions_mut(&mut |expr| replace_columns(expr, &mut |id, column| value(made, id, column)));
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
