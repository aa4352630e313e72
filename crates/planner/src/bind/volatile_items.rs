//! Select lists whose items have another value each time they are computed, `@i := @i + 1` or `RAND()`, in a query that
//! is ordered by such a value.
//!
//! An item is computed once for each row. Without such keys that is after the sort, so that `@i` numbers the rows
//! as they are shown; a key that is volatile itself has to be there before.

use functions::Expr;
use types::Result;

use super::Binder;
use super::over_items::over_items;
use crate::logical::{ColumnId, Logical};
use crate::plan::SortKey;

/// Whether the items have to be computed before the rows are sorted.
pub fn precede_order(items: &[Expr], keys: &[SortKey]) -> bool {
    let is_volatile = |expr: &Expr| !functions::is_deterministic(expr);
    keys.iter().any(|key| is_volatile(&key.expr)) && items.iter().any(is_volatile)
}

/// The rows of the items, sorted; and the id of each item. A key that is computed of items is computed of their
/// columns. Other keys are computed before the items, as MySQL does.
pub fn sorted_items(
    binder: &Binder<'_>,
    input: Logical,
    items: &[Expr],
    keys: Vec<SortKey>,
) -> Result<(Logical, Vec<ColumnId>)> {
    let ids: Vec<ColumnId> = items.iter().map(|_| binder.new_column()).collect();
    let mut hidden: Vec<(ColumnId, Expr)> = Vec::new();
    let mut sorted_by = Vec::with_capacity(keys.len());
    for SortKey { expr, descending } in keys {
        let expr = if items.contains(&expr) || has_made_item(&expr, items) {
            over_items(binder, &expr, items, &ids, &mut hidden)?
        } else {
            let id = binder.new_column();
            let column = Expr::column(id.0, expr.ty(), expr.nullable());
            hidden.push((id, expr));
            column
        };
        sorted_by.push(SortKey { expr, descending });
    }
    let shown = ids.iter().copied().zip(items.iter().cloned());
    let rows = Logical::Sort {
        input: Box::new(Logical::Project {
            input: Box::new(input),
            columns: hidden.into_iter().chain(shown).collect(),
        }),
        keys: sorted_by,
    };
    Ok((rows, ids))
}

/// Whether a key is computed of an item that assigns or that is random. An item that only reads a variable may have had
/// another value than the key.
fn has_made_item(key: &Expr, items: &[Expr]) -> bool {
    let is_made = |part: &Expr| {
        let reads = functions::reads_assigned(part) && !functions::assigns(part);
        !functions::is_deterministic(part) && !reads
    };
    let mut has = false;
    key.walk(&mut |part| has |= is_made(part) && items.contains(part));
    has
}
