//! The parts of a condition.

use functions::Expr;

/// The conditions that a condition joins with AND.
pub fn conjuncts(filter: Option<&Expr>) -> Vec<&Expr> {
    let mut out = Vec::new();
    let mut stack: Vec<&Expr> = filter.into_iter().collect();
    while let Some(expr) = stack.pop() {
        match expr {
            Expr::Call { function, args, .. } if function.0.name == "and" => stack.extend(args.iter().rev()),
            other => out.push(other),
        }
    }
    out
}
