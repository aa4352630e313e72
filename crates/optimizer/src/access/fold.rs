//! Computes constant keys when the plan is made, instead of in each execution.

use functions::{EvalContext, Expr};
use types::Value;

/// Whether an expression has the same value for every row.
pub fn is_constant(expr: &Expr) -> bool {
    expr.is_constant() && functions::is_deterministic(expr)
}

/// The expression as a literal, if it consists of literals and conversions that depend on nothing else;
/// otherwise unchanged.
pub fn folded(expr: Expr) -> Expr {
    match value(&expr) {
        Some(value) => Expr::literal(value, expr.ty()),
        None => expr,
    }
}

/// The value of a constant expression.
pub fn value(expr: &Expr) -> Option<Value> {
    if let Expr::Literal { value, .. } = expr {
        return Some(value.clone());
    }
    if !is_pure(expr) {
        return None;
    }
    let context = EvalContext::default();
    let value = functions::eval_value(expr, &context).ok()?;
    // An expression that raises a warning is left to the execution, which reports it.
    (context.warnings.count() == 0).then_some(value)
}

/// The value of a call of literals whose result depends on nothing else, if it is valid.
pub fn value_of_call(call: &Expr) -> Option<Value> {
    let mut depends = !functions::is_known_when_planned(call);
    call.walk(&mut |part| {
        depends |= matches!(
            part,
            Expr::Param { .. } | Expr::Outer { .. } | Expr::Column { .. }
        );
    });
    if depends {
        return None;
    }
    functions::eval_value(call, &EvalContext::default()).ok()
}

fn is_pure(expr: &Expr) -> bool {
    match expr {
        Expr::Literal { ty, .. } => !ty.is_temporal(),
        Expr::Cast { input, ty, .. } => !ty.is_temporal() && is_pure(input),
        Expr::Call { function, args, ty } => {
            matches!(
                function.0.name,
                "key exact" | "key down" | "key up" | "key text" | "unary -"
            ) && !ty.is_temporal()
                && args.iter().all(is_pure)
        }
        _ => false,
    }
}
