//! An outer join whose NULLs a condition above leaves out is an inner join.
//!
//! ```text
//! Filter b.x > 5                  Filter b.x > 5
//!   Left join a.id = b.id   ->      Inner join a.id = b.id
//!     Get a                           Get a
//!     Get b                           Get b
//! ```

use functions::Expr;
use planner::logical::{ApplyKind, Join, JoinKind};

use super::null_rejection::rejects_null;
use crate::expr::ids;

/// Makes the join an inner one if one of the conditions above it allows it.
pub fn simplify(join: &mut Join, above: &[Expr]) {
    if join.kind != JoinKind::Left {
        return;
    }
    let right = ids(&join.right);
    if above.iter().any(|condition| rejects_null(condition, &right)) {
        join.kind = JoinKind::Inner;
    }
}

/// The same for a LATERAL derived table.
pub fn simplify_lateral(kind: &mut ApplyKind, subquery: &[planner::logical::ColumnId], above: &[Expr]) {
    if let ApplyKind::Lateral { left, .. } = kind
        && above.iter().any(|condition| rejects_null(condition, subquery))
    {
        *left = false;
    }
}
