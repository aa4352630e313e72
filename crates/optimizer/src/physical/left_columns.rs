//! Columns of a join's left side as constants, while the access path of the right side is chosen: each is an
//! [`Expr::Outer`] of a slot that no other outer column has meanwhile.

use functions::Expr;
use planner::logical::ColumnId;

use super::builder::Builder;
use crate::expr::{replace_columns, replace_leaves};

/// The columns of a left side, and the slots that stand for them.
#[derive(Clone, Copy)]
pub struct LeftColumns<'a> {
    columns: &'a [ColumnId],
    /// The slot of the first column; those of the others follow. The plan has no slot of them: they are not
    /// taken from the statement's.
    first_slot: usize,
}

impl<'a> LeftColumns<'a> {
    pub fn of(builder: &Builder<'_>, columns: &'a [ColumnId]) -> Self {
        Self {
            columns,
            first_slot: builder.slots.get(),
        }
    }

    pub fn has(self, id: &ColumnId) -> bool {
        self.columns.contains(id)
    }

    /// Takes the columns for constants.
    pub fn as_constants(self, condition: &mut Expr) {
        replace_columns(condition, &mut |id, column| {
            let position = self.columns.iter().position(|of_left| *of_left == id)?;
            Some(Expr::Outer {
                slot: self.first_slot + position,
                ty: column.ty(),
                nullable: column.nullable(),
            })
        });
    }

    /// The column that a constant stands for.
    pub fn column(self, expr: &Expr) -> Option<ColumnId> {
        match expr {
            Expr::Outer { slot, .. } => {
                let position = slot.checked_sub(self.first_slot)?;
                self.columns.get(position).copied()
            }
            _ => None,
        }
    }

    pub fn is_named_in(self, expr: &Expr) -> bool {
        let mut found = false;
        expr.walk(&mut |e| found |= self.column(e).is_some());
        found
    }

    /// Puts the columns back.
    pub fn restore(self, expr: &mut Expr) {
        replace_leaves(expr, &mut |leaf| match leaf {
            Expr::Outer { ty, nullable, .. } => Some(Expr::column(self.column(leaf)?.0, *ty, *nullable)),
            _ => None,
        });
    }
}
