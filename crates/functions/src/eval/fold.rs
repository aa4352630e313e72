//! Computes constants at planning time.
//!
//! Not here: expressions that are constant only within one statement ([`mod@super::hoist`]).

use types::TypeKind;
use types::stack::with_room;

use super::properties::is_fallible;
use super::{eval_value, speculate};
use crate::{EvalContext, Expr};

/// Computes the parts of an expression that consist of literals. A part that fails or warns is left
/// unchanged. It fails or warns when the statement runs, if it is evaluated at all.
pub fn fold(expr: Expr, ctx: &EvalContext) -> Expr {
    let expr = match with_room(|| fold_parts(expr, ctx)) {
        leaf @ (Expr::Column { .. } | Expr::Param { .. } | Expr::Literal { .. } | Expr::Outer { .. }) => {
            return leaf;
        }
        expr => expr,
    };
    let literal = |e: &Expr| matches!(e, Expr::Literal { .. });
    let foldable = match &expr {
        Expr::Call { function, args, ty } => {
            // A quotient would lose its hidden digits. Divisions of literals are rare anyway.
            let keeps_value = ty.kind != TypeKind::Decimal;
            let pure = !function.0.volatile && !function.0.reads_session;
            pure && keeps_value && !function.0.name.ends_with(" constant") && args.iter().all(literal)
        }
        Expr::Cast { input, .. } => literal(input),
        Expr::Case {
            branches, otherwise, ..
        } => {
            branches.iter().all(|(c, v)| literal(c) && literal(v)) && otherwise.as_deref().is_none_or(literal)
        }
        _ => false,
    };
    // COLLATE and CONVERT remain, because they determine the coercibility.
    let named = matches!(&expr, Expr::Call { function, .. }
        if matches!(function.0.name, "collate" | "convert using" | "binary"));
    if !foldable || named {
        return expr;
    }
    match speculate::attempt(|| eval_value(&expr, ctx)) {
        Ok(value) => Expr::Literal { value, ty: expr.ty() },
        Err(_) => expr,
    }
}

/// The expression with its parts computed.
fn fold_parts(expr: Expr, ctx: &EvalContext) -> Expr {
    match expr {
        Expr::Call { function, args, ty } => Expr::Call {
            function,
            args: args.into_iter().map(|a| fold(a, ctx)).collect(),
            ty,
        },
        Expr::Cast { input, ty, implicit } => Expr::Cast {
            input: Box::new(fold(*input, ctx)),
            ty,
            implicit,
        },
        Expr::Case {
            branches,
            otherwise,
            ty,
        } => Expr::Case {
            branches: branches
                .into_iter()
                .map(|(condition, value)| (fold(condition, ctx), fold(value, ctx)))
                .collect(),
            otherwise: otherwise.map(|o| Box::new(fold(*o, ctx))),
            ty,
        },
        leaf => leaf,
    }
}

/// Whether a constant can be computed without an error or a warning. If not, it must be computed for each
/// row.
pub fn is_silent(constant: &Expr, ctx: &EvalContext) -> bool {
    !is_fallible(constant) || speculate::attempt(|| eval_value(constant, ctx)).is_ok()
}
