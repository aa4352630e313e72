//! Expressions of a select list's items.

use functions::Expr;
use types::Result;

use super::Binder;
use crate::logical::ColumnId;

/// An expression over the columns of the items, instead of what they are made of. Columns that are in none
/// of them come as `hidden` lists them.
pub fn over_items(
    binder: &Binder<'_>,
    expr: &Expr,
    items: &[Expr],
    ids: &[ColumnId],
    hidden: &mut Vec<(ColumnId, Expr)>,
) -> Result<Expr> {
    if let Some(index) = items.iter().position(|item| item == expr) {
        return Ok(Expr::column(ids[index].0, expr.ty(), expr.nullable()));
    }
    if matches!(expr, Expr::Column { .. }) {
        let same = hidden
            .iter()
            .find(|(_, column)| column == expr)
            .map(|(id, _)| *id);
        let id = same.unwrap_or_else(|| {
            let id = binder.new_column();
            hidden.push((id, expr.clone()));
            id
        });
        return Ok(Expr::column(id.0, expr.ty(), expr.nullable()));
    }
    expr.of_parts(&mut |part| over_items(binder, part, items, ids, hidden))
}
