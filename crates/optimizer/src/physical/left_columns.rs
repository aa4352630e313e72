//! Columns of a join's left side as constants, while the access path of the right side is chosen: each is an
//! [`Expr::Outer`] of a slot that stands for its id.

use functions::Expr;
use planner::logical::ColumnId;

use crate::expr::{replace_columns, replace_leaves};

/// Slots from here on stand for columns of the left side.
const LEFT: usize = usize::MAX / 2;

/// Takes the columns of the left side for constants.
pub fn as_constants(condition: &mut Expr, left: &[ColumnId]) {
    replace_columns(condition, &mut |id, column| {
        left.contains(&id).then(|| Expr::Outer {
            slot: LEFT + id.0,
            ty: column.ty(),
            nullable: column.nullable(),
        })
    });
}

/// The column that a constant stands for.
pub fn left_column(expr: &Expr) -> Option<ColumnId> {
    match expr {
        Expr::Outer { slot, .. } if *slot >= LEFT => Some(ColumnId(*slot - LEFT)),
        _ => None,
    }
}

pub fn names_left(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |e| found |= left_column(e).is_some());
    found
}

/// Puts the left side's columns back.
pub fn restore(expr: &mut Expr) {
    replace_leaves(expr, &mut |leaf| match leaf {
        Expr::Outer { ty, nullable, .. } => Some(Expr::column(left_column(leaf)?.0, *ty, *nullable)),
        _ => None,
    });
}
