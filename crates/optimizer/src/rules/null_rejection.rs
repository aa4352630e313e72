//! Whether a condition can hold for a row of NULLs.

use functions::Expr;
use planner::logical::ColumnId;

/// Functions whose result is NULL where any argument is.
const STRICT: &[&str] = &[
    "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "div", "%", "unary -", "like", "not",
];

/// Whether a condition is not true where all these columns are NULL.
pub fn rejects_null(condition: &Expr, columns: &[ColumnId]) -> bool {
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
