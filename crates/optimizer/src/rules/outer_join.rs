//! An outer join whose NULLs a condition above leaves out is an inner join.
//!
//! ```text
//! Filter b.x > 5                  Filter b.x > 5
//!   Left join a.id = b.id   ->      Inner join a.id = b.id
//!     Get a                           Get a
//!     Get b                           Get b
//! ```

use functions::Expr;
use planner::logical::{ApplyKind, ColumnId, Join, JoinKind};

use crate::expr::ids;

/// Functions whose result is NULL where any argument is.
const STRICT: &[&str] = &[
    "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "div", "%", "unary -", "like", "not",
];

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
pub fn simplify_lateral(kind: &mut ApplyKind, subquery: &[ColumnId], above: &[Expr]) {
    if let ApplyKind::Lateral { left, .. } = kind
        && above.iter().any(|condition| rejects_null(condition, subquery))
    {
        *left = false;
    }
}

/// Whether a condition is not true where all these columns are NULL.
fn rejects_null(condition: &Expr, columns: &[ColumnId]) -> bool {
    let Expr::Call { function, args, .. } = condition else {
        return is_null(condition, columns);
    };
    match function.0.name {
        "and" => args.iter().any(|arg| rejects_null(arg, columns)),
        "or" => args.iter().all(|arg| rejects_null(arg, columns)),
        "is not null" | "is true" | "is false" => args.iter().any(|arg| is_null(arg, columns)),
        _ => is_null(condition, columns),
    }
}

/// Whether an expression is NULL where all these columns are.
fn is_null(expr: &Expr, columns: &[ColumnId]) -> bool {
    match expr {
        Expr::Column { index, .. } => columns.contains(&ColumnId(*index)),
        Expr::Cast { input, .. } => is_null(input, columns),
        Expr::Call { function, args, .. } => match function.0.name {
            "in" | "between" => args.first().is_some_and(|needle| is_null(needle, columns)),
            "and" | "or" => args.iter().all(|arg| is_null(arg, columns)),
            name => STRICT.contains(&name) && args.iter().any(|arg| is_null(arg, columns)),
        },
        _ => false,
    }
}
